//! Lines of BLIF: comments go, a backslash at the end joins the next line.

/// The lines that hold a word.
pub(super) struct Lines<'a> {
    rest: std::str::Lines<'a>,
}

impl<'a> Lines<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { rest: text.lines() }
    }

    /// The words of the next line into `words`; `false` at the end of the file.
    pub(super) fn next(&mut self, words: &mut Vec<&'a str>) -> bool {
        words.clear();
        for line in self.rest.by_ref() {
            let line = line.split('#').next().unwrap_or_default().trim_end();
            let (line, joined) = match line.strip_suffix('\\') {
                Some(line) => (line, true),
                None => (line, false),
            };
            words.extend(line.split_ascii_whitespace());
            if !joined && !words.is_empty() {
                return true;
            }
        }
        !words.is_empty()
    }
}
