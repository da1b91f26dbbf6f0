//! The live page: one file, which loads nothing from elsewhere.

use serde_json::{Value as Json, json};
use sluice_aqm::{Class, Param, Scale, Value};

/// What the page may do: run its own scripts, and ask the daemon. Nothing may frame it, as a click on
/// a hidden frame could change the router.
pub(super) const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; \
    style-src 'unsafe-inline'; img-src data:; connect-src 'self'; frame-ancestors 'none'; \
    base-uri 'none'; form-action 'none'";

/// Parts of the page and where they stand in it. `uPlot` 1.6.32 draws the strips (MIT licence).
const PARTS: [(&str, &str); 7] = [
    ("/*uPlot.css*/", include_str!("live/uPlot.min.css")),
    ("/*style*/", include_str!("live/style.css")),
    ("{uPlot.LICENSE}", include_str!("live/uPlot.LICENSE")),
    ("/*uPlot.js*/", include_str!("live/uPlot.iife.min.js")),
    ("/*strips*/", include_str!("live/strips.js")),
    ("/*switch*/", include_str!("live/switch.js")),
    ("/*main*/", include_str!("live/main.js")),
];

/// Returns the page of a daemon that takes changes, and that has a shadow, or not.
pub(super) fn page(takes_changes: bool, has_shadow: bool) -> String {
    let about = json!({"switch": takes_changes, "shadow": has_shadow});
    let page = include_str!("live/page.html");
    let page = page.replace("/*about*/", &about.to_string());
    let page = page.replace("/*version*/", env!("CARGO_PKG_VERSION"));
    PARTS
        .iter()
        .fold(page, |page, (place, text)| page.replacen(place, text, 1))
}

/// Returns the AQMs and their parameters, as JSON.
pub(super) fn disciplines() -> String {
    let all: Json = sluice_aqm::disciplines().map(described).collect();
    all.to_string()
}

fn described(class: &Class) -> Json {
    let params: Json = class.params.iter().map(parameter).collect();
    json!({"name": class.name, "title": class.title, "summary": class.summary, "params": params})
}

fn parameter(param: &Param) -> Json {
    let words = match &param.scale {
        Scale::Choice(words) => words.clone(),
        Scale::Switch => vec!["false".into(), "true".into()],
        _ => Vec::new(),
    };
    let initial = match param.show(param.initial) {
        Value::Number(number) => json!(number),
        Value::Word(word) => json!(word),
        Value::Switch(on) => json!(on.to_string()),
    };
    json!({
        "name": param.name,
        "unit": param.scale.unit(),
        "initial": initial,
        "least": param.least,
        "greatest": param.greatest,
        "when": param.when,
        "help": param.help,
        "words": words,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_all_its_parts() {
        let page = page(true, false);
        for (place, text) in PARTS {
            assert!(page.contains(text), "{place}");
            assert!(!page.contains(place), "{place}");
        }
        assert!(page.contains(r#"{"switch":true,"shadow":false}"#));
        assert!(page.len() < 100_000, "{}", page.len());
    }

    #[test]
    fn every_default_of_an_aqm_is_one_of_its_words() {
        let all: Json = serde_json::from_str(&disciplines()).unwrap();
        let red = (all.as_array().unwrap().iter()).find(|aqm| aqm["name"] == "red");
        let params = red.unwrap()["params"].as_array().unwrap();
        assert!(params.iter().any(|param| param["unit"] == "packets"));
        for param in all
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|aqm| aqm["params"].as_array().unwrap())
        {
            let words = param["words"].as_array().unwrap();
            assert!(
                words.is_empty() || words.contains(&param["initial"]),
                "{param}"
            );
        }
    }
}
