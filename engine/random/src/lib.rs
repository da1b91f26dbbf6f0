//! Random numbers for all worlds: a named stream for each use and each replication.

use rand::{Rng, SeedableRng, rngs::Xoshiro256PlusPlus};

/// The generator of every stream.
pub type Stream = Xoshiro256PlusPlus;

/// Returns the stream `name` of one replication under `seed`. Streams of different names,
/// replications or seeds are independent. A stream does not depend on the thread or on the order
/// in which streams are made.
pub fn stream(seed: u64, name: &str, replication: u64) -> Stream {
    // FNV-1a turns the name into a word; mixing spreads the words of the seed.
    let name = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mut words = [seed, name, replication, 0x736c_7569_6365_6761];
    let mut mixer = 0;
    for word in &mut words {
        mixer = mix(*word ^ mixer);
        *word = mixer;
    }
    let mut bytes = [0; 32];
    for (chunk, word) in bytes.chunks_exact_mut(8).zip(words) {
        chunk.copy_from_slice(&word.to_le_bytes());
    }
    Stream::from_seed(bytes)
}

/// The finaliser of SplitMix64 (Steele, Lea & Flood 2014).
fn mix(word: u64) -> u64 {
    let word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// Draws a number that is uniform in (0, 1], with 53 bits.
pub fn uniform(stream: &mut Stream) -> f64 {
    ((stream.next_u64() >> 11) + 1) as f64 * (1.0 / (1_u64 << 53) as f64)
}

/// Draws a number that is geometric on 1, 2, ...: the trials up to and including the first success,
/// by inversion. `ln_failure` is the logarithm of the probability of a failure.
pub fn geometric(stream: &mut Stream, ln_failure: f64) -> u64 {
    // a cast saturates, so a tiny probability gives a huge number and no overflow
    1 + ((uniform(stream).ln() / ln_failure) as u64).min(u64::MAX / 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_name_seed_and_replication() {
        let first = |seed, name, replication| stream(seed, name, replication).next_u64();
        let words = [
            first(1, "arrivals", 0),
            first(1, "arrivals", 1),
            first(1, "service", 0),
            first(2, "arrivals", 0),
        ];
        for (index, word) in words.iter().enumerate() {
            assert!(!words[..index].contains(word));
        }
        assert_eq!(first(1, "arrivals", 0), words[0]);
    }

    #[test]
    fn geometric_has_its_mean_and_variance() {
        let (p, n) = (0.2_f64, 200_000);
        let mut random = stream(7, "test", 0);
        let draws: Vec<f64> = (0..n)
            .map(|_| geometric(&mut random, (1.0 - p).ln()) as f64)
            .collect();
        let mean = draws.iter().sum::<f64>() / f64::from(n);
        let deviation = ((1.0 - p) / (p * p)).sqrt();
        assert!((mean - 1.0 / p).abs() < 4.0 * deviation / f64::from(n).sqrt());
    }

    #[test]
    fn geometric_of_a_certain_success_is_one() {
        assert_eq!(geometric(&mut stream(7, "test", 0), (0.0_f64).ln()), 1);
    }
}
