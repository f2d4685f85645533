//! Who begins the games of the league and writes down what came of them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::{League, LeagueTag, MeetingState};
use crate::house::api::App;
use crate::house::archive::{ArchiveError, GameQuery};
use crate::house::game::{GameRecord, color_of_word};
use crate::house::status::Status;
use crate::rules::Color;

/// Who has not made his first move by then is not there: the game is aborted, ms.
const FIRST_MOVES_MS: i64 = 60_000;

/// The director looks at least so often.
const LOOK: Duration = Duration::from_millis(500);

/// Games read from the archive in one go.
const BATCH: u32 = 500;

/// Plays the league until everything is played or the house closes.
pub(in crate::house) async fn run(app: Arc<App>, stop: CancellationToken) {
    let Some(league) = app.league.clone() else {
        return;
    };
    if let Err(error) = resume(&app, &league).await {
        tracing::error!(%error, "the league cannot be taken up again and is not played");
        return;
    }
    tracing::info!(league = league.name(), "the league is open");
    let mut changes = app.hall.changes.subscribe();
    while !league.is_over() {
        settle(&app, &league).await;
        begin(&app, &league);
        tokio::select! {
            biased;
            () = stop.cancelled() => return,
            // A change may be the end of one of its games. That some were missed does not matter.
            _ = changes.recv() => {}
            () = tokio::time::sleep(LOOK) => {}
        }
    }
    tracing::info!(league = league.name(), "the league is over");
}

/// Takes in what the archive knows of this league.
async fn resume(app: &App, league: &League) -> Result<(), ArchiveError> {
    let mut seen = BTreeSet::new();
    let mut until_ms = None;
    loop {
        let batch = app
            .archive
            .games(GameQuery {
                until_ms,
                limit: BATCH,
                ..GameQuery::default()
            })
            .await?;
        let fresh: Vec<GameRecord> = batch
            .into_iter()
            .filter(|game| seen.insert(game.id.clone()))
            .collect();
        let Some(last) = fresh.last() else {
            return Ok(());
        };
        until_ms = Some(last.created_ms);
        for game in &fresh {
            take_in(league, game);
        }
    }
}

fn take_in(league: &League, game: &GameRecord) {
    let Some(tag) = game.league.as_ref().filter(|tag| tag.name == league.name()) else {
        return;
    };
    let mut meetings = league.lock();
    let Some(meeting) = meetings.get_mut(tag.meeting) else {
        return;
    };
    // The league may have had other players then.
    let players = [meeting.pairing.white, meeting.pairing.black];
    let same = Color::ALL
        .into_iter()
        .zip(players)
        .all(|(color, player)| game.seats[color.index()].account == league.players[player].account);
    if !same {
        return;
    }
    if game.ended_ms.is_none() {
        meeting.state = MeetingState::Running(game.id.clone());
    } else if game.status == Status::Aborted {
        if meeting.state == MeetingState::Open {
            meeting.was_aborted();
        }
    } else {
        meeting.state = MeetingState::Done {
            game: game.id.clone(),
            winner: game.winner.as_deref().and_then(color_of_word),
        };
    }
}

/// Writes down the games that are over, and aborts those that nobody begins.
async fn settle(app: &App, league: &League) {
    let running: Vec<(usize, String)> = league
        .lock()
        .iter()
        .enumerate()
        .filter_map(|(number, meeting)| match &meeting.state {
            MeetingState::Running(id) => Some((number, id.clone())),
            _ => None,
        })
        .collect();
    for (number, id) in running {
        let looked = app.hall.look(&id, |game, now_ms| {
            let late = game.plies() < 2 && now_ms - game.created_ms > FIRST_MOVES_MS;
            (game.status, game.winner, late)
        });
        let (status, winner) = match looked {
            Some((Status::Started, _, late)) => {
                if late {
                    app.hall.abandon_meeting(&id);
                }
                continue;
            }
            Some((status, winner, _)) => (status, winner),
            None => match app.archive.game(&id).await {
                // It is not at hand while the house restarts.
                Ok(Some(game)) if game.ended_ms.is_none() => continue,
                Ok(Some(game)) => (game.status, game.winner.as_deref().and_then(color_of_word)),
                Ok(None) => (Status::Aborted, None),
                Err(error) => {
                    tracing::warn!(%error, game.id = %id, "a game of the league cannot be read");
                    continue;
                }
            },
        };
        let meeting = &mut league.lock()[number];
        if status == Status::Aborted {
            meeting.was_aborted();
        } else {
            meeting.state = MeetingState::Done { game: id, winner };
        }
    }
}

/// Begins what is due.
fn begin(app: &App, league: &League) {
    let due = league.due(|player| app.hall.listens(&player.account));
    for (number, pairing) in due {
        let players = [pairing.white, pairing.black].map(|n| league.players[n].account.as_str());
        let tag = LeagueTag {
            name: league.name().to_owned(),
            meeting: number,
        };
        match app.hall.start_meeting(tag, players, league.terms()) {
            Ok(id) => league.lock()[number].state = MeetingState::Running(id),
            Err(refused) => {
                tracing::warn!(%refused, ?players, "a game of the league cannot begin");
            }
        }
    }
}
