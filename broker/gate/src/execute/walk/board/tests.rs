//! Whoever works on what: the answer is whole, and in order.

use super::*;
use proptest::prelude::*;

/// A unit that stands for the numbers of a range: it is split, or told.
#[derive(Debug, Clone, PartialEq)]
struct Part(std::ops::Range<u32>);

impl Together for Part {
    fn goes_with(&self, first: &Self) -> bool {
        self.0.start / 8 == first.0.start / 8
    }
}

impl Held for Vec<u32> {
    fn held(&self) -> usize {
        self.len()
    }
}

fn outcomes(part: &Part, cut: u32) -> Vec<Outcome<Part, Vec<u32>>> {
    let Part(range) = part;
    if range.len() <= 2 {
        return vec![Outcome::Ready(range.clone().collect())];
    }
    let middle = range.start + 1 + cut % (range.end - range.start - 1);
    vec![
        Outcome::Waiting(Part(range.start..middle)),
        Outcome::Ready(Vec::new()),
        Outcome::Waiting(Part(middle..range.end)),
    ]
}

proptest! {
    /// Whoever works on what and ends it when: what is taken off the front is the whole, in order.
    #[test]
    fn the_answer_is_whole_and_in_order(deeds in prop::collection::vec((0..4_u8, any::<u32>()), 1..400)) {
        let mut board = Board::new(Part(0..64));
        let mut running: Vec<(Place, Part)> = Vec::new();
        let mut told = Vec::new();
        let mut deeds = deeds.into_iter().cycle();
        while !board.is_empty() {
            let (deed, chance) = deeds.next().unwrap();
            match deed {
                0 => while let Some(part) = board.pop() {
                    told.extend(part);
                },
                1 => running.extend(board.claim(1 + chance as usize % 3)),
                _ if running.is_empty() => running.extend(board.claim(1)),
                2 => {
                    let (place, part) = running.swap_remove(chance as usize % running.len());
                    board.settle(place, outcomes(&part, chance));
                }
                _ => {
                    let at = chance as usize % running.len();
                    let (place, part) = &mut running[at];
                    if part.0.len() > 1 {
                        *place = board.put_before(*place, vec![part.0.start]);
                        part.0.start += 1;
                    }
                }
            }
            // A cycle of deeds that ends nothing would never end.
            if let Some(part) = board.pop() {
                told.extend(part);
            }
            if running.is_empty() {
                running.extend(board.claim(1));
            }
            if let Some((place, part)) = running.pop() {
                board.settle(place, outcomes(&part, chance));
            }
        }
        prop_assert_eq!(told, (0..64).collect::<Vec<_>>());
        prop_assert_eq!((board.held, board.ready), (0, 0));
    }
}

#[test]
fn a_full_board_gives_out_its_front_alone() {
    let mut board: Board<Part, Vec<u32>> = Board::new(Part(0..8));
    let (place, _) = board.claim(1).remove(0);
    let waiting = |n| Outcome::Waiting(Part(n..n + 1));
    let big = Outcome::Ready(vec![0; HELD_MAX]);
    board.settle(place, [waiting(0), big, waiting(1), waiting(2)]);
    assert!(board.is_full());
    let front = board.claim(3);
    assert_eq!(front.len(), 1);
    assert!(board.is_first(front[0].0));
    assert!(board.claim(3).is_empty());
    board.settle(front[0].0, [Outcome::Ready(Vec::new())]);
    assert_eq!(board.pop().map(|r| r.len()), Some(0));
    assert!(board.claim(1).is_empty(), "what is in front is ready");
    assert_eq!(board.pop().map(|r| r.len()), Some(HELD_MAX));
    assert_eq!(
        board.claim(3).len(),
        2,
        "those that go together go together"
    );
}
