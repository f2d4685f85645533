//! The desk where finished games wait for the analyst. One game is judged at a time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{Analysis, Analyst, LINE_MOVES, Opinion, Value};
use crate::house::api::App;
use crate::house::game::Game;
use crate::house::refusal::Refusal;
use crate::rules::{Adjudication, Color};

/// Games that may wait.
const QUEUE: usize = 32;

/// Failures that are remembered, so that whoever asked can be told.
const FAILURES: usize = 64;

/// How far a game is. A game whose analysis is finished carries it and is no longer here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// Others come first.
    Waiting,
    /// The analyst is at it, from the last position back to the first.
    Running {
        /// Opinions by position; nothing where it has not come yet.
        opinions: Vec<Option<Opinion>>,
    },
    /// It did not work.
    Failed {
        /// Why.
        reason: String,
    },
}

/// Games that wait for the analyst.
#[derive(Debug)]
pub struct Desk {
    analyst: Option<Arc<dyn Analyst>>,
    games: Mutex<HashMap<String, Progress>>,
    queue: mpsc::Sender<String>,
}

impl Desk {
    /// A desk, and the end at which the games arrive that [`run`] takes up.
    pub(in crate::house) fn new(
        analyst: Option<Arc<dyn Analyst>>,
    ) -> (Desk, mpsc::Receiver<String>) {
        let (queue, arriving) = mpsc::channel(QUEUE);
        let desk = Desk {
            analyst,
            games: Mutex::new(HashMap::new()),
            queue,
        };
        (desk, arriving)
    }

    /// Whether there is an analyst at all.
    pub fn is_manned(&self) -> bool {
        self.analyst.is_some()
    }

    fn games(&self) -> MutexGuard<'_, HashMap<String, Progress>> {
        // The map is whole between any two statements here.
        self.games.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How far a game is; nothing if it is not here.
    pub fn progress(&self, game: &str) -> Option<Progress> {
        self.games().get(game).cloned()
    }

    /// Puts a finished game on the desk. One that is here already stays where it is.
    ///
    /// # Errors
    /// 400 without an analyst, 429 if too many wait.
    pub fn ask(&self, game: &str) -> Result<(), Refusal> {
        if !self.is_manned() {
            return Err(Refusal::bad("This house has no engine to analyse with"));
        }
        let mut games = self.games();
        match games.get(game) {
            Some(Progress::Waiting | Progress::Running { .. }) => return Ok(()),
            Some(Progress::Failed { .. }) | None => {}
        }
        if self.queue.try_send(game.to_owned()).is_err() {
            let text = "Too many games wait to be analysed. Try again later.";
            return Err(Refusal::TooMany(text.to_owned()));
        }
        games.insert(game.to_owned(), Progress::Waiting);
        Ok(())
    }

    fn begin(&self, game: &str, positions: usize) {
        let opinions = vec![None; positions];
        self.games()
            .insert(game.to_owned(), Progress::Running { opinions });
    }

    fn judged(&self, game: &str, ply: usize, opinion: Opinion) {
        if let Some(Progress::Running { opinions }) = self.games().get_mut(game)
            && let Some(place) = opinions.get_mut(ply)
        {
            *place = Some(opinion);
        }
    }

    fn done(&self, game: &str) {
        self.games().remove(game);
    }

    fn failed(&self, game: &str, reason: String) {
        let mut games = self.games();
        let is_failure = |progress: &Progress| matches!(progress, Progress::Failed { .. });
        if games.values().filter(|p| is_failure(p)).count() >= FAILURES {
            games.retain(|_, progress| !is_failure(progress));
        }
        games.insert(game.to_owned(), Progress::Failed { reason });
    }
}

/// Takes up one game after the other until the house closes.
pub(in crate::house) async fn run(
    app: Arc<App>,
    mut arriving: mpsc::Receiver<String>,
    stop: CancellationToken,
) {
    let Some(analyst) = app.desk.analyst.clone() else {
        return;
    };
    let mut number = 0;
    loop {
        let id = tokio::select! {
            biased;
            () = stop.cancelled() => return,
            id = arriving.recv() => match id {
                Some(id) => id,
                None => return,
            },
        };
        number += 1;
        let analysed = tokio::select! {
            biased;
            () = stop.cancelled() => return,
            analysed = analyse(&app, &*analyst, &id, number) => analysed,
        };
        match analysed {
            Ok(()) => app.desk.done(&id),
            Err(reason) => {
                tracing::warn!(game.id = %id, %reason, "a game cannot be analysed");
                app.desk.failed(&id, reason);
            }
        }
    }
}

async fn analyse(app: &App, analyst: &dyn Analyst, id: &str, number: u64) -> Result<(), String> {
    let (game, _) = app.game(id).await.map_err(|refused| refused.to_string())?;
    if game.analysis.is_some() {
        return Ok(());
    }
    let plies = game.plies();
    app.desk.begin(id, plies + 1);
    let mut history = game.history().clone();
    let mut positions = Vec::with_capacity(plies + 1);
    // From the end to the beginning: what the analyst learns about a position helps it with the one before.
    for ply in (0..=plies).rev() {
        history.truncate(ply);
        let opinion = match over(&game).filter(|_| ply == plies) {
            Some(value) => Opinion {
                value,
                line: Vec::new(),
            },
            None => {
                let judged = analyst.judge(number, history.clone()).await;
                let mut opinion = judged.map_err(|error| error.to_string())?;
                opinion.line.truncate(LINE_MOVES);
                opinion
            }
        };
        app.desk.judged(id, ply, opinion.clone());
        positions.push(opinion);
    }
    positions.reverse();
    let analysis = Analysis {
        by: analyst.name().to_owned(),
        positions,
    };
    keep(app, id, analysis).await
}

/// The value of the last position if the rules have ended the game there, not a clock or a player.
fn over(game: &Game) -> Option<Value> {
    let ending = Adjudication::SEED.verdict(game.history()).ending;
    let nothing_to_play = !game.position().has_legal_move();
    if ending.is_none() && !nothing_to_play {
        return None;
    }
    Some(Value::Over(match game.winner {
        Some(Color::White) => 1,
        Some(Color::Black) => -1,
        None => 0,
    }))
}

/// Writes the analysis to the game, wherever that is.
async fn keep(app: &App, id: &str, analysis: Analysis) -> Result<(), String> {
    let Some(analysis) = app.hall.keep_analysis(id, analysis) else {
        return Ok(());
    };
    let kept = async {
        let Some(mut record) = app.archive.game(id).await? else {
            return Ok(());
        };
        record.analysis = Some(analysis);
        app.archive.save_games(vec![record]).await
    };
    kept.await
        .map_err(|error: crate::house::archive::ArchiveError| error.to_string())
}
