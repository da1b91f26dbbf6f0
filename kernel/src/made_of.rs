//! The AQM and the text that an object was compiled from, as recorded in it: `made_of` of
//! `instance.bpf.h`. An object of another AQM, or of another text, would misread the config.

use std::sync::LazyLock;

use libbpf_rs::OpenMap;
use sha2::{Digest, Sha256};
use sluice_aqm::Class;

use crate::{
    KernelError,
    classes::{check_texts, functions, kinds},
    compile::{Object, Program, common_files, own_files, scheduler_of},
    refusal::open,
};

/// Bytes of the name in an object, padded with zeros.
const NAME_BYTES: usize = 512;

/// The sum of what all objects are made of. It is most of the text, and summed up once.
static COMMON: LazyLock<Sha256> = LazyLock::new(|| {
    let mut sum = Sha256::new();
    common_files().for_each(|(file, text)| add(&mut sum, file, text));
    sum
});

/// AQM and text that an object was compiled from.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MadeOf {
    /// AQMs whose functions it has, its scheduler, and whether it has a log.
    pub name: String,
    /// SHA-256 of all text that the compiler got, in hexadecimal.
    pub sha256: String,
}

impl MadeOf {
    /// Returns what an object of this AQM, or of these of classes, must have recorded.
    pub fn new(program: Program, aqms: &[&Class]) -> Self {
        let kinds: Vec<&str> = kinds(aqms).into_iter().map(functions).collect();
        let mut name = kinds.join(", ");
        if let Program::Qdisc { log, .. } = program {
            let scheduler = scheduler_of(program, aqms);
            name += &scheduler.map_or_else(String::new, |scheduler| format!(" with {scheduler}"));
            name += if log { " with a log" } else { "" };
        }
        let mut sum = COMMON.clone();
        own_files(program, aqms).for_each(|(file, text)| add(&mut sum, &file, &text));
        let sum = sum.finalize();
        Self {
            name,
            sha256: sum.iter().map(|byte| format!("{byte:02x}")).collect(),
        }
    }

    /// Returns what an object has recorded; `None` if it is not one of our qdiscs.
    fn read(object: &Object) -> Result<Option<Self>, libbpf_rs::Error> {
        let open = open(&object.bytes, |_| Ok(()))?;
        let told = open.maps().find(|map| map.name() == ".rodata.aqm");
        let told = told.as_ref().and_then(OpenMap::initial_value);
        Ok(told
            .and_then(|bytes| bytes.split_at_checked(NAME_BYTES))
            .map(|(name, sha256)| {
                let text = |bytes| String::from_utf8_lossy(bytes).trim_end_matches('\0').into();
                Self {
                    name: text(name),
                    sha256: text(sha256),
                }
            }))
    }
}

/// Adds a file to a sum.
fn add(sum: &mut Sha256, file: &str, text: &str) {
    for part in [file, text] {
        sum.update(part.len().to_le_bytes());
        sum.update(part);
    }
}

/// Returns what an object was compiled from.
///
/// # Errors
/// If it was not compiled from these AQMs and their present text, or if no object could be.
pub(crate) fn check(object: &Object, aqms: &[&Class]) -> Result<MadeOf, KernelError> {
    check_texts(aqms)?;
    let must = MadeOf::new(object.program, aqms);
    let refuse = |what: &str| {
        Err(KernelError::Missing(format!(
            "the object is {what}, not {} compiled as a qdisc",
            must.name
        )))
    };
    match MadeOf::read(object) {
        Err(_) => refuse("no object"),
        Ok(None) => refuse("something else"),
        Ok(Some(found)) if found.name != must.name => refuse(&found.name),
        Ok(Some(found)) if found.sha256 != must.sha256 => Err(KernelError::Missing(format!(
            "the object is {0} of another text: sluiced qdisc compile makes it of the text that {0} \
             has here",
            must.name
        ))),
        Ok(Some(found)) => Ok(found),
    }
}
