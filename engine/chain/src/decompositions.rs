//! Decompositions of the small dense matrices of a Krylov subspace.
//!
//! Both methods are the simplest ones that are accurate to the last digits. A linear algebra
//! library would add much code to compile, for matrices of only a few dozen columns.

use ndarray::{Array2, ArrayView2, ArrayViewMut2, s};
use num_complex::Complex64;

/// One singular value with its vectors.
pub(crate) struct Singular {
    pub value: f64,
    /// The right vector, of length 1.
    pub right: Vec<f64>,
    /// The matrix times the right vector: `value` times the left vector.
    pub image: Vec<f64>,
}

/// Returns singular values and vectors of a matrix with no more columns than rows, in no particular
/// order.
///
/// One-sided Jacobi rotations (Hestenes 1958; Golub & Van Loan 2013, 8.6.3): pairs of columns are
/// rotated until all are orthogonal. Singular values that are small only because columns are small
/// have the same relative accuracy as large ones.
pub(crate) fn singular_values(matrix: ArrayView2<'_, f64>) -> Vec<Singular> {
    let mut found: Vec<Singular> = (0..matrix.ncols())
        .map(|k| {
            let mut right = vec![0.0; matrix.ncols()];
            right[k] = 1.0;
            let image = matrix.column(k).to_vec();
            Singular {
                value: 0.0,
                right,
                image,
            }
        })
        .collect();
    let right_angle = f64::EPSILON * matrix.nrows() as f64;
    let mut turned = true;
    while turned {
        turned = false;
        for q in 1..found.len() {
            let (before, rest) = found.split_at_mut(q);
            for first in before {
                turned |= orthogonalise(first, &mut rest[0], right_angle);
            }
        }
    }
    for one in &mut found {
        one.value = dot(&one.image, &one.image).sqrt();
    }
    found
}

/// Rotates two columns so that they become orthogonal. Returns false, without a rotation, if they
/// already are, to within `right_angle`.
fn orthogonalise(a: &mut Singular, b: &mut Singular, right_angle: f64) -> bool {
    let (aa, bb, ab) = (
        dot(&a.image, &a.image),
        dot(&b.image, &b.image),
        dot(&a.image, &b.image),
    );
    if ab.abs() <= right_angle * (aa * bb).sqrt() {
        return false;
    }
    let zeta = (bb - aa) / (2.0 * ab);
    let tangent = zeta.signum() / (zeta.abs() + zeta.hypot(1.0));
    let cosine = 1.0 / tangent.hypot(1.0);
    turn(&mut a.image, &mut b.image, cosine, cosine * tangent);
    turn(&mut a.right, &mut b.right, cosine, cosine * tangent);
    true
}

fn turn(a: &mut [f64], b: &mut [f64], cosine: f64, sine: f64) {
    for (a, b) in a.iter_mut().zip(b) {
        (*a, *b) = (cosine * *a - sine * *b, sine * *a + cosine * *b);
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Number of QR steps for one eigenvalue after which a step uses an exceptional shift.
const PATIENCE: usize = 10;

/// Returns the eigenvalues of a square upper Hessenberg matrix, in no particular order.
///
/// QR steps with Wilkinson's shift, in complex numbers (Golub & Van Loan 2013, 7.5), on the part
/// of the matrix that has not split off yet.
pub(crate) fn eigenvalues(hessenberg: ArrayView2<'_, f64>) -> Vec<Complex64> {
    let mut h: Array2<Complex64> = hessenberg.mapv(Complex64::from);
    let mut found = Vec::with_capacity(h.nrows());
    let (mut count, mut steps) = (h.nrows(), 0);
    while count > 0 {
        let last = count - 1;
        let splits = |k: &usize| {
            let beside = h[(*k, *k)].norm() + h[(*k - 1, *k - 1)].norm();
            h[(*k, *k - 1)].norm() <= f64::EPSILON * beside
        };
        let first = (1..count).rev().find(splits).unwrap_or(0);
        if first == last {
            found.push(h[(last, last)]);
            (count, steps) = (last, 0);
            continue;
        }
        steps += 1;
        let shift = if steps % PATIENCE == 0 {
            h[(last, last)] + h[(last, last - 1)].norm()
        } else {
            wilkinson(h.slice(s![last - 1..=last, last - 1..=last]))
        };
        qr_step(h.slice_mut(s![first..count, first..count]), shift);
    }
    found
}

/// Returns the eigenvalue of a 2 x 2 matrix that is nearer to its last entry.
fn wilkinson(h: ArrayView2<'_, Complex64>) -> Complex64 {
    let product = h[(0, 1)] * h[(1, 0)];
    let half = (h[(0, 0)] - h[(1, 1)]) / 2.0;
    let root = (half * half + product).sqrt();
    let far = if (half + root).norm() > (half - root).norm() {
        half + root
    } else {
        half - root
    };
    if far == Complex64::ZERO {
        return h[(1, 1)];
    }
    h[(1, 1)] - product / far
}

/// One QR step: replaces `h`, with `h - shift = Q R`, by `R Q + shift`.
fn qr_step(mut h: ArrayViewMut2<'_, Complex64>, shift: Complex64) {
    let count = h.nrows();
    h.diag_mut().mapv_inplace(|x| x - shift);
    let mut turns = Vec::with_capacity(count - 1);
    for k in 0..count - 1 {
        let (a, b) = (h[(k, k)], h[(k + 1, k)]);
        let length = a.norm().hypot(b.norm());
        let (c, s) = if length == 0.0 {
            (Complex64::ONE, Complex64::ZERO)
        } else {
            (a / length, b / length)
        };
        for column in k..count {
            let (upper, lower) = (h[(k, column)], h[(k + 1, column)]);
            h[(k, column)] = c.conj() * upper + s.conj() * lower;
            h[(k + 1, column)] = c * lower - s * upper;
        }
        turns.push((c, s));
    }
    for (k, (c, s)) in turns.into_iter().enumerate() {
        for row in 0..=k + 1 {
            let (left, right) = (h[(row, k)], h[(row, k + 1)]);
            h[(row, k)] = left * c + right * s;
            h[(row, k + 1)] = right * c.conj() - left * s.conj();
        }
    }
    h.diag_mut().mapv_inplace(|x| x + shift);
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use super::*;

    fn matrix(rows: usize, columns: usize, entry: impl Fn(usize, usize) -> f64) -> Array2<f64> {
        Array2::from_shape_fn((rows, columns), |(row, column)| entry(row, column))
    }

    fn sorted_values(found: &[Singular]) -> Vec<f64> {
        let mut values: Vec<f64> = found.iter().map(|one| one.value).collect();
        values.sort_by(f64::total_cmp);
        values
    }

    /// Checks that each wanted eigenvalue has a found one of its own near it.
    fn assert_eigenvalues(found: Vec<Complex64>, wanted: &[Complex64], within: f64) {
        assert_eq!(found.len(), wanted.len());
        let mut left = found;
        for value in wanted {
            let distance = |one: &Complex64| (one - value).norm();
            let nearest = (0..left.len())
                .min_by(|a, b| distance(&left[*a]).total_cmp(&distance(&left[*b])))
                .unwrap();
            assert!(distance(&left[nearest]) <= within, "{value} in {left:?}");
            left.swap_remove(nearest);
        }
    }

    /// The matrix of differences of neighbours has the singular values 2 sin(k pi / (2 n + 2)) for
    /// k = 1 to n.
    #[test]
    fn singular_values_of_differences() {
        let n = 40;
        let differences = matrix(n + 1, n, |row, column| match row.wrapping_sub(column) {
            0 => 1.0,
            1 => -1.0,
            _ => 0.0,
        });
        let found = singular_values(differences.view());
        for (k, value) in sorted_values(&found).into_iter().enumerate() {
            let exact = 2.0 * (PI * (k + 1) as f64 / (2 * n + 2) as f64).sin();
            assert!((value / exact - 1.0).abs() < 1e-14, "{k}: {value} {exact}");
        }
    }

    /// A matrix with known factors; one singular value is far below the rounding of the largest.
    #[test]
    fn singular_vectors_and_a_tiny_value() {
        let (n, wanted) = (6, [1e-20, 1e-8, 0.1, 0.5, 1.0, 2.0]);
        let sine = |a: usize, b: usize, n: usize| {
            (2.0 / (n + 1) as f64).sqrt() * (PI * ((a + 1) * (b + 1)) as f64 / (n + 1) as f64).sin()
        };
        let columns = matrix(n + 1, n, |row, k| wanted[k] * sine(row, k, n + 1));
        let found = singular_values(columns.view());
        for (value, exact) in sorted_values(&found).into_iter().zip(wanted) {
            assert!((value / exact - 1.0).abs() < 1e-14, "{value} {exact}");
        }
        let turned = columns.dot(&matrix(n, n, |row, column| sine(row, column, n)));
        let found = singular_values(turned.view());
        for (value, exact) in sorted_values(&found).into_iter().zip(wanted) {
            assert!((value - exact).abs() < 1e-15, "{value} {exact}");
        }
        for one in &found {
            let right = ndarray::ArrayView1::from(&one.right);
            let image = turned.dot(&right);
            assert!((right.dot(&right) - 1.0).abs() < 1e-14);
            for (a, b) in image.iter().zip(&one.image) {
                assert!((a - b).abs() < 1e-15, "{image} {:?}", one.image);
            }
        }
    }

    /// The eigenvalues of a cycle of n states are the n-th roots of 1. Without shifts, QR steps
    /// would not converge.
    #[test]
    fn eigenvalues_of_a_cycle() {
        for n in [1, 2, 3, 4, 11, 40] {
            let cycle = matrix(n, n, |row, column| f64::from(row == (column + 1) % n));
            let wanted: Vec<Complex64> = (0..n)
                .map(|k| Complex64::from_polar(1.0, 2.0 * PI * k as f64 / n as f64))
                .collect();
            assert_eigenvalues(eigenvalues(cycle.view()), &wanted, 1e-13);
        }
    }

    /// A random walk on a line has the eigenvalues a + 2 sqrt(b c) cos(k pi / (n + 1)).
    #[test]
    fn eigenvalues_of_a_walk() {
        let (n, stay, up, down) = (32, 0.3, 0.5, 0.2);
        let walk = matrix(n, n, |row, column| match row as i64 - column as i64 {
            0 => stay,
            1 => down,
            -1 => up,
            _ => 0.0,
        });
        let wanted: Vec<Complex64> = (1..=n)
            .map(|k| stay + 2.0 * f64::sqrt(up * down) * (PI * k as f64 / (n + 1) as f64).cos())
            .map(Complex64::from)
            .collect();
        // the drift makes the eigenvalues sensitive: rounding grows by about (up / down)^(n / 2)
        assert_eigenvalues(eigenvalues(walk.view()), &wanted, 1e-9);
    }

    #[test]
    fn eigenvalues_of_special_matrices() {
        let zero = Complex64::ZERO;
        let nothing = Array2::zeros((5, 5));
        assert_eigenvalues(eigenvalues(nothing.view()), &[zero; 5], 0.0);
        let nilpotent = matrix(5, 5, |row, column| f64::from(row + 1 == column));
        assert_eigenvalues(eigenvalues(nilpotent.view()), &[zero; 5], 0.0);
        let rotation = ndarray::array![[0.6, -0.8], [0.8, 0.6]];
        let turn = Complex64::new(0.6, 0.8);
        assert_eigenvalues(eigenvalues(rotation.view()), &[turn, turn.conj()], 1e-15);
        assert!(eigenvalues(Array2::zeros((0, 0)).view()).is_empty());
    }
}
