//! Contract points E14 to E22: challenges and seeks.

use std::time::Duration;

use seneschal::game::{GameEvent, GameSource, PlayerName, TimeControl};
use seneschal::lobby::{
    ChallengeRefusal, ChallengeRequest, ColorChoice, DeclineReason, OfferedVariant, RequestId,
};
use seneschal::platform::fics::{FicsConfig, FicsVariant, SeekConfig};
use seneschal::platform::{AccountCommand, AccountEvent};
use seneschal::rules::{CastlingMode, Variant};

use super::fake_ics::{Dialect, Faults};
use super::summary::{Summary, Transcript, challenge};
use super::{Bot, OTHER, OWN, config, pause, server};

#[tokio::test(start_paused = true)]
async fn e14_one_challenge_gets_one_answer_in_the_right_form() {
    for dialect in Dialect::ALL {
        for seed in 0..4 {
            let server = server(dialect, seed);
            let mut bot = Bot::ready(&server, config()).await;
            let other = server.player(OTHER);
            other.send("match Harbor 3 0 u w crazyhouse");
            let offer = bot.challenge().await;
            assert_eq!(offer.color, ColorChoice::Black);
            let more = bot.settled().await;
            assert!(
                !more
                    .iter()
                    .any(|event| matches!(event, AccountEvent::Challenged(_))),
                "seen once: {more:?}"
            );
            bot.accept(&offer.id).await;
            let notice = bot.started().await;
            assert_eq!(notice.challenge, Some(offer.id));
            let answers: Vec<String> = server
                .sent_by(OWN)
                .into_iter()
                .filter(|line| line.starts_with("accept"))
                .collect();
            assert_eq!(answers.len(), 1);
            let number = answers[0].strip_prefix("accept ").unwrap();
            if dialect.is_modern() {
                assert!(number.parse::<u32>().is_ok(), "by number: {answers:?}");
            } else {
                assert_eq!(number, OTHER, "by name");
            }
            bot.stop().await;
        }
    }
}

#[test]
fn e15_every_form_of_a_challenge_is_read() {
    let cases = [
        (
            "Birch (----) Harbor (----) rated blitz 3 0",
            "challenge from Birch chess 180+0 rated",
        ),
        (
            "Birch (++++) Harbor (1500) unrated lightning 1 0",
            "challenge from Birch chess 60+0 unrated guest",
        ),
        (
            "Birch ( 997) [white] Harbor (1500) rated standard 15 5",
            "challenge from Birch chess 900+5 rated black (997)",
        ),
        (
            "Birch (1637E) [black] Harbor (1500P) rated crazyhouse 3 0",
            "challenge from Birch crazyhouse 180+0 rated white (1637?)",
        ),
        (
            "Birch (1500P) Harbor (----) unrated crazyhouse",
            "challenge from Birch crazyhouse unlimited unrated (1500?)",
        ),
        (
            "Birch (1500) Harbor (1500) unrated untimed",
            "challenge from Birch chess unlimited unrated (1500)",
        ),
        (
            "Birch (1500) Harbor (1500) rated wild 2 12 : 0 0 Loaded from wild/2",
            "challenge from Birch chess 120+12 against 0+0 rated (1500)",
        ),
        (
            "Birch (1500) Harbor (1500) unrated wild 5 0 Loaded from wild/fr",
            "challenge from Birch chess960 300+0 unrated (1500)",
        ),
        (
            "Birch (1500) Harbor (1500) unrated wild 5 0 Loaded from wild/fr idn=518",
            "challenge from Birch chess960 300+0 unrated (1500)",
        ),
        (
            "Birch (1500) Harbor (1500) rated wild 3 0 Loaded from crazyhouse/0",
            "challenge from Birch crazyhouse 180+0 rated (1500)",
        ),
        (
            "Birch (1500) Harbor (1500) rated wild 5 0 Loaded from fischerandom/0",
            "challenge from Birch chess960 300+0 rated (1500)",
        ),
        (
            "Birch (1500) Harbor (1500) rated wild 5 0 Loaded from wild/8a",
            "challenge from Birch chess 300+0 rated (1500)",
        ),
        (
            "Birch (1500) Harbor (1500) rated crazyhouse 10 5 (adjourned)",
            "challenge from Birch crazyhouse 600+5 rated (1500) adjourned",
        ),
        (
            "Birch (1500) Harbor (1500) rated suicide 3 0",
            "challenge from Birch suicide 180+0 rated (1500)",
        ),
        (
            "Birch (1500) Harbor (1500) rated losers 3 0",
            "challenge from Birch losers 180+0 rated (1500)",
        ),
        (
            "Birch (1500) Harbor (1500) rated atomic 3 0",
            "challenge from Birch atomic 180+0 rated (1500)",
        ),
        (
            "Birch (1500) Harbor (1500) unrated bughouse 3 0",
            "challenge from Birch unknown:bughouse 180+0 unrated (1500)",
        ),
        (
            "Birch (1500) Harbor (1500) rated wild 3 0 Loaded from odds/r",
            "challenge from Birch unknown:odds/r 180+0 rated (1500)",
        ),
        (
            "Birch (1500) Harbor (1500) rated wild 3 0 Loaded from gothic/0",
            "challenge from Birch unknown:gothic 180+0 rated (1500)",
        ),
    ];
    for (words, expected) in cases {
        for numbered in [true, false] {
            let mut transcript = Transcript::ready(OWN);
            if numbered {
                transcript.feed(format!("Challenge: {words}.\n\rYou can \"accept\" or \"decline\", or propose different parameters.\n\rfics% \n\r<pf> 4 w=Birch t=match p={words}\n\r").as_bytes());
            } else {
                transcript.feed(b"No such ivariable \"pendinfo\".\n\rfics% ");
                transcript.feed(format!("\n\rChallenge: {words}.\n\rYour wild rating will change:  Win: +58,  Draw: -85,  Loss: -229\n\rYou can \"accept\" or \"decline\", or propose different parameters.\n\rfics% ").as_bytes());
            }
            let mut summary = Summary::new(OWN);
            for output in transcript.take() {
                summary.add(&output);
            }
            assert_eq!(summary.text(), expected, "{words} (numbered: {numbered})");
        }
    }
    // The mark of a computer comes between the sentence and the numbered line.
    let mut transcript = Transcript::ready(OWN);
    let words = "Birch (1500) Harbor (1500) rated blitz 3 0";
    transcript.feed(format!("Challenge: {words}.\n\r--** Birch is a computer **--\n\rfics% You can \"accept\" or \"decline\", or propose different parameters.\n\rfics% \n\r<pf> 4 w=Birch t=match p={words}\n\r").as_bytes());
    let mut summary = Summary::new(OWN);
    transcript
        .take()
        .iter()
        .for_each(|output| summary.add(output));
    assert_eq!(
        summary.text(),
        "challenge from Birch chess 180+0 rated computer (1500)"
    );
    // What the account was not approved for is unknown to it.
    let mut transcript = Transcript::ready_with(FicsConfig {
        variants: vec![FicsVariant::Crazyhouse],
        ..config()
    });
    transcript.feed(b"<pf> 4 w=Birch t=match p=Birch (1500) Harbor (1500) rated atomic 3 0\n\r");
    let mut summary = Summary::new(OWN);
    transcript
        .take()
        .iter()
        .for_each(|output| summary.add(output));
    assert_eq!(
        summary.text(),
        "challenge from Birch unknown:atomic 180+0 rated (1500)"
    );
}

#[tokio::test(start_paused = true)]
async fn e16_a_declined_player_is_told_why_once() {
    for dialect in Dialect::ALL {
        let server = server(dialect, 16);
        let mut bot = Bot::ready(&server, config()).await;
        let other = server.player(OTHER);
        for _ in 0..5 {
            other.send(if dialect.is_modern() {
                "match Harbor 3 0 u bughouse"
            } else {
                "match Harbor 1 0 u"
            });
            let offer = bot.challenge().await;
            if dialect.is_modern() {
                assert_eq!(
                    offer.variant,
                    OfferedVariant::Unknown("bughouse".to_owned())
                );
            }
            bot.decline(&offer.id, DeclineReason::Variant).await;
            tokio::time::sleep(Duration::from_secs(30)).await;
        }
        assert_eq!(
            other.times("declines the match offer") + other.times("declines your match offer"),
            5
        );
        assert_eq!(
            other.times("tells you:"),
            1,
            "one explanation in ten minutes: {}",
            other.shown()
        );
        if dialect.is_modern() {
            assert!(other.saw("I do not play bughouse"));
        }
        tokio::time::sleep(Duration::from_secs(600)).await;
        other.send("match Harbor 1 0 u");
        let offer = bot.challenge().await;
        bot.decline(&offer.id, DeclineReason::TooFast).await;
        pause().await;
        assert_eq!(other.times("tells you:"), 2);
        bot.stop().await;
    }
    // A partnership is declined without asking anybody: we cannot play bughouse at all.
    let server = server(Dialect::Fics, 17);
    let bot = Bot::ready(&server, config()).await;
    let other = server.player(OTHER);
    other.send("partner Harbor");
    other.send("partner Harbor");
    pause().await;
    assert_eq!(
        other.times("declines the partner request"),
        2,
        "{}",
        other.shown()
    );
    assert_eq!(other.times("I do not play bughouse"), 1);
    bot.stop().await;
}

#[tokio::test(start_paused = true)]
async fn e17_an_offer_that_is_gone_is_not_accepted() {
    for dialect in Dialect::ALL {
        let server = server(dialect, 17);
        let mut bot = Bot::ready(&server, config()).await;
        let other = server.player(OTHER);
        other.send("match Harbor 3 0 u crazyhouse");
        let offer = bot.challenge().await;
        other.send("withdraw");
        bot.event(|event| {
            matches!(event, AccountEvent::ChallengeCanceled(id) if *id == offer.id).then_some(())
        })
        .await;
        bot.accept(&offer.id).await;
        bot.event(|event| {
            matches!(event, AccountEvent::AcceptFailed { id, .. } if *id == offer.id).then_some(())
        })
        .await;
        assert!(
            !server
                .sent_by(OWN)
                .iter()
                .any(|line| line.starts_with("accept"))
        );

        // He starts another game, or leaves.
        other.send("match Harbor 3 0 u crazyhouse");
        let offer = bot.challenge().await;
        let third = server.player("Cedar");
        third.send("match Birch 3 0 u");
        other.send("accept Cedar");
        bot.event(|event| {
            matches!(event, AccountEvent::ChallengeCanceled(id) if *id == offer.id).then_some(())
        })
        .await;
        other.send("resign");

        // The accept crosses the withdrawal: the answer is harmless.
        other.send("match Harbor 3 0 u crazyhouse");
        let offer = bot.challenge().await;
        server.faults(|faults| faults.deaf_to = vec!["accept".to_owned()]);
        bot.accept(&offer.id).await;
        pause().await;
        server.raw(OWN, b"There is no offer 1 to accept.\n\rfics% ");
        bot.event(|event| {
            matches!(event, AccountEvent::AcceptFailed { id, .. } if *id == offer.id).then_some(())
        })
        .await;
        server.faults(|faults| *faults = Faults::default());

        // And the next one works.
        other.send("match Harbor 3 0 u crazyhouse");
        let offer = bot.challenge().await;
        bot.accept(&offer.id).await;
        bot.started().await;
        bot.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn e18_an_updated_offer_replaces_the_former() {
    for dialect in Dialect::ALL {
        let server = server(dialect, 18);
        let mut bot = Bot::ready(&server, config()).await;
        let other = server.player(OTHER);
        other.send("match Harbor 1 0 u crazyhouse");
        let first = bot.challenge().await;
        other.send("match Harbor 3 0 u crazyhouse");
        bot.event(|event| {
            matches!(event, AccountEvent::ChallengeCanceled(id) if *id == first.id).then_some(())
        })
        .await;
        let second = bot.challenge().await;
        assert_ne!(first.id, second.id);
        assert_eq!(second.time_control, TimeControl::clock(180, 0));
        bot.accept(&first.id).await;
        bot.event(|event| {
            matches!(event, AccountEvent::AcceptFailed { id, .. } if *id == first.id).then_some(())
        })
        .await;
        assert!(
            !server
                .sent_by(OWN)
                .iter()
                .any(|line| line.starts_with("accept")),
            "the stale number is never used"
        );
        bot.accept(&second.id).await;
        let notice = bot.started().await;
        let (start, _) = bot.open(&notice.id).await;
        assert_eq!(start.time_control, TimeControl::clock(180, 0));
        bot.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn e19_of_two_challenges_one_is_accepted() {
    for dialect in Dialect::ALL {
        let server = server(dialect, 19);
        let mut bot = Bot::ready(&server, config()).await;
        let (one, two) = (server.player(OTHER), server.player("Cedar"));
        one.send("match Harbor 3 0 u crazyhouse");
        two.send("match Harbor 5 0 u crazyhouse");
        let first = bot.challenge().await;
        let second = bot.challenge().await;
        bot.accept(&first.id).await;
        bot.accept(&second.id).await;
        // The second is refused by ourselves, at once.
        bot.event(|event| {
            matches!(event, AccountEvent::AcceptFailed { id, .. } if *id == second.id).then_some(())
        })
        .await;
        bot.started().await;
        let events = bot.settled().await;
        let canceled = bot
            .seen
            .iter()
            .chain(&events)
            .filter(
                |event| matches!(event, AccountEvent::ChallengeCanceled(id) if *id == second.id),
            )
            .count();
        assert_eq!(
            canceled, 1,
            "with the start of the game the other offer is void"
        );
        assert_eq!(
            server
                .sent_by(OWN)
                .iter()
                .filter(|line| line.starts_with("accept"))
                .count(),
            1
        );
        bot.accept(&second.id).await;
        bot.event(|event| matches!(event, AccountEvent::AcceptFailed { .. }).then_some(()))
            .await;
        assert_eq!(
            server
                .sent_by(OWN)
                .iter()
                .filter(|line| line.starts_with("accept"))
                .count(),
            1,
            "nothing is accepted during a game"
        );
        bot.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn e20_nothing_new_is_taken_once_quiet() {
    let server = server(Dialect::Fics, 20);
    let seek = SeekConfig {
        variant: FicsVariant::Crazyhouse,
        minutes: 3,
        increment_s: 0,
        rated: true,
    };
    let mut bot = Bot::ready(
        &server,
        FicsConfig {
            seeks: vec![seek],
            ..config()
        },
    )
    .await;
    pause().await;
    let other = server.player(OTHER);
    bot.command(AccountCommand::Quiesce).await;
    pause().await;
    let sent = server.sent_by(OWN);
    assert!(
        sent.iter().any(|line| line == "unseek") && sent.iter().any(|line| line == "set open 0")
    );
    other.send("match Harbor 3 0 u crazyhouse");
    assert!(other.saw("Harbor is not open to match requests."));
    // What crossed it is declined with the words for later.
    server.raw(
        OWN,
        b"<pf> 77 w=Birch t=match p=Birch (1500) Harbor (1500) rated blitz 3 0\n\r",
    );
    let offer = bot.challenge().await;
    bot.decline(&offer.id, DeclineReason::Later).await;
    pause().await;
    assert!(server.sent_by(OWN).iter().any(|line| line == "decline 77"));
    assert!(other.saw("try again later"));
    assert!(
        !server
            .sent_by(OWN)
            .iter()
            .any(|line| line.starts_with("accept"))
    );
    // A lost connection does not open the account again.
    server.cut(OWN);
    bot.snapshot().await;
    pause().await;
    other.send("match Harbor 3 0 u crazyhouse");
    assert_eq!(other.times("Harbor is not open to match requests."), 2);
    assert!(
        server
            .sent_by(OWN)
            .iter()
            .filter(|line| line.starts_with("seek "))
            .count()
            == 1
    );
    bot.stop().await;
}

#[tokio::test(start_paused = true)]
async fn e21_seeks_are_manual_and_come_back_after_games() {
    let server = server(Dialect::Fics, 21);
    let seek = |minutes| SeekConfig {
        variant: FicsVariant::Crazyhouse,
        minutes,
        increment_s: 2,
        rated: false,
    };
    let with_seeks = FicsConfig {
        seeks: vec![
            seek(3),
            seek(5),
            SeekConfig {
                variant: FicsVariant::Standard,
                minutes: 15,
                increment_s: 0,
                rated: true,
            },
        ],
        ..config()
    };
    let mut bot = Bot::ready(&server, with_seeks.clone()).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    let seeks = || -> Vec<String> {
        server
            .sent_by(OWN)
            .into_iter()
            .filter(|line| line.starts_with("seek "))
            .collect()
    };
    assert_eq!(
        seeks(),
        [
            "seek 3 2 u crazyhouse m",
            "seek 5 2 u crazyhouse m",
            "seek 15 0 r m"
        ]
    );
    // Whoever answers sends a challenge; nothing starts by itself.
    let other = server.player(OTHER);
    other.send("play Harbor");
    let offer = bot.challenge().await;
    assert_eq!(server.games(), 0);
    bot.accept(&offer.id).await;
    let notice = bot.started().await;
    bot.open(&notice.id).await;
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert_eq!(seeks().len(), 3, "no seek during a game");
    other.send("resign");
    bot.game_event(|event| matches!(event, GameEvent::Ended(_)))
        .await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(seeks().len(), 6, "all three stand again");
    // One is removed by an administrator: it is posted anew.
    server.notice(OWN, "<sr> 99999");
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(seeks().len(), 6, "somebody else's");
    let sent = server.sent_by(OWN);
    assert!(
        !sent
            .iter()
            .any(|line| line.starts_with("play ") || line.starts_with("getgame"))
    );
    bot.stop().await;

    // Two identical seeks meet and a game starts without a challenge.
    let mut bot = Bot::ready(
        &server,
        FicsConfig {
            seeks: vec![seek(3)],
            ..config()
        },
    )
    .await;
    server.raw(OWN, b"Your seek matches one already posted by Birch.\n\r\n\rCreating: Harbor (1500) Birch (1500) unrated crazyhouse 3 2\n\r{Game 1 (Harbor vs. Birch) Creating unrated crazyhouse match.}\n\r\n\r<12> rnbqkbnr pppppppp -------- -------- -------- -------- PPPPPPPP RNBQKBNR W -1 1 1 1 1 0 1 Harbor Birch 1 3 2 24 24 180000 180000 1 none (0:00.000) none 0 0 0\n\r<b1> game 1 white [] black []\n\rfics% ");
    assert_eq!(bot.started().await.source, GameSource::Seek);
    bot.stop().await;

    // A server without manual seeks gets none.
    let server = self::server(Dialect::Lasker, 21);
    let bot = Bot::ready(&server, with_seeks).await;
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert!(
        !server
            .sent_by(OWN)
            .iter()
            .any(|line| line.starts_with("seek "))
    );
    bot.stop().await;
}

#[tokio::test(start_paused = true)]
async fn e22_nobody_outside_the_list_is_challenged() {
    for dialect in Dialect::ALL {
        let server = server(dialect, 22);
        let mut bot = Bot::ready(
            &server,
            FicsConfig {
                may_challenge: vec!["Cedar".to_owned()],
                ..config()
            },
        )
        .await;
        let (other, cedar) = (server.player(OTHER), server.player("Cedar"));
        let request = |number, name: &str| ChallengeRequest {
            request: RequestId(number),
            opponent: PlayerName::new(name),
            variant: Variant::Crazyhouse,
            castling_mode: CastlingMode::Standard,
            time_control: TimeControl::clock(180, 0),
            rated: false,
            color: ColorChoice::White,
        };
        bot.command(AccountCommand::Create(request(1, OTHER))).await;
        let refused = |event: &AccountEvent| {
            if let AccountEvent::ChallengeRefused { request, refusal } = event {
                Some((*request, refusal.clone()))
            } else {
                None
            }
        };
        let (number, refusal) = bot.event(refused).await;
        assert!(number == RequestId(1) && matches!(refusal, ChallengeRefusal::BadRequest { .. }));
        bot.command(AccountCommand::Resume(PlayerName::new(OTHER)))
            .await;
        pause().await;
        assert!(
            !server
                .sent_by(OWN)
                .iter()
                .any(|line| line.starts_with("match") || line.starts_with("rematch")),
            "neither a challenge nor a baseless resume"
        );

        bot.command(AccountCommand::Create(request(2, "cedar")))
            .await;
        let created = bot
            .event(|event| {
                if let AccountEvent::ChallengeCreated { request, challenge } = event {
                    Some((*request, challenge.clone()))
                } else {
                    None
                }
            })
            .await;
        assert_eq!(created.0, RequestId(2));
        assert_eq!(
            challenge(&created.1),
            "challenge to Cedar crazyhouse 180+0 unrated white (1500)"
        );
        cedar.send("decline");
        bot.event(|event| {
            matches!(event, AccountEvent::ChallengeDeclined { id, .. } if *id == created.1.id)
                .then_some(())
        })
        .await;

        // Withdrawn by us, refused by the server, accepted.
        bot.command(AccountCommand::Create(request(3, "Cedar")))
            .await;
        let created = bot
            .event(|event| {
                if let AccountEvent::ChallengeCreated { challenge, .. } = event {
                    Some(challenge.clone())
                } else {
                    None
                }
            })
            .await;
        bot.command(AccountCommand::Cancel(created.id.clone()))
            .await;
        pause().await;
        assert!(cedar.saw("Harbor withdraws the match offer."));
        if dialect.is_modern() {
            bot.event(|event| {
                matches!(event, AccountEvent::ChallengeCanceled(id) if *id == created.id)
                    .then_some(())
            })
            .await;
        }
        cedar.send("set open 0");
        bot.command(AccountCommand::Create(request(4, "Cedar")))
            .await;
        let (_, refusal) = bot.event(refused).await;
        assert!(
            matches!(refusal, ChallengeRefusal::Opponent { .. }),
            "{refusal:?}"
        );
        cedar.send("set open 1");
        bot.command(AccountCommand::Create(request(5, "Cedar")))
            .await;
        bot.event(|event| matches!(event, AccountEvent::ChallengeCreated { .. }).then_some(()))
            .await;
        cedar.send("accept");
        let notice = bot.started().await;
        assert_eq!(notice.opponent.unwrap().name, PlayerName::new("Cedar"));
        drop(other);
        bot.stop().await;
    }
}
