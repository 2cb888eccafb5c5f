//! JSON written as it comes, without a tree of values: the answer's few fields and long strings.
//!
//! Used by `review` alone.

use std::fmt::{self, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// A JSON text in the making.
pub(super) struct Json(Vec<u8>);

impl Json {
    pub(super) fn with_capacity(bytes: usize) -> Self {
        Self(Vec::with_capacity(bytes))
    }

    /// JSON as it stands.
    pub(super) fn raw(&mut self, json: &str) {
        self.0.extend_from_slice(json.as_bytes());
    }

    /// A string, escaped while it is written.
    pub(super) fn text(&mut self, write: impl FnOnce(&mut dyn Write) -> fmt::Result) {
        self.raw("\"");
        // Writing to memory does not fail.
        let _ = write(&mut Escaped(&mut self.0));
        self.raw("\"");
    }

    /// Bytes in base64, which needs no escapes.
    pub(super) fn base64(&mut self, bytes: &[u8]) {
        let start = self.0.len();
        // Four characters for each three bytes, the last of them padded.
        self.0.resize(start + bytes.len().div_ceil(3) * 4, b'=');
        // It fits exactly.
        let _ = STANDARD.encode_slice(bytes, &mut self.0[start..]);
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

/// Whether any byte of a string has to be escaped. That is rare and asked of every byte of an
/// answer, so it is done many bytes at a time.
fn needs_escapes(text: &[u8]) -> bool {
    let (wide, rest) = text.as_chunks::<32>();
    let (words, tail) = rest.as_chunks();
    wide.iter().any(any_escapes_wide)
        || words.iter().any(|word| any_escapes(*word))
        || match text.last_chunk() {
            // Some bytes are looked at twice.
            Some(last) => any_escapes(*last),
            None => tail.iter().any(|b| escapes(*b) != 0),
        }
}

fn escapes(b: u8) -> u8 {
    u8::from(b < 0x20) | u8::from(b == b'"') | u8::from(b == b'\\')
}

/// Without a branch, so that the compiler makes vector instructions of it.
fn any_escapes_wide(bytes: &[u8; 32]) -> bool {
    bytes.iter().fold(0, |found, b| found | escapes(*b)) != 0
}

/// The zero-byte trick on a word, for `"`, for `\` and for everything below a space.
fn any_escapes(bytes: [u8; 8]) -> bool {
    const ONES: u64 = u64::MAX / 255;
    const HIGH: u64 = ONES << 7;
    let word = u64::from_ne_bytes(bytes);
    let below = |word: u64, limit: u8| word.wrapping_sub(ONES * u64::from(limit)) & !word;
    let equal = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    (below(word, 0x20) | equal(b'"') | equal(b'\\')) & HIGH != 0
}

/// Text inside a JSON string.
struct Escaped<'o>(&'o mut Vec<u8>);

impl Write for Escaped<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if !needs_escapes(text.as_bytes()) {
            self.0.extend_from_slice(text.as_bytes());
            return Ok(());
        }
        let mut plain = 0;
        for (i, byte) in text.bytes().enumerate() {
            let escape: &[u8] = match byte {
                b'"' => b"\\\"",
                b'\\' => b"\\\\",
                b'\n' => b"\\n",
                0..=0x1f => {
                    const HEX: &[u8; 16] = b"0123456789abcdef";
                    let (high, low) = (usize::from(byte >> 4), usize::from(byte & 15));
                    self.0.extend_from_slice(&text.as_bytes()[plain..i]);
                    self.0
                        .extend_from_slice(&[b'\\', b'u', b'0', b'0', HEX[high], HEX[low]]);
                    plain = i + 1;
                    continue;
                }
                _ => continue,
            };
            self.0.extend_from_slice(&text.as_bytes()[plain..i]);
            self.0.extend_from_slice(escape);
            plain = i + 1;
        }
        self.0.extend_from_slice(&text.as_bytes()[plain..]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_every_byte_at_every_place() {
        for byte in 0..0x80u8 {
            for place in 0..20 {
                let mut text = "abcdefghijklmnopqrst".to_owned().into_bytes();
                text[place] = byte;
                let text = String::from_utf8(text).unwrap();
                let mut json = Json::with_capacity(0);
                json.text(|out| out.write_str(&text));
                let back: String = serde_json::from_slice(&json.into_bytes()).unwrap();
                assert_eq!(back, text);
            }
        }
    }

    #[test]
    fn escapes_as_json_does() {
        let text = "a\"b\\c\nd\u{1}e\u{1f}\u{7f}é\u{2028}🙂";
        let mut json = Json::with_capacity(0);
        json.text(|out| out.write_str(text));
        let back: String = serde_json::from_slice(&json.into_bytes()).unwrap();
        assert_eq!(back, text);
    }
}
