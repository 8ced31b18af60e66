//! The channels to one peer: the control channel and, where a protocol asks for them, data channels beside it.
//!
//! **Binding.** A data channel is a connection of its own, and nothing tells it from another's until its
//! handshake: hellos with the session's identity, the number of the channel and fresh nonces. Its identity, which
//! salts whatever runs on it, hashes both hellos and, over TLS, this connection and both certificates. So the
//! same message on two channels of a session has different meanings, and no channel of one session passes for
//! one of another.
//! **Checks.** The hellos are equal; the certificate is that of the control channel.

use crate::{Agreed, Channel, Fault, Handshake, Role};

/// Makes the connection for a data channel with this number; both sides call it at the same time.
type Connect = Box<dyn FnMut(u32) -> Result<Channel, Fault> + Send>;

/// The control channel to a peer, and the way to further ones, if there is one.
pub struct Channels {
    control: Channel,
    connect: Option<Connect>,
}

/// A channel alone: no further ones can be opened.
impl From<Channel> for Channels {
    fn from(control: Channel) -> Channels {
        Channels { control, connect: None }
    }
}

impl Channels {
    /// A control channel whose owners can make further connections with `connect`: it is called with the number
    /// of the data channel, on both sides at the same time.
    pub fn new(
        control: Channel,
        connect: impl FnMut(u32) -> Result<Channel, Fault> + Send + 'static,
    ) -> Channels {
        Channels { control, connect: Some(Box::new(connect)) }
    }

    /// The same with `hook`, which sees each data channel before its first frame: for layers that record or tamper.
    #[must_use]
    pub fn on_open(self, mut hook: impl FnMut(u32, &mut Channel) + Send + 'static) -> Channels {
        let connect = self.connect.map(|mut connect| -> Connect {
            Box::new(move |number| {
                let mut data = connect(number)?;
                hook(number, &mut data);
                Ok(data)
            })
        });
        Channels { connect, ..self }
    }

    /// The control channel.
    pub fn control(&mut self) -> &mut Channel {
        &mut self.control
    }

    /// The control channel alone.
    #[must_use]
    pub fn into_control(self) -> Channel {
        self.control
    }

    /// Whether data channels can be opened.
    #[must_use]
    pub const fn can_open(&self) -> bool {
        self.connect.is_some()
    }

    /// Opens data channel `number`, from 1, of the session with this identity. Limits and cancellation are those
    /// of the control channel. `nonce` must be fresh randomness of this call.
    ///
    /// # Errors
    /// `Misuse` when there is no way to another channel; `Transport` when the connection fails; `Policy` when it
    /// leads to another peer, and, on both sides, when it is of another session or number; faults of the handshake.
    pub fn open(
        &mut self,
        number: u32,
        session: [u8; 32],
        role: Role,
        nonce: [u8; 32],
    ) -> Result<(Channel, Agreed), Fault> {
        let connect =
            self.connect.as_mut().ok_or_else(|| Fault::Misuse("no data channels".into()))?;
        let mut data = connect(number)?;
        if data.peer() != self.control.peer() {
            return Err(Fault::Policy("a data channel leads to another peer".into()));
        }
        self.control.adopt(&mut data)?;
        let agreed = data_handshake(number, session).run(&mut data, role, nonce);
        let agreed = agreed.inspect_err(|_| data.abort())?;
        Ok((data, agreed))
    }
}

fn data_handshake(number: u32, session: [u8; 32]) -> Handshake {
    Handshake::new("data").field("session", session).field("number", number.to_le_bytes())
}

impl std::fmt::Debug for Channels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Channels").field("control", &self.control).finish_non_exhaustive()
    }
}
