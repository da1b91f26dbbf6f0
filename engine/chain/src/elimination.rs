//! Elimination of states without a subtraction, after Grassmann, Taksar & Heyman 1985: every
//! result is a sum of products of probabilities, so each entry has a small *relative* error.

/// Writes `(I - T)^-1` over the substochastic matrix `t` (row major, diagonal unused). `exit` holds
/// the probability of leaving the matrix's states from each row.
pub(crate) fn inverse(t: &mut [f64], exit: &mut [f64]) {
    let count = exit.len();
    // I - T = (I - U) diag(leave) (I - L); states are eliminated from the last to the first
    for q in (0..count).rev() {
        let (before, last) = t.split_at_mut(q * count);
        let leave = exit[q] + last[..q].iter().sum::<f64>();
        for (row, exit_row) in before.chunks_exact_mut(count).zip(0..q) {
            row[q] /= leave;
            let factor = row[q];
            exit[exit_row] += factor * exit[q];
            add_scaled(&mut row[..q], factor, &last[..q]);
        }
        last[..q].iter_mut().for_each(|x| *x /= leave);
        last[q] = 1.0 / leave;
    }
    // in the upper triangle first (I - U)^-1, then diag(1 / leave) (I - U)^-1; this is finally
    // multiplied by (I - L)^-1 from the left
    for q in (0..count).rev() {
        let scale = t[q * count + q];
        for j in (q + 1..count).rev() {
            let mut sum = t[q * count + j];
            for k in q + 1..j {
                sum += t[q * count + k] * t[k * count + j] / t[k * count + k];
            }
            t[q * count + j] = sum;
        }
        for j in q + 1..count {
            t[q * count + j] *= scale;
        }
    }
    for q in 1..count {
        let lower: Vec<f64> = t[q * count..q * count + q].to_vec();
        t[q * count..q * count + q].fill(0.0);
        for (j, factor) in lower.into_iter().enumerate() {
            let (before, row) = t.split_at_mut(q * count);
            add_scaled(
                &mut row[..count],
                factor,
                &before[j * count..(j + 1) * count],
            );
        }
    }
}

/// Divides `x` by its sum.
pub(crate) fn normalise(x: &mut [f64]) {
    let total: f64 = x.iter().sum();
    x.iter_mut().for_each(|x| *x /= total);
}

#[inline]
pub(crate) fn add_scaled(to: &mut [f64], factor: f64, from: &[f64]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to += factor * from;
    }
}
