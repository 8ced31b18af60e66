//! Tables that can live in one memory, and which of them do: random access memory in the place of scans.

use std::collections::{BTreeMap, BTreeSet};

use cenote_circuit::{Kind, Layout, MAX_EPSILON, Needs, Plan};

use crate::infer::bits_for;
use crate::op::{Block, FunctionId, Op, Statement, ValueId, WordOp};
use crate::shape::Shape;

/// ANDs that are worth one opening to both, for the choice between ways to keep a table: about those whose tables a line takes in a round
/// trip, 0.5 MB at 34 bytes for an AND (1 ms at 4 Gbit/s, 20 ms at 200 Mbit/s).
pub const ANDS_PER_OPENING: u64 = 1 << 14;

/// All memories of a run fail with a probability of at most 2^-this, unless more is asked for.
pub(crate) const EPSILON: u32 = 40;

/// A table that is used linearly: every version but the last is used up by the `store` or the loop that gives the next one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// The function it is in; `None` for the main block.
    pub function: Option<FunctionId>,
    /// Its versions in their order, those inside of loops included.
    pub versions: Vec<ValueId>,
    /// Results of the lookups whose row is written next.
    pub updates: Vec<ValueId>,
    /// Accesses in its life.
    pub life: Life,
    /// Whether it begins with rows that are given, and not with a constant of zeros.
    pub is_given: bool,
    /// How it is kept, if not as rows that every access looks at.
    pub plan: Option<Plan>,
}

/// What a table is used for in its life, at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Life {
    /// Rows that are read at secret places.
    pub reads: u64,
    /// Rows that are written, perhaps, at secret places.
    pub writes: u64,
    /// Rows that are read and then, with no other access between, written, perhaps: one access to a memory.
    pub updates: u64,
    /// Rows that are read or written at places that are public, which a scan does for nothing.
    pub public: u64,
}

impl Life {
    fn and(self, other: Life, times: u64) -> Life {
        let sum = |a: u64, b: u64| a.saturating_add(b.saturating_mul(times));
        Life {
            reads: sum(self.reads, other.reads),
            writes: sum(self.writes, other.writes),
            updates: sum(self.updates, other.updates),
            public: sum(self.public, other.public),
        }
    }

    /// Trees or square-root ORAM, where they take less than scans for rows of a shape; `rest` rows are taken out at the end.
    fn plan(self, shape: Shape, is_given: bool, rest: u64) -> Option<Plan> {
        let (blocks, width) = (shape.lanes as usize, shape.width as usize);
        let secret = self.reads.saturating_add(self.writes).saturating_add(self.updates);
        // Without a closer look: each access to either opens something.
        if 2 * ((width as u64 + 1) * blocks as u64) < ANDS_PER_OPENING {
            return None;
        }
        let public = self.public.saturating_add(rest);
        let accesses = secret.saturating_add(public);
        let needs = Needs {
            is_given,
            ands_per_open: ANDS_PER_OPENING,
            epsilon: EPSILON,
            ..Needs::new(blocks, width, accesses)
        };
        let (best, scan) = (Plan::cheapest(needs)?, Plan::new(needs, Layout::Scan)?);
        let is_less = self.worth(&best, public) < self.worth(&scan, 0);
        (is_less && best.layout != Layout::Scan).then_some(best)
    }

    /// What it takes by a plan, in ANDs.
    fn worth(self, plan: &Plan, public: u64) -> u128 {
        let index = bits_for(plan.needs.blocks as u32 - 1) as usize;
        let each = |kind, count| {
            plan.access(index, kind).worth(ANDS_PER_OPENING).saturating_mul(u128::from(count))
        };
        let rest = plan.start().and(plan.upkeep(plan.needs.accesses));
        rest.worth(ANDS_PER_OPENING)
            + each(Kind::Read, self.reads.saturating_add(public))
            + each(Kind::Write, self.writes)
            + each(Kind::Update, self.updates)
    }
}

/// The number of reads from which a memory of so many rows, zeros at first or given, is kept in trees or as square-root ORAM; `None` if it takes more
/// than 2^40.
#[must_use]
pub fn memory_from(rows: u32, bits: u32, is_given: bool) -> Option<u64> {
    let wins = |reads: u64| {
        let life = Life { reads, ..Life::default() };
        life.plan(Shape::vector(rows, bits), is_given, 0).is_some()
    };
    // A stash grows with the life of its tree, and periods end: what wins for few accesses may lose again for very many.
    let mut from = (0..=40).map(|log| 1 << log).find(|reads| wins(*reads))?;
    let mut below = from / 2;
    while from - below > 1 {
        let middle = below + (from - below) / 2;
        *if wins(middle) { &mut from } else { &mut below } = middle;
    }
    Some(from)
}

/// A table that outlives the run.
pub(crate) struct Lasting {
    pub(crate) id: ValueId,
    /// The result that it is left in.
    pub(crate) left: Option<usize>,
    /// Whether it comes and goes in a memory, and not as rows.
    pub(crate) stays: bool,
}

/// The memories of a body, scans aside: where each begins, and which values are versions of one.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Memories {
    starts: BTreeMap<ValueId, Plan>,
    versions: BTreeSet<ValueId>,
    /// Lookups whose row the next access writes.
    updates: BTreeSet<ValueId>,
}

impl Memories {
    pub(crate) fn of(shapes: &[Shape], block: &Block) -> Memories {
        let mut memories = Memories::default();
        for course in courses(shapes, block) {
            if let Some(plan) = course.plan(shapes) {
                memories.starts.insert(course.versions[0], plan);
                memories.versions.extend(course.versions);
                memories.updates.extend(course.updates);
            }
        }
        memories
    }

    /// Tables that come from outside and go there: from these values on, to these results of the block, if to any. Gives the accesses of those that can, which
    /// stay in their memories if `stays` says so.
    pub(crate) fn carry(
        &mut self,
        shapes: &[Shape],
        block: &Block,
        all: &[Lasting],
    ) -> BTreeMap<ValueId, u64> {
        let mut carried = BTreeMap::new();
        if all.is_empty() {
            return carried;
        }
        let pass = Pass::new(shapes, block);
        for &Lasting { id, left, stays } in all {
            let course = pass.follow(id, left);
            let end = if left.is_some() { End::Carried } else { End::Gone };
            if course.end == end {
                let Life { reads, writes, updates, public } = course.life;
                let accesses = [reads, writes, updates, public];
                carried.insert(id, accesses.into_iter().fold(0, u64::saturating_add));
                if stays {
                    self.starts.remove(&id);
                    self.versions.extend(course.versions);
                    self.updates.extend(course.updates);
                }
            }
        }
        carried
    }

    /// How often memories begin in one run of a block of this body, at most, given that of each function before. In a map none does.
    pub(crate) fn begun(&self, block: &Block, of_functions: &[u64]) -> u64 {
        let starts = |ids: &mut dyn Iterator<Item = ValueId>| {
            ids.filter(|id| self.starts.contains_key(id)).count() as u64
        };
        let own = starts(&mut block.params());
        block.statements.iter().fold(own, |sum, statement| {
            let inner = match &statement.op {
                Op::For { trips, body } => {
                    self.begun(body, of_functions).saturating_mul(u64::from(*trips))
                }
                Op::If { then, otherwise } => {
                    self.begun(then, of_functions).max(self.begun(otherwise, of_functions))
                }
                Op::Call(function) => of_functions[function.0 as usize],
                _ => 0,
            };
            sum.saturating_add(starts(&mut statement.results())).saturating_add(inner)
        })
    }

    /// Has these memories fail so rarely that `all` of a run fail with a probability of at most 2^-`epsilon`; 128 bits each are the most.
    pub(crate) fn share_bound(&mut self, epsilon: u32, all: u64) {
        for plan in self.starts.values_mut() {
            let each = epsilon.saturating_add(ceil_log2(all)).min(MAX_EPSILON);
            *plan = plan.with_epsilon(each).unwrap_or_else(|| unreachable!("in range"));
        }
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// How the memory is kept that begins with this value.
    pub(crate) fn start(&self, id: ValueId) -> Option<&Plan> {
        self.starts.get(&id)
    }

    /// Whether a lookup with this result is the first half of an update.
    pub(crate) fn updates(&self, id: ValueId) -> bool {
        self.updates.contains(&id)
    }

    /// Whether a value stays in its memory.
    pub(crate) fn keep(&self, id: ValueId) -> bool {
        self.versions.contains(&id)
    }
}

/// The tables of a body.
pub(crate) fn tables(
    function: Option<FunctionId>,
    shapes: &[Shape],
    block: &Block,
    memories: &Memories,
) -> Vec<Table> {
    let table = |course: Course| {
        let plan = memories.start(course.versions[0]).cloned();
        let Course { versions, updates, life, is_given, .. } = course;
        Table { function, versions, updates, life, is_given, plan }
    };
    courses(shapes, block).into_iter().map(table).collect()
}

/// The tables of a block, each from its first version on.
fn courses(shapes: &[Shape], block: &Block) -> Vec<Course> {
    let pass = Pass::new(shapes, block);
    let mut seen: BTreeSet<ValueId> = BTreeSet::new();
    let mut all = Vec::new();
    for id in (0..shapes.len() as u32).map(ValueId) {
        if seen.contains(&id) {
            continue;
        }
        let course = pass.follow(id, None);
        seen.extend(&course.versions);
        if course.life != Life::default() {
            all.push(Course { is_given: !pass.zeros[id.index()], ..course });
        }
    }
    all
}

/// Where a block stands: in which other one, and how often it runs there; nobody says in a map.
struct Around {
    block: usize,
    trips: Option<u64>,
}

/// A place where a value is read: an operand of a statement, or what its block gives.
#[derive(Clone, Copy)]
struct Use<'b> {
    block: usize,
    statement: Option<&'b Statement>,
    position: usize,
}

struct Pass<'b> {
    shapes: &'b [Shape],
    /// All blocks, that of the body first.
    blocks: Vec<Around>,
    /// The block that each value comes to be in.
    home: Vec<usize>,
    uses: Vec<Vec<Use<'b>>>,
    /// Values that are surely public wherever they are read.
    public: Vec<bool>,
    /// Constants of zeros.
    zeros: Vec<bool>,
}

/// The versions of a table, as far as they follow one another.
#[derive(Default)]
struct Course {
    versions: Vec<ValueId>,
    updates: Vec<ValueId>,
    life: Life,
    is_given: bool,
    end: End,
}

impl Course {
    fn plan(&self, shapes: &[Shape]) -> Option<Plan> {
        let shape = shapes[self.versions[0].index()];
        let rest = if self.end == End::Rows { u64::from(shape.lanes) } else { 0 };
        self.life.plan(shape, self.is_given, rest)
    }
}

/// The least power of two that is not below `n`.
fn ceil_log2(n: u64) -> u32 {
    u64::BITS - n.saturating_sub(1).leading_zeros()
}

/// What becomes of the last version.
#[derive(Default, PartialEq, Eq)]
enum End {
    /// Nothing but lookups.
    #[default]
    Gone,
    /// Something else reads it.
    Rows,
    /// Its block gives it to the next iteration.
    Carried,
}

/// What uses a version up.
enum Next {
    Nothing,
    Version(ValueId, Course),
    Carried,
}

impl<'b> Pass<'b> {
    fn new(shapes: &'b [Shape], block: &'b Block) -> Pass<'b> {
        let blocks = vec![Around { block: 0, trips: Some(1) }];
        let (home, uses) = (vec![0; shapes.len()], vec![Vec::new(); shapes.len()]);
        let (public, zeros) = (vec![false; shapes.len()], vec![false; shapes.len()]);
        let mut pass = Pass { shapes, blocks, home, uses, public, zeros };
        pass.visit(block, 0);
        pass
    }

    fn visit(&mut self, block: &'b Block, number: usize) {
        for id in block.params() {
            self.home[id.index()] = number;
        }
        for statement in &block.statements {
            for id in statement.results() {
                self.home[id.index()] = number;
            }
            for (position, id) in statement.args.iter().enumerate() {
                let known = Use { block: number, statement: Some(statement), position };
                self.uses[id.index()].push(known);
            }
            self.note(statement);
            match &statement.op {
                Op::For { trips, body } => self.inner(body, number, Some(u64::from(*trips))),
                Op::Map { body, .. } => self.inner(body, number, None),
                Op::If { then, otherwise } => {
                    self.inner(then, number, Some(1));
                    self.inner(otherwise, number, Some(1));
                }
                _ => {}
            }
        }
        for (position, id) in block.results.iter().enumerate() {
            self.uses[id.index()].push(Use { block: number, statement: None, position });
        }
    }

    fn inner(&mut self, block: &'b Block, around: usize, trips: Option<u64>) {
        self.blocks.push(Around { block: around, trips });
        self.visit(block, self.blocks.len() - 1);
    }

    /// Notes what is public about the results of a statement.
    fn note(&mut self, statement: &Statement) {
        let is_public = match &statement.op {
            Op::Const(_) | Op::Reveal => true,
            Op::Lanes { at, .. } | Op::Put(at) if !at.terms.is_empty() => false,
            Op::Word(..) | Op::Gather(_) | Op::Lanes { .. } | Op::Put(_) => {
                statement.args.iter().all(|id| self.public[id.index()])
            }
            _ => false,
        };
        for id in statement.results() {
            self.public[id.index()] = is_public;
        }
        if let Op::Const(constant) = &statement.op {
            self.zeros[statement.first_result as usize] = constant.is_zero();
        }
    }

    /// How often a block runs in one run of another one around it; `None` in a map.
    fn times(&self, around: usize, mut block: usize) -> Option<u64> {
        let mut times = 1u64;
        while block != around {
            times = times.saturating_mul(self.blocks[block].trips?);
            block = self.blocks[block].block;
        }
        Some(times)
    }

    /// The versions from `start` on; in a loop, those that come to the end at the position at which it carries the table.
    fn follow(&self, start: ValueId, carried: Option<usize>) -> Course {
        let (mut course, mut version) = (Course::default(), start);
        loop {
            let Some((reads, next)) = self.next(version, carried) else {
                course.end = End::Rows;
                return course;
            };
            course.life = course.life.and(reads, 1);
            course.versions.push(version);
            match next {
                Next::Nothing => return course,
                Next::Carried => {
                    course.end = End::Carried;
                    return course;
                }
                Next::Version(id, between) => {
                    course.life = course.life.and(between.life, 1);
                    course.versions.extend(between.versions);
                    course.updates.extend(between.updates);
                    version = id;
                }
            }
        }
    }

    /// Lookups of a version, and what uses it up; `None` if anything else reads it.
    fn next(&self, version: ValueId, carried: Option<usize>) -> Option<(Life, Next)> {
        let home = self.home[version.index()];
        let (mut reads, mut next) = (Life::default(), Next::Nothing);
        let uses = &self.uses[version.index()];
        for (i, found) in uses.iter().enumerate() {
            let Some(statement) = found.statement else {
                if found.block != home || carried != Some(found.position) || !next.is_nothing() {
                    return None;
                }
                next = Next::Carried;
                continue;
            };
            if matches!(statement.op, Op::Word(WordOp::Lookup, _)) && found.position == 0 {
                if !uses.get(i + 1).is_some_and(|then| found.is_updated_by(then)) {
                    let life = self.access(statement.args[1], |life| &mut life.reads);
                    reads = reads.and(life, self.times(home, found.block)?);
                }
                continue;
            }
            if found.block != home || !statement.uses_up(found.position) || !next.is_nothing() {
                return None;
            }
            let before = i.checked_sub(1).and_then(|i| uses.get(i));
            next = self.version_after(found, statement, before)?;
        }
        Some((reads, next))
    }

    /// The version that a statement makes of the one that it uses up.
    fn version_after(
        &self,
        found: &Use<'_>,
        statement: &Statement,
        before: Option<&Use<'_>>,
    ) -> Option<Next> {
        let place = found.position as u32;
        match &statement.op {
            Op::Word(WordOp::Store, _) if place == 0 => {
                let read = before.filter(|before| before.is_updated_by(found));
                let read = read.and_then(|before| before.statement);
                let life = self.access(statement.args[1], |life| match read {
                    Some(_) => &mut life.updates,
                    None => &mut life.writes,
                });
                let updates = read.map(|read| ValueId(read.first_result)).into_iter().collect();
                let between = Course { life, updates, ..Course::default() };
                Some(Next::Version(ValueId(statement.first_result), between))
            }
            Op::For { trips, body } => {
                let inside = self.follow(ValueId(body.first_param + place), Some(found.position));
                let life = Life::default().and(inside.life, u64::from(*trips));
                let next = ValueId(statement.first_result + place);
                (inside.end == End::Carried)
                    .then_some(Next::Version(next, Course { life, ..inside }))
            }
            _ => None,
        }
    }

    /// An access for each place of a value.
    fn access(&self, place: ValueId, kind: impl FnOnce(&mut Life) -> &mut u64) -> Life {
        let mut life = Life::default();
        let is_public = self.public[place.index()];
        let count = if is_public { &mut life.public } else { kind(&mut life) };
        *count = u64::from(self.shapes[place.index()].lanes);
        life
    }
}

impl Next {
    fn is_nothing(&self) -> bool {
        matches!(self, Next::Nothing)
    }
}

impl Use<'_> {
    /// Whether this reads the row that the next use of the table writes.
    fn is_updated_by(&self, next: &Use<'_>) -> bool {
        let place = |found: &Use<'_>, of: WordOp| {
            let statement = found.statement.filter(|_| found.position == 0)?;
            matches!(&statement.op, Op::Word(op, _) if *op == of).then(|| statement.args[1])
        };
        let (read, written) = (place(self, WordOp::Lookup), place(next, WordOp::Store));
        read.is_some() && read == written && self.block == next.block
    }
}
