//! The scenario files of the repository, and the published schema.

use std::{
    fs,
    path::{Path, PathBuf},
};

use sluice_scenario::{AnyScenario, schema};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn every_file_is_read_and_is_what_its_place_says() {
    let mut count = 0;
    for (folder, of_network) in [("scenarios", false), ("scenarios/network", true)] {
        for entry in fs::read_dir(root().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "toml") {
                continue;
            }
            let scenario = AnyScenario::load(&path).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(
                matches!(scenario, AnyScenario::Network(_)),
                of_network,
                "{}",
                path.display()
            );
            assert!(!scenario.disciplines().is_empty());
            count += 1;
        }
    }
    assert!(count >= 14, "{count} files");
}

#[test]
fn the_published_schema_is_that_of_the_code() {
    let path = root().join("docs/reference/scenario.schema.json");
    let published = fs::read_to_string(path).unwrap();
    assert!(
        published == schema(),
        "docs/reference/scenario.schema.json is not current: make generated"
    );
}
