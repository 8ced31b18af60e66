//! Progress on a terminal; nothing where standard error is none.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};

/// How often a bar is drawn.
const TICK: Duration = Duration::from_millis(100);

/// A bar of `len` steps called `what`, with the time that has passed.
pub(crate) fn bar(len: u64, what: &str) -> ProgressBar {
    let template = "{spinner} {msg} [{bar:30}] {human_pos}/{human_len} {elapsed}";
    dressed(ProgressBar::new(len), template, what)
}

/// A spinner called `what`, with the time that has passed.
pub(crate) fn spinner(what: &str) -> ProgressBar {
    dressed(ProgressBar::new_spinner(), "{spinner} {msg} {elapsed}", what)
}

/// However the work ends, what it shows vanishes with the value.
fn dressed(bar: ProgressBar, template: &str, what: &str) -> ProgressBar {
    // The templates are constants; indicatif's own style serves as well.
    let style = ProgressStyle::with_template(template);
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.enable_steady_tick(TICK);
    bar.with_finish(ProgressFinish::AndClear).with_message(what.to_owned())
}

/// A bar that follows a counter from a thread of its own.
pub(crate) struct Meter {
    count: Arc<AtomicU64>,
    /// Dropped to end the thread.
    running: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Meter {
    /// A bar up to `len`, called `what`.
    pub(crate) fn start(len: u64, what: &str) -> Meter {
        let count = Arc::new(AtomicU64::new(0));
        let (running, ended) = channel();
        let (bar, seen) = (bar(len, what), Arc::clone(&count));
        let thread = thread::spawn(move || {
            while ended.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                bar.set_position(seen.load(Ordering::Relaxed));
            }
        });
        Meter { count, running: Some(running), thread: Some(thread) }
    }

    /// Returns the count that the bar shows.
    pub(crate) fn count(&self) -> &AtomicU64 {
        &self.count
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        self.running = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread spoils the bar alone.
            let _ = thread.join();
        }
    }
}
