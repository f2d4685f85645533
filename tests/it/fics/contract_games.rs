//! Contract points E23 to E33: games.

use std::time::Duration;

use seneschal::game::{
    CommandFailure, CommandKind, GameCommand, GameEvent, GameResult, GameSource, GameState,
    PlayerName, Termination, TimeControl,
};
use seneschal::platform::AccountEvent;
use seneschal::platform::fics::FicsConfig;
use seneschal::platform::fics::protocol::Output;
use seneschal::rules::{CastlingMode, Color, Role, Variant};
use tokio::time::Instant;

use super::fake_ics::{Dialect, Faults};
use super::summary::{Transcript, ended, replay};
use super::{Bot, OTHER, OWN, config, game, pause, position_of, server};

#[tokio::test(start_paused = true)]
async fn e23_one_start_with_everything_in_it() {
    for dialect in Dialect::ALL {
        for seed in 0..3 {
            let server = server(dialect, seed);
            let (mut bot, _other, start, state) = game(&server, "3 2 r w crazyhouse").await;
            assert_eq!(
                (start.variant, start.castling_mode, start.color, start.rated),
                (
                    Variant::Crazyhouse,
                    CastlingMode::Standard,
                    Color::Black,
                    true
                )
            );
            assert_eq!(start.time_control, TimeControl::clock(180, 2));
            assert_eq!(start.opponent.name, PlayerName::new(OTHER));
            assert_eq!(
                start.opponent.rating.map(|rating| rating.points),
                Some(1500)
            );
            assert_eq!(start.us.name, PlayerName::new(OWN));
            assert_eq!(start.source, GameSource::Challenge);
            assert!(
                start.id.as_str().contains("-1-Birch-Harbor"),
                "{}",
                start.id
            );
            assert_eq!(start.initial_fen, None);
            let clocks = state.clocks.unwrap();
            assert_eq!(
                (clocks.white, clocks.black),
                (Duration::from_secs(180), Duration::from_secs(180))
            );
            let events = bot.settled().await;
            assert!(
                !events
                    .iter()
                    .any(|event| matches!(event, AccountEvent::GameStarted(_))),
                "one start"
            );
            bot.stop().await;
        }
    }
    for (terms, variant, mode) in [
        ("3 0 u w suicide", Variant::Suicide, CastlingMode::Standard),
        ("3 0 u w losers", Variant::Losers, CastlingMode::Standard),
        ("3 0 u w atomic", Variant::Atomic, CastlingMode::Standard),
        ("3 0 u w fr", Variant::Chess, CastlingMode::Chess960),
        ("3 0 u w wild 5", Variant::Chess, CastlingMode::Standard),
        ("3 0 u w wild 8a", Variant::Chess, CastlingMode::Standard),
        ("15 0 u w", Variant::Chess, CastlingMode::Standard),
        ("0 0 u w", Variant::Chess, CastlingMode::Standard),
    ] {
        let server = server(Dialect::Fics, 5);
        let (mut bot, other, start, state) = game(&server, terms).await;
        assert_eq!(
            (start.variant, start.castling_mode),
            (variant, mode),
            "{terms}"
        );
        assert_eq!(state.clocks.is_none(), terms.starts_with("0 0"), "{terms}");
        let first = other.legal_moves()[0].clone();
        other.send(&first);
        let state = bot.state_with(1).await;
        let ours = position_of(&start, &state);
        let reply = ours.uci(ours.legal_moves()[0]);
        bot.play(&start, &state, &reply).await;
        bot.state_with(2).await;
        bot.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn e24_a_repeated_board_asks_for_no_second_move() {
    for dialect in Dialect::ALL {
        let server = server(dialect, 24);
        let (mut bot, other, start, _) = game(&server, "3 0 w crazyhouse").await;
        other.send("e2e4");
        let state = bot.state_with(1).await;
        // The board comes again on request and with more time.
        bot.game_command(GameCommand::Resync).await;
        let GameEvent::Full { state: again, .. } = bot
            .game_event(|event| matches!(event, GameEvent::Full { .. }))
            .await
        else {
            panic!()
        };
        assert_eq!(again.moves, state.moves);
        other.send("moretime 30");
        let GameEvent::State(more) = bot
            .game_event(|event| matches!(event, GameEvent::State(_)))
            .await
        else {
            panic!()
        };
        assert_eq!(more.moves, state.moves);
        assert!(more.clocks.unwrap().black > state.clocks.unwrap().black + Duration::from_secs(25));
        // Two commands for one ply send one move.
        bot.play(&start, &more, "e7e5").await;
        bot.play(&start, &more, "d7d5").await;
        bot.state_with(2).await;
        bot.play(&start, &more, "c7c5").await;
        pause().await;
        let moves: Vec<String> = server
            .sent_by(OWN)
            .into_iter()
            .filter(|line| ["e7e5", "d7d5", "c7c5"].contains(&line.as_str()))
            .collect();
        assert_eq!(moves, ["e7e5"]);
        bot.stop().await;
    }
}

/// Plays `e4 d5 exd5 Qxd5 Nc3 Qd8`, we with Black, and gives the last state.
pub async fn captures(
    bot: &mut Bot,
    other: &super::fake_ics::Player,
    start: &seneschal::game::GameStart,
) -> GameState {
    other.send("e2e4");
    let state = bot.state_with(1).await;
    bot.play(start, &state, "d7d5").await;
    bot.state_with(2).await;
    other.send("e4d5");
    let state = bot.state_with(3).await;
    assert_eq!(
        position_of(start, &state).pocket(Color::White, Role::Pawn),
        1
    );
    bot.play(start, &state, "d8d5").await;
    bot.state_with(4).await;
    other.send("b1c3");
    let state = bot.state_with(5).await;
    bot.play(start, &state, "d5d8").await;
    bot.state_with(6).await
}

#[tokio::test(start_paused = true)]
async fn e25_the_hand_is_the_one_that_follows_the_board() {
    for dialect in Dialect::ALL {
        for seed in 0..3 {
            let server = server(dialect, seed);
            let (mut bot, other, start, _) = game(&server, "3 0 w crazyhouse").await;
            let state = captures(&mut bot, &other, &start).await;
            assert_eq!(
                position_of(&start, &state).pocket(Color::White, Role::Pawn),
                1
            );
            other.send("P@e6");
            let state = bot.state_with(7).await;
            assert_eq!(state.moves[6], "P@e6");
            assert_eq!(
                position_of(&start, &state).pocket(Color::White, Role::Pawn),
                0,
                "the dropped piece is gone"
            );
            bot.play(&start, &state, "P@e4").await;
            let state = bot.state_with(8).await;
            assert_eq!(state.moves[7], "P@e4");
            assert_eq!(state.base_fen, None, "moves explain everything");
            bot.stop().await;
        }
    }
    // Holdings that come late are waited for a little; those that never come are counted by ourselves.
    for faults in [
        Faults {
            late_holdings: Some(Duration::from_millis(20)),
            ..Faults::default()
        },
        Faults {
            without_holdings: true,
            ..Faults::default()
        },
    ] {
        let server = server(Dialect::Fics, 25);
        let (mut bot, other, start, _) = game(&server, "3 0 w crazyhouse").await;
        server.faults(|current| *current = faults);
        let state = captures(&mut bot, &other, &start).await;
        assert_eq!(state.base_fen, None);
        other.send("P@e6");
        let state = bot.state_with(7).await;
        assert_eq!(
            position_of(&start, &state).pocket(Color::White, Role::Pawn),
            0
        );
        bot.stop().await;
    }
    // A state of the holdings by itself, before any board, and one that contradicts our count.
    let text = "{Game 3 (Harbor vs. Birch) Creating rated crazyhouse match.}\n\r<b1> game 3 White [] Black []\n\r<12> rnbqkbnr pppppppp -------- -------- -------- -------- PPPPPPPP RNBQKBNR W -1 1 1 1 1 0 3 Harbor Birch 1 3 0 39 39 180 180 1 none (0:00) none 0 0\n\r<b1> game 3 White [] Black []\n\r<12> rnbqkbnr pppppppp -------- -------- ----P--- -------- PPPP-PPP RNBQKBNR B 4 1 1 1 1 0 3 Harbor Birch -1 3 0 39 39 180 180 1 P/e2-e4 (0:00) e4 0 0\n\r<b1> game 3 White [N] Black []\n\r";
    let summary = replay(OWN, text.as_bytes(), 5);
    assert!(
        summary.contains("PPPP1PPP/RNBQKBNR[N] b KQkq"),
        "the server's hand is the truth: {summary}"
    );
}

#[test]
fn e26_en_passant_castling_and_fischer_random() {
    let head = "{Game 3 (Harbor vs. Birch) Continuing rated blitz match.}\n\r<12> rnbqkbnr ppp-pppp -------- -------- ---pP--- -------- PPPP-PPP RNBQKBNR B ";
    let tail =
        " 1 1 1 1 0 3 Harbor Birch -1 3 0 39 39 180000 180000 3 P/e2-e4 (0:00.000) e4 0 1 0\n\r";
    for (field, expected) in [("-1", "-"), ("4", "e3"), ("32730", "-"), ("0", "-")] {
        let summary = replay(OWN, format!("{head}{field}{tail}").as_bytes(), 9);
        assert!(
            summary.contains(&format!(" b KQkq {expected} 0 3")),
            "{field}: {summary}"
        );
    }
    // A field that names a double step which nobody can take is no right to take.
    let text = "{Game 3 (Harbor vs. Birch) Continuing rated blitz match.}\n\r<12> rnbqkbnr pppp-ppp -------- ----p--- ----P--- -------- PPPP-PPP RNBQKBNR W 4 1 1 0 1 0 3 Harbor Birch 1 3 0 39 39 180000 180000 2 P/e7-e5 (0:00.000) e5 0 1 0\n\r";
    let summary = replay(OWN, text.as_bytes(), 9);
    assert!(
        summary.contains(" w KQq - 0 2"),
        "flags of castling one by one: {summary}"
    );
    // A king on the d-file castles in a way that a FEN cannot tell: the right is left out.
    let text = "{Game 3 (Harbor vs. Birch) Creating rated wild/0 match.}\n\r<12> rnbkqbnr pppppppp -------- -------- -------- -------- PPPPPPPP RNBQKBNR W -1 1 1 1 1 0 3 Harbor Birch 1 3 0 39 39 180000 180000 1 none (0:00.000) none 0 0 0\n\r";
    let summary = replay(OWN, text.as_bytes(), 9);
    assert!(
        summary.contains("start=rnbkqbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQ - 0 1"),
        "{summary}"
    );
}

#[tokio::test(start_paused = true)]
async fn e26_castling_in_fischer_random_uses_the_rooks_of_the_start() {
    for dialect in Dialect::ALL {
        let server = server(dialect, 26);
        let kind = if dialect.is_modern() {
            "fr"
        } else {
            "fischerandom"
        };
        let (mut bot, other, start, state) = game(&server, &format!("5 0 u b {kind}")).await;
        let fen = start
            .initial_fen
            .clone()
            .expect("the position is not the usual one");
        assert!(fen.starts_with("nrkbbrnq/pppppppp"), "{fen}");
        assert_eq!(start.castling_mode, CastlingMode::Chess960);
        // King c1, rooks b1 and f1: short castling after the bishops and the knight are out.
        let mut state = state;
        for (ply, (ours, theirs)) in [
            ("e2e4", "e7e5"),
            ("d1e2", "a7a6"),
            ("g1f3", "b7b6"),
            ("d2d3", "h7h6"),
            ("e1d2", "g7g6"),
        ]
        .into_iter()
        .enumerate()
        {
            bot.play(&start, &state, ours).await;
            bot.state_with(ply * 2 + 1).await;
            other.send(theirs);
            state = bot.state_with(ply * 2 + 2).await;
        }
        bot.play(&start, &state, "c1f1").await;
        let state = bot.state_with(11).await;
        assert!(server.sent_by(OWN).iter().any(|line| line == "o-o"));
        assert_eq!(state.moves[10], "c1f1", "king takes rook");
        assert_eq!(state.base_fen, None);
        bot.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn e27_moves_go_out_in_the_form_every_server_takes() {
    for dialect in Dialect::ALL {
        let server = server(dialect, 27);
        let (mut bot, other, start, _) = game(&server, "3 0 w crazyhouse").await;
        captures(&mut bot, &other, &start).await;
        // Chat waits in its queue; the move does not.
        for _ in 0..10 {
            bot.game_command(GameCommand::Say {
                room: seneschal::game::ChatRoom::Players,
                text: "hello".to_owned(),
            })
            .await;
        }
        other.send("c3b5");
        let state = bot.state_with(7).await;
        let asked_at = Instant::now();
        bot.play(&start, &state, "P@e4").await;
        let mut state = bot.state_with(8).await;
        assert!(
            asked_at.elapsed() < Duration::from_millis(100),
            "{:?}",
            asked_at.elapsed()
        );
        for (ply, (theirs, ours)) in [
            ("b5c7", "d8c7"),
            ("a2a3", "e4e3"),
            ("a3a4", "e3f2"),
            ("e1e2", "f2g1=n"),
        ]
        .into_iter()
        .enumerate()
        {
            other.send(theirs);
            state = bot.state_with(9 + ply * 2).await;
            bot.play(&start, &state, &ours.replace('=', "")).await;
            state = bot.state_with(10 + ply * 2).await;
        }
        let moves: Vec<String> = server
            .sent_by(OWN)
            .into_iter()
            .filter(|line| {
                line.len() <= 6
                    && line.chars().any(|c| c.is_ascii_digit())
                    && !line.starts_with("mk_")
            })
            .collect();
        assert_eq!(
            moves,
            [
                "d7d5", "d8d5", "d5d8", "P@e4", "d8c7", "e4e3", "e3f2", "f2g1=n"
            ],
            "each once, in coordinates"
        );
        assert!(
            position_of(&start, &state)
                .is_promoted(seneschal::rules::Square::parse("g1", 8).unwrap()),
            "the new knight counts as a pawn"
        );
        bot.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn e28_a_refused_move_is_reported_and_another_can_be_sent() {
    for dialect in Dialect::ALL {
        let server = server(dialect, 28);
        let (mut bot, other, start, _) = game(&server, "3 0 w crazyhouse").await;
        other.send("e2e4");
        let state = bot.state_with(1).await;
        server.faults(|faults| faults.refuse_moves = 1);
        bot.play(&start, &state, "e7e5").await;
        let failed = bot
            .game_event(|event| matches!(event, GameEvent::Failed { .. }))
            .await;
        let GameEvent::Failed {
            command: CommandKind::Play { ply: 1 },
            failure: CommandFailure::Refused { words },
        } = failed
        else {
            panic!("{failed:?}")
        };
        assert!(words.contains("e7e5"), "{words}");
        bot.game_command(GameCommand::Resync).await;
        let GameEvent::Full { state, .. } = bot
            .game_event(|event| matches!(event, GameEvent::Full { .. }))
            .await
        else {
            panic!()
        };
        bot.play(&start, &state, "d7d5").await;
        bot.state_with(2).await;
        let moves: Vec<String> = server
            .sent_by(OWN)
            .into_iter()
            .filter(|line| line.len() == 4 && !line.starts_with("mk_"))
            .collect();
        assert_eq!(
            moves,
            ["e7e5", "d7d5"],
            "nothing is repeated by the client itself"
        );
        // What to do about it is the session's choice: here it gives up.
        bot.game_command(GameCommand::Resign).await;
        let GameEvent::Ended(end) = bot
            .game_event(|event| matches!(event, GameEvent::Ended(_)))
            .await
        else {
            panic!()
        };
        assert_eq!(ended(&end), "ended 1-0 Resignation");
        bot.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn e29_answers_to_a_move_after_the_end_mean_nothing() {
    for dialect in Dialect::ALL {
        let server = server(dialect, 29);
        let (mut bot, other, start, _) = game(&server, "3 0 w crazyhouse").await;
        other.send("e2e4");
        let state = bot.state_with(1).await;
        other.send("resign");
        bot.play(&start, &state, "e7e5").await;
        bot.game_event(|event| matches!(event, GameEvent::Ended(_)))
            .await;
        server.notice(OWN, "It is not your move.");
        server.notice(OWN, "e7e5: Command not found.");
        server.notice(OWN, "You are not playing a game.");
        let events = bot.settled().await;
        assert!(
            events
                .iter()
                .all(|event| matches!(event, AccountEvent::GameFinished { .. })),
            "{events:?}"
        );
        other.send("match Harbor 3 0 w crazyhouse");
        bot.challenge().await;
        bot.stop().await;
    }
}

#[test]
fn e30_seconds_and_milliseconds_give_the_same_clocks() {
    let board = |clocks: &str, time: &str| {
        let mut transcript = Transcript::ready(OWN);
        transcript.feed(format!("{{Game 3 (Harbor vs. Birch) Creating rated blitz match.}}\n\r<12> rnbqkbnr pppppppp -------- -------- -------- -------- PPPPPPPP RNBQKBNR W -1 1 1 1 1 0 3 Harbor Birch 1 3 0 39 39 {clocks} 1 none {time} none 0 0\n\r").as_bytes());
        let states: Vec<_> = transcript
            .take()
            .into_iter()
            .filter_map(|output| match output {
                Output::Game {
                    event: GameEvent::Full { state, .. },
                    ..
                } => state.clocks,
                _ => None,
            })
            .collect();
        (states[0].white, states[0].black)
    };
    let three_minutes = Duration::from_secs(180);
    assert_eq!(board("180 180", "(0:00)"), (three_minutes, three_minutes));
    assert_eq!(
        board("180000 180000", "(0:00.000)"),
        (three_minutes, three_minutes)
    );
    assert_eq!(
        board("-250 -1", "(0:00.000)"),
        (Duration::ZERO, Duration::ZERO)
    );
    assert_eq!(
        board("-2 7", "(1:02:03)"),
        (Duration::ZERO, Duration::from_secs(7))
    );
    // What is lost on the way is stated, so that the session subtracts it.
    let overhead = seneschal::platform::fics::capabilities(&FicsConfig {
        move_overhead_ms: 150,
        ..config()
    })
    .game
    .min_move_overhead;
    assert_eq!(overhead, Duration::from_millis(150));
}

#[test]
fn e31_every_end_line_is_one_end() {
    let opening = "{Game 3 (Harbor vs. Birch) Creating rated crazyhouse match.}\n\r<12> rnbqkbnr pppppppp -------- -------- -------- -------- PPPPPPPP RNBQKBNR W -1 1 1 1 1 0 3 Harbor Birch 1 3 0 39 39 180000 180000 1 none (0:00.000) none 0 0 0\n\r<b1> game 3 white [] black []\n\r";
    let cases = [
        ("Harbor checkmated} 0-1", "ended 0-1 Mate"),
        ("Birch resigns} 1-0", "ended 1-0 Resignation"),
        ("Birch forfeits on time} 1-0", "ended 1-0 OutOfTime"),
        (
            "Harbor forfeits by disconnection} 0-1",
            "ended 0-1 Abandoned",
        ),
        ("Birch wins by adjudication} 0-1", "ended 0-1 Adjudicated"),
        ("Birch exploded} 1-0", "ended 1-0 VariantEnd"),
        (
            "Harbor wins by losing all material} 1-0",
            "ended 1-0 VariantEnd",
        ),
        (
            "Harbor wins by having less material (stalemate)} 1-0",
            "ended 1-0 VariantEnd",
        ),
        ("Harbor's partner won} 1-0", "ended 1-0 VariantEnd"),
        (
            "Game drawn by mutual agreement} 1/2-1/2",
            "ended 1/2-1/2 Draw",
        ),
        ("Game drawn by agreement} 1/2-1/2", "ended 1/2-1/2 Draw"),
        (
            "Game drawn by stalemate} 1/2-1/2",
            "ended 1/2-1/2 Stalemate",
        ),
        ("Game drawn by repetition} 1/2-1/2", "ended 1/2-1/2 Draw"),
        (
            "Game drawn by the 50 move rule} 1/2-1/2",
            "ended 1/2-1/2 Draw",
        ),
        (
            "Game drawn by adjudication} 1/2-1/2",
            "ended 1/2-1/2 Adjudicated",
        ),
        ("Game drawn by length} 1/2-1/2", "ended 1/2-1/2 Draw"),
        (
            "Game drawn because both players ran out of time} 1/2-1/2",
            "ended 1/2-1/2 OutOfTime",
        ),
        (
            "Neither player has mating material} 1/2-1/2",
            "ended 1/2-1/2 InsufficientMaterial",
        ),
        (
            "Birch ran out of time and Harbor has no material to mate} 1/2-1/2",
            "ended 1/2-1/2 InsufficientMaterial",
        ),
        ("Partners' game drawn} 1/2-1/2", "ended 1/2-1/2 Draw"),
        ("Game aborted by mutual agreement} *", "ended * Aborted"),
        ("Game aborted by agreement} *", "ended * Aborted"),
        ("Game aborted on move 1} *", "ended * Aborted"),
        ("Game aborted on move 1 by Birch} *", "ended * Aborted"),
        ("Game courtesyaborted by Birch} *", "ended * Aborted"),
        (
            "Birch lost connection and too few moves; game aborted} *",
            "ended * Aborted",
        ),
        ("Game aborted by server shutdown} *", "ended * Aborted"),
        ("Bughouse game aborted.} *", "ended * Aborted"),
        ("aborted} *", "ended * Aborted"),
        ("Game adjourned by mutual agreement} *", "ended * Adjourned"),
        (
            "Birch lost connection; game adjourned} *",
            "ended * Adjourned",
        ),
        ("Game courtesyadjourned by Birch} *", "ended * Adjourned"),
        ("Game adjourned by server shutdown} *", "ended * Adjourned"),
        ("adjourned} *", "ended * Adjourned"),
        ("Something nobody ever saw} 1-0", "ended 1-0 Unknown"),
        ("Something nobody ever saw} *", "ended * Unknown"),
    ];
    for (words, expected) in cases {
        let end = format!("{{Game 3 (Harbor vs. Birch) {words}");
        // The rating comes after the end on one server and before it on another; the last board may trail.
        for text in [
            format!("\n\r{end}\n\rfics% \n\rCrazyhouse rating adjustment: 1882 --> 1940\n\rfics% "),
            format!("wild rating adjustment: 1882 --> 1653\n\r\n\r{end}\n\rfics% "),
            format!(
                "{end}\n\rNo ratings adjustment done.\n\r<12> rnbqkbnr pppppppp -------- -------- -------- -------- PPPPPPPP RNBQKBNR W -1 1 1 1 1 0 3 Harbor Birch 1 3 0 39 39 180000 180000 1 none (0:00.000) none 0 0 0\n\r<b1> game 3 white [] black []\n\r{end}\n\r"
            ),
        ] {
            let summary = replay(OWN, format!("{opening}{text}").as_bytes(), 11);
            let ends: Vec<&str> = summary
                .lines()
                .filter(|line| line.starts_with("ended"))
                .collect();
            assert_eq!(ends, [expected], "{words}");
            assert_eq!(
                summary.matches("game white against").count(),
                1,
                "{summary}"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn e32_adjourned_is_not_aborted_and_nothing_more_is_played() {
    for dialect in Dialect::ALL {
        for (typed, termination) in [
            ("adjourn", Termination::Adjourned),
            ("abort", Termination::Aborted),
        ] {
            let server = server(dialect, 32);
            let (mut bot, other, start, _) = game(&server, "10 0 w crazyhouse").await;
            let state = captures(&mut bot, &other, &start).await;
            other.send(typed);
            let kind = if typed == "abort" {
                seneschal::game::OfferKind::Abort
            } else {
                seneschal::game::OfferKind::Adjourn
            };
            bot.game_event(|event| matches!(event, GameEvent::State(state) if state.offers.abort.or(state.offers.adjourn).is_some())).await;
            bot.game_command(GameCommand::Answer {
                offer: kind,
                accept: true,
            })
            .await;
            let GameEvent::Ended(end) = bot
                .game_event(|event| matches!(event, GameEvent::Ended(_)))
                .await
            else {
                panic!()
            };
            assert_eq!(
                (end.result, end.termination),
                (GameResult::NoResult, termination)
            );
            // The link of events is closed behind the end, and a late move goes nowhere.
            assert!(bot.game.as_mut().unwrap().events.recv().await.is_none());
            let before = server.sent_by(OWN).len();
            bot.play(&start, &state, "g1f3").await;
            bot.game_command(GameCommand::Resign).await;
            pause().await;
            assert_eq!(server.sent_by(OWN).len(), before);
            bot.stop().await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn e33_abort_and_flag_are_sent_once_at_a_time() {
    let server = server(Dialect::Fics, 33);
    let (mut bot, _other, ..) = game(&server, "3 0 w crazyhouse").await;
    bot.game_command(GameCommand::Abort).await;
    let GameEvent::Ended(end) = bot
        .game_event(|event| matches!(event, GameEvent::Ended(_)))
        .await
    else {
        panic!()
    };
    assert_eq!(ended(&end), "ended * Aborted");
    bot.stop().await;

    for dialect in Dialect::ALL {
        let server = self::server(dialect, 34);
        let (mut bot, other, start, _) = game(&server, "1 0 w crazyhouse").await;
        captures(&mut bot, &other, &start).await;
        bot.game_command(GameCommand::CallFlag).await;
        pause().await;
        assert_eq!(server.games(), 1, "too early");
        tokio::time::sleep(Duration::from_secs(61)).await;
        for _ in 0..20 {
            bot.game_command(GameCommand::CallFlag).await;
        }
        let GameEvent::Ended(end) = bot
            .game_event(|event| matches!(event, GameEvent::Ended(_)))
            .await
        else {
            panic!()
        };
        assert_eq!(ended(&end), "ended 0-1 OutOfTime");
        assert_eq!(
            server
                .sent_by(OWN)
                .iter()
                .filter(|line| *line == "flag")
                .count(),
            2
        );
        bot.stop().await;
    }
    // Not more than one in two seconds.
    let mut transcript = Transcript::ready(OWN);
    transcript.feed(b"{Game 3 (Harbor vs. Birch) Creating rated blitz match.}\n\r<12> rnbqkbnr pppppppp -------- -------- ----P--- -------- PPPP-PPP RNBQKBNR B -1 1 1 1 1 0 3 Harbor Birch -1 3 0 39 39 180000 0 1 P/e2-e4 (0:00.000) e4 0 1 0\n\r");
    transcript.advance(Duration::from_secs(2));
    let id = transcript
        .take()
        .into_iter()
        .find_map(|output| {
            if let Output::Game { id, .. } = output {
                Some(id)
            } else {
                None
            }
        })
        .unwrap();
    transcript.sent();
    for _ in 0..100 {
        transcript
            .protocol
            .game_command(&id, GameCommand::CallFlag, transcript.now);
        transcript.advance(Duration::from_millis(100));
    }
    let flags = transcript
        .sent()
        .iter()
        .filter(|line| *line == "flag")
        .count();
    assert_eq!(flags, 5, "in ten seconds");
}

#[tokio::test(start_paused = true)]
async fn a_game_of_a_kind_that_we_do_not_know_is_left() {
    let mut transcript = Transcript::ready(OWN);
    transcript.feed(b"{Game 3 (Harbor vs. Birch) Creating unrated bughouse match.}\n\r<12> rnbqkbnr pppppppp -------- -------- -------- -------- PPPPPPPP RNBQKBNR W -1 1 1 1 1 0 3 Harbor Birch 1 3 0 39 39 180000 180000 1 none (0:00.000) none 0 0 0\n\r<b1> game 3 white [] black []\n\r");
    let id = transcript
        .take()
        .into_iter()
        .find_map(|output| match output {
            Output::Account(AccountEvent::GameStarted(notice)) => Some(notice.id),
            _ => None,
        })
        .unwrap();
    // Whoever opens it is told so, and decides: nothing is sent unasked.
    let first = transcript.protocol.first_word(&id);
    assert!(
        matches!(&first, Some(GameEvent::Unreadable { words }) if words.contains("bughouse")),
        "{first:?}"
    );
    assert_eq!(transcript.sent(), [""; 0]);
    for (command, line) in [
        (GameCommand::Resync, "refresh"),
        (GameCommand::Abort, "abort"),
        (GameCommand::Resign, "resign"),
    ] {
        let now = transcript.now;
        transcript.protocol.game_command(&id, command, now);
        transcript.advance(Duration::from_secs(1));
        assert_eq!(transcript.sent(), [line]);
    }
    // No answer to the question for a board is told as well.
    transcript.advance(Duration::from_secs(5));
    let told = transcript.take();
    assert!(
        matches!(
            told.as_slice(),
            [Output::Game {
                event: GameEvent::Unreadable { .. },
                ..
            }]
        ),
        "{told:?}"
    );
}

/// The opening of a crazyhouse game with these ranks.
fn opening_with(ranks: &str) -> String {
    format!(
        "{{Game 3 (Harbor vs. Birch) Creating unrated crazyhouse match.}}\n\r<12> {ranks} W -1 1 1 1 1 0 3 Harbor Birch 1 3 0 39 39 180000 180000 1 none (0:00.000) none 0 0 0\n\r<b1> game 3 white [] black []\n\r"
    )
}

const RANKS: &str = "rnbqkbnr pppppppp -------- -------- -------- -------- PPPPPPPP RNBQKBNR";

#[tokio::test(start_paused = true)]
async fn a_board_that_cannot_be_read_is_told_and_a_good_one_puts_it_right() {
    let bad = opening_with(&RANKS.replace('k', "-"));
    let refreshed = bad.lines().nth(1).unwrap().trim().to_owned();
    let good = opening_with(RANKS)
        .lines()
        .skip(1)
        .collect::<Vec<_>>()
        .join("\n");
    let events = |transcript: &mut Transcript| -> Vec<String> {
        let outputs = transcript.take().into_iter();
        let word = |output| match output {
            Output::Game {
                event: GameEvent::Full { .. },
                ..
            } => Some("full"),
            Output::Game {
                event: GameEvent::Unreadable { .. },
                ..
            } => Some("unreadable"),
            Output::Account(AccountEvent::GameStarted(_)) => Some("started"),
            _ => None,
        };
        outputs.filter_map(word).map(str::to_owned).collect()
    };
    let mut transcript = Transcript::ready(OWN);
    transcript.feed(bad.as_bytes());
    transcript.advance(Duration::from_secs(1));
    assert_eq!(events(&mut transcript), ["started", "unreadable"]);
    let id = transcript.protocol.running_game().unwrap();
    // Boards that nobody asked for are no answer; the one that comes after the question is.
    transcript.feed(format!("{refreshed}\n\r").as_bytes());
    transcript.advance(Duration::from_secs(1));
    assert_eq!(events(&mut transcript), [""; 0]);
    let now = transcript.now;
    transcript
        .protocol
        .game_command(&id, GameCommand::Resync, now);
    transcript.advance(Duration::from_secs(1));
    assert_eq!(transcript.sent(), ["refresh"]);
    transcript.feed(format!("{refreshed}\n\r").as_bytes());
    transcript.advance(Duration::from_secs(1));
    assert_eq!(events(&mut transcript), ["unreadable"]);
    transcript.feed(format!("{good}\n\r").as_bytes());
    transcript.advance(Duration::from_secs(1));
    assert_eq!(events(&mut transcript), ["full"]);
    assert!(matches!(
        transcript.protocol.first_word(&id),
        Some(GameEvent::Full { .. })
    ));
    // A line that was to be a board and is none.
    transcript.feed(b"<12> rnbqkbnr pppppppp\n\r");
    transcript.advance(Duration::from_secs(1));
    assert_eq!(events(&mut transcript), ["unreadable"]);
}

#[tokio::test(start_paused = true)]
async fn an_announced_game_without_a_board_is_asked_for_one_and_then_told() {
    let mut transcript = Transcript::ready(OWN);
    transcript.feed(b"{Game 3 (Harbor vs. Birch) Creating unrated crazyhouse match.}\n\r");
    transcript.advance(Duration::from_secs(3));
    assert_eq!(transcript.sent(), [""; 0]);
    transcript.advance(Duration::from_secs(2));
    assert_eq!(transcript.sent(), ["refresh"]);
    transcript.advance(Duration::from_secs(4));
    let id = transcript.protocol.running_game().unwrap();
    assert!(matches!(
        transcript.protocol.first_word(&id),
        Some(GameEvent::Unreadable { .. })
    ));
    // Its end is heard as that of any other game.
    transcript.feed(b"{Game 3 (Harbor vs. Birch) Game aborted on move 1} *\n\r");
    assert_eq!(transcript.protocol.running_game(), None);
    // The board comes after the question: a game like any other.
    let mut transcript = Transcript::ready(OWN);
    transcript.feed(b"{Game 3 (Harbor vs. Birch) Creating unrated crazyhouse match.}\n\r");
    transcript.advance(Duration::from_secs(5));
    let board = opening_with(RANKS)
        .lines()
        .skip(1)
        .collect::<Vec<_>>()
        .join("\n");
    transcript.feed(format!("{board}\n\r").as_bytes());
    transcript.advance(Duration::from_secs(1));
    let id = transcript.protocol.running_game().unwrap();
    assert!(matches!(
        transcript.protocol.first_word(&id),
        Some(GameEvent::Full { .. })
    ));
}

#[tokio::test(start_paused = true)]
async fn an_unanswered_move_is_reported_and_not_repeated() {
    let server = server(Dialect::Fics, 60);
    let (mut bot, other, start, _) = game(&server, "3 0 w crazyhouse").await;
    other.send("e2e4");
    let state = bot.state_with(1).await;
    server.faults(|faults| faults.deaf_to = vec!["e7e5".to_owned()]);
    bot.play(&start, &state, "e7e5").await;
    let failed = bot
        .game_event(|event| matches!(event, GameEvent::Failed { .. }))
        .await;
    assert!(
        matches!(
            failed,
            GameEvent::Failed {
                failure: CommandFailure::Unanswered,
                ..
            }
        ),
        "{failed:?}"
    );
    assert_eq!(
        server
            .sent_by(OWN)
            .iter()
            .filter(|line| *line == "e7e5")
            .count(),
        1
    );
    bot.stop().await;
}
