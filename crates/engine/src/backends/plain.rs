//! Backend `plain`: clear evaluation at both parties; the oracle and the debugger.
//!
//! **Adversary.** None: inputs travel in the clear to the peer, and nothing is checked. It takes
//! the same steps as every other backend, so that programs and services can be tested with it.

use cenote_circuit::Gates;
use cenote_net::{Channel, Fault, Phase, Role};
use cenote_prim::bits;

use crate::claims::{Adversary, Claims, PeerIs};
use crate::party::{Party, Receivers, expect_input};
use crate::tags;

/// One party's end of a session.
pub struct PlainSession {
    channel: Channel,
    role: Role,
}

/// Proof of the deferred checks, of which this backend has none.
#[must_use = "outputs are opened with the proof that the checks ran"]
pub struct Checked(());

impl PlainSession {
    /// A session over `channel`.
    #[must_use]
    pub fn open(channel: Channel, role: Role) -> PlainSession {
        PlainSession { channel, role }
    }

    /// The party of the next request.
    pub fn party(&mut self) -> PlainParty<'_> {
        self.channel.set_phase(Phase::Online);
        PlainParty { session: self }
    }

    /// The connection.
    pub fn channel(&mut self) -> &mut Channel {
        &mut self.channel
    }
}

/// The promise of the backend; the session knows its peer.
#[must_use]
pub fn claims() -> Claims {
    Claims {
        backend: "plain",
        adversary: Adversary::None,
        peer: PeerIs::NotAuthenticated,
        kappa: 0,
        epsilon_log2: None,
        adaptive_epsilon_log2: None,
        assumptions: &[],
        leakage: "everything",
        first_output: "both at once",
        constant_time: false,
        audited: false,
        evidence: None,
    }
}

/// One party of one request.
pub struct PlainParty<'s> {
    session: &'s mut PlainSession,
}

impl Gates for PlainParty<'_> {
    type Wire = bool;
    type Error = Fault;

    fn constant(&mut self, bit: bool) -> Result<bool, Fault> {
        Ok(bit)
    }

    fn xor(&mut self, a: &bool, b: &bool) -> Result<bool, Fault> {
        Ok(a ^ b)
    }

    fn not(&mut self, a: &bool) -> Result<bool, Fault> {
        Ok(!a)
    }

    fn and(&mut self, a: &bool, b: &bool) -> Result<bool, Fault> {
        Ok(a & b)
    }

    // Written out because collecting plain values vectorises and collecting results does not.
    fn xor_many(&mut self, a: &[bool], b: &[bool]) -> Result<Vec<bool>, Fault> {
        Ok(a.iter().zip(b).map(|(a, b)| a ^ b).collect())
    }

    fn and_many(&mut self, a: &[bool], b: &[bool]) -> Result<Vec<bool>, Fault> {
        Ok(a.iter().zip(b).map(|(a, b)| a & b).collect())
    }
}

/// Input bits of one message: keeps frames under the limit.
const PIECE: usize = 1 << 20;

impl Party for PlainParty<'_> {
    type Checked = Checked;

    fn role(&self) -> Role {
        self.session.role
    }

    fn input(
        &mut self,
        owner: Role,
        len: usize,
        bits: Option<&[bool]>,
    ) -> Result<Vec<bool>, Fault> {
        let own = expect_input(self.session.role, owner, len, bits)?;
        let channel = &mut self.session.channel;
        if owner == self.session.role {
            for piece in own.chunks(PIECE) {
                channel.send(tags::PLAIN_INPUT, &bits::pack(piece.iter().copied()))?;
            }
            channel.flush()?;
            return Ok(own.to_vec());
        }
        let mut wires = Vec::with_capacity(len);
        while wires.len() < len {
            let piece = PIECE.min(len - wires.len());
            let packed = channel.recv(tags::PLAIN_INPUT, bits::packed_len(piece))?;
            if !bits::is_canonical(&packed, piece) {
                return Err(Fault::Misbehaved("plain.input.format"));
            }
            wires.extend((0..piece).map(|i| bits::get(&packed, i)));
        }
        Ok(wires)
    }

    fn check(&mut self) -> Result<Checked, Fault> {
        Ok(Checked(()))
    }

    fn open(
        &mut self,
        _proof: Checked,
        to: Receivers,
        wires: &[bool],
    ) -> Result<Option<Vec<bool>>, Fault> {
        Ok(to.include(self.session.role).then(|| wires.to_vec()))
    }
}
