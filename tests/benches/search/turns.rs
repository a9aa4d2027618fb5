//! In which order things are measured.

/// The order of one round: another neighbour before each, as far as that goes. The first one and the
/// direction change.
pub fn turn<T: Clone>(all: &[T], round: usize) -> Vec<T> {
    let mut turn = all.to_vec();
    turn.rotate_left(round / 2 * 5 % all.len().max(1));
    if round.is_multiple_of(2) {
        turn.reverse();
    }
    turn
}
