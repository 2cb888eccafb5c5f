//! The tree as JSON, as kubectl makes it: what a plain scalar looks like decides what it is.
//!
//! YAML 1.1 as Go's yaml.v2 reads it: `yes` is true, 0777 is octal, 1_000 is a thousand.

use serde_json::{Number, Value as Json};

use super::{Flaw, Node, Scalar, Value};

impl Node {
    /// The JSON that kubectl would send. Of a key that stands there twice the last one counts.
    ///
    /// # Errors
    /// A number that JSON does not have.
    pub fn to_json(&self) -> Result<Json, Flaw> {
        match &self.value {
            Value::Scalar(scalar) => scalar.to_json().ok_or_else(|| Flaw {
                place: self.place,
                problem: format!("{} is no number that JSON has; quote it", scalar.text),
            }),
            Value::List(list) => list.iter().map(Self::to_json).collect(),
            Value::Map(map) => {
                let entries = map.iter();
                entries
                    .map(|(key, node)| Ok((key.text.clone(), node.to_json()?)))
                    .collect()
            }
        }
    }
}

impl Scalar {
    fn to_json(&self) -> Option<Json> {
        if !self.plain {
            return Some(Json::String(self.text.clone()));
        }
        if self.is_null() {
            return Some(Json::Null);
        }
        if let Some(value) = self.bool() {
            return Some(Json::Bool(value));
        }
        if is_no_number(&self.text) {
            return None;
        }
        let number = number(&self.text).map(Json::Number);
        Some(number.unwrap_or_else(|| Json::String(self.text.clone())))
    }
}

/// Infinity and not-a-number.
fn is_no_number(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    [".inf", ".Inf", ".INF"].contains(&unsigned) || [".nan", ".NaN", ".NAN"].contains(&text)
}

fn number(text: &str) -> Option<Number> {
    let plain = text.replace('_', "");
    let (negative, digits) = match plain.strip_prefix(['+', '-']) {
        Some(digits) => (plain.starts_with('-'), digits),
        None => (false, plain.as_str()),
    };
    if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    if let Some(value) = integer(digits) {
        return match (negative, i64::try_from(value)) {
            (false, _) => Some(value.into()),
            (true, Ok(value)) => Some((-value).into()),
            (true, Err(_)) if value == 1 << 63 => Some(i64::MIN.into()),
            (true, Err(_)) => float(&plain),
        };
    }
    float(&plain)
}

fn integer(digits: &str) -> Option<u64> {
    let radix = [("0x", 16), ("0X", 16), ("0b", 2), ("0o", 8), ("0", 8)];
    let all = |digits: &str, radix: u32| {
        let valid = !digits.is_empty() && digits.chars().all(|c| c.is_digit(radix));
        valid.then(|| u64::from_str_radix(digits, radix).ok())?
    };
    let prefixed = radix.iter().find_map(|(prefix, radix)| {
        let rest = digits.strip_prefix(prefix)?;
        all(rest, *radix)
    });
    prefixed.or_else(|| match digits {
        "0" => Some(0),
        _ if digits.starts_with('0') => None,
        _ => all(digits, 10),
    })
}

/// `1.5`, `.5`, `5.`, `1e3`: what the expression of yaml.v2 lets through.
fn float(text: &str) -> Option<Number> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_mantissa = digits(whole) && digits(part) && !(whole.is_empty() && part.is_empty());
    let is_exponent = exponent.is_none_or(|exponent| {
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !exponent.is_empty() && digits(exponent)
    });
    if !is_mantissa || !is_exponent {
        return None;
    }
    Number::from_f64(text.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::yaml::documents;

    #[test]
    fn scalars_are_what_kubectl_takes_them_for() {
        for (yaml, want) in [
            ("yes", json!(true)),
            ("On", json!(true)),
            ("off", json!(false)),
            ("y", json!("y")),
            ("'yes'", json!("yes")),
            ("~", json!(null)),
            ("Null", json!(null)),
            ("0777", json!(511)),
            ("0o777", json!(511)),
            ("0x1F", json!(31)),
            ("0b101", json!(5)),
            ("1_000", json!(1000)),
            ("-5", json!(-5)),
            ("+5", json!(5)),
            ("-9223372036854775808", json!(i64::MIN)),
            ("18446744073709551615", json!(u64::MAX)),
            ("0", json!(0)),
            ("-0", json!(0)),
            ("1.5", json!(1.5)),
            (".5", json!(0.5)),
            ("1e3", json!(1000.0)),
            ("1e", json!("1e")),
            ("1.2.3", json!("1.2.3")),
            ("10.0.17763", json!("10.0.17763")),
            ("089", json!(89.0)),
            ("2026-01-02", json!("2026-01-02")),
            ("64Mi", json!("64Mi")),
            ("!!str 5", json!("5")),
            ("\"5\"", json!("5")),
            ("|\n  5", json!("5\n")),
            ("-", json!([null])),
            ("+", json!("+")),
            (".", json!(".")),
        ] {
            let node = &documents(&format!("a: {yaml}\n").replace("a: -\n", "a:\n-\n")).unwrap()[0];
            assert_eq!(node.to_json().unwrap()["a"], want, "{yaml}");
        }
        for yaml in [".inf", "-.INF", ".nan"] {
            let node = &documents(&format!("a: {yaml}\n")).unwrap()[0];
            assert!(node.to_json().is_err(), "{yaml}");
        }
    }

    #[test]
    fn the_last_of_two_keys_counts() {
        let node = &documents("a: 1\nb: 2\na: 3\n").unwrap()[0];
        assert_eq!(node.to_json().unwrap(), json!({"a": 3, "b": 2}));
    }
}
