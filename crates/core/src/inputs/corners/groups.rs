//! Corners of grouping: positions of k that are summed together, and the order of groups.

use super::sketch::{Significands, Sketch};

/// Distance below the leading term at which no known alignment keeps a bit.
const LOST: i32 = 30;

pub(super) fn add(s: &mut Sketch<'_>) {
    for at in 0..s.i.k {
        pair_and_small(s, at);
        split_pair(s, at);
        permuted(s, at);
    }
}

/// A small term and a pair that cancels: it is lost unless another step sums it.
fn pair_and_small(s: &mut Sketch<'_>, at: usize) {
    let (e, k, zero) = (s.top(), s.i.k, s.c_zero(false));
    let small = s.power(at, false, e - LOST);
    if at > 1 {
        s.add(format!("group/pair-first-small-at-{at}"), &[small, s.power(0, false, e), s.power(1, true, e)], zero);
    }
    if at + 2 < k {
        let pair = [s.power(k - 2, false, e), s.power(k - 1, true, e)];
        s.add(format!("group/pair-last-small-at-{at}"), &[small, pair[0], pair[1]], zero);
    }
    if at > 0 {
        let pair = [s.power(at - 1, false, e), s.power(at, true, e)];
        s.add(format!("group/pair-to-{at}-small-c"), &pair, s.c(false, e - LOST));
    }
}

/// 2^e at 0 and -2^e at `at`: a third term is rounded away between two steps, and kept within one.
fn split_pair(s: &mut Sketch<'_>, at: usize) {
    let (e, zero) = (s.top(), s.c_zero(false));
    let precision = s.precision();
    for q in [precision - 1, precision, precision + 1, 13, 14] {
        let name = format!("group/split-at-{at}-{q}");
        // The distance is in B where that has room: then `at` shares its row of A.
        let small = s.factors(1, false, e, -q, Significands::ONE).or_else(|| s.power(1, false, e - q));
        if at > 1 {
            s.add(name, &[s.power(0, false, e), small, s.power(at, true, e)], zero);
        } else if at == 1 {
            // c and the first product: c is a term of the first step, or it is added at the end.
            s.add(name, &[s.power(0, true, e), small], s.c(false, e));
        }
    }
}

/// The same four products in other positions: within a group their order does not matter.
fn permuted(s: &mut Sketch<'_>, by: usize) {
    let (e, k, precision) = (s.top(), s.i.k, s.precision());
    let terms = [(false, 0), (true, 0), (false, precision + 1), (false, 9)];
    let products: Vec<_> = (0..4).map(|t| s.power((t * k / 4 + by) % k, terms[t].0, e - terms[t].1)).collect();
    s.add(format!("group/rotated-by-{by}"), &products, s.c(false, e - 5));
}
