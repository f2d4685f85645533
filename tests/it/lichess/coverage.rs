//! The tables of `docs/lichess.md` are complete, and the tests they name exist.

use std::collections::BTreeSet;
use std::path::Path;

/// The cases of groups A to C that the table must have.
const CASES: [&str; 26] = [
    "C01", "C02", "C03", "C04", "C05", "C06", "C07", "C08", "C09", "C10", "C11", "C12", "C13",
    "C14", "C15", "C17", "C18", "C21", "C22", "C25", "C27", "C28", "C31", "C32", "C33", "C34",
];

/// Names of all functions below a directory.
fn functions(dir: &Path, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            functions(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            let names = text.split("fn ").skip(1);
            found.extend(names.filter_map(|rest| Some(rest.split_once('(')?.0.to_owned())));
        }
    }
}

#[test]
fn every_point_and_every_case_has_its_tests() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut known = BTreeSet::new();
    functions(&root.join("src"), &mut known);
    functions(&root.join("tests/it"), &mut known);
    let text = std::fs::read_to_string(root.join("docs/lichess.md")).unwrap();
    let mut rows = Vec::new();
    for line in text.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [row, _, tests] = cells.as_slice() else {
            panic!("three cells: {line}")
        };
        if ["point", "case"].contains(row) {
            continue;
        }
        rows.push((*row).to_owned());
        let names: Vec<&str> = tests.split('`').skip(1).step_by(2).collect();
        assert!(
            !names.is_empty() || tests.starts_with("not applicable: "),
            "{row} has neither a test nor a reason"
        );
        for name in names {
            assert!(
                known.contains(name),
                "{row} names {name}, which does not exist"
            );
        }
    }
    let points = (1..=50).map(|point: u32| point.to_string());
    let wanted: Vec<String> = points.chain(CASES.map(str::to_owned)).collect();
    assert_eq!(rows, wanted);
}
