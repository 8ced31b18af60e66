//! Where own inputs come from: the submitter, or a data set of the owner, as the terms of an approval say.

use std::collections::BTreeMap;
use std::sync::Arc;

use cenote_data::{DataError, DataSet};
use cenote_job::json;
use cenote_program::Input;
use serde_json::Value;
use zeroize::Zeroize;

use crate::error::ServiceError;
use crate::model::{NewJob, Source};
use crate::permit::{given, number};

/// The data set that a source takes from, if it does.
pub(crate) fn dataset(source: &Source) -> Option<&str> {
    match source {
        Source::Table { dataset, .. } | Source::Record { dataset, .. } => Some(dataset),
        Source::Submitter | Source::Public { .. } => None,
    }
}

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
            let value = given(&job.select, parameter).map_err(ServiceError::invalid)?;
            let columns = fields(name, ports, columns);
            let record = dataset(data)?.record(key, value, &pairs(&columns));
            record.map(|value| whole(ports, value)).map_err(unusable)
        }
        Some(Source::Public { parameter, .. }) => {
            // How small it may be the approval was asked before its use was spent.
            number(&job.select, parameter).map(Value::from).map_err(ServiceError::invalid)
        }
    }
}

/// Settles a source when it is approved. Every record of its data set is tried, for one that does not fit would be found by a job, at the price of
/// a use.
///
/// # Errors
/// A data set that is not bound, or not the file that was; columns that are not there; cells that do not fit, with row and column.
pub(crate) fn settle(
    source: &mut Source,
    name: &str,
    ports: &[&Input],
    dataset: impl Fn(&str) -> Result<Arc<DataSet>, ServiceError>,
) -> Result<(), ServiceError> {
    match source {
        Source::Submitter => Ok(()),
        Source::Public { parameter, least } => {
            let [port] = ports else {
                return Err(ServiceError::invalid(format!("`{name}` is not one whole number")));
            };
            fits(name, port, &Value::from(*least)).map_err(|what| {
                let what = format!("`{name}` cannot be {least}, of `{parameter}`: {what}");
                ServiceError::invalid(what)
            })
        }
        Source::Table { dataset: data, columns } => {
            let (columns, data) = (fields(name, ports, columns), dataset(data)?);
            let table = data.table(&pairs(&columns)).map_err(unusable)?;
            let table = whole(ports, table);
            ports.iter().try_for_each(|port| {
                fits(name, port, &table)
                    .map_err(|what| misfit(&data, None, name, port, &columns, &what))
            })
        }
        Source::Record { dataset: data, key, columns, .. } => {
            let data = dataset(data)?;
            name_column(&data, key, columns, name, ports);
            // The key is there as well.
            data.row(0, &[("", key)]).map_err(unusable)?;
            let columns = fields(name, ports, columns);
            (0..data.rows()).try_for_each(|row| {
                let record = whole(ports, data.row(row, &pairs(&columns)).map_err(unusable)?);
                ports.iter().try_for_each(|port| {
                    fits(name, port, &record)
                        .map_err(|what| misfit(&data, Some(row), name, port, &columns, &what))
                })
            })
        }
    }
}

/// Names the column of a single cell where the terms do not: the only one of the data set beside the key. It becomes part of the terms that the
/// owner signs, so that a file that is bound later chooses no other.
fn name_column(
    data: &DataSet,
    key: &str,
    columns: &mut BTreeMap<String, String>,
    name: &str,
    ports: &[&Input],
) {
    let names = || data.schema().columns.iter().map(|column| &column.name);
    if is_record(ports) || !columns.is_empty() || names().any(|column| column == name) {
        return;
    }
    let mut others = names().filter(|column| *column != key);
    if let (Some(only), None) = (others.next(), others.next()) {
        columns.insert(name.to_owned(), only.clone());
    }
}

/// Whether a value becomes what a port takes; if not, why, without the value.
fn fits(name: &str, port: &Input, value: &Value) -> Result<(), String> {
    let words = json::from_value(name, &[port], value)?.concat();
    let mut bits = port.parse(&words.join(",")).map_err(|error| error.to_string())?;
    bits.zeroize();
    Ok(())
}

/// The words for a cell that does not fit.
fn misfit(
    data: &DataSet,
    row: Option<usize>,
    name: &str,
    port: &Input,
    columns: &[(String, String)],
    what: &str,
) -> ServiceError {
    let field = field(name, port);
    let column = columns.iter().find(|(known, _)| known == field).or(columns.first());
    let column = column.map_or(field, |(_, column)| column.as_str());
    let row = row.map_or_else(String::new, |row| format!(", row {} (the first is row 1)", row + 1));
    ServiceError::invalid(format!("{}{row}, column `{column}`: {what}", data.name()))
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
