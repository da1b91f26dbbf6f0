//! Classes of packets, by what their headers ask for.

use sluice_ecn::Ecn;

/// What a packet asks for as it arrives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Class {
    /// Nothing of the following.
    #[default]
    BestEffort,
    /// Low latency, low loss, scalable throughput: ECT(1), and CE, as RFC 9331, section 5.1, has it.
    L4s,
    /// A codepoint of a class selector of 4 or more: voice, video, and the network's own (RFC 4594).
    Priority,
    /// Lower effort (RFC 8622), or its former codepoint, CS1.
    Background,
}

impl Class {
    /// All of them, with their names.
    pub const ALL: [(Self, &'static str); 4] = [
        (Self::BestEffort, "best effort"),
        (Self::L4s, "L4S"),
        (Self::Priority, "priority"),
        (Self::Background, "background"),
    ];

    /// Returns the class of a packet that arrives with these codepoints.
    pub fn of(dscp: u8, ecn: Ecn) -> Self {
        match (dscp, ecn) {
            (_, Ecn::Ect1 | Ecn::Ce) => Self::L4s,
            (1 | 8, _) => Self::Background,
            (32.., _) => Self::Priority,
            _ => Self::BestEffort,
        }
    }
}

/// Times of each class: how many, and their sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByClass([(u64, u64); Class::ALL.len()]);

impl ByClass {
    /// Counts a time, ns.
    #[inline]
    pub fn add(&mut self, class: Class, ns: u64) {
        let (count, sum_ns) = &mut self.0[class as usize];
        *count += 1;
        *sum_ns += ns;
    }

    /// Returns what was counted since `earlier`.
    pub fn since(&self, earlier: &Self) -> Self {
        let mut since = *self;
        for (now, before) in since.0.iter_mut().zip(earlier.0) {
            *now = (now.0 - before.0, now.1 - before.1);
        }
        since
    }

    /// Returns name, count and mean, ms, of each class of which any was counted.
    pub fn means(&self) -> impl Iterator<Item = (&'static str, u64, f64)> {
        let rows = Class::ALL.into_iter().zip(self.0);
        rows.filter(|(_, (count, _))| *count > 0)
            .map(|((_, name), (count, sum_ns))| (name, count, sum_ns as f64 / 1e6 / count as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_packet_has_the_class_of_its_codepoints_and_each_class_its_mean() {
        let mut times = ByClass::default();
        for (dscp, ecn, class) in [
            (46, Ecn::NotEct, Class::Priority),
            (46, Ecn::Ect1, Class::L4s),
            (0, Ecn::Ce, Class::L4s),
            (8, Ecn::Ect0, Class::Background),
            (1, Ecn::NotEct, Class::Background),
            (0, Ecn::Ect0, Class::BestEffort),
            (26, Ecn::NotEct, Class::BestEffort),
        ] {
            assert_eq!(Class::of(dscp, ecn), class, "{dscp} {ecn:?}");
            times.add(class, 1_000_000);
        }
        let earlier = times;
        times.add(Class::L4s, 3_000_000);
        times.add(Class::L4s, 5_000_000);
        let all: Vec<_> = times.since(&earlier).means().collect();
        assert_eq!(all, [("L4S", 2, 4.0)]);
        for (place, (class, _)) in Class::ALL.into_iter().enumerate() {
            assert_eq!(class as usize, place);
        }
    }
}
