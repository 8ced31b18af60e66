//! The cheater that brings bad items in when it sees that it still needs them.

use super::recurrence::draw_log2;

/// `log2` of the value of the game: the least fixed point of
/// `W(k) = max(pass W(k+1), (h_B + sum_{0<i<B} h_i W(k-i)) / sum_{0<i<=B} h_i)` at `k = 0`.
///
/// `pass` is the chance that a bad item gets into the pool unnoticed, `h_i` the chance to draw `i` of
/// the `k` bad items in it. States with more than `most` bad items are left out: the caller knows
/// that nobody gets that far.
pub(super) fn value_log2(pool: u64, bucket: u32, pass: f64, most: u64) -> f64 {
    let most = most.min(pool);
    let draws: Vec<Vec<f64>> = (1..=most)
        .map(|bad| draw_log2(pool, bucket, bad).into_iter().map(f64::exp2).collect())
        .collect();
    let mut worth = vec![0.0f64; most as usize + 1];
    for _ in 0..rounds(pass) {
        let before = worth[0];
        for k in (0..worth.len()).rev() {
            let topped_up = worth.get(k + 1).map_or(0.0, |w| w * pass);
            let drawn = if k == 0 { 0.0 } else { worth_of_draw(&draws[k - 1], &worth[..k]) };
            worth[k] = worth[k].max(topped_up).max(drawn);
        }
        if is_settled(before, worth[0]) {
            break;
        }
    }
    worth[0].log2()
}

/// Rounds that are enough, unless next to no item is checked: each multiplies the distance to the fixed
/// point by `pass` at most, as a new attempt costs that much at least.
fn rounds(pass: f64) -> usize {
    (1e-9f64.ln() / pass.ln()).ceil().clamp(400.0, 1e5) as usize
}

/// Whether another round would change nothing that is shown.
fn is_settled(before: f64, after: f64) -> bool {
    before > 0.0 && after <= before * (1.0 + 1e-12)
}

/// Chance to win from a draw that takes at least one bad item, given what fewer bad items (`below`)
/// are worth.
fn worth_of_draw(draw: &[f64], below: &[f64]) -> f64 {
    let Some((&win, partial)) = draw[1..].split_last() else { return 0.0 };
    let later: f64 = partial.iter().zip(below.iter().rev()).map(|(h, w)| h * w).sum();
    let some = win + partial.iter().sum::<f64>();
    if some > 0.0 { (win + later) / some } else { 0.0 }
}
