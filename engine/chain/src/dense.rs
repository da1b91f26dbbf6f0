//! Inverses of large dense blocks: the elimination of `elimination.rs`, a block at a time.

use faer::{
    Accum, Mat, MatMut, MatRef, Par,
    linalg::matmul::matmul,
    reborrow::{Reborrow, ReborrowMut},
};

use crate::elimination::inverse as inverse_small;

/// Blocks up to this size are eliminated one state after the other.
const SMALL: usize = 32;

/// `(I - T)^-1` of the substochastic matrix `t` (diagonal unused) whose rows leave its states
/// with the probabilities `exit`; written over `t`. Products and sums of nonnegative numbers only.
///
/// The later half of the states (2) is censored out first; with F' its inverse, the earlier half
/// (1) becomes T11 + T12 F' T21, and the inverse's blocks follow from that of half (1).
pub(crate) fn inverse(t: MatMut<'_, f64>, exit: &[f64]) {
    let count = exit.len();
    if count <= SMALL {
        return invert_small(t, exit);
    }
    let half = count / 2;
    let (mut t11, mut t12, mut t21, mut t22) = t.split_at_mut(half, half);
    let exit2: Vec<f64> = (0..count - half)
        .map(|row| exit[half + row] + (0..half).map(|column| t21[(row, column)]).sum::<f64>())
        .collect();
    inverse(t22.rb_mut(), &exit2);
    let through = product(t12.rb(), t22.rb());
    let back = product(t22.rb(), t21.rb());
    add_product(t11.rb_mut(), t12.rb(), back.as_ref());
    let exit1: Vec<f64> = (0..half)
        .map(|row| {
            let detour = (0..count - half).map(|k| through[(row, k)] * exit[half + k]);
            exit[row] + detour.sum::<f64>()
        })
        .collect();
    inverse(t11.rb_mut(), &exit1);
    t12.copy_from(product(t11.rb(), through.as_ref()));
    t21.copy_from(product(back.as_ref(), t11.rb()));
    add_product(t22, back.as_ref(), t12.rb());
}

fn invert_small(mut t: MatMut<'_, f64>, exit: &[f64]) {
    let count = exit.len();
    let mut rows: Vec<f64> = (0..count * count)
        .map(|k| t[(k / count, k % count)])
        .collect();
    inverse_small(&mut rows, &mut exit.to_vec());
    for (k, value) in rows.into_iter().enumerate() {
        t[(k / count, k % count)] = value;
    }
}

fn product(left: MatRef<'_, f64>, right: MatRef<'_, f64>) -> Mat<f64> {
    let mut result = Mat::zeros(left.nrows(), right.ncols());
    matmul(
        result.as_mut(),
        Accum::Replace,
        left,
        right,
        1.0,
        Par::rayon(0),
    );
    result
}

fn add_product(to: MatMut<'_, f64>, left: MatRef<'_, f64>, right: MatRef<'_, f64>) {
    matmul(to, Accum::Add, left, right, 1.0, Par::rayon(0));
}
