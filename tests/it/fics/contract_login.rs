//! Contract points E1 to E13: transport, login, framing.

use std::time::Duration;

use seneschal::game::GameEvent;
use seneschal::platform::fics::FicsConfig;
use seneschal::platform::fics::protocol::{Output, Protocol};
use seneschal::platform::{AccountEvent, ClientEnd};
use tokio::time::{Instant, timeout};

use super::fake_ics::{Dialect, FakeIcs};
use super::summary::{Transcript, replay};
use super::{Bot, LIMIT, OTHER, OWN, config, game, game_with, pause, server};

#[tokio::test(start_paused = true)]
async fn e01_nothing_is_sent_before_the_server_asks() {
    for seed in 0..10 {
        for dialect in Dialect::ALL {
            let server = server(dialect, seed);
            let bot = Bot::ready(&server, config()).await;
            assert_eq!(server.early_bytes(), 0);
            assert_eq!(
                server.sent_by(OWN)[0],
                OWN,
                "the first line is exactly the name"
            );
            bot.stop().await;
        }
    }
    // With and without the blank, in pieces, and in a line of the banner that only talks about it.
    for pieces in [
        &["log", "in:"][..],
        &["l", "o", "gin", ":"],
        &["please login: now\n\r", "login: "],
        &["Hello\n\rlogin: "],
    ] {
        let mut protocol = Protocol::new(config(), Some("secret".to_owned().into()), 1);
        let now = Instant::now();
        protocol.connected(now, 0);
        for (index, piece) in pieces.iter().enumerate() {
            assert_eq!(
                protocol.to_send(now),
                None,
                "before piece {index} of {pieces:?}"
            );
            protocol.received(piece.as_bytes(), now).unwrap();
        }
        assert_eq!(protocol.to_send(now).unwrap().text, OWN);
        assert_eq!(protocol.to_send(now), None);
    }
}

#[tokio::test(start_paused = true)]
async fn e02_the_password_is_sent_once_and_never_shown() {
    let server = server(Dialect::Fics, 2);
    let bot = Bot::ready(&server, config()).await;
    let sent = server.sent_by(OWN);
    assert_eq!(sent.iter().filter(|line| *line == "secret").count(), 1);
    assert_eq!(sent[1], "secret");
    bot.stop().await;

    let mut protocol = Protocol::new(config(), Some("secret".to_owned().into()), 1);
    let now = Instant::now();
    protocol.connected(now, 0);
    protocol.received(b"login: ", now).unwrap();
    protocol.to_send(now).unwrap();
    protocol
        .received(
            b"\n\r\"Harbor\" is a registered name.\n\r\n\rpassword: \xff\xfb\x01",
            now,
        )
        .unwrap();
    let password = protocol.to_send(now).unwrap();
    assert!(password.secret, "what is marked secret is masked in logs");
    protocol.received(b"\xff\xfc\x01\n\r", now).unwrap();
    assert_eq!(
        protocol.to_send(now),
        None,
        "telnet commands are not answered"
    );
    assert!(
        !format!("{protocol:?}").contains("\"secret\""),
        "not even a debug print shows it"
    );
}

#[tokio::test(start_paused = true)]
async fn e03_name_and_marks_come_from_the_session_line() {
    let server = server(Dialect::Fics, 3);
    let mut bot = Bot::start(
        &server,
        FicsConfig {
            handle: "hARBOR".to_owned(),
            ..config()
        },
    );
    let online = bot
        .event(|event| {
            if let AccountEvent::Online { name, is_bot } = event {
                Some((name.as_str().to_owned(), *is_bot))
            } else {
                None
            }
        })
        .await;
    assert_eq!(
        online,
        (OWN.to_owned(), true),
        "the server's capitals and its computer mark"
    );
    bot.stop().await;

    // Without the mark, though it is required, rated games are closed; unrated ones are not.
    let server = FakeIcs::new(Dialect::Fics, 3);
    server.register(OWN, "secret", false);
    server.register(OTHER, "pw", false);
    let mut bot = Bot::ready(&server, config()).await;
    let other = server.player(OTHER);
    other.send("match Harbor 3 0 r crazyhouse");
    assert!(!bot.challenge().await.playable);
    other.send("match Harbor 3 0 u crazyhouse");
    assert!(bot.challenge().await.playable);
    bot.stop().await;
}

#[tokio::test(start_paused = true)]
async fn e04_a_misspelt_name_never_becomes_a_guest() {
    for dialect in Dialect::ALL {
        let server = server(dialect, 4);
        let bot = Bot::start(
            &server,
            FicsConfig {
                handle: "Harbour".to_owned(),
                ..config()
            },
        );
        let end = timeout(LIMIT, bot.task).await.unwrap().unwrap();
        let ClientEnd::Stopped { words } = end else {
            panic!("{end:?}")
        };
        assert!(words.contains("Harbour"), "{words}");
        assert_eq!(
            server.sent_by("Harbour"),
            ["Harbour"],
            "return was not pressed"
        );
        assert_eq!(server.connections(), 1, "and nothing is tried again");
    }
}

#[tokio::test(start_paused = true)]
async fn e05_a_guest_presses_return_once_and_plays_unrated_only() {
    for dialect in Dialect::ALL {
        let server = server(dialect, 5);
        let guest = FicsConfig {
            handle: String::new(),
            guest: true,
            ..config()
        };
        let mut bot = Bot::start(&server, guest.clone());
        let name = bot
            .event(|event| {
                if let AccountEvent::Online { name, .. } = event {
                    Some(name.as_str().to_owned())
                } else {
                    None
                }
            })
            .await;
        assert!(name.starts_with("Guest"), "{name}");
        assert_eq!(server.sent_by("guest"), ["guest"]);
        assert_eq!(server.sent_by(&name)[0], "", "return, once");
        assert!(
            !seneschal::platform::fics::capabilities(&guest)
                .lobby
                .rated_games
        );
        bot.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn e06_a_wrong_password_stops_the_account_at_once() {
    let server = server(Dialect::Fics, 6);
    let bot = Bot::start_with(&server, config(), "wrong");
    let end = timeout(LIMIT, bot.task).await.unwrap().unwrap();
    assert!(
        matches!(&end, ClientEnd::Stopped { words } if words.contains("password") && !words.contains("wrong")
        || matches!(&end, ClientEnd::Stopped { words } if words == "the password is wrong")),
        "{end:?}"
    );
    assert_eq!(server.connections(), 1);
    assert_eq!(
        server
            .sent_by(OWN)
            .iter()
            .filter(|line| *line == "wrong")
            .count(),
        1
    );
}

#[tokio::test(start_paused = true)]
async fn e07_a_kicked_session_stays_away_and_lost_ones_back_off() {
    let server = server(Dialect::Fics, 7);
    let mut bot = Bot::ready(&server, config()).await;
    server.raw(
        OWN,
        b"**** Harbor has arrived - you can't both be logged in. ****\n\r\n\r",
    );
    let retry = |event: &AccountEvent| {
        if let AccountEvent::Offline { retry_in, .. } = event {
            Some(*retry_in)
        } else {
            None
        }
    };
    let kicked_at = Instant::now();
    assert!(bot.event(retry).await >= Duration::from_secs(300));
    bot.snapshot().await;
    assert!(
        kicked_at.elapsed() >= Duration::from_secs(300),
        "no return within five minutes"
    );
    // A second time so soon means that somebody else runs this account.
    server.raw(
        OWN,
        b"**** Harbor has arrived - you can't both be logged in. ****\n\r\n\r",
    );
    let end = timeout(LIMIT, bot.task).await.unwrap().unwrap();
    assert!(matches!(end, ClientEnd::Stopped { .. }));

    let server = self::server(Dialect::Fics, 8);
    server.faults(|faults| faults.refuse_connections = 12);
    let mut bot = Bot::start(&server, config());
    let mut waits = Vec::new();
    for _ in 0..12 {
        waits.push(bot.event(retry).await);
    }
    assert!(
        waits
            .iter()
            .all(|wait| (Duration::from_secs(30)..=Duration::from_secs(600)).contains(wait)),
        "{waits:?}"
    );
    assert!(
        waits.iter().max() > Some(&Duration::from_secs(60)),
        "they grow: {waits:?}"
    );
    assert!(
        waits.windows(2).any(|pair| pair[0] != pair[1]),
        "they are not all alike: {waits:?}"
    );
    bot.snapshot().await;
    bot.stop().await;
}

#[tokio::test(start_paused = true)]
async fn e08_noise_and_segmentation_do_not_change_what_is_understood() {
    let plain = "fics% \n\r<12> rnbqkbnr ppp-pppp -------- ---P---- -------- -------- PPPP-PPP RNBQKBNR B -1 1 1 1 1 0 3 Harbor Birch -1 3 0 25 23 179650 180000 2 P/e4-d5 (0:00.350) exd5 0 1 0\n\r<b1> game 3 white [P] black []\n\rfics% \n\rBirch tells you: caf&#xe9; &#x2654;\n\rfics% ";
    let opening = "Creating: Harbor (1500) Birch (1500) rated crazyhouse 3 0\n\r{Game 3 (Harbor vs. Birch) Creating rated crazyhouse match.}\n\r<12> rnbqkbnr ppp-pppp -------- ---p---- ----P--- -------- PPPP-PPP RNBQKBNR W -1 1 1 1 1 0 3 Harbor Birch 1 3 0 24 24 180000 180000 2 P/d7-d5 (0:00.000) d5 0 1 0\n\r<b1> game 3 white [] black []\n\r";
    let text = format!("{opening}{plain}");
    let expected = replay(OWN, text.as_bytes(), 4096);
    assert!(
        expected.contains("after e4d5") && expected.contains("caf\u{e9} \u{2654}"),
        "{expected}"
    );
    let noisy = |replace: &dyn Fn(&str) -> Vec<u8>| replace(&text);
    let variants: Vec<Vec<u8>> = vec![
        noisy(&|text| text.replace("\n\r", "\r\n").into_bytes()),
        noisy(&|text| text.replace("\n\r", "\n").into_bytes()),
        noisy(&|text| text.replace("fics% ", "fics% fics% \u{7}").into_bytes()),
        noisy(&|text| {
            text.replace("Birch tells", "\u{1b}[7mBirch\u{1b}[0m tells")
                .into_bytes()
        }),
        // Telnet commands in the middle of a board.
        noisy(&|text| {
            text.as_bytes()
                .iter()
                .enumerate()
                .flat_map(|(index, byte)| {
                    if index % 11 == 5 {
                        vec![0xff, 0xfb, 0x01, *byte]
                    } else {
                        vec![*byte]
                    }
                })
                .collect()
        }),
        noisy(&|text| {
            text.as_bytes()
                .iter()
                .enumerate()
                .flat_map(|(index, byte)| {
                    if index % 17 == 3 {
                        vec![0xff, 0xf1, *byte]
                    } else {
                        vec![*byte]
                    }
                })
                .collect()
        }),
    ];
    for (index, bytes) in variants.iter().enumerate() {
        for piece in [1, 2, 3, 7, 64, 4096] {
            assert_eq!(
                replay(OWN, bytes, piece),
                expected,
                "variant {index}, pieces of {piece}"
            );
        }
    }
    for seed in 0..6 {
        let server = server(Dialect::ALL[seed as usize % 3], seed);
        server.faults(|faults| faults.noise = true);
        let (mut bot, other, ..) = game(&server, "3 0 w crazyhouse").await;
        other.send("e2e4");
        assert_eq!(bot.state_with(1).await.moves, ["e2e4"]);
        bot.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn e09_every_login_sets_everything_and_survives_refusals() {
    for dialect in Dialect::ALL {
        let server = server(dialect, 9);
        let mut bot = Bot::ready(&server, config()).await;
        let settings = |lines: &[String]| -> Vec<String> {
            lines
                .iter()
                .filter(|line| line.starts_with("set ") || line.starts_with("iset "))
                .cloned()
                .collect()
        };
        let first = settings(&server.sent_by(OWN));
        for needed in [
            "set style 12",
            "iset nowrap 1",
            "iset ms 1",
            "iset startpos 1",
            "iset pendinfo 1",
            "iset gameinfo 1",
            "iset movecase 1",
            "iset crazyhouse 1",
            "iset suicide 1",
            "iset losers 1",
            "iset atomic 1",
            "iset fr 1",
            "iset wildcastle 1",
            "set open 1",
            "set noescape 0",
            "set bell 0",
        ] {
            assert!(first.iter().any(|line| line == needed), "{needed}");
        }
        assert_eq!(
            first
                .iter()
                .rfind(|line| line.starts_with("iset "))
                .unwrap(),
            "iset lock 1"
        );
        server.cut(OWN);
        bot.snapshot().await;
        let both = settings(&server.sent_by(OWN));
        assert_eq!(
            both[first.len()..],
            first[..],
            "the second login sets the same again"
        );
        bot.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn e10_two_unanswered_signs_of_life_end_the_connection() {
    let server = server(Dialect::Fics, 10);
    let mut bot = Bot::ready(&server, config()).await;
    let muted_at = Instant::now();
    server.faults(|faults| faults.mute = true);
    let words = bot
        .event(|event| {
            if let AccountEvent::Offline { words, .. } = event {
                Some(words.clone())
            } else {
                None
            }
        })
        .await;
    assert!(words.contains("answer"), "{words}");
    let waited = muted_at.elapsed();
    assert!(
        (Duration::from_secs(100)..Duration::from_secs(200)).contains(&waited),
        "{waited:?}"
    );
    server.faults(|faults| faults.mute = false);
    bot.snapshot().await;
    let markers: Vec<String> = server
        .sent_by(OWN)
        .into_iter()
        .filter(|line| line.starts_with("mk_"))
        .collect();
    assert!(
        markers.len() >= 4
            && markers
                .iter()
                .all(|marker| *marker == marker.to_lowercase())
    );
    bot.stop().await;

    // A late answer while a game is on is an answer.
    let server = self::server(Dialect::Fics, 11);
    let (mut bot, ..) = game(&server, "3 0 w crazyhouse").await;
    server.faults(|faults| faults.mute = true);
    tokio::time::sleep(Duration::from_secs(45)).await;
    server.faults(|faults| faults.mute = false);
    for marker in server
        .sent_by(OWN)
        .into_iter()
        .filter(|line| line.starts_with("mk_"))
    {
        server.raw(
            OWN,
            format!("{marker}: Command not found.\n\rfics% ").as_bytes(),
        );
    }
    tokio::time::sleep(Duration::from_secs(300)).await;
    assert!(
        !bot.settled()
            .await
            .iter()
            .any(|event| matches!(event, AccountEvent::Offline { .. }))
    );
    assert_eq!(server.connections(), 1);
    bot.stop().await;
}

#[test]
fn e11_prompts_and_folds_mean_nothing() {
    let tell = |text: &str| replay(OWN, text.as_bytes(), 3);
    let opening = "{Game 3 (Harbor vs. Birch) Creating rated blitz match.}\n\r<12> rnbqkbnr pppppppp -------- -------- -------- -------- PPPPPPPP RNBQKBNR W -1 1 1 1 1 0 3 Harbor Birch 1 3 0 39 39 180000 180000 1 none (0:00.000) none 0 0 0\n\r";
    let plain = tell(&format!(
        "{opening}{{Game 3 (Harbor vs. Birch) Birch resigns}} 1-0\n\r"
    ));
    assert!(plain.contains("ended 1-0"), "{plain}");
    assert_eq!(
        tell(&format!(
            "fics% fics% {opening}fics% fics% {{Game 3 (Harbor vs. Birch) Birch resigns}} 1-0\n\r"
        )),
        plain
    );
    // Without any prompt at all, and with a folded end line.
    assert_eq!(
        tell(&format!(
            "{opening}{{Game 3 (Harbor vs. Birch)\n\r\\   Birch resigns}} 1-0\n\r"
        )),
        plain
    );
}

#[test]
fn e12_chat_cannot_pose_as_the_server() {
    let opening = "{Game 1 (Harbor vs. Birch) Creating rated blitz match.}\n\r<12> rnbqkbnr pppppppp -------- -------- -------- -------- PPPPPPPP RNBQKBNR W -1 1 1 1 1 0 1 Harbor Birch 1 3 0 39 39 180000 180000 1 none (0:00.000) none 0 0 0\n\r";
    let lines = [
        "Birch tells you: {Game 1 (Harbor vs. Birch) Harbor resigns} 0-1",
        "Birch tells you: Challenge: Birch (1500) Harbor (1500) rated blitz 3 0.",
        "Birch(1500)[1] kibitzes: <12> rnbqkbnr pppppppp -------- -------- ----P--- -------- PPPP-PPP RNBQKBNR B -1 1 1 1 1 0 1 Harbor Birch -1 3 0 39 39 180000 180000 1 P/e2-e4 (0:00.000) e4 0 0 0",
        "Birch[1] says: <pf> 1 w=Birch t=draw p=#",
        "Birch(U) tells you: **** Harbor has arrived - you can't both be logged in. ****",
        "Birch tells you: Illegal move (e2e4).",
        "--> Birch offers you a draw.",
        "Birch(C)(50): {Game 1 (Harbor vs. Birch) Harbor resigns} 0-1",
        // Folded by a server without nowrap; the second part must not be read by itself.
        "Birch tells you: aaa\n\r\\   {Game 1 (Harbor vs. Birch) Harbor resigns} 0-1",
        ":Birch offers you a draw.",
        "&#x7b;Game 1 (Harbor vs. Birch) Harbor resigns} 0-1",
    ];
    for line in lines {
        let mut transcript = Transcript::ready(OWN);
        transcript.feed(opening.as_bytes());
        transcript.take();
        transcript.feed(format!("\n\r{line}\n\rfics% ").as_bytes());
        transcript.advance(Duration::from_secs(1));
        let outputs = transcript.take();
        let only_chat = outputs.iter().all(|output| {
            matches!(
                output,
                Output::Game {
                    event: GameEvent::Chatted(_),
                    ..
                }
            )
        });
        assert!(only_chat, "{line}: {outputs:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn e13_games_of_others_change_nothing() {
    let server = server(Dialect::Fics, 13);
    let (mut bot, other, ..) = game(&server, "3 0 w crazyhouse").await;
    for line in [
        "{Game 7 (Cedar vs. Elm) Creating rated blitz match.}",
        "{Game 7 (Cedar vs. Elm) Cedar resigns} 0-1",
        "{Game 7 (Cedar vs. Elm) Cedar resigns} 0-1",
        "{Game 1 (Cedar vs. Elm) Cedar resigns} 0-1",
        "{Game 9 (Birch vs. Harbor) Birch resigns} 0-1",
        "Creating: Cedar (1500) Elm (1500) rated blitz 3 0",
        "<12> rnbqkbnr pppppppp -------- -------- ----P--- -------- PPPP-PPP RNBQKBNR B -1 1 1 1 1 0 7 Cedar Elm 0 3 0 39 39 180000 180000 1 P/e2-e4 (0:00.000) e4 0 0 0",
        "<b1> game 7 white [Q] black []",
    ] {
        server.notice(OWN, line);
    }
    pause().await;
    assert_eq!(bot.game_settled().await, [], "nothing happened in our game");
    other.send("e2e4");
    assert_eq!(bot.state_with(1).await.moves, ["e2e4"], "and it goes on");
    bot.stop().await;
}

#[tokio::test(start_paused = true)]
async fn timeseal_introduces_itself_and_stamps_every_line() {
    let server = server(Dialect::Fics, 51);
    let (bot, other, start, state) = game_with(
        &server,
        FicsConfig {
            timeseal: true,
            ..config()
        },
        "3 0 black crazyhouse",
    )
    .await;
    bot.play(&start, &state, "e2e4").await;
    pause().await;
    assert!(other.saw("P/e2-e4"), "{}", other.shown());
    let notes = server.sent_by("");
    assert_eq!(
        notes.first().map(String::as_str),
        Some("(seal introduction)")
    );
    assert!(
        !notes.iter().any(|note| note == "(a line without seal)"),
        "{notes:?}"
    );
    assert_eq!(bot.stop().await, ClientEnd::Asked);
}
