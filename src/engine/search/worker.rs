//! One search thread: its stack of positions, its tables, and what it has found.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::attack::Asked;
use super::history::{History, Row};
use super::mate::Solver;
use super::params::Params;
use super::picker::Scored;
use crate::engine::evaluation::values::Values;
use crate::engine::evaluation::weights::{Weights, weights};
use crate::engine::evaluation::{MAX_EVAL, evaluate};
use crate::engine::network::NetworkState;
use crate::engine::stop::StopFlag;
use crate::engine::transposition::Table;
use crate::rules::generate::Kinds;
use crate::rules::geometry::Geometry;
use crate::rules::pos::Pos;
use crate::rules::variants::Rules;
use crate::rules::{Color, Ending, Move, MoveList, Outcome};

/// Deepest ply a search reaches.
pub const MAX_PLY: usize = 128;
/// Value of being mated at the root.
pub const MATE: i32 = 32_000;
/// Beyond every value.
pub const INFINITE: i32 = 32_001;
/// Values from here on are forced ends of the game.
pub const MATE_BOUND: i32 = MATE - 2 * MAX_PLY as i32;

/// Value of losing the game at a ply.
#[inline(always)]
pub const fn mated_in(ply: usize) -> i32 {
    -MATE + ply as i32
}

/// What the search remembers about a ply of the line it is in.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// Move made at this ply.
    pub played: Move,
    /// Row of that move in the continuation tables.
    pub row: Row,
    /// Static evaluation, corrected; [`INFINITE`] in check.
    pub eval: i32,
    pub killers: [Move; 2],
    /// Move left out, for singular extensions.
    pub excluded: Move,
    /// Refutations below this ply.
    pub cutoffs: i32,
    /// Extensions by two plies in the line so far.
    pub double_extensions: i32,
}

impl Frame {
    const EMPTY: Self = Self {
        played: Move::NONE,
        row: Row::NONE,
        eval: INFINITE,
        killers: [Move::NONE; 2],
        excluded: Move::NONE,
        cutoffs: 0,
        double_extensions: 0,
    };
}

/// What all threads of one search share.
#[derive(Debug)]
pub struct Shared {
    pub table: Arc<Table>,
    pub stop: StopFlag,
    /// The main thread has ended: helpers end too.
    pub done: AtomicBool,
    /// Nodes of all threads, updated every few hundred.
    pub nodes: AtomicU64,
    /// Bound on nodes; `u64::MAX` for none.
    pub node_limit: u64,
}

/// A root move and what is known of it.
#[derive(Clone, Debug)]
pub struct RootMove {
    pub m: Move,
    pub score: i32,
    pub previous: i32,
    pub seldepth: u32,
    pub nodes: u64,
    pub pv: Vec<Move>,
}

/// One search thread for one rule set.
pub struct Worker<R: Rules> {
    pub shared: Arc<Shared>,
    pub values: Values,
    pub params: Params,
    pub weights: &'static Weights,
    /// The net that evaluates, if there is one.
    pub network: Option<NetworkState<R>>,
    pub history: History,
    pub arena: Vec<Scored>,
    pub frames: Vec<Frame>,
    pub root_moves: Vec<RootMove>,
    /// First root move of the line now searched (several lines wanted: the better ones come before).
    pub root_first: usize,
    pub root_depth: i32,
    pub nodes: u64,
    pub seldepth: usize,
    pub stopped: bool,
    pub null_from: usize,
    positions: Vec<Pos<R>>,
    /// Keys of the game before the root and of the line after it.
    keys: Vec<u64>,
    game_keys: usize,
    seen: Vec<u8>,
    scratch: MoveList,
    pv: Vec<[Move; MAX_PLY]>,
    pv_length: Vec<usize>,
    reductions: Vec<i32>,
    counted: u64,
    /// Looks for mates by checks; made when first wanted.
    pub solver: Option<Solver>,
    /// What the solver has used at the root of this search.
    pub solver_nodes: u64,
    /// What the solver was asked inside the search.
    pub asked: Asked,
}

impl<R: Rules> std::fmt::Debug for Worker<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Worker")
            .field("variant", &R::VARIANT)
            .field("nodes", &self.nodes)
            .finish_non_exhaustive()
    }
}

/// Nodes after which flags and clocks are looked at: a quarter of a millisecond.
const LOOK: u64 = 256;
const SEEN: usize = 1 << 14;
const REDUCTION_MOVES: usize = 256;
const REDUCTION_DEPTHS: usize = 64;

impl<R: Rules> Worker<R> {
    pub fn new(shared: Arc<Shared>, root: &Pos<R>) -> Self {
        let params = Params::of(R::VARIANT);
        Self {
            shared,
            values: Values::of(R::VARIANT),
            params,
            weights: weights(R::VARIANT),
            history: History::new(R::VARIANT.roles().len(), <R::G as Geometry>::SQUARES),
            network: None,
            arena: Vec::with_capacity(8192),
            frames: vec![Frame::EMPTY; MAX_PLY + 8],
            root_moves: Vec::new(),
            root_first: 0,
            root_depth: 0,
            nodes: 0,
            seldepth: 0,
            stopped: false,
            null_from: 0,
            positions: vec![*root; MAX_PLY + 4],
            keys: Vec::with_capacity(1024),
            game_keys: 0,
            seen: vec![0; SEEN],
            scratch: MoveList::new(),
            pv: vec![[Move::NONE; MAX_PLY]; MAX_PLY + 4],
            pv_length: vec![0; MAX_PLY + 4],
            reductions: reductions(&params),
            counted: 0,
            solver: None,
            solver_nodes: 0,
            asked: Asked::default(),
        }
    }

    /// Replaces the parameters of the variant.
    pub fn set_params(&mut self, params: Params) {
        self.params = params;
        self.reductions = reductions(&params);
    }

    /// Makes ready for a search from `root`, reached by a game with these keys (the root's own last).
    pub fn prepare(&mut self, shared: Arc<Shared>, root: &Pos<R>, keys: &[u64]) {
        self.shared = shared;
        self.positions[0] = *root;
        self.seen.fill(0);
        self.keys.clear();
        for &key in &keys[..keys.len().saturating_sub(1)] {
            self.keys.push(key);
            self.mark(key);
        }
        self.game_keys = self.keys.len();
        self.frames.fill(Frame::EMPTY);
        self.arena.clear();
        self.nodes = 0;
        self.counted = 0;
        self.solver_nodes = 0;
        self.asked.begin();
        self.seldepth = 0;
        self.stopped = false;
        self.root_first = 0;
    }

    /// The position at a ply of the line.
    #[inline(always)]
    pub fn pos(&self, ply: usize) -> &Pos<R> {
        &self.positions[ply]
    }

    #[inline(always)]
    fn mark(&mut self, key: u64) {
        let place = key as usize & (SEEN - 1);
        self.seen[place] = self.seen[place].saturating_add(1);
    }

    /// Plays a move at `ply`; the new position is at `ply + 1`.
    #[inline(always)]
    pub fn make(&mut self, ply: usize, m: Move) {
        let key = self.positions[ply].key();
        self.keys.push(key);
        self.mark(key);
        let (_, piece) = super::picker::origin_and_piece(&self.positions[ply], m);
        let row = self.history.row(piece, m.to());
        let frame = &mut self.frames[ply];
        frame.played = m;
        frame.row = row;
        let (before, after) = self.positions.split_at_mut(ply + 1);
        after[0] = before[ply];
        after[0].play(m);
        self.shared.table.prefetch(after[0].key());
        self.nodes += 1;
    }

    /// Passes the turn at `ply`.
    pub fn make_null(&mut self, ply: usize) {
        let key = self.positions[ply].key();
        self.keys.push(key);
        self.mark(key);
        self.frames[ply].played = Move::NONE;
        self.frames[ply].row = Row::NONE;
        self.positions[ply + 1] = self.positions[ply];
        self.positions[ply + 1].pass();
        self.shared.table.prefetch(self.positions[ply + 1].key());
        self.nodes += 1;
    }

    /// Takes the last move back.
    #[inline(always)]
    pub fn unmake(&mut self) {
        if let Some(key) = self.keys.pop() {
            let place = key as usize & (SEEN - 1);
            self.seen[place] = self.seen[place].saturating_sub(1);
        }
    }

    /// Appends legal moves of some kinds to the arena, without values.
    #[inline(always)]
    pub fn append(&mut self, ply: usize, kinds: Kinds) {
        self.scratch.clear();
        self.positions[ply].legal_moves_of(kinds, &mut self.scratch);
        self.arena
            .extend(self.scratch.iter().map(|&m| Scored { m, value: 0 }));
    }

    /// Whether the position at `ply` is drawn by repetition: it occurred before within the line, or twice before the root.
    #[inline(always)]
    pub fn is_repeated(&self, ply: usize) -> bool {
        let key = self.positions[ply].key();
        if self.seen[key as usize & (SEEN - 1)] == 0 {
            return false;
        }
        self.count_repetitions(key)
    }

    #[inline(never)]
    fn count_repetitions(&self, key: u64) -> bool {
        let mut before_root = 0;
        for (index, &earlier) in self.keys.iter().enumerate().rev() {
            if earlier == key {
                if index >= self.game_keys {
                    return true;
                }
                before_root += 1;
                if before_root >= 2 {
                    return true;
                }
            }
        }
        false
    }

    /// Value of an ended game at a ply, for the side to move there.
    #[inline(always)]
    pub fn value_of(&self, ending: Ending, ply: usize) -> i32 {
        let turn = self.positions[ply].turn();
        match ending.outcome {
            Outcome::Draw => self.draw_value(),
            Outcome::Decisive { winner } if winner == turn => -mated_in(ply),
            Outcome::Decisive { .. } => mated_in(ply),
        }
    }

    /// Value of a win by the next move through the variant's own goal, be it a quiet move or one that loses the piece.
    #[inline(always)]
    pub fn wins_at_once(&mut self, ply: usize) -> Option<i32> {
        let m = R::winning_move(&self.positions[ply], &mut self.scratch)?;
        self.clear_pv(ply + 1);
        self.extend_pv(ply, m);
        Some(-mated_in(ply + 1))
    }

    /// Value of a draw, wavering by a point so that different drawing lines are looked at.
    #[inline(always)]
    pub fn draw_value(&self) -> i32 {
        (self.nodes & 2) as i32 - 1
    }

    /// Key of what both sides hold and of the number of pieces: positions that resemble each other in this respect.
    #[inline(always)]
    pub fn hand_key(&self, ply: usize) -> u64 {
        let pos = &self.positions[ply];
        let mut key = pos.hand(Color::White).0.wrapping_mul(0x9E37_79B9_7F4A_7C15)
            ^ pos.hand(Color::Black).0.wrapping_mul(0xC2B2_AE3D_27D4_EB4F);
        if !R::DROPS {
            for role in crate::rules::Role::ALL {
                for color in Color::ALL {
                    use crate::rules::bits::Bits;
                    key = key
                        .wrapping_mul(31)
                        .wrapping_add(u64::from(pos.pieces(color, role).count()));
                }
            }
            key = key.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        }
        key >> 40
    }

    /// Static evaluation without correction.
    #[inline(always)]
    pub fn evaluate(&mut self, ply: usize) -> i32 {
        match &mut self.network {
            Some(network) => network.value(&self.positions, ply, self.weights),
            None => evaluate(&self.positions[ply], self.weights),
        }
    }

    /// Static evaluation with what the search has learnt about such positions.
    #[inline(always)]
    pub fn corrected(&self, ply: usize, eval: i32) -> i32 {
        let pos = &self.positions[ply];
        let correction = self
            .history
            .correction(pos.turn(), pos.pawn_key(), self.hand_key(ply));
        (eval + correction).clamp(-MAX_EVAL, MAX_EVAL)
    }

    /// The rows of the last moves, for continuation history.
    #[inline(always)]
    pub fn rows(&self, ply: usize) -> [Row; 3] {
        let row = |back: usize| {
            if ply >= back {
                self.frames[ply - back].row
            } else {
                Row::NONE
            }
        };
        [row(1), row(2), row(4)]
    }

    /// Plies taken off for a late move.
    #[inline(always)]
    pub fn reduction(&self, depth: i32, n: usize) -> i32 {
        let depth = (depth.max(0) as usize).min(REDUCTION_DEPTHS - 1);
        self.reductions[depth * REDUCTION_MOVES + n.min(REDUCTION_MOVES - 1)]
    }

    /// Looks whether the search must end.
    #[inline(always)]
    pub fn check_stop(&mut self) -> bool {
        if self.nodes >= self.counted + LOOK || self.nodes >= self.shared.node_limit {
            self.flush_nodes();
        }
        self.stopped
    }

    /// Adds this thread's nodes to the common count and looks at flags and limits.
    pub fn flush_nodes(&mut self) {
        let new = self.nodes - self.counted;
        self.counted = self.nodes;
        let all = self.shared.nodes.fetch_add(new, Ordering::Relaxed) + new;
        if all >= self.shared.node_limit
            || self.shared.done.load(Ordering::Relaxed)
            || self.shared.stop.should_stop()
        {
            self.stopped = true;
        }
    }

    /// Nodes of this thread that are not in the common count yet.
    pub fn uncounted(&self) -> u64 {
        self.nodes - self.counted
    }

    /// Forgets what was learnt about a game.
    pub fn forget(&mut self) {
        self.history.clear();
        if let Some(solver) = &mut self.solver {
            solver.clear();
        }
        self.asked.clear();
    }

    /// Starts an empty principal variation at a ply.
    #[inline(always)]
    pub fn clear_pv(&mut self, ply: usize) {
        self.pv_length[ply] = 0;
    }

    /// Puts a move before the principal variation of the next ply.
    pub fn extend_pv(&mut self, ply: usize, m: Move) {
        let length = self.pv_length[ply + 1].min(MAX_PLY - 1);
        let (before, after) = self.pv.split_at_mut(ply + 1);
        before[ply][0] = m;
        before[ply][1..=length].copy_from_slice(&after[0][..length]);
        self.pv_length[ply] = length + 1;
    }

    /// The principal variation from a ply on.
    pub fn pv(&self, ply: usize) -> &[Move] {
        &self.pv[ply][..self.pv_length[ply]]
    }
}

fn reductions(params: &Params) -> Vec<i32> {
    let mut table = vec![0; REDUCTION_DEPTHS * REDUCTION_MOVES];
    for depth in 1..REDUCTION_DEPTHS {
        for n in 1..REDUCTION_MOVES {
            let product = (depth as f64).ln() * (n as f64).ln();
            // In units of 1/1024 ply.
            table[depth * REDUCTION_MOVES + n] = (f64::from(params.reduction_base)
                + 1024.0 * product / (f64::from(params.reduction_divisor) / 100.0))
                as i32;
        }
    }
    table
}
