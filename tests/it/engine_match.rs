//! Matches between programs: our own binary, and small scripts that do one thing wrong.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use seneschal::engine::arena::spec::{EngineSpec, Tempo};
use seneschal::engine::arena::statistics::{Decision, Sprt};
use seneschal::engine::arena::{
    Arbiter, DrawRule, GameEnd, MatchConfig, MatchError, OpeningChoice, Played, RandomOpenings,
    ScoreRule, Tally, pgn, play_match, read_openings,
};
use seneschal::engine::material::MaterialSearcher;
use seneschal::rules::{Adjudication, CastlingMode, Outcome, Variant};

fn own_program() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_seneschal"))
}

fn engine(text: &str) -> EngineSpec {
    text.parse().expect("a description of an engine")
}

/// A program in shell that answers the handshake and does `on_go` when asked for a move.
fn script(on_go: &str) -> EngineSpec {
    let body = format!(
        "while read -r line; do case \"$line\" in \
         uci) echo 'option name UCI_Variant type combo default chess var chess var crazyhouse'; \
         echo uciok;; isready) echo readyok;; go*) {on_go};; quit) exit 0;; esac; done"
    );
    EngineSpec {
        name: "script".into(),
        command: vec!["sh".into(), "-c".into(), body],
        directory: None,
        tempo: None,
        options: Vec::new(),
    }
}

fn config(second: EngineSpec) -> MatchConfig {
    MatchConfig {
        engines: [engine("self nodes=300"), second],
        own_program: own_program(),
        variant: Variant::Crazyhouse,
        mode: CastlingMode::Standard,
        tempo: Tempo::Nodes(300),
        games: 2,
        concurrency: 1,
        openings: OpeningChoice::Start,
        arbiter: Arbiter {
            adjudication: Adjudication::SEED,
            margin: Duration::from_millis(500),
            patience: Duration::from_secs(60),
            plies_max: 60,
            resign: None,
            draw: None,
        },
        sprt: None,
    }
}

fn run(config: &MatchConfig) -> (Tally, Vec<Played>) {
    let mut games = Vec::new();
    let judge = Box::new(MaterialSearcher::default());
    let tally = play_match(config, judge, &AtomicBool::new(false), &mut |played, _| {
        games.push(played.clone());
    })
    .expect("the match is played");
    (tally, games)
}

#[test]
fn our_program_plays_itself_in_every_variant() {
    for variant in Variant::ALL {
        let config = MatchConfig {
            variant,
            games: 4,
            concurrency: 2,
            openings: OpeningChoice::Random(RandomOpenings {
                plies: 4,
                imbalance_cp_max: 400,
                nodes: 50,
                seed: 7,
            }),
            ..config(engine("self nodes=200 name=other"))
        };
        let (tally, games) = run(&config);
        assert_eq!(tally.games(), 4, "{variant:?}");
        assert_eq!(tally.pentanomial.pairs(), 2);
        assert_eq!(
            tally.faults.map(|faults| faults.total()),
            [0, 0],
            "{variant:?}: {tally}"
        );
        for pair in 0..2 {
            let openings: Vec<_> = games
                .iter()
                .filter(|played| played.pair == pair)
                .map(|played| played.game.history.moves()[..played.game.n_opening].to_vec())
                .collect();
            assert_eq!(openings[0], openings[1], "both games of a pair begin alike");
        }
        let text = pgn(&games[0], &tally.names, "test", "2026.11.30").to_string();
        let mut reader = seneschal::rules::notation::pgn::PgnReader::new(text.as_bytes());
        let game = reader.next().expect("a game").expect("it can be read");
        assert_eq!(
            game.history().moves(),
            games[0].game.history.moves(),
            "{variant:?}: {text}"
        );
    }
}

#[test]
fn the_same_seed_plays_the_same_games() {
    let config = MatchConfig {
        openings: OpeningChoice::Random(RandomOpenings {
            plies: 4,
            imbalance_cp_max: 400,
            nodes: 50,
            seed: 3,
        }),
        ..config(engine("self nodes=100 name=other"))
    };
    let lines = |games: &[Played]| -> Vec<_> {
        games
            .iter()
            .map(|played| played.game.history.moves().to_vec())
            .collect()
    };
    assert_eq!(lines(&run(&config).1), lines(&run(&config).1));
}

#[test]
fn illegal_moves_lose_and_are_counted() {
    let (tally, games) = run(&config(script("echo bestmove e2e5")));
    assert_eq!(tally.wins_draws_losses, [2, 0, 0]);
    assert_eq!(tally.faults[1].illegal, 2);
    assert_eq!(tally.faults[0].total(), 0);
    assert!(matches!(&games[0].game.end, GameEnd::Illegal(_, text) if text == "e2e5"));
}

#[test]
fn programs_that_end_lose_and_are_started_again() {
    let (tally, _) = run(&config(script("exit 3")));
    assert_eq!(tally.wins_draws_losses, [2, 0, 0]);
    assert_eq!(tally.faults[1].crashes, 2);
}

#[test]
fn silent_programs_lose_by_time_or_stall() {
    let mut config = config(script(":"));
    config.arbiter.patience = Duration::from_millis(100);
    let (tally, games) = run(&config);
    assert_eq!(tally.faults[1].crashes, 2);
    assert!(matches!(games[0].game.end, GameEnd::Stall(_)));

    // Late, but not silent: the clock decides.
    let mut slow = script("sleep 0.4; echo bestmove e7e5");
    slow.tempo = Some(Tempo::Clock {
        initial: Duration::from_millis(50),
        increment: Duration::ZERO,
    });
    config.engines[1] = slow;
    config.arbiter.margin = Duration::from_millis(10);
    config.arbiter.patience = Duration::from_secs(60);
    let (tally, games) = run(&config);
    assert_eq!(tally.faults[1].time_losses, 2);
    assert!(matches!(games[0].game.end, GameEnd::TimeLoss(_)));
}

#[test]
fn moves_beyond_a_fixed_time_are_counted_and_do_not_lose() {
    // As Black it plays one move, late; as White its only move is illegal.
    let mut config = config(script("sleep 1; echo bestmove e7e5"));
    config.engines[1].tempo = Some(Tempo::MoveTime(Duration::from_millis(100)));
    let (tally, _) = run(&config);
    assert_eq!([tally.effort[0].late, tally.effort[1].late], [0, 1]);
    assert_eq!(tally.faults[1].time_losses, 0);
    assert!(tally.to_string().contains("crashes, 1 late"), "{tally}");
}

#[test]
fn programs_that_do_not_know_the_variant_are_refused() {
    let config = MatchConfig {
        variant: Variant::Capahouse,
        ..config(script("echo bestmove a2a3"))
    };
    let judge = Box::new(MaterialSearcher::default());
    let error = play_match(&config, judge, &AtomicBool::new(false), &mut |_, _| {});
    let message = error.expect_err("it cannot be played").to_string();
    assert_eq!(message, "script does not play capahouse");
    let missing = MatchConfig {
        engines: [engine("self"), engine("cmd=/nonexistent/engine")],
        ..config
    };
    let judge = Box::new(MaterialSearcher::default());
    let error = play_match(&missing, judge, &AtomicBool::new(false), &mut |_, _| {});
    assert!(matches!(error, Err(MatchError::Player(_))));
}

#[test]
fn agreement_on_the_score_ends_games() {
    // Shuffles knights and claims to be lost.
    let shuffle = "n=$((n+1)); echo info depth 1 score cp -900; \
                   case $((n % 2)) in 1) echo bestmove g8f6;; *) echo bestmove f6g8;; esac";
    let mut config = config(script(shuffle));
    let winner = "n=$((n+1)); echo info depth 1 score cp 950; \
                  case $((n % 2)) in 1) echo bestmove b1c3;; *) echo bestmove c3b1;; esac";
    config.engines[0] = script(winner);
    config.engines[0].name = "optimist".into();
    config.arbiter.resign = Some(ScoreRule { cp: 900, moves: 2 });
    let (_, games) = run(&config);
    assert_eq!(games[0].game.end, GameEnd::Resigned);
    assert_eq!(games[0].game.notes.len(), 4);
    assert_eq!(games[0].game.outcome.result(), "1-0");

    let even = "n=$((n+1)); echo info depth 1 score cp 3; \
                case $((n % 2)) in 1) echo bestmove b1c3;; *) echo bestmove c3b1;; esac";
    let mut other = even.replace("b1c3", "g8f6").replace("c3b1", "f6g8");
    other.push_str("; :");
    config.engines = [script(even), script(&other)];
    config.arbiter.resign = None;
    config.arbiter.draw = Some(DrawRule {
        score: ScoreRule { cp: 5, moves: 1 },
        from_ply: 3,
    });
    let (_, games) = run(&config);
    assert_eq!(games[0].game.end, GameEnd::CalledEven);
    assert_eq!(games[0].game.history.moves().len(), 3);
    assert_eq!(games[0].game.outcome, Outcome::Draw);
}

#[test]
fn a_sequential_test_ends_the_match_early() {
    let config = MatchConfig {
        games: 1_000,
        sprt: Some(Sprt {
            elo0: 0.0,
            elo1: 200.0,
            alpha: 0.05,
            beta: 0.05,
        }),
        ..config(script("echo bestmove a1a1"))
    };
    let (tally, _) = run(&config);
    assert_eq!(tally.decision(), Some(Decision::AcceptH1));
    assert!(tally.games() < 200, "{}", tally.games());
    assert!(tally.to_string().contains("accepted: H1"));
}

#[test]
fn raising_the_stop_flag_ends_the_match() {
    let config = MatchConfig {
        games: 1_000,
        ..config(script("echo bestmove a1a1"))
    };
    let stop = AtomicBool::new(false);
    let judge = Box::new(MaterialSearcher::default());
    let tally = play_match(&config, judge, &stop, &mut |_, tally| {
        if tally.games() >= 4 {
            stop.store(true, Ordering::Relaxed);
        }
    })
    .expect("the match is played");
    assert!(tally.games() < 20);
}

#[test]
fn opening_files_are_read() {
    let text = "# a comment\n\
                rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR[] w KQkq - 0 2\n\
                rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR[] w KQkq - ce 12; id \"x\"\n\
                \n\
                startpos moves e2e4 d7d5 e4d5\n\
                startpos\n";
    let mode = CastlingMode::Standard;
    let list = read_openings(text, Variant::Crazyhouse, mode, 1).expect("all can be read");
    assert_eq!(list.len(), 4);
    let lengths: Vec<_> = list.iter().map(|game| game.moves().len()).collect();
    assert!(lengths.contains(&3) && lengths.iter().filter(|&&n| n == 0).count() == 3);
    let again = read_openings(text, Variant::Crazyhouse, mode, 1).expect("all can be read");
    assert_eq!(again[0].position().fen(), list[0].position().fen());
    for (bad, line) in [
        ("startpos\nrubbish", 2),
        ("startpos moves e2e5", 1),
        ("R6k/6pp/8/8/8/8/8/K7[] b - - 0 1", 1),
    ] {
        let error = read_openings(bad, Variant::Crazyhouse, mode, 1).expect_err(bad);
        assert_eq!(error.line, line, "{error}");
    }
}
