//! What players see of a game, and the moves they type.

use seneschal::rules::{Color, Move, MoveKind, Position, Role, Square};
use tokio::time::Instant;

use super::dialect::{Dialect, Kind};
use super::play::{Game, Made};
use super::world::World;

/// Letters of a hand, pawns first.
pub fn hand(position: &Position, color: Color) -> String {
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
            let Some(board) = self.damaged(board, player) else {
                continue;
            };
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

    /// The board as a broken server shows it to a connection, if at all.
    fn damaged(&self, board: String, player: usize) -> Option<String> {
        let by_hand = self.sessions[player].as_ref().is_none_or(|s| s.by_hand);
        if by_hand {
            return Some(board);
        }
        let faults = &self.faults;
        if faults.without_boards {
            None
        } else if faults.half_boards {
            Some(board[..board.len() / 2].to_owned())
        } else if faults.without_kings {
            // The first eight words after the tag are the ranks.
            let words = board.split(' ').enumerate();
            let rank = |(index, word): (usize, &str)| match (1..=8).contains(&index) {
                true => word.replace(['k', 'K'], "-"),
                false => word.to_owned(),
            };
            Some(words.map(rank).collect::<Vec<_>>().join(" "))
        } else {
            Some(board)
        }
    }

    pub fn holdings_line(&self, game: &Game, arrival: Option<(Color, Role)>) -> String {
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

    pub fn style12(&mut self, game: &Game, viewer: Color, session: usize) -> String {
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
    pub fn read_move(&self, position: &Position, text: &str) -> Option<Result<Move, ()>> {
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

    pub fn make(&mut self, index: usize, m: Move) {
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

    pub fn end_by_rules(&mut self, index: usize) {
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
                        Kind::Atomic => format!("{} exploded", loser_name(winner)),
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
}

/// What the mover got by a capture.
pub fn arrived(before: &Position, after: &Position, mover: Color) -> Option<Role> {
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
