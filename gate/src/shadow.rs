//! What would another discipline have done? The same arrivals come to it, in a thread of its own:
//! the packets do not wait for it. Senders would have reacted to its drops and marks, and did not.

use std::{io, sync::Arc, thread};

use sluice_aqm::Verdict;
use sluice_link::Clock;
use sluice_queue::Observer;
use sluice_random::stream;

use crate::{
    Failure,
    machine::privileges,
    measures::Measures,
    packet::Held,
    router::{
        feed::{self, Arrival, Fed, Feed, Message, shadowed},
        link::{Link, Outlet},
        snapshot::NAMES,
    },
    settings::{ConfiguredDiscipline, LinkSettings, Settings, named},
    telemetry::{
        hub::Hub,
        seen::{Counted, Shadow},
    },
};

/// Links that have another discipline, before their thread runs.
pub struct Shadows {
    fed: Fed,
    links: Vec<LinkSettings>,
    seed: u64,
    streams: [usize; 2],
}

/// Returns where arrivals are passed on, and the links that they are shown to, if `--shadow` asks for them.
///
/// # Errors
/// If the discipline is wrong, or does not suit a buffer.
pub fn asked_for(
    text: Option<&str>,
    settings: &Settings,
) -> Result<Option<(Feed, Shadows)>, Failure> {
    let Some(text) = text else {
        return Ok(None);
    };
    let discipline = named("--shadow", text)?;
    for link in settings.links() {
        if let Some(what) = discipline.spec.unfit(&link.buffer) {
            return Err(Failure(format!("--shadow {text}: {what}")));
        }
    }
    Ok(Some(of(settings, discipline)))
}

/// Returns links with this discipline, and where their arrivals are to be passed on.
fn of(settings: &Settings, discipline: ConfiguredDiscipline) -> (Feed, Shadows) {
    let links = shadowed(settings, &discipline);
    let (feed, fed) = feed::open(discipline);
    let shadows = Shadows {
        fed,
        links,
        seed: settings.seed,
        streams: settings.streams,
    };
    (feed, shadows)
}

impl Shadows {
    /// The discipline of all links.
    pub fn discipline(&self) -> &ConfiguredDiscipline {
        &self.links[0].discipline
    }

    /// The links.
    pub fn links(&self) -> &[LinkSettings] {
        &self.links
    }

    /// Starts the thread, which publishes how the links stand.
    ///
    /// # Errors
    /// If there can be no thread.
    pub fn start(self, hub: Arc<Hub>, clock_ns: u64) -> io::Result<()> {
        let work = move || {
            privileges::give_way();
            let mut earlier: Option<Vec<(u64, Measures)>> = None;
            self.follow(|now_ns, left_out, links| {
                if earlier
                    .as_ref()
                    .is_some_and(|all| !Hub::is_time(now_ns, all[0].0))
                {
                    return;
                }
                let now = links.iter_mut().map(|link| (now_ns, link.measures(now_ns)));
                let now: Vec<_> = now.collect();
                let rows = links.iter().enumerate().map(|(place, link)| Shadow {
                    link: NAMES[place],
                    discipline: link.settings().discipline.spec.name(),
                    clock_ms: (clock_ns + now_ns) as f64 / 1e6,
                    left_out,
                    queue_packets: link.packets(),
                    counted: Counted::of(&now[place].1, earlier.as_ref().map(|all| &all[place].1)),
                });
                hub.publish("shadow", &rows.collect::<Vec<_>>());
                earlier = Some(now);
            });
        };
        thread::Builder::new().spawn(work).map(drop)
    }

    /// Follows the router's messages until it ends; `at_record` gets the time, ns, the number of
    /// arrivals left out, and the links, whenever the router makes a record.
    fn follow(self, mut at_record: impl FnMut(u64, u64, &mut [Link])) {
        let links = self.links.into_iter().zip(self.streams);
        let mut links: Vec<_> = links
            .map(|(settings, place)| {
                let random = stream(self.seed, &format!("aqm {place}"), 0);
                Link::new(settings, Clock::endless(), random)
            })
            .collect();
        for message in self.fed.messages {
            match message {
                Message::Arrivals(mut batch) => {
                    for Arrival {
                        link,
                        now_ns,
                        packet,
                    } in batch.drain(..)
                    {
                        links[link].arrive(now_ns, packet, &mut Nobody);
                    }
                    self.fed.empty.try_send(batch).ok();
                }
                Message::Settings(now_ns, settings) => {
                    for (link, settings) in links.iter_mut().zip(settings) {
                        link.advance(now_ns, &mut Nobody);
                        link.change(now_ns, settings);
                    }
                }
                Message::Until(now_ns, left_out) => {
                    for link in &mut links {
                        link.advance(now_ns, &mut Nobody);
                    }
                    at_record(now_ns, left_out, &mut links);
                }
            }
        }
    }
}

/// Gets the packets of a shadow.
struct Nobody;

impl Observer<Held> for Nobody {
    fn lost(&mut self, _: Held, _: Verdict) {}
}

impl Outlet<Held> for Nobody {
    fn released(&mut self, _: u64, _: Held) {}

    fn lost_on_wire(&mut self, _: Held) {}
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc::sync_channel, time::Duration};

    use super::*;
    use crate::{
        cli::LinkOptions,
        router::feed::{BATCH, WAITING},
    };

    fn settings(aqm: &str) -> Settings {
        let read = Settings::read(&LinkOptions {
            aqm: Some(aqm.into()),
            rate: Some("10e6".into()),
            limit: Some("60".into()),
            ..LinkOptions::default()
        });
        read.unwrap()
    }

    /// Sends bursts of packets to a link and to its shadow; returns the verdicts of both.
    fn both(aqm: &str, shadow: &str, change: Option<&str>) -> [[u64; Verdict::COUNT]; 2] {
        let all = settings(aqm);
        let (mut feed, shadows) = of(&all, named("--shadow", shadow).unwrap());
        let random = stream(all.seed, &format!("aqm {}", all.streams[0]), 0);
        let mut link = Link::new(all.forward.clone(), Clock::endless(), random);
        let (sender, receiver) = sync_channel(1);
        let thread = thread::spawn(move || {
            shadows.follow(|now_ns, left_out, links| {
                assert_eq!(left_out, 0);
                sender.send(links[0].measures(now_ns).verdicts).unwrap();
            });
        });
        let mut now_ns = 0;
        for burst in 0..400_u64 {
            for id in 0..burst % 23 {
                let packet = Held {
                    id: id as u32,
                    bytes: 1500,
                    ..Held::default()
                };
                link.arrive(now_ns, packet, &mut Nobody);
                feed.arrive(0, now_ns, packet);
                now_ns += 1_000 * id;
            }
            now_ns += 12_000_000;
            if burst == 200
                && let Some(other) = change
            {
                let other = settings(other);
                link.advance(now_ns, &mut Nobody);
                link.change(now_ns, other.forward.clone());
                feed.change(now_ns, &other);
            }
        }
        link.advance(now_ns, &mut Nobody);
        feed.until(now_ns);
        let of_shadow = receiver.recv().unwrap();
        drop(feed);
        thread.join().unwrap();
        [link.measures(now_ns).verdicts, of_shadow]
    }

    #[test]
    fn with_the_same_discipline_a_shadow_decides_the_same_and_with_another_it_does_not() {
        for aqm in ["red:min_th=5,max_th=20", "codel", "pie"] {
            let [of_link, of_shadow] = both(aqm, aqm, None);
            assert!(of_link.iter().sum::<u64>() > 4000, "{of_link:?}");
            assert!(
                of_link[Verdict::Admit as usize] < of_link.iter().sum(),
                "{aqm}"
            );
            assert_eq!(of_link, of_shadow, "{aqm}");
        }
        let [of_link, of_shadow] = both("drop_tail", "red:min_th=5,max_th=20", None);
        assert_eq!(of_link[Verdict::DropEarly as usize], 0);
        assert!(of_shadow[Verdict::DropEarly as usize] > 0);
    }

    #[test]
    fn a_change_of_the_links_discipline_leaves_that_of_its_shadow() {
        let red = "red:min_th=5,max_th=20";
        let [of_link, of_shadow] = both("drop_tail", red, Some(red));
        let [_, alone] = both("drop_tail", red, None);
        assert!(of_link[Verdict::DropEarly as usize] > 0);
        assert_eq!(of_shadow, alone);
    }

    #[test]
    fn a_header_is_not_read_again_as_the_links_settings_change() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shorter.h");
        std::fs::write(&path, include_str!("../../tests/shorter.h")).unwrap();
        let shadow = named("--shadow", &path.display().to_string()).unwrap();
        let (mut feed, _shadows) = of(&settings("drop_tail"), shadow);
        std::fs::remove_file(&path).unwrap();
        feed.change(0, &settings("pie"));
    }

    #[test]
    fn what_the_thread_has_no_time_for_is_left_out_and_counted() {
        let mut all = settings("drop_tail");
        let (mut feed, shadows) = of(&all, named("--shadow", "drop_tail").unwrap());
        let batch = |feed: &mut Feed| (0..BATCH).for_each(|_| feed.arrive(0, 0, Held::default()));
        // nobody takes anything yet
        (0..WAITING).for_each(|_| batch(&mut feed));
        let memory = feed.batch.as_ptr();
        (0..3).for_each(|_| batch(&mut feed));
        assert_eq!(feed.left_out, 3 * BATCH as u64);
        assert_eq!(feed.batch.as_ptr(), memory);
        // the last one is told as soon as there is room, whatever becomes of arrivals
        for limit in [70, 80] {
            all.forward.buffer.limit = limit;
            feed.change(1, &all);
            batch(&mut feed);
        }
        assert_eq!(feed.left_out, 5 * BATCH as u64);
        let (sender, receiver) = sync_channel(WAITING);
        let thread = thread::spawn(move || {
            shadows.follow(|_, _, links| {
                let settings = links[0].settings();
                sender.send(settings.buffer.limit).ok();
            });
        });
        let limit = loop {
            feed.until(2);
            if let Ok(limit) = receiver.recv_timeout(Duration::from_millis(1)) {
                break limit;
            }
        };
        assert_eq!(limit, 80);
        drop((feed, receiver));
        thread.join().unwrap();
    }
}
