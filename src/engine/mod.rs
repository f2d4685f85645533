//! The best move of a position, for every variant of the rules.
//!
//! `limits` go into a [`Searcher`], a [`SearchReport`] comes out; [`pool`] shares searchers among
//! many games, [`uci`] serves a GUI, [`arena`] plays engines against each other.

pub mod arena;
pub mod book;
pub mod evaluation;
mod fallback;
pub mod limits;
pub mod material;
pub mod network;
pub mod own;
pub mod pool;
pub mod report;
pub mod score;
pub mod search;
pub mod searcher;
pub mod see;
pub mod stop;
pub mod strength;
pub mod time;
pub mod training;
pub mod transposition;
pub mod uci;

use std::sync::Arc;

pub use fallback::fallback_move;
pub use limits::{ClockLimits, SearchLimits};
pub use pool::{Pool, PoolConfig, SearchHandle, SearchRequest};
pub use report::{Bound, ReportOrigin, SearchInfo, SearchReport};
pub use score::Score;
pub use searcher::Searcher;
pub use stop::StopFlag;

/// Resources of a searcher, or of all searchers that share a transposition table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineConfig {
    /// Memory of the transposition table.
    pub hash_bytes: usize,
    /// Threads of one search. In the pool this is one.
    pub threads: usize,
    /// Which networks evaluate positions.
    pub networks: network::Networks,
    /// Which opening books games are played from.
    pub books: book::Books,
}

impl EngineConfig {
    /// So much memory and so many threads, with the program's own networks and no books.
    #[must_use]
    pub fn new(hash_bytes: usize, threads: usize) -> Self {
        Self {
            hash_bytes,
            threads,
            networks: network::Networks::default(),
            books: book::Books::none(),
        }
    }
}

/// Makes a searcher for a configuration.
pub type NewSearcher = Arc<dyn Fn(&EngineConfig) -> Box<dyn Searcher> + Send + Sync>;

/// The engine's searcher, with a table of its own. The one place that says which one it is.
pub fn new_searcher(config: &EngineConfig) -> Box<dyn Searcher> {
    let table = Arc::new(transposition::Table::new(config.hash_bytes));
    with_books(config, search_on(table, config))
}

/// The search itself, on a table that may be shared.
fn search_on(table: Arc<transposition::Table>, config: &EngineConfig) -> Box<dyn Searcher> {
    let searcher = search::AlphaBeta::new(table, config.threads);
    Box::new(searcher.with_networks(config.networks.clone()))
}

/// Lets a searcher look into the books first, if there are any.
fn with_books(config: &EngineConfig, searcher: Box<dyn Searcher>) -> Box<dyn Searcher> {
    if config.books.is_none() {
        return searcher;
    }
    Box::new(book::BookPlayer::new(config.books.clone(), searcher))
}

/// A factory for the pool: all searchers made by it share one transposition table.
pub fn searcher_factory(config: EngineConfig) -> pool::SearcherFactory {
    let table = Arc::new(transposition::Table::new(config.hash_bytes));
    Arc::new(move || with_books(&config, search_on(Arc::clone(&table), &config)))
}
