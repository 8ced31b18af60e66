//! The message tags of the engine's protocols: one per message, so that a frame out of place is
//! refused before it is read. Each backend keeps its own in its folder.

use cenote_net::Tag;

use crate::backends::Backend;
use crate::parts;

/// Every tag of this crate, for the tests that must have a row for each.
pub fn all() -> impl Iterator<Item = &'static Tag> + Clone {
    let backends = Backend::ALL.iter().flat_map(|backend| backend.tags());
    parts::tags::ALL.iter().chain(backends)
}

#[cfg(test)]
mod tests {
    #[test]
    fn no_two_messages_have_one_tag() {
        let mut ids: Vec<u8> = super::all().map(|tag| tag.id).collect();
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), count);
    }
}
