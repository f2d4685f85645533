//! The best move of a position, for every variant of the rules.

pub mod limits;
pub mod report;
pub mod score;
pub mod searcher;
pub mod stop;
pub mod time;

pub use limits::{ClockLimits, SearchLimits};
pub use report::{Bound, ReportOrigin, SearchInfo, SearchReport};
pub use score::Score;
pub use searcher::Searcher;
pub use stop::StopFlag;
