//! Which statements of a module are worth a circuit: those that the gate-level optimiser makes smaller by
//! more than their gates weigh in the file. `docs/optimiser.md` states the rules.

use std::collections::{BTreeSet, HashMap, HashSet};

use cenote_circuit::optimise::{self, Options, PassReport, Report};
use cenote_circuit::{Circuit, Receivers, Role};

use crate::binary::circuit_bytes;
use crate::builder::{Builder, plain_circuit};
use crate::error::BuildError;
use crate::module::{Code, Module};
use crate::op::{Constant, FunctionId, Op, Statement, ValueId, WordOp};
use crate::shape::{Kind, Shape};
use crate::stats::Stats;

/// The pass that makes gates of words.
pub(crate) const RECORDED: &str = "recorded";

/// Bytes that a module may grow by; a larger one may double.
const GROWTH: usize = 1 << 16;
/// Bytes for each AND that is saved, at most: about what one takes on the line, in every run.
const BYTES_PER_AND: u64 = 256;
/// One AND of so many is saved at least, as a circuit runs gate by gate.
const WORTH: u64 = 100;
/// Gates of a circuit at most.
const MAX_GATES: u64 = 1 << 17;
/// Gates of all circuits that are tried for one module: it may be untrusted.
const MAX_WORK: u64 = 1 << 24;
/// The cost of building a statement of a piece, in gates.
const STATEMENT: u64 = 64;
/// Statements that are tried together.
const TOGETHER: usize = 64;

/// Statements of a block, one after the other, that depend on their operands alone.
pub(crate) struct Stretch<'m> {
    /// In the order in which a module is read.
    pub(crate) number: usize,
    pub(crate) module: &'m Module,
    pub(crate) shapes: &'m [Shape],
    pub(crate) statements: &'m [Statement],
    /// Those of its operands and results that both parties know.
    pub(crate) public: HashSet<ValueId>,
    /// Those of its operands and results that are constants.
    pub(crate) constants: HashMap<ValueId, Constant>,
    /// How often it runs.
    pub(crate) times: u64,
}

/// Statements of a stretch that become a call of a circuit.
pub(crate) struct Piece {
    pub(crate) stretch: usize,
    /// Positions in the stretch, rising.
    pub(crate) items: Vec<usize>,
    pub(crate) params: Vec<ValueId>,
    pub(crate) results: Vec<ValueId>,
    /// If it works lane by lane on so many lanes, the circuit is that of one.
    pub(crate) lanes: Option<u32>,
    pub(crate) circuit: Circuit,
    /// The key that pieces with the same circuit have in common.
    pub(crate) key: Vec<u8>,
    /// How often the circuit runs.
    pub(crate) times: u64,
    pub(crate) before: [u64; 2],
    pub(crate) report: Report,
    gain: u64,
}

impl Piece {
    /// ANDs that go, as often as it runs.
    pub(crate) fn saved(&self) -> u64 {
        let (start, end) = (self.report.start(), self.report.end());
        self.times.saturating_mul(start.ands.saturating_sub(end.ands))
    }
}

/// Finds pieces stretch by stretch.
pub(crate) struct Planner<'o> {
    options: &'o Options,
    /// Bytes that the module may grow by.
    room: usize,
    work: u64,
    found: Vec<Piece>,
}

impl<'o> Planner<'o> {
    pub(crate) fn new(options: &'o Options, module_bytes: usize) -> Planner<'o> {
        let room = module_bytes.max(GROWTH);
        Planner { options, room, work: MAX_WORK, found: Vec::new() }
    }

    /// Looks for pieces of a stretch.
    pub(crate) fn stretch(&mut self, stretch: &Stretch<'_>) {
        let view = View::new(stretch);
        for items in view.items.chunks(TOGETHER) {
            let pieces = self.pieces(&view, items);
            self.found.extend(pieces);
        }
    }

    /// The pieces with most gain for their bytes, as many as the module has room for.
    pub(crate) fn chosen(self) -> Vec<Piece> {
        let mut groups: HashMap<Vec<u8>, Vec<Piece>> = HashMap::new();
        for piece in self.found {
            groups.entry(piece.key.clone()).or_default().push(piece);
        }
        // Equal circuits are written once.
        let gain =
            |pieces: &[Piece]| pieces.iter().map(|piece| u128::from(piece.gain)).sum::<u128>();
        let mut groups: Vec<(Vec<u8>, Vec<Piece>)> = groups.into_iter().collect();
        groups.sort_unstable_by(|(key, pieces), (other_key, others)| {
            let (mine, theirs) =
                (gain(pieces) * other_key.len() as u128, gain(others) * key.len() as u128);
            theirs.cmp(&mine).then_with(|| key.cmp(other_key))
        });
        let (mut room, mut chosen) = (self.room, Vec::new());
        for (key, pieces) in groups {
            if key.len() <= room {
                room -= key.len();
                chosen.extend(pieces);
            }
        }
        chosen
    }

    /// The pieces of some items: one, or those of their halves if these gain nearly as much.
    fn pieces(&mut self, view: &View<'_, '_>, items: &[usize]) -> Vec<Piece> {
        let whole = self.piece(view, items);
        if items.len() < 2 {
            return whole.into_iter().collect();
        }
        let (left, right) = items.split_at(view.middle(items));
        let mut halves = self.pieces(view, left);
        halves.extend(self.pieces(view, right));
        let parts: u64 = halves.iter().fold(0, |sum, piece| sum.saturating_add(piece.gain));
        match whole {
            // Depths of parts do not add up to that of the whole.
            Some(whole) if self.options.depth && whole.gain > parts => vec![whole],
            Some(whole) if whole.gain > parts.saturating_add(parts / 10) => vec![whole],
            _ => halves,
        }
    }

    fn piece(&mut self, view: &View<'_, '_>, items: &[usize]) -> Option<Piece> {
        let class = view.class(*items.first().filter(|_| self.work > 0)?);
        let lanes = items.iter().all(|item| view.class(*item) == class).then_some(class).flatten();
        let draft = view.draft(items, lanes)?;
        // Building the piece is work as well, whatever comes of it.
        self.work = self.work.saturating_sub(STATEMENT * draft.statements.len() as u64);
        let module = view.single(&draft).ok()?;
        let Ok(stats) = module.stats_within(self.work.min(MAX_GATES)) else {
            self.work = self.work.saturating_sub(MAX_GATES);
            return None;
        };
        self.work = self.work.saturating_sub(stats.gates());
        if stats.ands == 0 {
            return None;
        }
        let recorded = Circuit::from_program(&module.stream()?).ok()?;
        let (after, report) = optimise::circuit(&recorded, self.options);
        let before = [stats.ands, stats.gates()];
        let report = from_words(&stats, report);
        let is = after.stats();
        let times = view.stretch.times.saturating_mul(u64::from(lanes.unwrap_or(1)));
        let saved = stats.ands.saturating_sub(is.and as u64);
        let shallower = match self.options.depth {
            true if saved > 0 || is.and as u64 == stats.ands => {
                stats.depth.saturating_sub(is.and_depth as u64)
            }
            _ => 0,
        };
        let worth = saved * WORTH >= stats.ands && saved > 0
            || shallower * WORTH >= 10 * stats.depth && shallower > 0;
        let gain = times.saturating_mul(saved.max(shallower));
        let key = view.key(&draft, &after);
        let fits = key.len() <= self.room && gain.saturating_mul(BYTES_PER_AND) >= key.len() as u64;
        if !worth || !fits {
            return None;
        }
        let shapes = |ids: &[ValueId]| -> Vec<Shape> {
            ids.iter().map(|id| view.shape(*id, lanes)).collect()
        };
        let (gates, wires) = (after.gates().to_vec(), after.output_wires().to_vec());
        let circuit =
            plain_circuit(&shapes(&draft.params), &shapes(&draft.results), gates, wires).ok()?;
        let Draft { items, params, results, .. } = draft;
        let stretch = view.stretch.number;
        Some(Piece {
            stretch,
            items,
            params,
            results,
            lanes,
            circuit,
            key,
            times,
            before,
            report,
            gain,
        })
    }
}

/// A report that begins with the words: they are recorded as gates first, which leaves out some.
fn from_words(stats: &Stats, mut report: Report) -> Report {
    if let Some(start) = report.passes.first_mut() {
        start.name = RECORDED.to_owned();
    }
    let (gates, ands) = (stats.gates(), stats.ands);
    let start = PassReport { name: "start".to_owned(), gates, ands, ..PassReport::default() };
    report.passes.insert(0, start);
    report
}

/// The draft of a piece: what it takes and gives.
struct Draft {
    items: Vec<usize>,
    /// Positions of its items and of the wiring before them, rising.
    statements: Vec<usize>,
    params: Vec<ValueId>,
    results: Vec<ValueId>,
    lanes: Option<u32>,
}

/// A stretch with who makes and who reads its values.
struct View<'s, 'm> {
    stretch: &'s Stretch<'m>,
    maker: HashMap<ValueId, usize>,
    readers: HashMap<ValueId, Vec<usize>>,
    /// Values that nothing reads after the stretch.
    ends: HashSet<ValueId>,
    /// Whether a statement only moves bits of values from before the stretch.
    sources: Vec<bool>,
    items: Vec<usize>,
}

impl<'s, 'm> View<'s, 'm> {
    fn new(stretch: &'s Stretch<'m>) -> View<'s, 'm> {
        let mut view = View {
            stretch,
            maker: HashMap::new(),
            readers: HashMap::new(),
            ends: stretch.statements.iter().flat_map(|s| s.dead.iter().copied()).collect(),
            sources: Vec::new(),
            items: Vec::new(),
        };
        for (place, statement) in stretch.statements.iter().enumerate() {
            let outer = |id: &ValueId| view.maker.get(id).is_none_or(|maker| view.sources[*maker]);
            let source = is_wiring(&statement.op) && statement.args.iter().all(outer);
            let public = statement.results().all(|id| stretch.public.contains(&id));
            for id in &statement.args {
                view.readers.entry(*id).or_default().push(place);
            }
            if !public {
                view.maker.extend(statement.results().map(|id| (id, place)));
                if !source {
                    view.items.push(place);
                }
            }
            view.sources.push(source);
        }
        view
    }

    fn shape(&self, id: ValueId, lanes: Option<u32>) -> Shape {
        let shape = self.stretch.shapes[id.index()];
        if lanes.is_some() { Shape::word(shape.width) } else { shape }
    }

    /// The lanes of a statement that treats them alike, if there are several.
    fn class(&self, item: usize) -> Option<u32> {
        let statement = &self.stretch.statements[item];
        let lanes = self.stretch.shapes[statement.first_result as usize].lanes;
        (lanes > 1 && matches!(&statement.op, Op::Word(op, _) if is_lane_by_lane(*op)))
            .then_some(lanes)
    }

    /// Where to halve items: near the middle, between statements of different classes if there are.
    fn middle(&self, items: &[usize]) -> usize {
        let borders =
            (1..items.len()).filter(|at| self.class(items[at - 1]) != self.class(items[*at]));
        borders.min_by_key(|at| at.abs_diff(items.len() / 2)).unwrap_or(items.len() / 2)
    }

    /// A constant as a piece reads it.
    fn constant(&self, id: ValueId, lanes: Option<u32>) -> Option<Constant> {
        let constant = self.stretch.constants.get(&id)?;
        let width = constant.shape.width as usize;
        if lanes.is_none() || constant.shape.lanes == 1 {
            return Some(constant.clone());
        }
        let word: Vec<bool> = (0..width).map(|bit| constant.bit(bit)).collect();
        let same = (0..constant.shape.bits()).all(|bit| constant.bit(bit) == word[bit % width]);
        same.then(|| Constant::new(Shape::word(constant.shape.width), &word))
    }

    /// Whether a piece has the wiring before it inside, for the bits that it makes known or equal.
    fn takes_in(&self, place: usize, lanes: Option<u32>) -> bool {
        let Op::Word(op, _) = &self.stretch.statements[place].op else { return false };
        let widens = !matches!(op, WordOp::Slice);
        self.sources[place] && widens && (lanes.is_none() || is_lane_by_lane(*op))
    }

    fn draft(&self, items: &[usize], lanes: Option<u32>) -> Option<Draft> {
        let own: HashSet<usize> = items.iter().copied().collect();
        let (mut statements, mut params) = (BTreeSet::new(), BTreeSet::new());
        let mut open = items.to_vec();
        while let Some(place) = open.pop() {
            if !statements.insert(place) {
                continue;
            }
            for id in &self.stretch.statements[place].args {
                match self.maker.get(id) {
                    _ if self.constant(*id, lanes).is_some() => {}
                    Some(maker) if own.contains(maker) => {}
                    Some(maker) if self.takes_in(*maker, lanes) => open.push(*maker),
                    _ => {
                        params.insert(*id);
                    }
                }
            }
        }
        let made = items.iter().flat_map(|item| self.stretch.statements[*item].results());
        let outside = |id: &ValueId| {
            let readers = self.readers.get(id).map_or(&[][..], Vec::as_slice);
            !self.ends.contains(id) || readers.iter().any(|reader| !own.contains(reader))
        };
        let results: Vec<ValueId> = made.filter(outside).collect();
        let mapped = |id: &ValueId| self.stretch.shapes[id.index()].lanes > 1;
        let runs = lanes.is_none() || params.iter().any(mapped);
        (!params.is_empty() && !results.is_empty() && runs).then(|| Draft {
            items: items.to_vec(),
            statements: statements.into_iter().collect(),
            params: params.into_iter().collect(),
            results,
            lanes,
        })
    }

    /// A piece as a module of its own; one lane of it if it works lane by lane.
    fn single(&self, draft: &Draft) -> Result<Module, BuildError> {
        let mut b = Builder::new("piece", "")?;
        let mut values: HashMap<ValueId, ValueId> = HashMap::new();
        let mut callees: HashMap<FunctionId, FunctionId> = HashMap::new();
        for (number, id) in draft.params.iter().enumerate() {
            let shape = self.shape(*id, draft.lanes);
            let input = b.input(&format!("in{number}"), Role::Garbler, Kind::Bits, shape)?;
            values.insert(*id, input);
        }
        for place in &draft.statements {
            let statement = &self.stretch.statements[*place];
            let mut args = Vec::with_capacity(statement.args.len());
            for id in &statement.args {
                let value = match (values.get(id), self.constant(*id, draft.lanes)) {
                    (Some(value), _) => *value,
                    (None, Some(constant)) => b.packed_constant(constant)?,
                    (None, None) => return Err(BuildError::new("a value from nowhere")),
                };
                values.insert(*id, value);
                args.push(value);
            }
            let results = match &statement.op {
                Op::Call(callee) => {
                    let known = callees.get(callee).copied();
                    let function = known.map_or_else(|| self.callee(&mut b, *callee), Ok)?;
                    callees.insert(*callee, function);
                    b.call(function, &args)?
                }
                op => b.pure(op, &args)?,
            };
            values.extend(statement.results().zip(results));
        }
        for (number, id) in draft.results.iter().enumerate() {
            b.output(&format!("out{number}"), Receivers::Both, Kind::Bits, values[id])?;
        }
        b.finish()
    }

    fn callee(&self, b: &mut Builder, callee: FunctionId) -> Result<FunctionId, BuildError> {
        let function = &self.stretch.module.functions[callee.0 as usize];
        match &function.code {
            Code::Gates(circuit) => {
                let circuit = circuit.as_ref().clone();
                b.circuit(&function.name, circuit, &function.params, &function.results)
            }
            Code::Body(_) => Err(BuildError::new("a stretch calls functions of gates only")),
        }
    }

    /// Encodes what the piece adds to a file, which tells pieces with different circuits apart.
    fn key(&self, draft: &Draft, circuit: &Circuit) -> Vec<u8> {
        let ids = [&draft.params, &draft.results];
        let shapes = ids.map(|ids| ids.iter().map(|id| self.shape(*id, draft.lanes)));
        let mut key: Vec<u8> = Vec::new();
        for shapes in shapes {
            key.extend((shapes.len() as u32).to_le_bytes());
            for shape in shapes {
                key.extend([shape.lanes, shape.width].map(u32::to_le_bytes).concat());
            }
        }
        key.extend(circuit_bytes(circuit));
        key
    }
}

/// Whether a statement only moves bits about.
fn is_wiring(op: &Op) -> bool {
    use WordOp::*;
    match op {
        Op::Const(_) | Op::Lanes { .. } | Op::Put(_) | Op::Gather(_) => true,
        Op::Word(op, _) => matches!(
            op,
            Slice
                | Concat
                | Zext
                | Sext
                | Shl
                | Shr
                | Sar
                | Rotl
                | Join
                | Tile
                | Repeat
                | Reshape
                | Transpose
        ),
        _ => false,
    }
}

/// Whether an operation treats all lanes alike and apart.
fn is_lane_by_lane(op: WordOp) -> bool {
    use WordOp::*;
    !matches!(
        op,
        Join | Tile
            | Repeat
            | Reshape
            | Transpose
            | Sum
            | SumS
            | Rand
            | Ror
            | Rxor
            | ArgMin
            | ArgMax
            | ArgMinS
            | ArgMaxS
            | Sort
            | TopK
            | MatMul
            | Lookup
            | Store
    )
}
