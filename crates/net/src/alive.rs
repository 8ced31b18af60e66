//! Keeping a connection alive: while a side sends nothing, an empty frame now and then tells the
//! peer that it is still there. A thread of its own sends them, so that their time says nothing about
//! what the rest of the program does, and however long that takes.

use std::io::IoSliceMut;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::frame::{HEADER_LEN, encode_header};
use crate::link::{Interest, Io, Link, Waker};
use crate::{Fault, Tag};

/// Longest time in which a side sends nothing at all.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// However short an idle limit is.
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);

/// The link of a channel. From its first frame until it is cut it is never silent for long.
pub(crate) struct AliveLink {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    wire: Mutex<Wire>,
    changed: Condvar,
}

struct Wire {
    /// None once the connection is cut: nothing may follow.
    link: Option<Box<dyn Link>>,
    /// Time without a frame after which a keep-alive is due.
    pause: Duration,
    /// When something was last sent.
    last: Instant,
    /// The last frame left whole, so that a keep-alive may follow.
    between_frames: bool,
    /// No keep-alive is sent any more.
    hushed: bool,
    /// Bytes of a keep-alive that the link would not take yet.
    owed: usize,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Wire> {
        // A panic elsewhere leaves bytes and flags that are good to end the session with.
        self.wire.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AliveLink {
    pub(crate) fn new(link: Box<dyn Link>, idle_limit: Duration) -> AliveLink {
        let wire = Wire {
            link: Some(link),
            pause: pause(idle_limit),
            last: Instant::now(),
            between_frames: false,
            hushed: false,
            owed: 0,
        };
        let shared = Arc::new(Shared { wire: Mutex::new(wire), changed: Condvar::new() });
        AliveLink { shared, thread: None }
    }

    /// Puts a layer between this and its link.
    pub(crate) fn wrap(&mut self, layer: impl FnOnce(Box<dyn Link>) -> Box<dyn Link>) {
        let mut wire = self.shared.lock();
        wire.link = wire.link.take().map(layer);
    }

    /// Keeps a peer with this idle limit, or a longer one, from giving up.
    pub(crate) fn set_idle_limit(&mut self, limit: Duration) {
        self.shared.lock().pause = pause(limit);
        self.shared.changed.notify_all();
    }

    /// Sends no keep-alives any more, whatever else is written: it is the last frame.
    pub(crate) fn hush(&mut self) {
        let mut wire = self.shared.lock();
        (wire.hushed, wire.between_frames) = (true, false);
    }

    /// Writes a prefix of the two parts, which together end with a frame; see [`Link::write`].
    pub(crate) fn write(&mut self, first: &[u8], second: &[u8]) -> Result<Io, Fault> {
        if self.thread.is_none() {
            self.start()?;
        }
        self.shared.lock().write(first, second)
    }

    pub(crate) fn read(&mut self, parts: &mut [IoSliceMut<'_>]) -> Result<Io, Fault> {
        self.shared.lock().link.as_mut().map_or(Ok(Io::Gone), |link| link.read(parts))
    }

    pub(crate) fn flush(&mut self) -> Result<Io, Fault> {
        self.shared.lock().link.as_mut().map_or(Ok(Io::Gone), |link| link.flush())
    }

    /// Waits with the connection locked, so keep-alives are sent from here.
    pub(crate) fn wait(&mut self, interest: Interest, limit: Duration) -> Result<(), Fault> {
        let mut wire = self.shared.lock();
        let limit = limit.min(wire.until_due());
        let Some(link) = &mut wire.link else {
            return Err(Fault::Transport("the channel is closed".into()));
        };
        link.wait(interest, limit)?;
        wire.keep_alive();
        Ok(())
    }

    pub(crate) fn waker(&self) -> Waker {
        self.shared.lock().link.as_ref().map_or_else(|| Arc::new(|| ()) as Waker, |it| it.waker())
    }

    /// Ends the outgoing stream, waits for the peer to do so no longer than `limit`, and cuts the
    /// connection.
    pub(crate) fn finish(&mut self, limit: Duration) {
        let link = self.shared.lock().link.take();
        if let Some(mut link) = link {
            link.finish(limit);
        }
        self.cut();
    }

    /// Cuts the connection.
    pub(crate) fn cut(&mut self) {
        drop(self.shared.lock().link.take());
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // It has nothing to say, not even of a panic.
            let _ = thread.join();
        }
    }

    fn start(&mut self) -> Result<(), Fault> {
        let shared = Arc::clone(&self.shared);
        let thread = std::thread::Builder::new()
            .name("cenote keep-alive".into())
            .spawn(move || shared.run())
            .map_err(|error| Fault::Internal(format!("no thread to keep alive: {error}")))?;
        self.thread = Some(thread);
        Ok(())
    }
}

impl Drop for AliveLink {
    fn drop(&mut self) {
        self.cut();
    }
}

impl Shared {
    /// Keeps alive until the connection is cut.
    fn run(&self) {
        let mut wire = self.lock();
        while wire.link.is_some() {
            let pause = wire.until_due();
            let waited = self.changed.wait_timeout(wire, pause);
            wire = waited.unwrap_or_else(PoisonError::into_inner).0;
            wire.keep_alive();
        }
    }
}

impl Wire {
    fn write(&mut self, first: &[u8], second: &[u8]) -> Result<Io, Fault> {
        match self.pay()? {
            Io::Moved(_) => {}
            stop => return Ok(stop),
        }
        let Some(link) = &mut self.link else { return Ok(Io::Gone) };
        let io = link.write(first, second)?;
        if let Io::Moved(n) = io {
            self.last = Instant::now();
            self.between_frames = !self.hushed && n == first.len() + second.len();
        }
        Ok(io)
    }

    /// When to look again whether a keep-alive is due.
    fn until_due(&self) -> Duration {
        let waited = if self.between_frames { self.last.elapsed() } else { Duration::ZERO };
        self.pause.saturating_sub(waited)
    }

    /// Sends a keep-alive if it is time. Where the link takes none, the peer has enough to read.
    fn keep_alive(&mut self) {
        if self.between_frames && self.last.elapsed() >= self.pause {
            self.last = Instant::now();
            if self.owed == 0 {
                self.owed = HEADER_LEN;
            }
            // Whoever reads or writes next finds a broken connection.
            let _ = self.pay();
        }
    }

    /// Writes the rest of a keep-alive; `Moved` when none is left.
    fn pay(&mut self) -> Result<Io, Fault> {
        let Some(link) = &mut self.link else { return Ok(Io::Gone) };
        let frame = encode_header(Tag::ALIVE.id, 0);
        while self.owed > 0 {
            match link.write(&frame[HEADER_LEN - self.owed..], &[])? {
                Io::Moved(n) => self.owed -= n,
                stop => return Ok(stop),
            }
        }
        Ok(Io::Moved(1))
    }
}

/// Time without a frame after which a side with this idle limit says that it is there.
fn pause(idle_limit: Duration) -> Duration {
    (idle_limit / 4).clamp(SHORTEST_PAUSE, LONGEST_PAUSE)
}
