//! Every scenario file of the slotted queue gives a plan for each of its disciplines.

use std::{fs, path::Path};

use sluice_scenario::AnyScenario;
use sluice_slotted::{Arrivals, Plan, Service};

#[test]
fn every_file_gives_its_plans() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut replayed = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            continue;
        }
        let AnyScenario::Slotted(scenario) = AnyScenario::load(&path).unwrap() else {
            panic!("{} is no slotted queue's", path.display());
        };
        for discipline in &scenario.disciplines {
            let plan = Plan::of(&scenario, discipline).unwrap();
            assert!(plan.slots >= 1000 && plan.replications >= 1);
            if let Arrivals::Replay(_) = plan.arrivals {
                // 2 Mbit/s in slots of 10 us
                assert_eq!(
                    plan.service,
                    Service::PacketSize {
                        bytes_per_slot: 2.5
                    }
                );
                assert_eq!((plan.slots, plan.replications), (7_289_019, 1));
                replayed += 1;
            }
        }
    }
    assert_eq!(replayed, 8);
}
