//! Accepts every packet of queue 0, one at a time.

use nfq::{Queue, Verdict};

fn main() -> std::io::Result<()> {
    let mut queue = Queue::open()?;
    queue.bind(0)?;
    println!("ready");
    loop {
        // an error is ENOBUFS: the receive buffer was full; the sender counts the lost packets
        if let Ok(mut message) = queue.recv() {
            message.set_verdict(Verdict::Accept);
            queue.verdict(message)?;
        }
    }
}
