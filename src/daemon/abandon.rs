//! Leaving a game without its session: the session is what failed.

use std::time::Duration;

use tokio::time::timeout;

use crate::game::{GameCommand, GameEnd, GameEvent, GameId, Status};

use super::game_task::{GameOutcome, GameShared, open};

/// How long the first state of the game may take.
const STATE_PATIENCE: Duration = Duration::from_secs(30);
/// How long the end may take to show after we left.
const END_PATIENCE: Duration = Duration::from_secs(30);

/// Aborts the game if that is possible, else resigns it, and waits for the end.
pub(super) async fn abandon(shared: GameShared, id: GameId) -> GameOutcome {
    let end = leave(&shared, &id).await;
    if end.is_some() {
        shared.journal.settle(&shared.account, &id).await;
    }
    GameOutcome {
        account: shared.account,
        game: id,
        end,
    }
}

async fn leave(shared: &GameShared, id: &GameId) -> Option<GameEnd> {
    let mut link = open(shared, id).await?;
    let mut left = false;
    loop {
        let patience = if left { END_PATIENCE } else { STATE_PATIENCE };
        let received = tokio::select! {
            biased;
            () = shared.abort.cancelled() => return None,
            received = timeout(patience, link.events.recv()) => received.ok()??,
        };
        let state = match received.event {
            GameEvent::Ended(end) => return Some(end),
            GameEvent::Full { state, .. } | GameEvent::State(state) => state,
            _ => continue,
        };
        if let Status::Ended(end) = state.status {
            return Some(end);
        }
        if !left {
            left = true;
            tracing::error!(account = %shared.account, game = %id, "abandons the game");
            let early = state.moves.len() < 2 && state.base_fen.is_none();
            let command = match early {
                true => GameCommand::Abort,
                false => GameCommand::Resign,
            };
            timeout(END_PATIENCE, link.commands.send(command))
                .await
                .ok()?
                .ok()?;
        }
    }
}
