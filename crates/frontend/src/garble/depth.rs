//! What is checked of a text before Garble's compiler sees it, whose scanner loops on a comment without
//! an end, and which goes as deep into itself as the text is nested: both would end the process.

use garble_lang::token::{Token, TokenEnum};

/// Signs of a text within each other, and operators one after the other, at most.
const MAX_DEPTH: usize = 4000;

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
    let (mut levels, mut depth) = (vec![0], 0);
    for (at, token) in tokens.iter().enumerate() {
        let next = tokens.get(at + 1).map(|next| &next.0);
        let level = levels.last_mut()?;
        match token.0 {
            TokenEnum::LeftParen | TokenEnum::LeftBracket | TokenEnum::LeftBrace => {
                depth += 1;
                *level += 1;
                levels.push(0);
            }
            TokenEnum::RightParen | TokenEnum::RightBracket | TokenEnum::RightBrace => {
                if levels.len() > 1 {
                    depth -= levels.pop()?;
                }
                if token.0 == TokenEnum::RightBrace && next.is_some_and(begins) {
                    depth -= std::mem::take(levels.last_mut()?);
                }
            }
            TokenEnum::Comma | TokenEnum::Semicolon => depth -= std::mem::take(level),
            _ => {
                depth += 1;
                *level += 1;
            }
        }
        if depth > MAX_DEPTH {
            return Some(token);
        }
    }
    None
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
