//! Whole sequences of slots without an arrival (quiet slots): `(I - Q)^-1` for the transitions Q of
//! quiet slots, without a subtraction.
//!
//! In quiet slots packets only leave, so the size never grows. At one size the average moves
//! towards the queue. Rounding or LPF/ODA can also move it back: levels that lead to each other
//! form a group, and the chain never returns to a group that it has left.

use crate::{
    chain::Chain,
    elimination::{add_scaled, inverse},
};

/// Levels that lead to each other in quiet slots at one size; mostly a single level.
pub(crate) struct Group {
    pub levels: Vec<usize>,
    /// `(I - T)^-1`, row major, for the quiet transitions T that keep the size and stay within
    /// the group; rows and columns by level, then state of the modulator.
    inverse: Vec<f64>,
}

impl Group {
    /// Returns the inverse times the column `right` (by level, then state).
    pub fn times_column(&self, right: &[f64]) -> Vec<f64> {
        let rows = self.inverse.chunks_exact(right.len());
        rows.map(|row| row.iter().zip(right).map(|(a, b)| a * b).sum())
            .collect()
    }

    /// Returns the row `left` (by level, then state) times the inverse.
    fn times_row(&self, left: &[f64]) -> Vec<f64> {
        let mut product = vec![0.0; left.len()];
        for (factor, row) in left.iter().zip(self.inverse.chunks_exact(left.len())) {
            add_scaled(&mut product, *factor, row);
        }
        product
    }
}

/// The groups of each size, ordered so that no group leads to a later one.
pub(crate) struct Quiet(Vec<Vec<Group>>);

impl Quiet {
    pub fn new(chain: &Chain) -> Self {
        let groups = |size| {
            let mut place = vec![0; chain.level_count()];
            let sorted = sorted_groups(chain.level_count(), |level| chain.moves(level, size));
            for (number, levels) in sorted.iter().enumerate() {
                levels.iter().for_each(|level| place[*level] = number);
            }
            let build = |levels: Vec<usize>| chain.group(levels, size, &place);
            sorted.into_iter().map(build).collect()
        };
        Self((0..chain.sizes()).map(groups).collect())
    }

    /// Returns the groups at `size`, each after all groups that it leads to.
    pub fn at(&self, size: usize) -> &[Group] {
        &self.0[size]
    }

    /// Replaces `x` by `x (I - Q)^-1`: the expected visits to each state from the start `x` until
    /// the next arrival.
    pub fn follow(&self, chain: &Chain, x: &mut [f64]) {
        let states = chain.modulator_states();
        for (size, groups) in self.0.iter().enumerate().rev() {
            for group in groups.iter().rev() {
                let here: Vec<f64> = (group.levels.iter())
                    .flat_map(|level| &x[chain.place(*level, size)..][..states])
                    .copied()
                    .collect();
                let visits = group.times_row(&here);
                for (level, visits) in group.levels.iter().zip(visits.chunks_exact(states)) {
                    x[chain.place(*level, size)..][..states].copy_from_slice(visits);
                    for (to, probability) in chain.moves(*level, size) {
                        if !group.levels.contains(&to) {
                            let share = probability * chain.stay(size);
                            chain.give_quiet(visits, share, &mut x[chain.place(to, size)..]);
                        }
                    }
                    if size > 0 {
                        for (to, probability) in chain.moves(*level, size - 1) {
                            let share = probability * chain.mu;
                            chain.give_quiet(visits, share, &mut x[chain.place(to, size - 1)..]);
                        }
                    }
                }
            }
        }
    }
}

impl Chain {
    /// Returns the moves of the average, with probabilities, in a quiet slot that ends with `size`
    /// packets in the system.
    fn moves(&self, level: usize, size: usize) -> Vec<(usize, f64)> {
        let mut moves = Vec::with_capacity(2);
        self.jumps(level, size, |jump| {
            if !jump.active {
                moves.push((jump.level, jump.probability));
            }
        });
        moves
    }

    /// Adds `visits` times the modulator's quiet changes times `share` to `to`.
    fn give_quiet(&self, visits: &[f64], share: f64, to: &mut [f64]) {
        for change in self.changes(false) {
            to[change.to] += visits[change.from] * change.probability * share;
        }
    }

    /// Builds the group of `levels` at `size`. `place` holds the number of each level's group.
    fn group(&self, levels: Vec<usize>, size: usize, place: &[usize]) -> Group {
        let (states, stay) = (self.modulator_states(), self.stay(size));
        let count = levels.len() * states;
        let mut inner = vec![0.0; count * count];
        let mut exit = vec![0.0; count];
        for (number, level) in levels.iter().enumerate() {
            let at = number * states;
            let mut leaving = 0.0;
            for (to, probability) in self.moves(*level, size) {
                if place[to] != place[*level] {
                    leaving += probability;
                    continue;
                }
                let column = levels.iter().position(|known| *known == to);
                let column = column.expect("a level of the group") * states;
                for change in self.changes(false) {
                    inner[(at + change.from) * count + column + change.to] +=
                        stay * probability * change.probability;
                }
            }
            for state in 0..states {
                let of = |active| -> f64 {
                    let changes = self.changes(active).iter();
                    changes
                        .filter(|change| change.from == state)
                        .map(|change| change.probability)
                        .sum()
                };
                exit[at + state] = (1.0 - stay) + stay * (of(true) + of(false) * leaving);
            }
        }
        inverse(&mut inner, &mut exit);
        Group {
            levels,
            inverse: inner,
        }
    }
}

/// Returns the strongly connected components of a graph of `count` nodes, each after all that it
/// leads to (Tarjan 1972).
fn sorted_groups(count: usize, next: impl Fn(usize) -> Vec<(usize, f64)>) -> Vec<Vec<usize>> {
    const NEW: usize = usize::MAX;
    let (mut number, mut lowest) = (vec![NEW; count], vec![NEW; count]);
    let mut on_stack = vec![false; count];
    let (mut stack, mut groups, mut visited) = (Vec::new(), Vec::new(), 0);
    for root in 0..count {
        // the current path of the depth-first search, each node with its neighbours not yet visited
        let mut path: Vec<(usize, Vec<(usize, f64)>)> = Vec::new();
        let mut entered = (number[root] == NEW).then_some(root);
        loop {
            if let Some(node) = entered.take() {
                (number[node], lowest[node]) = (visited, visited);
                visited += 1;
                stack.push(node);
                on_stack[node] = true;
                path.push((node, next(node)));
            }
            let Some((node, open)) = path.last_mut() else {
                break;
            };
            let node = *node;
            if let Some((to, _)) = open.pop() {
                if number[to] == NEW {
                    entered = Some(to);
                } else if on_stack[to] {
                    lowest[node] = lowest[node].min(number[to]);
                }
                continue;
            }
            path.pop();
            if let Some((before, _)) = path.last() {
                lowest[*before] = lowest[*before].min(lowest[node]);
            }
            if lowest[node] == number[node] {
                let first = stack.iter().rposition(|member| *member == node);
                let group = stack.split_off(first.expect("on the stack"));
                group.iter().for_each(|member| on_stack[*member] = false);
                groups.push(group);
            }
        }
    }
    groups
}
