//! `--fix`: what becomes of a text, by hand.

use transom::check::{Fixed, Options, fix};

fn fixed(text: &str) -> Fixed {
    fix(text.as_bytes(), &Options::default(), &|_| true)
}

#[test]
fn zz() {
    let fixed = fixed(&std::fs::read_to_string(std::env::var("ZZ").unwrap()).unwrap());
    println!("{}", fixed.texts[1]);
    println!("{:?}", fixed.left);
}
