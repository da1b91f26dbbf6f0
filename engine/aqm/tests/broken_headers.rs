//! A header that does not compile, or breaks the rules, becomes an error message.

use std::{fs, process::Command};

use sluice_aqm::compile;

use crate::common::step_header::{STEP, has_compiler, said, said_of};

#[test]
fn a_header_without_faults_is_taken() {
    if has_compiler() {
        assert_eq!(
            said("before", "static const s64 step_table[2] = { 1, 2 };"),
            None
        );
    }
}

#[test]
fn what_breaks_the_rules_is_refused() {
    if !has_compiler() {
        return;
    }
    for (place, code, words) in [
        (
            "arrive",
            "static u32 count; if (++count % 3 == 0) return AQM_DROP_EARLY;",
            "step.h: count can change and is not in struct step_state; what an AQM remembers must",
        ),
        (
            "before",
            "s64 total = 3;",
            "step.h: total can change and is not in struct step_state;",
        ),
        (
            "arrive",
            "static __thread u32 mine; if (++mine % 3 == 0) return AQM_DROP_EARLY;",
            "step.h: mine can change",
        ),
        (
            "before",
            "s64 common __attribute__((common));",
            "step.h: common can change",
        ),
        (
            "arrive",
            "if (__builtin_malloc(view->packet_bytes) == 0) return AQM_DROP_EARLY;",
            "step.h: it uses malloc, which is not its own; an AQM knows nothing but its state,",
        ),
        (
            "arrive",
            "extern int rand(void); if (rand() % 3 == 0) return AQM_DROP_EARLY;",
            "step.h: it uses rand, which is not its own;",
        ),
        (
            "arrive",
            "s64 big[100000]; for (u32 i = 0; i < 100000; i++) big[i] = view->random ^ i;\n\
             for (u32 i = 1; i < 100000; i++) big[i] += big[big[i - 1] & 65535];\n\
             if (big[99999] & 1) return AQM_DROP_EARLY;",
            "step.h does not compile as an AQM:\n",
        ),
    ] {
        let said = said(place, code).unwrap_or_else(|| panic!("{code} was taken"));
        assert!(said.starts_with(words), "{said}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn variables_are_refused_by_what_their_section_allows() {
    if !has_compiler() {
        return;
    }
    // `#` makes the assembler ignore what the compiler adds
    let count = |section: &str| {
        format!(
            "static u32 count __attribute__((section(\"{section}\"))); if (++count % 3 == 0) \
             return AQM_DROP_EARLY;"
        )
    };
    for section in [
        ".note.h,\\\"aw\\\"#",
        ".note.h,\\\"aw\\\",@note#",
        ".mine,\\\"aw\\\",@init_array#",
        ".mine,\\\"aw\\\",@fini_array#",
        ".mine,\\\"aw\\\",@nobits#",
        ".mine,\\\"awx\\\"#",
        ".rodata,\\\"aw\\\"#",
        ".debug_mine,\\\"aw\\\"#",
        ".tbss.mine,\\\"awT\\\",@nobits#",
        ".data.rel.rosy",
        ".bss.mine",
        ".init_array",
    ] {
        let said = said("arrive", &count(section)).unwrap_or_else(|| panic!("{section} was taken"));
        assert!(
            said.contains("count can change and is not in struct step_state"),
            "{section}: {said}"
        );
    }
    // the loader makes it read-only
    let said = said("arrive", &count(".data.rel.ro.mine")).unwrap();
    assert!(said.contains("memory that is not its own"), "{said}");
}

#[test]
#[cfg(target_os = "linux")]
fn code_that_runs_by_itself_is_refused() {
    if !has_compiler() {
        return;
    }
    for (code, words) in [
        (
            "__attribute__((constructor)) static void first(void) { for (;;) __asm__(\"\"); }",
            "step.h: it has code that runs by itself, as it is loaded or unloaded (.init_array",
        ),
        (
            "__attribute__((destructor)) static void last(void) { __asm__(\"\"); }",
            "step.h: it has code that runs by itself, as it is loaded or unloaded (.fini_array",
        ),
        (
            "static u32 one(void) { return 1; }\n\
             static u32 (*choose(void))(void) { return one; }\n\
             u32 chosen(void) __attribute__((ifunc(\"choose\")));",
            "step.h: chosen is chosen as the file is loaded (ifunc)",
        ),
    ] {
        let said = said("before", code).unwrap_or_else(|| panic!("{code} was taken"));
        assert!(said.starts_with(words), "{said}");
    }
    let code = "extern u64 _GLOBAL_OFFSET_TABLE_[]; u64 *table = _GLOBAL_OFFSET_TABLE_;\n\
                __asm__(\"\" : \"+r\"(table)); table[2]++;";
    assert!(
        said("arrive", code).is_some(),
        "the linker's table was written"
    );
}

#[test]
fn casts_that_drop_const_do_not_compile() {
    if !has_compiler() {
        return;
    }
    for code in [
        "((struct step_config *)config)->threshold = 1;",
        "((struct aqm_view *)view)->full = 0;",
        "struct step_config *own = config; own->threshold = 1;",
    ] {
        let said = said("arrive", code).unwrap_or_else(|| panic!("{code} was taken"));
        assert!(
            said.starts_with("step.h does not compile as an AQM:\n"),
            "{said}"
        );
        let words = "An AQM changes nothing but its struct step_state: its config and the view are \
                     const.";
        assert!(said.ends_with(words), "{said}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn what_is_no_file_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let made = Command::new("mkfifo").arg(at("pipe.h")).status().unwrap();
    assert!(made.success());
    std::os::unix::fs::symlink("/dev/zero", at("zero.h")).unwrap();
    fs::create_dir(at("folder.h")).unwrap();
    fs::write(at("huge.h"), vec![b'\n'; (1 << 20) + 1]).unwrap();
    for (name, words) in [
        ("pipe.h", "is a pipe or a device and must be a file"),
        ("zero.h", "is a pipe or a device and must be a file"),
        ("folder.h", "is a folder and must be a C header"),
        ("huge.h", "has 1048577 bytes; a header has at most 1048576"),
        ("absent.h", "No such file or directory"),
        (&format!("{}.h", "x".repeat(300)), "File name too long"),
    ] {
        let said = compile(&at(name)).err().unwrap().to_string();
        assert_eq!(said, format!("{}: {words}", at(name).display()));
    }
}

#[test]
fn a_name_may_be_long() {
    if !has_compiler() {
        return;
    }
    let name = "step".repeat(50);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(format!("{name}.h"));
    let text = STEP
        .replace("step", &name)
        .replace("STEP", &name.to_uppercase());
    fs::write(&path, text).unwrap();
    assert_eq!(compile(&path).unwrap().name, name);
}

#[test]
#[cfg(target_os = "linux")]
fn a_compiler_without_an_end_is_ended() {
    if !has_compiler() {
        return;
    }
    let said = said("before", "#include \"/dev/zero\"").unwrap();
    assert!(
        said.starts_with("step.h does not compile as an AQM:\n"),
        "{said}"
    );
    // 2^30 expansions
    let mut bomb = "#define A0 1 +\n".to_owned();
    for depth in 1..=10 {
        let before = format!("A{} ", depth - 1).repeat(8);
        bomb += &format!("#define A{depth} {before}\n");
    }
    let said = self::said("before", &format!("{bomb}static const s64 many = A10 1;")).unwrap();
    assert!(
        said.contains("The compiler was ended: it has 30 s of processor time, a minute, and 1 GiB"),
        "{said}"
    );
    // what the compiler says is shown in part
    let said = self::said("before", &"int 7;\n".repeat(5000)).unwrap();
    assert!(said.lines().count() < 50, "{}", said.lines().count());
}

#[test]
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn floating_point_is_refused() {
    if !has_compiler() {
        return;
    }
    // the comments name no line
    let code = "/* a float\n a double */ double half = 0.5 * view->queue_packets; // double\n\
                if (half > 3) return AQM_DROP_EARLY;";
    let said = said("arrive", code).unwrap();
    assert!(
        said.starts_with("step.h does not compile as an AQM:\n"),
        "{said}"
    );
    let before = STEP.split("/*arrive*/").next().unwrap().lines().count();
    let words = format!(
        "An AQM uses no floating point: fixed.h has the arithmetic. Line {} of step.h names double \
         or float.",
        before + 1
    );
    assert!(said.ends_with(&words), "{said}");
    let two = "double half = 0.5;\nfloat third = view->queue_packets * half / 3; \
               if (third > 3) return AQM_DROP_EARLY;";
    let said = self::said("arrive", two).unwrap();
    let words = format!(
        "Lines {before}, {} of step.h name double or float.",
        before + 1
    );
    assert!(said.ends_with(&words), "{said}");
}

#[test]
fn a_function_that_the_class_does_not_name_is_told() {
    if !has_compiler() {
        return;
    }
    for (function, left_out, entry) in [
        (
            "depart",
            ".depart = step_depart_any, ",
            ".depart = step_depart_any",
        ),
        (
            "occupancy",
            ".occupancy = step_occupancy_any, ",
            ".occupancy = step_occupancy_any",
        ),
        (
            "tick",
            ".tick = step_tick_any,\n\t.tick_interval_ns = step_tick_interval_any, ",
            ".tick = step_tick_any, .tick_interval_ns = step_tick_interval_any",
        ),
    ] {
        let macro_line = format!("AQM_{}(step)\n", function.to_uppercase());
        let unnamed = STEP.replacen(left_out, "", 1);
        assert_ne!(unnamed, STEP, "{function}");
        // with the macro, and without it
        for header in [unnamed.replacen(&macro_line, "", 1), unnamed] {
            let said =
                said_of(&header, "class", "").unwrap_or_else(|| panic!("{function} was taken"));
            let words = format!(
                "step.h: defines step_{function}, which nothing would call: AQM_CLASS does not \
                 name it. Write AQM_{}(step) before AQM_CLASS, and in it {entry}",
                function.to_uppercase()
            );
            assert_eq!(said, words);
        }
    }
}

#[test]
fn a_function_of_the_class_that_no_macro_makes_is_told() {
    if !has_compiler() {
        return;
    }
    for (function, entry) in [
        ("depart", "depart_any"),
        ("occupancy", "occupancy_any"),
        ("tick", "tick_any"),
    ] {
        let made = format!("AQM_{}(step)", function.to_uppercase());
        let header = STEP.replacen(&format!("{made}\n"), "", 1);
        assert_ne!(header, STEP, "{function}");
        let said = said_of(&header, "class", "").unwrap();
        let words = format!(
            "step.h names step_{entry} in AQM_CLASS: {made} before it makes this function."
        );
        assert!(said.ends_with(&words), "{said}");
    }
}

#[test]
fn a_function_of_a_library_is_told() {
    if !has_compiler() {
        return;
    }
    let said = said("arrive", "printf(\"here\");").unwrap();
    let words = "An AQM calls no library: it has the functions of fixed.h, and its own, and prints nothing.";
    assert!(said.ends_with(words), "{said}");
    let misspelt = self::said(
        "arrive",
        "if (step_probabilty(view)) return AQM_DROP_EARLY;",
    )
    .unwrap();
    assert!(!misspelt.contains("library"), "{misspelt}");
}

#[test]
fn a_header_of_another_name_says_how_it_ends() {
    if !has_compiler() {
        return;
    }
    let other = STEP.replace("AQM_CLASS(step,", "AQM_CLASS(stop,");
    let said = said_of(&other, "class", "").unwrap();
    assert!(
        said.ends_with("The header of an AQM of this name ends with AQM_CLASS(step, ...)."),
        "{said}"
    );
}

#[test]
fn a_header_without_an_include_is_told_which() {
    if !has_compiler() {
        return;
    }
    let bare = STEP.replace("#include \"fixed.h\"\n", "");
    assert_ne!(bare, STEP);
    let said = said_of(&bare, "class", "").unwrap();
    let words = "step.h must begin with #include \"fixed.h\", where the types of an AQM are.";
    assert!(said.ends_with(words), "{said}");
}

#[test]
fn a_function_without_the_prefix_is_told() {
    if !has_compiler() {
        return;
    }
    for function in [
        "configure",
        "arrive",
        "depart",
        "occupancy",
        "tick",
        "tick_interval_ns",
        "probability",
    ] {
        let named = format!(" step_{function}(");
        let other = STEP.replace(&named, &format!(" {function}("));
        assert_ne!(other, STEP);
        let said = said_of(&other, "class", "").unwrap();
        let words = format!(
            "step.h must define step_{function} before AQM_CLASS: the names of all functions of an \
             AQM begin with the name of the file."
        );
        assert!(said.ends_with(&words), "{said}");
    }
}
