//! Accepts every packet of queue 0, one at a time.

use nfq::{Queue, Verdict};

fn main() -> std::io::Result<()> {
    let mut queue = Queue::open()?;
    queue.bind(0)?;
    println!("ready");
    loop {
        // the receive buffer had no room (ENOBUFS): what was lost the sender sees
        if let Ok(mut message) = queue.recv() {
            message.set_verdict(Verdict::Accept);
            queue.verdict(message)?;
        }
    }
}
