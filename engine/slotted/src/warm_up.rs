//! Detection of the warm-up (initial transient) of a run.

/// Returns how many of the first batches to leave out, given the batches' means. The MSER rule:
/// the standard error of the mean of the remaining batches is least. At most half of the batches
/// are left out.
///
/// K. P. White, "An effective truncation heuristic for bias reduction in simulation output",
/// Simulation 69(6), 1997.
pub fn warm_up(means: &[f64]) -> usize {
    let mut best = (0, f64::INFINITY);
    for cut in 0..=means.len() / 2 {
        let left = &means[cut..];
        let count = left.len() as f64;
        let mean = left.iter().sum::<f64>() / count;
        let error = left.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (count * count);
        if error < best.1 {
            best = (cut, error);
        }
    }
    best.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_the_transient_and_nothing_of_a_flat_run() {
        let noise = |k: usize| if k.is_multiple_of(2) { 0.1 } else { -0.1 };
        let rising: Vec<f64> = (0..64)
            .map(|k| 10.0 * (1.0 - (-(k as f64) / 2.0).exp()) + noise(k))
            .collect();
        let cut = warm_up(&rising);
        assert!((5..=16).contains(&cut), "{cut}");
        let flat: Vec<f64> = (0..64).map(noise).collect();
        assert_eq!(warm_up(&flat), 0);
        assert_eq!(warm_up(&[]), 0);
    }
}
