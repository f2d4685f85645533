//! Games: boards, clocks, moves, proposals, ends, adjournments.

use seneschal::rules::{Color, Position};
use tokio::time::Instant;

use super::board::{arrived, hand};
use super::dialect::Dialect;
use super::lobby::{About, Terms};
use super::login::Stage;
use super::world::World;

/// A game being played.
#[derive(Debug, Clone)]
pub struct Game {
    pub number: u32,
    pub white: String,
    pub black: String,
    pub terms: Terms,
    /// The positions so far; the last one is on the board.
    pub positions: Vec<Position>,
    pub moves: Vec<Made>,
    pub clocks: [i64; 2],
    pub ticking_since: Option<Instant>,
    pub noescape: bool,
}

/// A move that was made.
#[derive(Debug, Clone)]
pub struct Made {
    pub san: String,
    pub verbose: String,
    pub milliseconds: i64,
    pub drop: bool,
}

/// An adjourned game.
#[derive(Debug, Clone)]
pub struct Stored {
    pub white: String,
    pub black: String,
    pub terms: Terms,
    pub positions: Vec<Position>,
    pub moves: Vec<Made>,
    pub clocks: [i64; 2],
}

impl Stored {
    pub fn opponent_of(&self, name: &str) -> Option<&str> {
        if self.white.eq_ignore_ascii_case(name) {
            Some(&self.black)
        } else if self.black.eq_ignore_ascii_case(name) {
            Some(&self.white)
        } else {
            None
        }
    }
}

impl Game {
    pub fn opponent_of(&self, name: &str) -> &str {
        if self.white.eq_ignore_ascii_case(name) {
            &self.black
        } else {
            &self.white
        }
    }

    pub fn color_of(&self, name: &str) -> Color {
        if self.white.eq_ignore_ascii_case(name) {
            Color::White
        } else {
            Color::Black
        }
    }

    pub fn position(&self) -> &Position {
        self.positions.last().expect("a game has a first position")
    }

    pub fn is_timed(&self) -> bool {
        self.terms.minutes > 0 || self.terms.increment > 0
    }

    /// Charges the side to move for the time since the clock was looked at last.
    pub fn charge(&mut self, now: Instant) -> i64 {
        let Some(since) = self.ticking_since.replace(now) else {
            return 0;
        };
        let spent = i64::try_from(now.duration_since(since).as_millis()).unwrap_or(0);
        let side = self.position().turn().index();
        self.clocks[side] -= spent;
        spent
    }
}

impl World {
    pub fn game_index_of(&self, name: &str) -> Option<usize> {
        self.games.iter().position(|game| {
            game.white.eq_ignore_ascii_case(name) || game.black.eq_ignore_ascii_case(name)
        })
    }

    pub fn stored_between(&self, one: &str, two: &str) -> Option<&Stored> {
        self.stored.iter().find(|stored| {
            stored
                .opponent_of(one)
                .is_some_and(|other| other.eq_ignore_ascii_case(two))
        })
    }

    pub fn legal_moves(&self, name: &str) -> Vec<String> {
        let Some(game) = self.game_index_of(name).map(|index| &self.games[index]) else {
            return Vec::new();
        };
        let position = game.position();
        if position.turn() != game.color_of(name) {
            return Vec::new();
        }
        position
            .legal_moves()
            .iter()
            .map(|m| position.san(*m))
            .collect()
    }

    /// `from` offered, `to` accepted.
    pub fn start_match(&mut self, from: usize, to: usize, terms: Terms) {
        let from_white = terms
            .white_wanted
            .unwrap_or_else(|| (self.seed + self.results.len() as u64).is_multiple_of(2));
        let (white, black) = if from_white { (from, to) } else { (to, from) };
        let (variant, mode) = terms.kind.rules();
        let position = Position::from_fen(variant, mode, terms.kind.start_fen())
            .expect("first positions are legal");
        let bank = if terms.minutes == 0 && terms.increment > 0 {
            10_000
        } else {
            i64::from(terms.minutes) * 60_000
        };
        let noescape = [white, black].into_iter().all(|player| {
            self.session(player).is_some_and(|player| {
                player.variables.get("noescape").map(String::as_str) == Some("1")
            })
        });
        let game = Game {
            number: (1..)
                .find(|number| self.games.iter().all(|game| game.number != *number))
                .expect("endless"),
            white: self.name_of(white),
            black: self.name_of(black),
            terms,
            positions: vec![position],
            moves: Vec::new(),
            clocks: [bank, bank],
            ticking_since: None,
            noescape,
        };
        self.begin(game, [white, black], false);
    }

    pub fn resume_stored(&mut self, from: usize, to: usize) {
        let (one, two) = (self.name_of(from), self.name_of(to));
        let Some(index) = self.stored.iter().position(|stored| {
            stored
                .opponent_of(&one)
                .is_some_and(|other| other.eq_ignore_ascii_case(&two))
        }) else {
            return;
        };
        let stored = self.stored.remove(index);
        let (white, black) = if stored.white.eq_ignore_ascii_case(&one) {
            (from, to)
        } else {
            (to, from)
        };
        let game = Game {
            number: (1..)
                .find(|number| self.games.iter().all(|game| game.number != *number))
                .expect("endless"),
            white: stored.white,
            black: stored.black,
            terms: stored.terms,
            positions: stored.positions,
            moves: stored.moves,
            clocks: stored.clocks,
            ticking_since: None,
            noescape: false,
        };
        self.begin(game, [white, black], true);
    }

    fn begin(&mut self, game: Game, players: [usize; 2], resumed: bool) {
        self.offers_void(players);
        let rated = if game.terms.rated { "rated" } else { "unrated" };
        let word = game
            .terms
            .kind
            .word(game.terms.minutes, game.terms.increment, self.dialect);
        let (minutes, increment) = (game.terms.minutes, game.terms.increment);
        let ratings = [&game.white, &game.black].map(|name| {
            self.account(name)
                .map_or("++++".to_owned(), |account| account.rating.to_string())
        });
        let clock = if game.is_timed() {
            format!(" {minutes} {increment}")
        } else {
            String::new()
        };
        let announced =
            game.terms
                .kind
                .announced(game.terms.minutes, game.terms.increment, self.dialect);
        let creating = format!(
            "\nCreating: {} ({}) {} ({}) {rated} {announced}{clock}",
            game.white, ratings[0], game.black, ratings[1]
        );
        let verb = if resumed { "Continuing" } else { "Creating" };
        let brace = |word: &str| {
            format!(
                "{{Game {} ({} vs. {}) {verb} {rated} {word} match.}}",
                game.number, game.white, game.black
            )
        };
        let guests = players.map(|player| self.session(player).is_some_and(|player| player.guest));
        for player in players {
            let mut text = creating.clone();
            if self.dialect == Dialect::Lasker {
                if resumed {
                    text.push_str(&format!("\n\n{}", brace("wild")));
                }
                text.push_str(&format!("\n\n{}\n", brace(&announced)));
            } else {
                text.push_str(&format!("\n{}\n", brace(&announced)));
            }
            if self
                .session(player)
                .is_some_and(|player| player.ivariables.get("gameinfo") == Some(&true))
            {
                let seconds = game.clocks[0] / 1000;
                let bit = |flag: bool| u8::from(flag);
                text.push_str(&format!(
                    "\n<g1> {} p=0 t={word} r={} u={},{} it={seconds},{increment} i={seconds},{increment} pt=0 rt={},{} ts=0,0 m=2 n={}\n",
                    game.number,
                    bit(game.terms.rated),
                    bit(guests[0]),
                    bit(guests[1]),
                    ratings[0].replace("++++", "0"),
                    ratings[1].replace("++++", "0"),
                    bit(game.noescape)
                ));
            }
            if game.noescape {
                text.push_str(&format!(
                    "Game {}: A disconnection will be considered a forfeit.\nfics% \n",
                    game.number
                ));
            }
            if resumed && self.dialect.is_modern() && game.positions[0].variant().has_drops() {
                text.push_str(&past_arrivals(&game));
            }
            self.out(player, &text);
        }
        for (player, other) in [(players[0], &game.black), (players[1], &game.white)] {
            if let Some(session) = self.session(player) {
                session.last_opponent = Some(other.clone());
            }
        }
        self.games.push(game);
        self.show_board(self.games.len() - 1, &[]);
        if !self.dialect.first_moves_free() && !resumed {
            self.games.last_mut().expect("just pushed").ticking_since = Some(Instant::now());
        }
    }

    pub fn players_of(&self, index: usize) -> Vec<usize> {
        let game = &self.games[index];
        [&game.white, &game.black]
            .into_iter()
            .filter_map(|name| self.session_of(name))
            .collect()
    }

    /// Ends a game and says so.
    pub fn end(&mut self, index: usize, words: &str, result: &str) {
        let game = self.games.remove(index);
        let players: Vec<usize> = [&game.white, &game.black]
            .into_iter()
            .filter_map(|name| self.session_of(name))
            .collect();
        let numbers: Vec<u32> = self
            .offers
            .iter()
            .filter(|offer| players.contains(&offer.from) && !offer.about.is_game())
            .map(|offer| offer.number)
            .collect();
        for number in numbers {
            self.close_offer(number);
        }
        let line = format!(
            "{{Game {} ({} vs. {}) {words}}} {result}",
            game.number, game.white, game.black
        );
        self.results.push(format!("{words} {result}"));
        self.history.push((
            game.white.clone(),
            game.black.clone(),
            format!("{words}|{result}"),
        ));
        let rating = if game.terms.rated && result != "*" {
            "rating adjustment: 1500 --> 1510"
        } else {
            ""
        };
        for player in players {
            match (self.dialect, rating) {
                (Dialect::Lasker, "") => {
                    self.tell_session(player, &format!("{line}\nNo ratings adjustment done."))
                }
                (Dialect::Lasker, _) => {
                    self.tell_session(player, &format!("wild {rating}\n\n{line}"))
                }
                (_, "") => self.tell_session(
                    player,
                    &format!("{line}\nfics% \nNo ratings adjustment done."),
                ),
                _ => self.tell_session(player, &format!("{line}\nfics% \nCrazyhouse {rating}")),
            }
        }
    }

    pub fn resign(&mut self, session: usize) {
        let name = self.name_of(session);
        let Some(index) = self.game_index_of(&name) else {
            self.reply(session, "You are not playing a game.");
            return;
        };
        let winner = !self.games[index].color_of(&name);
        self.end(
            index,
            &format!("{name} resigns"),
            if winner == Color::White { "1-0" } else { "0-1" },
        );
    }

    pub fn abort(&mut self, session: usize) {
        let name = self.name_of(session);
        let Some(index) = self.game_index_of(&name) else {
            self.reply(session, "You are not playing a game.");
            return;
        };
        if self.games[index].moves.len() < 2 && self.dialect.is_modern() {
            self.end(index, "Game aborted on move 1", "*");
            return;
        }
        self.propose(session, "abort", "");
    }

    pub fn propose(&mut self, session: usize, what: &str, rest: &str) {
        let name = self.name_of(session);
        let Some(index) = self.game_index_of(&name) else {
            self.reply(session, "You are not playing a game.");
            return;
        };
        let opponent = self.games[index].opponent_of(&name).to_owned();
        let Some(to) = self.session_of(&opponent) else {
            return;
        };
        let about = match what {
            "draw" => About::Draw,
            "abort" => About::Abort,
            "adjourn" => About::Adjourn,
            "pause" => About::Pause,
            _ => About::Takeback(rest.parse().unwrap_or(1)),
        };
        let same = |offer: &super::lobby::Offer| {
            std::mem::discriminant(&offer.about) == std::mem::discriminant(&about)
        };
        if let Some(number) = self
            .offers
            .iter()
            .find(|offer| offer.from == to && offer.to == session && same(offer))
            .map(|offer| offer.number)
        {
            self.accept_number(session, number);
            return;
        }
        if self
            .offers
            .iter()
            .any(|offer| offer.from == session && same(offer))
        {
            self.reply(session, &format!("You are already offering a {what}."));
            return;
        }
        let words = match (&about, self.dialect) {
            (About::Draw, _) => format!("{name} offers you a draw."),
            (About::Abort, Dialect::FatIcs) => format!("{name} requests to abort game 1."),
            (About::Adjourn, Dialect::FatIcs) => format!("{name} requests to adjourn game 1."),
            (About::Abort, _) => {
                format!("{name} would like to abort the game; type \"abort\" to accept.")
            }
            (About::Adjourn, _) => {
                format!("{name} would like to adjourn the game; type \"adjourn\" to accept.")
            }
            (About::Takeback(plies), _) => {
                format!("{name} would like to take back {plies} half move(s).")
            }
            _ => format!("{name} requests to pause the game."),
        };
        self.open_offer(session, to, about, "Request sent.", &words);
    }

    /// Both agreed on something in their game.
    pub fn agreed(&mut self, session: usize, about: About) {
        let name = self.name_of(session);
        let Some(index) = self.game_index_of(&name) else {
            return;
        };
        let agreement = self.dialect.agreement();
        match about {
            About::Draw => self.end(index, &format!("Game drawn by {agreement}"), "1/2-1/2"),
            About::Abort => self.end(index, &format!("Game aborted by {agreement}"), "*"),
            About::Adjourn => self.adjourn(index, &format!("Game adjourned by {agreement}")),
            About::Takeback(plies) => {
                let game = &mut self.games[index];
                for _ in 0..plies {
                    if game.moves.pop().is_some() {
                        game.positions.pop();
                    }
                }
                self.show_board(index, &[]);
            }
            _ => {}
        }
    }

    fn adjourn(&mut self, index: usize, words: &str) {
        self.games[index].charge_if_ticking();
        let game = self.games[index].clone();
        self.stored.push(Stored {
            white: game.white,
            black: game.black,
            terms: game.terms,
            positions: game.positions,
            moves: game.moves,
            clocks: game.clocks,
        });
        self.end(index, words, "*");
    }

    pub fn flag(&mut self, session: usize) {
        let name = self.name_of(session);
        let Some(index) = self.game_index_of(&name) else {
            self.reply(session, "You are not playing a game.");
            return;
        };
        self.games[index].charge_if_ticking();
        let game = &self.games[index];
        let opponent = !game.color_of(&name);
        if game.clocks[opponent.index()] > 0 {
            self.reply(session, "Your opponent is not out of time.");
            return;
        }
        let loser = game.opponent_of(&name).to_owned();
        self.end(
            index,
            &format!("{loser} forfeits on time"),
            if opponent == Color::Black {
                "1-0"
            } else {
                "0-1"
            },
        );
    }

    pub fn list_stored(&mut self, session: usize) {
        let name = self.name_of(session);
        let rows: Vec<String> = self
            .stored
            .iter()
            .filter_map(|stored| {
                let opponent = stored.opponent_of(&name)?;
                let side = if stored.white.eq_ignore_ascii_case(&name) { 'W' } else { 'B' };
                let online = if self.session_of(opponent).is_some() { 'Y' } else { 'N' };
                Some(format!(" 1: {side} {opponent:15} {online} [bzr  3   0] 23-25 W7   B01 2026-11-30 06:32 UTC"))
            })
            .collect();
        if rows.is_empty() {
            self.reply(session, &format!("{name} has no adjourned games."));
        } else {
            let text = format!(
                "Stored games for {name}:\n    C Opponent       On Type          Str  M    ECO Date\n{}",
                rows.join("\n")
            );
            self.reply(session, &text);
        }
    }

    pub fn list_history(&mut self, session: usize) {
        let name = self.name_of(session);
        let mut text = format!(
            "History for {name}:\n                  Opponent      Type         ECO End Date"
        );
        for (number, (white, black, words)) in self.history.iter().enumerate() {
            if words.ends_with('*')
                || !(white.eq_ignore_ascii_case(&name) || black.eq_ignore_ascii_case(&name))
            {
                continue;
            }
            let is_white = white.eq_ignore_ascii_case(&name);
            let won = words.ends_with(if is_white { "|1-0" } else { "|0-1" });
            let sign = if words.ends_with("1/2-1/2") {
                '='
            } else if won {
                '+'
            } else {
                '-'
            };
            let end = if words.contains("disconnection") {
                "Dis"
            } else if words.contains("resigns") {
                "Res"
            } else {
                "Mat"
            };
            let (side, opponent) = if is_white { ('W', black) } else { ('B', white) };
            text.push_str(&format!("\n{number:2}: {sign} 1500 {side} 1500 {opponent:13} [bzr  3   0] B01 {end} 2026-11-30 06:31 UTC"));
        }
        self.reply(session, &text);
    }

    /// A player's connection is gone, or he quit.
    pub fn player_lost(&mut self, name: &str) {
        let Some(index) = self.game_index_of(name) else {
            return;
        };
        if let Some(session) = self
            .session_of(name)
            .and_then(|session| self.session(session))
        {
            // Not there any more: nothing is shown to him.
            session.stage = Stage::Name;
            session.closed = true;
        }
        let opponent = self.games[index].opponent_of(name).to_owned();
        self.notice(
            &opponent,
            &format!("Your opponent, {name}, has lost contact or quit."),
        );
        if self.faults.hang_after_loss {
            return;
        }
        let game = &self.games[index];
        if game.noescape {
            let winner = !game.color_of(name);
            self.end(
                index,
                &format!("{name} forfeits by disconnection"),
                if winner == Color::White { "1-0" } else { "0-1" },
            );
        } else if game.moves.len() < 4 {
            self.end(
                index,
                &format!("{name} lost connection and too few moves; game aborted"),
                "*",
            );
        } else {
            self.adjourn(index, &format!("{name} lost connection; game adjourned"));
        }
    }
}

impl Game {
    pub fn charge_if_ticking(&mut self) {
        if self.ticking_since.is_some() {
            self.charge(Instant::now());
        }
    }
}

/// After an adjournment every capture of the past is repeated before the board.
fn past_arrivals(game: &Game) -> String {
    let mut text = String::new();
    for pair in game.positions.windows(2) {
        let mover = pair[0].turn();
        if let Some(role) = arrived(&pair[0], &pair[1], mover) {
            let side = if mover == Color::White { 'W' } else { 'B' };
            text.push_str(&format!(
                "\n<b1> game {} white [{}] black [{}] <- {side}{}\nfics% \n",
                game.number,
                hand(&pair[1], Color::White),
                hand(&pair[1], Color::Black),
                role.upper_char()
            ));
        }
    }
    text
}
