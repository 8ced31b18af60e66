//! Places of tables that the text itself names.

use super::{Builder, Frame};
use crate::error::BuildError;
use crate::limits::MAX_PLACE;
use crate::op::{Op, ValueId, WordOp};

impl Frame {
    /// The largest number in a value in sight, if it is a constant of the text.
    fn largest_in(&mut self, id: ValueId) -> Option<u64> {
        if let Some(known) = self.largest.get(&id) {
            return Some(*known);
        }
        let constant = self.open.iter().find_map(|open| {
            let statements = &open.block.statements;
            let before = statements.partition_point(|statement| statement.first_result <= id.0);
            let statement = before.checked_sub(1).map(|last| &statements[last])?;
            match &statement.op {
                Op::Const(constant) if statement.first_result == id.0 => Some(constant),
                _ => None,
            }
        });
        let largest = constant?.numbers().max()?;
        self.largest.insert(id, largest);
        Some(largest)
    }
}

impl Builder {
    /// Refuses a place that the text itself names and the table does not have. What a place is worth that is computed, from constants too, only a run says.
    pub(super) fn check_place(
        &mut self,
        op: WordOp,
        table: ValueId,
        place: ValueId,
    ) -> Result<(), BuildError> {
        let lanes = self.shape_of(table)?.lanes;
        let is_short = self.shape_of(place)?.width <= MAX_PLACE;
        match is_short.then(|| self.frame().largest_in(place)).flatten() {
            Some(number) if number >= u64::from(lanes) => Err(BuildError::new(format!(
                "`{}`: the place is {number}, but the table has {lanes} lanes, numbered from 0",
                op.name()
            ))),
            _ => Ok(()),
        }
    }
}
