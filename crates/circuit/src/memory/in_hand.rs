//! A row between the two halves of an access, whatever keeps the others.

use super::Reactive;
use crate::gadgets;

/// The row that is asked for: row 0 if the index is beyond the end.
pub(super) struct Wanted<W> {
    /// Whether the index is one of a row, where it has bits to reach further.
    inside: Option<W>,
    pub(super) index: Vec<W>,
}

/// A row that was taken, until it is put back.
pub(super) struct InHand<W> {
    wanted: Wanted<W>,
    /// What there is, and what is shown of it.
    row: Vec<W>,
    pub(super) shown: Vec<W>,
}

impl<W: Clone> Wanted<W> {
    /// The unsigned secret `index` of one of so many rows, in as many digits as their numbers have.
    pub(super) fn of<G: Reactive<Wire = W>>(
        g: &mut G,
        index: &[W],
        rows: usize,
        digits: usize,
    ) -> Result<Self, G::Error> {
        let inside = gadgets::inside(g, index, rows)?;
        let mut index = index[..digits.min(index.len())].to_vec();
        index.resize(digits, g.constant(false)?);
        // Beyond the end: row 0, which stays as it is.
        if let Some(inside) = &inside {
            index = g.and_groups(std::slice::from_ref(inside), &index)?;
        }
        Ok(Wanted { inside, index })
    }

    /// The row was found; beyond the end zeros are shown of it.
    pub(super) fn found<G: Reactive<Wire = W>>(
        self,
        g: &mut G,
        row: Vec<W>,
    ) -> Result<InHand<W>, G::Error> {
        let shown = match &self.inside {
            Some(inside) => g.and_groups(std::slice::from_ref(inside), &row)?,
            None => row.clone(),
        };
        Ok(InHand { wanted: self, row, shown })
    }
}

impl<W: Clone> InHand<W> {
    /// Its index, and `change` of it, or it as it was beyond the end.
    pub(super) fn changed<G: Reactive<Wire = W>>(
        self,
        g: &mut G,
        change: impl FnOnce(&mut G, &[W]) -> Result<Vec<W>, G::Error>,
    ) -> Result<(Vec<W>, Vec<W>), G::Error> {
        let InHand { wanted: Wanted { inside, index }, row, shown } = self;
        let new = change(g, &shown)?;
        let new = match &inside {
            Some(inside) => g.mux_many(inside, &new, &row)?,
            None => new,
        };
        Ok((index, new))
    }
}
