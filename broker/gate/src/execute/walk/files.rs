//! Files of a directory, worked on one after the other.

use super::board::{Outcome, Place};
use super::tell::{Last, Piece, Relief, Role, Tell};
use super::{Hunt, Listed, Means, Walk};
use crate::execute::frames::Stop;
use portcullis_protocol::session::{Packed, Statistics};
use std::ops::Range;
use std::sync::Arc;

impl<H: Hunt> Walk<H> {
    /// Works on files and settles their unit.
    pub(super) fn files(
        &self,
        means: &mut Means<H>,
        mut place: Place,
        (listed, range): (&Listed, Range<usize>),
        role: &mut Role<'_, '_, H::Told>,
    ) -> Result<(), Stop> {
        let mut relief = Relieved {
            walk: self,
            place: &mut place,
            role,
        };
        let mut tell = Tell::relieved(std::mem::take(&mut means.packed), &mut relief);
        let mut path = listed.above.path.with_room_for_name();
        let mut last = None;
        // The file before, which is told whole if nothing has ended the walk since.
        let mut before = None;
        for row in listed.files.get(range).unwrap_or_default() {
            if tell.is_over() || self.ground.interrupt.reason().is_some() {
                before = None;
                break;
            }
            last = before.or(last);
            let row = usize::try_from(*row).ok();
            let Some(row) = row.and_then(|row| listed.names.rows().get(row)) else {
                continue;
            };
            let name = listed.names.name(row);
            if path.push(name).is_ok() {
                let hand = &mut means.hand;
                self.hunt.file(&self.ground, hand, &path, &mut tell);
                path.pop();
            }
            before = Some(name);
        }
        if self.ground.interrupt.reason().is_none() {
            last = before.or(last);
        }
        let last = last.map_or(Last::Nothing, |name| {
            Last::Name(Arc::clone(&listed.above), name.into())
        });
        let (mut packed, statistics) = tell.end()?;
        let told = packed.take_all();
        means.packed = packed;
        self.count_seen(&statistics);
        let whole = 0..told.len();
        let piece = Piece::new(&Arc::new(told), whole, statistics, last);
        self.settle([(place, vec![Outcome::Ready(piece)])]);
        Ok(())
    }
}

/// Where results of a unit go that are too many to keep.
struct Relieved<'w, 'r, 'o, H: Hunt> {
    walk: &'w Walk<H>,
    place: &'w mut Place,
    role: &'w mut Role<'r, 'o, H::Told>,
}

impl<H: Hunt> Relief<H::Told> for Relieved<'_, '_, '_, H> {
    fn hand_over(&mut self, packed: Packed<H::Told>, statistics: Statistics) -> Result<(), Stop> {
        let walk = self.walk;
        walk.count_seen(&statistics);
        let whole = 0..packed.len();
        let piece = Piece::new(&Arc::new(packed), whole, statistics, Last::Nothing);
        let mut board = walk.board();
        *self.place = board.put_before(*self.place, piece);
        walk.changed_now();
        drop(board);
        loop {
            match self.role {
                Role::Lead(frames) => walk.drain(frames)?,
                Role::Help => {}
            }
            let board = walk.board();
            if !board.is_full() || board.is_first(*self.place) {
                return Ok(());
            }
            if walk.ground.interrupt.reason().is_some() {
                return Ok(());
            }
            drop(walk.wait(board));
        }
    }
}
