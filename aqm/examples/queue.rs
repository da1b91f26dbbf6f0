/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
//! `queue.c` in Rust, without `std` and without memory allocation; `codel.c` brings CoDel.
#![no_std]
#![no_main]

#[path = "../aqm.rs"]
mod aqm;

use aqm::{Aqm, CClass, Verdict, View};
use core::ffi::{c_char, c_int};

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
    // in the order of CODEL_PARAMS: like, mtu_bytes, target, ce_threshold (ns), ce_selector, ce_mask,
    // interval (ns), sqrt
    let params = [0, 1514, 5_000_000, 0, 0, 0, 100_000_000, 0];
    let codel = unsafe { Aqm::<8>::new(codel(), &params) };
    let Some(mut codel) = codel else { return 1 };
    let (mut arrived_ns, mut next_ns) = ([0; LIMIT], 0);
    let (mut head, mut tail, mut counts) = (0, 0, [0_u32; Verdict::COUNT]);
    for now_ns in (0..10_000_000_000).step_by(800_000) {
        while next_ns <= now_ns {
            let full = u8::from(tail - head == LIMIT);
            let view = View {
                full,
                ..see(next_ns, tail - head, tail)
            };
            if !codel.arrive(&view).is_drop() {
                arrived_ns[tail % LIMIT] = next_ns;
                tail += 1;
            }
            next_ns += 760_000;
        }
        while head != tail {
            let sojourn_ns = now_ns - arrived_ns[head % LIMIT];
            let view = View {
                sojourn_ns,
                ..see(now_ns, tail - head - 1, head)
            };
            let verdict = codel.depart(&view);
            head += 1;
            counts[verdict as usize] += 1;
            if verdict != Verdict::DropEarly {
                break;
            }
        }
    }
    let [sent, dropped, _, _, marked, _] = counts;
    let text = c"%u sent, %u sent with a mark, %u dropped, %u wait\n".as_ptr();
    unsafe { printf(text, sent, marked, dropped, (tail - head) as u32) };
    0
}
