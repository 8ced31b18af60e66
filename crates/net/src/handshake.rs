//! The handshake: both sides say what they are about to do, and nothing happens unless they agree.
//!
//! Each side sends one hello: the protocol version, what is being opened (a session, a job or a data channel), its
//! role, a fresh nonce and named fields. Every field must be equal on both sides and the roles must be
//! complementary. Otherwise both sides learn, from the same two hellos, which fields differ. Over TLS
//! the hellos must also be of the two ends of one connection.
//! The bytes are in docs/formats/wire.md.

use crate::{Channel, Fault, Role, Tag, binding};

/// The version of the wire protocol: framing, handshake and all messages of the shipped protocols.
pub const PROTOCOL_VERSION: u8 = 1;

/// Most bytes of an encoded hello.
pub const MAX_HELLO: usize = 32 << 10;

/// The field that holds what a hello shows of its connection.
const CHANNEL: &str = "channel";
/// Bytes of a hello that tie it to a TLS connection.
pub const BOUND_LEN: usize = field_len(CHANNEL, 32);
const RELAYED: &str = "channel: the two sides are not the ends of one TLS connection: somebody between \
                       them passes messages on; find out whose certificates the two were given";
/// Most fields of a hello.
const MAX_FIELDS: usize = 64;
/// Most bytes of a name.
const MAX_NAME: usize = 64;
/// Most bytes of a field's value.
const MAX_VALUE: usize = 1024;
/// Differences that a refusal spells out.
const SHOWN_DIFFERENCES: usize = 4;
/// Characters of a value that a refusal shows.
const SHOWN_CHARS: usize = 64;

/// Proof that both sides agreed; only [`Handshake::run`] makes one.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Agreed {
    /// BLAKE3 over both hellos (every field, both roles, both nonces) and, over TLS, the connection and
    /// both certificates. Equal on both sides.
    pub session_id: [u8; 32],
    /// This side's role.
    pub role: Role,
}

/// One side's list of what it is about to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Handshake {
    kind: String,
    fields: Vec<(String, Vec<u8>)>,
    /// Remedies by the name of a field: they stay on this side.
    remedies: Vec<(String, String)>,
}

/// A decoded hello: everything in it is within the limits, and names are distinct.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hello {
    /// The kind of thing that is being opened, such as "session" or "job".
    pub kind: String,
    /// The sender's role.
    pub role: Role,
    /// The sender's fresh nonce.
    pub nonce: [u8; 32],
    /// Named values, in the sender's order.
    pub fields: Vec<(String, Vec<u8>)>,
}

impl Handshake {
    /// Starts a list; `kind` says what is being opened, such as "session" or "job".
    #[must_use]
    pub fn new(kind: &str) -> Handshake {
        Handshake { kind: kind.to_owned(), fields: Vec::new(), remedies: Vec::new() }
    }

    /// Adds a value that must be equal on both sides. Values are public: they appear in refusals. The
    /// name `channel` is taken.
    #[must_use]
    pub fn field(mut self, name: &str, value: impl AsRef<[u8]>) -> Handshake {
        self.fields.push((name.to_owned(), value.as_ref().to_vec()));
        self
    }

    /// Adds what this side's refusal says when the field of this name differs. The peer does not see it.
    #[must_use]
    pub fn remedy(mut self, name: &str, remedy: &str) -> Handshake {
        self.remedies.push((name.to_owned(), remedy.to_owned()));
        self
    }

    /// Bytes of the hello that each side sends over TLS; without, it has [`BOUND_LEN`] bytes less.
    #[must_use]
    pub fn encoded_len(&self) -> usize {
        // Version, kind, role, nonce, number of fields.
        let head = 1 + 1 + self.kind.len() + 1 + 32 + 1;
        let field = |(name, value): &(String, Vec<u8>)| field_len(name, value.len());
        head + self.fields.iter().map(field).sum::<usize>() + BOUND_LEN
    }

    /// Exchanges hellos. `nonce` must be fresh randomness of this run.
    ///
    /// # Errors
    /// `Policy`, on both sides, naming what differs; `Misbehaved` for a malformed hello or one that
    /// reflects ours; `Misuse` when the local list breaks the limits; the faults of the channel.
    pub fn run(&self, channel: &mut Channel, role: Role, nonce: [u8; 32]) -> Result<Agreed, Fault> {
        let result = self.exchange(channel, role, nonce);
        channel.settle(result)
    }

    fn exchange(
        &self,
        channel: &mut Channel,
        role: Role,
        nonce: [u8; 32],
    ) -> Result<Agreed, Fault> {
        let binding = channel.binding.as_ref().map(|binding| binding.of_run(role));
        let mut fields = self.fields.clone();
        fields.extend(binding.map(|it| (CHANNEL.to_owned(), binding::shown(&it).to_vec())));
        let ours = Hello { kind: self.kind.clone(), role, nonce, fields };
        let our_bytes = encode_hello(&ours)?;
        channel.send_frame(Tag::HELLO, &our_bytes)?;
        let their_bytes = channel.recv_frame_bounded(Tag::HELLO, MAX_HELLO)?;
        let theirs = decode_hello(&their_bytes)?;
        if theirs.nonce == nonce {
            return Err(Fault::Misbehaved("handshake: our own nonce came back"));
        }
        compare(&ours, &theirs, &self.remedies)?;
        let (garbler, evaluator) = match role {
            Role::Garbler => (&our_bytes, &their_bytes),
            Role::Evaluator => (&their_bytes, &our_bytes),
        };
        Ok(Agreed { session_id: session_id([garbler, evaluator], binding), role })
    }
}

/// The identity of a run, from the garbler's hello, the evaluator's and what this side itself knows of
/// the connection.
fn session_id(hellos: [&[u8]; 2], binding: Option<[u8; 32]>) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key("cenote 2026 net session id v1");
    for hello in hellos {
        hasher.update(&(hello.len() as u64).to_le_bytes()).update(hello);
    }
    if let Some(binding) = binding {
        hasher.update(&binding);
    }
    *hasher.finalize().as_bytes()
}

/// Encodes a hello.
///
/// # Errors
/// `Misuse` when a name, a value or the whole breaks the limits, or a name occurs twice.
pub fn encode_hello(hello: &Hello) -> Result<Vec<u8>, Fault> {
    let role = match hello.role {
        Role::Garbler => 0,
        Role::Evaluator => 1,
    };
    let mut bytes = vec![PROTOCOL_VERSION];
    put_short(&mut bytes, &hello.kind);
    bytes.push(role);
    bytes.extend_from_slice(&hello.nonce);
    bytes.push(hello.fields.len() as u8);
    for (name, value) in &hello.fields {
        put_short(&mut bytes, name);
        bytes.extend_from_slice(&(value.len() as u16).to_le_bytes());
        bytes.extend_from_slice(value);
    }
    // One set of limits: what our own decoder refuses is not sent.
    match decode_hello(&bytes) {
        Ok(decoded) if decoded == *hello => Ok(bytes),
        Err(Fault::Misbehaved(reason)) => Err(Fault::Misuse(reason.into())),
        _ => Err(Fault::Misuse("handshake: a name, a value or the list is too long".into())),
    }
}

const fn field_len(name: &str, value: usize) -> usize {
    1 + name.len() + 2 + value
}

fn put_short(bytes: &mut Vec<u8>, text: &str) {
    bytes.push(text.len() as u8);
    bytes.extend_from_slice(text.as_bytes());
}

/// Decodes a hello.
///
/// # Errors
/// `Policy` for another protocol version; `Misbehaved` for anything that [`encode_hello`] cannot have
/// made: there is one encoding of each hello.
pub fn decode_hello(bytes: &[u8]) -> Result<Hello, Fault> {
    if bytes.len() > MAX_HELLO {
        return Err(Fault::Misbehaved("handshake: hello too long"));
    }
    let mut rest = bytes;
    let version = take_array::<1>(&mut rest)?[0];
    if version != PROTOCOL_VERSION {
        return Err(Fault::Policy(format!(
            "protocol version: here {PROTOCOL_VERSION}, the peer has {version}; \
             use the same release on both sides"
        )));
    }
    let kind = take_name(&mut rest)?;
    let role = match take_array(&mut rest)? {
        [0] => Role::Garbler,
        [1] => Role::Evaluator,
        _ => return Err(Fault::Misbehaved("handshake: no such role")),
    };
    let nonce = take_array(&mut rest)?;
    let count = usize::from(take_array::<1>(&mut rest)?[0]);
    if count > MAX_FIELDS {
        return Err(Fault::Misbehaved("handshake: too many fields"));
    }
    let mut fields: Vec<(String, Vec<u8>)> = Vec::with_capacity(count);
    for _ in 0..count {
        let name = take_name(&mut rest)?;
        let len = usize::from(u16::from_le_bytes(take_array(&mut rest)?));
        if len > MAX_VALUE {
            return Err(Fault::Misbehaved("handshake: value too long"));
        }
        if fields.iter().any(|(other, _)| *other == name) {
            return Err(Fault::Misbehaved("handshake: field named twice"));
        }
        fields.push((name, take(&mut rest, len)?.to_vec()));
    }
    if !rest.is_empty() {
        return Err(Fault::Misbehaved("handshake: bytes after the end"));
    }
    Ok(Hello { kind, role, nonce, fields })
}

fn take<'a>(rest: &mut &'a [u8], len: usize) -> Result<&'a [u8], Fault> {
    let (taken, left) =
        rest.split_at_checked(len).ok_or(Fault::Misbehaved("handshake: hello cut short"))?;
    *rest = left;
    Ok(taken)
}

fn take_array<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], Fault> {
    let (taken, left) =
        rest.split_first_chunk().ok_or(Fault::Misbehaved("handshake: hello cut short"))?;
    *rest = left;
    Ok(*taken)
}

fn take_name(rest: &mut &[u8]) -> Result<String, Fault> {
    let len = usize::from(take_array::<1>(rest)?[0]);
    let name = take(rest, len)?;
    if name.is_empty() || len > MAX_NAME || !is_plain(name) {
        return Err(Fault::Misbehaved("handshake: bad name"));
    }
    Ok(name.iter().copied().map(char::from).collect())
}

fn is_plain(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| matches!(byte, b' '..=b'~'))
}

fn compare(ours: &Hello, theirs: &Hello, remedies: &[(String, String)]) -> Result<(), Fault> {
    let (mut differences, mut advice) = (Vec::new(), String::new());
    let mut note = |name: &str, here: &str, there: &str| {
        differences.push(format!("{name}: here {here}, the peer has {there}"));
        for (_, remedy) in remedies.iter().filter(|(field, _)| field == name) {
            advice.push_str("; ");
            advice.push_str(remedy);
        }
    };
    if ours.kind != theirs.kind {
        note("kind", &show(ours.kind.as_bytes()), &show(theirs.kind.as_bytes()));
    }
    if ours.role == theirs.role {
        note("role", ours.role.name(), theirs.role.name());
    }
    let value = |hello: &Hello, name: &str| {
        hello.fields.iter().find(|(other, _)| other == name).map(|(_, value)| value.clone())
    };
    let only_theirs = theirs.fields.iter().filter(|(name, _)| value(ours, name).is_none());
    for (name, _) in ours.fields.iter().chain(only_theirs) {
        if name == CHANNEL {
            continue;
        }
        let (here, there) = (value(ours, name), value(theirs, name));
        if here != there {
            let text =
                |value: Option<Vec<u8>>| value.map_or("nothing".into(), |value| show(&value));
            note(name, &text(here), &text(there));
        }
    }
    // Last, because it also depends on the roles and says nothing to a person.
    if differences.is_empty() && value(ours, CHANNEL) != value(theirs, CHANNEL) {
        return Err(Fault::Policy(RELAYED.into()));
    }
    // The order is part of the hello, though no honest release can differ in it alone.
    let order =
        |hello: &Hello| hello.fields.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    if differences.is_empty() && order(ours) != order(theirs) {
        return Err(Fault::Misbehaved("handshake: fields in another order"));
    }
    if differences.is_empty() {
        return Ok(());
    }
    let more = differences.len().saturating_sub(SHOWN_DIFFERENCES);
    differences.truncate(SHOWN_DIFFERENCES);
    let mut text = differences.join("; ");
    if more > 0 {
        text.push_str(&format!("; and {more} more"));
    }
    text.push_str(&advice);
    Err(Fault::Policy(text))
}

/// A value for a message to people: text as it is, anything else in hex, cut to a bounded length.
fn show(value: &[u8]) -> String {
    let mut text: String = if is_plain(value) {
        value.iter().copied().map(char::from).collect()
    } else {
        value.iter().map(|byte| format!("{byte:02x}")).collect()
    };
    if text.len() > SHOWN_CHARS {
        text.truncate(SHOWN_CHARS);
        text.push_str("...");
    }
    format!("\"{text}\"")
}

#[cfg(test)]
mod tests {
    use zeroize::Zeroizing;

    use super::*;
    use crate::binding::Binding;
    use crate::{Fingerprint, mem_pair};

    fn binding(exported: u8, own: u8, peer: u8) -> Option<Binding> {
        let exported = Zeroizing::new([exported; 32]);
        Some(Binding { exported, own: Fingerprint([own; 32]), peer: Fingerprint([peer; 32]) })
    }

    /// Lets garbler and evaluator meet over channels that are bound like this.
    fn meet(garbler: Option<Binding>, evaluator: Option<Binding>) -> [Result<Agreed, Fault>; 2] {
        let (mut a, mut b) = mem_pair();
        (a.binding, b.binding) = (garbler, evaluator);
        let list = Handshake::new("job").field("program", "p");
        std::thread::scope(|scope| {
            let a = scope.spawn(|| list.run(&mut a, Role::Garbler, [1; 32]));
            let b = list.run(&mut b, Role::Evaluator, [2; 32]);
            [a.join().expect("thread"), b]
        })
    }

    #[test]
    fn a_run_is_of_the_two_ends_of_one_connection() {
        let id = |garbler, evaluator| match meet(garbler, evaluator) {
            [Ok(a), Ok(b)] if a.session_id == b.session_id => a.session_id,
            other => panic!("no agreement: {other:?}"),
        };
        let honest = id(binding(1, 2, 3), binding(1, 3, 2));
        for other in [
            id(None, None),
            id(binding(9, 2, 3), binding(9, 3, 2)),
            id(binding(1, 9, 3), binding(1, 3, 9)),
            id(binding(1, 2, 9), binding(1, 9, 2)),
        ] {
            assert_ne!(other, honest);
        }
    }

    #[test]
    fn the_length_of_a_hello_is_known_before_it_is_sent() {
        let list = Handshake::new("job").field("program", "p").field("empty", "");
        for (bound, less) in [(true, 0), (false, BOUND_LEN)] {
            let (mut a, mut b) = mem_pair();
            if bound {
                (a.binding, b.binding) = (binding(1, 2, 3), binding(1, 3, 2));
            }
            std::thread::scope(|scope| {
                scope.spawn(|| list.run(&mut b, Role::Evaluator, [2; 32]).expect("alike"));
                list.run(&mut a, Role::Garbler, [1; 32]).expect("alike");
            });
            let sent = a.counters().total().bytes_sent as usize;
            assert_eq!(sent, crate::frame::HEADER_LEN + list.encoded_len() - less);
        }
    }

    #[test]
    fn ends_of_two_connections_are_refused() {
        for (garbler, evaluator) in [
            (binding(1, 2, 3), binding(9, 3, 2)),
            // What TLS exports is the same: either certificate alone is another.
            (binding(1, 9, 3), binding(1, 3, 2)),
            (binding(1, 2, 9), binding(1, 3, 2)),
            (binding(1, 2, 3), binding(1, 2, 3)),
            (binding(1, 2, 3), None),
            (None, binding(1, 3, 2)),
        ] {
            for outcome in meet(garbler, evaluator) {
                assert_eq!(outcome, Err(Fault::Policy(RELAYED.into())));
            }
        }
    }

    #[test]
    fn equal_roles_are_named_over_tls_too() {
        let (mut a, mut b) = mem_pair();
        (a.binding, b.binding) = (binding(1, 2, 3), binding(1, 3, 2));
        let list = Handshake::new("job");
        std::thread::scope(|scope| {
            let other = scope.spawn(|| list.run(&mut b, Role::Garbler, [2; 32]));
            for outcome in [list.run(&mut a, Role::Garbler, [1; 32]), other.join().expect("thread")]
            {
                let text = "role: here garbler, the peer has garbler";
                assert_eq!(outcome, Err(Fault::Policy(text.into())));
            }
        });
    }

    #[test]
    fn hellos_reach_their_limits_and_go_no_further() {
        let ends = |fields: Vec<(String, Vec<u8>)>| {
            let (kind, role, nonce) = ("job".into(), Role::Garbler, [0; 32]);
            let bytes = encode_hello(&Hello { kind, role, nonce, fields })?;
            decode_hello(&bytes).map(|hello| (hello.fields.len(), bytes.len()))
        };
        let refused = |what: &str| Err(Fault::Misuse(format!("handshake: {what}")));
        let list = |count: usize| (0..count).map(|i| (i.to_string(), Vec::new())).collect();
        assert!(ends(list(64)).is_ok_and(|(fields, _)| fields == 64));
        assert_eq!(ends(list(65)), refused("too many fields"));
        let one = |name: usize, value: usize| vec![("n".repeat(name), vec![0; value])];
        assert!(ends(one(64, 1024)).is_ok());
        for name in ["n".repeat(65), String::new(), "new\nline".into(), "café".into()] {
            assert_eq!(ends(vec![(name, Vec::new())]), refused("bad name"));
        }
        assert_eq!(ends(one(1, 1025)), refused("value too long"));
        let whole = |last: usize| {
            let full = (10..41).map(|i| (i.to_string(), vec![0; 1024]));
            full.chain([("last".into(), vec![0; last])]).collect::<Vec<_>>()
        };
        let (_, least) = ends(whole(0)).expect("fits");
        assert_eq!(ends(whole(MAX_HELLO - least)), Ok((32, MAX_HELLO)));
        assert_eq!(ends(whole(MAX_HELLO - least + 1)), refused("hello too long"));
        // A length that comes round: the name would be read as `a`, and what follows as a value.
        let round = vec![(format!("a\0\x01{}", "x".repeat(254)), Vec::new())];
        assert_eq!(ends(round), refused("a name, a value or the list is too long"));
    }

    #[test]
    fn values_are_shown_whole_up_to_64_characters() {
        let (text, hex) = ("x".repeat(64), "c8".repeat(32));
        for (value, shown) in [
            (vec![b'x'; 64], format!("\"{text}\"")),
            (vec![b'x'; 65], format!("\"{text}...\"")),
            (vec![200; 32], format!("\"{hex}\"")),
            (vec![200; 33], format!("\"{hex}...\"")),
        ] {
            assert_eq!(show(&value), shown);
        }
    }

    #[test]
    fn the_session_id_depends_on_the_binding_itself() {
        // The hellos say no more than what the peer wants to be heard.
        let ids = [None, Some([0; 32]), Some([1; 32])].map(|it| session_id([b"a", b"b"], it));
        assert!(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2]);
    }
}
