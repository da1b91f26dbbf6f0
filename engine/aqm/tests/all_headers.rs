//! Every AQM of `aqm/` passes the checks of a user's header: the rules and the trial.

use std::{fs, path::Path};

use sluice_aqm::{HEADERS, compile, find};

#[test]
fn every_aqm_passes_as_a_users_header() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("all_headers");
    fs::create_dir_all(&folder).unwrap();
    let mut tried = 0;
    for (file, text) in HEADERS {
        let path = folder.join(file);
        if find(file.trim_end_matches(".h")).is_none() {
            continue; // no AQM
        }
        fs::write(&path, text).unwrap();
        match compile(&path) {
            Ok(_) => tried += 1,
            Err(error) if error.to_string().contains("needs a C compiler") => return,
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!(tried, sluice_aqm::all().len());
}
