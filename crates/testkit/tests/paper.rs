//! The interface of the POOL paper, figure 3, on the program of figure 4 and on a memory.

use cenote_circuit::formats::parse_any;
use cenote_circuit::{Gates, bits_of, value_of};
use cenote_engine::{Backend, Fault, Job, Party, Role, paper};
use cenote_testkit::run::{roomy, sessions, smallest};

const BACKENDS: [Backend; 3] = [Backend::Plain, Backend::Wrk, Backend::Jimu];

// Common application code.

fn mux<G: Gates>(g: &mut G, x: &G::Wire, y: &G::Wire, c: &G::Wire) -> Result<G::Wire, G::Error> {
    let differs = g.xor(x, y)?;
    let turned = g.and(c, &differs)?;
    g.xor(&turned, y)
}

fn mux8<G: Gates>(g: &mut G, ws: &[G::Wire]) -> Result<Vec<G::Wire>, G::Error> {
    let (x, y, c) = (&ws[..8], &ws[8..16], &ws[16]);
    (0..8).map(|i| mux(g, &x[i], &y[i], c)).collect()
}

/// The same as a circuit file: 17 inputs, and three gates for each bit.
fn mux8_shdl() -> String {
    let mut text: String = (0..17).map(|wire| format!("{wire} input\n")).collect();
    for i in 0..8 {
        let (y, differs, turned) = (8 + i, 17 + 3 * i, 18 + 3 * i);
        text += &format!("{differs} gate arity 2 table [ 0 1 1 0 ] inputs [ {i} {y} ]\n");
        text += &format!("{turned} gate arity 2 table [ 0 0 0 1 ] inputs [ 16 {differs} ]\n");
        let chosen = turned + 1;
        text +=
            &format!("{chosen} output gate arity 2 table [ 0 1 1 0 ] inputs [ {turned} {y} ]\n");
    }
    text
}

/// Both main functions: `Some` of the own bits.
struct Figure4 {
    role: Role,
    input_a: u128,
    from_file: bool,
}

impl Job for Figure4 {
    type Output = Option<u128>;

    fn terms(&self) -> Vec<(&'static str, String)> {
        vec![("program", "figure 4".into())]
    }

    fn run<P: Party>(&self, party: &mut P) -> Result<Option<u128>, Fault> {
        let own = |owner, bits| (self.role == owner).then_some(bits);
        let a = own(Role::Garbler, bits_of(self.input_a, 9));
        let b = own(Role::Evaluator, bits_of(0xbb, 8));
        let mut party = paper::Party(party);
        let mut ws = party.garbler_in(a.as_ref().map(|bits| &bits[..8]), 8)?;
        ws.extend(party.evaluator_in(b.as_deref(), 8)?);
        ws.extend(party.garbler_in(a.as_ref().map(|bits| &bits[8..]), 1)?);
        let os = if self.from_file {
            let circuit = parse_any("mux8.shdl", mux8_shdl().as_bytes());
            let circuit = circuit.map_err(|error| Fault::Misuse(error.to_string()))?;
            assert!(matches!(party.exec_file(&circuit, &ws[1..]), Err(Fault::Misuse(_))));
            party.exec_file(&circuit, &ws)?
        } else {
            party.exec(mux8, &ws)?
        };
        Ok(party.evaluator_out(&os)?.map(|bits| value_of(&bits)))
    }
}

#[test]
fn figure_4_selects() {
    for backend in BACKENDS {
        // The ninth bit chooses, and the evaluator alone learns.
        for (input_a, from_file, selected) in [
            (0x01aa, false, 0xaa),
            (0x00aa, false, 0xbb),
            (0x01aa, true, 0xaa),
            (0x00aa, true, 0xbb),
        ] {
            let outputs = sessions(&smallest(backend), 4, |session, role| {
                let job = Figure4 { role, input_a, from_file };
                session.run(&job).map(|outcome| outcome.output)
            });
            assert_eq!(outputs, (Ok(None), Ok(Some(selected))), "{backend:?} {input_a:#x}");
        }
    }
}

/// Two accesses to a memory that begins with zeros.
struct Accesses(Role, u128);

impl Job for Accesses {
    type Output = Option<Vec<u128>>;

    fn terms(&self) -> Vec<(&'static str, String)> {
        vec![("program", "accesses".into())]
    }

    fn run<P: Party>(&self, party: &mut P) -> Result<Self::Output, Fault> {
        let own = |owner, bits| (self.0 == owner).then_some(bits);
        let data = own(Role::Garbler, bits_of(11, 4));
        let rest = own(Role::Evaluator, bits_of(self.1, 5));
        let mut party = paper::Party(party);
        let data = party.garbler_in(data.as_deref(), 4)?;
        let rest = party.evaluator_in(rest.as_deref(), 5)?;
        let (place, write) = rest.split_at(3);
        let mut memory = party.init_ram(5, 4)?;
        let mut read = party.access_ram(&mut memory, &write[0], place, &data)?;
        let other = party.xor(&data[0], &read[0])?;
        read.extend(party.access_ram(
            &mut memory,
            &write[1],
            place,
            &[&[other], &data[1..]].concat(),
        )?);
        read.push(party.and(&write[0], &write[1])?);
        let bits = party.garbler_out(&read)?;
        Ok(bits.map(|bits| vec![value_of(&bits[..4]), value_of(&bits[4..8]), value_of(&bits[8..])]))
    }
}

#[test]
fn a_memory_gives_what_was_written() {
    for backend in BACKENDS {
        let found = sessions(&roomy(backend), 5, |session, role| {
            let runs =
                [0, 2, 4, 5].into_iter().flat_map(|place| (0..4).map(move |w| place | w << 3));
            runs.map(|given| session.run(&Accesses(role, given)).map(|outcome| outcome.output))
                .collect::<Result<Vec<_>, Fault>>()
        });
        let expected = [0, 2, 4, 5].into_iter().flat_map(|place| {
            // Beyond the end nothing is written.
            (0..4).map(move |w| {
                let written = if w & 1 == 1 && place < 5 { 11 } else { 0 };
                Some(vec![0, written, u128::from(w == 3)])
            })
        });
        assert_eq!(found, (Ok(expected.collect()), Ok(vec![None; 16])), "{backend:?}");
    }
}
