//! Inverses of large dense blocks: the elimination of `elimination.rs`, by blocks.

use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis, ShapeBuilder, linalg::general_mat_mul, s};

use crate::elimination::inverse as inverse_small;

/// Blocks up to this size are eliminated state by state.
const SMALL: usize = 32;
/// Products of fewer multiplications than this are not divided among threads.
const FEW: usize = 1 << 20;

/// Returns a matrix of zeros, column major.
pub(crate) fn zeros(rows: usize, columns: usize) -> Array2<f64> {
    Array2::zeros((rows, columns).f())
}

/// Returns a column of a matrix of `zeros`.
pub(crate) fn column(matrix: &Array2<f64>, column: usize) -> &[f64] {
    let column = matrix.column(column).to_slice();
    column.expect("the entries of a column lie together")
}

/// As `column`, mutable.
pub(crate) fn column_mut(matrix: &mut Array2<f64>, column: usize) -> &mut [f64] {
    let column = matrix.column_mut(column).into_slice();
    column.expect("the entries of a column lie together")
}

/// Writes `(I - T)^-1` over the substochastic matrix `t` (diagonal unused). `exit` holds the
/// probability of leaving the matrix's states from each row. Only products and sums of nonnegative
/// numbers are used.
///
/// The later half of the states (2) is censored out first. With F' its inverse, the earlier half
/// (1) becomes T11 + T12 F' T21, and all blocks of the inverse follow from that of half (1).
pub(crate) fn inverse(mut t: ArrayViewMut2<'_, f64>, exit: &[f64]) {
    let count = exit.len();
    if count <= SMALL {
        return invert_small(t, exit);
    }
    let half = count / 2;
    let (mut t11, mut t12, t21, mut t22) = t.multi_slice_mut((
        s![..half, ..half],
        s![..half, half..],
        s![half.., ..half],
        s![half.., half..],
    ));
    let exit2: Vec<f64> = (0..count - half)
        .map(|row| exit[half + row] + t21.row(row).sum())
        .collect();
    inverse(t22.view_mut(), &exit2);
    let through = product(t12.view(), t22.view());
    let back = product(t22.view(), t21.view());
    multiply(t12.view(), back.view(), 1.0, t11.view_mut());
    let exit1: Vec<f64> = (0..half)
        .map(|row| {
            let detour = (0..count - half).map(|k| through[(row, k)] * exit[half + k]);
            exit[row] + detour.sum::<f64>()
        })
        .collect();
    inverse(t11.view_mut(), &exit1);
    multiply(t11.view(), through.view(), 0.0, t12.view_mut());
    multiply(back.view(), t11.view(), 0.0, t21);
    multiply(back.view(), t12.view(), 1.0, t22);
}

fn invert_small(mut t: ArrayViewMut2<'_, f64>, exit: &[f64]) {
    let mut rows: Vec<f64> = t.iter().copied().collect();
    inverse_small(&mut rows, &mut exit.to_vec());
    for (to, value) in t.iter_mut().zip(rows) {
        *to = value;
    }
}

fn product(left: ArrayView2<'_, f64>, right: ArrayView2<'_, f64>) -> Array2<f64> {
    let mut result = zeros(left.nrows(), right.ncols());
    multiply(left, right, 0.0, result.view_mut());
    result
}

/// Computes `to = left * right + keep * to`. The result does not depend on the number of threads.
fn multiply(
    left: ArrayView2<'_, f64>,
    right: ArrayView2<'_, f64>,
    keep: f64,
    to: ArrayViewMut2<'_, f64>,
) {
    multiply_on(rayon::current_num_threads(), left, right, keep, to);
}

/// As `multiply`, with the columns of `to` divided among `threads` threads.
fn multiply_on(
    threads: usize,
    left: ArrayView2<'_, f64>,
    right: ArrayView2<'_, f64>,
    keep: f64,
    mut to: ArrayViewMut2<'_, f64>,
) {
    if threads < 2 || left.nrows() * left.ncols() * right.ncols() < FEW {
        return general_mat_mul(1.0, &left, &right, keep, &mut to);
    }
    let (first, share) = (threads / 2, right.ncols() * (threads / 2) / threads);
    let (right1, right2) = right.split_at(Axis(1), share);
    let (to1, to2) = to.split_at(Axis(1), share);
    rayon::join(
        || multiply_on(first, left, right1, keep, to1),
        || multiply_on(threads - first, left, right2, keep, to2),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Odd sizes, so that the shares of threads end within a tile of the multiplication kernel.
    #[test]
    fn products_are_the_same_on_any_number_of_threads() {
        let entry = |(row, column): (usize, usize)| ((row * 31 + column * 17) % 101) as f64 / 7.0;
        let (left, right) = ((131, 127), (127, 103));
        assert!(left.0 * left.1 * right.1 >= FEW);
        let (left, right) = (
            Array2::from_shape_fn(left.f(), entry),
            Array2::from_shape_fn(right.f(), entry),
        );
        for keep in [0.0, 1.0] {
            let on = |threads| {
                let mut to = Array2::from_shape_fn((131, 103).f(), entry);
                multiply_on(threads, left.view(), right.view(), keep, to.view_mut());
                to
            };
            let one = on(1);
            let plain: f64 = (0..127).map(|k| left[(130, k)] * right[(k, 102)]).sum();
            let wanted = plain + keep * entry((130, 102));
            assert!((one[(130, 102)] / wanted - 1.0).abs() < 1e-13);
            for threads in [2, 3, 8] {
                assert_eq!(on(threads), one, "{threads} threads");
            }
        }
    }
}
