//! What the engine says, in the words of UCI.

use std::fmt::Write as _;
use std::time::Duration;

use crate::engine::report::{Bound, SearchInfo, SearchReport};
use crate::rules::{Move, Position};

/// `info depth ... pv ...`
pub fn info_line(info: &SearchInfo, root: &Position) -> String {
    let mut line = format!(
        "info depth {} seldepth {} multipv {} score {}",
        info.depth,
        info.seldepth.max(info.depth),
        info.multi_pv.max(1),
        info.score
    );
    match info.bound {
        Bound::Exact => {}
        Bound::Lower => line.push_str(" lowerbound"),
        Bound::Upper => line.push_str(" upperbound"),
    }
    push_effort(&mut line, info.nodes, info.elapsed);
    append(
        &mut line,
        format_args!(" hashfull {}", info.hash_full_permille),
    );
    push_pv(&mut line, &info.pv, root);
    line
}

/// The last `info` of a search that ended without one, for instance one that fell back.
pub fn report_line(report: &SearchReport, root: &Position) -> String {
    let mut line = format!(
        "info depth {} seldepth {} score {}",
        report.depth, report.seldepth, report.score
    );
    push_effort(&mut line, report.nodes, report.elapsed);
    push_pv(&mut line, &report.pv, root);
    line
}

/// `bestmove e2e4 ponder e7e5`
pub fn best_line(report: &SearchReport, root: &Position) -> String {
    let mut line = format!("bestmove {}", root.uci(report.best));
    if let Some(ponder) = report.ponder {
        let mut after = root.clone();
        if after.play(report.best).is_ok() && after.is_legal(ponder) {
            append(&mut line, format_args!(" ponder {}", after.uci(ponder)));
        }
    }
    line
}

fn push_effort(line: &mut String, nodes: u64, elapsed: Duration) {
    let per_second = u128::from(nodes) * 1_000_000 / elapsed.as_micros().max(1);
    append(
        line,
        format_args!(
            " nodes {nodes} nps {per_second} time {}",
            elapsed.as_millis()
        ),
    );
}

/// The moves as far as they are legal: a line from a table may be broken at its end.
fn push_pv(line: &mut String, pv: &[Move], root: &Position) {
    let mut position = root.clone();
    let mut word = " pv";
    for &next in pv {
        if !position.is_legal(next) {
            break;
        }
        append(line, format_args!("{word} {}", position.uci(next)));
        word = "";
        position.play_unchecked(next);
    }
}

fn append(line: &mut String, what: std::fmt::Arguments<'_>) {
    line.write_fmt(what)
        .expect("writing to a string does not fail");
}
