//! A fence around the running gate (Landlock): it cannot open files that it does not need, nor make
//! TCP connections. What was opened before stays open.

use std::{
    env,
    path::{Path, PathBuf},
};

use landlock::{
    ABI, Access, AccessFs, AccessNet, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError,
    RulesetStatus, path_beneath_rules,
};
use sluice_scenario::AqmName;

use crate::{Failure, settings::Settings};

/// The version of Landlock; an older kernel enforces a part of it.
const VERSION: ABI = ABI::V4;
/// Folders that a C compiler needs, which a reload runs if the AQM is the user's own header.
const SYSTEM: [&str; 6] = ["/usr", "/bin", "/lib", "/lib32", "/lib64", "/etc"];

/// Closes the fence for this thread and everything that it starts later. Without a scenario no file
/// is read any more. With a scenario, its folder and that of the header that it names may be read,
/// and a compiler may run, which writes to the folder of temporary files. `own` is a folder to
/// which the gate has to write at its end. Returns true if the kernel has Landlock.
///
/// # Errors
/// If the kernel has Landlock and refuses.
pub fn close(
    scenario: Option<&Path>,
    settings: &Settings,
    own: Option<&Path>,
) -> Result<bool, Failure> {
    restrict(scenario, settings, own)
        .map(|status| status != RulesetStatus::NotEnforced)
        .map_err(|error| Failure(format!("Landlock: {error}")))
}

fn restrict(
    scenario: Option<&Path>,
    settings: &Settings,
    own: Option<&Path>,
) -> Result<RulesetStatus, RulesetError> {
    let (all, read) = (AccessFs::from_all(VERSION), AccessFs::from_read(VERSION));
    let rules = Ruleset::default()
        .handle_access(all)?
        .handle_access(AccessNet::from_all(VERSION))?
        .create()?
        .add_rules(path_beneath_rules(own, all))?;
    let rules = match scenario {
        None => rules,
        Some(scenario) => rules
            .add_rules(path_beneath_rules(SYSTEM, read))?
            .add_rules(path_beneath_rules(folders(scenario, settings), read))?
            .add_rules(path_beneath_rules(
                [env::temp_dir(), "/dev/null".into()],
                all,
            ))?,
    };
    Ok(rules.restrict_self()?.ruleset)
}

/// Returns the folders of the scenario and of the headers and rates that it names, not the files: an editor
/// writes a new file beside the old one.
fn folders(scenario: &Path, settings: &Settings) -> Vec<PathBuf> {
    let headers = settings
        .links()
        .into_iter()
        .flat_map(|link| {
            let spec = &link.discipline.spec;
            let of_classes = spec.classes.iter().filter_map(|class| class.aqm.as_ref());
            of_classes.chain([&spec.aqm])
        })
        .filter_map(|aqm| match aqm {
            AqmName::Header(path) => Some(path.as_path()),
            AqmName::Named(_) | AqmName::Foreign(_) | AqmName::Python(..) => None,
        });
    let rates = settings.links().into_iter();
    let rates = rates.filter_map(|link| link.varying.as_ref().and_then(|it| it.file.as_deref()));
    let files = [scenario].into_iter().chain(headers).chain(rates);
    let folder = |file: &Path| match file.parent() {
        Some(folder) if folder != Path::new("") => folder.to_owned(),
        _ => ".".into(),
    };
    files.map(folder).collect()
}
