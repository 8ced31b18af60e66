//! Values in JSON, in the structure of the input or output that they are of.

use cenote_program::{Input, Kind, Module, Output, PathStep};
use serde_json::{Map, Value, json};

/// Whether a value is JSON: numbers and lists of them begin otherwise.
pub fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['[', '{'])
}

/// The words of each port of the input or record `name`, in the order of its lanes: records are objects,
/// arrays and tuples lists, tables lists of rows or objects of columns.
///
/// # Errors
/// What is wrong with it, without the values.
pub fn from_json(name: &str, ports: &[&Input], text: &str) -> Result<Vec<Vec<String>>, String> {
    let value: Value =
        serde_json::from_str(text).map_err(|error| format!("`{name}`: no JSON: {error}"))?;
    from_value(name, ports, &value)
}

/// [`from_json`] of a value that was read.
///
/// # Errors
/// As there.
pub fn from_value(name: &str, ports: &[&Input], value: &Value) -> Result<Vec<Vec<String>>, String> {
    let words = |port: &&Input| {
        let refuse = |what: String| format!("`{}`: {what}", port.name);
        let (sizes, rest) = split(port.path.steps(), name).ok_or_else(|| {
            refuse(format!("is no part of a record `{name}`; give it by its own name"))
        })?;
        let mut words = Vec::with_capacity(port.shape.lanes as usize);
        collect(value, &sizes, rest, &mut words).map_err(refuse)?;
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
        (Value::Bool(_) | Value::Number(_) | Value::String(_), [size, ..], []) => {
            Err(format!("an array of {size} items is needed, such as [1,2,3]"))
        }
        _ => {
            Err("the JSON has another structure; `cenote program info` shows the input's"
                .to_owned())
        }
    }
}

/// Outputs by name: records are objects, tuples lists; `None`, for what the other party alone receives, is null.
#[must_use]
pub fn outputs(module: &Module, outputs: &[Option<Vec<bool>>]) -> Map<String, Value> {
    let value = |(port, bits): (&Output, &Option<Vec<bool>>)| {
        bits.as_ref().map_or(Value::Null, |bits| typed_value(port, bits))
    };
    let ports = module.outputs();
    let values = ports.iter().zip(outputs).map(value);
    by_name(ports.iter().zip(values).map(|(port, value)| (port.path.steps(), value)).collect())
}

/// A value of an output as JSON: one entry, or lists in the sizes of its array.
#[must_use]
pub fn typed_value(port: &Output, bits: &[bool]) -> Value {
    let word = |text: String| match port.kind {
        Kind::Bool => json!(text == "true"),
        // Larger ones would not survive readers that take all numbers for doubles.
        Kind::UInt | Kind::Int if port.shape.width <= 53 => {
            text.parse::<i64>().map_or(json!(text), |number| json!(number))
        }
        Kind::Fixed { .. } if port.shape.width <= 53 => {
            text.parse::<f64>().map_or(json!(text), |number| json!(number))
        }
        _ => json!(text),
    };
    let sizes: Vec<u32> = port.path.sizes().collect();
    let words = port.show(bits);
    if port.kind == Kind::Bits && port.shape.width == 1 && sizes.len() == 1 {
        // Bits side by side, as they are given.
        return json!(words.concat());
    }
    nested(&sizes, &mut words.into_iter().map(word))
}

/// Words in the places of an array of these sizes.
fn nested(sizes: &[u32], words: &mut impl Iterator<Item = Value>) -> Value {
    match sizes {
        [] => words.next().unwrap_or_default(),
        [first, rest @ ..] => (0..*first).map(|_| nested(rest, words)).collect(),
    }
}

/// A value, and the steps that lead to it.
pub type Part<'p> = (&'p [PathStep], Value);

/// The object with these parts, which stand together where their first steps are the same.
#[must_use]
pub fn by_name(parts: Vec<Part<'_>>) -> Map<String, Value> {
    let mut groups: Vec<(&str, Vec<Part<'_>>)> = Vec::new();
    for (steps, value) in parts {
        let Some((first, rest)) = steps.split_first() else { continue };
        match groups.last_mut() {
            Some((name, group)) if *name == first.name => group.push((rest, value)),
            _ => groups.push((&first.name, vec![(rest, value)])),
        }
    }
    let whole = |mut group: Vec<Part<'_>>| match group.first() {
        Some(([], _)) => group.swap_remove(0).1,
        _ => tuple_or_record(by_name(group)),
    };
    groups.into_iter().map(|(name, group)| (name.to_owned(), whole(group))).collect()
}

/// A list of what is numbered from 0 on.
fn tuple_or_record(mut named: Map<String, Value>) -> Value {
    if (0..named.len()).all(|i| named.contains_key(&i.to_string())) {
        return (0..named.len()).filter_map(|i| named.remove(&i.to_string())).collect();
    }
    Value::Object(named)
}
