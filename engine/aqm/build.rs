//! Compiles `aqm/`, and puts the AQMs of `registry.h`, the schedulers of `schedulers.h` and the coupled
//! disciplines of `coupled.h` into three tables.

use std::{env, fs, path::Path};

#[path = "../../aqm/aqm.rs"]
mod ffi;

fn main() {
    let aqm = Path::new(&env::var("CARGO_MANIFEST_DIR").unwrap()).join("../../aqm");
    let out = env::var("OUT_DIR").unwrap();
    let table = Path::new(&out).join("classes.c");
    let (aqms, schedulers, coupled) = (
        entries(&aqm, "registry.h", "aqm_classes"),
        entries(&aqm, "schedulers.h", "aqm_schedulers"),
        entries(&aqm, "coupled.h", "aqm_coupled"),
    );
    fs::write(
        &table,
        format!(
            "{aqms}{schedulers}{coupled}\
             u32 aqm_settled(u32 verdict, const struct aqm_view *view)\n\
             {{\n\treturn aqm_settle((enum aqm_verdict)verdict, view);\n}}\n{}",
            agreement()
        ),
    )
    .unwrap();

    compile(&aqm, &table, "aqm_classes");
    headers(&aqm, &out);
    // the headers are named one by one, because vectors and examples do not matter here
    println!("cargo::rerun-if-changed={}", aqm.join("aqm.rs").display());
}

/// Returns C code that includes a list of headers, and makes an array of their classes and its
/// length.
fn entries(aqm: &Path, list: &str, array: &str) -> String {
    let text = fs::read_to_string(aqm.join(list)).expect("a list of aqm/");
    let names: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("#include \"")?.strip_suffix(".h\""))
        .collect();
    let classes: String = names
        .iter()
        .map(|name| format!("\t&{name}_class,\n"))
        .collect();
    let count = names.len();
    format!(
        "#include \"{list}\"\n\
         const struct aqm_class *const {array}[] = {{\n{classes}}};\n\
         const u64 {array}_count = {count};\n"
    )
}

/// Returns C code that does not compile if a struct or a verdict differs between Rust and C.
fn agreement() -> String {
    let check = |condition: String, what: String| {
        format!("_Static_assert({condition}, \"aqm/aqm.rs and aqm.h differ: {what}\");\n")
    };
    let mut text = String::new();
    // `LAYOUT` is that of the machine that builds
    let bits = env::var("CARGO_CFG_TARGET_POINTER_WIDTH").unwrap();
    let layouts = if bits == usize::BITS.to_string() {
        ffi::LAYOUT
    } else {
        &[]
    };
    for (name, size, fields) in layouts {
        let of = format!("struct {name}");
        text += &check(format!("sizeof({of}) == {size}"), of.clone());
        for (field, offset, size) in *fields {
            let at = format!("__builtin_offsetof({of}, {field}) == {offset}");
            let wide = format!("sizeof((({of} *)0)->{field}) == {size}");
            text += &check(format!("{at} && {wide}"), format!("{of}.{field}"));
        }
    }
    for (number, name) in ffi::Verdict::NAMES.iter().enumerate() {
        text += &check(format!("AQM_{name} == {number}"), format!("AQM_{name}"));
    }
    text + &check(
        format!("AQM_VERDICTS == {}", ffi::Verdict::COUNT),
        "AQM_VERDICTS".into(),
    )
}

fn compile(aqm: &Path, source: &Path, library: &str) {
    let mut build = cc::Build::new();
    build
        .std("gnu11")
        .opt_level(3)
        .define("AQM_HOSTED", None)
        .include(aqm);
    build.warnings(true).flag("-Wno-unused-function");
    build.file(source).compile(library);
}

/// Embeds the headers, so that a user's own AQM can be compiled against them anywhere.
fn headers(aqm: &Path, out: &str) {
    let mut files: Vec<_> = fs::read_dir(aqm)
        .unwrap()
        .map(|entry| entry.unwrap().path().canonicalize().unwrap())
        .filter(|path| path.extension().is_some_and(|extension| extension == "h"))
        .collect();
    files.sort();
    for file in &files {
        println!("cargo::rerun-if-changed={}", file.display());
    }
    let rows: String = files
        .iter()
        .map(|path| {
            let name = path.file_name().unwrap().to_str().unwrap();
            format!(
                "    ({name:?}, include_str!({:?})),\n",
                path.to_str().unwrap()
            )
        })
        .collect();
    fs::write(
        Path::new(out).join("headers.rs"),
        format!("/// Name and text of every header of `aqm/`.\npub const HEADERS: &[(&str, &str)] = &[\n{rows}];\n"),
    )
    .unwrap();
}
