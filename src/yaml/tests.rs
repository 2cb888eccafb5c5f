//! Trees and places, and texts that are none.

use super::*;

fn read(text: &str) -> Node {
    let mut all = documents(text).unwrap();
    assert_eq!(all.len(), 1, "{text}");
    all.remove(0)
}

/// Every path with the places of key and value.
fn spots(text: &str) -> Vec<String> {
    let Places(all) = read(text).places();
    let spots = all
        .iter()
        .map(|(path, spot)| format!("{path} {} {}", spot.key, spot.value));
    spots.collect()
}

#[test]
fn every_key_and_value_has_its_place() {
    assert_eq!(
        spots("a: 1\nb:\n  c: [x, {y: z}]\n  d.e: 'é'\nf:\n- g\n"),
        [
            " 1:1 1:1",
            "a 1:1 1:4",
            "b 2:1 3:3",
            "b.c 3:3 3:6",
            "b.c[0] 3:7 3:7",
            "b.c[1] 3:10 3:10",
            "b.c[1].y 3:11 3:14",
            "b[\"d.e\"] 4:3 4:8",
            "f 5:1 6:3",
            "f[0] 6:3 6:3",
        ]
    );
}

#[test]
fn nothing_is_where_its_key_is() {
    assert_eq!(
        spots("a:\n\n\nb:\n"),
        [" 1:1 1:1", "a 1:1 1:1", "b 4:1 4:1"]
    );
}

#[test]
fn an_absent_path_is_near_the_one_above_it() {
    let places = read("a: {b: [c]}").places();
    let column = |path| places.nearest(path).unwrap().value.column;
    assert_eq!(column("a.b[0].x"), 9);
    assert_eq!(column("a.b[7]"), 8);
    assert_eq!(column("a.x.y"), 4);
    assert_eq!(column("x"), 1);
}

#[test]
fn empty_documents_are_none() {
    for text in ["", "\n", "# nothing\n", "---\n", "---\n---\n", "null", "~"] {
        assert_eq!(documents(text), Ok(vec![]), "{text:?}");
    }
    assert_eq!(documents("a: 1\n---\n").unwrap().len(), 1);
    assert_eq!(documents("---\na: 1\n---\nb: 2\n...\n").unwrap().len(), 2);
}

#[test]
fn aliases_and_merge_keys_are_read_as_if_written_out() {
    let node = read("a: &x {k: 1, l: 2}\nb: *x\nc: {<<: *x, k: 3}\nd: {<<: [{k: 4}, *x]}\n");
    let places = node.places();
    assert_eq!(places.get("b.k"), places.get("a.k"));
    let Value::Map(map) = node.value else {
        panic!()
    };
    let texts = |i: usize| {
        let Value::Map(map) = &map[i].1.value else {
            panic!()
        };
        let entry =
            |(key, node): &(Key, Node)| format!("{}{}", key.text, node.scalar().unwrap().text);
        map.iter().map(entry).collect::<Vec<_>>()
    };
    assert_eq!(texts(2), ["l2", "k3"]);
    assert_eq!(texts(3), ["k4", "l2"]);
}

/// As kubectl has it: what stands behind a merge key wins over it, what stands before it does not.
#[test]
fn merge_keys_hold_from_where_they_stand() {
    let text = |text: &str| {
        let Value::Map(map) = read(text).value else {
            panic!()
        };
        let entry =
            |(key, node): &(Key, Node)| format!("{}{}", key.text, node.scalar().unwrap().text);
        map.iter().map(entry).collect::<Vec<_>>()
    };
    assert_eq!(text("{k: 1, <<: {k: 2}}"), ["k2"]);
    assert_eq!(text("{<<: {k: 2}, k: 1}"), ["k1"]);
    assert_eq!(text("{<<: {k: 2}, k: 1, k: 3}"), ["k1", "k3"]);
    assert_eq!(text("{k: 1, <<: {k: 2}, k: 3}"), ["k3"]);
    assert_eq!(text("{<<: {k: 2}, <<: {k: 3, l: 4}}"), ["k3", "l4"]);
    assert_eq!(text("{<<: {k: 2, k: 3}}"), ["k3"]);
}

#[test]
fn what_stands_before_a_flaw_is_read() {
    let Contents {
        documents, flaw, ..
    } = super::read("a: 1\n---\nb: c: d\n---\ne: 2\n", false);
    assert_eq!(documents.len(), 1);
    assert_eq!(flaw.unwrap().place.to_string(), "3:5");
}

#[test]
fn aliases_cannot_ask_for_more_than_there_is() {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x]\n".to_owned();
    for i in 1..12 {
        let list = vec![format!("*a{}", i - 1); 8].join(", ");
        text.push_str(&format!("a{i}: &a{i} [{list}]\n"));
    }
    assert!(documents(&text).unwrap_err().problem.contains("too many"));
    let mut text = format!("a0: &a0 {}x{}\n", "[".repeat(200), "]".repeat(200));
    for i in 1..1000 {
        text.push_str(&format!(
            "a{i}: &a{i} {}*a{}{}\n",
            "[".repeat(200),
            i - 1,
            "]".repeat(200)
        ));
    }
    assert!(documents(&text).unwrap_err().problem.contains("too deeply"));
    let is_too_much =
        |text: &str| assert!(documents(text).unwrap_err().problem.contains("too many"));
    // Strings and keys that are long, and anchors around anchors.
    let (long, aliases) = ("x".repeat(1 << 20), "*a, ".repeat(100));
    is_too_much(&format!("a: &a {long}\nb: [{aliases}]\n"));
    is_too_much(&format!("a: &a {{? {long} : x}}\nb: [{aliases}]\n"));
    let anchors: String = (0..100).map(|i| format!("&a{i} [")).collect();
    let (items, closed) = ("x, ".repeat(20_000), "]".repeat(100));
    is_too_much(&format!("a: {anchors}{items}{closed}\n"));
    // A script in a few places is none too much.
    let script = "x".repeat(100_000);
    assert!(documents(&format!("a: &a {script}\nb: [{aliases}]\n")).is_ok());
}

/// A map that is merged into as large a one takes no longer than both.
#[test]
fn large_maps_are_merged_in_one_go() {
    let keys: String = (0..50_000).map(|i| format!("  k{i}: x\n")).collect();
    let node = read(&format!("a: &a\n{keys}b:\n  <<: *a\n{keys}"));
    let Value::Map(map) = node.value else {
        panic!()
    };
    let Value::Map(merged) = &map[1].1.value else {
        panic!()
    };
    assert_eq!(merged.len(), 50_000);
}

#[test]
fn what_is_no_yaml_says_where() {
    for (text, place, word) in [
        ("{", "1:1", "not YAML"),
        ("a: b: c", "1:5", "quote a value"),
        ("a:\n\tb: 2", "2:2", "tab"),
        ("a: 'x", "1:4", "opened here"),
        ("{a: 'x\n---\n", "1:5", "opened here"),
        ("a: \"C:\\windows\"", "1:4", "escape"),
        ("a: *x", "1:4", "anchor"),
        ("a: &x [*x]", "1:8", "within"),
        ("? [a]\n: b", "1:3", "cannot be a list"),
        ("a: {{ b }}", "1:5", "template"),
        ("a: 1\nb", "2:1", "without \":\""),
        ("a:\n    - b\n   - c", "3:4", "indented"),
        ("a: {<<: b}", "1:9", "<<"),
        ("a: @b", "1:4", "quote it"),
    ] {
        let flaw = documents(text).unwrap_err();
        assert!(flaw.problem.contains(word), "{text:?}: {flaw:?}");
        assert_eq!(flaw.place.to_string(), place, "{text:?}: {flaw:?}");
    }
}

#[test]
fn words_are_booleans_only_where_kubectl_says_so() {
    let bool = |text: &str| read(text).scalar().unwrap().bool();
    for text in ["true", "Yes", "ON", "y", "!!bool on", "!!bool 'on'"] {
        assert_eq!(bool(text), Some(true), "{text}");
    }
    for text in ["false", "no", "Off"] {
        assert_eq!(bool(text), Some(false), "{text}");
    }
    for text in ["'true'", "tRUE", "1", "!!str on", "!on on"] {
        assert_eq!(bool(text), None, "{text}");
    }
}

#[test]
fn json_objects_may_follow_one_another() {
    let text = "{\"é\": 1} {\"b\": 2}\n{\"c\": [3]}";
    let Contents {
        documents, flaw, ..
    } = super::json_objects(text).unwrap();
    assert_eq!(flaw, None);
    let told = |node: &Node| {
        let Value::Map(map) = &node.value else {
            panic!()
        };
        let (key, value) = &map[0];
        format!("{} {} {}", key.place, &text[key.span.clone()], value.place)
    };
    let told: Vec<_> = documents.iter().map(told).collect();
    assert_eq!(told, ["1:2 \"é\" 1:7", "1:11 \"b\" 1:16", "2:2 \"c\" 2:7"]);
    for text in ["{\"a\": 1}", "{a: 1}\n{b: 2}", "{\"a\": 1} x"] {
        assert!(super::json_objects(text).is_none(), "{text}");
    }
}

#[test]
fn comments_are_told_from_texts() {
    let text = "a: b #c\n#d\n\n  # e\nf: 'x # y' # z\ng: |\n  # no\nh: x#y\n";
    let Contents { comments, .. } = super::read(text, true);
    let told = comments.iter().map(|c| format!("{}{}", c.place, c.text));
    let told: Vec<_> = told.collect();
    assert_eq!(told, ["1:6c", "2:1d", "4:3 e", "5:12 z"]);
    let many = "# a\n".repeat(5000);
    assert_eq!(super::read(&many, true).comments.len(), 5000);
}
