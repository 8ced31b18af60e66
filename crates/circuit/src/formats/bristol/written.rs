//! Which wires of a file were written, in memory that shrinks where all were.

/// A set of numbers below a bound. Pages that are empty or full take no memory of their own, so a file
/// that numbers its wires more or less in order takes next to none.
pub(super) struct Written {
    pages: Vec<Page>,
    bound: usize,
}

enum Page {
    Empty,
    Full,
    Part(Box<Part>),
}

struct Part {
    bits: [u64; PAGE / 64],
    count: usize,
}

/// Numbers of a page.
const PAGE: usize = 1 << 13;

impl Written {
    pub(super) fn new(bound: usize) -> Self {
        let pages = (0..bound.div_ceil(PAGE)).map(|_| Page::Empty).collect();
        Self { pages, bound }
    }

    pub(super) fn contains(&self, number: usize) -> bool {
        match self.pages.get(number / PAGE) {
            None | Some(Page::Empty) => false,
            Some(Page::Full) => number < self.bound,
            Some(Page::Part(part)) => part.bits[number % PAGE / 64] >> (number % 64) & 1 == 1,
        }
    }

    /// Adds a number; false if it is out of bounds or there already.
    pub(super) fn insert(&mut self, number: usize) -> bool {
        if number >= self.bound {
            return false;
        }
        let page = &mut self.pages[number / PAGE];
        if matches!(page, Page::Empty) {
            *page = Page::Part(Box::new(Part { bits: [0; PAGE / 64], count: 0 }));
        }
        let Page::Part(part) = page else { return false };
        let (word, bit) = (&mut part.bits[number % PAGE / 64], 1 << (number % 64));
        if *word & bit != 0 {
            return false;
        }
        *word |= bit;
        part.count += 1;
        if part.count == PAGE {
            *page = Page::Full;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_set() {
        let bound = 5 * PAGE + 100;
        let mut written = Written::new(bound);
        // A stride that is coprime to the bound visits every number, far apart.
        let order = || (0..bound).map(|i| i * 7919 % bound);
        for (number, earlier) in order().zip([0].into_iter().chain(order())) {
            assert!(!written.contains(number));
            assert!(written.insert(number) && !written.insert(number));
            assert!(written.contains(earlier));
        }
        assert!(!written.contains(bound) && !written.insert(bound));
        let parts = written.pages.iter().filter(|page| matches!(page, Page::Part(_))).count();
        assert_eq!(parts, 1, "only the last page is not full");
    }
}
