//! Checks that a user's compiled AQM has no variables of its own and calls no outside functions.

use object::{
    BinaryFormat, File, Object, ObjectSection, ObjectSymbol, SectionFlags, SectionKind,
    SymbolFlags, SymbolSection,
    elf::{SHF_ALLOC, SHF_WRITE, STT_GNU_IFUNC},
};

/// Symbols that compilers use by themselves: to copy structs, and to guard the stack.
const OF_THE_COMPILER: &[&str] = &[
    "_GLOBAL_OFFSET_TABLE_",
    "__stack_chk_fail",
    "memcmp",
    "memcpy",
    "memmove",
    "memset",
];

/// Sections with code that runs as the file is loaded, or as it is unloaded.
const RUNS_BY_ITSELF: &[&str] = &[
    ".preinit_array",
    ".init_array",
    ".fini_array",
    ".ctors",
    ".dtors",
];

/// Checks an object file. `name` is the AQM's name.
///
/// # Errors
/// If a symbol breaks a rule of `aqm.h`; the error names both.
pub fn check(name: &str, object: &[u8]) -> Result<(), String> {
    let file = File::parse(object).map_err(|error| format!("the compiled file: {error}"))?;
    let told = |symbol: &str| match file.format() {
        BinaryFormat::MachO => symbol.strip_prefix('_').unwrap_or(symbol).to_owned(),
        // the compiler adds a number to the name of a variable within a function
        _ => symbol.split('.').next().unwrap_or(symbol).to_owned(),
    };
    let mut calls = Vec::new();
    for symbol in file.symbols() {
        let shown = told(symbol.name().unwrap_or_default());
        if symbol.is_undefined() && !shown.is_empty() {
            calls.push(shown);
        } else if is_variable(&file, symbol.section()) && symbol.size() > 0 {
            return Err(changes(name, &shown));
        } else if is_chosen_when_loaded(symbol.flags()) {
            return Err(format!(
                "{shown} is chosen as the file is loaded (ifunc); an AQM is the same everywhere"
            ));
        }
    }
    for section in file.sections() {
        if is_writable(&section) && section.size() > 0 {
            let place = name_of(&section);
            if RUNS_BY_ITSELF.iter().any(|start| place.starts_with(start)) {
                return Err(format!(
                    "it has code that runs by itself, as it is loaded or unloaded ({place}); an \
                     AQM's functions are only called"
                ));
            }
            return Err(changes(name, &format!("something in {place}")));
        }
    }
    let foreign = calls
        .into_iter()
        .find(|call| !OF_THE_COMPILER.contains(&&**call) && !is_integer_helper(call));
    match foreign {
        Some(call) if is_float_helper(&call) => Err(format!(
            "it uses floating point ({call}), which the rules of an AQM exclude: fixed.h has the \
             arithmetic"
        )),
        Some(call) => Err(format!(
            "it uses {call}, which is not its own; an AQM knows nothing but its state, its config \
             and the view: no clock, no memory, no random numbers of its own"
        )),
        None => Ok(()),
    }
}

fn changes(name: &str, what: &str) -> String {
    format!(
        "{what} can change and is not in struct {name}_state; what an AQM remembers must stand \
         there (every queue has a state of its own), and what never changes must be const"
    )
}

fn is_variable(file: &File, section: SymbolSection) -> bool {
    match section {
        SymbolSection::Common => true,
        SymbolSection::Section(index) => file
            .section_by_index(index)
            .is_ok_and(|section| is_writable(&section)),
        _ => false,
    }
}

/// True if the section is in memory and can be written to, whatever its name and kind.
fn is_writable<'a>(section: &impl ObjectSection<'a>) -> bool {
    match section.flags() {
        SectionFlags::Elf { sh_flags, .. } => {
            let flags = SHF_ALLOC | SHF_WRITE;
            sh_flags & flags == flags && !is_sealed(&name_of(section))
        }
        _ => matches!(
            section.kind(),
            SectionKind::Data
                | SectionKind::UninitializedData
                | SectionKind::Tls
                | SectionKind::UninitializedTls
                | SectionKind::TlsVariables
        ),
    }
}

/// True for constant tables of pointers: they are written only as the file is loaded. Linkers know
/// them by these names, and [`SEALED`] makes the loader forbid writing to them.
fn is_sealed(section: &str) -> bool {
    let rest = section.strip_prefix(".data.rel.ro");
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Options of the linker with which what is constant cannot be written once it is loaded.
pub const SEALED: &[&str] = if cfg!(target_os = "linux") {
    &["-Wl,-z,relro,-z,now"]
} else {
    &[]
};

fn is_chosen_when_loaded(flags: SymbolFlags<object::SectionIndex, object::SymbolIndex>) -> bool {
    matches!(flags, SymbolFlags::Elf { st_info, .. } if st_info.st_type() == STT_GNU_IFUNC)
}

fn name_of<'a>(section: &impl ObjectSection<'a>) -> String {
    section.name().unwrap_or("its data").to_owned()
}

/// True for 128-bit arithmetic of the compiler, such as `__udivti3`.
fn is_integer_helper(call: &str) -> bool {
    call.strip_prefix("__")
        .is_some_and(|rest| rest.contains("ti") && !is_float_helper(call))
}

/// True for floating-point arithmetic of the compiler, such as `__muldf3`.
fn is_float_helper(call: &str) -> bool {
    call.strip_prefix("__").is_some_and(|rest| {
        ["sf", "df", "xf", "tf"]
            .iter()
            .any(|kind| rest.contains(kind))
    })
}
