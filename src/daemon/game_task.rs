//! The task of one game: owns its session, its link, its search and the sole right to send for it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::engine::{Pool, SearchHandle, SearchReport, SearchRequest};
use crate::game::tape::TapeLine;
use crate::game::{
    CommandFailure, CommandKind, GameAction, GameCommand, GameEnd, GameEvent, GameId, GameMemory,
    GameSession, Input, Moment, Player, SearchId, SessionTerms, ThinkRequest,
};
use crate::lobby::AccountName;
use crate::platform::{AccountCommand, GameLink, Received};
use crate::rules::Variant;

use super::journal::{Journal, KeptGame};
use super::overhead::Overhead;
use super::stats::Stats;
use super::tapes::{Tape, TapeDesk};
use super::timeline::Timeline;

/// How long the client may take to take a command.
const SEND_PATIENCE: Duration = Duration::from_secs(1);
/// How long the client may take to answer that a game is being opened.
const OPEN_PATIENCE: Duration = Duration::from_secs(10);
/// Without anything to wait for the task looks at its session this often.
const IDLE: Duration = Duration::from_secs(3_600);

/// What others tell a game.
#[derive(Debug)]
pub(super) enum GameControl {
    /// It should not have started.
    Unwanted(String),
}

/// What a game tells the root while it runs.
#[derive(Debug)]
pub(super) struct OpponentKnown {
    pub(super) account: AccountName,
    pub(super) game: GameId,
    pub(super) player: Player,
}

/// Everything that all games of an account share.
#[derive(Debug, Clone)]
pub(super) struct GameShared {
    pub(super) account: AccountName,
    /// The platform's word in the configuration.
    pub(super) platform: &'static str,
    pub(super) commands: mpsc::Sender<AccountCommand>,
    pub(super) pool: Arc<Pool>,
    pub(super) journal: Journal,
    pub(super) tapes: Option<(TapeDesk, PathBuf)>,
    pub(super) overhead: Overhead,
    pub(super) stats: Stats,
    pub(super) timeline: Timeline,
    pub(super) waiting: watch::Receiver<Vec<String>>,
    pub(super) news: mpsc::Sender<OpponentKnown>,
    pub(super) abort: CancellationToken,
}

/// How a game's task ended.
#[derive(Debug)]
pub(super) struct GameOutcome {
    pub(super) account: AccountName,
    pub(super) game: GameId,
    /// `None`: the link closed without an end, or everything is ending.
    pub(super) end: Option<GameEnd>,
}

/// One game being played.
struct GameTask {
    shared: GameShared,
    id: GameId,
    number: u64,
    session: GameSession,
    link: GameLink,
    tape: Option<Tape>,
    search: Option<Running>,
    /// The share of the last search's order in the reaction time.
    before: Option<Duration>,
    started_ms: i64,
    kept_running: bool,
    /// When the input arrived that the present step is about.
    arrived: Instant,
}

struct Running {
    id: SearchId,
    handle: SearchHandle,
    /// From the arrival of the event to the order of the search.
    before: Duration,
}

/// Plays a game to its end.
pub(super) async fn play(
    shared: GameShared,
    id: GameId,
    number: u64,
    terms: SessionTerms,
    mut control: mpsc::Receiver<GameControl>,
) -> GameOutcome {
    let now_ms = shared.timeline.wall_ms();
    shared
        .journal
        .owe(&shared.account, &id, terms.memory, now_ms)
        .await;
    let outcome = |end| GameOutcome {
        account: shared.account.clone(),
        game: id.clone(),
        end,
    };
    let Some(link) = open(&shared, &id).await else {
        return outcome(None);
    };
    let tape = shared.tapes.clone().map(|(desk, dir)| {
        let mut tape = Tape::new(desk, &dir, &shared.account, &id, now_ms);
        tape.write(TapeLine::head(&terms).to_json());
        tape
    });
    let mut task = GameTask {
        session: GameSession::new(terms),
        id: id.clone(),
        number,
        link,
        tape,
        search: None,
        before: None,
        started_ms: now_ms,
        kept_running: false,
        arrived: Instant::now(),
        shared: shared.clone(),
    };
    let end = task.run(&mut control).await;
    outcome(end)
}

/// Asks the client for the game's link.
pub(super) async fn open(shared: &GameShared, id: &GameId) -> Option<GameLink> {
    let (reply, answer) = oneshot::channel();
    let order = AccountCommand::OpenGame {
        id: id.clone(),
        reply,
    };
    let asked = async {
        shared.commands.send(order).await.ok()?;
        answer.await.ok()
    };
    tokio::select! {
        biased;
        () = shared.abort.cancelled() => None,
        link = tokio::time::timeout(OPEN_PATIENCE, asked) => link.ok().flatten(),
    }
}

/// What the task waits for.
enum Wake {
    Abort,
    Control(GameControl),
    Event(Option<Received<GameEvent>>),
    Report(SearchId, SearchReport),
    Waiting,
    Time,
}

impl GameTask {
    async fn run(&mut self, control: &mut mpsc::Receiver<GameControl>) -> Option<GameEnd> {
        let overhead = self.shared.overhead.get();
        if !overhead.is_zero() {
            self.step(Input::Overhead(overhead)).await;
        }
        let mut control_open = true;
        loop {
            let wake = self.wait(control, control_open).await;
            self.arrived = Instant::now();
            match wake {
                Wake::Abort => return None,
                Wake::Control(GameControl::Unwanted(reason)) => {
                    self.step(Input::Unwanted { reason }).await;
                }
                Wake::Event(Some(received)) => self.event(received).await,
                Wake::Event(None) => {
                    tracing::warn!(account = %self.shared.account, game = %self.id, "the game's link closed without an end");
                    return None;
                }
                Wake::Report(id, report) => {
                    // A handle that answered must not be waited for again.
                    self.before = self.search.take().map(|running| running.before);
                    self.step(Input::Report {
                        id,
                        report: Box::new(report),
                    })
                    .await;
                }
                Wake::Waiting => {
                    let names = self.shared.waiting.borrow_and_update().clone();
                    self.step(Input::Waiting(names)).await;
                }
                Wake::Time => self.step(Input::Tick).await,
            }
            control_open = !control.is_closed();
            if let Some(end) = self.session.end().cloned() {
                self.finish(&end).await;
                return Some(end);
            }
        }
    }

    /// Only cancel-safe waits: what must not be torn happens in the body of the loop.
    async fn wait(&mut self, control: &mut mpsc::Receiver<GameControl>, open: bool) -> Wake {
        let due = self.session.next_deadline().map_or_else(
            || Instant::now() + IDLE,
            |moment| self.shared.timeline.instant(moment),
        );
        let search = &mut self.search;
        let report = async {
            match search {
                Some(running) => {
                    let report = (&mut running.handle).await;
                    (running.id, report)
                }
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = self.shared.abort.cancelled() => Wake::Abort,
            Some(order) = control.recv(), if open => Wake::Control(order),
            received = self.link.events.recv() => Wake::Event(received),
            (id, report) = report => Wake::Report(id, report),
            Ok(()) = self.shared.waiting.changed() => Wake::Waiting,
            () = tokio::time::sleep_until(due) => Wake::Time,
        }
    }

    async fn event(&mut self, received: Received<GameEvent>) {
        self.arrived = received.at;
        if let GameEvent::Accepted {
            command: CommandKind::Play { .. },
            took,
        } = &received.event
        {
            let overhead = self.shared.overhead.add(*took);
            self.step(Input::Overhead(overhead)).await;
        }
        let at = self.shared.timeline.moment(received.at);
        let event = received.event;
        let news = matches!(event, GameEvent::Full { .. });
        self.step(Input::Event { at, event }).await;
        if news {
            self.first_facts().await;
        }
    }

    /// What the first full state tells beyond the session: who sits opposite, and that the game is on.
    async fn first_facts(&mut self) {
        if self.kept_running {
            return;
        }
        let Some(start) = self.session.start() else {
            return;
        };
        self.kept_running = true;
        let news = OpponentKnown {
            account: self.shared.account.clone(),
            game: self.id.clone(),
            player: start.opponent.clone(),
        };
        // The root is never long in reading; without it there is nobody to tell.
        drop(self.shared.news.try_send(news));
        tracing::info!(
            account = %self.shared.account,
            game = %self.id,
            variant = start.variant.uci_name(),
            color = %start.color,
            opponent = %start.opponent.name,
            clock = %start.time_control,
            rated = start.rated,
            "game is on"
        );
        self.keep(None).await;
    }

    async fn keep(&self, end: Option<&GameEnd>) {
        let (Some(start), Some(record)) = (self.session.start(), self.session.record()) else {
            return;
        };
        let kept = KeptGame {
            platform: self.shared.platform,
            account: &self.shared.account,
            start,
            moves: record.words(),
            end,
            started_ms: self.started_ms,
            now_ms: self.shared.timeline.wall_ms(),
        };
        self.shared.journal.keep_game(&kept).await;
    }

    async fn finish(&mut self, end: &GameEnd) {
        self.search = None;
        let variant = self
            .session
            .start()
            .map_or(Variant::Chess, |start| start.variant);
        tracing::info!(
            account = %self.shared.account,
            game = %self.id,
            variant = variant.uci_name(),
            result = ?end.result,
            termination = ?end.termination,
            moves = self.session.record().map_or(0, |record| record.ply()),
            "game is over"
        );
        self.shared.stats.game_ended(variant.uci_name(), end);
        self.keep(Some(end)).await;
        self.shared
            .journal
            .settle(&self.shared.account, &self.id)
            .await;
    }

    /// One step of the session with everything that follows from it.
    async fn step(&mut self, input: Input) {
        let mut next = Some(input);
        while let Some(input) = next.take() {
            let now = self.shared.timeline.now();
            if let Some(tape) = &mut self.tape {
                tape.write(TapeLine::input(&input, now).to_json());
            }
            let actions = self.session.step(input, now);
            for action in actions {
                if let Some(tape) = &mut self.tape {
                    tape.write(TapeLine::Out(action.to_string()).to_json());
                }
                if let Some(consequence) = self.act(action, now).await {
                    next = Some(consequence);
                }
            }
        }
    }

    /// Carries one action out. What comes of it at once is the next input.
    async fn act(&mut self, action: GameAction, now: Moment) -> Option<Input> {
        match action {
            GameAction::Send(command) => self.send(command, now).await,
            GameAction::Think(request) => self.think(*request),
            GameAction::Hurry(id) => {
                if let Some(running) = self.search.as_ref().filter(|running| running.id == id) {
                    running.handle.stop();
                }
                None
            }
            GameAction::Cancel(id) => {
                self.search.take_if(|running| running.id == id);
                None
            }
            GameAction::Remember(memory) => {
                self.remember(memory).await;
                None
            }
            GameAction::Note(decision) => {
                self.shared.stats.decided(&decision.rule);
                tracing::info!(
                    account = %self.shared.account,
                    game = %self.id,
                    rule = %decision.rule,
                    verdict = %decision.verdict,
                    reason = %decision.reason,
                    "decided"
                );
                None
            }
            GameAction::Finished(_) => None,
        }
    }

    async fn remember(&self, memory: GameMemory) {
        let now_ms = self.shared.timeline.wall_ms();
        self.shared
            .journal
            .owe(&self.shared.account, &self.id, memory, now_ms)
            .await;
    }

    fn think(&mut self, request: ThinkRequest) -> Option<Input> {
        let id = request.id;
        let order = SearchRequest {
            id: id.0,
            game: self.number,
            history: request.history,
            limits: request.limits,
        };
        self.search = None;
        match self.shared.pool.submit(order) {
            Ok(handle) => {
                self.search = Some(Running {
                    id,
                    handle,
                    before: self.arrived.elapsed(),
                });
                None
            }
            Err(error) => Some(Input::SearchFailed {
                id,
                words: error.to_string(),
            }),
        }
    }

    async fn send(&mut self, command: GameCommand, now: Moment) -> Option<Input> {
        let kind = command.kind();
        if let GameCommand::Play(_) = &command {
            self.shared.stats.moved();
            if let Some(before) = self.before.take() {
                self.shared.stats.reacted(before + self.arrived.elapsed());
            }
        }
        let sent = match kind {
            // Talk never waits: a full queue means that there is more important work.
            CommandKind::Say => self.link.commands.try_send(command).is_ok(),
            _ => self
                .link
                .commands
                .send_timeout(command, SEND_PATIENCE)
                .await
                .is_ok(),
        };
        if sent || matches!(kind, CommandKind::Say) {
            return None;
        }
        tracing::warn!(account = %self.shared.account, game = %self.id, ?kind, "the client takes no commands");
        // A failed resync must not lead to the next one at once.
        (kind != CommandKind::Resync).then_some(Input::Event {
            at: now,
            event: GameEvent::Failed {
                command: kind,
                failure: CommandFailure::NotSent,
            },
        })
    }
}
