//! Compares FRED with the pseudocode of its paper in floating point, with a map of all flows.

use std::collections::HashMap;

use sluice_aqm::{Aqm, Verdict, View};

use crate::common::{
    configured,
    link::{Event, FLOWS, Told},
    number,
    red_float::RedFloat,
};
use sluice_aqm::Value;

const MIN_TH: f64 = 20.0;
const MAX_TH: f64 = 40.0;
const MIN_Q: f64 = 2.0;

/// Lin & Morris 1997, figure 6 and section 5.4.
struct Model {
    red: RedFloat,
    many_flows: bool,
    /// qlen_i and strike_i of every active flow.
    flows: HashMap<u32, (u32, u32)>,
    told: Told,
    forced: usize,
}

impl Model {
    fn avgcq(&self) -> f64 {
        let active = self.flows.len().max(1) as f64;
        (self.red.average / active).max(1.0)
    }

    fn arrive(&mut self, view: &View, verdict: Verdict) {
        if view.idle == 1 {
            self.red.observe(view);
        }
        let (packets, strikes) = self.flows.get(&view.flow_hash).copied().unwrap_or_default();
        let (own, share, average) = (f64::from(packets), self.avgcq(), self.red.average);
        let near = |a: f64, b: f64| (a - b).abs() < 1e-6;
        if near(average, MIN_TH)
            || near(average, MAX_TH)
            || (near(own, share) && share > 1.0)
            || near(own, 2.0 * share) && share > 1.0
        {
            self.told.open += 1;
            self.red.follow(verdict, self.red.p_b());
            if verdict == Verdict::DropForced && packets > 0 {
                self.flows.get_mut(&view.flow_hash).unwrap().1 += 1;
            }
            return;
        }
        let max_q = if average >= MAX_TH && self.many_flows {
            2.0
        } else {
            MIN_TH
        };
        let unfair = own >= max_q
            || (average >= MAX_TH && own > 2.0 * share)
            || (own >= share && strikes > 1);
        if unfair {
            self.flows.get_mut(&view.flow_hash).unwrap().1 += 1;
            self.forced += 1;
            assert_eq!(verdict, Verdict::DropForced, "{view:?} {own} of {share}");
            return;
        }
        if average >= MAX_TH {
            let expected = if self.many_flows { 0.0 } else { 1.0 };
            if self.many_flows {
                self.told.chance(view, verdict, 0.0, 0.0);
            } else {
                assert_eq!(verdict, Verdict::DropForced);
            }
            self.red.follow(Verdict::DropForced, expected);
            return;
        }
        let p = if own >= MIN_Q && own >= share {
            self.red.p_a()
        } else {
            0.0
        };
        self.told.chance(view, verdict, p, 1e-4 * p);
        self.red.follow(verdict, self.red.p_b());
    }

    fn join(&mut self, view: &View) {
        if view.idle == 0 {
            self.red.observe(view);
        }
        self.flows.entry(view.flow_hash).or_default().0 += 1;
    }

    fn leave(&mut self, view: &View) {
        self.red.observe(&View { idle: 0, ..*view });
        let flow = self.flows.get_mut(&view.flow_hash).unwrap();
        flow.0 -= 1;
        if flow.0 == 0 {
            self.flows.remove(&view.flow_hash);
        }
    }
}

fn follow(many_flows: bool) {
    let numbers = [MIN_TH, MAX_TH, 0.2, 0.02];
    let mut given = vec![
        ("many_flows", Value::Switch(many_flows)),
        ("min_q", number(MIN_Q)),
    ];
    given.extend(
        ["min_th", "max_th", "max_p", "w"]
            .into_iter()
            .zip(numbers.map(number)),
    );
    let mut model = Model {
        red: RedFloat::new(numbers, 500.0),
        many_flows,
        flows: HashMap::new(),
        told: Told::default(),
        forced: 0,
    };
    FLOWS.drive(
        &configured("fred", &given),
        60_000,
        |event, view, verdict, running| {
            match event {
                Event::Arrive => model.arrive(view, verdict),
                Event::Join => model.join(view),
                Event::Leave => model.leave(view),
                _ => {}
            }
            let off = (running.average().unwrap() - model.red.average).abs();
            assert!(off < 1e-5, "average off by {off}");
        },
    );
    assert!(model.forced > 500, "{}", model.forced);
    let Told {
        drops,
        admissions,
        open,
    } = model.told;
    assert!(
        drops > 100 && admissions > 500 && open * 100 < admissions,
        "{:?}",
        model.told
    );
}

#[test]
fn fred_follows_the_oracle() {
    follow(false);
    follow(true);
}
