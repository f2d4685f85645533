//! The list of contract points is complete: each has at least one test that bears its number.

use std::collections::BTreeSet;
use std::path::Path;

/// Numbers of the points.
const POINTS: std::ops::RangeInclusive<u32> = 1..=42;

#[test]
fn every_point_has_a_test() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fics");
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(folder).expect("the folder of these tests") {
        let path = entry.expect("an entry").path();
        let text = std::fs::read_to_string(path).expect("a source");
        let mut marked = false;
        for line in text.lines() {
            let line = line.trim_start();
            if line.starts_with("#[") {
                marked |= line == "#[test]" || line.starts_with("#[tokio::test");
                continue;
            }
            let name = line
                .trim_start_matches("async ")
                .strip_prefix("fn e")
                .and_then(|rest| rest.split_once('_'));
            if let Some((number, _)) = name.filter(|_| marked) {
                found.extend(number.parse::<u32>().ok());
            }
            marked = false;
        }
    }
    let missing: Vec<u32> = POINTS.filter(|number| !found.contains(number)).collect();
    assert!(missing.is_empty(), "points without a test: {missing:?}");
}
