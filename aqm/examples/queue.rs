/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
//! `queue.c` in Rust, without `std` and without memory allocation; `codel.c` brings CoDel.
#![no_std]
#![no_main]

#[path = "../aqm.rs"]
mod aqm;

use aqm::{CClass, Verdict, View};
use core::ffi::{c_char, c_int, c_void};

#[link(name = "c")]
unsafe extern "C" {
    fn codel() -> &'static CClass;
    fn printf(format: *const c_char, ...) -> c_int;
    fn abort() -> !;
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    unsafe { abort() }
}

const LIMIT: usize = 1000;

fn see(now_ns: u64, waiting: usize, number: usize) -> View {
    View {
        now_ns,
        packet_bytes: 1000,
        queue_packets: waiting as u32,
        queue_bytes: waiting as u64 * 1000,
        limit_packets: LIMIT as u32,
        ecn_capable: (number % 2) as u8,
        ..View::default()
    }
}

#[unsafe(no_mangle)]
extern "C" fn main() -> c_int {
    let class = unsafe { codel() };
    // in the order of CODEL_PARAMS: target, ce_threshold, interval (ns), sqrt
    let params = [5_000_000, 0, 100_000_000, 0];
    let (mut config, mut state) = ([0_u64; 8], [0_u64; 8]);
    assert!(class.config_size.max(class.state_size) <= 64);
    let config: *mut c_void = config.as_mut_ptr().cast();
    let state: *mut c_void = state.as_mut_ptr().cast();
    if unsafe { class.configure.unwrap()(params.as_ptr(), config) } != 0 {
        return 1;
    }
    let (mut arrived_ns, mut next_ns) = ([0; LIMIT], 0);
    let (mut head, mut tail, mut counts) = (0, 0, [0_u32; Verdict::COUNT]);
    for now_ns in (0..10_000_000_000).step_by(800_000) {
        while next_ns <= now_ns {
            let mut view = see(next_ns, tail - head, tail);
            view.full = u8::from(tail - head == LIMIT);
            let verdict = unsafe { class.arrive.unwrap()(state, config, &view) };
            if Verdict::from_code(verdict).is_some_and(|verdict| !verdict.is_drop()) {
                arrived_ns[tail % LIMIT] = next_ns;
                tail += 1;
            }
            next_ns += 760_000;
        }
        while head != tail {
            let mut view = see(now_ns, tail - head - 1, head);
            view.sojourn_ns = now_ns - arrived_ns[head % LIMIT];
            let verdict = unsafe { class.depart.unwrap()(state, config, &view) };
            head += 1;
            counts[verdict as usize] += 1;
            if Verdict::from_code(verdict) != Some(Verdict::DropEarly) {
                break;
            }
        }
    }
    let [sent, dropped, _, _, marked, _] = counts;
    let text = c"%u sent, %u sent with a mark, %u dropped, %u wait\n".as_ptr();
    unsafe { printf(text, sent, marked, dropped, (tail - head) as u32) };
    0
}
