//! The word that was probably meant, for errors that say so.

/// Less alike than `warn` and `warm` (0.88), more than WIN999 and any rule (0.84).
const ALIKE: f64 = 0.88;

/// No word has as many bytes. Texts may be as long as a file.
const LONGEST: usize = 200;

/// The word that was probably meant: of those that are alike, the one with the fewest letters to
/// change, then the most alike, then the first.
pub(crate) fn nearest<'w>(text: &str, words: impl Iterator<Item = &'w str>) -> Option<&'w str> {
    if text.len() > LONGEST {
        return None;
    }
    let text = text.to_lowercase();
    let alike = words.filter_map(|word| {
        let lower = word.to_lowercase();
        let likeness = strsim::jaro_winkler(&text, &lower);
        let changes = strsim::osa_distance(&text, &lower);
        (likeness >= ALIKE).then_some((changes, likeness, word))
    });
    let best = alike.min_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)))?;
    Some(best.2)
}
