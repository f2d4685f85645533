//! Whole games of random moves against the fake server, with and without trouble: none may end by an illegal move, and every end is
//! the server's.

use std::time::Duration;

use seneschal::game::{GameEvent, Termination};
use tokio::task::JoinSet;

use super::fake::game::Offer;
use super::fake::{FakePychess, Trouble};
use super::rig::{Rig, play_to_the_end};

/// Random games can be long; they are given up after this many plies.
const PLIES_MAX: usize = 160;

fn offers() -> Vec<Offer> {
    let mut offers = Vec::new();
    for variant in ["crazyhouse", "capablanca", "capahouse"] {
        for chess960 in [false, true] {
            offers.push(Offer {
                chess960,
                ..Offer::new("visitor", variant)
            });
        }
    }
    for variant in [
        "chess",
        "3check",
        "kingofthehill",
        "antichess",
        "atomic",
        "horde",
        "racingkings",
    ] {
        offers.push(Offer::new("Anon\u{2013}z", variant));
    }
    offers
}

fn check(fake: &FakePychess, id: &str, end: &seneschal::game::GameEnd) {
    let game = fake.game(id).unwrap();
    assert_ne!(
        game.status,
        10,
        "{id} ({}) was lost by an illegal move after {:?}",
        game.offer.list_name(),
        game.moves
    );
    assert_ne!(end.termination, Termination::IllegalMove);
    assert_eq!(
        Some(end.result),
        game.outcome(),
        "{id} ({}), status {}",
        game.offer.list_name(),
        game.status
    );
}

#[tokio::test]
async fn games_of_every_variant_end_as_the_server_says() {
    let mut rig = Rig::online().await;
    for (number, offer) in offers().into_iter().enumerate() {
        let mut table = rig.sit_down(offer).await;
        let end = play_to_the_end(&rig.fake, &mut table, number as u64, PLIES_MAX).await;
        check(&rig.fake, &table.id, &end);
    }
    // Nothing was sent twice: as many moves as the server took from us, and no more.
    let sent = rig.fake.posts("/move/").len();
    let taken = rig.fake.with(|state| {
        state
            .games
            .values()
            .map(|game| {
                let first = usize::from(game.white != super::fake::BOT);
                game.moves.len().saturating_sub(first).div_ceil(2)
            })
            .sum::<usize>()
    });
    assert_eq!(sent, taken);
}

#[tokio::test]
async fn games_through_every_trouble_are_never_lost_by_an_illegal_move() {
    let mut rig = Rig::online().await;
    let troubles = [
        Trouble::LoseAnswer,
        Trouble::LoseRequest,
        Trouble::Refuse(503),
        Trouble::Refuse(429),
        Trouble::DoneBut(500),
        Trouble::Late(Duration::from_millis(40)),
    ];
    for (number, offer) in offers().into_iter().enumerate().take(6) {
        let mut table = rig.sit_down(offer).await;
        rig.fake
            .fault("/move/", 3, troubles[number % troubles.len()].clone());
        rig.fake.cut_streams();
        let end = play_to_the_end(&rig.fake, &mut table, 100 + number as u64, 40).await;
        check(&rig.fake, &table.id, &end);
        rig.fake.with(|state| state.forget_faults());
    }
}

#[tokio::test]
async fn several_games_at_a_time_over_one_account() {
    let mut rig = Rig::online().await;
    let mut tables = Vec::new();
    for number in 0..8 {
        let mut offer = offers()[number].clone();
        offer.from = format!("visitor{number}");
        tables.push(rig.sit_down(offer).await);
    }
    let fake = std::sync::Arc::new(rig.fake);
    let mut games = JoinSet::new();
    for (number, mut table) in tables.into_iter().enumerate() {
        let fake = std::sync::Arc::clone(&fake);
        games.spawn(async move {
            let end = play_to_the_end(&fake, &mut table, 50 + number as u64, 60).await;
            check(&fake, &table.id, &end);
            assert!(
                !table
                    .seen
                    .iter()
                    .any(|event| matches!(event, GameEvent::LinkLost))
            );
        });
    }
    while let Some(game) = games.join_next().await {
        game.unwrap();
    }
}
