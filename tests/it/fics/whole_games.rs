//! Whole games by the rules over a real socket: random legal moves on both sides, in all three dialects.

use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use seneschal::game::{GameCommand, GameEvent, GameResult, GameStart, PlayMove, Status};
use seneschal::platform::fics::{FicsConfig, FicsShared, connect};
use seneschal::platform::{AccountCommand, AccountEvent, ClientEnd};
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::fake_ics::Dialect;
use super::{OTHER, config, position_of, server};

/// Moves of one game before we give up.
const PLIES_MAX: usize = 120;

/// Plays one game over TCP; we move as soon as it is our turn. Gives the end and the number of plies.
async fn one_game(dialect: Dialect, seed: u64, terms: &str) -> (GameResult, usize) {
    let server = server(dialect, seed);
    let port = server.listen().await;
    let (mut link, client) = connect(
        FicsConfig {
            port,
            commands_per_second: 1000,
            ..config()
        },
        FicsShared {
            password: Some("secret".to_owned().into()),
            seed,
        },
    );
    let client = tokio::spawn(client);
    let mut rng = SmallRng::seed_from_u64(seed);
    let limit = Duration::from_secs(30);
    let event = async |link: &mut seneschal::platform::AccountLink| {
        timeout(limit, link.events.recv())
            .await
            .expect("in time")
            .expect("the client runs")
            .event
    };
    while !matches!(event(&mut link).await, AccountEvent::Reconciled(_)) {}
    let other = server.player(OTHER);
    other.send(&format!("match Harbor {terms}"));
    let notice = loop {
        match event(&mut link).await {
            AccountEvent::Challenged(offer) => link
                .commands
                .send(AccountCommand::Accept(offer.id.clone()))
                .await
                .expect("the client runs"),
            AccountEvent::GameStarted(notice) => break notice,
            _ => {}
        }
    };
    let (reply, answer) = oneshot::channel();
    link.commands
        .send(AccountCommand::OpenGame {
            id: notice.id,
            reply,
        })
        .await
        .expect("the client runs");
    let mut game = answer.await.expect("answered");
    let mut start: Option<GameStart> = None;
    let mut played = usize::MAX;
    let (mut plies, mut resigned) = (0, false);
    let end = loop {
        let received = timeout(limit, game.events.recv())
            .await
            .expect("in time")
            .expect("open until the end");
        let state = match received.event {
            GameEvent::Full {
                start: fixed,
                state,
            } => {
                start = Some(*fixed);
                state
            }
            GameEvent::State(state) => state,
            GameEvent::Ended(end) => break end,
            GameEvent::Failed { failure, .. } => panic!("{failure:?}"),
            _ => continue,
        };
        let start = start.as_ref().expect("a full state comes first");
        assert_eq!(state.status, Status::Running);
        assert_eq!(state.base_fen, None, "moves explain every board");
        plies = state.moves.len();
        let position = position_of(start, &state);
        if position.turn() != start.color {
            let moves = other.legal_moves();
            if !moves.is_empty() {
                other.send(&moves[rng.random_range(0..moves.len())]);
            }
        } else if plies >= PLIES_MAX {
            if !resigned {
                resigned = true;
                game.commands
                    .send(GameCommand::Resign)
                    .await
                    .expect("the client runs");
            }
        } else if played != plies {
            played = plies;
            let moves = position.legal_moves();
            if let Some(m) = moves.get(rng.random_range(0..moves.len().max(1))).copied() {
                let play = PlayMove {
                    position,
                    m,
                    ply: plies,
                    offer_draw: false,
                };
                game.commands
                    .send(GameCommand::Play(Box::new(play)))
                    .await
                    .expect("the client runs");
            }
        }
    };
    drop(link);
    assert_eq!(
        timeout(limit, client)
            .await
            .expect("in time")
            .expect("no panic"),
        ClientEnd::Asked
    );
    (end.result, plies)
}

#[tokio::test]
async fn games_of_every_kind_end_by_the_rules_in_every_dialect() {
    for dialect in Dialect::ALL {
        let mut kinds = vec!["3 0 u w crazyhouse", "3 0 u b crazyhouse", "5 0 u w"];
        if dialect.is_modern() {
            kinds.extend([
                "3 0 u b suicide",
                "3 0 u w losers",
                "3 0 u b atomic",
                "3 0 u w fr",
                "3 0 u b wild/5",
                "3 0 u w wild/8",
            ]);
        } else {
            kinds.push("3 0 u w fischerandom");
        }
        for (number, terms) in kinds.into_iter().enumerate() {
            let (result, plies) = one_game(dialect, number as u64 + 100, terms).await;
            assert!(
                plies > 2 && !matches!(result, GameResult::NoResult | GameResult::Unknown),
                "{dialect:?} {terms}: {result:?} after {plies}"
            );
        }
    }
}
