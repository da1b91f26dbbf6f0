//! Projection on Krylov subspaces: the fixed vector of a linear map, and the solution of a linear
//! system with it.
//!
//! Arnoldi's method gives an orthonormal basis V of span{x, Hx, ..., H^(m-1) x} and the Hessenberg
//! matrix with H V_m = V_(m+1) H_m (Domanska, Domanski & Czachorski 2008, section IV).
//!
//! For the fixed vector the eigenvalue is known to be 1, so the vector of the subspace with the
//! least ||H v - v|| is the right singular vector of H_m - I for its smallest singular value:
//! Jia 1997, "Refined iterative algorithms based on Arnoldi's process"; Golub & Greif 2006, for
//! stationary vectors. For the system v - H v = r the vector with the least residual solves
//! a least squares problem with the same H_m - I: Saad & Schultz 1986 (GMRES).

use ndarray::{Array2, s};

use crate::{
    decompositions::{eigenvalues, singular_values},
    elimination::{add_scaled, normalise},
};

/// Residuals and singular values below this are rounding.
const ROUNDING: f64 = 1e-15;

/// A vector that has at most this share of its length left is orthogonalised again.
const CANCELLED: f64 = 0.1;
/// Number of partial sums of a scalar product: additions to one need not wait for another.
const SUMS: usize = 8;

/// Result of a projection.
pub(crate) struct Projection {
    /// The best vector of the subspace; its entries sum to 1, none is negative.
    pub x: Vec<f64>,
    /// Modulus of the map's second eigenvalue, as far as the subspace shows it.
    pub second: f64,
}

/// Arnoldi's process: an orthonormal basis of a Krylov subspace, which grows by one vector at a
/// time, and the map in this basis: `H V_m = V_(m+1) hessenberg`.
pub(crate) struct Arnoldi {
    pub basis: Vec<Vec<f64>>,
    /// One row more than columns; columns from `columns` on are 0.
    pub hessenberg: Array2<f64>,
    pub columns: usize,
}

impl Arnoldi {
    /// The basis that holds only `start`, with room for `dimension` applications of the map.
    pub fn new(mut start: Vec<f64>, dimension: usize) -> Self {
        let length = norm(&start);
        scale(&mut start, 1.0 / length);
        Self {
            basis: vec![start],
            hessenberg: Array2::zeros((dimension + 1, dimension)),
            columns: 0,
        }
    }

    /// Applies the map once more and returns the length of the part outside the subspace. If it is
    /// 0, the subspace is invariant and the basis does not grow.
    pub fn extend(&mut self, map: impl FnOnce(&mut [f64])) -> f64 {
        let column = self.columns;
        let mut next = self.basis[column].clone();
        map(&mut next);
        let mut rest = norm(&next);
        loop {
            let before = rest;
            for (row, vector) in self.basis.iter().enumerate() {
                let along = dot(vector, &next);
                self.hessenberg[(row, column)] += along;
                add_scaled(&mut next, -along, vector);
            }
            rest = norm(&next);
            // if most of the vector cancels, the rest is not orthogonal yet
            if rest > CANCELLED * before || rest == 0.0 {
                break;
            }
        }
        self.hessenberg[(column + 1, column)] = rest;
        self.columns += 1;
        if rest > 0.0 {
            scale(&mut next, 1.0 / rest);
            self.basis.push(next);
        }
        rest
    }
}

/// Projects the problem `map(x) = x` on a Krylov subspace of at most `dimension`, started from `x`.
pub(crate) fn project(
    x: Vec<f64>,
    dimension: usize,
    mut map: impl FnMut(&mut [f64]),
) -> Projection {
    let mut arnoldi = Arnoldi::new(x, dimension);
    let mut best = Refined::default();
    while arnoldi.columns < dimension {
        let rest = arnoldi.extend(&mut map);
        best = refined(&arnoldi.hessenberg, arnoldi.columns);
        if rest == 0.0 || best.residual <= ROUNDING {
            break;
        }
    }
    Projection {
        second: *moduli(&arnoldi).get(1).unwrap_or(&0.0),
        x: probabilities(combine(&arnoldi.basis, &best.coordinates)),
    }
}

/// Result of GMRES.
pub(crate) struct Correction {
    /// The vector of the subspace with the least residual.
    pub x: Vec<f64>,
    /// Moduli of the map's eigenvalues, as far as the subspace shows them, in falling order.
    pub moduli: Vec<f64>,
}

/// Solves `x - map(x) = right` in a Krylov subspace of at most `dimension`. The subspace stops
/// growing when the residual is at most `tolerance` times `right`, in the 2-norm.
pub(crate) fn correct(
    right: Vec<f64>,
    dimension: usize,
    tolerance: f64,
    mut map: impl FnMut(&mut [f64]),
) -> Correction {
    let length = norm(&right);
    let mut arnoldi = Arnoldi::new(right, dimension);
    let mut best = Vec::new();
    while arnoldi.columns < dimension {
        let rest = arnoldi.extend(&mut map);
        let (coordinates, left) = least_squares(&arnoldi.hessenberg, arnoldi.columns, length);
        best = coordinates;
        if rest == 0.0 || left <= tolerance * length {
            break;
        }
    }
    Correction {
        x: combine(&arnoldi.basis, &best),
        moduli: moduli(&arnoldi),
    }
}

/// Returns the y for which the 2-norm of `length e_1 - (I - hessenberg) y` is least, and that norm.
fn least_squares(hessenberg: &Array2<f64>, columns: usize, length: f64) -> (Vec<f64>, f64) {
    let mut y = vec![0.0; columns];
    let mut left = length * length;
    for one in singular_values(shifted(hessenberg, columns).view()) {
        // directions in which I - H is singular are left out
        if one.value > ROUNDING {
            let along = length * one.image[0] / one.value;
            add_scaled(&mut y, -along / one.value, &one.right);
            left -= along * along;
        }
    }
    (y, left.max(0.0).sqrt())
}

/// Returns `hessenberg - I`; the last row is below the identity.
fn shifted(hessenberg: &Array2<f64>, columns: usize) -> Array2<f64> {
    let mut shifted = hessenberg.slice(s![..=columns, ..columns]).to_owned();
    shifted.diag_mut().mapv_inplace(|x| x - 1.0);
    shifted
}

/// The vector v of length 1 in a Krylov subspace for which ||H v - v|| is least.
#[derive(Default)]
struct Refined {
    coordinates: Vec<f64>,
    residual: f64,
}

fn refined(hessenberg: &Array2<f64>, columns: usize) -> Refined {
    let least = singular_values(shifted(hessenberg, columns).view())
        .into_iter()
        .min_by(|a, b| a.value.total_cmp(&b.value))
        .expect("a column");
    Refined {
        coordinates: least.right,
        residual: least.value,
    }
}

/// Returns the moduli of the map's eigenvalues in the subspace, in falling order.
fn moduli(arnoldi: &Arnoldi) -> Vec<f64> {
    let columns = arnoldi.columns;
    let square = arnoldi.hessenberg.slice(s![..columns, ..columns]);
    let mut moduli: Vec<f64> = eigenvalues(square)
        .iter()
        .map(|value| value.norm())
        .collect();
    moduli.sort_by(|a, b| b.total_cmp(a));
    moduli
}

/// Returns the linear combination of basis vectors.
fn combine(basis: &[Vec<f64>], coordinates: &[f64]) -> Vec<f64> {
    let mut x = vec![0.0; basis[0].len()];
    for (vector, coordinate) in basis.iter().zip(coordinates) {
        add_scaled(&mut x, *coordinate, vector);
    }
    x
}

/// Makes probabilities of `x`: corrects the sign, sets negative entries to 0, and scales to a sum
/// of 1.
fn probabilities(mut x: Vec<f64>) -> Vec<f64> {
    let sign = x.iter().sum::<f64>().signum();
    x.iter_mut().for_each(|x| *x = (*x * sign).max(0.0));
    normalise(&mut x);
    x
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (a, b) = (a.chunks_exact(SUMS), b.chunks_exact(SUMS));
    let rest = a.remainder().iter().zip(b.remainder());
    let mut total: f64 = rest.map(|(a, b)| a * b).sum();
    let mut sums = [0.0; SUMS];
    for (a, b) in a.zip(b) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += a * b;
        }
    }
    total += sums.iter().sum::<f64>();
    total
}

pub(crate) fn norm(x: &[f64]) -> f64 {
    dot(x, x).sqrt()
}

fn scale(x: &mut [f64], factor: f64) {
    x.iter_mut().for_each(|x| *x *= factor);
}
