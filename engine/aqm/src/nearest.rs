//! What an unknown name may mean.

/// Least similarity of two names for a hint; 1: they are the same.
const ALIKE: f64 = 0.6;

/// Least number of bytes with which the start of a name is recognised.
const LEAST_START: usize = 3;

/// Returns the most similar known name; `None` if no name is similar.
pub fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    // very long names take long to compare
    if name.len() > 100 {
        return None;
    }
    let likeness = |other: &str| match name.len() >= LEAST_START && other.starts_with(name) {
        true => 1.0,
        false => strsim::normalized_damerau_levenshtein(name, other),
    };
    known
        .iter()
        .map(|other| (likeness(other), *other))
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .max_by(|one, other| one.0.total_cmp(&other.0))
        .map(|(_, other)| other)
}
