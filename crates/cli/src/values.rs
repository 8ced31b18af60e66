//! Values given on the command line: hexadecimal numbers, their owners, and files that hold them.

use std::fs;
use std::io::Read;

use cenote_circuit::{HexError, InputPort, Owner, Receiver, Signature, value_from_hex};
use cenote_engine::{Receivers, Role};

use crate::exit::Failure;

/// Most bytes of a value file: as many digits as the largest port takes, and a line end.
const MAX_VALUE_FILE: u64 = 4 << 20;

/// A value and, where it was named, its owner. Values are secrets: `Debug` does not show them.
#[derive(Clone)]
pub(crate) struct Owned {
    pub(crate) owner: Option<Role>,
    pub(crate) text: String,
}

impl Owned {
    /// `garbler=HEX`, `evaluator=HEX` or `HEX`.
    pub(crate) fn parse(text: &str) -> Result<Owned, String> {
        let (owner, value) = match text.split_once('=') {
            None => (None, text),
            Some(("garbler", value)) => (Some(Role::Garbler), value),
            Some(("evaluator", value)) => (Some(Role::Evaluator), value),
            Some(_) => return Err("write garbler=HEX, evaluator=HEX or HEX".to_owned()),
        };
        Ok(Owned { owner, text: value.to_owned() })
    }
}

impl std::fmt::Debug for Owned {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Owned").field("owner", &self.owner).finish_non_exhaustive()
    }
}

/// The digits themselves, or those in the file that `@FILE` names.
pub(crate) fn digits(text: &str) -> Result<String, Failure> {
    let Some(name) = text.strip_prefix('@') else { return Ok(text.to_owned()) };
    let failed = |what: String| {
        Failure::bad_input(format!("{name}: {what}; give a file with one hexadecimal number"))
    };
    let file = fs::File::open(name).map_err(|error| failed(error.to_string()))?;
    let mut content = String::new();
    let read = file.take(MAX_VALUE_FILE + 1).read_to_string(&mut content);
    match read {
        Ok(n) if n as u64 > MAX_VALUE_FILE => Err(failed("the file is too long".to_owned())),
        Ok(_) => Ok(content.trim().to_owned()),
        Err(error) => Err(failed(error.to_string())),
    }
}

/// The bits of one value for one port.
pub(crate) fn bits(port: &InputPort, text: &str) -> Result<Vec<bool>, Failure> {
    value_from_hex(&port.name, port.bits, &digits(text)?).map_err(|error| {
        let remedy = match error {
            HexError::Digit { .. } => "; use 0 to 9 and a to f",
            _ => "",
        };
        Failure::bad_input(format!("--input: {error}{remedy}"))
    })
}

/// One value for each of `ports`, in order.
pub(crate) fn all_bits<'p>(
    ports: impl ExactSizeIterator<Item = &'p InputPort>,
    texts: &[String],
    who: &str,
) -> Result<Vec<Vec<bool>>, Failure> {
    if ports.len() != texts.len() {
        let (takes, given) = (ports.len(), texts.len());
        return Err(Failure::bad_input(format!(
            "{who} takes {takes} values, {given} were given; repeat --input once for each port"
        )));
    }
    ports.zip(texts).map(|(port, text)| bits(port, text)).collect()
}

/// The signature with the owners that the request names; those of the file stand.
pub(crate) fn with_owners(
    mut signature: Signature,
    owners: &[Option<Role>],
) -> Result<Signature, Failure> {
    if owners.len() != signature.inputs.len() {
        let (ports, given) = (signature.inputs.len(), owners.len());
        return Err(Failure::bad_input(format!(
            "the circuit has {ports} input ports and {given} were given; give one for each, in port order"
        )));
    }
    for (port, owner) in signature.inputs.iter_mut().zip(owners) {
        let owner = owner.map(|role| match role {
            Role::Garbler => Owner::Garbler,
            Role::Evaluator => Owner::Evaluator,
        });
        if port.owner.is_some() && owner.is_some() && port.owner != owner {
            return Err(Failure::bad_input(format!(
                "the ports file gives `{}` to the other party; correct the file or the owner",
                port.name
            )));
        }
        port.owner = port.owner.or(owner);
    }
    // Ports that are still free take turns; from here on everybody sees the same owners.
    let owners = signature.owners();
    for (port, owner) in signature.inputs.iter_mut().zip(owners) {
        port.owner = Some(owner);
    }
    Ok(signature)
}

/// Who receives outputs whose port names nobody. A request that contradicts the ports file is bad
/// input: who learns what must not be a surprise.
pub(crate) fn receivers(
    signature: &Signature,
    asked: Option<Receivers>,
) -> Result<Receivers, Failure> {
    let named = |receiver| match receiver {
        Receiver::Garbler => Receivers::Garbler,
        Receiver::Evaluator => Receivers::Evaluator,
        Receiver::Both => Receivers::Both,
    };
    let mut free = false;
    for port in &signature.outputs {
        match (port.receiver.map(named), asked) {
            (None, _) => free = true,
            (Some(named), Some(asked)) if named != asked => {
                return Err(Failure::bad_input(format!(
                    "--reveal-to {}: the ports file gives `{}` to {}; correct the file or the option",
                    asked.name(),
                    port.name,
                    named.name(),
                )));
            }
            _ => {}
        }
    }
    // Where every port names its receiver, both sides say the same whether or not they repeat it.
    Ok(asked.filter(|_| free).unwrap_or(Receivers::Both))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signature() -> Signature {
        Signature::new().input("a", 1, None).input("b", 1, None).input("c", 1, None)
    }

    #[test]
    fn named_owners_stand_and_the_rest_takes_turns() {
        let named = [None, Some(Role::Garbler), None];
        let owners = with_owners(signature(), &named).map(|s| s.owners()).expect("three ports");
        assert_eq!(owners, [Owner::Garbler, Owner::Garbler, Owner::Evaluator]);
        assert!(with_owners(signature(), &named[..2]).is_err());
    }

    #[test]
    fn a_ports_file_wins_or_the_request_is_refused() {
        let fixed = Signature::new().input("a", 1, Some(Owner::Evaluator));
        let same = with_owners(fixed.clone(), &[Some(Role::Evaluator)]).expect("the same owner");
        assert_eq!(same, fixed);
        assert!(with_owners(fixed, &[Some(Role::Garbler)]).is_err());
    }

    #[test]
    fn values_are_not_shown() {
        let value = Owned::parse("evaluator=c0ffee").expect("well formed");
        assert_eq!((value.owner, value.text.as_str()), (Some(Role::Evaluator), "c0ffee"));
        assert!(!format!("{value:?}").contains("c0ffee"));
        assert!(Owned::parse("nobody=1").is_err());
    }
}
