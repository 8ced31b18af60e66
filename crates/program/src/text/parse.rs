//! Reading the text form.

use std::collections::HashMap;

use cenote_circuit::{Gate, Receivers, Role};

use super::TextError;
use super::lex::{Lexer, Place, Token, TokenKind};
use super::print::memory_word;
use crate::builder::{Builder, plain_circuit};
use crate::error::BuildError;
use crate::limits::{MAX_STEPS, MAX_TEXT_BYTES};
use crate::module::Module;
use crate::op::{Affine, Constant, FunctionId, LoopVar, ValueId, WordOp};
use crate::path::{PathStep, PortPath, Version};
use crate::shape::{Kind, Shape};

impl Module {
    /// Reads the text form. Values may have any names; printing numbers them.
    ///
    /// # Errors
    /// Returns the problem, with its line and column.
    pub fn parse_text(text: &str) -> Result<Module, TextError> {
        if text.len() > MAX_TEXT_BYTES {
            let what = format!(
                "a text has at most {MAX_TEXT_BYTES} bytes; larger programs have the binary form"
            );
            return Err(TextError { line: 1, column: 1, what });
        }
        Parser::new(text).module()
    }
}

struct Parser<'t> {
    lexer: Lexer<'t>,
    /// The word that was read last.
    last: Token<'t>,
    /// The word that is looked at.
    token: Token<'t>,
    functions: HashMap<String, FunctionId>,
}

/// Names of the values and counters of one function.
#[derive(Default)]
struct Scope {
    values: HashMap<String, ValueId>,
    /// Names in the order of their definition: those of a block go with it.
    order: Vec<String>,
    counters: Vec<(String, LoopVar)>,
}

impl Scope {
    fn forget_from(&mut self, length: usize) {
        for name in self.order.drain(length..) {
            self.values.remove(&name);
        }
    }
}

type Parsed<T> = Result<T, TextError>;

impl<'t> Parser<'t> {
    fn new(text: &'t str) -> Self {
        let mut lexer = Lexer::new(text);
        let token = lexer.token();
        Parser { lexer, last: token.clone(), token, functions: HashMap::new() }
    }

    fn error(&self, what: impl Into<String>) -> TextError {
        self.error_at(self.token.place, what)
    }

    /// An error at a place; what is no word at all is one that comes before it.
    fn error_at(&self, place: Place, what: impl Into<String>) -> TextError {
        let (Place { line, column }, what) = match &self.token.kind {
            TokenKind::Wrong(why) => (self.token.place, why.clone()),
            _ => (place, what.into()),
        };
        TextError { line, column, what }
    }

    fn expected(&self, what: &str) -> TextError {
        self.error(format!("expected {what}, found {}", self.token.kind.shown()))
    }

    /// The word that was read last is not what was expected.
    fn last_expected(&self, what: &str) -> TextError {
        let Token { kind, place } = &self.last;
        self.error_at(*place, format!("expected {what}, found {}", kind.shown()))
    }

    fn advance(&mut self) {
        self.last = std::mem::replace(&mut self.token, self.lexer.token());
    }

    fn is_sign(&self, sign: char) -> bool {
        self.token.kind == TokenKind::Sign(sign)
    }

    fn is_word(&self, word: &str) -> bool {
        self.token.kind == TokenKind::Word(word)
    }

    fn sign(&mut self, sign: char) -> Parsed<()> {
        if !self.is_sign(sign) {
            return Err(self.expected(&format!("`{sign}`")));
        }
        self.advance();
        Ok(())
    }

    fn skip_sign(&mut self, sign: char) -> bool {
        let found = self.is_sign(sign);
        if found {
            self.advance();
        }
        found
    }

    fn keyword(&mut self, word: &str) -> Parsed<()> {
        if !self.is_word(word) {
            return Err(self.expected(&format!("`{word}`")));
        }
        self.advance();
        Ok(())
    }

    fn word(&mut self, what: &str) -> Parsed<&'t str> {
        match self.token.kind {
            TokenKind::Word(word) => {
                self.advance();
                Ok(word)
            }
            _ => Err(self.expected(what)),
        }
    }

    fn number(&mut self, what: &str) -> Parsed<u32> {
        let number = match &self.token.kind {
            TokenKind::Word(word) => word.parse().ok(),
            _ => None,
        };
        let number = number.ok_or_else(|| self.expected(what))?;
        self.advance();
        Ok(number)
    }

    /// A number whose sign has been read.
    fn signed(&mut self, negative: bool, what: &str) -> Parsed<i64> {
        let number = match &self.token.kind {
            TokenKind::Word(word) => word.parse::<u64>().ok(),
            _ => None,
        };
        let number = number.map(|n| if negative { -i128::from(n) } else { i128::from(n) });
        let number = number.and_then(|n| i64::try_from(n).ok());
        let number = number.ok_or_else(|| self.expected(what))?;
        self.advance();
        Ok(number)
    }

    /// Reports the builder's error at the token `at`.
    fn built<T>(&self, at: Place, result: Result<T, BuildError>) -> Parsed<T> {
        result.map_err(|error| self.error_at(at, error.to_string()))
    }

    fn module(mut self) -> Parsed<Module> {
        self.keyword("cenote")?;
        let number = self.number("the version of the format")?;
        let version = Version::numbered(number)
            .ok_or_else(|| self.last_expected(&format!("version {}", Version::known())))?;
        self.keyword("program")?;
        let start = self.token.place;
        let name = self.word("the name of the program")?;
        let TokenKind::Text(about) = self.token.kind.clone() else {
            return Err(self.expected("a text that says what the program is for"));
        };
        self.advance();
        let mut builder = self.built(start, Builder::of_version(version, name, &about))?;
        loop {
            if self.is_word("function") {
                self.function(&mut builder)?;
            } else if self.is_word("circuit") {
                self.circuit(&mut builder)?;
            } else {
                break;
            }
        }
        let mut scope = Scope::default();
        let mut inputs = 0;
        while self.is_word("input") {
            let id = self.input(version, &mut builder)?;
            scope.values.insert(inputs.to_string(), id);
            inputs += 1;
        }
        while version.has_memories() && self.is_word("memory") {
            let id = self.memory(version, &mut builder)?;
            scope.values.insert(inputs.to_string(), id);
            inputs += 1;
        }
        if !self.is_sign('{') {
            let memory = if version.has_memories() { "`memory`, " } else { "" };
            return Err(self.expected(&format!(
                "`function`, `circuit`, `input`, {memory}or `{{` and the statements"
            )));
        }
        self.sign('{')?;
        while !self.is_sign('}') {
            self.statement(&mut builder, &mut scope)?;
        }
        self.sign('}')?;
        while self.is_word("keep") {
            self.keep(&mut builder, &scope)?;
        }
        while self.is_word("output") {
            self.output(version, &mut builder, &scope)?;
        }
        if self.token.kind != TokenKind::End {
            return Err(self.expected("`output`, or the end"));
        }
        let end = self.token.place;
        self.built(end, builder.finish())
    }

    fn shape(&mut self) -> Parsed<Shape> {
        let shape = match &self.token.kind {
            TokenKind::Word(word) => parse_shape(word),
            _ => None,
        };
        let shape = shape.ok_or_else(|| self.expected("a shape like b32 or 100xb32"))?;
        self.advance();
        Ok(shape)
    }

    fn kind(&mut self) -> Parsed<Kind> {
        let word = self.word("a kind: bits, bool, uint, int or fixed.8")?;
        let fraction = word.strip_prefix("fixed.").and_then(|f| f.parse().ok());
        match (word, fraction) {
            ("bits", _) => Ok(Kind::Bits),
            ("bool", _) => Ok(Kind::Bool),
            ("uint", _) => Ok(Kind::UInt),
            ("int", _) => Ok(Kind::Int),
            (_, Some(fraction)) => Ok(Kind::Fixed { fraction }),
            _ => Err(self.last_expected("a kind: bits, bool, uint, int or fixed.8")),
        }
    }

    /// `rows[100].name[3, 4]`; in version 1 a name alone.
    fn path(&mut self, version: Version, what: &str) -> Parsed<PortPath> {
        let mut names = self.word(what)?;
        if version == Version::One {
            return Ok(PortPath::plain(names, 1));
        }
        let mut steps: Vec<PathStep> = Vec::new();
        loop {
            steps.extend(names.split('.').take(MAX_STEPS + 1).map(PathStep::word));
            if steps.len() > MAX_STEPS {
                return Err(self.last_expected(&format!("a name of at most {MAX_STEPS} parts")));
            }
            if let Some(last) = steps.last_mut() {
                last.sizes = self.sizes()?;
            }
            let TokenKind::Word(word) = self.token.kind else { break };
            let Some(rest) = word.strip_prefix('.') else { break };
            self.advance();
            names = rest;
        }
        Ok(PortPath::new(steps))
    }

    /// `[3, 4]`, or nothing.
    fn sizes(&mut self) -> Parsed<Vec<u32>> {
        let mut sizes = Vec::new();
        if self.skip_sign('[') {
            sizes.push(self.number("a size")?);
            while self.skip_sign(',') {
                sizes.push(self.number("a size")?);
            }
            self.sign(']')?;
        }
        Ok(sizes)
    }

    /// One of these words, as what it stands for.
    fn one_of<T: Copy, const N: usize>(&mut self, words: [(&str, T); N]) -> Parsed<T> {
        let names = words.map(|(name, _)| name);
        let (last, first) = names.split_last().unwrap_or((&"", &[]));
        let what = format!("{} or {last}", first.join(", "));
        let word = self.word(&what)?;
        let meant = words.iter().find(|(name, _)| *name == word);
        meant.map(|(_, meant)| *meant).ok_or_else(|| self.last_expected(&what))
    }

    fn input(&mut self, version: Version, b: &mut Builder) -> Parsed<ValueId> {
        self.keyword("input")?;
        let start = self.token.place;
        let path = self.path(version, "the name of the input")?;
        self.sign(':')?;
        let owner = self.one_of(Role::ALL.map(|owner| (version.owner(owner), owner)))?;
        let (kind, shape) = (self.kind()?, self.shape()?);
        let added = match version {
            Version::One => b.input(&path.name(), owner, kind, shape),
            _ => b.input_at(path, owner, kind, self.width_of(shape)?),
        };
        self.built(start, added)
    }

    /// The width of a port, whose sizes follow its name.
    fn width_of(&self, shape: Shape) -> Parsed<u32> {
        let is_word = shape.lanes == 1;
        let wrong = || self.last_expected("a word like b32; sizes follow the name: x[100]");
        if is_word { Ok(shape.width) } else { Err(wrong()) }
    }

    fn memory(&mut self, version: Version, b: &mut Builder) -> Parsed<ValueId> {
        self.keyword("memory")?;
        let start = self.token.place;
        let path = self.path(Version::Three, "the name of the memory")?;
        self.sign(':')?;
        let is_new = self.one_of([true, false].map(|is_new| (memory_word(is_new), is_new)))?;
        let is_ram = version >= Version::Four && self.is_word("ram");
        let accesses = if is_ram {
            self.keyword("ram")?;
            Some(self.number("the accesses of its life")?)
        } else {
            None
        };
        let (kind, shape) = (self.kind()?, self.shape()?);
        let width = self.width_of(shape)?;
        let added = match accesses {
            Some(accesses) => b.ram_at(path, is_new, kind, width, accesses),
            None => b.memory_at(path, is_new, kind, width),
        };
        self.built(start, added)
    }

    fn keep(&mut self, b: &mut Builder, scope: &Scope) -> Parsed<()> {
        self.keyword("keep")?;
        let start = self.token.place;
        let name = self.word("the name of a memory")?;
        self.sign(':')?;
        let value = self.value(scope)?;
        self.built(start, b.leave(name, value))
    }

    fn output(&mut self, version: Version, b: &mut Builder, scope: &Scope) -> Parsed<()> {
        self.keyword("output")?;
        let start = self.token.place;
        let path = self.path(version, "the name of the output")?;
        self.sign(':')?;
        let named = |receiver| (version.receiver(receiver), receiver);
        let receiver = self.one_of(Receivers::ALL.map(named))?;
        let (kind, value) = (self.kind()?, self.value(scope)?);
        let added = match version {
            Version::One => b.output(&path.name(), receiver, kind, value),
            Version::Two | Version::Three | Version::Four => {
                b.output_at(path, receiver, kind, value)
            }
        };
        self.built(start, added)
    }

    fn function(&mut self, b: &mut Builder) -> Parsed<()> {
        self.keyword("function")?;
        let start = self.token.place;
        let name = self.word("the name of the function")?;
        self.sign('(')?;
        let (mut names, mut shapes) = (Vec::new(), Vec::new());
        while !self.is_sign(')') {
            names.push(self.fresh_name()?);
            self.sign(':')?;
            shapes.push(self.shape()?);
            if !self.skip_sign(',') {
                break;
            }
        }
        self.sign(')')?;
        self.sign('{')?;
        let params = self.built(start, b.begin_function(name, &shapes))?;
        let mut scope = Scope::default();
        self.define(&mut scope, start, names, &params)?;
        let results = self.block(b, &mut scope)?;
        let id = self.built(start, b.end_function(&results))?;
        self.functions.insert(name.to_owned(), id);
        Ok(())
    }

    /// Statements up to `yield` and the closing brace; gives what is yielded.
    fn block(&mut self, b: &mut Builder, scope: &mut Scope) -> Parsed<Vec<ValueId>> {
        while !self.is_word("yield") {
            if self.is_sign('}') || self.token.kind == TokenKind::End {
                return Err(self.expected("a statement, or `yield` and the results of the block"));
            }
            self.statement(b, scope)?;
        }
        self.keyword("yield")?;
        let results = self.values(scope)?;
        self.sign('}')?;
        Ok(results)
    }

    fn fresh_name(&mut self) -> Parsed<&'t str> {
        match self.token.kind {
            TokenKind::Value(name) => {
                self.advance();
                Ok(name)
            }
            _ => Err(self.expected("a value like %7")),
        }
    }

    fn fresh_names(&mut self) -> Parsed<Vec<&'t str>> {
        let mut names = Vec::new();
        while matches!(self.token.kind, TokenKind::Value(_)) {
            names.push(self.fresh_name()?);
            if !self.skip_sign(',') {
                break;
            }
        }
        Ok(names)
    }

    fn value(&mut self, scope: &Scope) -> Parsed<ValueId> {
        let known = match &self.token.kind {
            TokenKind::Value(name) => scope.values.get(*name).copied(),
            _ => return Err(self.expected("a value like %7")),
        };
        let id = known.ok_or_else(|| {
            self.error(format!("{} is not defined before this line", self.token.kind.shown()))
        })?;
        self.advance();
        Ok(id)
    }

    fn values(&mut self, scope: &Scope) -> Parsed<Vec<ValueId>> {
        let mut values = Vec::new();
        while matches!(self.token.kind, TokenKind::Value(_)) {
            values.push(self.value(scope)?);
            if !self.skip_sign(',') {
                break;
            }
        }
        Ok(values)
    }

    /// Names the results of what begins at the token `at`.
    fn define(
        &mut self,
        scope: &mut Scope,
        at: Place,
        names: Vec<&str>,
        ids: &[ValueId],
    ) -> Parsed<()> {
        if names.len() != ids.len() {
            let (gives, named) = (ids.len(), names.len());
            return Err(self.error_at(at, format!("this gives {gives} values, {named} are named")));
        }
        for (name, id) in names.into_iter().zip(ids) {
            if scope.values.insert(name.to_owned(), *id).is_some() {
                let what = format!("%{name} is defined twice; choose another name");
                return Err(self.error_at(at, what));
            }
            scope.order.push(name.to_owned());
        }
        Ok(())
    }

    fn statement(&mut self, b: &mut Builder, scope: &mut Scope) -> Parsed<()> {
        let first = self.token.place;
        let names = self.fresh_names()?;
        if !names.is_empty() {
            self.sign('=')?;
        }
        let start = self.token.place;
        let op = self.word("an operation")?;
        let ids = match op {
            "const" => vec![self.constant(b)?],
            "lanes" => vec![self.lanes(b, scope)?],
            "put" => {
                self.sign('{')?;
                let at = self.place(scope)?;
                self.sign('}')?;
                let [value, part] = self.operands(scope)?;
                vec![self.built(start, b.put(value, at, part))?]
            }
            "gather" => {
                let indices = self.indices()?;
                let [value] = self.operands(scope)?;
                vec![self.built(start, b.gather(value, &indices))?]
            }
            "reveal" => {
                let [value] = self.operands(scope)?;
                vec![self.built(start, b.reveal(value))?]
            }
            "for" | "map" | "if" | "call" => self.control(op, b, scope)?,
            _ => self.word_op(op, start, b, scope)?,
        };
        self.define(scope, first, names, &ids)
    }

    fn operands<const N: usize>(&mut self, scope: &Scope) -> Parsed<[ValueId; N]> {
        let (at, values) = (self.token.place, self.values(scope)?);
        let given = values.len();
        values
            .try_into()
            .map_err(|_| self.error_at(at, format!("{N} operands are needed, {given} are given")))
    }

    fn word_op(
        &mut self,
        name: &str,
        start: Place,
        b: &mut Builder,
        scope: &Scope,
    ) -> Parsed<Vec<ValueId>> {
        let Some(op) = WordOp::by_name(name) else {
            return Err(self.last_expected("an operation"));
        };
        let attrs = self.attributes(op)?;
        let args = self.values(scope)?;
        self.built(start, b.word(op, &attrs, &args))
    }

    /// The numbers between braces that belong to an operation.
    fn attributes(&mut self, op: WordOp) -> Parsed<Vec<u32>> {
        let mut attrs = Vec::new();
        for (i, attribute) in op.attributes().iter().enumerate() {
            let sign = if i == 0 { '{' } else { ',' };
            if !self.is_sign(sign) {
                let all: Vec<String> =
                    op.attributes().iter().map(|name| format!("{name}=..")).collect();
                let all = all.join(", ");
                return Err(self.expected(&format!("`{sign}`: `{}{{{all}}}`", op.name())));
            }
            self.advance();
            self.keyword(attribute)?;
            self.sign('=')?;
            attrs.push(self.number("a number")?);
        }
        if !attrs.is_empty() {
            self.sign('}')?;
        }
        Ok(attrs)
    }

    fn constant(&mut self, b: &mut Builder) -> Parsed<ValueId> {
        let start = self.token.place;
        let shape = self.shape()?;
        self.built(start, b.room_for_constant(shape))?;
        let all = self.is_word("all");
        if all {
            self.advance();
        }
        let mut bits = Vec::with_capacity(shape.bits());
        for _ in 0..if all { 1 } else { shape.lanes } {
            self.literal(shape.width as usize, &mut bits)?;
        }
        let words = if all { shape.lanes as usize } else { 1 };
        let constant = Constant::new(shape, &bits.repeat(words));
        self.built(start, b.packed_constant(constant))
    }

    /// A hexadecimal number of `width` bits.
    fn literal(&mut self, width: usize, bits: &mut Vec<bool>) -> Parsed<()> {
        let digits = match self.token.kind {
            TokenKind::Word(word) => word.strip_prefix("0x"),
            _ => None,
        };
        let digits = digits.filter(|digits| digits.chars().all(|c| c.is_ascii_hexdigit()));
        let digits = digits.ok_or_else(|| self.expected("a hexadecimal number like 0x2a"))?;
        let end = bits.len() + width;
        let values = digits.chars().rev().filter_map(|digit| digit.to_digit(16));
        for bit in values.flat_map(|digit| (0..4).map(move |i| digit >> i & 1 == 1)) {
            if bits.len() < end {
                bits.push(bit);
            } else if bit {
                return Err(self.error(format!("the number has more than {width} bits")));
            }
        }
        bits.resize(end, false);
        self.advance();
        Ok(())
    }

    fn lanes(&mut self, b: &mut Builder, scope: &Scope) -> Parsed<ValueId> {
        let start = self.token.place;
        self.sign('{')?;
        let at = self.place(scope)?;
        self.sign(',')?;
        self.keyword("count")?;
        self.sign('=')?;
        let count = self.number("how many lanes")?;
        self.sign(',')?;
        self.keyword("stride")?;
        self.sign('=')?;
        let negative = self.skip_sign('-');
        let stride = self.signed(negative, "a number")?;
        self.sign('}')?;
        let [value] = self.operands(scope)?;
        self.built(start, b.lanes(value, at, count, stride))
    }

    /// `at=3 + 2*i0 - 1*i1`.
    fn place(&mut self, scope: &Scope) -> Parsed<Affine> {
        self.keyword("at")?;
        self.sign('=')?;
        let negative = self.skip_sign('-');
        let mut at = Affine::at(self.signed(negative, "a number")?);
        while self.is_sign('+') || self.is_sign('-') {
            let negative = self.is_sign('-');
            self.advance();
            let factor = self.signed(negative, "a factor")?;
            self.sign('*')?;
            let name = self.word("a loop counter")?;
            let var = scope.counters.iter().rev().find(|(known, _)| *known == name);
            let Some((_, var)) = var else {
                return Err(self.last_expected("the counter of a loop around this statement"));
            };
            at = at.plus(*var, factor);
        }
        Ok(at)
    }

    fn indices(&mut self) -> Parsed<Vec<u32>> {
        self.sign('{')?;
        let mut indices = vec![self.number("the number of a lane")?];
        while self.skip_sign(',') {
            indices.push(self.number("the number of a lane")?);
        }
        self.sign('}')?;
        Ok(indices)
    }

    fn control(&mut self, op: &str, b: &mut Builder, scope: &mut Scope) -> Parsed<Vec<ValueId>> {
        let (start, outside) = (self.last.place, scope.order.len());
        match op {
            "for" => {
                let trips = self.number("how often the loop runs")?;
                let carried = self.arguments(scope)?;
                let (var, params) = self.built(start, b.begin_for(trips, &carried))?;
                self.sign('{')?;
                self.sign('|')?;
                if !matches!(self.token.kind, TokenKind::Value(_) | TokenKind::Sign('|')) {
                    return Err(self.expected("the carried values, like |%7, %8|"));
                }
                scope.counters.push((format!("i{}", var.0), var));
                self.params(scope, &params)?;
                let results = self.block(b, scope)?;
                scope.forget_from(outside);
                scope.counters.pop();
                self.built(start, b.end_for(&results))
            }
            "map" => {
                let trips = self.number("how many iterations there are")?;
                let mapped = self.arguments(scope)?;
                let params = self.built(start, b.begin_map(trips, &mapped))?;
                self.sign('{')?;
                self.sign('|')?;
                self.params(scope, &params)?;
                let results = self.block(b, scope)?;
                scope.forget_from(outside);
                self.built(start, b.end_map(&results))
            }
            "if" => {
                let [condition] = self.operands(scope)?;
                self.built(start, b.begin_if(condition))?;
                self.sign('{')?;
                let results = self.block(b, scope)?;
                scope.forget_from(outside);
                self.built(start, b.begin_else(&results))?;
                self.keyword("else")?;
                self.sign('{')?;
                let results = self.block(b, scope)?;
                scope.forget_from(outside);
                self.built(start, b.end_if(&results))
            }
            _ => {
                let name = self.word("the name of a function")?;
                let Some(function) = self.functions.get(name).copied() else {
                    return Err(self.last_expected("a function that is defined above"));
                };
                let args = self.arguments(scope)?;
                self.built(start, b.call(function, &args))
            }
        }
    }

    fn arguments(&mut self, scope: &Scope) -> Parsed<Vec<ValueId>> {
        self.sign('(')?;
        let values = self.values(scope)?;
        self.sign(')')?;
        Ok(values)
    }

    fn params(&mut self, scope: &mut Scope, ids: &[ValueId]) -> Parsed<()> {
        let first = self.token.place;
        let names = self.fresh_names()?;
        self.define(scope, first, names, ids)?;
        self.sign('|')
    }

    fn circuit(&mut self, b: &mut Builder) -> Parsed<()> {
        self.keyword("circuit")?;
        let start = self.token.place;
        let name = self.word("the name of the circuit")?;
        let params = self.shape_list()?;
        self.sign('-')?;
        self.sign('>')?;
        let results = self.shape_list()?;
        self.sign('{')?;
        let mut gates = Vec::new();
        while !self.is_word("yield") {
            gates.push(self.gate()?);
        }
        self.keyword("yield")?;
        let mut outputs = Vec::new();
        while !self.is_sign('}') {
            outputs.push(self.number("a wire, or `}`")?);
        }
        self.sign('}')?;
        let circuit = plain_circuit(&params, &results, gates, outputs)
            .map_err(|error| self.error_at(start, format!("circuit `{name}`: {error}")))?;
        let id = self.built(start, b.circuit(name, circuit, &params, &results))?;
        self.functions.insert(name.to_owned(), id);
        Ok(())
    }

    fn shape_list(&mut self) -> Parsed<Vec<Shape>> {
        self.sign('(')?;
        let mut shapes = Vec::new();
        while !self.is_sign(')') {
            shapes.push(self.shape()?);
            if !self.skip_sign(',') {
                break;
            }
        }
        self.sign(')')?;
        Ok(shapes)
    }

    fn gate(&mut self) -> Parsed<Gate> {
        const KINDS: &str = "a gate: xor, and, not, const or copy; or yield";
        let kind = self.word(KINDS)?;
        let mut wire = || self.number("a wire");
        Ok(match kind {
            "xor" => Gate::Xor(wire()?, wire()?),
            "and" => Gate::And(wire()?, wire()?),
            "not" => Gate::Inv(wire()?),
            "copy" => Gate::Eqw(wire()?),
            "const" => match wire()? {
                0 => Gate::Eq(false),
                1 => Gate::Eq(true),
                _ => {
                    return Err(self.last_expected("0 or 1"));
                }
            },
            _ => {
                return Err(self.last_expected(KINDS));
            }
        })
    }
}

fn parse_shape(word: &str) -> Option<Shape> {
    let (lanes, width) = match word.split_once('x') {
        Some((lanes, width)) => (lanes.parse().ok()?, width),
        None => (1, word),
    };
    let width = width.strip_prefix('b')?.parse().ok()?;
    Some(Shape { lanes, width })
}
