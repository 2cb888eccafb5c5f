//! What stands between fences in the pages of the documentation.

// Each test crate uses its own part.
#![allow(dead_code)]

/// The fenced blocks of a page in this language, without the indentation of their fence.
pub(crate) fn blocks(page: &str, language: &str) -> Vec<String> {
    let fence = format!("```{language}");
    let mut lines = page.lines();
    let mut all = Vec::new();
    while let Some(line) = lines.next() {
        if line.trim_start() != fence {
            continue;
        }
        let indent = line.len() - fence.len();
        let block = lines.by_ref().take_while(|line| line.trim() != "```");
        let block = block.map(|line| format!("{}\n", line.get(indent..).unwrap_or("")));
        all.push(block.collect());
    }
    all
}

/// What is typed at a prompt, split where one program writes into another.
pub(crate) fn commands(page: &str) -> Vec<String> {
    let consoles = blocks(page, "console");
    let lines = consoles.iter().flat_map(|block| block.lines());
    let typed = lines.filter_map(|line| line.strip_prefix("$ "));
    let parts = typed.flat_map(|line| line.split(" | "));
    parts.map(str::to_owned).collect()
}
