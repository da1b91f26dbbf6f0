//! How both ends agree on the feedback of marks, by the flags AE, CWR and ECE of the SYN and of its
//! answer (RFC 9768, section 3.1; RFC 3168, section 6.1.1). The three flags are one number here, AE
//! its highest bit.

use sluice_ecn::Ecn;

/// How marks are fed back on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feedback {
    /// Not at all: packets are not ECN-capable.
    None,
    /// By an echo (RFC 3168).
    Classic,
    /// By their number (RFC 9768).
    Accurate,
}

/// What the end that answers a SYN can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Server {
    /// Nothing: it takes no notice of the flags.
    None,
    /// Classic feedback.
    Classic,
    /// Classic feedback with the nonce of RFC 3540, which is historic.
    Nonce,
    /// Accurate feedback, and classic.
    Accurate,
    /// Nothing, and its answer reflects the flags of the SYN.
    Broken,
}

const NO_ECN: u8 = 0b000;
const CLASSIC: u8 = 0b001;
const NONCE: u8 = 0b101;
/// CWR and ECE of a SYN: it asks for classic feedback.
const SETUP: u8 = 0b011;
const ASKS_FOR_ACCURATE: u8 = 0b111;

impl Feedback {
    /// Returns the flags of a SYN that asks for it.
    pub fn asked(self) -> u8 {
        match self {
            Self::None => NO_ECN,
            Self::Classic => SETUP,
            Self::Accurate => ASKS_FOR_ACCURATE,
        }
    }

    /// Returns what is used after a SYN that asked for it had an answer with these flags.
    ///
    /// Where accurate feedback was asked for, the flags of the nonce are reserved: they confirm it
    /// (RFC 9768, section 3.1.3). With `nonce_is_classic` they mean classic feedback.
    pub fn agreed(self, answer: u8, nonce_is_classic: bool) -> Self {
        match (self, answer) {
            (Self::None, _) | (Self::Accurate, NO_ECN | ASKS_FOR_ACCURATE) => Self::None,
            (Self::Classic, _) if answer & SETUP == CLASSIC => Self::Classic,
            (Self::Classic, _) => Self::None,
            (Self::Accurate, NONCE) if nonce_is_classic => Self::Classic,
            (Self::Accurate, CLASSIC) => Self::Classic,
            (Self::Accurate, _) => Self::Accurate,
        }
    }
}

impl Server {
    /// Returns what it uses after a SYN with these flags (RFC 9768, table 2 and section 3.1.3).
    pub fn agrees(self, asked: u8) -> Feedback {
        match self {
            Self::None | Self::Broken => Feedback::None,
            Self::Classic | Self::Nonce if asked & SETUP == SETUP => Feedback::Classic,
            Self::Classic | Self::Nonce => Feedback::None,
            Self::Accurate if asked == NO_ECN => Feedback::None,
            Self::Accurate if asked == SETUP => Feedback::Classic,
            Self::Accurate => Feedback::Accurate,
        }
    }

    /// Returns the flags of its answer to a SYN with these flags, which arrived with a codepoint, if
    /// it uses this feedback.
    pub fn answers(self, uses: Feedback, asked: u8, arrived: Ecn) -> u8 {
        match (self, uses) {
            (Self::Broken, _) => asked,
            (Self::Nonce, Feedback::Classic) => NONCE,
            (_, Feedback::None) => NO_ECN,
            (_, Feedback::Classic) => CLASSIC,
            (_, Feedback::Accurate) => echo(arrived),
        }
    }
}

/// Returns the flags that tell with which codepoint a SYN arrived (RFC 9768, table 2).
fn echo(arrived: Ecn) -> u8 {
    match arrived {
        Ecn::NotEct => 0b010,
        Ecn::Ect1 => 0b011,
        Ecn::Ect0 => 0b100,
        Ecn::Ce => 0b110,
    }
}

/// True if the flags of the answer say that a SYN arrived marked.
pub(crate) fn reports_mark(answer: u8) -> bool {
    answer == echo(Ecn::Ce)
}

/// True if the flags of the answer say that the codepoint of a SYN changed on the way as no AQM
/// changes it (RFC 9768, section 3.2.2.3). The reserved flags say that it did not.
pub(crate) fn reports_mangling(sent: Ecn, answer: u8) -> bool {
    let arrived = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce]
        .into_iter()
        .find(|codepoint| echo(*codepoint) == answer)
        .unwrap_or(sent);
    // from one ECT to the other is not called invalid
    let may_change = sent.is_capable() && !sent.is_marked() && arrived.is_capable();
    arrived != sent && !may_change
}

/// What handshake and path have left of the feedback that a sender asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Settled {
    /// All of it so far; with accurate feedback no ACK has come after the one of the SYN.
    New,
    /// The same, and the SYN arrived marked.
    NewMarked,
    /// All of it.
    All,
    /// The path changes ECN codepoints: packets are Not-ECT, and marks still count.
    Mangled,
    /// The path clears the count of marks, or marks every packet: packets are Not-ECT, and marks do
    /// not count.
    Useless,
    /// The other end agreed to less.
    Less(Feedback),
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9768, table 2: ends A and B, SYN, answer, and what A and B then use.
    #[test]
    fn all_rows_of_the_table() {
        use Feedback::{Accurate, Classic, None};
        for (a, b, arrived, syn, answer, uses) in [
            (
                Accurate,
                Server::Accurate,
                Ecn::NotEct,
                0b111,
                0b010,
                Accurate,
            ),
            (
                Accurate,
                Server::Accurate,
                Ecn::Ect1,
                0b111,
                0b011,
                Accurate,
            ),
            (
                Accurate,
                Server::Accurate,
                Ecn::Ect0,
                0b111,
                0b100,
                Accurate,
            ),
            (Accurate, Server::Accurate, Ecn::Ce, 0b111, 0b110, Accurate),
            (
                Accurate,
                Server::Classic,
                Ecn::NotEct,
                0b111,
                0b001,
                Classic,
            ),
            (Accurate, Server::None, Ecn::NotEct, 0b111, 0b000, None),
            (
                Classic,
                Server::Accurate,
                Ecn::NotEct,
                0b011,
                0b001,
                Classic,
            ),
            (None, Server::Accurate, Ecn::NotEct, 0b000, 0b000, None),
            (Accurate, Server::Broken, Ecn::NotEct, 0b111, 0b111, None),
            // RFC 3168, section 6.1.1
            (Classic, Server::Classic, Ecn::NotEct, 0b011, 0b001, Classic),
            (Classic, Server::None, Ecn::NotEct, 0b011, 0b000, None),
            (Classic, Server::Broken, Ecn::NotEct, 0b011, 0b011, None),
            (None, Server::Classic, Ecn::NotEct, 0b000, 0b000, None),
        ] {
            assert_eq!(a.asked(), syn);
            let used_by_b = b.agrees(syn);
            assert_eq!(b.answers(used_by_b, syn, arrived), answer, "{a:?} {b:?}");
            assert_eq!(a.agreed(answer, false), uses, "{a:?} {b:?}");
            assert_eq!(used_by_b, uses, "{a:?} {b:?}");
        }
    }

    /// RFC 9768, sections 3.1.2 and 3.1.3.
    #[test]
    fn reserved_flags_are_taken_as_those_of_accurate_feedback() {
        for asked in [0b001, 0b010, 0b100, 0b101, 0b110] {
            assert_eq!(Server::Accurate.agrees(asked), Feedback::Accurate);
            assert_eq!(Server::Classic.agrees(asked), Feedback::None);
        }
        let uses = Server::Nonce.agrees(0b111);
        assert_eq!(uses, Feedback::Classic);
        assert_eq!(Server::Nonce.answers(uses, 0b111, Ecn::NotEct), 0b101);
        let asked = Feedback::Accurate;
        assert_eq!(asked.agreed(0b101, false), Feedback::Accurate);
        assert_eq!(asked.agreed(0b101, true), Feedback::Classic);
        assert_eq!(Feedback::Classic.agreed(0b101, false), Feedback::Classic);
    }

    /// RFC 9768, section 3.2.2.3: from and to, and whether it is an invalid transition.
    #[test]
    fn an_answer_tells_of_a_path_that_mangles() {
        use Ecn::{Ce, Ect0, Ect1, NotEct};
        for (sent, arrived, mangled) in [
            (NotEct, NotEct, false),
            (NotEct, Ect0, true),
            (NotEct, Ect1, true),
            (NotEct, Ce, true),
            (Ect0, NotEct, true),
            (Ect0, Ect0, false),
            (Ect0, Ect1, false),
            (Ect0, Ce, false),
            (Ect1, NotEct, true),
            (Ect1, Ce, false),
        ] {
            let answer = Server::Accurate.answers(Feedback::Accurate, 0b111, arrived);
            assert_eq!(
                reports_mangling(sent, answer),
                mangled,
                "{sent:?} {arrived:?}"
            );
        }
        assert!(!reports_mangling(NotEct, 0b101));
    }
}
