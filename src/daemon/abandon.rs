//! Leaving a game without its session: the session is what failed.
//!
//! A game that shows no state, or none that can be read, is left as well: it may still be aborted, and if that does not end it,
//! it is resigned.

use std::time::Duration;

use tokio::time::timeout;

use crate::game::{CommandKind, GameCommand, GameEnd, GameEvent, GameId, Status};

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
    let mut left: Option<GameCommand> = None;
    loop {
        let patience = if left.is_some() {
            END_PATIENCE
        } else {
            STATE_PATIENCE
        };
        let received = tokio::select! {
            biased;
            () = shared.abort.cancelled() => return None,
            received = timeout(patience, link.events.recv()) => received,
        };
        let next = match (received, &left) {
            (Ok(None), _) => return None,
            (Ok(Some(received)), left) => match received.event {
                GameEvent::Ended(end) => return Some(end),
                GameEvent::Full { state, .. } | GameEvent::State(state) => match state.status {
                    Status::Ended(end) => return Some(end),
                    Status::Running if left.is_some() => continue,
                    Status::Running if state.moves.len() < 2 && state.base_fen.is_none() => {
                        GameCommand::Abort
                    }
                    Status::Running => GameCommand::Resign,
                },
                GameEvent::Unreadable { .. } if left.is_none() => GameCommand::Abort,
                GameEvent::Failed {
                    command: CommandKind::Abort,
                    ..
                } if left.is_some() => GameCommand::Resign,
                _ => continue,
            },
            (Err(_), None) => GameCommand::Abort,
            (Err(_), Some(GameCommand::Abort)) => GameCommand::Resign,
            (Err(_), Some(_)) => return None,
        };
        tracing::error!(account = %shared.account, game = %id, by = %next, "abandons the game");
        left = Some(next.clone());
        timeout(END_PATIENCE, link.commands.send(next))
            .await
            .ok()?
            .ok()?;
    }
}
