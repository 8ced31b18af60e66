//! What a connection is for, where one port serves several: the first frame of whoever called.
//!
//! It is a hello of kind `route`, so that anything else that speaks first is told from a peer as anywhere. It grants nothing: the
//! handshake that follows binds session, number and purpose on both sides.
//!
//! **Checks.** `net.route`: a hello of this kind, with this field alone \[decoding\].

use crate::{Channel, Fault, Hello, Role, Tag, decode_hello, encode_hello};

const KIND: &str = "route";
const TO: &str = "to";
/// Longest name of a purpose.
pub const MAX_ROUTE: usize = 64;
/// Most bytes of the frame: version, kind, role, nonce, one field.
const MOST: usize = 64 + MAX_ROUTE + 64;

/// Says what this connection is for. The caller says it first of all, and at once.
///
/// # Errors
/// `Misuse` for a name that is too long; faults of the channel.
pub fn send_route(channel: &mut Channel, role: Role, to: &str) -> Result<(), Fault> {
    if to.len() > MAX_ROUTE {
        return Err(Fault::Misuse("the name of a route is too long".into()));
    }
    let fields = vec![(TO.to_owned(), to.as_bytes().to_vec())];
    let hello = Hello { kind: KIND.to_owned(), role, nonce: [0; 32], fields };
    channel.send_frame(Tag::HELLO, &encode_hello(&hello)?)?;
    channel.flush()
}

/// Reads what a connection is for.
///
/// # Errors
/// `Misbehaved` for anything else; `Policy` for another version; faults of the channel.
pub fn recv_route(channel: &mut Channel) -> Result<String, Fault> {
    let bytes = channel.recv_frame_bounded(Tag::HELLO, MOST)?;
    let hello = decode_hello(&bytes)?;
    let other = Fault::Misbehaved("net.route");
    match (hello.kind.as_str(), &*hello.fields) {
        (KIND, [(name, to)]) if name == TO && to.len() <= MAX_ROUTE => {
            String::from_utf8(to.clone()).map_err(|_| other)
        }
        _ => Err(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Handshake, mem_pair};

    #[test]
    fn a_route_comes_first_and_a_handshake_follows() {
        let (mut a, mut b) = mem_pair();
        send_route(&mut a, Role::Garbler, "lane.small").unwrap();
        assert_eq!(recv_route(&mut b).unwrap(), "lane.small");
        let other = std::thread::spawn(move || {
            Handshake::new("session")
                .run(&mut b, Role::Evaluator, [1; 32])
                .map(|agreed| agreed.session_id)
        });
        let own = Handshake::new("session").run(&mut a, Role::Garbler, [2; 32]).unwrap();
        assert_eq!(own.session_id, other.join().unwrap().unwrap());
    }

    #[test]
    fn another_hello_is_no_route() {
        let (mut a, mut b) = mem_pair();
        let other = std::thread::spawn(move || {
            let agreed =
                Handshake::new("session").field("to", "x").run(&mut a, Role::Garbler, [1; 32]);
            assert!(agreed.is_err());
        });
        assert_eq!(recv_route(&mut b), Err(Fault::Misbehaved("net.route")));
        drop(b);
        other.join().unwrap();
        let (mut a, _b) = mem_pair();
        assert!(matches!(
            send_route(&mut a, Role::Garbler, &"x".repeat(65)),
            Err(Fault::Misuse(_))
        ));
    }
}
