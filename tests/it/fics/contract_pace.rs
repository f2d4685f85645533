//! Contract points E38, E39 and E41: between games, floods, leaving.

use std::time::Duration;

use seneschal::game::{ChatRoom, GameCommand, GameEvent, PlayerKind};
use seneschal::lobby::DeclineReason;
use seneschal::platform::fics::protocol::Output;
use seneschal::platform::fics::{FicsConfig, FicsVariant, SeekConfig};
use seneschal::platform::{AccountCommand, AccountEvent, ClientEnd};
use tokio::time::Instant;

use super::fake_ics::Dialect;
use super::summary::Transcript;
use super::{Bot, OWN, config, game, pause, server};

#[tokio::test(start_paused = true)]
async fn e38_after_a_game_the_account_is_idle_again_within_a_second() {
    for dialect in Dialect::ALL {
        let server = server(dialect, 38);
        let (mut bot, other, ..) = game(&server, "3 0 w crazyhouse").await;
        other.send("resign");
        let ended_at = Instant::now();
        bot.game_event(|event| matches!(event, GameEvent::Ended(_)))
            .await;
        bot.event(|event| {
            matches!(event, AccountEvent::GameFinished { end: Some(_), .. }).then_some(())
        })
        .await;
        assert!(ended_at.elapsed() < Duration::from_secs(1));
        // One word to the last opponent is still possible.
        bot.game_command(GameCommand::Say {
            room: ChatRoom::Players,
            text: "Thank you for the game.".to_owned(),
        })
        .await;
        pause().await;
        assert_eq!(other.times("says: Thank you for the game."), 1);
        // The rematch is an ordinary challenge; who plays how often is decided by the daemon.
        other.send("match Harbor 3 0 b crazyhouse");
        let offer = bot.challenge().await;
        bot.accept(&offer.id).await;
        let notice = bot.started().await;
        let (start, _) = bot.open(&notice.id).await;
        assert_eq!(start.opponent.kind, PlayerKind::Human);
        bot.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn e39_a_flood_neither_delays_moves_nor_fills_memory() {
    let server = server(Dialect::Fics, 39);
    let (mut bot, other, start, _) = game(&server, "3 0 w crazyhouse").await;
    let before = server.sent_by(OWN).len();
    let started_at = Instant::now();
    // Somebody else's flood: 200 challenges and 500 tells within five seconds, while our chat waits in its queue.
    for _ in 0..20 {
        bot.game_command(GameCommand::Say {
            room: ChatRoom::Players,
            text: "word ".repeat(50),
        })
        .await;
    }
    for round in 0..50 {
        for number in 0..4 {
            server.raw(
                OWN,
                format!(
                    "<pf> {} w=Cedar t=match p=Cedar (1500) Harbor (1500) rated blitz 3 0\n\r",
                    1000 + round * 4 + number
                )
                .as_bytes(),
            );
        }
        for _ in 0..10 {
            server.notice(
                OWN,
                "Cedar tells you: give me a game give me a game give me a game",
            );
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    other.send("e2e4");
    let state = bot.state_with(1).await;
    let asked_at = Instant::now();
    bot.play(&start, &state, "e7e5").await;
    bot.state_with(2).await;
    assert!(
        asked_at.elapsed() < Duration::from_millis(200),
        "{:?}",
        asked_at.elapsed()
    );
    let elapsed = started_at.elapsed().as_secs() as usize + 1;
    let sent = server.sent_by(OWN).len() - before;
    assert!(sent <= 60 + 5 * elapsed, "{sent} lines in {elapsed} s");
    assert!(bot.settled().await.len() <= 256);
    bot.stop().await;
}

#[test]
fn e39_books_and_queues_have_bounds() {
    let mut transcript = Transcript::ready(OWN);
    for round in 0..5000 {
        let letters: String = format!("{round:04}")
            .bytes()
            .map(|digit| char::from(b'a' + digit - b'0'))
            .collect();
        let name = format!("Flood{letters}");
        transcript.feed(format!("<pf> {round} w={name} t=match p={name} (1500) Harbor (1500) rated blitz 3 0\n\r--** {name} is a computer **--\n\r{name} tells you: hello\n\r1 player who has an adjourned game with you is online: {name}\n\r").as_bytes());
        let outputs = transcript.take();
        for output in &outputs {
            if let Output::Account(AccountEvent::Challenged(offer)) = output {
                transcript.protocol.account_command(
                    AccountCommand::Decline {
                        id: offer.id.clone(),
                        reason: DeclineReason::Later,
                    },
                    transcript.now,
                );
            }
        }
    }
    assert!(
        transcript.protocol.held() < 2000,
        "{}",
        transcript.protocol.held()
    );
}

#[tokio::test(start_paused = true)]
async fn e41_letting_go_withdraws_seeks_quits_and_waits_for_the_end() {
    for dialect in [Dialect::Fics, Dialect::FatIcs] {
        let server = server(dialect, 41);
        let seek = SeekConfig {
            variant: FicsVariant::Crazyhouse,
            minutes: 3,
            increment_s: 0,
            rated: true,
        };
        let bot = Bot::ready(
            &server,
            FicsConfig {
                seeks: vec![seek],
                ..config()
            },
        )
        .await;
        pause().await;
        let asked_at = Instant::now();
        assert_eq!(bot.stop().await, ClientEnd::Asked);
        assert!(asked_at.elapsed() < Duration::from_secs(5));
        let sent = server.sent_by(OWN);
        assert_eq!(sent[sent.len() - 2..], ["unseek", "quit"]);
        assert!(!server.is_online(OWN));
    }
    // A server that does not let go is left after five seconds.
    let server = server(Dialect::Fics, 42);
    let bot = Bot::ready(&server, config()).await;
    server.faults(|faults| faults.mute = true);
    let asked_at = Instant::now();
    assert_eq!(bot.stop().await, ClientEnd::Asked);
    assert!((Duration::from_secs(5)..Duration::from_secs(6)).contains(&asked_at.elapsed()));
    // A last greeting goes out before.
    let server = self::server(Dialect::Fics, 44);
    let (bot, other, ..) = game(&server, "3 0 w crazyhouse").await;
    bot.game_command(GameCommand::Resign).await;
    bot.game_command(GameCommand::Say {
        room: ChatRoom::Players,
        text: "Goodbye".to_owned(),
    })
    .await;
    assert_eq!(bot.stop().await, ClientEnd::Asked);
    assert!(
        other.saw("Harbor resigns") && other.saw("says: Goodbye"),
        "{}",
        other.shown()
    );
    // Before the login there is nothing to say.
    let server = self::server(Dialect::Fics, 43);
    server.faults(|faults| faults.mute = true);
    let bot = Bot::start(&server, config());
    pause().await;
    assert_eq!(bot.stop().await, ClientEnd::Asked);
    assert!(!server.sent_by(OWN).iter().any(|line| line == "quit"));
}
