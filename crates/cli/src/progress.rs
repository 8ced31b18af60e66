//! Progress on a terminal; nothing where standard error is none.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// A bar of `len` steps called `what`, with the time that has passed.
pub(crate) fn bar(len: u64, what: &str) -> ProgressBar {
    let template = "{spinner} {msg} [{bar:30}] {human_pos}/{human_len} {elapsed}";
    let bar = ProgressBar::new(len).with_message(what.to_owned());
    // The template is a constant; indicatif's own style serves as well.
    let style = ProgressStyle::with_template(template);
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}

/// A spinner called `what`, with the time that has passed.
pub(crate) fn spinner(what: &str) -> ProgressBar {
    let spinner = ProgressBar::new_spinner().with_message(what.to_owned());
    let style = ProgressStyle::with_template("{spinner} {msg} {elapsed}");
    spinner.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
    spinner.enable_steady_tick(Duration::from_millis(100));
    spinner
}
