//! What a link has of its own: its discipline, its buffer, its rate in time, its wire.

use crate::{
    discipline::Discipline,
    field::{Named, in_quotes},
    network::{rate::Rate, topology::SimplexLink, wire::Wire},
    queue::Queue,
    reader::{Reader, meant},
    table::table,
};

table! {
    /// What one direction of a link has of its own, whichever discipline is compared.
    pub struct LinkSettings {
        /// The discipline before it, for a link with a queue; not given: the compared one.
        discipline: Option<Discipline>;
        /// The buffer before it, for a link with a queue; not given: the scenario's `queue`.
        queue: Option<Queue>;
        /// Its rate in time; not given: that of the topology, constant.
        rate: Option<Rate>;
        /// Losses, jitter and reordering behind it, apart from the queue; not given: none.
        wire: Option<Wire>;
    }
}

/// Greatest number of links that an error lists.
const MOST_LISTED: usize = 8;

/// Reports settings of links that do not suit the topology to the reader.
pub(super) fn check(settings: &Named<LinkSettings>, links: &[SimplexLink], reader: &mut Reader) {
    for (name, own) in &settings.0 {
        let check = |reader: &mut Reader| match links.iter().find(|link| link.name() == *name) {
            None => reader.wrong(unknown(name, links)),
            Some(link) => own.check_on(link, links, reader),
        };
        reader.within("links", |reader| reader.within(in_quotes(name), check));
    }
    let has_own = |link: &SimplexLink| {
        let mut own = settings.0.iter().filter(|(name, _)| *name == link.name());
        own.any(|(_, own)| own.discipline.is_some())
    };
    let mut queued = links.iter().filter(|link| link.queue).peekable();
    if queued.peek().is_some() && queued.all(has_own) {
        reader.say(
            "links: every link with a queue has a discipline of its own, so the compared \
             disciplines stand nowhere; leave the discipline of one of them out",
        );
    }
}

impl LinkSettings {
    fn check_on(&self, link: &SimplexLink, links: &[SimplexLink], reader: &mut Reader) {
        let given = [
            ("discipline", self.discipline.is_some()),
            ("queue", self.queue.is_some()),
        ];
        for (field, _) in given.iter().filter(|(_, given)| *given && !link.queue) {
            let with_queue = listed(links.iter().filter(|link| link.queue));
            let what = format!("stands before no queue: this link has none; {with_queue} have one");
            reader.within(field, |reader| reader.wrong(what));
        }
    }
}

fn unknown(name: &str, links: &[SimplexLink]) -> String {
    let names: Vec<String> = links.iter().map(SimplexLink::name).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let near = meant(name, &names);
    format!(
        "is no link of the topology{near}; there are {}",
        listed(links.iter())
    )
}

fn listed<'a>(links: impl Iterator<Item = &'a SimplexLink>) -> String {
    let names: Vec<String> = links.map(|link| in_quotes(&link.name())).collect();
    match names.len().checked_sub(MOST_LISTED) {
        Some(more @ 1..) => format!("{} and {more} others", names[..MOST_LISTED].join(", ")),
        _ => names.join(", "),
    }
}
