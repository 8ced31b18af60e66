//! Checks of a text before Garble's compiler sees it: its scanner loops on a comment without an
//! end, its parser on a `match` with an error in it, and both it and the type checker go as deep
//! into themselves as the text is nested and its functions call each other. All of that would end
//! the process.

use garble_lang::UntypedProgram;
use garble_lang::parse::ParseError;
use garble_lang::scan::Tokens;
use garble_lang::token::{MetaInfo, Token, TokenEnum};

/// Characters of one function within each other, and operators one after the other, at most.
const MAX_DEPTH: usize = 4000;
/// The same, summed over the functions, which may call each other in a chain.
const MAX_CHAIN: usize = 40_000;
/// Where a token stands that is not in the text.
const BEHIND: MetaInfo = MetaInfo { start: (usize::MAX, 0), end: (usize::MAX, 0) };

/// Offset of a block comment without an end, if there is one.
pub(super) fn open_comment(text: &str) -> Option<usize> {
    let (mut at, mut open) = (0, Vec::new());
    while at < text.len() {
        let rest = &text.as_bytes()[at..];
        at += match rest {
            [b'/', b'*', ..] => {
                open.push(at);
                2
            }
            [b'*', b'/', ..] if !open.is_empty() => {
                open.pop();
                2
            }
            [b'/', b'/', ..] if open.is_empty() => {
                rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len())
            }
            _ => 1,
        };
    }
    open.first().copied()
}

/// The first token that is too deep. Within a bracket every token of an element or statement may be a
/// level, as in `!!!x`, `x + x + x` or `if a {} else if b {}`.
pub(super) fn too_deep(tokens: &[Token]) -> Option<&Token> {
    let mut levels = Levels { open: vec![0], depth: 0 };
    let (mut deepest, mut chain) = (0, 0);
    for (at, token) in tokens.iter().enumerate() {
        if token.0 == TokenEnum::KeywordFn {
            chain += std::mem::take(&mut deepest);
        }
        levels.pass(&token.0, tokens.get(at + 1).map(|next| &next.0));
        deepest = deepest.max(levels.depth);
        if levels.depth > MAX_DEPTH || chain + deepest > MAX_CHAIN {
            return Some(token);
        }
    }
    None
}

/// How deep the tokens read so far are nested.
struct Levels {
    /// Levels of each open bracket's last element or statement.
    open: Vec<usize>,
    /// Their sum.
    depth: usize,
}

impl Levels {
    fn pass(&mut self, token: &TokenEnum, next: Option<&TokenEnum>) {
        if closes(token) && self.open.len() > 1 {
            self.depth -= self.open.pop().unwrap_or_default();
        }
        let Some(level) = self.open.last_mut() else { return };
        let ends_block = *token == TokenEnum::RightBrace && next.is_some_and(begins);
        if ends_block || matches!(token, TokenEnum::Comma | TokenEnum::Semicolon) {
            self.depth -= std::mem::take(level);
        } else if !closes(token) {
            self.depth += 1;
            *level += 1;
        }
        if opens(token) {
            self.open.push(0);
        }
    }
}

/// The last bracket without an end.
pub(super) fn unclosed(tokens: &[Token]) -> Option<&Token> {
    let mut open = Vec::new();
    for token in tokens {
        match &token.0 {
            sign if opens(sign) => open.push(token),
            sign if closes(sign) => drop(open.pop()),
            _ => {}
        }
    }
    open.pop()
}

/// The first error of Garble's parser. After one in a `match` it looks for the end of a statement, the arrow
/// of the next clause and the bracket that closes, and does not mind the end of the text: there it finds as
/// many of them as it can want.
pub(super) fn first_error(tokens: &[Token]) -> Option<ParseError> {
    use TokenEnum::{FatArrow, RightBrace, Semicolon};
    let wanted = [RightBrace, RightBrace, FatArrow, Semicolon].into_iter().cycle();
    let behind = wanted.take(16 * tokens.len().min(MAX_DEPTH)).map(|sign| Token(sign, BEHIND));
    let tokens = Tokens(tokens.iter().cloned().chain(behind).collect());
    let parsed: Result<UntypedProgram, Vec<ParseError>> = tokens.parse();
    let first = parsed.err()?.into_iter().next()?;
    (first.1 != BEHIND).then_some(first)
}

fn opens(token: &TokenEnum) -> bool {
    matches!(token, TokenEnum::LeftParen | TokenEnum::LeftBracket | TokenEnum::LeftBrace)
}

fn closes(token: &TokenEnum) -> bool {
    matches!(token, TokenEnum::RightParen | TokenEnum::RightBracket | TokenEnum::RightBrace)
}

/// Whether a token after a block begins something new.
fn begins(token: &TokenEnum) -> bool {
    use TokenEnum::{
        Identifier, KeywordConst, KeywordEnum, KeywordFn, KeywordFor, KeywordIf, KeywordLet,
        KeywordMatch, KeywordPub, KeywordStruct,
    };
    matches!(
        token,
        Identifier(_)
            | KeywordConst
            | KeywordEnum
            | KeywordFn
            | KeywordFor
            | KeywordIf
            | KeywordLet
            | KeywordMatch
            | KeywordPub
            | KeywordStruct
    )
}
