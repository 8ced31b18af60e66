//! Ctrl-C and termination signals: ask the work to end, and end anyway if it does not.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::exit::{Failure, Kind};
use crate::output::{self, Format};

/// How long the work may take to end in order.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The reaction to a signal. Clones share it.
#[derive(Clone)]
pub(crate) struct Interrupt {
    state: Arc<State>,
}

struct State {
    hit: AtomicBool,
    /// How the interruption is reported; a child leaves that to its parent.
    format: Option<Format>,
    /// Makes the work end; before there is any, the process ends at once.
    stop: Mutex<Option<Box<dyn Fn() + Send>>>,
}

impl Interrupt {
    /// Takes over the signals of this process; without a format, an interruption is not reported.
    pub(crate) fn install(format: impl Into<Option<Format>>) -> Result<Interrupt, Failure> {
        let stop = Mutex::new(None);
        let state = Arc::new(State { hit: AtomicBool::new(false), format: format.into(), stop });
        let interrupt = Interrupt { state };
        let mut signals = Signals::new([SIGINT, SIGTERM])
            .map_err(|error| Failure::internal(format!("signals: {error}")))?;
        let on_signal = interrupt.clone();
        thread::spawn(move || signals.forever().for_each(|_| on_signal.trigger()));
        Ok(interrupt)
    }

    /// Runs `stop` on the first signal instead of ending the process.
    pub(crate) fn on_signal(&self, stop: impl Fn() + Send + 'static) {
        let mut slot = self.state.stop.lock().unwrap_or_else(PoisonError::into_inner);
        if self.hit() {
            stop();
        }
        *slot = Some(Box::new(stop));
    }

    /// Whether there was a signal.
    pub(crate) fn hit(&self) -> bool {
        self.state.hit.load(Ordering::SeqCst)
    }

    /// Reacts to a signal. The second one does not wait any longer.
    pub(crate) fn trigger(&self) {
        let again = self.state.hit.swap(true, Ordering::SeqCst);
        let slot = self.state.stop.lock().unwrap_or_else(PoisonError::into_inner);
        match &*slot {
            Some(stop) if !again => stop(),
            _ => self.exit(),
        }
        drop(slot);
        let late = self.clone();
        thread::spawn(move || {
            thread::sleep(TIMEOUT);
            late.exit();
        });
    }

    /// The interruption, if there was one: it is the reason of whatever went wrong after it.
    pub(crate) fn or(&self, failure: Failure) -> Failure {
        if self.hit() { Failure::interrupted() } else { failure }
    }

    fn exit(&self) {
        if let Some(format) = self.state.format {
            output::failure(&Failure::interrupted(), format);
        }
        std::process::exit(Kind::Interrupted.code().into());
    }
}
