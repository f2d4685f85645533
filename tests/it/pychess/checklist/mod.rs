//! The eight points a PyChess client must keep, each as one or more tests named after it. Every one plays against the fake server.
//!
//! | item | what it asks | where |
//! |---|---|---|
//! | 1 | types and units of its own | `positions` |
//! | 2 | the capability header | `challenges` |
//! | 3 | challenges, guests, declining; the number of games is ours to bound | `challenges`; `lobby_slots` |
//! | 4 | accepting, the shuffled flag, games never made | `challenges` |
//! | 5 | position from start and whole list; the variant behind the name | `positions` |
//! | 6 | a move for the board it was meant for, once, in time | `moves`; `game_session` for the deadline |
//! | 7 | ends and results, resigning | `ends` |
//! | 8 | silence, back-off, one stream, lists of running games | `connection`; `daemon_platforms` |

mod challenges;
mod connection;
mod ends;
mod moves;
mod positions;

use seneschal::game::{CommandFailure, GameEvent};

use super::fake::game::Offer;
use super::rig::{Rig, Table};

const GUEST: &str = "Anon\u{2013}q7Xz";
const EMBASSY: &str = "rnbqkcabnr/pppppppppp/10/10/10/10/PPPPPPPPPP/RNBQKCABNR w KQkq - 0 1";

fn zh() -> Offer {
    Offer::new("visitor", "crazyhouse")
}

fn unanswered(event: &GameEvent) -> Option<()> {
    matches!(
        event,
        GameEvent::Failed {
            failure: CommandFailure::Unanswered,
            ..
        }
    )
    .then_some(())
}

/// e4 e5 Nf3, the bot to move.
async fn three_plies(rig: &mut Rig) -> Table {
    let mut table = rig.sit_down(zh()).await;
    rig.fake.play(&table.id, "e2e4");
    table.plies(1).await;
    table.play("e7e5").await;
    table.plies(2).await;
    rig.fake.play(&table.id, "g1f3");
    table.plies(3).await;
    table
}
