//! How answers of a service look to people.

use serde_json::{Value, json};
use time::OffsetDateTime;

/// A time of the API, milliseconds since 1970, as people read it; what is none stays as it is.
pub(super) fn when(millis: &Value) -> Value {
    let Some(millis) = millis.as_i64() else { return millis.clone() };
    let time = OffsetDateTime::from_unix_timestamp_nanos(i128::from(millis) * 1_000_000);
    time.map_or_else(
        |_| json!(millis),
        |time| {
            let (date, clock) = (time.date(), time.time());
            json!(format!(
                "{:04}-{:02}-{:02} {:02}:{:02}:{:02}Z",
                date.year(),
                u8::from(date.month()),
                date.day(),
                clock.hour(),
                clock.minute(),
                clock.second()
            ))
        },
    )
}

/// Rows under a head, in columns.
pub(super) fn lines<const N: usize>(
    head: &[&str; N],
    rows: impl Iterator<Item = Vec<String>>,
) -> String {
    let head = head.iter().map(|word| (*word).to_owned()).collect();
    let rows: Vec<Vec<String>> = std::iter::once(head).chain(rows).collect();
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|word| word.chars().count()).max()
    };
    let widths: Vec<usize> = (0..N).map(|column| width(column).unwrap_or_default()).collect();
    let line = |row: &Vec<String>| {
        let words = row.iter().zip(&widths).map(|(word, &width)| format!("{word:width$}"));
        format!("{}\n", words.collect::<Vec<_>>().join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_utc() {
        assert_eq!(when(&json!(0)), json!("1970-01-01 00:00:00Z"));
        assert_eq!(when(&json!(1_700_000_000_999_i64)), json!("2023-11-14 22:13:20Z"));
        assert_eq!(when(&Value::Null), Value::Null);
        assert_eq!(when(&json!(i64::MAX)), json!(i64::MAX));
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_word() {
        let rows = [vec!["x".to_owned(), "12".to_owned()], vec!["long".to_owned(), "3".to_owned()]];
        assert_eq!(lines(&["a", "b"], rows.into_iter()), "a     b\nx     12\nlong  3\n");
    }
}
