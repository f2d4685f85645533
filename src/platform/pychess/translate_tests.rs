//! Tables for both directions.

use super::*;
use crate::lobby::OfferedVariant::Known;
use CastlingMode::{Chess960, Standard};

fn us() -> PlayerName {
    PlayerName::new("Steward")
}

fn full(variant: &str, fen: &str, moves: &str) -> wire::GameFull {
    wire::GameFull {
        id: "aaaa0001".to_owned(),
        variant: wire::VariantName {
            name: variant.to_owned(),
        },
        white: wire::Player {
            name: "visitor".to_owned(),
        },
        black: wire::Player {
            name: "steward".to_owned(),
        },
        initial_fen: Some(fen.to_owned()),
        created_at: Some(1.0),
        state: wire::GameState {
            moves: moves.to_owned(),
            wtime: 180_000.0,
            btime: 90_500.5,
            winc: 2.0,
            binc: 2.0,
        },
    }
}

#[test]
fn names_of_variants() {
    for (name, chess960, expected) in [
        ("standard", false, Some((Variant::Chess, Standard))),
        ("chess", true, Some((Variant::Chess, Chess960))),
        ("crazyhouse", false, Some((Variant::Crazyhouse, Standard))),
        ("capablanca", true, Some((Variant::Capablanca, Chess960))),
        ("capahouse", true, Some((Variant::Capahouse, Chess960))),
        ("3check", false, Some((Variant::ThreeCheck, Standard))),
        (
            "kingofthehill",
            false,
            Some((Variant::KingOfTheHill, Standard)),
        ),
        ("antichess", false, Some((Variant::Antichess, Standard))),
        ("atomic", true, Some((Variant::Atomic, Chess960))),
        ("horde", false, Some((Variant::Horde, Standard))),
        ("racingkings", false, Some((Variant::RacingKings, Standard))),
        ("shogi", false, None),
        ("bughouse", true, None),
        ("crazyhouse960", false, None),
        ("suicide", false, None),
        ("", false, None),
    ] {
        let expected = expected.map(|(variant, castling_mode)| Known {
            variant,
            castling_mode,
        });
        match (offered(name, chess960), expected) {
            (found @ Known { .. }, Some(expected)) => assert_eq!(found, expected, "{name}"),
            (OfferedVariant::Unknown(_), None) => {}
            (found, expected) => panic!("{name}: {found:?} instead of {expected:?}"),
        }
    }
}

#[test]
fn names_round_trip() {
    for (variant, mode) in all() {
        let name = list_name(variant, mode).unwrap();
        let plain = name.strip_suffix("960").unwrap_or(name);
        let expected = Known {
            variant,
            castling_mode: mode,
        };
        assert_eq!(offered(plain, name.ends_with("960")), expected);
    }
    assert_eq!(list_name(Variant::Losers, Standard), None);
}

#[test]
fn a_challenge_seen_from_our_side() {
    let wire = wire::Challenge {
        id: "aaaa0001".to_owned(),
        challenger: wire::Challenger {
            name: "Anon\u{2013}x".to_owned(),
            rating: Some(1500.0),
            title: Some(String::new()),
        },
        variant: wire::VariantKey {
            key: "capahouse".to_owned(),
        },
        rated: false,
        time_control: wire::TimeControl {
            kind: "clock".to_owned(),
            limit: 90.0,
            increment: 3.0,
        },
        color: "white".to_owned(),
        speed: "bullet".to_owned(),
        chess960: true,
    };
    let ours = challenge(&wire, true).unwrap();
    assert_eq!(ours.color, ColorChoice::Black);
    assert_eq!(ours.opponent.kind, PlayerKind::Guest);
    assert_eq!(ours.opponent.rating, None);
    assert_eq!(ours.time_control, TimeControl::clock(90, 3));
    assert_eq!(
        ours.variant,
        Known {
            variant: Variant::Capahouse,
            castling_mode: Chess960
        }
    );
    assert!(ours.replayed && !ours.rated && ours.playable);
    for (color, expected) in [
        ("black", ColorChoice::White),
        ("random", ColorChoice::Random),
        ("?", ColorChoice::Random),
    ] {
        let wire = wire::Challenge {
            color: color.to_owned(),
            ..wire.clone()
        };
        assert_eq!(challenge(&wire, false).unwrap().color, expected);
    }
    let bad = wire::Challenge {
        id: "../x".to_owned(),
        ..wire
    };
    assert!(matches!(
        challenge(&bad, false),
        Err(TranslateError::BadId(_))
    ));
}

#[test]
fn challengers_by_kind() {
    let of = |name: &str, rating: Option<f64>, title: &str| {
        challenger(&wire::Challenger {
            name: name.to_owned(),
            rating,
            title: Some(title.to_owned()),
        })
    };
    let known = of("visitor", Some(1723.4), "");
    assert_eq!(
        (known.kind, known.rating),
        (
            PlayerKind::Human,
            Some(Rating {
                points: 1723,
                provisional: false
            })
        )
    );
    assert!(of("visitor", Some(1500.0), "").rating.unwrap().provisional);
    assert_eq!(of("engine", None, "BOT").kind, PlayerKind::Bot);
    // A hyphen is not the dash of guests.
    assert_eq!(of("Anon-x", Some(1500.0), "").kind, PlayerKind::Human);
    assert_eq!(of("v", Some(f64::INFINITY), "").rating, None);
}

#[test]
fn starts() {
    let fen = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
    for (field, expected) in [
        (None, None),
        (Some(""), None),
        (Some("None"), None),
        (Some("startpos"), None),
        (Some(" "), None),
        (Some(fen), Some(fen)),
    ] {
        assert_eq!(initial_fen(field), expected, "{field:?}");
    }
}

#[test]
fn castling_by_flag_letters_and_kings() {
    let embassy = "rnbqkcabnr/pppppppppp/10/10/10/10/PPPPPPPPPP/RNBQKCABNR w KQkq - 0 1";
    let embassy_house = "rnbqkcabnr/pppppppppp/10/10/10/10/PPPPPPPPPP/RNBQKCABNR[] w KQkq - 0 1";
    let black_embassy = "rnbqkcabnr/pppppppppp/10/10/10/10/PPPPPPPPPP/RNABQKBCNR w kq - 0 1";
    let no_rights = "rnbqkcabnr/pppppppppp/10/10/10/10/PPPPPPPPPP/RNBQKCABNR w - - 0 1";
    let queen_side_king = "rnbkqbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBKQBNR w KQkq - 0 1";
    let shuffled = "bbrnkqrn/pppppppp/8/8/8/8/PPPPPPPP/BBRNKQRN w GCgc - 0 1";
    let capa_shuffled = "arkbqncbrn/pppppppppp/10/10/10/10/PPPPPPPPPP/ARKBQNCBRN w BIbi - 0 1";
    for (variant, flag, fen, rules, notation) in [
        (Variant::Crazyhouse, Some(false), None, Standard, Standard),
        (Variant::Crazyhouse, None, None, Standard, Standard),
        (Variant::Crazyhouse, Some(true), None, Chess960, Chess960),
        (
            Variant::Crazyhouse,
            None,
            Some(shuffled),
            Chess960,
            Chess960,
        ),
        (
            Variant::Capablanca,
            None,
            Some(capa_shuffled),
            Chess960,
            Chess960,
        ),
        // The flag wins over the letters.
        (
            Variant::Capablanca,
            Some(true),
            Some(embassy),
            Chess960,
            Chess960,
        ),
        (
            Variant::Capablanca,
            Some(false),
            Some(embassy),
            Standard,
            Standard,
        ),
        (
            Variant::Capahouse,
            Some(false),
            Some(embassy_house),
            Standard,
            Standard,
        ),
        (
            Variant::Capablanca,
            Some(false),
            Some(black_embassy),
            Standard,
            Standard,
        ),
        (
            Variant::Capablanca,
            Some(false),
            Some(no_rights),
            Standard,
            Standard,
        ),
        (
            Variant::Chess,
            Some(false),
            Some(queen_side_king),
            Chess960,
            Standard,
        ),
        // Our racing kings and antichess are never shuffled, whatever the letters say.
        (
            Variant::Antichess,
            Some(false),
            Some(queen_side_king),
            Standard,
            Standard,
        ),
    ] {
        assert_eq!(
            castling(variant, flag, fen),
            Castling { rules, notation },
            "{variant:?} {flag:?} {fen:?}"
        );
    }
}

/// The castling words of both dialects, from starts of every kind.
#[test]
fn castling_is_written_as_the_server_plays_it() {
    let chess = "r3k2r/pppppppp/8/8/8/8/PPPPPPPP/R3K2R w KQkq - 0 1";
    let capablanca = "r4k3r/pppppppppp/10/10/10/10/PPPPPPPPPP/R4K3R w KQkq - 0 1";
    let embassy = "r3k4r/pppppppppp/10/10/10/10/PPPPPPPPPP/R3K4R w KQkq - 0 1";
    let capa960 = "r1k5r1/pppppppppp/10/10/10/10/PPPPPPPPPP/R1K5R1 w IAia - 0 1";
    let wild = "r2k3r/pppppppp/8/8/8/8/PPPPPPPP/R2K3R w KQkq - 0 1";
    for (name, flag, fen, words) in [
        ("crazyhouse", false, chess, ["e1g1", "e1c1"]),
        ("crazyhouse", true, chess, ["e1h1", "e1a1"]),
        ("capablanca", false, capablanca, ["f1i1", "f1c1"]),
        ("capablanca", false, embassy, ["e1h1", "e1b1"]),
        ("capablanca", true, capa960, ["c1i1", "c1a1"]),
        // A king that would only step aside names the rook.
        ("chess", false, wild, ["d1g1", "d1a1"]),
    ] {
        let known = KnownGame {
            chess960: Some(flag),
            ..KnownGame::default()
        };
        let (start, notation) = game_start(&full(name, fen, ""), &known, &us()).unwrap();
        let position = Position::from_fen(start.variant, start.castling_mode, fen).unwrap();
        let castles: Vec<Move> = position
            .legal_moves()
            .iter()
            .copied()
            .filter(|m| m.is_castle())
            .collect();
        assert_eq!(castles.len(), 2, "{name} {fen}");
        for m in castles {
            let word = move_word(&position, m, notation);
            assert!(words.contains(&word.as_str()), "{name} {fen}: {word}");
            assert_eq!(position.parse_uci(&word).unwrap(), m, "{word} is read back");
        }
    }
}

#[test]
fn drops_and_promotions_are_written_as_the_server_reads_them() {
    let fen = "r1bqk2r/P5pp/8/8/8/8/PP5p/R3K3[Pnq] b Qkq - 0 1";
    let position = Position::from_fen(Variant::Crazyhouse, Standard, fen).unwrap();
    let words: Vec<String> = position
        .legal_moves()
        .iter()
        .map(|m| move_word(&position, *m, Standard))
        .collect();
    for expected in ["N@e4", "Q@d2", "h2h1q", "h2h1n"] {
        assert!(
            words.iter().any(|word| word == expected),
            "{expected} in {words:?}"
        );
    }
    assert!(
        !words
            .iter()
            .any(|word| word.starts_with("n@") || word.ends_with('Q'))
    );
}

#[test]
fn a_game_from_its_full_state() {
    let known = KnownGame {
        chess960: Some(false),
        time_control: Some(TimeControl::clock(180, 2)),
        opponent: Some(Player {
            rating: Some(Rating {
                points: 1800,
                provisional: false,
            }),
            ..player("Visitor")
        }),
        source: Some(GameSource::Challenge),
    };
    let (start, _) = game_start(&full("crazyhouse", "None", ""), &known, &us()).unwrap();
    assert_eq!(
        (start.variant, start.castling_mode, start.color),
        (Variant::Crazyhouse, Standard, Color::Black)
    );
    assert_eq!(start.initial_fen, None);
    assert_eq!(start.opponent.rating.unwrap().points, 1800);
    assert_eq!(start.source, GameSource::Challenge);
    assert!(!start.rated);

    // Nothing learnt before: a rematch, with the clock as it stands.
    let (start, _) = game_start(&full("crazyhouse", "", ""), &KnownGame::default(), &us()).unwrap();
    assert_eq!(start.source, GameSource::Rematch);
    assert_eq!(start.time_control, TimeControl::clock(180, 2));
}

#[test]
fn a_game_that_is_not_for_us() {
    let known = KnownGame::default();
    let shogi = game_start(&full("shogi", "", ""), &known, &us()).unwrap_err();
    assert_eq!(shogi, TranslateError::UnknownVariant("shogi".to_owned()));
    let others =
        game_start(&full("chess", "", ""), &known, &PlayerName::new("somebody")).unwrap_err();
    assert!(matches!(others, TranslateError::NotOurs { .. }));
    let bad = wire::GameFull {
        id: "a b".to_owned(),
        ..full("chess", "", "")
    };
    assert!(matches!(
        game_start(&bad, &known, &us()),
        Err(TranslateError::BadId(_))
    ));
}

#[test]
fn a_state_in_our_units() {
    let state = game_state(&full("crazyhouse", "", "e2e4 e7e5 h7h8Q P@e4").state);
    assert_eq!(state.moves, ["e2e4", "e7e5", "h7h8q", "P@e4"]);
    let clocks = state.clocks.unwrap();
    assert_eq!(clocks.white, Duration::from_secs(180));
    assert_eq!(clocks.black, Duration::from_micros(90_500_500));
    assert_eq!(clocks.reading, ClockReading::AtLastMove);
    assert_eq!((state.status, state.move_within), (Status::Running, None));
    let fresh = game_state(&full("crazyhouse", "", "e2e4").state);
    assert_eq!(fresh.move_within, Some(FIRST_MOVE_LIMIT));
}

#[test]
fn impossible_clocks_are_tamed() {
    for (wire, expected) in [
        (-5.0, Duration::ZERO),
        (f64::NAN, Duration::ZERO),
        (f64::INFINITY, Duration::ZERO),
        (999_999.0, Duration::from_millis(999_999)),
        (1e15, CLOCK_MAX),
    ] {
        assert_eq!(milliseconds(wire), expected, "{wire}");
    }
}

#[test]
fn every_end_of_a_page() {
    let white = GameResult::Decisive {
        winner: Color::White,
    };
    let black = GameResult::Decisive {
        winner: Color::Black,
    };
    for (status, result, expected) in [
        (-2, "*", None),
        (-1, "*", None),
        (0, "*", Some((GameResult::NoResult, Termination::Aborted))),
        (1, "1-0", Some((white, Termination::Mate))),
        (2, "0-1", Some((black, Termination::Resignation))),
        (
            3,
            "1/2-1/2",
            Some((GameResult::Draw, Termination::Stalemate)),
        ),
        (4, "1-0", Some((white, Termination::Abandoned))),
        (5, "1/2-1/2", Some((GameResult::Draw, Termination::Draw))),
        (6, "0-1", Some((black, Termination::OutOfTime))),
        (7, "1-0", Some((white, Termination::Abandoned))),
        (8, "1-0", Some((white, Termination::Cheat))),
        (10, "0-1", Some((black, Termination::IllegalMove))),
        (11, "*", Some((GameResult::Unknown, Termination::Unknown))),
        (12, "1-0", Some((white, Termination::VariantEnd))),
        (13, "1/2-1/2", Some((GameResult::Draw, Termination::Draw))),
        (99, "1-0", Some((white, Termination::Unknown))),
    ] {
        let page = GamePage {
            status,
            result: result.to_owned(),
            chess960: None,
            initial_fen: None,
            fen: None,
            plies: None,
        };
        let end = end_of_page(&page).map(|end| (end.result, end.termination));
        assert_eq!(end, expected, "status {status}");
    }
}

#[test]
fn every_reason_has_the_servers_key() {
    let keys: Vec<&str> = [
        DeclineReason::Generic,
        DeclineReason::Later,
        DeclineReason::TooFast,
        DeclineReason::TooSlow,
        DeclineReason::TimeControl,
        DeclineReason::RatedOnly,
        DeclineReason::CasualOnly,
        DeclineReason::StandardOnly,
        DeclineReason::Variant,
        DeclineReason::NoBots,
        DeclineReason::BotsOnly,
    ]
    .map(decline_key)
    .to_vec();
    let server = [
        "generic",
        "later",
        "tooFast",
        "tooSlow",
        "timeControl",
        "rated",
        "casual",
        "standard",
        "variant",
        "noBot",
        "onlyBot",
    ];
    assert_eq!(keys, server);
}

#[test]
fn talk() {
    let line = wire::ChatLine {
        username: "visitor".to_owned(),
        room: "player".to_owned(),
        text: "hé \"x\"".to_owned(),
    };
    let ours = chat(&line);
    assert_eq!((ours.room, ours.from_server), (ChatRoom::Players, false));
    assert_eq!(room_word(ours.room), "player");
    let server = chat(&wire::ChatLine {
        username: String::new(),
        room: "spectator".to_owned(),
        ..line
    });
    assert_eq!(
        (server.room, server.from_server),
        (ChatRoom::Spectators, true)
    );
}

#[test]
fn what_was_learnt_first_stays() {
    let mut known = KnownGame {
        chess960: Some(true),
        source: Some(GameSource::Challenge),
        ..KnownGame::default()
    };
    known.complete(&KnownGame {
        chess960: Some(false),
        source: Some(GameSource::Rematch),
        time_control: Some(TimeControl::clock(1, 2)),
        opponent: None,
    });
    assert_eq!(
        (known.chess960, known.source),
        (Some(true), Some(GameSource::Challenge))
    );
    assert_eq!(known.time_control, Some(TimeControl::clock(1, 2)));
}

#[test]
fn notices() {
    let id = PathId::new("aaaa0001").unwrap();
    let accepted = KnownGame {
        source: Some(GameSource::Challenge),
        ..KnownGame::default()
    };
    assert_eq!(
        started(&id, &accepted).challenge,
        Some(ChallengeId::new("aaaa0001"))
    );
    assert_eq!(
        started(&id, &KnownGame::default()).source,
        GameSource::Rematch
    );
    let live = wire::LiveGame {
        game_id: "aaaa0001".to_owned(),
        variant: "capablanca".to_owned(),
        w: "Anon\u{2013}q".to_owned(),
        b: "STEWARD".to_owned(),
        tp: "Steward".to_owned(),
        chess960: true,
    };
    let notice = listed(&id, &live, &KnownGame::from_list(&live), &us()).unwrap();
    assert_eq!(
        (notice.color, notice.our_turn, notice.playable),
        (Some(Color::Black), Some(true), true)
    );
    assert_eq!(notice.opponent.unwrap().kind, PlayerKind::Guest);
    let others = wire::LiveGame {
        b: "somebody".to_owned(),
        ..live
    };
    assert!(listed(&id, &others, &KnownGame::default(), &us()).is_none());
}

#[test]
fn a_rank_of_very_many_empty_squares_is_no_place_for_a_king() {
    let fen = format!("{}k/8/8/8/8/8/8/4K3 w KQkq - 0 1", "9".repeat(60));
    assert_eq!(castling_king_files(&fen), [Some(4), Some(usize::MAX)]);
}
