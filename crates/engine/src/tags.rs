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
    use std::collections::HashSet;

    #[test]
    fn no_two_messages_have_one_tag() {
        let all: Vec<_> = super::all().chain(cenote_ot::tags::ALL).collect();
        let ids: HashSet<u8> = all.iter().map(|tag| tag.id).collect();
        let names: HashSet<&str> = all.iter().map(|tag| tag.name).collect();
        assert_eq!((ids.len(), names.len()), (all.len(), all.len()));
    }
}
