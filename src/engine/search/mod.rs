//! The engine's searcher: alpha-beta over one rule set at a time, several threads on one table.

mod alphabeta;
mod attack;
pub mod bench;
mod history;
mod mate;
pub mod params;
mod picker;
mod quiescence;
mod root;
mod worker;

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::evaluation::weights::Weights;
use super::limits::SearchLimits;
use super::network::{NetworkState, Networks};
use super::report::{ReportOrigin, SearchInfo, SearchReport};
use super::score::Score;
use super::searcher::Searcher;
use super::stop::StopFlag;
use super::time::{Situation, TimeManager};
use super::transposition::Table;
use super::{evaluation, fallback_move};
use crate::rules::pos::Pos;
use crate::rules::variants::{self, Rules};
use crate::rules::{History, Move, Position, Variant};
#[cfg(any(not(debug_assertions), feature = "every-variant"))]
use crate::with_pos;
use crate::with_variants;
use params::Params;
use root::{Deepening, to_score};
use worker::{MATE_BOUND, MAX_PLY, Shared, Worker};

/// A searcher of any variant. Its tables are of one variant at a time.
#[derive(Debug)]
pub struct AlphaBeta {
    table: Arc<Table>,
    threads: usize,
    networks: Networks,
    /// Workers of the variant searched last, as `Vec<Worker<R>>`.
    workers: Option<(Variant, Box<dyn Any + Send>)>,
    /// Parameters in place of the variant's own, for tuning.
    params: Option<Params>,
    /// Weights of the evaluation in place of the variant's own, for tuning.
    weights: Option<&'static Weights>,
}

impl AlphaBeta {
    /// A searcher on a table that may be shared with others.
    #[must_use]
    pub fn new(table: Arc<Table>, threads: usize) -> Self {
        Self {
            table,
            threads: threads.max(1),
            networks: Networks::default(),
            workers: None,
            params: None,
            weights: None,
        }
    }

    /// The same with other networks than the program's own.
    #[must_use]
    pub fn with_networks(mut self, networks: Networks) -> Self {
        self.networks = networks;
        self.workers = None;
        self
    }

    /// Searches with these parameters, whatever the variant, from now on.
    pub fn set_params(&mut self, params: Params) {
        self.params = Some(params);
    }

    /// Evaluates with these weights, whatever the variant, from now on.
    pub fn set_weights(&mut self, weights: &'static Weights) {
        self.weights = Some(weights);
    }

    /// Forgets what was learnt about the last game, table included, without giving memory back.
    pub fn forget_game(&mut self) {
        self.table.clear();
        if let Some((variant, any)) = &mut self.workers {
            clear_workers(*variant, any.as_mut());
        }
    }

    fn run<R: Rules>(
        &mut self,
        pos: &Pos<R>,
        history: &History,
        limits: &SearchLimits,
        stop: &StopFlag,
        on_info: &mut dyn FnMut(&SearchInfo),
    ) -> SearchReport {
        let shared = self.shared(limits, stop);
        self.table.age();
        let mut workers = self.take_workers(&shared, pos);
        for worker in &mut workers {
            worker.prepare(Arc::clone(&shared), pos, history.keys());
            worker.set_root_moves(&limits.search_moves);
        }
        let report = search_with(&mut workers, &shared, history, limits, on_info);
        self.workers = Some((R::VARIANT, Box::new(workers)));
        report
    }

    /// Makes the workers of a variant before the first search needs them: that takes as long as a move of bullet.
    fn make_workers<R: Rules>(&mut self, pos: &Pos<R>) {
        let shared = self.shared(&SearchLimits::default(), &StopFlag::new());
        let workers = self.take_workers(&shared, pos);
        self.workers = Some((R::VARIANT, Box::new(workers)));
    }

    fn shared(&self, limits: &SearchLimits, stop: &StopFlag) -> Arc<Shared> {
        Arc::new(Shared {
            table: Arc::clone(&self.table),
            stop: stop.clone(),
            done: AtomicBool::new(false),
            nodes: AtomicU64::new(0),
            node_limit: limits.nodes.unwrap_or(u64::MAX).max(1),
        })
    }

    /// The workers of a variant: those of the last search if it was about the same, else new ones.
    fn take_workers<R: Rules>(&mut self, shared: &Arc<Shared>, pos: &Pos<R>) -> Vec<Worker<R>> {
        let mut workers = match self.workers.take() {
            Some((variant, any)) if variant == R::VARIANT => any
                .downcast::<Vec<Worker<R>>>()
                .map_or_else(|_| Vec::new(), |workers| *workers),
            _ => Vec::new(),
        };
        workers.truncate(self.threads);
        while workers.len() < self.threads {
            let mut worker = Worker::new(Arc::clone(shared), pos);
            worker.network = self
                .networks
                .get(R::VARIANT)
                .map(|network| NetworkState::new(network, MAX_PLY + 4));
            workers.push(worker);
        }
        for worker in &mut workers {
            if let Some(params) = self.params
                && params != worker.params
            {
                worker.set_params(params);
            }
            if let Some(weights) = self.weights {
                worker.weights = weights;
            }
        }
        workers
    }
}

fn clear_workers(variant: Variant, any: &mut (dyn Any + Send)) {
    macro_rules! clear {
        ($($name:ident),* $(,)?) => {
            match variant {
                $(Variant::$name => {
                    if let Some(workers) = any.downcast_mut::<Vec<Worker<variants::$name>>>() {
                        workers.iter_mut().for_each(Worker::forget);
                    }
                })*
            }
        };
    }
    with_variants!(clear);
}

/// Runs all workers and makes a report of the main one's result.
fn search_with<R: Rules>(
    workers: &mut [Worker<R>],
    shared: &Arc<Shared>,
    history: &History,
    limits: &SearchLimits,
    on_info: &mut dyn FnMut(&SearchInfo),
) -> SearchReport {
    let (main, helpers) = match workers.split_first_mut() {
        Some((main, helpers)) if !main.root_moves.is_empty() => (main, helpers),
        _ => return without_moves(history, shared),
    };
    let situation = Situation {
        variant: R::VARIANT,
        ply: history.position().ply(),
        n_legal: main.root_moves.len(),
    };
    let mut time = TimeManager::new(limits, situation, &shared.stop);
    let depth = std::thread::scope(|scope| {
        for (index, helper) in helpers.iter_mut().enumerate() {
            scope.spawn(move || {
                let deepening = Deepening {
                    limits,
                    time: None,
                    thread: index + 1,
                };
                helper.deepen(deepening, &mut |_| {});
            });
        }
        let deepening = Deepening {
            limits,
            time: Some(&mut time),
            thread: 0,
        };
        let depth = main.deepen(deepening, on_info);
        shared.done.store(true, Ordering::Relaxed);
        depth
    });
    // The last word: nodes of the iteration that was broken off are nodes too.
    if depth > 0 {
        main.report_line(depth as i32, 0, on_info);
    }
    let best = &main.root_moves[0];
    let score = if best.score.abs() > worker::MATE {
        Score::Cp(0)
    } else {
        to_score(best.score)
    };
    SearchReport {
        best: best.m,
        ponder: best.pv.get(1).copied(),
        score,
        depth,
        seldepth: best.seldepth,
        nodes: shared.nodes.load(Ordering::Relaxed),
        elapsed: shared.stop.elapsed(),
        pv: best.pv.clone(),
        origin: if depth == 0 {
            ReportOrigin::BestSoFar
        } else {
            ReportOrigin::Search
        },
    }
}

/// The wanted root moves are all illegal: any legal move is better than none.
fn without_moves(history: &History, shared: &Shared) -> SearchReport {
    let best = fallback_move(history).unwrap_or(Move::NONE);
    SearchReport::without_search(best, ReportOrigin::Fallback, shared.stop.elapsed())
}

impl Searcher for AlphaBeta {
    fn search(
        &mut self,
        history: &History,
        limits: &SearchLimits,
        stop: &StopFlag,
        on_info: &mut dyn FnMut(&SearchInfo),
    ) -> SearchReport {
        self.dispatch(history, limits, stop, on_info)
    }

    fn new_game(&mut self) {
        self.forget_game();
    }

    fn expect(&mut self, position: &Position) {
        self.dispatch_expected(position);
    }

    fn switch_game(&mut self) {
        if let Some((variant, any)) = &mut self.workers {
            clear_workers(*variant, any.as_mut());
        }
    }

    fn explain(&self, position: &Position) -> Option<String> {
        let value = static_value(position, &self.networks)?;
        Some(format!(
            "static evaluation {value} for the side to move (mates count from {MATE_BOUND})"
        ))
    }
}

/// The search of every variant is compiled: always in release builds, on demand in others (see the manifest).
#[cfg(any(not(debug_assertions), feature = "every-variant"))]
impl AlphaBeta {
    fn dispatch(
        &mut self,
        history: &History,
        limits: &SearchLimits,
        stop: &StopFlag,
        on_info: &mut dyn FnMut(&SearchInfo),
    ) -> SearchReport {
        with_pos!(history.position().any(), pos => self.run(pos, history, limits, stop, on_info))
    }

    fn dispatch_expected(&mut self, position: &Position) {
        with_pos!(position.any(), pos => self.make_workers(pos));
    }
}

#[cfg(any(not(debug_assertions), feature = "every-variant"))]
fn static_value(position: &Position, networks: &Networks) -> Option<i32> {
    Some(with_pos!(position.any(), pos => value_of(pos, networks)))
}

#[cfg(not(any(not(debug_assertions), feature = "every-variant")))]
impl AlphaBeta {
    fn dispatch(
        &mut self,
        history: &History,
        limits: &SearchLimits,
        stop: &StopFlag,
        on_info: &mut dyn FnMut(&SearchInfo),
    ) -> SearchReport {
        use crate::rules::AnyPos;
        match history.position().any() {
            AnyPos::Crazyhouse(pos) => self.run(pos, history, limits, stop, on_info),
            AnyPos::Capablanca(pos) => self.run(pos, history, limits, stop, on_info),
            _ => {
                super::material::MaterialSearcher::default().search(history, limits, stop, on_info)
            }
        }
    }

    fn dispatch_expected(&mut self, position: &Position) {
        use crate::rules::AnyPos;
        match position.any() {
            AnyPos::Crazyhouse(pos) => self.make_workers(pos),
            AnyPos::Capablanca(pos) => self.make_workers(pos),
            _ => {}
        }
    }
}

#[cfg(not(any(not(debug_assertions), feature = "every-variant")))]
fn static_value(position: &Position, networks: &Networks) -> Option<i32> {
    use crate::rules::AnyPos;
    match position.any() {
        AnyPos::Crazyhouse(pos) => Some(value_of(pos, networks)),
        AnyPos::Capablanca(pos) => Some(value_of(pos, networks)),
        _ => None,
    }
}

fn value_of<R: Rules>(pos: &Pos<R>, networks: &Networks) -> i32 {
    let weights = evaluation::weights::weights(R::VARIANT);
    match networks.get(R::VARIANT) {
        Some(network) => NetworkState::new(network, 1).value(&[*pos], 0, weights),
        None => evaluation::evaluate(pos, weights),
    }
}
