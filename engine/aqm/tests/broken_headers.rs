//! A fault in a user's header becomes an error message, and this process continues.

use std::{fs, process::Command};

use sluice_aqm::{Aqm, Configured, View, compile};

const STEP: &str = r#"
#include "fixed.h"
#define STEP_PARAMS(P) \
	P(threshold, COUNT, 10, 0, 1000, "", "packets that may wait", "a test") \
	P(shape, CHOICE(linear|steep), 0, 0, 1, "", "shape", "a test")
AQM_PARAMS(step, STEP_PARAMS)
struct step_config { s64 threshold, shape; };
struct step_state { s64 last, seen[4]; };
/*before*/
static inline u32 step_configure(const struct step_params *p, struct step_config *config)
{
	config->threshold = p->threshold;
	config->shape = p->shape;
	return 0;
}
static inline enum aqm_verdict step_arrive(struct step_state *state,
		const struct step_config *config, const struct aqm_view *view)
{
	/*arrive*/
	state->last = view->queue_packets;
	return view->queue_packets < config->threshold ? AQM_ADMIT : AQM_DROP_FORCED;
}
static inline enum aqm_verdict step_depart(struct step_state *state,
		const struct step_config *config, const struct aqm_view *view)
{
	/*depart*/
	return AQM_ADMIT;
}
static inline void step_occupancy(struct step_state *state, const struct step_config *config,
		const struct aqm_view *view, s64 change)
{
	/*occupancy*/
}
static inline u64 step_tick_interval_ns(const struct step_config *config)
{
	return 100000000;
}
static inline void step_tick(struct step_state *state, const struct step_config *config,
		const struct aqm_view *view)
{
	/*tick*/
}
static inline s64 step_probability(const struct step_state *state,
		const struct step_config *config)
{
	/*probability*/
	return 0;
}
AQM_DEPART(step)
AQM_OCCUPANCY(step)
AQM_TICK(step)
AQM_PROBABILITY(step)
AQM_CLASS(step, STEP_PARAMS, .title = "Step", .source = "a test", .summary = "A test.",
	.depart = step_depart_any, .occupancy = step_occupancy_any, .tick = step_tick_any,
	.tick_interval_ns = step_tick_interval_any, .probability = step_probability_any /*class*/)
"#;

/// Returns the error for the header in which `code` replaces the comment `place`.
fn said(place: &str, code: &str) -> Option<String> {
    said_of(STEP, place, code)
}

fn said_of(header: &str, place: &str, code: &str) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("step.h");
    assert!(header.contains(&format!("/*{place}*/")));
    fs::write(&path, header.replace(&format!("/*{place}*/"), code)).unwrap();
    compile(&path).err().map(|error| error.to_string())
}

/// Returns how a message names the line of a place; empty if it cannot.
fn line(place: &str) -> String {
    let before = STEP.split(&format!("/*{place}*/")).next().unwrap();
    let has_addr2line = Command::new("addr2line").arg("--version").output().is_ok();
    if cfg!(target_os = "linux") && has_addr2line {
        format!(" (line {})", before.lines().count())
    } else {
        String::new()
    }
}

fn has_compiler() -> bool {
    !said("before", "").is_some_and(|words| words.contains("needs a C compiler"))
}

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
fn a_view_that_is_changed_after_the_trial_is_told() {
    if !has_compiler() {
        return;
    }
    for (place, function) in [
        ("arrive", "arrive"),
        ("depart", "depart"),
        ("tick", "tick"),
        ("occupancy", "occupancy"),
    ] {
        // the trial has other limits
        let code = "if (view->limit_packets == 777) ((struct aqm_view *)(u64)view)->full = 1;";
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("step.h");
        fs::write(&path, STEP.replace(&format!("/*{place}*/"), code)).unwrap();
        let configured = Configured::new(compile(&path).unwrap(), &[]).unwrap();
        let mut running = configured.start();
        for (limit_packets, is_wrong) in [(250, false), (777, true)] {
            let view = View {
                limit_packets,
                ..View::default()
            };
            running.arrive(&view);
            running.depart(&view);
            running.tick(&view);
            running.occupancy(&view, 1);
            assert_eq!(view.full, 0, "the caller's view stays as it is");
            assert_eq!(configured.wrong().is_some(), is_wrong);
        }
        let words = format!(
            "step.h: step_{function} changes the view, which is not its own; it only reads it"
        );
        assert_eq!(configured.wrong(), Some(words));
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
fn what_would_end_the_process_is_told() {
    if !has_compiler() {
        return;
    }
    let null = "*(volatile u32 *)(state->last - state->last) = 1;";
    for (place, code, words) in [
        (
            "arrive",
            "((volatile s64 *)state->seen)[4 + (view->random & 1)] = 1;",
            "step.h: step_arrive@ reads or writes memory that is not its own",
        ),
        (
            "arrive",
            "state->last += ((volatile s64 *)state->seen)[(view->random & 4095)];",
            "step.h: step_arrive@ reads or writes memory that is not its own",
        ),
        (
            "arrive",
            "state->last += ((const volatile s64 *)view)[1000];",
            "step.h: step_arrive@ reads or writes memory that is not its own",
        ),
        (
            "arrive",
            null,
            "step.h: step_arrive@ reads or writes memory that is not its own",
        ),
        (
            "depart",
            null,
            "step.h: step_depart@ reads or writes memory",
        ),
        (
            "occupancy",
            null,
            "step.h: step_occupancy@ reads or writes memory",
        ),
        ("tick", null, "step.h: step_tick@ reads or writes memory"),
        (
            "depart",
            "if (view->sojourn_ns > 1000) __builtin_trap();",
            "step.h: step_depart@ gives up (a trap, or code that must not be reached)",
        ),
        (
            "class",
            ", .title = (const char *)7",
            "step.h: its AQM_CLASS reads or writes memory that is not its own",
        ),
    ] {
        let said = said(place, code).unwrap_or_else(|| panic!("{code} was taken"));
        assert!(
            said.starts_with(&words.replace('@', &line(place))),
            "{said}"
        );
    }
    // the instruction that overflows the stack depends on where the stack begins
    let recursion = "volatile s64 here = state->last;\n\
         if (view->now_ns) { step_tick(state, config, view); state->last += here; }";
    let said = said("tick", recursion).unwrap();
    assert!(said.starts_with("step.h: step_tick"), "{said}");
    assert!(said.ends_with("or a recursion without end"), "{said}");
}

#[test]
#[cfg(target_arch = "x86_64")] // some processors do not fault
fn a_division_by_zero_is_told() {
    if !has_compiler() {
        return;
    }
    for (code, set) in [
        (
            "if (view->queue_packets / state->seen[0]) return AQM_DROP_EARLY;",
            "",
        ),
        (
            "if (view->queue_packets / config->threshold) return AQM_DROP_FORCED;",
            " (with threshold = 0, which its range allows)",
        ),
        (
            "if (config->shape) state->seen[2] = 7 / state->seen[1];",
            " (with shape = steep, which its range allows)",
        ),
    ] {
        let line = line("arrive");
        let words = format!(
            "step.h: step_arrive{line} divides by zero, or the quotient has no room (the least \
             number by -1)"
        );
        assert_eq!(said("arrive", code), Some(format!("{words}{set}")));
    }
}

#[test]
fn what_would_never_end_is_told() {
    if !has_compiler() {
        return;
    }
    let endless = "while (state->last >= 0) state->last = state->last / 2;";
    let words = format!(
        "step.h: step_tick{} does not come to an end within a second; every loop needs a bound",
        line("tick")
    );
    assert_eq!(said("tick", endless), Some(words));
}

#[test]
fn wrong_answers_are_told() {
    if !has_compiler() {
        return;
    }
    let right = "; it must answer AQM_ADMIT, AQM_DROP_EARLY or AQM_DROP_FORCED";
    for (place, code, words) in [
        (
            "arrive",
            "return 77;",
            "step.h: step_arrive answered 77, which is no verdict",
        ),
        (
            "depart",
            "return 6;",
            "step.h: step_depart answered 6, which is no verdict",
        ),
        (
            "arrive",
            "if (!view->full) return AQM_MARK;",
            "step.h: step_arrive answered 4, AQM_MARK, which is the queue's to decide",
        ),
        (
            "arrive",
            "return AQM_DROP_OVERFLOW;",
            "step.h: step_arrive answered 3, AQM_DROP_OVERFLOW, which is the queue's to decide",
        ),
        (
            "arrive",
            "return AQM_DROP_BOTH;",
            "step.h: step_arrive answered 5, AQM_DROP_BOTH without a candidate \
             (.wants_candidate = 1, on arrivals only)",
        ),
    ] {
        let said = said(place, code).unwrap_or_else(|| panic!("{code} was taken"));
        assert!(said.starts_with(&format!("{words}{right}")), "{said}");
    }
    let with_candidate = STEP.replace("/*class*/", ", .wants_candidate = 1");
    for (place, verdicts) in [
        (
            "arrive",
            "AQM_ADMIT, AQM_DROP_EARLY, AQM_DROP_FORCED or AQM_DROP_BOTH",
        ),
        ("depart", "AQM_ADMIT, AQM_DROP_EARLY or AQM_DROP_FORCED"),
    ] {
        let said = said_of(&with_candidate, place, "return 77;").unwrap();
        let words = format!("answered 77, which is no verdict; it must answer {verdicts}");
        assert!(said.contains(&words), "{said}");
    }
    assert_eq!(
        said("probability", "return 3 * FIXED_ONE / 2;").as_deref(),
        Some(
            "step.h: step_probability answered 1.5, which is no probability; it must lie between \
             0 and 1, in Q31.32"
        )
    );
}

#[test]
fn what_changes_more_than_its_state_is_told() {
    if !has_compiler() {
        return;
    }
    for (code, words) in [
        (
            "((struct step_config *)(u64)config)->threshold += 1;",
            "step.h: it changes its struct step_config, which all its queues share; what changes \
             must stand in struct step_state",
        ),
        (
            "((volatile s64 *)state)[-1 - (s64)(view->random & 1)] = 1;",
            "step.h: it writes beyond its struct step_state",
        ),
        (
            "((struct aqm_view *)(u64)view)->queue_packets = 0;",
            "step.h: step_arrive changes the view, which is not its own; it only reads it",
        ),
    ] {
        assert_eq!(said("arrive", code).as_deref(), Some(words));
    }
    let code = "struct step_state { s64 seen[1 << 24], last; };\n#define step_state step_small";
    let huge = STEP.replace(
        "struct step_state {",
        "struct step_state { s64 more[1 << 22];",
    );
    assert!(said("before", code).is_some());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("step.h");
    fs::write(&path, huge).unwrap();
    assert_eq!(
        compile(&path).err().unwrap().to_string(),
        "step.h: struct step_state takes 33554472 bytes and must take at most 16777216"
    );
}

#[test]
fn two_runs_that_differ_are_told() {
    if !has_compiler() {
        return;
    }
    // the state has another address in every process
    let code = "if (((u64)state >> 12) * 0x9e3779b97f4a7c15ULL > view->random) \
                return AQM_DROP_EARLY;";
    let said = said("arrive", code).unwrap();
    let words = "step.h: two runs with the same packets and the same random words were different; \
                 it must depend on nothing but its state, its config and the view";
    assert!(said.starts_with(words), "{said}");
}

#[test]
fn the_same_text_is_tried_once() {
    if !has_compiler() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("step.h");
    fs::write(&path, STEP).unwrap();
    let class = compile(&path).unwrap();
    assert!(std::ptr::eq(compile(&path).unwrap(), class));
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
