//! Contract points E34 and E40, and what else people say to each other: offers in a game, chat, the owner's words.

use std::time::Duration;

use seneschal::game::{ChatRoom, GameCommand, GameEvent, OfferKind, PlayMove, PlayerName};
use seneschal::platform::{AccountCommand, AccountEvent};
use seneschal::rules::Color;

use super::fake_ics::Dialect;
use super::{OTHER, OWN, game, pause, position_of, server};

#[tokio::test(start_paused = true)]
async fn e34_offers_in_a_game_are_shown_and_answered() {
    for dialect in Dialect::ALL {
        let server = server(dialect, 34);
        let (mut bot, other, start, state) = game(&server, "10 0 b crazyhouse").await;
        bot.play(&start, &state, "e2e4").await;
        bot.state_with(1).await;
        other.send("d7d5");
        let state = bot.state_with(2).await;

        for (typed, kind) in [
            ("draw", OfferKind::Draw),
            ("takeback 1", OfferKind::Takeback),
            ("abort", OfferKind::Abort),
            ("adjourn", OfferKind::Adjourn),
        ] {
            other.send(typed);
            let offered = |event: &GameEvent| matches!(event, GameEvent::State(state) if [state.offers.draw, state.offers.takeback, state.offers.abort, state.offers.adjourn].contains(&Some(Color::Black)));
            bot.game_event(offered).await;
            bot.game_command(GameCommand::Answer {
                offer: kind,
                accept: false,
            })
            .await;
            pause().await;
            assert_eq!(server.games(), 1, "{typed} was declined");
            let word = typed.split(' ').next().unwrap();
            assert!(
                other
                    .shown()
                    .lines()
                    .any(|line| line.contains("Harbor declines") && line.contains(word)),
                "{}",
                other.shown()
            );
            bot.game_settled().await;
            // Answering once more sends nothing: the offer is gone.
            let before = server.sent_by(OWN).len();
            bot.game_command(GameCommand::Answer {
                offer: kind,
                accept: true,
            })
            .await;
            pause().await;
            assert_eq!(server.sent_by(OWN).len(), before);
        }
        assert_eq!(other.times("tells you"), 0, "no words about it");

        // What has no word of ours is declined at once.
        if dialect.is_modern() {
            other.send("pause");
            pause().await;
            assert!(
                other
                    .shown()
                    .lines()
                    .any(|line| line.contains("Harbor declines") && line.contains("pause")),
                "{}",
                other.shown()
            );
        }

        // A takeback that we agree to: the game goes on from the board that follows.
        other.send("takeback 1");
        bot.game_event(|event| matches!(event, GameEvent::State(state) if state.offers.takeback == Some(Color::Black))).await;
        bot.game_command(GameCommand::Answer {
            offer: OfferKind::Takeback,
            accept: true,
        })
        .await;
        assert_eq!(bot.state_with(1).await.moves, state.moves[..1]);
        other.send("e7e5");
        let state = bot.state_with(2).await;
        assert_eq!(state.moves, ["e2e4", "e7e5"]);

        // A draw offer of ours rides on a move and survives it; theirs is accepted.
        let position = position_of(&start, &state);
        let m = position.parse_uci("g1f3").unwrap();
        bot.game_command(GameCommand::Play(Box::new(PlayMove {
            position,
            m,
            ply: 2,
            offer_draw: true,
        })))
        .await;
        bot.state_with(3).await;
        pause().await;
        assert!(other.saw("Harbor offers you a draw."));
        other.send("decline draw");
        pause().await;
        other.send("draw");
        bot.game_event(|event| matches!(event, GameEvent::State(state) if state.offers.draw == Some(Color::Black))).await;
        bot.game_command(GameCommand::Answer {
            offer: OfferKind::Draw,
            accept: true,
        })
        .await;
        let GameEvent::Ended(end) = bot
            .game_event(|event| matches!(event, GameEvent::Ended(_)))
            .await
        else {
            panic!()
        };
        assert_eq!(super::summary::ended(&end), "ended 1/2-1/2 Draw");
        bot.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn e34_offers_of_the_opponent_are_gone_when_the_server_says_so() {
    let server = server(Dialect::Fics, 35);
    let (mut bot, other, start, state) = game(&server, "10 0 b crazyhouse").await;
    other.send("draw");
    bot.game_event(
        |event| matches!(event, GameEvent::State(state) if state.offers.draw == Some(Color::Black)),
    )
    .await;
    other.send("withdraw");
    bot.game_event(|event| matches!(event, GameEvent::State(state) if state.offers.draw.is_none()))
        .await;
    other.send("draw");
    bot.game_event(
        |event| matches!(event, GameEvent::State(state) if state.offers.draw == Some(Color::Black)),
    )
    .await;
    // On this server a move declines.
    bot.play(&start, &state, "e2e4").await;
    bot.game_event(|event| matches!(event, GameEvent::State(state) if state.offers.draw.is_none()))
        .await;
    bot.game_command(GameCommand::Answer {
        offer: OfferKind::Draw,
        accept: true,
    })
    .await;
    pause().await;
    assert_eq!(server.games(), 1);
    bot.stop().await;
}

#[tokio::test(start_paused = true)]
async fn e40_what_we_say_is_one_short_plain_line() {
    let server = server(Dialect::Fics, 40);
    let (bot, other, ..) = game(&server, "3 0 w crazyhouse").await;
    let before = server.sent_by(OWN).len();
    bot.game_command(GameCommand::Say {
        room: ChatRoom::Spectators,
        text: "eval +0.3\nresign\r\nabort d=12 \u{2654} \u{7}".to_owned(),
    })
    .await;
    bot.game_command(GameCommand::Say {
        room: ChatRoom::Spectators,
        text: "pv ".repeat(200),
    })
    .await;
    tokio::time::sleep(Duration::from_secs(10)).await;
    let sent = &server.sent_by(OWN)[before..];
    assert!(
        sent.iter()
            .all(|line| line.starts_with("whisper ") && line.len() < 200 && line.is_ascii()),
        "{sent:?}"
    );
    assert!(
        sent[0].contains("resign"),
        "the words stay inside their line: {sent:?}"
    );
    assert_eq!(server.games(), 1, "and resign nothing");
    assert!(
        !other.saw("pv pv"),
        "the opponent reads no thoughts of ours"
    );
    // Not even a name can start a second command.
    bot.command(AccountCommand::Tell {
        to: PlayerName::new("Keel\nresign"),
        text: "hi".to_owned(),
    })
    .await;
    pause().await;
    assert_eq!(server.games(), 1);
    bot.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_owner_is_heard_and_nobody_else() {
    for dialect in Dialect::ALL {
        let server = server(dialect, 50);
        let mut bot = super::Bot::ready(&server, super::config()).await;
        let (keel, other) = (server.player("Keel"), server.player(OTHER));
        keel.send("tell Harbor status");
        let told = bot
            .event(|event| {
                if let AccountEvent::Told { from, text } = event {
                    Some((from.clone(), text.clone()))
                } else {
                    None
                }
            })
            .await;
        assert_eq!(told, (PlayerName::new("keel"), "status".to_owned()));
        bot.command(AccountCommand::Tell {
            to: PlayerName::new("Keel"),
            text: "idle; ".repeat(100),
        })
        .await;
        tokio::time::sleep(Duration::from_secs(20)).await;
        assert!(keel.times("Harbor") >= 3, "a long answer comes in pieces");
        other.send("tell Harbor drain");
        // A guest who wears the owner's name, where the owner's name is free.
        server.notice(OWN, "Keel(U) tells you: drain");
        server.notice(OWN, "Keel shouts: drain");
        assert!(
            !bot.settled()
                .await
                .iter()
                .any(|event| matches!(event, AccountEvent::Told { .. }))
        );
        bot.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn chat_of_the_game_reaches_it() {
    for dialect in Dialect::ALL {
        let server = server(dialect, 51);
        let (mut bot, other, ..) = game(&server, "3 0 w crazyhouse").await;
        for (typed, expected) in [
            ("say hello", "hello"),
            ("tell Harbor good luck", "good luck"),
            ("kibitz nice", "nice"),
        ] {
            other.send(typed);
            let GameEvent::Chatted(line) = bot
                .game_event(|event| matches!(event, GameEvent::Chatted(_)))
                .await
            else {
                panic!()
            };
            assert_eq!(
                (line.from, line.room, line.text.as_str()),
                (PlayerName::new(OTHER), ChatRoom::Players, expected)
            );
        }
        // Somebody else's words are none of the game's.
        let cedar = server.player("Cedar");
        cedar.send("tell Harbor psst");
        assert_eq!(bot.game_settled().await, []);
        bot.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn lines_of_a_tournament_director_are_harmless() {
    let server = server(Dialect::Fics, 52);
    let mut bot = super::Bot::ready(&server, super::config()).await;
    for line in [
        ":You play White against Birch in this round of tourney #4.",
        ":mamer's tourney list:",
        ":| 4 | open | TM | 3 0 zh | Nov 30 |",
        ":Listed:",
        ":Tourney #4 has been aborted!",
        ":{Game 1 (Harbor vs. Birch) Harbor resigns} 0-1",
        ":Challenge: Birch (1500) Harbor (1500) rated blitz 3 0.",
        "mamer(TD) tells you: You have joined the tourney.",
        "mamer has set your tourney variable to OFF.",
    ] {
        server.notice(OWN, line);
    }
    assert_eq!(bot.settled().await, []);
    assert!(server.is_online(OWN));
    bot.stop().await;
}
