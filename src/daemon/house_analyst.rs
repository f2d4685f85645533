//! The house's analyst over the engine's pool: the one place that knows both.

use std::sync::Arc;
use std::time::Duration;

use crate::engine::pool::SubmitError;
use crate::engine::{Pool, ReportOrigin, Score, SearchLimits, SearchReport, SearchRequest};
use crate::house::analysis::{Analyst, AnalystError, AnalystFuture, Opinion, Value};
use crate::rules::{Color, History, Position};

/// Nodes for a position: enough for the tactics of a move, some tenths of a second at most.
const NODES: u64 = 60_000;

/// A position gets its opinion after this much time at the latest, once the search has a thread to itself.
const LONGEST: Duration = Duration::from_secs(2);

/// Pause before a position is tried again for which there was no room among the games being played.
const PAUSE: Duration = Duration::from_millis(200);

/// So often a position is tried.
const TRIES: u32 = 150;

/// Numbers of the analyst's games are apart from those of the games that are played.
const APART: u64 = 1 << 63;

/// Judges positions with the threads that also play. Its searches stand behind all others and
/// make room for them at once, so no game being played is slower for it.
#[derive(Debug, Clone)]
pub struct PoolAnalyst {
    pool: Arc<Pool>,
    name: String,
}

impl PoolAnalyst {
    /// An analyst that uses these threads.
    pub fn new(pool: Arc<Pool>, name: impl Into<String>) -> PoolAnalyst {
        PoolAnalyst {
            pool,
            name: name.into(),
        }
    }
}

impl Analyst for PoolAnalyst {
    fn name(&self) -> &str {
        &self.name
    }

    fn judge(&self, game: u64, history: History) -> AnalystFuture {
        let pool = Arc::clone(&self.pool);
        Box::pin(async move {
            let plies = history.moves().len();
            let failed = |reason: String| AnalystError { plies, reason };
            for _ in 0..TRIES {
                match search(&pool, game, &history).await {
                    Ok(report) if report.origin.has_score() => {
                        return Ok(opinion(history.position(), &report));
                    }
                    Ok(SearchReport {
                        origin: ReportOrigin::OnlyMove | ReportOrigin::Book | ReportOrigin::Fallback,
                        ..
                    })
                    | Err(SubmitError::Full { .. }) => tokio::time::sleep(PAUSE).await,
                    Ok(_) => {}
                    Err(error) => return Err(failed(error.to_string())),
                }
            }
            Err(failed(format!("no thread was free in {TRIES} tries")))
        })
    }
}

async fn search(pool: &Pool, game: u64, history: &History) -> Result<SearchReport, SubmitError> {
    let limits = SearchLimits {
        // On nobody's time: the pool's lowest rank.
        ponder: true,
        ..SearchLimits::nodes(NODES)
    };
    let mut handle = pool.submit(SearchRequest {
        id: 0,
        game: game | APART,
        history: history.clone(),
        limits,
    })?;
    if let Ok(report) = tokio::time::timeout(LONGEST, &mut handle).await {
        return Ok(report);
    }
    handle.stop();
    Ok(handle.await)
}

fn opinion(position: &Position, report: &SearchReport) -> Opinion {
    let own = match report.score {
        Score::Cp(cp) => Value::Cp(cp),
        Score::Mate(moves) => Value::Mate(moves),
    };
    let value = match (position.turn(), own) {
        (Color::White, own) => own,
        (Color::Black, Value::Cp(cp)) => Value::Cp(cp.saturating_neg()),
        (Color::Black, Value::Mate(moves)) => Value::Mate(moves.saturating_neg()),
        (Color::Black, Value::Over(result)) => Value::Over(-result),
    };
    let mut at = position.clone();
    let mut line = Vec::with_capacity(report.pv.len());
    for played in &report.pv {
        if !at.is_legal(*played) {
            break;
        }
        line.push(at.uci(*played));
        at.play_unchecked(*played);
    }
    Opinion { value, line }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::EngineSection;
    use crate::daemon::assemble::pool;
    use crate::game::GamePolicy;
    use crate::rules::{CastlingMode, Variant};

    fn analyst() -> PoolAnalyst {
        let engine = EngineSection {
            hash_mib: 4,
            ..EngineSection::default()
        };
        let pool = pool(&engine, &GamePolicy::default()).unwrap();
        PoolAnalyst::new(Arc::new(pool), "Engine")
    }

    fn history(variant: Variant, fen: &str) -> History {
        History::new(Position::from_fen(variant, CastlingMode::Standard, fen).unwrap())
    }

    #[tokio::test]
    async fn values_are_whites_whoever_is_to_move() {
        let analyst = analyst();
        for (turn, sign) in [("w", 1), ("b", -1)] {
            // The side to move is a queen up in hand.
            let fen = match turn {
                "w" => "rnb1kbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR[Q] w KQkq - 0 1",
                _ => "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNB1KBNR[q] b KQkq - 0 1",
            };
            let judged = analyst.judge(1, history(Variant::Crazyhouse, fen)).await;
            let opinion = judged.unwrap();
            let white = match opinion.value {
                Value::Cp(cp) => cp,
                Value::Mate(moves) => moves * 1000,
                Value::Over(_) => 0,
            };
            assert!(white * sign > 200, "{turn}: {opinion:?}");
            assert!(!opinion.line.is_empty());
        }
    }

    #[tokio::test]
    async fn a_mate_is_seen_with_its_move_and_a_lone_move_has_a_value_too() {
        let analyst = analyst();
        let mate = history(Variant::Crazyhouse, "6k1/5ppp/8/8/8/8/8/4K3[R] w - - 0 1");
        let opinion = analyst.judge(2, mate).await.unwrap();
        assert_eq!(opinion.value, Value::Mate(1), "{opinion:?}");
        assert!(opinion.line[0].starts_with("R@"), "{opinion:?}");
        let lone = history(Variant::Chess, "7k/8/8/8/8/8/r7/1r5K w - - 0 1");
        assert_eq!(lone.position().legal_moves().len(), 0, "mate already");
        let refused = analyst.judge(3, lone).await;
        assert!(refused.is_err(), "nothing to judge: {refused:?}");
        let forced = history(Variant::Chess, "7k/8/8/8/8/8/r7/7K w - - 0 1");
        assert_eq!(forced.position().legal_moves().len(), 1);
        let opinion = analyst.judge(4, forced).await.unwrap();
        assert_eq!(opinion.line[0], "h1g1");
        assert!(opinion.value.chances() < 0.2, "{opinion:?}");
    }
}
