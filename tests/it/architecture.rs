//! The structure of the source: who may use whom, and how large a file may be. The table is that of the README's map.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Module, and the modules it may use. What is not listed may not exist.
const ARROWS: [(&str, &[&str]); 13] = [
    ("rules", &[]),
    ("engine", &["rules"]),
    ("game", &["rules", "engine"]),
    ("lobby", &["rules", "game"]),
    ("platform", &["rules", "game", "lobby"]),
    ("house", &["rules", "game"]),
    ("store", &["rules", "game", "lobby"]),
    ("fleet", &["rules", "engine"]),
    ("dashboard", &["rules", "game", "lobby", "store"]),
    ("observability", &[]),
    (
        "config",
        &[
            "rules",
            "engine",
            "game",
            "lobby",
            "platform",
            "house",
            "store",
            "fleet",
            "dashboard",
            "observability",
        ],
    ),
    (
        "daemon",
        &[
            "rules",
            "engine",
            "game",
            "lobby",
            "platform",
            "house",
            "store",
            "fleet",
            "dashboard",
            "observability",
            "config",
        ],
    ),
    (
        "cli",
        &[
            "rules",
            "engine",
            "game",
            "lobby",
            "platform",
            "house",
            "store",
            "fleet",
            "dashboard",
            "observability",
            "config",
            "daemon",
        ],
    ),
];

/// Crates that a module stays free of.
const FOREIGN: [(&str, &[&str]); 4] = [
    (
        "rules",
        &[
            "serde",
            "tokio",
            "tracing",
            "rand",
            "anyhow",
            "std::time::Instant",
            "SystemTime",
        ],
    ),
    ("engine", &["anyhow", "reqwest", "axum"]),
    (
        "game",
        &[
            "anyhow",
            "tokio::",
            "reqwest",
            "Instant::now",
            "SystemTime::now",
        ],
    ),
    (
        "lobby",
        &[
            "anyhow",
            "tokio::",
            "reqwest",
            "Instant::now",
            "SystemTime::now",
        ],
    ),
];

/// What `game` may know of the engine: plain data, nothing that searches.
const ENGINE_DATA: [&str; 9] = [
    "limits",
    "report",
    "score",
    "ClockLimits",
    "ReportOrigin",
    "Score",
    "SearchInfo",
    "SearchLimits",
    "SearchReport",
];

/// Past this many lines two things live in a file.
const MAX_LINES: usize = 800;

struct Source {
    path: PathBuf,
    /// First folder or file name below `src`.
    module: String,
    /// Second one, for the platforms.
    part: String,
    /// The code without comments.
    code: String,
    lines: usize,
    has_head: bool,
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

fn sources() -> Vec<Source> {
    let src = root().join("src");
    let mut files = Vec::new();
    rust_files(&src, &mut files);
    files.sort();
    files
        .into_iter()
        .map(|path| {
            let text = std::fs::read_to_string(&path).unwrap();
            let below = path.strip_prefix(&src).unwrap();
            let mut names = below
                .iter()
                .map(|name| name.to_string_lossy().trim_end_matches(".rs").to_owned());
            Source {
                module: names.next().unwrap_or_default(),
                part: names.next().unwrap_or_default(),
                lines: text.lines().count(),
                has_head: text.starts_with("//!"),
                code: without_comments(&text),
                path,
            }
        })
        .collect()
}

/// Drops line comments. A `//` inside a string takes the rest of its line with it, which hides nothing that is looked for.
fn without_comments(text: &str) -> String {
    text.lines()
        .map(|line| line.split_once("//").map_or(line, |(code, _)| code))
        .collect::<Vec<_>>()
        .join("\n")
}

/// The names that follow `prefix`, also inside braces: `crate::{a, b::c}` names a and b.
fn names_behind(code: &str, prefix: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (at, _) in code.match_indices(prefix) {
        // `foocrate::` is no use of this crate.
        let before = code[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || c == '_') {
            continue;
        }
        let rest = &code[at + prefix.len()..];
        match rest.strip_prefix('{') {
            Some(group) => names.extend(group_names(group)),
            None => names.extend(first_name(rest)),
        }
    }
    names
}

fn first_name(text: &str) -> Option<String> {
    let name: String = text
        .trim_start()
        .chars()
        .take_while(|c| c.is_alphanumeric() || *c == '_')
        .collect();
    (!name.is_empty()).then_some(name)
}

/// The first name of each item of a group whose opening brace was already read.
fn group_names(group: &str) -> Vec<String> {
    let (mut depth, mut start, mut names) = (1, 0, Vec::new());
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if (c == ',' && depth == 1) || depth == 0 {
            names.extend(first_name(&group[start..at]));
            start = at + 1;
        }
        if depth == 0 {
            break;
        }
    }
    names
}

#[test]
fn modules_use_only_what_the_table_allows() {
    let mut wrong = Vec::new();
    for source in sources() {
        if matches!(source.module.as_str(), "lib" | "main") {
            continue;
        }
        let Some((_, allowed)) = ARROWS.iter().find(|(module, _)| *module == source.module) else {
            wrong.push(format!(
                "{}: the module is not in the table",
                source.path.display()
            ));
            continue;
        };
        for used in names_behind(&source.code, "crate::") {
            let known = ARROWS.iter().any(|(module, _)| *module == used);
            if known && used != source.module && !allowed.contains(&used.as_str()) {
                wrong.push(format!(
                    "{}: {} -> {used}",
                    source.path.display(),
                    source.module
                ));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "arrows that the table does not have:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn platforms_do_not_know_each_other() {
    let platforms = ["lichess", "pychess", "fics"];
    let mut wrong = Vec::new();
    for source in sources()
        .iter()
        .filter(|source| source.module == "platform")
    {
        let used = names_behind(&source.code, "platform::");
        for other in platforms
            .iter()
            .filter(|other| **other != source.part && platforms.contains(&source.part.as_str()))
        {
            if used.contains(*other) {
                wrong.push(format!("{} -> {other}", source.path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_game_knows_only_the_engine_s_plain_data() {
    let mut wrong = Vec::new();
    for source in sources().iter().filter(|source| source.module == "game") {
        for name in names_behind(&source.code, "crate::engine::") {
            if !ENGINE_DATA.contains(&name.as_str()) {
                wrong.push(format!("{} uses engine::{name}", source.path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn pure_modules_stay_pure() {
    let mut wrong = Vec::new();
    for source in sources() {
        for (_, foreign) in FOREIGN
            .iter()
            .filter(|(module, _)| *module == source.module)
        {
            for word in *foreign {
                let direct = names_behind(&source.code, word.trim_end_matches("::"));
                if source.code.contains(&format!("{word}::"))
                    || (word.contains("::") && source.code.contains(word))
                    || !direct.is_empty() && source.code.contains(&format!("use {word}"))
                {
                    wrong.push(format!("{} uses {word}", source.path.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn files_are_of_a_size_and_say_what_they_are() {
    let mut wrong = Vec::new();
    for source in sources() {
        let name = source.path.display();
        if source.lines > MAX_LINES {
            wrong.push(format!(
                "{name} has {} lines; past {MAX_LINES} two things live in it",
                source.lines
            ));
        }
        if !source.has_head {
            wrong.push(format!(
                "{name} does not begin with the comment that says what it is"
            ));
        }
        for word in ["todo!", "unimplemented!"] {
            if source.code.contains(word) {
                wrong.push(format!("{name} contains {word}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The scanner itself: a test that cannot see cannot fail.
#[test]
fn the_scanner_sees_every_form_of_use() {
    let code = without_comments(
        "use crate::engine::Pool; // crate::daemon\nuse crate::{rules::{Move, Position}, store, house::Api as A};\nlet x = crate::lobby::f();\nmycrate::cli::g();",
    );
    let names: Vec<String> = names_behind(&code, "crate::").into_iter().collect();
    assert_eq!(names, ["engine", "house", "lobby", "rules", "store"]);
}
