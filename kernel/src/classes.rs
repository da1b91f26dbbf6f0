//! The AQMs of classes of service in one program: the kinds of AQM that there are, and each class's
//! config. `classes.bpf.h` has the functions.

use std::fmt::Write as _;

use sluice_aqm::{Class, Configured, Functions};

use crate::KernelError;

/// Classes that a config has room for: `CLASS_MAP_MOST` of `class_map.h`.
pub(crate) const MOST: usize = 16;
const WORD: usize = size_of::<u64>();

/// Whether a kind is in a list.
type Has = fn(Functions) -> bool;

/// Returns the name of the AQM whose functions this one has: a preset has those of its base.
pub(crate) fn functions(class: &Class) -> &str {
    class.base.as_deref().unwrap_or(&class.name)
}

/// Returns the classes of AQMs.
pub(crate) fn classes_of(aqms: &[Configured]) -> Vec<&'static Class> {
    aqms.iter().map(Configured::class).collect()
}

/// Returns the AQMs of different functions, sorted by name; a preset has the functions of its base.
pub(crate) fn kinds<'a>(aqms: &[&'a Class]) -> Vec<&'a Class> {
    let mut kinds = aqms.to_vec();
    kinds.sort_by_key(|class| functions(class));
    kinds.dedup_by_key(|class| functions(class));
    kinds
}

/// Refuses AQMs of one name and of different texts: a program has one file of a name.
///
/// # Errors
/// Names them.
pub(crate) fn check_texts(aqms: &[&Class]) -> Result<(), KernelError> {
    let mut kinds = aqms.to_vec();
    kinds.sort_by_key(|class| functions(class));
    let clash = kinds
        .windows(2)
        .find(|pair| functions(pair[0]) == functions(pair[1]) && pair[0].header != pair[1].header);
    clash.map_or(Ok(()), |pair| {
        Err(KernelError::Missing(format!(
            "{}: classes of service have two texts of this name: give one header another name",
            functions(pair[0])
        )))
    })
}

/// Returns the text of `kinds.h`.
pub(crate) fn kinds_header(aqms: &[&Class]) -> String {
    let kinds = kinds(aqms);
    let mut text = String::new();
    for class in &kinds {
        writeln!(text, "#include \"{}.h\"", functions(class)).expect("a text grows");
    }
    let lists: [(&str, Has); 5] = [
        ("KINDS", |_| true),
        ("KINDS_WITH_DEPART", |has| has.depart),
        ("KINDS_WITH_TICK", |has| has.tick),
        ("KINDS_WITH_OCCUPANCY", |has| has.occupancy),
        ("KINDS_WITH_CANDIDATE", |has| has.candidate),
    ];
    for (list, is_in) in lists {
        write!(text, "#define {list}(K)").expect("a text grows");
        for (number, class) in kinds.iter().enumerate() {
            if is_in(class.functions()) {
                write!(text, " K({number}, {})", functions(class)).expect("a text grows");
            }
        }
        text.push('\n');
    }
    text
}

/// Returns the configs of all lanes: an array of `struct classes_config`.
pub(crate) fn configs(aqms: &[Configured]) -> Vec<u8> {
    let classes: Vec<&Class> = aqms.iter().map(Configured::class).collect();
    let kinds = kinds(&classes);
    let largest = aqms.iter().map(|aqm| aqm.config().len()).max();
    let room = largest.unwrap_or(0).next_multiple_of(WORD).max(WORD);
    let mut value = Vec::new();
    for aqm in aqms {
        let own = functions(aqm.class());
        let kind = kinds.iter().position(|class| functions(class) == own);
        value.extend((kind.expect("one of them") as u64).to_ne_bytes());
        value.extend(aqm.config());
        value.resize(value.len() + room - aqm.config().len(), 0);
    }
    value.resize(MOST * (WORD + room), 0);
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_sorted_and_presets_are_of_their_base() {
        let named = ["red", "codel", "gentle_red", "choke"];
        let aqms = named.map(|name| sluice_aqm::find(name).unwrap());
        assert_eq!(
            kinds_header(&aqms),
            "#include \"choke.h\"\n#include \"codel.h\"\n#include \"red.h\"\n\
             #define KINDS(K) K(0, choke) K(1, codel) K(2, red)\n\
             #define KINDS_WITH_DEPART(K) K(1, codel)\n\
             #define KINDS_WITH_TICK(K) K(2, red)\n\
             #define KINDS_WITH_OCCUPANCY(K)\n\
             #define KINDS_WITH_CANDIDATE(K) K(0, choke)\n"
        );
    }

    #[test]
    fn each_class_has_its_kind_and_its_config_in_equal_room() {
        let aqms = ["red", "drop_tail", "gentle_red"].map(|name| {
            Configured::new(sluice_aqm::find(name).unwrap(), &[]).expect("defaults obey the rules")
        });
        let value = configs(&aqms);
        let each = value.len() / MOST;
        let kinds: Vec<u8> = value.chunks(each).map(|config| config[0]).take(3).collect();
        assert_eq!(kinds, [1, 0, 1]);
        for (aqm, config) in aqms.iter().zip(value.chunks(each)) {
            assert_eq!(&config[WORD..WORD + aqm.config().len()], aqm.config());
        }
        assert!(value[3 * each..].iter().all(|byte| *byte == 0));
    }

    #[test]
    fn two_texts_of_one_name_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let text = include_str!("../../tests/shorter.h");
        let class = |version: &str, text: &str| {
            let path = folder.path().join(version).join("shorter.h");
            std::fs::create_dir(path.parent().unwrap()).unwrap();
            std::fs::write(&path, text).unwrap();
            sluice_aqm::compile(&path).unwrap()
        };
        let other = text.replace("< c->most", "<= c->most");
        let [one, same, other] =
            [("1", text), ("2", text), ("3", &other)].map(|(v, t)| class(v, t));
        let red = sluice_aqm::find("red").unwrap();
        assert!(check_texts(&[one, red, same]).is_ok());
        let told = check_texts(&[one, red, other]).unwrap_err().to_string();
        assert!(
            told.starts_with("shorter: classes of service have two texts"),
            "{told}"
        );
        // in any order and as often as they like, the text of a program is the same
        let program = crate::Program::Qdisc {
            scheduler: Some("prio"),
            has_classes: true,
            log: false,
        };
        let forward = crate::compile::files(program, &[one, red, same]);
        assert_eq!(forward, crate::compile::files(program, &[red, one]));
    }
}
