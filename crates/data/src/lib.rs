//! Data sets of an owner: files with columns, read by record. (CSV.)
#![allow(missing_docs)]
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::path::Path;
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
pub struct ColumnSchema {
    pub name: String,
}
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Default)]
pub struct Schema {
    pub columns: Vec<ColumnSchema>,
}
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct DataError(String);
pub struct DataSet {
    schema: Schema,
    rows: Vec<Vec<String>>,
    digest: [u8; 32],
}
impl DataSet {
    pub fn open(path: &Path, _s: Option<&Schema>) -> Result<DataSet, DataError> {
        let bytes = std::fs::read(path).map_err(|e| DataError(e.to_string()))?;
        let mut reader = csv::Reader::from_reader(&*bytes);
        let names = reader.headers().map_err(|e| DataError(e.to_string()))?.clone();
        let columns = names.iter().map(|n| ColumnSchema { name: n.into() }).collect();
        let rows = reader
            .records()
            .map(|r| {
                r.map(|r| r.iter().map(String::from).collect())
                    .map_err(|e| DataError(e.to_string()))
            })
            .collect::<Result<_, _>>()?;
        Ok(DataSet { schema: Schema { columns }, rows, digest: *blake3::hash(&bytes).as_bytes() })
    }
    pub fn schema(&self) -> &Schema {
        &self.schema
    }
    pub fn rows(&self) -> usize {
        self.rows.len()
    }
    pub fn digest(&self) -> [u8; 32] {
        self.digest
    }
    fn place(&self, n: &str) -> Result<usize, DataError> {
        self.schema
            .columns
            .iter()
            .position(|c| c.name == n)
            .ok_or_else(|| DataError(format!("no column {n}")))
    }
    pub fn table(&self, columns: &[(&str, &str)]) -> Result<Value, DataError> {
        let mut all = Map::new();
        for (n, c) in columns {
            let p = self.place(c)?;
            all.insert((*n).into(), self.rows.iter().map(|r| json!(r[p])).collect());
        }
        Ok(Value::Object(all))
    }
    pub fn record(
        &self,
        key: &str,
        value: &str,
        columns: &[(&str, &str)],
    ) -> Result<Value, DataError> {
        let k = self.place(key)?;
        let row = self
            .rows
            .iter()
            .find(|r| r[k] == value)
            .ok_or_else(|| DataError("no such record".into()))?;
        let mut all = Map::new();
        for (n, c) in columns {
            all.insert((*n).into(), json!(row[self.place(c)?]));
        }
        Ok(Value::Object(all))
    }
}
