//! CAKE before a link, for tests.

use sluice_aqm::{BufferPolicy, Configured, Running, Value, Verdict, Victim, coupled, find};
use sluice_queue::{Packet, Queue};

pub const MS: u64 = 1_000_000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    pub number: u32,
    pub flow: u32,
    pub hosts: [u32; 2],
    pub bytes: u32,
    pub dscp: u8,
}

impl Packet for Sent {
    fn bytes(&self) -> u32 {
        self.bytes
    }

    fn flow_hash(&self) -> u32 {
        self.flow
    }

    fn hosts(&self) -> [u32; 2] {
        self.hosts
    }

    fn traffic_class(&self) -> u8 {
        self.dscp << 2
    }

    fn mark(&mut self) {}
}

pub fn number(value: f64) -> Value {
    Value::Number(value)
}

pub fn word(text: &str) -> Value {
    Value::Word(text.to_owned())
}

pub fn configured(given: &[(&str, Value)]) -> Result<Configured, String> {
    let class = coupled().iter().find(|class| class.name == "cake").unwrap();
    let given: Vec<_> = given
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.clone()))
        .collect();
    Configured::new(class, &given).map_err(|error| error.to_string())
}

/// CAKE before a link without a limit of its own.
pub struct Link {
    pub queue: Queue<Sent, Running>,
    pub now_ns: u64,
    words: u64,
    pub sent: Vec<(u64, Sent)>,
    pub lost: Vec<Sent>,
}

impl Link {
    pub fn new(given: &[(&str, Value)], limit: u32) -> Self {
        let policy = BufferPolicy {
            limit,
            limit_bytes: None,
            victim: Victim::Front,
            ecn: false,
        };
        let drop_tail = Configured::new(find("drop_tail").unwrap(), &[]).unwrap();
        let cake = configured(given).unwrap();
        Self {
            queue: Queue::new(policy, Some(&cake), |_| drop_tail.start(), 1_000_000_000),
            now_ns: 0,
            words: 0,
            sent: Vec::new(),
            lost: Vec::new(),
        }
    }

    pub fn arrive(&mut self, packet: Sent) -> Verdict {
        let Self {
            queue, words, lost, ..
        } = self;
        let mut random = || {
            *words = words
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            *words
        };
        queue.arrive(self.now_ns, packet, &mut random, &mut |packet, _| {
            lost.push(packet)
        })
    }

    /// Sends what may be sent now, at most one packet; false if there is none.
    pub fn send(&mut self) -> bool {
        let Self {
            queue, words, lost, ..
        } = self;
        let mut random = || {
            *words = words
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            *words
        };
        let next = queue.depart(self.now_ns, &mut random, &mut |packet, _| lost.push(packet));
        self.sent
            .extend(next.map(|next| (self.now_ns, next.packet)));
        next.is_some()
    }

    /// Sends all that waits, at the times of the shaper.
    pub fn drain(&mut self) {
        loop {
            if self.send() {
                continue;
            }
            match self.queue.ready_ns() {
                Some(ready_ns) => {
                    assert!(ready_ns > self.now_ns);
                    self.now_ns = ready_ns;
                }
                None => break,
            }
        }
        assert_eq!(self.queue.packets(), 0);
    }
}
