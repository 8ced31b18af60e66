//! Values in JSON, in the structure of the input that they are for.

use cenote_program::{Input, PathStep};
use serde_json::Value;

/// Whether a value is JSON: numbers and lists of them begin otherwise.
pub(crate) fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['[', '{'])
}

/// The words of each port of the input or record `name`, in the order of its lanes: records are objects,
/// arrays and tuples lists, tables lists of rows or objects of columns.
pub(crate) fn from_json(
    name: &str,
    ports: &[&Input],
    text: &str,
) -> Result<Vec<Vec<String>>, String> {
    let value: Value =
        serde_json::from_str(text).map_err(|error| format!("`{name}`: no JSON: {error}"))?;
    let words = |port: &&Input| {
        let refuse = |what: String| format!("`{}`: {what}", port.name);
        let (sizes, rest) = split(port.path.steps(), name).ok_or_else(|| {
            refuse(format!("is no part of a record `{name}`; give it by its own name"))
        })?;
        let mut words = Vec::with_capacity(port.shape.lanes as usize);
        collect(&value, &sizes, rest, &mut words).map_err(refuse)?;
        Ok(words)
    };
    ports.iter().map(words).collect()
}

/// The sizes of the steps of a path that `name` names, and the steps after them.
fn split<'p>(steps: &'p [PathStep], name: &str) -> Option<(Vec<u32>, &'p [PathStep])> {
    let (mut left, mut sizes) = (name, Vec::new());
    for (i, step) in steps.iter().enumerate() {
        left = left.strip_prefix(step.name.as_str())?;
        sizes.extend_from_slice(&step.sizes);
        if left.is_empty() {
            return Some((sizes, &steps[i + 1..]));
        }
        left = left.strip_prefix('.')?;
    }
    None
}

/// Appends the words at the end of the steps `rest` of all items of a value that is an array of `sizes`.
fn collect(
    value: &Value,
    sizes: &[u32],
    rest: &[PathStep],
    words: &mut Vec<String>,
) -> Result<(), String> {
    match (value, sizes, rest) {
        // A record, or a table as columns, which have the sizes of the table.
        (Value::Object(fields), _, [first, rest @ ..]) => {
            let part = fields.get(&first.name);
            let part = part.ok_or_else(|| format!("the JSON has no `{}`", first.name))?;
            collect(part, &[sizes, &first.sizes].concat(), rest, words)
        }
        (Value::Array(items), [size, sizes @ ..], _) => {
            if items.len() != *size as usize {
                return Err(format!("{size} items are needed, {} were given", items.len()));
            }
            items.iter().try_for_each(|item| collect(item, sizes, rest, words))
        }
        (Value::Array(parts), [], [first, rest @ ..]) => {
            let part = first.name.parse().ok().and_then(|place: usize| parts.get(place));
            let part = part.ok_or_else(|| format!("the JSON has no part `{}`", first.name))?;
            collect(part, &first.sizes, rest, words)
        }
        // Bits side by side, as they are shown.
        (Value::String(bits), [size], []) if bits.len() == *size as usize => {
            words.extend(bits.chars().map(String::from));
            Ok(())
        }
        (Value::String(word), [], []) if !word.contains([',', '\n']) => {
            words.push(word.clone());
            Ok(())
        }
        (Value::Bool(_) | Value::Number(_), [], []) => {
            words.push(value.to_string());
            Ok(())
        }
        _ => {
            Err("the JSON has another structure; `cenote program info` shows the input's"
                .to_owned())
        }
    }
}
