//! Tests of the trainer: gradients, agreement of the quantised network, resuming.

use super::model::plain_shape;
use super::*;
use crate::engine::network::NetworkState;
use crate::engine::training::datagen::{DatagenConfig, generate};
use crate::engine::training::record::{GameRecord, PlyRecord, Reader, Writer};
use crate::rules::{AnyPos, Color, Outcome, Position, Variant};
use std::sync::Arc;

/// A game of random moves whose scores are the difference of material, so that there is something to learn.
fn game(variant: Variant, seed: u64) -> GameRecord {
    let value = [100, 300, 300, 400, 700, 0, 600, 600];
    let mut random = Random(seed);
    let start = Position::start(variant);
    let mut position = start.clone();
    let mut plies = Vec::new();
    while plies.len() < 80 {
        let moves = position.legal_moves();
        if moves.is_empty() {
            break;
        }
        let m = moves[random.below(moves.len())];
        let mut score = 0;
        for square in 0..position.files() * 8 {
            if let Some(piece) = position.piece_at(crate::rules::Square(square)) {
                let worth = value[piece.role.index()];
                score += if piece.color == position.turn() {
                    worth
                } else {
                    -worth
                };
            }
        }
        plies.push(PlyRecord {
            m,
            score,
            usable: plies.len() > 6,
        });
        position.play_unchecked(m);
    }
    let last = plies.last().map_or(0, |ply| ply.score);
    let mover = !position.turn();
    let result = match last {
        250.. => Outcome::win(mover),
        ..-250 => Outcome::win(!mover),
        _ => Outcome::Draw,
    };
    GameRecord {
        start,
        result,
        plies,
    }
}

fn samples(shape: Shape, seeds: std::ops::Range<u64>) -> Samples {
    let mut samples = Samples::new(Choice {
        variant: shape.variant,
        king_buckets: shape.king_buckets,
        score_max: 2_500,
    });
    for seed in seeds {
        samples.add_game(&game(shape.variant, seed));
    }
    samples
}

fn trainer(shape: Shape, config: impl FnOnce(&mut TrainConfig)) -> Trainer {
    let mut settings = TrainConfig {
        scale: Some(400.0),
        batch: 256,
        epochs: 4,
        rate: 0.004,
        ..TrainConfig::new(shape)
    };
    config(&mut settings);
    Trainer::with_samples(settings, samples(shape, 0..40), samples(shape, 40..50))
        .expect("there are positions")
}

const TINY: Shape = plain_shape(Variant::Crazyhouse, 32);

/// Few, since every one adds kinks that a weight which many squares share runs into.
const GRADIENT_POSITIONS: u32 = 9;

#[test]
fn the_gradient_agrees_with_differences() {
    for king_buckets in [1, 4] {
        let shape = Shape {
            king_buckets,
            ..TINY
        };
        let mut trainer = trainer(shape, |_| {});
        let order: Vec<u32> = (0..GRADIENT_POSITIONS)
            .map(|n| if n % 3 == 0 { n | MIRROR } else { n })
            .collect();
        trainer.gradient(&order);
        let layout = trainer.layout.clone();
        let mut slopes = vec![0.0; layout.length];
        layout.distribute(&trainer.gradients[0].0, &mut slopes);
        let mut error = |row: &[f32]| {
            layout.combine(row, &mut trainer.weights);
            let batch = Batch {
                samples: &trainer.train,
                order: &order,
            };
            let mut scratch = Scratch::new(32);
            sum_of_errors(&trainer.weights, batch, trainer.goal, &mut scratch) / 2.0
        };
        let row = trainer.state.row.clone();
        // The largest of every part, where rounding counts least, and some others.
        let mut order: Vec<usize> = (0..layout.length).collect();
        order.sort_by(|&a, &b| slopes[b].abs().total_cmp(&slopes[a].abs()));
        let (mut checked, mut bad) = (0, 0);
        for &n in order[..300]
            .iter()
            .chain(order[300..3000].iter().step_by(50))
        {
            let step = 5e-4_f32;
            let (mut up, mut down) = (row.clone(), row.clone());
            up[n] += step;
            down[n] -= step;
            let slope = (error(&up) - error(&down)) / f64::from(up[n] - down[n]);
            let difference = (f64::from(slopes[n]) - slope).abs();
            checked += 1;
            // A kink of the activation may lie between the two points; that is rare.
            bad += usize::from(difference > 0.02 * slope.abs() + 2e-4);
        }
        assert!(checked > 300 && bad * 50 <= checked, "{bad} of {checked}");
    }
}

#[test]
fn learning_lessens_the_error_and_generalizes() {
    for variant in [Variant::Crazyhouse, Variant::Capablanca] {
        let shape = plain_shape(variant, 32);
        let settings = TrainConfig {
            scale: Some(400.0),
            batch: 256,
            epochs: 6,
            rate: 0.004,
            ..TrainConfig::new(shape)
        };
        let mut trainer =
            Trainer::with_samples(settings, samples(shape, 0..200), samples(shape, 200..220))
                .expect("there are positions");
        let before = trainer.check_error();
        let mut last = f64::INFINITY;
        while !trainer.is_done() {
            let report = trainer.epoch();
            assert!(report.train.is_finite());
            last = report.check;
        }
        assert!(last < 0.5 * before, "{variant:?}: {before} {last}");
    }
}

/// The network in whole numbers against the one in floating point, on positions that were not learnt.
#[test]
fn the_quantised_network_agrees_with_the_trained_one() {
    for (variant, king_buckets) in [
        (Variant::Crazyhouse, 1),
        (Variant::Crazyhouse, 4),
        (Variant::Capahouse, 1),
    ] {
        let shape = Shape {
            variant,
            hidden: 32,
            king_buckets,
        };
        let mut trainer = trainer(shape, |_| {});
        while !trainer.is_done() {
            trainer.epoch();
        }
        let network = Arc::new(trainer.network().expect("it can be quantised"));
        // The whole numbers again in floating point: what is left is the rounding of activations.
        let mut rounded = Combined::zero(shape);
        let row = trainer.layout.row_of(&network.parts(), 1.0);
        trainer.layout.combine(&row, &mut rounded);
        let (mut n, mut worst, mut spread) = (0, 0.0_f32, 0.0_f32);
        let mut squares = 0.0_f32;
        for seed in 40..50 {
            game(variant, seed)
                .replay(|position, ply| {
                    if !ply.usable || ply.score.abs() > trainer.config.score_max {
                        return;
                    }
                    let whole = match position.any() {
                        AnyPos::Crazyhouse(pos) => {
                            NetworkState::new(Arc::clone(&network), 1).evaluate(&[*pos], 0)
                        }
                        AnyPos::Capahouse(pos) => {
                            NetworkState::new(Arc::clone(&network), 1).evaluate(&[*pos], 0)
                        }
                        _ => unreachable!("not among those tested"),
                    };
                    let sample = trainer.check.get(n, false);
                    assert_eq!(sample.score, ply.score, "the same position");
                    let float = trainer.weights.value(&sample, trainer.goal.scale);
                    let same = rounded.value(&sample, trainer.goal.scale);
                    worst = worst.max((whole as f32 - same).abs());
                    squares += (whole as f32 - float).powi(2);
                    spread = spread.max(float.abs());
                    n += 1;
                })
                .expect("the game is legal");
        }
        assert_eq!(n, trainer.check.len());
        assert!(
            spread > 100.0,
            "the network tells positions apart: {spread}"
        );
        assert!(worst < 4.0, "{variant:?}: {worst} of {spread} units");
        let typical = (squares / n as f32).sqrt();
        assert!(typical < 12.0, "{variant:?}: {typical} of {spread} units");
    }
}

#[test]
fn the_same_seed_gives_the_same_network_with_any_number_of_threads() {
    let bytes = |threads: usize, seed: u64| {
        let mut trainer = trainer(TINY, |config| {
            config.threads = threads;
            config.seed = seed;
            config.epochs = 2;
        });
        while !trainer.is_done() {
            trainer.epoch();
        }
        trainer.network().expect("a network").to_bytes()
    };
    let one = bytes(1, 5);
    assert!(one == bytes(2, 5), "two threads");
    assert!(one != bytes(1, 6), "another seed");
}

#[test]
fn a_broken_run_goes_on_to_the_same_network() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run");
    let mut whole = trainer(TINY, |_| {});
    while !whole.is_done() {
        whole.epoch();
    }
    let mut first = trainer(TINY, |_| {});
    assert!(!first.resume(&path).expect("no file yet"));
    first.epoch();
    first.epoch();
    first.keep(&path).expect("it can be written");
    drop(first);
    let mut second = trainer(TINY, |_| {});
    assert!(second.resume(&path).expect("it can be read"));
    let mut epochs = 0;
    while !second.is_done() {
        second.epoch();
        epochs += 1;
    }
    assert_eq!(epochs, 2);
    let bytes = |trainer: &Trainer| trainer.network().expect("a network").to_bytes();
    assert!(bytes(&whole) == bytes(&second));
    let mut other = trainer(TINY, |config| config.rate = 0.5);
    let error = other.resume(&path).expect_err("another run");
    assert!(matches!(error, TrainError::Checkpoint(_)));
}

#[test]
fn a_mirrored_position_is_the_position_with_its_files_reversed() {
    let shape = plain_shape(Variant::Crazyhouse, 32);
    let fens = [
        "4k3/p2N4/8/8/8/8/1R4q~1/K7[Pn] w - - 0 1",
        "3k4/4N2p/8/8/8/8/1q~4R1/7K[Pn] w - - 0 1",
        // With rights to castle there is no mirrored twin.
        "4k3/p2N4/8/8/8/8/8/4K2R[Pn] w K - 0 1",
    ];
    let mut samples = samples(shape, 0..0);
    for fen in fens {
        let start = Position::from_fen(
            Variant::Crazyhouse,
            crate::rules::CastlingMode::Standard,
            fen,
        )
        .expect("a position");
        let m = start.legal_moves()[0];
        samples.add_game(&GameRecord {
            start,
            result: Outcome::win(Color::Black),
            plies: vec![PlyRecord {
                m,
                score: 50,
                usable: true,
            }],
        });
    }
    let set = |index: usize, mirror: bool, view: usize| {
        let sample = samples.get(index, mirror);
        assert!((sample.result - 0.0).abs() < 1e-6);
        let mut inputs: Vec<u16> = sample
            .inputs
            .iter()
            .map(|&input| sample.maps[view][usize::from(input)])
            .collect();
        inputs.sort_unstable();
        inputs
    };
    for view in 0..2 {
        assert_eq!(set(0, true, view), set(1, false, view));
        assert_eq!(set(0, false, view), set(1, true, view));
        assert_ne!(set(0, false, view), set(1, false, view));
        assert_eq!(set(2, true, view), set(2, false, view));
    }
}

#[test]
fn files_of_games_are_read_and_some_held_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("games");
    let (mut writer, _) = Writer::open(&path).expect("it can be opened");
    for seed in 0..20 {
        writer
            .append(&game(Variant::Crazyhouse, seed))
            .expect("it can be written");
    }
    // Games of other variants in the same file are passed over.
    writer
        .append(&game(Variant::Chess, 1))
        .expect("it can be written");
    drop(writer);
    let config = TrainConfig {
        held_back: 5,
        ..TrainConfig::new(TINY)
    };
    let trainer = Trainer::new(config.clone(), &[&path]).expect("there are positions");
    assert_eq!((trainer.train.games, trainer.check.games), (16, 4));
    let (train, check, scale) = trainer.size();
    assert_eq!(train + check, samples(TINY, 0..20).len());
    // The results of these games follow the score within some hundred units.
    assert!((20.0..1_500.0).contains(&scale), "{scale}");
    let none: [&Path; 0] = [];
    assert!(matches!(
        Trainer::new(config, &none),
        Err(TrainError::TooFewPositions { .. })
    ));
}

/// The whole way: games of the engine itself, a net of them, and the net at work.
#[test]
fn own_games_make_a_net_that_knows_material() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("games");
    let config = DatagenConfig {
        variant: Variant::Crazyhouse,
        games: 400,
        nodes: 60,
        random_plies: 6,
        imbalance: 400,
        seed: 3,
        networks: crate::engine::network::Networks::none(),
        starts: Vec::new(),
        rival: None,
    };
    generate(&config, &path, &crate::engine::StopFlag::new(), |_| {}).expect("games");
    assert_eq!(Reader::open(&path).expect("it is there").count(), 400);
    let settings = TrainConfig {
        held_back: 6,
        batch: 128,
        epochs: 12,
        rate: 0.003,
        ..TrainConfig::new(TINY)
    };
    let mut trainer = Trainer::new(settings, &[&path]).expect("there are positions");
    let before = trainer.check_error();
    let mut after = before;
    while !trainer.is_done() {
        after = trainer.epoch().check;
    }
    assert!(after < 0.8 * before, "{before} {after}");
}

/// A correction begins where the hand-written evaluation stands, betters it, and the program adds the two.
#[test]
fn a_correction_betters_the_hand_written_evaluation() {
    let settings = TrainConfig {
        scale: Some(400.0),
        is_correction: true,
        score_share: 1.0,
        batch: 256,
        epochs: 10,
        rate: 0.004,
        ..TrainConfig::new(TINY)
    };
    let mut trainer =
        Trainer::with_samples(settings, samples(TINY, 0..300), samples(TINY, 300..330))
            .expect("there are positions");
    let by_hand = trainer.check_error_by_hand();
    let mut after = f64::NAN;
    while !trainer.is_done() {
        after = trainer.epoch().check;
    }
    assert!(after < 0.9 * by_hand, "{by_hand} {after}");
    let network = trainer.network().expect("its sums fit");
    assert!(network.is_correction());
    assert!(
        network.summary().contains("correction"),
        "{}",
        network.summary()
    );
    // The file's form says the same as the trainer's within what rounding costs.
    let shape = trainer.config.shape;
    let mut state = None;
    game(shape.variant, 45)
        .replay(|position, ply| {
            let AnyPos::Crazyhouse(pos) = position.any() else {
                unreachable!("it is crazyhouse");
            };
            let state =
                state.get_or_insert_with(|| NetworkState::new(Arc::new(network.clone()), 1));
            let weights = crate::engine::evaluation::weights::weights(shape.variant);
            let by_hand = crate::engine::evaluation::evaluate(pos, weights);
            let value = state.value(&[*pos], 0, weights);
            assert_eq!(value, by_hand + state.evaluate(&[*pos], 0), "{}", ply.score);
        })
        .expect("legal moves");
}

/// A run that begins with a finished network begins with its error and betters it; another kind is refused.
#[test]
fn a_run_goes_on_from_a_finished_network() {
    let fixed = |config: &mut TrainConfig| {
        config.scale = Some(400.0);
        config.epochs = 6;
    };
    let mut first = trainer(TINY, fixed);
    let blank = first.check_error();
    while !first.is_done() {
        first.epoch();
    }
    let network = first.network().expect("its sums fit");
    let mut second = trainer(TINY, fixed);
    second.begin_with(&network).expect("it is of this kind");
    let begun = second.check_error();
    let reached = first.check_error();
    assert!(reached < 0.9 * blank, "{blank} {reached}");
    // Rounding costs little.
    assert!(
        (begun - reached).abs() < 0.02 * reached,
        "{reached} {begun}"
    );
    while !second.is_done() {
        second.epoch();
    }
    assert!(second.check_error() < begun, "{begun}");
    let summary = second.network().expect("its sums fit").summary().to_owned();
    assert!(summary.contains("begun with"), "{summary}");
    let mut other = trainer(TINY, |config| config.is_correction = true);
    let refused = other.begin_with(&network);
    assert!(matches!(refused, Err(TrainError::OtherShape { .. })));
}

/// A network that keeps half of its output says half as much, and a run that begins with it begins there.
#[test]
fn a_share_of_the_output_is_kept() {
    let settings = |kept_share: f32| {
        move |config: &mut TrainConfig| {
            config.scale = Some(400.0);
            config.epochs = 4;
            config.kept_share = kept_share;
        }
    };
    let mut whole = trainer(TINY, settings(1.0));
    let mut half = trainer(TINY, settings(0.5));
    while !whole.is_done() {
        whole.epoch();
        half.epoch();
    }
    let [whole, half] = [whole, half].map(|t| t.network().expect("its sums fit"));
    assert_eq!((whole.scale(), half.scale()), (400, 200));
    assert_eq!(whole.hash(), half.hash(), "the numbers are the same");
    assert!(half.summary().contains("0.5 of it kept"));
    let mut next = trainer(TINY, settings(1.0));
    next.begin_with(&half).expect("it is of this kind");
    let again = next.network().expect("its sums fit");
    assert_eq!(again.scale(), 400);
    let (parts, halved) = (whole.parts(), again.parts());
    for (&before, &after) in parts.output_weights.iter().zip(&halved.output_weights) {
        assert!((f32::from(before) / 2.0 - f32::from(after)).abs() <= 0.5);
    }
}
