//! What an author can do about a header that does not compile, in a sentence below what the compiler
//! says.

const TYPES: [&str; 4] = ["u8", "u32", "u64", "s64"];
const FUNCTIONS: [&str; 9] = [
    "configure",
    "arrive",
    "depart",
    "tick_interval_ns",
    "tick",
    "occupancy",
    "drop_probability",
    "average",
    "probability",
];

// what makes the functions of the table, whose names end in `_any`
const MADE: [(&str, &str); 7] = [
    ("depart_any", "AQM_DEPART"),
    ("tick_any", "AQM_TICK"),
    ("tick_interval_any", "AQM_TICK"),
    ("drop_probability_any", "AQM_DROP_FUNCTION"),
    ("average_any", "AQM_AVERAGE"),
    ("probability_any", "AQM_PROBABILITY"),
    ("occupancy_any", "AQM_OCCUPANCY"),
];

/// Returns a sentence for the commonest mistakes; `said` is the compiler's output.
pub(crate) fn advice(name: &str, text: &str, said: &str) -> Option<String> {
    if said.contains("SSE") || said.contains("floating-point") {
        let use_fixed = "An AQM uses no floating point: fixed.h has the arithmetic.";
        // the compiler may name the last line: there it inlines the function
        return Some(match &float_lines(text)[..] {
            [] => use_fixed.into(),
            [line] => format!("{use_fixed} Line {line} of {name}.h names double or float."),
            lines => {
                let lines = lines.join(", ");
                format!("{use_fixed} Lines {lines} of {name}.h name double or float.")
            }
        });
    }
    if names_one(said, "unknown type name", TYPES).is_some() {
        return Some(format!(
            "{name}.h must begin with #include \"fixed.h\", where the types of an AQM are."
        ));
    }
    if names_one(said, "undeclared", [format!("{name}_class")]).is_some() {
        return Some(format!(
            "The header of an AQM of this name ends with AQM_CLASS({name}, ...)."
        ));
    }
    let made = MADE.map(|(function, _)| format!("{name}_{function}"));
    if let Some(function) = names_one(said, "undeclared", &made) {
        let (_, macro_name) = MADE[made.iter().position(|each| each == function)?];
        return Some(format!(
            "{name}.h names {function} in AQM_CLASS: {macro_name}({name}) before it makes this function."
        ));
    }
    let functions = FUNCTIONS.map(|function| format!("{name}_{function}"));
    // what gcc and clang say
    let missing = ["implicit declaration", "undeclared function"]
        .into_iter()
        .find_map(|words| names_one(said, words, &functions));
    if let Some(function) = missing {
        return Some(format!(
            "{name}.h must define {function} before AQM_CLASS: the names of all functions of an AQM \
             begin with the name of the file."
        ));
    }
    // of a function that the compiler knows
    if said.contains("built-in function") || said.contains("undeclared library function") {
        return Some(
            "An AQM calls no library: it has the functions of fixed.h, and its own, and prints nothing."
                .into(),
        );
    }
    said.contains("qualifier").then(|| {
        format!(
            "An AQM changes nothing but its struct {name}_state: its config and the view are const."
        )
    })
}

/// The first of `names` that the compiler puts between quotation marks in a line with these words.
fn names_one<S: AsRef<str>>(
    said: &str,
    words: &str,
    names: impl IntoIterator<Item = S>,
) -> Option<S> {
    names.into_iter().find(|name| {
        let quoted = [('\u{2018}', '\u{2019}'), ('\'', '\'')]
            .map(|(open, close)| format!("{open}{}{close}", name.as_ref()));
        said.lines()
            .filter(|line| line.contains(words))
            .any(|line| quoted.iter().any(|name| line.contains(name)))
    })
}

/// Numbers, from 1 on, of the first five lines that name a type of floating point outside a comment.
fn float_lines(text: &str) -> Vec<String> {
    let is_word = |letter: char| letter == '_' || letter.is_ascii_alphanumeric();
    let names_float = |line: &str| {
        line.split(|letter| !is_word(letter))
            .any(|word| word == "double" || word == "float")
    };
    let code = without_comments(text);
    let lines = (1..).zip(code.lines());
    let named = lines.filter(|(_, line)| names_float(line));
    named
        .take(5)
        .map(|(number, _): (u32, _)| number.to_string())
        .collect()
}

/// The text without what stands in comments; every line keeps its number.
fn without_comments(text: &str) -> String {
    let mut code = String::new();
    let mut rest = text;
    while let Some(start) = rest.find("/*").into_iter().chain(rest.find("//")).min() {
        code += &rest[..start];
        rest = &rest[start..];
        let end = if rest.starts_with("//") {
            rest.find('\n')
        } else {
            rest[2..].find("*/").map(|end| end + 4)
        };
        let (comment, after) = rest.split_at(end.unwrap_or(rest.len()));
        code += &"\n".repeat(comment.matches('\n').count());
        rest = after;
    }
    code + rest
}
