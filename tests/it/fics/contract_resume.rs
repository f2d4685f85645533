//! Contract points E35 to E37: lost connections, resumed games, noescape.

use std::time::Duration;

use seneschal::game::{GameCommand, GameEvent, GameResult, GameSource, PlayerName, Termination};
use seneschal::platform::AccountCommand;
use seneschal::platform::fics::FicsConfig;
use seneschal::rules::{CastlingMode, Color, Role, Variant};

use super::contract_games::captures;
use super::fake_ics::Dialect;
use super::summary::replay;
use super::{Bot, OTHER, OWN, config, game, game_with, pause, position_of, server};

#[tokio::test(start_paused = true)]
async fn e35_a_lost_connection_is_settled_and_the_game_resumed() {
    for dialect in Dialect::ALL {
        let server = server(dialect, 35);
        let (mut bot, other, start, _) = game(&server, "10 0 w crazyhouse").await;
        let state = captures(&mut bot, &other, &start).await;
        let lost_clock = state.clocks.unwrap();
        server.cut(OWN);
        bot.game_event(|event| matches!(event, GameEvent::LinkLost))
            .await;
        // Back again: the server keeps the game.
        let snapshot = bot.snapshot().await;
        assert_eq!(snapshot.adjourned, [PlayerName::new(OTHER)]);
        assert!(snapshot.games.is_empty());
        let GameEvent::Ended(end) = bot
            .game_event(|event| matches!(event, GameEvent::Ended(_)))
            .await
        else {
            panic!()
        };
        assert_eq!(end.termination, Termination::Adjourned);
        assert!(
            !server
                .sent_by(OWN)
                .iter()
                .any(|line| line == "abort" || line == "resign"),
            "nothing is sent blindly"
        );

        // He offers to go on; or we do, once.
        let ours = dialect == Dialect::Fics;
        if ours {
            bot.command(AccountCommand::Resume(PlayerName::new(OTHER)))
                .await;
            bot.command(AccountCommand::Resume(PlayerName::new(OTHER)))
                .await;
            pause().await;
            assert_eq!(
                server
                    .sent_by(OWN)
                    .iter()
                    .filter(|line| line.starts_with("match "))
                    .count(),
                1
            );
            other.send("accept");
        } else {
            other.send("match Harbor");
            let offer = bot.challenge().await;
            assert!(offer.resumes_adjourned);
            assert_eq!(
                offer.variant,
                seneschal::lobby::OfferedVariant::Known {
                    variant: Variant::Crazyhouse,
                    castling_mode: CastlingMode::Standard
                }
            );
            bot.accept(&offer.id).await;
        }
        let notice = bot.started().await;
        assert_eq!(notice.source, GameSource::Resumed);
        let (again, resumed) = bot.open(&notice.id).await;
        assert_ne!(again.id, start.id);
        assert_eq!(
            (again.variant, again.color),
            (Variant::Crazyhouse, Color::Black)
        );
        assert_eq!(
            (resumed.base_fen.clone(), &resumed.moves),
            (None, &state.moves),
            "the whole game is known again"
        );
        let position = position_of(&again, &resumed);
        assert_eq!(
            (
                position.pocket(Color::White, Role::Pawn),
                position.pocket(Color::Black, Role::Pawn)
            ),
            (1, 1),
            "old arrivals are not summed up"
        );
        assert!(
            resumed.clocks.unwrap().black <= lost_clock.black,
            "clocks come from the board"
        );
        other.send("P@e6");
        bot.state_with(7).await;
        bot.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn e35_the_opponent_who_comes_back_is_announced() {
    for dialect in Dialect::ALL {
        let server = server(dialect, 36);
        let (mut bot, other, start, _) = game(&server, "10 0 w crazyhouse").await;
        captures(&mut bot, &other, &start).await;
        server.cut(OTHER);
        bot.game_event(|event| matches!(event, GameEvent::OpponentLeft { .. }))
            .await;
        let GameEvent::Ended(end) = bot
            .game_event(|event| matches!(event, GameEvent::Ended(_)))
            .await
        else {
            panic!()
        };
        assert_eq!(end.termination, Termination::Adjourned);
        drop(other);
        tokio::time::sleep(Duration::from_secs(30)).await;
        bot.settled().await;
        // The server tells of his arrival, and so do we without being asked.
        let other = server.player(OTHER);
        assert_eq!(bot.snapshot().await.adjourned, [PlayerName::new(OTHER)]);
        bot.command(AccountCommand::Resume(PlayerName::new(OTHER)))
            .await;
        pause().await;
        other.send("accept");
        assert_eq!(bot.started().await.source, GameSource::Resumed);
        bot.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn e35_a_game_that_the_server_dropped_or_gave_away_is_told_so() {
    // Forfeited: the list of past games says it.
    let server = server(Dialect::Fics, 37);
    let (mut bot, other, start, _) = {
        let mut bot = Bot::ready(
            &server,
            FicsConfig {
                noescape: true,
                ..config()
            },
        )
        .await;
        let other = server.player(OTHER);
        other.send("set noescape 1");
        other.send("match Harbor 10 0 w crazyhouse");
        let offer = bot.challenge().await;
        bot.accept(&offer.id).await;
        let notice = bot.started().await;
        let (start, state) = bot.open(&notice.id).await;
        (bot, other, start, state)
    };
    assert!(start.rules.no_escape);
    captures(&mut bot, &other, &start).await;
    server.cut(OWN);
    let GameEvent::Ended(end) = bot
        .game_event(|event| matches!(event, GameEvent::Ended(_)))
        .await
    else {
        panic!()
    };
    assert_eq!(
        (end.result, end.termination),
        (
            GameResult::Decisive {
                winner: Color::White
            },
            Termination::Abandoned
        )
    );
    bot.stop().await;

    // Too short to be kept: nobody knows it any more.
    let server = self::server(Dialect::Fics, 38);
    let (mut bot, ..) = game(&server, "10 0 w crazyhouse").await;
    server.cut(OWN);
    let GameEvent::Ended(end) = bot
        .game_event(|event| matches!(event, GameEvent::Ended(_)))
        .await
    else {
        panic!()
    };
    assert_eq!(
        (end.result, end.termination),
        (GameResult::Unknown, Termination::Unknown)
    );
    bot.stop().await;
}

#[tokio::test(start_paused = true)]
async fn e36_an_opponent_who_is_lost_may_leave_the_server_hanging() {
    for dialect in Dialect::ALL {
        for hang in [false, true] {
            let server = server(dialect, 36);
            let (mut bot, other, start, _) = game(&server, "10 0 w crazyhouse").await;
            captures(&mut bot, &other, &start).await;
            server.faults(|faults| faults.hang_after_loss = hang);
            server.cut(OTHER);
            bot.game_event(|event| matches!(event, GameEvent::OpponentLeft { claimable_in: None }))
                .await;
            if hang {
                tokio::time::sleep(Duration::from_secs(120)).await;
                assert!(
                    !bot.game_settled()
                        .await
                        .iter()
                        .any(|event| matches!(event, GameEvent::Ended(_))),
                    "silence ends no game"
                );
                // The session may leave by itself.
                bot.game_command(GameCommand::Resign).await;
            }
            bot.game_event(|event| matches!(event, GameEvent::Ended(_)))
                .await;
            bot.stop().await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn e37_noescape_is_off_by_default_and_its_effect_is_recorded() {
    for (wanted, both) in [(false, false), (true, true)] {
        let server = server(Dialect::Fics, 37);
        let (bot, _other, start, _) = game_with(
            &server,
            FicsConfig {
                noescape: wanted,
                ..config()
            },
            "3 0 w crazyhouse",
        )
        .await;
        assert!(
            server
                .sent_by(OWN)
                .contains(&format!("set noescape {}", u8::from(wanted)))
        );
        assert!(!start.rules.no_escape, "it takes both players ({both})");
        bot.stop().await;
    }
    let text = "Creating: Harbor (1500) Birch (1500) rated crazyhouse 10 5\n\r{Game 2 (Harbor vs. Birch) Creating rated crazyhouse match.}\n\r\n\r<g1> 2 p=0 t=crazyhouse r=1 u=0,0 it=600,5 i=600,5 pt=0 rt=1500,1500 ts=0,0 m=2 n=1\n\rGame 2: A disconnection will be considered a forfeit.\n\rfics% \n\r<12> rnbqkbnr pppppppp -------- -------- -------- -------- PPPPPPPP RNBQKBNR W -1 1 1 1 1 0 2 Harbor Birch 1 10 5 24 24 600000 600000 1 none (0:00.000) none 0 0 0\n\r<b1> game 2 white [] black []\n\r";
    assert!(replay(OWN, text.as_bytes(), 6).contains("noescape"));
    // Either of the two lines is enough.
    let without_info: String = text
        .split_inclusive("\n\r")
        .filter(|line| !line.starts_with("<g1>"))
        .collect();
    assert!(replay(OWN, without_info.as_bytes(), 6).contains("noescape"));
}
