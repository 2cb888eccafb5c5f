//! The tree as JSON, as kubectl makes it: what a plain scalar looks like decides what it is.
//!
//! YAML 1.1 as Go's yaml.v2 reads it: `yes` is true, 0777 is octal, 1_000 is a thousand. Written as it
//! comes, without a second tree.

use std::borrow::Cow;

use serde_json::Number;

use super::{Flaw, Key, Node, Scalar, Value, bool, is_null, repeated};

impl Node {
    /// The JSON that kubectl would send, put behind what is there. Of a key that stands there
    /// twice the last one counts.
    ///
    /// # Errors
    /// A number or a key that JSON does not have.
    pub fn write_json(&self, out: &mut Vec<u8>) -> Result<(), Flaw> {
        match &self.value {
            Value::Scalar(scalar) => self.write_scalar(scalar, out),
            Value::List(list) => {
                out.push(b'[');
                for (i, node) in list.iter().enumerate() {
                    if i > 0 {
                        out.push(b',');
                    }
                    node.write_json(out)?;
                }
                out.push(b']');
                Ok(())
            }
            Value::Map(map) => {
                let mut stale = vec![false; map.len()];
                for (first, _) in repeated(map) {
                    stale[first] = true;
                }
                out.push(b'{');
                let counting = map.iter().zip(stale).filter(|(_, stale)| !stale);
                for (i, ((key, node), _)) in counting.enumerate() {
                    if i > 0 {
                        out.push(b',');
                    }
                    key.write_json(out)?;
                    out.push(b':');
                    node.write_json(out)?;
                }
                out.push(b'}');
                Ok(())
            }
        }
    }

    fn write_scalar(&self, scalar: &Scalar, out: &mut Vec<u8>) -> Result<(), Flaw> {
        match Meaning::of(&scalar.text, scalar.plain) {
            Meaning::Null => out.extend(b"null"),
            Meaning::Bool(value) => out.extend(if value { "true" } else { "false" }.bytes()),
            Meaning::Number(number) => out.extend(number.to_string().bytes()),
            Meaning::Text => string(&scalar.text, out),
            Meaning::NoNumber => {
                return Err(Flaw {
                    place: self.place,
                    problem: format!("{} is no number that JSON has; quote it", scalar.text),
                });
            }
        }
        Ok(())
    }
}

impl Scalar {
    /// It is a text for kubectl, and no number, no boolean, nothing of that kind.
    pub(crate) fn is_text(&self) -> bool {
        matches!(Meaning::of(&self.text, self.plain), Meaning::Text)
    }
}

impl Key {
    /// The name that it is: `yes` is `true`, 010 is `8`.
    fn write_json(&self, out: &mut Vec<u8>) -> Result<(), Flaw> {
        match Meaning::of(&self.text, self.plain) {
            Meaning::Null => {
                return Err(Flaw {
                    place: self.place,
                    problem: "a key cannot be null; quote it".to_owned(),
                });
            }
            Meaning::Bool(value) => string(if value { "true" } else { "false" }, out),
            Meaning::Number(number) => string(&number.to_string(), out),
            Meaning::Text | Meaning::NoNumber => string(&self.text, out),
        }
        Ok(())
    }
}

/// Writing a string to memory does not fail.
fn string(text: &str, out: &mut Vec<u8>) {
    let _ = serde_json::to_writer(out, text);
}

/// What kubectl takes a scalar for.
enum Meaning {
    Null,
    Bool(bool),
    Number(Number),
    /// Infinity and not-a-number.
    NoNumber,
    Text,
}

impl Meaning {
    fn of(text: &str, plain: bool) -> Self {
        if !plain {
            return Self::Text;
        }
        if is_null(text) {
            return Self::Null;
        }
        if let Some(value) = bool(text) {
            return Self::Bool(value);
        }
        if is_no_number(text) {
            return Self::NoNumber;
        }
        number(text).map_or(Self::Text, Self::Number)
    }
}

fn is_no_number(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    [".inf", ".Inf", ".INF"].contains(&unsigned) || [".nan", ".NaN", ".NAN"].contains(&text)
}

fn number(text: &str) -> Option<Number> {
    if !text.starts_with(|c: char| matches!(c, '+' | '-' | '.') || c.is_ascii_digit()) {
        return None;
    }
    let plain = match text.contains('_') {
        true => Cow::Owned(text.replace('_', "")),
        false => Cow::Borrowed(text),
    };
    let (negative, digits) = match plain.strip_prefix(['+', '-']) {
        Some(digits) => (plain.starts_with('-'), digits),
        None => (false, &*plain),
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
    let radix = [
        ("0x", 16),
        ("0X", 16),
        ("0b", 2),
        ("0B", 2),
        ("0o", 8),
        ("0O", 8),
        ("0", 8),
    ];
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
    use serde_json::{Value, json};

    use crate::yaml::{Flaw, documents};

    fn json_of(yaml: &str) -> Result<Value, Flaw> {
        let mut json = Vec::new();
        documents(yaml)?[0].write_json(&mut json)?;
        Ok(serde_json::from_slice(&json).unwrap())
    }

    #[test]
    fn scalars_are_what_kubectl_takes_them_for() {
        for (yaml, want) in [
            ("yes", json!(true)),
            ("On", json!(true)),
            ("off", json!(false)),
            ("y", json!(true)),
            ("N", json!(false)),
            ("tRUE", json!("tRUE")),
            ("'yes'", json!("yes")),
            ("~", json!(null)),
            ("Null", json!(null)),
            ("0777", json!(511)),
            ("0o777", json!(511)),
            ("0x1F", json!(31)),
            ("0b101", json!(5)),
            ("0B101", json!(5)),
            ("0O17", json!(15)),
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
            ("!!int \"0x1f\"", json!(31)),
            ("!secret 5", json!("5")),
            ("!secret [1]", json!([1])),
            ("0777_7", json!(4095)),
            ("-0x1", json!(-1)),
            ("0o8", json!("0o8")),
            ("_1", json!("_1")),
            ("18446744073709551616", json!(18446744073709551616.0)),
            ("\"5\"", json!("5")),
            ("|\n  5", json!("5\n")),
            ("-", json!([null])),
            ("+", json!("+")),
            (".", json!(".")),
        ] {
            let yaml = format!("a: {yaml}\n").replace("a: -\n", "a:\n-\n");
            assert_eq!(json_of(&yaml).unwrap()["a"], want, "{yaml}");
        }
        for yaml in [".inf", "-.INF", ".nan"] {
            assert!(json_of(&format!("a: {yaml}\n")).is_err(), "{yaml}");
        }
        let flaw = json_of("a: {b: 1, ~: c}").unwrap_err();
        assert_eq!(flaw.place.to_string(), "1:11");
    }

    #[test]
    fn keys_are_names() {
        assert_eq!(
            json_of("{1: a, yes: b, 010: c, 1.50: d, 'n': e, x: {2: f}}").unwrap(),
            json!({"1": "a", "true": "b", "8": "c", "1.5": "d", "n": "e", "x": {"2": "f"}}),
        );
    }

    #[test]
    fn the_last_of_two_keys_counts() {
        let json = json_of("a: 1\nb: 2\na: 3\n");
        assert_eq!(json, Ok(json!({"a": 3, "b": 2})));
    }
}
