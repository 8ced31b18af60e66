//! Where own inputs come from: the submitter, or a data set of the owner, as the terms of an approval say.

use std::collections::BTreeMap;
use std::sync::Arc;

use cenote_data::{DataError, DataSet};
use cenote_program::Input;
use serde_json::Value;

use crate::error::ServiceError;
use crate::model::{NewJob, Source};

/// The JSON of an own input, from where the terms say.
pub(crate) fn input(
    source: Option<&Source>,
    name: &str,
    ports: &[&Input],
    job: &NewJob,
    dataset: impl Fn(&str) -> Result<Arc<DataSet>, ServiceError>,
) -> Result<Value, ServiceError> {
    match source {
        None | Some(Source::Submitter) => job.inputs.get(name).cloned().ok_or_else(|| {
            ServiceError::invalid(format!(
                "input `{name}` is the submitter's to give, and was not given"
            ))
        }),
        Some(Source::Table { dataset: data, columns }) => {
            let columns = fields(name, ports, columns);
            let table = dataset(data)?.table(&pairs(&columns));
            table.map(|value| whole(ports, value)).map_err(unusable)
        }
        Some(Source::Record { dataset: data, key, parameter, columns }) => {
            let value = job.select.get(parameter).ok_or_else(|| {
                ServiceError::invalid(format!("the public parameter `{parameter}` is missing"))
            })?;
            let columns = fields(name, ports, columns);
            let record = dataset(data)?.record(key, value, &pairs(&columns));
            record.map(|value| whole(ports, value)).map_err(unusable)
        }
    }
}

/// Names the column of a single cell where the terms do not: the only one of the data set beside the key. It becomes part of the terms that the
/// owner signs, so that a file that is bound later chooses no other.
///
/// # Errors
/// A data set that is not bound, or not the file that was.
pub(crate) fn settle(
    source: &mut Source,
    name: &str,
    ports: &[&Input],
    dataset: impl Fn(&str) -> Result<Arc<DataSet>, ServiceError>,
) -> Result<(), ServiceError> {
    let (dataset, key, columns) = match source {
        Source::Submitter => return Ok(()),
        Source::Table { dataset: data, .. } => return dataset(data).map(drop),
        Source::Record { dataset: data, key, columns, .. } => (dataset(data)?, key, columns),
    };
    let names = || dataset.schema().columns.iter().map(|column| &column.name);
    if is_record(ports) || !columns.is_empty() || names().any(|column| column == name) {
        return Ok(());
    }
    let mut others = names().filter(|column| *column != key);
    if let (Some(only), None) = (others.next(), others.next()) {
        columns.insert(name.to_owned(), only.clone());
    }
    Ok(())
}

/// Fields of an input and the columns they are in; of the same name where the terms say nothing.
fn fields(
    name: &str,
    ports: &[&Input],
    columns: &BTreeMap<String, String>,
) -> Vec<(String, String)> {
    if !columns.is_empty() {
        return columns.iter().map(|(field, column)| (field.clone(), column.clone())).collect();
    }
    let mut all: Vec<&str> = ports.iter().map(|port| field(name, port)).collect();
    all.dedup();
    all.into_iter().map(|field| (field.to_owned(), field.to_owned())).collect()
}

/// The field of an input that a port is; the input itself if it has none.
fn field<'a>(name: &'a str, port: &'a Input) -> &'a str {
    port.path.steps().get(1).map_or(name, |step| step.name.as_str())
}

fn pairs(columns: &[(String, String)]) -> Vec<(&str, &str)> {
    columns.iter().map(|(field, column)| (field.as_str(), column.as_str())).collect()
}

fn is_record(ports: &[&Input]) -> bool {
    !matches!(ports, [port] if port.path.steps().len() == 1)
}

/// An input that is no record is its only column.
fn whole(ports: &[&Input], value: Value) -> Value {
    match value {
        Value::Object(mut fields) if !is_record(ports) => {
            fields.values_mut().next().map(Value::take).unwrap_or_default()
        }
        value => value,
    }
}

fn unusable(error: DataError) -> ServiceError {
    ServiceError::invalid(error.to_string())
}
