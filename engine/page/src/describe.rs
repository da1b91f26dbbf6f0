//! What a page can offer, as JSON.

use serde_json::{Map, Value as Json, json};
use sluice_aqm::Class;

use crate::row::NAMES;

/// Returns `{"row": [...], "aqms": [...], "schema": {...}}`: the names of a row's numbers, what the
/// schema of scenarios does not say of the AQMs, and that schema, which has the range, the unit and
/// the meaning of every field and parameter.
pub fn offered() -> String {
    let aqms: Json = sluice_aqm::disciplines().map(aqm).collect();
    let schema = sluice_scenario::schema();
    format!(
        r#"{{"row": {}, "aqms": {aqms}, "schema": {schema}}}"#,
        json!(NAMES)
    )
}

/// `when` has the parameters that are used only with some values of another one; a `coupled`
/// discipline takes no scheduler, and must mark.
fn aqm(class: &Class) -> Json {
    let with_others = class.params.iter().filter(|param| !param.when.is_empty());
    json!({
        "name": class.name,
        "title": class.title,
        "coupled": class.is_coupled(),
        "when": with_others
            .map(|param| (param.name.clone(), param.when.clone().into()))
            .collect::<Map<_, _>>(),
    })
}
