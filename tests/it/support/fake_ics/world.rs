//! Who is there, and the way of a typed line to the part that knows it.

use std::collections::BTreeMap;
use std::time::Duration;

use seneschal::platform::fics::timeseal;
use tokio::time::Instant;

use super::dialect::Dialect;
use super::lobby::{Offer, Seek};
use super::login::Stage;
use super::play::{Game, Stored};

/// What goes wrong.
#[derive(Debug, Clone, Default)]
pub struct Faults {
    /// New connections are refused this many times.
    pub refuse_connections: u32,
    /// Nothing typed is answered any more, as by a server behind a dead line.
    pub mute: bool,
    /// Boards for connections come without kings.
    pub without_kings: bool,
    /// Boards for connections come with their second half missing.
    pub half_boards: bool,
    /// Boards for connections do not come at all.
    pub without_boards: bool,
    /// `<b1>` lines are left out.
    pub without_holdings: bool,
    /// `<b1>` states come this much later than their board.
    pub late_holdings: Option<Duration>,
    /// The next moves of this many are called illegal whatever they are.
    pub refuse_moves: u32,
    /// Commands with these first words are not answered at all.
    pub deaf_to: Vec<String>,
    /// Bells, highlighting and telnet commands are strewn into the output.
    pub noise: bool,
    /// The end line after a lost connection does not come.
    pub hang_after_loss: bool,
    /// The line about a replaced offer's removal does come (some servers leave it out).
    pub password_always_wrong: bool,
}

/// A registered player.
#[derive(Debug, Clone)]
pub struct Account {
    pub name: String,
    pub password: String,
    pub computer: bool,
    pub rating: u32,
}

/// One connection or hand-moved player.
#[derive(Debug)]
pub struct Session {
    pub stage: Stage,
    pub name: String,
    pub computer: bool,
    pub guest: bool,
    pub variables: BTreeMap<String, String>,
    pub ivariables: BTreeMap<String, bool>,
    pub outbox: Vec<u8>,
    pub shown: Vec<u8>,
    pub closed: bool,
    pub by_hand: bool,
    pub asked: bool,
    pub sealed: bool,
    pub last_opponent: Option<String>,
}

/// The state of the server.
pub struct World {
    pub dialect: Dialect,
    pub seed: u64,
    pub faults: Faults,
    pub accounts: Vec<Account>,
    pub sessions: Vec<Option<Session>>,
    pub offers: Vec<Offer>,
    pub seeks: Vec<Seek>,
    pub games: Vec<Game>,
    pub stored: Vec<Stored>,
    pub results: Vec<String>,
    pub history: Vec<(String, String, String)>,
    pub log: Vec<(String, String)>,
    pub delayed: Vec<(Instant, usize, String)>,
    pub early_bytes: usize,
    pub connections: u32,
    noise_turn: u32,
}

impl World {
    pub fn new(dialect: Dialect, seed: u64) -> World {
        World {
            dialect,
            seed,
            faults: Faults::default(),
            accounts: Vec::new(),
            sessions: Vec::new(),
            offers: Vec::new(),
            seeks: Vec::new(),
            games: Vec::new(),
            stored: Vec::new(),
            results: Vec::new(),
            history: Vec::new(),
            log: Vec::new(),
            delayed: Vec::new(),
            early_bytes: 0,
            connections: 0,
            noise_turn: 0,
        }
    }

    pub fn register(&mut self, name: &str, password: &str, computer: bool) {
        self.accounts.push(Account {
            name: name.to_owned(),
            password: password.to_owned(),
            computer,
            rating: 1500,
        });
    }

    pub fn account(&self, name: &str) -> Option<&Account> {
        self.accounts
            .iter()
            .find(|account| account.name.eq_ignore_ascii_case(name))
    }

    pub fn refuses_connection(&mut self) -> bool {
        let refuses = self.faults.refuse_connections > 0;
        self.faults.refuse_connections = self.faults.refuse_connections.saturating_sub(1);
        refuses
    }

    fn blank_session(stage: Stage) -> Session {
        Session {
            stage,
            name: String::new(),
            computer: false,
            guest: false,
            variables: BTreeMap::new(),
            ivariables: BTreeMap::new(),
            outbox: Vec::new(),
            shown: Vec::new(),
            closed: false,
            by_hand: false,
            asked: false,
            sealed: false,
            last_opponent: None,
        }
    }

    pub fn connect(&mut self) -> usize {
        self.connections += 1;
        self.sessions.push(Some(World::blank_session(Stage::Name)));
        let session = self.sessions.len() - 1;
        self.greet(session);
        session
    }

    /// A hand-moved player, logged in with everything switched on that the dialect has.
    pub fn join(&mut self, name: &str) -> usize {
        let (computer, guest) = match self.account(name) {
            Some(account) => (account.computer, false),
            None => (false, true),
        };
        let mut session = World::blank_session(Stage::In);
        session.name = name.to_owned();
        session.computer = computer;
        session.guest = guest;
        session.by_hand = true;
        for name in ["ms", "pendinfo", "gameinfo"] {
            if self.dialect.ivariables().contains(&name) {
                session.ivariables.insert(name.to_owned(), true);
            }
        }
        session.variables.insert("open".to_owned(), "1".to_owned());
        self.sessions.push(Some(session));
        let session = self.sessions.len() - 1;
        self.announce_arrival(session);
        session
    }

    pub fn session(&mut self, session: usize) -> Option<&mut Session> {
        self.sessions.get_mut(session).and_then(Option::as_mut)
    }

    pub fn session_of(&self, name: &str) -> Option<usize> {
        self.sessions.iter().position(|session| {
            session.as_ref().is_some_and(|session| {
                session.stage == Stage::In
                    && !session.closed
                    && session.name.eq_ignore_ascii_case(name)
            })
        })
    }

    pub fn name_of(&self, session: usize) -> String {
        self.sessions
            .get(session)
            .and_then(Option::as_ref)
            .map(|session| session.name.clone())
            .unwrap_or_default()
    }

    /// Appends text; `\n` becomes the dialect's line end.
    pub fn out(&mut self, session: usize, text: &str) {
        let line_end = self.dialect.line_end();
        self.noise_turn = self.noise_turn.wrapping_add(1);
        let noise: &[u8] = match (self.faults.noise, self.noise_turn % 3) {
            (true, 0) => b"\x07",
            (true, 1) => b"\xff\xf1",
            (true, 2) => b"\x1b[0m",
            _ => b"",
        };
        if let Some(session) = self.session(session) {
            let bytes = text.replace('\n', line_end);
            session.outbox.extend_from_slice(noise);
            session.outbox.extend_from_slice(bytes.as_bytes());
        }
    }

    /// An answer, with a prompt behind it.
    pub fn reply(&mut self, session: usize, text: &str) {
        self.out(session, &format!("{text}\nfics% "));
    }

    /// Something unasked: it starts on a line of its own.
    pub fn tell_session(&mut self, session: usize, text: &str) {
        self.out(session, &format!("\n{text}\nfics% "));
    }

    pub fn notice(&mut self, name: &str, text: &str) {
        if let Some(session) = self.session_of(name) {
            self.tell_session(session, text);
        }
    }

    pub fn raw(&mut self, name: &str, bytes: &[u8]) {
        if let Some(session) = self.session_of(name).and_then(|index| self.session(index)) {
            session.outbox.extend_from_slice(bytes);
        } else if let Some(session) = self
            .sessions
            .iter_mut()
            .rev()
            .flatten()
            .find(|session| !session.closed && !session.by_hand)
        {
            session.outbox.extend_from_slice(bytes);
        }
    }

    /// Output of a connection; hand-moved players keep it as what they were shown.
    pub fn take_output(&mut self, session: usize) -> (Vec<u8>, bool) {
        let now = Instant::now();
        let due: Vec<(usize, String)> = self
            .delayed
            .iter()
            .filter(|(at, ..)| *at <= now)
            .map(|(_, session, text)| (*session, text.clone()))
            .collect();
        self.delayed.retain(|(at, ..)| *at > now);
        for (target, text) in due {
            self.out(target, &text);
        }
        match self.session(session) {
            Some(session) => (std::mem::take(&mut session.outbox), session.closed),
            None => (Vec::new(), true),
        }
    }

    pub fn next_delayed(&self) -> Option<Instant> {
        self.delayed.iter().map(|(at, ..)| *at).min()
    }

    pub fn shown(&mut self, session: usize) -> String {
        let Some(session) = self.session(session) else {
            return String::new();
        };
        let outbox = std::mem::take(&mut session.outbox);
        session.shown.extend(outbox);
        String::from_utf8_lossy(&session.shown).replace('\r', "")
    }

    pub fn count_early(&mut self, session: usize, count: usize) {
        if let Some(session) = self.session(session)
            && !session.asked
        {
            self.early_bytes += count;
        }
    }

    pub fn input_bytes(&mut self, session: usize, line: &[u8]) {
        let mut line = line.to_vec();
        if let Some(state) = self.session(session) {
            // A stamp of zero counts as none.
            if let Some((opened, 1..)) = timeseal::open(&line)
                && (state.sealed || opened.starts_with(b"TIMESTAMP|"))
            {
                state.sealed = true;
                if opened.starts_with(b"TIMESTAMP|") || opened == [2, b'9'] {
                    let note = if opened.len() == 2 {
                        "(seal answer)"
                    } else {
                        "(seal introduction)"
                    };
                    self.log.push((String::new(), note.to_owned()));
                    return;
                }
                line = opened;
            } else if state.sealed {
                self.log
                    .push((String::new(), "(a line without seal)".to_owned()));
            }
        }
        if line.len() > 1022 {
            self.out(session, "Command ignored: line too long.\n");
            return;
        }
        if line
            .iter()
            .any(|byte| !(byte.is_ascii_graphic() || *byte == b' ' || *byte == b'\r'))
        {
            self.out(session, "Command ignored: invalid characters.\n");
            return;
        }
        let text = String::from_utf8_lossy(&line)
            .trim_end_matches('\r')
            .to_owned();
        self.input(session, &text);
    }

    /// A line typed by a player.
    pub fn input(&mut self, session: usize, line: &str) {
        let Some(state) = self.session(session) else {
            return;
        };
        if state.closed {
            return;
        }
        let stage = state.stage.clone();
        let name = match &stage {
            Stage::Name => line.to_owned(),
            Stage::Password(name) | Stage::Return(name) => name.clone(),
            Stage::In => state.name.clone(),
        };
        self.log.push((name, line.to_owned()));
        if self.faults.mute {
            return;
        }
        match stage {
            Stage::In => self.command(session, line),
            _ => self.login_input(session, line),
        }
    }

    fn command(&mut self, session: usize, line: &str) {
        let (word, rest) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
        let rest = rest.trim();
        if self.faults.deaf_to.iter().any(|deaf| deaf == word) {
            return;
        }
        match word {
            "" => self.out(session, "fics% "),
            "set" => self.set(session, rest),
            "iset" => self.iset(session, rest),
            "date" => self.reply(session, "Server time    - Mon Nov 30, 06:29 UTC 2026"),
            "quit" => self.quit(session),
            "match" | "resume" => self.offer_match(session, rest),
            "accept" => self.accept(session, rest),
            "decline" => self.decline(session, rest),
            "withdraw" => self.withdraw(session, rest),
            "seek" => self.seek(session, rest),
            "unseek" => self.unseek(session),
            "play" => self.play_seek(session, rest),
            "partner" => self.offer_partnership(session, rest),
            "stored" => self.list_stored(session),
            "history" => self.list_history(session),
            "tell" | "say" | "kibitz" | "whisper" => self.speak(session, word, rest),
            "resign" => self.resign(session),
            "abort" => self.abort(session),
            "adjourn" | "draw" | "takeback" | "pause" => self.propose(session, word, rest),
            "flag" => self.flag(session),
            "moretime" => self.moretime(session, rest),
            "refresh" => self.refresh(session),
            "moves" => self.list_moves(session),
            _ => self.try_move(session, line.trim()),
        }
    }

    fn speak(&mut self, session: usize, verb: &str, rest: &str) {
        let state = self.sessions[session].as_ref().expect("he typed");
        let marks = if state.computer && self.dialect.is_modern() {
            "(C)"
        } else if state.guest {
            "(U)"
        } else {
            ""
        };
        let name = state.name.clone();
        let game = self.game_index_of(&name);
        match verb {
            "tell" => {
                let (to, text) = rest.split_once(' ').unwrap_or((rest, ""));
                let Some(target) = self.session_of(to) else {
                    self.reply(
                        session,
                        &format!("No player named \"{}\" is online.", to.to_lowercase()),
                    );
                    return;
                };
                self.tell_session(target, &format!("{name}{marks} tells you: {text}"));
                self.reply(session, &format!("(told {to})"));
            }
            "say" => {
                let opponent = match game {
                    Some(game) => Some(self.games[game].opponent_of(&name).to_owned()),
                    None => self.sessions[session]
                        .as_ref()
                        .and_then(|state| state.last_opponent.clone()),
                };
                let Some(target) = opponent.as_deref().and_then(|name| self.session_of(name))
                else {
                    self.reply(session, "I don't know whom to say that to.");
                    return;
                };
                let number = game
                    .map(|game| format!("[{}]", self.games[game].number))
                    .unwrap_or_default();
                self.tell_session(target, &format!("{name}{marks}{number} says: {rest}"));
                self.reply(session, &format!("(told {})", opponent.unwrap_or_default()));
            }
            _ => {
                let Some(game) = game else {
                    self.reply(
                        session,
                        "You are not playing, examining, or observing a game.",
                    );
                    return;
                };
                let line = format!(
                    "{name}{marks}(1500)[{}] {verb}{}: {rest}",
                    self.games[game].number,
                    if verb == "kibitz" { "es" } else { "s" }
                );
                let opponent = self.games[game].opponent_of(&name).to_owned();
                if verb == "kibitz"
                    && let Some(target) = self.session_of(&opponent)
                {
                    self.tell_session(target, &line);
                }
                self.reply(session, &format!("{line}\n({verb}ed to 1 player)"));
            }
        }
    }

    fn quit(&mut self, session: usize) {
        self.out(session, "Logging you out.\n");
        self.leave(session);
    }

    /// The network lost the player.
    pub fn cut(&mut self, name: &str) {
        if let Some(session) = self.session_of(name) {
            self.leave(session);
        }
    }

    pub fn hung_up(&mut self, session: usize) {
        if self
            .session(session)
            .is_some_and(|session| session.stage == Stage::In && !session.closed)
        {
            self.leave(session);
        } else if let Some(session) = self.session(session) {
            session.closed = true;
        }
    }

    pub fn leave(&mut self, session: usize) {
        let name = self.name_of(session);
        self.player_lost(&name);
        self.offers_of_leaver(&name);
        self.seeks.retain(|seek| seek.owner != session);
        if let Some(session) = self.session(session) {
            session.closed = true;
        }
    }
}
