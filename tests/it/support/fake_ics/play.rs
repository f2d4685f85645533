//! Games: boards, clocks, moves, proposals, ends, adjournments.

use seneschal::rules::{Color, Move, MoveKind, Position, Role, Square};
use tokio::time::Instant;

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

    fn color_of(&self, name: &str) -> Color {
        if self.white.eq_ignore_ascii_case(name) {
            Color::White
        } else {
            Color::Black
        }
    }

    fn position(&self) -> &Position {
        self.positions.last().expect("a game has a first position")
    }

    fn is_timed(&self) -> bool {
        self.terms.minutes > 0 || self.terms.increment > 0
    }

    /// Charges the side to move for the time since the clock was looked at last.
    fn charge(&mut self, now: Instant) -> i64 {
        let Some(since) = self.ticking_since.replace(now) else {
            return 0;
        };
        let spent = i64::try_from(now.duration_since(since).as_millis()).unwrap_or(0);
        let side = self.position().turn().index();
        self.clocks[side] -= spent;
        spent
    }
}

/// Letters of a hand, pawns first.
fn hand(position: &Position, color: Color) -> String {
    [
        Role::Pawn,
        Role::Knight,
        Role::Bishop,
        Role::Rook,
        Role::Queen,
    ]
    .into_iter()
    .flat_map(|role| {
        std::iter::repeat_n(role.upper_char(), usize::from(position.pocket(color, role)))
    })
    .collect()
}

fn verbose(position: &Position, m: Move) -> String {
    let name = |square: Square| square.name(8);
    match position.kind(m) {
        MoveKind::Normal {
            from,
            to,
            promotion,
        } => {
            let piece = position
                .piece_at(from)
                .expect("a piece moves")
                .role
                .upper_char();
            let promotion = promotion
                .map(|role| format!("={}", role.upper_char()))
                .unwrap_or_default();
            format!("{piece}/{}-{}{promotion}", name(from), name(to))
        }
        MoveKind::EnPassant { from, to } => format!("P/{}-{}", name(from), name(to)),
        MoveKind::Castle { king, rook } => if rook.file(8) > king.file(8) {
            "o-o"
        } else {
            "o-o-o"
        }
        .to_owned(),
        MoveKind::Drop { role, to } => format!("{}/@@-{}", role.upper_char(), name(to)),
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

    fn players_of(&self, index: usize) -> Vec<usize> {
        let game = &self.games[index];
        [&game.white, &game.black]
            .into_iter()
            .filter_map(|name| self.session_of(name))
            .collect()
    }

    /// Shows the board, to all players or to those given.
    pub fn show_board(&mut self, index: usize, only: &[usize]) {
        self.games[index].charge_if_ticking();
        let players = if only.is_empty() {
            self.players_of(index)
        } else {
            only.to_vec()
        };
        let game = self.games[index].clone();
        let has_hands = game.position().variant().has_drops();
        for player in players {
            let name = self.name_of(player);
            let board = self.style12(&game, game.color_of(&name), player);
            self.out(player, &format!("\n{board}\n"));
            if has_hands && !self.faults.without_holdings {
                let state = self.holdings_line(&game, None);
                match self.faults.late_holdings {
                    Some(delay) => {
                        self.delayed
                            .push((Instant::now() + delay, player, format!("{state}\n")))
                    }
                    None => self.out(player, &format!("{state}\n")),
                }
            }
            self.out(player, "fics% ");
        }
    }

    fn holdings_line(&self, game: &Game, arrival: Option<(Color, Role)>) -> String {
        let keys = if self.dialect == Dialect::Lasker {
            ["White", "Black"]
        } else {
            ["white", "black"]
        };
        let position = game.position();
        let suffix = arrival
            .map(|(color, role)| {
                format!(
                    " <- {}{}",
                    if color == Color::White { 'W' } else { 'B' },
                    role.upper_char()
                )
            })
            .unwrap_or_default();
        format!(
            "<b1> game {} {} [{}] {} [{}]{suffix}",
            game.number,
            keys[0],
            hand(position, Color::White),
            keys[1],
            hand(position, Color::Black)
        )
    }

    fn style12(&mut self, game: &Game, viewer: Color, session: usize) -> String {
        let position = game.position();
        let milliseconds = self.dialect.is_modern()
            && self
                .session(session)
                .is_some_and(|session| session.ivariables.get("ms") == Some(&true));
        let ranks: Vec<String> = (0..8u8)
            .rev()
            .map(|rank| {
                (0..8u8)
                    .map(|file| {
                        position
                            .piece_at(Square::new(file, rank, 8))
                            .map_or('-', |piece| piece.char())
                    })
                    .collect()
            })
            .collect();
        let setup = position.to_setup();
        let last = game.moves.last();
        let pushed = last
            .filter(|made| made.verbose.starts_with("P/") && !made.drop)
            .and_then(|made| {
                let squares = made.verbose.get(2..7)?.as_bytes();
                (squares[0] == squares[3] && squares[1].abs_diff(squares[4]) == 2)
                    .then(|| i32::from(squares[0] - b'a'))
            });
        let en_passant = match (self.dialect, last) {
            (Dialect::Lasker, Some(made)) if made.drop => 32_730,
            (Dialect::FatIcs, _) => -1,
            _ => pushed.unwrap_or(-1),
        };
        let flags: Vec<&str> = setup
            .castling_rooks
            .iter()
            .map(|rook| if rook.is_some() { "1" } else { "0" })
            .collect();
        let clock = |value: i64| {
            if milliseconds {
                value
            } else {
                value.div_euclid(1000)
            }
        };
        let took = last.map_or(0, |made| made.milliseconds);
        let time = if milliseconds {
            format!(
                "({}:{:02}.{:03})",
                took / 60_000,
                took / 1000 % 60,
                took % 1000
            )
        } else {
            format!("({}:{:02})", took / 60_000, took / 1000 % 60)
        };
        let relation = if position.turn() == viewer { 1 } else { -1 };
        let tail = format!(
            "{} {}",
            u8::from(viewer == Color::Black),
            u8::from(game.ticking_since.is_some())
        );
        let lag = if self.dialect.is_modern() { " 0" } else { "" };
        format!(
            "<12> {} {} {en_passant} {} {} {} {} {} {relation} {} {} 39 39 {} {} {} {} {time} {} {tail}{lag}",
            ranks.join(" "),
            if position.turn() == Color::White {
                'W'
            } else {
                'B'
            },
            flags.join(" "),
            position.halfmoves(),
            game.number,
            game.white,
            game.black,
            game.terms.minutes,
            game.terms.increment,
            clock(game.clocks[0]),
            clock(game.clocks[1]),
            position.ply() / 2 + 1,
            last.map_or("none", |made| made.verbose.as_str()),
            last.map_or("none", |made| made.san.as_str()),
        )
    }

    /// Reads a typed move the way the strict server does.
    fn read_move(&self, position: &Position, text: &str) -> Option<Result<Move, ()>> {
        let bytes = text.as_bytes();
        let square = |part: &[u8]| {
            part.len() == 2 && (b'a'..=b'h').contains(&part[0]) && (b'1'..=b'8').contains(&part[1])
        };
        let castle = |short: bool| {
            let is_it = |m: &&Move| matches!(position.kind(**m), MoveKind::Castle { king, rook } if (rook.file(8) > king.file(8)) == short);
            position.legal_moves().iter().find(is_it).copied().ok_or(())
        };
        match text {
            "o-o" | "O-O" => return Some(castle(true)),
            "o-o-o" | "O-O-O" => return Some(castle(false)),
            _ => {}
        }
        if bytes.len() == 4 && bytes[1] == b'@' && square(&bytes[2..]) {
            let text = format!("{}{}", text[..1].to_uppercase(), &text[1..]);
            return Some(position.parse_uci(&text).map_err(|_| ()));
        }
        if bytes.len() >= 4 && square(&bytes[..2]) && square(&bytes[2..4]) {
            let promotion = text[4..].strip_prefix('=').unwrap_or("");
            if !text[4..].is_empty() && promotion.len() != 1 {
                return None;
            }
            let uci = format!("{}{}", &text[..4], promotion.to_lowercase());
            let m = position.parse_uci(&uci).map_err(|_| ());
            // King takes rook is not how castling is typed here.
            if let Ok(m) = m
                && matches!(position.kind(m), MoveKind::Castle { .. })
            {
                return None;
            }
            return Some(m);
        }
        let looks_like_san = text.len() >= 2
            && (bytes[0].is_ascii_uppercase() || (b'a'..=b'h').contains(&bytes[0]))
            && bytes.iter().any(u8::is_ascii_digit);
        (looks_like_san && text.len() <= 8 && !text.contains('_'))
            .then(|| position.parse_san(text).map_err(|_| ()))
    }

    pub fn try_move(&mut self, session: usize, text: &str) {
        let name = self.name_of(session);
        let unknown = format!("{}: Command not found.", text.to_lowercase());
        let Some(index) = self.game_index_of(&name) else {
            self.reply(session, &unknown);
            return;
        };
        let game = &self.games[index];
        let Some(read) = self.read_move(game.position(), text) else {
            self.reply(session, &unknown);
            return;
        };
        if game.position().turn() != game.color_of(&name) {
            self.reply(session, "It is not your move.");
            return;
        }
        let by_hand = self.session(session).is_some_and(|session| session.by_hand);
        let refused = !by_hand && self.faults.refuse_moves > 0;
        let Ok(m) = read.and_then(|m| if refused { Err(()) } else { Ok(m) }) else {
            self.faults.refuse_moves = self.faults.refuse_moves.saturating_sub(u32::from(refused));
            if self.dialect.is_modern() {
                self.out(session, &format!("Illegal move ({text}).\n"));
                self.show_board(index, &[session]);
            } else {
                self.reply(session, "Illegal move.");
            }
            return;
        };
        if self.dialect == Dialect::Lasker || self.dialect == Dialect::Fics {
            // A move declines what was offered to the mover.
            let numbers: Vec<u32> = self
                .offers
                .iter()
                .filter(|offer| offer.to == session && !offer.about.is_game())
                .map(|offer| offer.number)
                .collect();
            for number in numbers {
                self.close_offer(number);
            }
        }
        self.make(index, m);
    }

    fn make(&mut self, index: usize, m: Move) {
        let now = Instant::now();
        let game = &mut self.games[index];
        let before = game.position().clone();
        let mover = before.turn();
        let spent = game.charge(now);
        let mut after = before.clone();
        after.play(m).expect("the move was read as legal");
        let made = Made {
            san: before.san(m),
            verbose: verbose(&before, m),
            milliseconds: spent,
            drop: m.is_drop(),
        };
        if game.ticking_since.is_some() {
            game.clocks[mover.index()] += i64::from(game.terms.increment) * 1000;
        }
        game.moves.push(made);
        game.positions.push(after.clone());
        if game.is_timed() && (game.moves.len() >= 2 || !self.dialect.first_moves_free()) {
            game.ticking_since = Some(now);
        }
        let arrival = arrived(&before, &after, mover);
        if let Some(role) = arrival {
            let line = self.holdings_line(&self.games[index].clone(), Some((mover, role)));
            for player in self.players_of(index) {
                self.tell_session(player, &line);
            }
        }
        self.show_board(index, &[]);
        self.end_by_rules(index);
    }

    fn end_by_rules(&mut self, index: usize) {
        let game = &self.games[index];
        let position = game.position();
        let loser_name = |winner: Color| {
            if winner == Color::White {
                &game.black
            } else {
                &game.white
            }
        };
        let winner_name = |winner: Color| {
            if winner == Color::White {
                &game.white
            } else {
                &game.black
            }
        };
        let ending = position.variant_end();
        let (words, result) = if let Some(ending) = ending {
            match ending.outcome.winner() {
                Some(winner) => {
                    let words = match game.terms.kind {
                        super::dialect::Kind::Atomic => format!("{} exploded", loser_name(winner)),
                        _ => format!("{} wins by losing all material", winner_name(winner)),
                    };
                    (words, if winner == Color::White { "1-0" } else { "0-1" })
                }
                None => ("Game drawn by stalemate".to_owned(), "1/2-1/2"),
            }
        } else if !position.has_legal_move() {
            if position.in_check() {
                let winner = !position.turn();
                (
                    format!("{} checkmated", loser_name(winner)),
                    if winner == Color::White { "1-0" } else { "0-1" },
                )
            } else {
                ("Game drawn by stalemate".to_owned(), "1/2-1/2")
            }
        } else if position.halfmoves() >= 100 && !position.variant().has_drops() {
            ("Game drawn by the 50 move rule".to_owned(), "1/2-1/2")
        } else {
            return;
        };
        self.end(index, &words, result);
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

    pub fn moretime(&mut self, session: usize, rest: &str) {
        let name = self.name_of(session);
        let Some(index) = self.game_index_of(&name) else {
            return;
        };
        let seconds: i64 = rest.parse().unwrap_or(0);
        let game = &mut self.games[index];
        let opponent = game.opponent_of(&name).to_owned();
        let side = game.color_of(&opponent).index();
        game.clocks[side] += seconds * 1000;
        self.notice(
            &opponent,
            &format!("{name} has added {seconds} seconds to your clock."),
        );
        self.show_board(index, &[]);
    }

    pub fn refresh(&mut self, session: usize) {
        let name = self.name_of(session);
        match self.game_index_of(&name) {
            Some(index) => self.show_board(index, &[session]),
            None => self.reply(
                session,
                "You are not playing, observing or examining a game.",
            ),
        }
    }

    pub fn list_moves(&mut self, session: usize) {
        let name = self.name_of(session);
        let Some(index) = self.game_index_of(&name) else {
            self.reply(session, "You are not playing a game.");
            return;
        };
        let game = self.games[index].clone();
        let mut text = String::new();
        if self.dialect.is_modern() {
            text.push_str(&format!("\nMovelist for game {}:\n", game.number));
        }
        text.push_str(&format!("\n{} (1500) vs. {} (1500) --- 2026-11-30 06:30 UTC\nRated match, initial time: 3 minutes, increment: 0 seconds.\n\n", game.white, game.black));
        text.push_str("Move  White                   Black\n----  ---------------------   ---------------------\n");
        for (number, pair) in game.moves.chunks(2).enumerate() {
            text.push_str(&format!("{:3}.", number + 1));
            for made in pair {
                text.push_str(&format!("  {:7} (0:00)     ", made.san));
            }
            text.push('\n');
        }
        text.push_str("      {Still in progress} *\n");
        self.reply(session, &text);
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
    fn charge_if_ticking(&mut self) {
        if self.ticking_since.is_some() {
            self.charge(Instant::now());
        }
    }
}

/// What the mover got by a capture.
fn arrived(before: &Position, after: &Position, mover: Color) -> Option<Role> {
    [
        Role::Pawn,
        Role::Knight,
        Role::Bishop,
        Role::Rook,
        Role::Queen,
    ]
    .into_iter()
    .find(|role| after.pocket(mover, *role) > before.pocket(mover, *role))
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
