//! Proof of forced mates by checks alone, for games with drops: there an attack with full hands runs deeper than any
//! full-width search, but every move of it is a check.
//!
//! Depth-first proof-number search. Sums of proof numbers are replaced by "greatest plus the number of others", which keeps
//! the many useless drops between king and checker from looking like hard work. A repetition on the path counts as
//! no mate. The table lives as long as the worker, so that effort broken off goes on in the next iteration.

use std::collections::HashMap;

use crate::engine::stop::StopFlag;
use crate::rules::bits::Bits;
use crate::rules::generate::Kinds;
use crate::rules::pos::Pos;
use crate::rules::variants::Rules;
use crate::rules::{Move, MoveList, Role};

const INFINITE: u32 = u32::MAX / 4;
const ENTRIES: usize = 1 << 18;
/// Longest line, in plies.
const MAX_DEPTH: usize = 64;
/// Positions after which the clock is looked at.
const LOOK: u64 = 256;
/// Positions looked at when the length of a proved mate is taken.
const LENGTH_BUDGET: usize = 20_000;

/// What is known of a position: how many positions have yet to be proved, or disproved, for it to be a mate, or none.
#[derive(Clone, Copy, Default)]
struct Numbers {
    proof: u32,
    disproof: u32,
    /// Plies until mate in the proof that was found; only of use where the proof number is 0.
    length: u32,
}

impl Numbers {
    const MATE: Self = Self {
        proof: 0,
        disproof: INFINITE,
        length: 0,
    };
    const NO_MATE: Self = Self {
        proof: INFINITE,
        disproof: 0,
        length: 0,
    };
}

#[derive(Clone, Copy, Default)]
struct Entry {
    key: u64,
    numbers: Numbers,
}

/// A proved mate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mate {
    /// Moves of both sides; the defender's are those that last longest, as far as was looked.
    pub line: Vec<Move>,
}

/// The solver's table and its counters.
pub struct Solver {
    table: Vec<Entry>,
    path: Vec<u64>,
    nodes: u64,
    limit: u64,
    /// Number of nodes at which the clock is looked at next.
    look_at: u64,
    stop: StopFlag,
}

impl std::fmt::Debug for Solver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Solver").finish_non_exhaustive()
    }
}

struct Child<R: Rules> {
    m: Move,
    pos: Pos<R>,
    numbers: Numbers,
    repeats: bool,
}

impl Solver {
    pub fn new() -> Self {
        Self {
            table: vec![Entry::default(); ENTRIES],
            path: Vec::new(),
            nodes: 0,
            limit: 0,
            look_at: 0,
            stop: StopFlag::new(),
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.table.fill(Entry::default());
    }

    /// Looks for a mate by the side to move within a number of positions, or until told to stop. The second value is how many were visited.
    pub fn solve<R: Rules>(
        &mut self,
        pos: &Pos<R>,
        budget: u64,
        stop: &StopFlag,
    ) -> (Option<Mate>, u64) {
        self.begin(budget, stop);
        let numbers = self.search(pos, true, INFINITE, INFINITE, 0);
        if numbers.proof != 0 {
            return (None, self.nodes);
        }
        let mut lengths = HashMap::new();
        self.limit = self.nodes + LENGTH_BUDGET as u64;
        self.path.clear();
        self.length(pos, true, &mut lengths);
        (self.line(pos, &lengths), self.nodes)
    }

    /// Like [`Self::solve`] for positions inside a search: only the number of plies until mate is told, which a longer look may shorten.
    pub fn prove<R: Rules>(
        &mut self,
        pos: &Pos<R>,
        budget: u64,
        stop: &StopFlag,
    ) -> (Option<u32>, u64) {
        self.begin(budget, stop);
        self.look_at = LOOK;
        let numbers = self.search(pos, true, INFINITE, INFINITE, 0);
        ((numbers.proof == 0).then_some(numbers.length), self.nodes)
    }

    fn begin(&mut self, budget: u64, stop: &StopFlag) {
        self.stop = stop.clone();
        self.look_at = 0;
        self.nodes = 0;
        self.limit = budget;
        self.path.clear();
    }

    /// Whether the budget is used up or the search was told to stop.
    fn is_over(&mut self) -> bool {
        if self.nodes >= self.look_at {
            self.look_at = self.nodes + LOOK;
            if self.stop.should_stop() {
                self.limit = 0;
            }
        }
        self.nodes >= self.limit
    }

    fn look_up(&self, key: u64) -> Option<Numbers> {
        let entry = &self.table[key as usize & (ENTRIES - 1)];
        (entry.key == key).then_some(entry.numbers)
    }

    fn store(&mut self, key: u64, numbers: Numbers) {
        let entry = &mut self.table[key as usize & (ENTRIES - 1)];
        // A proof is never pushed out by an open position.
        let is_proof = entry.numbers.proof == 0 && entry.numbers.disproof != 0;
        if is_proof && numbers.proof != 0 && entry.key != key {
            return;
        }
        *entry = Entry { key, numbers };
    }

    fn children<R: Rules>(&mut self, pos: &Pos<R>, attacking: bool) -> Vec<Child<R>> {
        let mut list = MoveList::new();
        if attacking {
            checks(pos, &mut list);
        } else {
            pos.legal_moves(&mut list);
        }
        list.iter()
            .map(|&m| {
                let mut next = *pos;
                next.play(m);
                self.nodes += 1;
                let numbers = self
                    .look_up(next.key())
                    .unwrap_or_else(|| first_numbers(&next, attacking));
                let repeats = self.path.contains(&next.key());
                Child {
                    m,
                    pos: next,
                    numbers,
                    repeats,
                }
            })
            .collect()
    }

    /// Searches until the proof or the disproof number reaches its bound; both numbers.
    fn search<R: Rules>(
        &mut self,
        pos: &Pos<R>,
        attacking: bool,
        max_proof: u32,
        max_disproof: u32,
        depth: usize,
    ) -> Numbers {
        if depth >= MAX_DEPTH {
            return Numbers::NO_MATE;
        }
        let key = pos.key();
        let mut children = self.children(pos, attacking);
        if children.is_empty() {
            let numbers = if attacking {
                Numbers::NO_MATE
            } else {
                Numbers::MATE
            };
            self.store(key, numbers);
            return numbers;
        }
        self.path.push(key);
        let mut numbers = loop {
            for child in &mut children {
                if child.repeats {
                    child.numbers = Numbers::NO_MATE;
                } else if let Some(numbers) = self.look_up(child.pos.key()) {
                    child.numbers = numbers;
                }
            }
            let step = choose(&children, attacking, max_proof, max_disproof);
            let is_reached =
                step.numbers.proof >= max_proof || step.numbers.disproof >= max_disproof;
            if is_reached || self.is_over() {
                break step.numbers;
            }
            let next = children[step.best].pos;
            children[step.best].numbers = self.search(
                &next,
                !attacking,
                step.child_proof,
                step.child_disproof,
                depth + 1,
            );
            if depth + 1 >= MAX_DEPTH {
                children[step.best].repeats = true;
            }
        };
        self.path.pop();
        if numbers.proof == 0 {
            numbers.length = 1 + length_of(&children, attacking);
        }
        self.store(key, numbers);
        numbers
    }

    /// Number of plies until mate, along the quickest proved attack and the longest defence.
    fn length<R: Rules>(
        &mut self,
        pos: &Pos<R>,
        attacking: bool,
        lengths: &mut HashMap<u64, u32>,
    ) -> u32 {
        let key = pos.key();
        if let Some(&known) = lengths.get(&key) {
            return known;
        }
        if self.path.contains(&key) || self.is_over() {
            return if attacking { 1 } else { 0 };
        }
        let children = self.children(pos, attacking);
        if children.is_empty() {
            lengths.insert(key, 0);
            return 0;
        }
        self.path.push(key);
        let mut best: Option<u32> = None;
        for child in &children {
            if child.numbers.proof != 0 || child.repeats {
                continue;
            }
            let length = 1 + self.length(&child.pos, !attacking, lengths);
            best = Some(match best {
                None => length,
                Some(other) if attacking => other.min(length),
                Some(other) => other.max(length),
            });
        }
        self.path.pop();
        let length = best.unwrap_or(1);
        lengths.insert(key, length);
        length
    }

    fn line<R: Rules>(&mut self, pos: &Pos<R>, lengths: &HashMap<u64, u32>) -> Option<Mate> {
        let mut line = Vec::new();
        let mut at = *pos;
        let mut attacking = true;
        while line.len() < MAX_DEPTH {
            let children = self.children(&at, attacking);
            if children.is_empty() {
                break;
            }
            let proved = children.iter().filter(|child| child.numbers.proof == 0);
            let length = |child: &&Child<R>| lengths.get(&child.pos.key()).copied();
            let next = if attacking {
                proved.min_by_key(|child| length(child).unwrap_or(u32::MAX))
            } else {
                proved.max_by_key(|child| length(child).unwrap_or(0))
            };
            let Some(next) = next else { break };
            line.push(next.m);
            at = next.pos;
            attacking = !attacking;
        }
        (!line.is_empty()).then_some(Mate { line })
    }
}

/// Numbers of a position never searched. A position of the defender is as hard as it has moves, and proved if it has none.
fn first_numbers<R: Rules>(pos: &Pos<R>, after_attack: bool) -> Numbers {
    let replies = if after_attack { pos.count_legal() } else { 1 };
    if replies == 0 {
        return Numbers::MATE;
    }
    Numbers {
        proof: replies.min(100) as u32,
        disproof: 1,
        length: 0,
    }
}

/// Plies until mate from the best of the proved children.
fn length_of<R: Rules>(children: &[Child<R>], attacking: bool) -> u32 {
    let lengths = children
        .iter()
        .filter(|child| child.numbers.proof == 0)
        .map(|child| child.numbers.length);
    let length = if attacking {
        lengths.min()
    } else {
        lengths.max()
    };
    length.unwrap_or(0)
}

/// What the children say together, and what to search next.
struct Step {
    numbers: Numbers,
    best: usize,
    child_proof: u32,
    child_disproof: u32,
}

fn choose<R: Rules>(
    children: &[Child<R>],
    attacking: bool,
    max_proof: u32,
    max_disproof: u32,
) -> Step {
    // Seen from the side to move: `easy` is what one child is enough for, `hard` what all are needed for.
    let numbers = |child: &Child<R>| {
        if attacking {
            (child.numbers.proof, child.numbers.disproof)
        } else {
            (child.numbers.disproof, child.numbers.proof)
        }
    };
    let (mut easy, mut second, mut best) = (INFINITE, INFINITE, 0);
    let (mut hard, mut open) = (0, 0_u32);
    for (n, child) in children.iter().enumerate() {
        let (this_easy, this_hard) = numbers(child);
        if this_easy < easy {
            second = easy;
            easy = this_easy;
            best = n;
        } else if this_easy < second {
            second = this_easy;
        }
        if this_hard > 0 {
            hard = hard.max(this_hard);
            open += 1;
        }
    }
    let others = open.saturating_sub(1);
    let hard = if hard >= INFINITE {
        INFINITE
    } else {
        (hard + others).min(INFINITE)
    };
    let (max_easy, max_hard) = if attacking {
        (max_proof, max_disproof)
    } else {
        (max_disproof, max_proof)
    };
    let child_easy = max_easy.min(second.saturating_add(1));
    let child_hard = max_hard.saturating_sub(others).max(1);
    if attacking {
        Step {
            numbers: Numbers {
                proof: easy,
                disproof: hard,
                length: 0,
            },
            best,
            child_proof: child_easy,
            child_disproof: child_hard,
        }
    } else {
        Step {
            numbers: Numbers {
                proof: hard,
                disproof: easy,
                length: 0,
            },
            best,
            child_proof: child_hard,
            child_disproof: child_easy,
        }
    }
}

/// Every legal move that gives check.
fn checks<R: Rules>(pos: &Pos<R>, list: &mut MoveList) {
    let info = pos.check_info();
    let board = Kinds {
        drops: false,
        ..Kinds::ALL
    };
    pos.legal_moves_of(board, list);
    list.retain(|m| pos.gives_check(m, &info));
    if R::DROPS {
        let hand = pos.hand(pos.turn());
        for role in Role::ALL {
            if hand.has(role) {
                let squares = pos.drop_targets(role) & info.squares[role.index()];
                for to in squares.squares() {
                    list.push(Move::drop(role, to));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::{AnyPos, CastlingMode, Position, Variant};

    fn solve(fen: &str, budget: u64) -> Option<Vec<String>> {
        let position =
            Position::from_fen(Variant::Crazyhouse, CastlingMode::Standard, fen).unwrap();
        let AnyPos::Crazyhouse(pos) = position.any() else {
            panic!("crazyhouse was asked for");
        };
        let (mate, _) = Solver::new().solve(pos, budget, &StopFlag::new());
        mate.map(|mate| {
            let mut at = position.clone();
            mate.line
                .iter()
                .map(|&m| {
                    let text = at.uci(m);
                    at.play(m).unwrap();
                    text
                })
                .collect()
        })
    }

    #[test]
    fn mate_in_one_by_a_drop() {
        let line = solve("6k1/5ppp/8/8/8/8/8/4K3[R] w - - 0 1", 1000).unwrap();
        assert_eq!(line.len(), 1, "{line:?}");
    }

    #[test]
    fn a_chain_of_checks_is_proved_and_replays_to_mate() {
        let fen = "r1b4r/p5pp/2pkp3/3p4/3Pp3/8/P1P2PPP/R2n1RK1[QBNNqbbnppp] w - - 0 1";
        let line = solve(fen, 200_000).unwrap();
        let mut at = Position::from_fen(Variant::Crazyhouse, CastlingMode::Standard, fen).unwrap();
        for m in &line {
            let m = at.parse_uci(m).unwrap();
            at.play(m).unwrap();
        }
        assert!(at.ending().is_some(), "{line:?}");
    }

    #[test]
    fn the_length_of_a_proof_is_no_shorter_than_the_shortest_mate() {
        let prove = |fen: &str, budget: u64| {
            let position =
                Position::from_fen(Variant::Crazyhouse, CastlingMode::Standard, fen).unwrap();
            let AnyPos::Crazyhouse(pos) = position.any() else {
                panic!("crazyhouse was asked for");
            };
            Solver::new().prove(pos, budget, &StopFlag::new()).0
        };
        assert_eq!(prove("6k1/5ppp/8/8/8/8/8/4K3[R] w - - 0 1", 1000), Some(1));
        let fen = "r1b4r/p5pp/2pkp3/3p4/3Pp3/8/P1P2PPP/R2n1RK1[QBNNqbbnppp] w - - 0 1";
        let shortest = solve(fen, 200_000).unwrap().len() as u32;
        let plies = prove(fen, 200_000).unwrap();
        assert!(plies >= shortest && plies % 2 == 1, "{plies} to {shortest}");
        assert_eq!(prove(fen, 10), None);
    }

    #[test]
    fn no_mate_where_there_are_no_checks() {
        let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR[] w KQkq - 0 1";
        assert_eq!(solve(start, 10_000), None);
    }
}
