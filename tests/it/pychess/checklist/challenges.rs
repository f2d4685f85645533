//! Items 2 to 4: the capability header, challenges, accepting.

use std::time::Duration;

use seneschal::game::{GameResult, GameSource, PlayerKind, Termination, TimeControl};
use seneschal::lobby::{ChallengeRefusal, ColorChoice, DeclineReason, OfferedVariant};
use seneschal::platform::{AccountCommand, AccountEvent, ClientEnd};
use seneschal::rules::{CastlingMode, Color, Variant};

use super::super::fake::Trouble;
use super::super::fake::game::Offer;
use super::super::rig::Rig;
use super::{GUEST, zh};

// ---- 2: the capability header

#[tokio::test]
async fn item_2_the_header_lists_twins_and_nothing_on_two_boards() {
    let mut rig = Rig::start(|config| {
        config.variants = vec![
            (Variant::Crazyhouse, CastlingMode::Standard),
            (Variant::Crazyhouse, CastlingMode::Chess960),
            (Variant::Capahouse, CastlingMode::Standard),
            (Variant::Suicide, CastlingMode::Standard),
        ];
    })
    .await;
    rig.reconciled().await;
    let names = rig.fake.with(|state| state.capabilities.clone()).unwrap();
    assert_eq!(names, ["crazyhouse", "crazyhouse960", "capahouse"]);
    assert!(
        rig.fake
            .challenge(Offer::new("visitor", "capablanca"))
            .is_err()
    );
    assert!(
        rig.fake
            .challenge(Offer {
                chess960: true,
                ..zh()
            })
            .is_ok()
    );
}

#[tokio::test]
async fn item_2_without_variants_nothing_is_sent() {
    let rig = Rig::start(|config| config.variants.clear()).await;
    let requests = rig.fake.with(|state| state.requests.len());
    assert!(matches!(rig.end().await, ClientEnd::Stopped { words } if words.contains("variant")));
    assert_eq!(requests, 0);
}

// ---- 3: challenges

#[tokio::test]
async fn item_3_challenges_show_variant_flag_clock_and_guest() {
    let mut rig = Rig::online().await;
    tokio::time::sleep(Duration::from_millis(150)).await;
    rig.fake
        .challenge(Offer {
            chess960: true,
            minutes: 0.25,
            increment: 0,
            color: None,
            ..Offer::new(GUEST, "capahouse")
        })
        .unwrap();
    let challenge = rig.challenged().await;
    assert_eq!(challenge.opponent.kind, PlayerKind::Guest);
    assert_eq!(
        challenge.variant,
        OfferedVariant::Known {
            variant: Variant::Capahouse,
            castling_mode: CastlingMode::Chess960
        }
    );
    assert_eq!(challenge.time_control, TimeControl::clock(15, 0));
    assert_eq!(challenge.color, ColorChoice::Random);
    assert!(!challenge.rated && !challenge.replayed);
    rig.fake
        .challenge(Offer {
            color: Some(Color::Black),
            ..Offer::new("visitor", "chess")
        })
        .unwrap();
    let challenge = rig.challenged().await;
    assert_eq!(
        challenge.variant,
        OfferedVariant::Known {
            variant: Variant::Chess,
            castling_mode: CastlingMode::Standard
        }
    );
    assert_eq!(
        (challenge.color, challenge.opponent.kind),
        (ColorChoice::White, PlayerKind::Human)
    );
}

#[tokio::test]
async fn item_3_declining_travels_as_a_form() {
    let mut rig = Rig::online().await;
    for (reason, word) in [
        (DeclineReason::Later, "later"),
        (DeclineReason::Variant, "variant"),
        (DeclineReason::TooFast, "tooFast"),
    ] {
        let id = rig.fake.challenge(zh()).unwrap();
        rig.challenged().await;
        rig.decline(&id, reason).await;
        let shown = rig
            .fake
            .until("the refusal", |state| state.invites[&id].declined.clone())
            .await;
        assert_eq!(shown, word);
        let told = rig.wait_for(|event| match event {
            AccountEvent::ChallengeDeclined { id, reason } => Some((id.to_string(), reason)),
            _ => None,
        });
        assert_eq!(told.await, (id, reason));
    }
}

#[tokio::test]
async fn item_3_a_challenge_right_after_connecting_may_be_old() {
    let mut rig = Rig::online().await;
    rig.fake.challenge(zh()).unwrap();
    assert!(rig.challenged().await.replayed);
}

#[tokio::test]
async fn item_3_what_bots_cannot_do_there_is_refused_here() {
    let mut rig = Rig::online().await;
    let request = seneschal::lobby::ChallengeRequest {
        request: seneschal::lobby::RequestId(4),
        opponent: seneschal::game::PlayerName::new("visitor"),
        variant: Variant::Crazyhouse,
        castling_mode: CastlingMode::Standard,
        time_control: TimeControl::clock(60, 0),
        rated: false,
        color: ColorChoice::Random,
    };
    rig.command(AccountCommand::Create(request)).await;
    let refusal = rig.wait_for(|event| match event {
        AccountEvent::ChallengeRefused { request, refusal } => Some((request.0, refusal)),
        _ => None,
    });
    assert!(matches!(
        refusal.await,
        (4, ChallengeRefusal::BadRequest { .. })
    ));
    rig.command(AccountCommand::ListBots).await;
    rig.wait_for(|event| matches!(event, AccountEvent::BotsOnline(None)).then_some(()))
        .await;
    assert!(rig.fake.posts("").is_empty());
}

// ---- 4: accepting

#[tokio::test]
async fn item_4_an_accepted_challenge_is_a_game_without_waiting_for_its_notice() {
    let mut rig = Rig::online().await;
    let id = rig.fake.challenge(zh()).unwrap();
    rig.challenged().await;
    // The notice would come through the account's stream, but that one says nothing any more.
    rig.fake.silence(true);
    rig.accept(&id).await;
    let notice = rig.started(&id).await;
    assert_eq!(
        (notice.source, notice.challenge.unwrap().as_str()),
        (GameSource::Challenge, id.as_str())
    );
    rig.fake.silence(false);
    let mut table = rig.open(&id).await;
    table.full().await;
    assert_eq!(table.start.unwrap().source, GameSource::Challenge);
}

#[tokio::test]
async fn item_4_a_game_that_was_never_made_frees_its_slot() {
    let mut rig = Rig::online().await;
    let id = rig
        .fake
        .challenge(Offer {
            fen: "8/8/8/8/8/8/8/8[] w - - 0 1".to_owned(),
            ..zh()
        })
        .unwrap();
    rig.challenged().await;
    rig.accept(&id).await;
    rig.started(&id).await;
    let mut table = rig.open(&id).await;
    let end = table.ended().await;
    assert_eq!(
        (end.result, end.termination),
        (GameResult::NoResult, Termination::NoStart)
    );
}

#[tokio::test]
async fn item_4_a_withdrawn_challenge_fails_once() {
    let mut rig = Rig::online().await;
    let id = rig.fake.challenge(zh()).unwrap();
    rig.challenged().await;
    rig.fake.cancel(&id);
    rig.accept(&id).await;
    let failed = rig.wait_for(|event| match event {
        AccountEvent::AcceptFailed { id, .. } => Some(id.to_string()),
        _ => None,
    });
    assert_eq!(failed.await, id);
    assert_eq!(rig.fake.posts("accept").len(), 1);
}

#[tokio::test]
async fn item_4_an_accept_whose_answer_is_lost_still_becomes_a_game() {
    let mut rig = Rig::online().await;
    rig.fake.fault("accept", 1, Trouble::LoseAnswer);
    let table = rig.sit_down(zh()).await;
    assert_eq!(table.moves().len(), 0);
}

#[tokio::test]
async fn item_4_an_accept_that_did_not_arrive_is_sent_again() {
    let mut rig = Rig::online().await;
    rig.fake.fault("accept", 1, Trouble::Refuse(503));
    let table = rig.sit_down(zh()).await;
    assert_eq!(table.moves().len(), 0);
    assert_eq!(rig.fake.posts("accept").len(), 2);
}

#[tokio::test]
async fn item_4_the_shuffled_flag_comes_from_challenge_notice_list_or_page() {
    let mut rig = Rig::online().await;
    let shuffled = Offer {
        chess960: true,
        ..Offer::new("visitor", "capablanca")
    };
    let mut table = rig.sit_down(shuffled).await;
    let start = table.start.clone().unwrap();
    assert_eq!(
        start.castling_mode,
        CastlingMode::Chess960,
        "from the challenge"
    );
    rig.fake.human_ends(&table.id, 2);
    table.ended().await;

    // Later than what might have waited for us.
    tokio::time::sleep(Duration::from_millis(150)).await;
    let again = rig.fake.rematch(&table.id);
    assert_eq!(rig.started(&again).await.source, GameSource::Rematch);
    let mut table = rig.open(&again).await;
    table.full().await;
    assert_eq!(
        table.start.clone().unwrap().castling_mode,
        CastlingMode::Chess960,
        "from the start notice"
    );

    // The daemon comes back and knows nothing but the id; the account's stream does not mention a game without moves.
    drop(table);
    let mut rig = rig.restart_client().await;
    rig.reconciled().await;
    let mut table = rig.open(&again).await;
    table.full().await;
    assert_eq!(
        table.start.clone().unwrap().castling_mode,
        CastlingMode::Chess960,
        "from the page"
    );
    let pages = rig.fake.with(|state| {
        state
            .requests
            .iter()
            .filter(|(_, request)| request.path == format!("/{again}"))
            .count()
    });
    assert!(pages >= 1);

    table
        .play(
            &table
                .history()
                .position()
                .uci(table.history().position().legal_moves()[0]),
        )
        .await;
    table.plies(1).await;
    drop(table);
    let mut rig = rig.restart_client().await;
    let snapshot = rig.reconciled().await;
    assert_eq!(snapshot.games.len(), 1, "from the lists");
    assert!(!snapshot.games_complete, "the lists prove nothing");
    let mut table = rig.open(&again).await;
    table.full().await;
    assert_eq!(
        table.start.unwrap().castling_mode,
        CastlingMode::Chess960,
        "from the lists"
    );
}
