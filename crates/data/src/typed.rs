//! Values of files with typed columns, in the one way in which cells are written. No error has the value.

use crate::MAX_CELL;
use crate::table::too_long;

/// Days from the first Julian day to the first of 1970.
const JULIAN_1970: i32 = 2_440_588;
/// Most digits of a decimal: those that 128 bits hold.
pub(crate) const MAX_DIGITS: u32 = 38;

/// A decimal number: `value` divided by 10^`scale`, with all its digits.
pub(crate) fn decimal(value: i128, scale: u32) -> Result<String, String> {
    if value.unsigned_abs() >= 10_u128.pow(MAX_DIGITS) {
        return Err(format!("the decimal has more than {MAX_DIGITS} digits"));
    }
    let scale = scale as usize;
    let sign = if value < 0 { "-" } else { "" };
    let digits = format!("{:0>1$}", value.unsigned_abs(), scale + 1);
    let (whole, part) = digits.split_at(digits.len() - scale);
    Ok(if scale == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{part}") })
}

/// A decimal number in big-endian bytes, as Parquet has them.
pub(crate) fn decimal_bytes(bytes: &[u8], scale: u32) -> Result<String, String> {
    let fill = if bytes.first().is_some_and(|first| first & 0x80 != 0) { 0xff } else { 0 };
    let (more, last) = bytes.split_at(bytes.len().saturating_sub(16));
    if more.iter().any(|byte| *byte != fill) {
        return Err(format!("the decimal has more than {MAX_DIGITS} digits"));
    }
    let mut all = [fill; 16];
    all[16 - last.len()..].copy_from_slice(last);
    decimal(i128::from_be_bytes(all), scale)
}

/// A number from its shortest text; it keeps a point, so that it is no integer.
pub(crate) fn float(is_finite: bool, mut shortest: String) -> Result<String, String> {
    if !is_finite {
        return Err("the cell is no finite number (NaN or infinity)".into());
    }
    if !shortest.contains('.') {
        shortest.push_str(".0");
    }
    Ok(shortest)
}

/// A date as ISO 8601 has it, from days since 1970.
pub(crate) fn date(days: i32) -> Result<String, String> {
    let date = days.checked_add(JULIAN_1970).and_then(|day| time::Date::from_julian_day(day).ok());
    date.map(|date| date.to_string()).ok_or_else(|| "the date is out of range".into())
}

/// A text from bytes that may be none.
pub(crate) fn text(bytes: &[u8]) -> Result<String, String> {
    if bytes.len() > MAX_CELL {
        return Err(too_long());
    }
    std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| "the cell is not UTF-8".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_one_form() {
        let decimals = [
            (0, 0, "0"),
            (-5, 0, "-5"),
            (-5, 2, "-0.05"),
            (1250, 2, "12.50"),
            (7, 38, "0.00000000000000000000000000000000000007"),
        ];
        for (value, scale, text) in decimals {
            assert_eq!(decimal(value, scale).unwrap(), text);
        }
        assert!(decimal(i128::MIN, 0).is_err());
        assert_eq!(decimal_bytes(&[0xff, 0x38], 2).unwrap(), "-2.00");
        assert_eq!(decimal_bytes(&[0; 20], 1).unwrap(), "0.0");
        assert_eq!(decimal_bytes(&[], 0).unwrap(), "0");
        assert!(decimal_bytes(&[1; 17], 0).is_err());
        assert_eq!(float(true, 3_f64.to_string()).unwrap(), "3.0");
        assert_eq!(float(true, 0.1_f32.to_string()).unwrap(), "0.1");
        assert_eq!(float(true, 1e-7_f64.to_string()).unwrap(), "0.0000001");
        assert!(float(false, f64::NAN.to_string()).is_err());
        assert_eq!(date(0).unwrap(), "1970-01-01");
        assert_eq!(date(19_782).unwrap(), "2024-02-29");
        assert!(date(i32::MAX).is_err());
        assert!(text(&[0xff]).is_err() && text(&[b'a'; MAX_CELL + 1]).is_err());
    }
}
