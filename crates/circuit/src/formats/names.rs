//! The names of bits and of the ports that they make.

use std::collections::{HashMap, HashSet};

/// A port: which of the file's inputs or outputs are its bits, least significant first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Group<P> {
    pub(super) name: String,
    pub(super) bits: Vec<u32>,
    pub(super) party: Option<P>,
}

/// Ports from the names of bits.
///
/// `name[3]`, `name<3>` and `name_3` are bit 3 of the port `name`, if the numbers of its bits are
/// without gaps and repetitions, all are written alike, no bit has the name itself, and, for
/// `name_3`, they are two or more and start at 0. Any other name is a port of one bit. A port stands
/// where its first bit stands.
pub(super) fn group<P>(names: &[&str]) -> Vec<Group<P>> {
    let mut bases: HashMap<&str, Vec<(Suffix, u32)>> = HashMap::new();
    for (at, name) in names.iter().enumerate() {
        if let Some((base, suffix)) = suffix(name) {
            bases.entry(base).or_default().push((suffix, at as u32));
        }
    }
    let whole: HashSet<&str> = names.iter().copied().collect();
    bases.retain(|base, bits| !whole.contains(base) && without_gaps(bits));
    let mut groups = Vec::new();
    for (at, name) in names.iter().enumerate() {
        let base = suffix(name).map(|(base, _)| base).filter(|base| bases.contains_key(base));
        let Some(base) = base else {
            groups.push(Group { name: (*name).to_owned(), bits: vec![at as u32], party: None });
            continue;
        };
        // Taken at the first bit, empty at the others.
        let bits = bases.get_mut(base).map(std::mem::take).unwrap_or_default();
        if !bits.is_empty() {
            let bits = bits.into_iter().map(|(_, at)| at).collect();
            groups.push(Group { name: base.to_owned(), bits, party: None });
        }
    }
    groups
}

/// How a bit is written, and its number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Suffix {
    style: char,
    number: u32,
}

fn suffix(name: &str) -> Option<(&str, Suffix)> {
    let (base, style, digits) = match name.as_bytes().last()? {
        b']' => name[..name.len() - 1].rsplit_once('[').map(|(base, n)| (base, '[', n))?,
        b'>' => name[..name.len() - 1].rsplit_once('<').map(|(base, n)| (base, '<', n))?,
        _ => name.rsplit_once('_').map(|(base, n)| (base, '_', n))?,
    };
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit())
        && (digits == "0" || !digits.starts_with('0'));
    let number = digits.parse().ok().filter(|_| plain && !base.is_empty())?;
    Some((base, Suffix { style, number }))
}

/// Sorts the bits of a port; whether they make one.
fn without_gaps(bits: &mut [(Suffix, u32)]) -> bool {
    bits.sort_unstable();
    let steps = bits.windows(2).all(|pair| {
        let (a, b) = (pair[0].0, pair[1].0);
        a.style == b.style && a.number.checked_add(1) == Some(b.number)
    });
    steps
        && bits
            .first()
            .is_some_and(|(first, _)| first.style != '_' || (first.number == 0 && bits.len() >= 2))
}

/// All bits of a file without names as one port.
pub(super) fn unnamed<P>(name: &str, bits: usize) -> Vec<Group<P>> {
    let bits: Vec<u32> = (0..bits as u32).collect();
    if bits.is_empty() { Vec::new() } else { vec![Group { name: name.into(), bits, party: None }] }
}

/// Names for the bits of ports, given with their widths, that [`group`] makes the same ports of, in
/// this order. Ports whose names cannot be written so are called `KIND0`, `KIND1`, ...
pub(super) fn bit_names(kind: &str, ports: &[(&str, usize)]) -> Vec<String> {
    let plain = |(name, bits): &(&str, usize)| match bits {
        1 => vec![clean(name)],
        _ => numbered(&clean(name), *bits),
    };
    let always = |(name, bits): &(&str, usize)| numbered(&clean(name), *bits);
    let names: Vec<String> = ports.iter().flat_map(plain).collect();
    if keeps(&names, ports) {
        return names;
    }
    let names: Vec<String> = ports.iter().flat_map(always).collect();
    if keeps(&names, ports) {
        return names;
    }
    generic_names(kind, ports)
}

/// Names that say nothing but which port a bit belongs to.
pub(super) fn generic_names(kind: &str, ports: &[(&str, usize)]) -> Vec<String> {
    let ports = ports.iter().enumerate();
    ports.flat_map(|(i, (_, bits))| numbered(&format!("{kind}{i}"), *bits)).collect()
}

fn numbered(name: &str, bits: usize) -> Vec<String> {
    (0..bits).map(|bit| format!("{name}[{bit}]")).collect()
}

/// Turns a name into one that all formats take.
fn clean(name: &str) -> String {
    let taken = |c: char| c.is_ascii_graphic() && !matches!(c, '#' | '\\' | '=' | '"');
    name.chars().map(|c| if taken(c) { c } else { '_' }).collect()
}

/// Whether bits with these names are read as these ports.
fn keeps(names: &[String], ports: &[(&str, usize)]) -> bool {
    let words: Vec<&str> = names.iter().map(String::as_str).collect();
    let groups = group::<()>(&words);
    let widths = ports.iter().map(|(_, bits)| *bits).filter(|bits| *bits > 0);
    let distinct: HashSet<&str> = words.iter().copied().collect();
    distinct.len() == words.len()
        && words.iter().all(|word| !word.starts_with('.'))
        && groups.iter().map(|group| group.bits.len()).eq(widths)
        && groups.iter().flat_map(|group| &group.bits).copied().eq(0..words.len() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::Role;

    fn grouped(names: &[&str]) -> Vec<(String, Vec<u32>)> {
        group::<Role>(names).into_iter().map(|group| (group.name, group.bits)).collect()
    }

    fn ports(names: &[&str]) -> String {
        let groups = grouped(names);
        let shown = groups.iter().map(|(name, bits)| {
            let bits: Vec<String> = bits.iter().map(u32::to_string).collect();
            format!("{name}={}", bits.join(","))
        });
        shown.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn bits_become_ports_least_significant_first() {
        assert_eq!(
            ports(&["a[1]", "b", "a[0]", "c_0", "c_1"]),
            "a=0,2 b=1 c=3,4".replace("a=0,2", "a=2,0")
        );
        assert_eq!(ports(&["in[4]", "in[5]", "x<1>", "x<0>"]), "in=0,1 x=3,2");
        assert_eq!(ports(&["m[0][0]", "m[0][1]", "m[1][0]"]), "m[0]=0,1 m[1]=2");
        assert_eq!(ports(&["one[0]"]), "one=0");
        assert_eq!(ports(&[]), "");
    }

    #[test]
    fn names_that_make_no_port_stay() {
        for names in [
            &["a[0]", "a[2]"][..],
            &["a[0]", "a"],
            &["a[0]", "a<1>"],
            &["a[0]", "a_1"],
            &["a[01]"],
            &["a[-1]"],
            &["a[x]"],
            &["[0]"],
            &["a_0"],
            &["a_1", "a_2"],
            &["a[99999999999]"],
            &["a_1", "a_1[0]"],
        ] {
            let expected: Vec<String> =
                names.iter().enumerate().map(|(i, name)| format!("{name}={i}")).collect();
            assert_eq!(ports(names), expected.join(" "));
        }
    }

    #[test]
    fn written_names_are_read_as_the_same_ports() {
        for ports in [
            &[("a", 3), ("b", 1), ("c[0]", 1)][..],
            &[("x_1", 1), ("x_0", 1)],
            &[("a", 2), ("a[0]", 1)],
            &[("Total # employees: ", 4), ("Total   employees: ", 4)],
            &[(".names", 1), ("", 2), ("empty", 0)],
        ] {
            let names = bit_names("in", ports);
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let groups = grouped(&names);
            let widths: Vec<usize> = groups.iter().map(|(_, bits)| bits.len()).collect();
            let expected: Vec<usize> =
                ports.iter().map(|(_, bits)| *bits).filter(|bits| *bits > 0).collect();
            assert_eq!(widths, expected, "{names:?}");
            let order: Vec<u32> = groups.into_iter().flat_map(|(_, bits)| bits).collect();
            assert_eq!(order, (0..names.len() as u32).collect::<Vec<_>>(), "{names:?}");
        }
    }
}
