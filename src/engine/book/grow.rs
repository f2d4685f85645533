//! Growth of a book by search.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use super::{Book, BookError};
use crate::engine::limits::SearchLimits;
use crate::engine::searcher::Searcher;
use crate::engine::stop::StopFlag;
use crate::rules::{History, Move, Position, Variant};

/// How a book grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Growth {
    /// The variant.
    pub variant: Variant,
    /// Positions to have in the book in the end.
    pub positions: usize,
    /// Nodes for each.
    pub nodes: u64,
    /// Moves looked at in each.
    pub lines: usize,
    /// A move that is worse than the best by more centipawns is not followed.
    pub margin: i32,
    /// Centipawns that a ply costs: the greater, the broader the book, the smaller, the deeper along the best moves.
    pub ply_cost: i32,
}

/// Brings the book in a file to its size. A file that exists already goes on growing; every position is written as soon as
/// it is known. `on_position` is told how many there are.
///
/// Positions are visited in the order of what it costs to get there: for each move of either side what it is worse than the
/// best, and the price of a ply.
///
/// # Errors
/// If the file cannot be read, is no book of this variant, or cannot be written.
pub fn grow(
    growth: &Growth,
    path: &Path,
    searcher: &mut dyn Searcher,
    stop: &StopFlag,
    on_position: &mut dyn FnMut(usize),
) -> Result<Book, BookError> {
    let failed = |source| BookError::File {
        path: path.to_owned(),
        source,
    };
    let mut book = open(growth.variant, path)?;
    let mut file = OpenOptions::new().append(true).open(path).map_err(failed)?;
    let mut queue = BinaryHeap::new();
    let mut histories = HashMap::new();
    let mut seen = HashSet::new();
    let start = History::new(Position::start(growth.variant));
    queue.push(Reverse((0, 0_u64)));
    histories.insert(0, start);
    let mut next_id = 1_u64;
    while let Some(Reverse((cost, id))) = queue.pop() {
        let Some(history) = histories.remove(&id) else {
            continue;
        };
        let position = history.position();
        if !seen.insert(position.key()) {
            continue;
        }
        if book.get(position).is_none() {
            if book.len() >= growth.positions || stop.should_stop() {
                break;
            }
            let moves = look(growth, &history, searcher, stop);
            if stop.should_stop() {
                // What a search says that was cut off is not worth keeping.
                break;
            }
            if moves.is_empty() {
                continue;
            }
            writeln!(file, "{}", Book::line(position, &moves)).map_err(failed)?;
            book.insert(position, &moves);
            on_position(book.len());
        }
        let candidates = book.get(position).unwrap_or_default();
        let best = candidates.iter().map(|c| c.score).max().unwrap_or(0);
        for candidate in candidates {
            let worse = best - candidate.score;
            let mut next = history.clone();
            if worse > growth.margin || next.play(candidate.m).is_err() {
                continue;
            }
            if next.position().legal_moves().is_empty() || next.position().ending().is_some() {
                continue;
            }
            queue.push(Reverse((cost + worse + growth.ply_cost, next_id)));
            histories.insert(next_id, next);
            next_id += 1;
        }
    }
    book.carry_values();
    Ok(book)
}

/// The book that is there already; a file that is not is made with its first line.
fn open(variant: Variant, path: &Path) -> Result<Book, BookError> {
    let failed = |source| BookError::File {
        path: path.to_owned(),
        source,
    };
    if path.exists() {
        let text = std::fs::read_to_string(path).map_err(failed)?;
        // A run that was killed may have left half a line.
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        if whole > 0 && whole < text.len() {
            let file = OpenOptions::new().write(true).open(path);
            file.and_then(|file| file.set_len(whole as u64))
                .map_err(failed)?;
        }
    } else {
        let header = Book::header(variant);
        std::fs::write(path, format!("{header}\n")).map_err(failed)?;
    }
    let book = Book::load(path)?;
    if book.variant() == variant {
        Ok(book)
    } else {
        Err(BookError::OtherVariant {
            path: path.to_owned(),
            found: book.variant(),
            wanted: variant,
        })
    }
}

/// The best moves of a position with their scores, the best first. Without mates: those are no openings.
fn look(
    growth: &Growth,
    history: &History,
    searcher: &mut dyn Searcher,
    stop: &StopFlag,
) -> Vec<(Move, i32)> {
    let mut lines: Vec<Option<(Move, i32)>> = vec![None; growth.lines];
    let limits = SearchLimits {
        multi_pv: growth.lines,
        ..SearchLimits::nodes(growth.nodes)
    };
    searcher.new_game();
    searcher.search(history, &limits, stop, &mut |info| {
        let line = info.pv.first().zip(lines.get_mut(info.multi_pv - 1));
        if let Some((&m, line)) = line {
            *line = Some((m, info.score.centipawns()));
        }
    });
    let mut moves: Vec<(Move, i32)> = Vec::new();
    for (m, score) in lines.into_iter().flatten() {
        let is_new = moves.iter().all(|(other, _)| *other != m);
        if is_new && score.abs() < 2_000 {
            moves.push((m, score));
        }
    }
    moves.sort_by_key(|&(_, score)| Reverse(score));
    moves
}
