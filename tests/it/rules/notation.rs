//! Every recorded spelling of moves and positions.

use seneschal::rules::notation::Holdings;
use seneschal::rules::starts::{SplitMix64, TenWide, Wild};
use seneschal::rules::{
    CastlingMode, CastlingStyle, Color, FenError, Position, Role, SanError, Setup, UciError,
    Variant,
};

use super::{all_starts, position_of, table, variant_of};

#[test]
fn moves_are_written_and_read_as_recorded() {
    let rows = table("moves.txt");
    assert_eq!(rows.len(), 53, "the file has lost lines");
    for row in rows {
        let column = |index: usize| row.get(index).map_or("", String::as_str);
        let spellings = |text: &'static str, index: usize| -> Vec<String> {
            column(index)
                .split(text)
                .map(str::trim)
                .filter(|word| !word.is_empty())
                .map(str::to_owned)
                .collect()
        };
        let position = position_of(column(0), column(1));
        let (uci, san) = (column(2), column(3));
        let m = position.parse_uci(uci).unwrap();
        assert_eq!(position.uci(m), uci, "{row:?}");
        assert_eq!(position.san(m), san, "{row:?}");
        assert_eq!(position.parse_san(san), Ok(m), "{row:?}");
        for other in spellings(",", 4) {
            assert_eq!(position.parse_san(&other), Ok(m), "{other} in {row:?}");
        }
        for other in spellings(",", 5) {
            assert_eq!(position.parse_uci(&other), Ok(m), "{other} in {row:?}");
        }
    }
}

#[test]
fn positions_of_every_dialect_become_ours() {
    let rows = table("fens.txt");
    assert_eq!(rows.len(), 30, "the file has lost lines");
    for row in rows {
        let position = position_of(&row[0], &row[2]);
        assert_eq!(position.fen(), row[3], "{row:?}");
        assert_eq!(position.legal_moves().len().to_string(), row[4], "{row:?}");
        assert_eq!(
            position_of(&row[0], &row[3]).key(),
            position.key(),
            "{row:?}"
        );
    }
}

#[test]
fn bad_positions_are_refused_with_field_and_reason() {
    let rows = table("bad_fens.txt");
    assert_eq!(rows.len(), 58, "the file has lost lines");
    for row in rows {
        let (variant, mode) = variant_of(&row[0]);
        let fen = row.get(2).map_or("", String::as_str);
        let read = Position::from_fen(variant, mode, fen);
        match row[1].split_once(' ').unwrap() {
            ("refused", field) => {
                let error = read.unwrap_err();
                match &error {
                    FenError::Text {
                        field: named, at, ..
                    } => {
                        assert_eq!(named.name(), field, "{row:?}: {error}");
                        assert!(*at <= fen.len(), "{row:?}");
                    }
                    FenError::Position { .. } => assert_eq!(field, "position", "{row:?}: {error}"),
                }
                assert!(!error.to_string().is_empty());
            }
            ("read", written) => assert_eq!(read.unwrap().fen(), written, "{row:?}"),
            _ => panic!("{row:?}"),
        }
    }
}

/// The message says where and why, so that an operator can find it in a long line.
#[test]
fn messages_name_the_place() {
    for (variant, fen, message) in [
        (
            Variant::Crazyhouse,
            "rnbqkbnr/pppppppp/7/8/8/8/PPPPPPPP/RNBQKBNR[] w KQkq - 0 1",
            "board, character 19: rank 6 has 7 squares instead of 8",
        ),
        (
            Variant::Crazyhouse,
            "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR[Qz] w KQkq - 0 1",
            "pocket, character 46: 'z' is no piece of crazyhouse",
        ),
        (
            Variant::Chess,
            "4k3/8/8/8/8/8/8/4K3 w",
            "castling, character 22: is missing",
        ),
        (
            Variant::Capahouse,
            "5k4/10/10/10/10/10/10/P4K4[] w - - 0 1",
            "capahouse: a pawn of White stands on a1",
        ),
        (
            Variant::Chess,
            "4k3/8/8/8/8/8/4R3/4K3 w - - 0 1",
            "chess: Black is not to move but in check",
        ),
        (
            Variant::Chess,
            "4k3/8/8/8/8/8/8/RK5R w KQ - 0 1",
            "castling, character 24: the right 'K' has a meaning in Chess960 only",
        ),
        (
            Variant::Chess,
            "4k3/8/8/8/8/8/8/4K3 w - - 0 1 Qq",
            "end, character 31: \"Qq\" follows the position",
        ),
    ] {
        let error = Position::from_fen(variant, CastlingMode::Standard, fen).unwrap_err();
        assert_eq!(error.to_string(), message, "{fen}");
    }
}

#[test]
fn hands_of_servers_and_guis() {
    for (line, white, black, received) in [
        ("holding [PPPRQ] []", "PPPRQ", "", None),
        ("holding [PPPRQ] [R] BR", "PPPRQ", "R", Some('r')),
        ("<b1> game 12 white [PNN] black [BPP]", "PNN", "BPP", None),
        (
            "<b1> game 12 white [PNN] black [BPPQ] <- BQ",
            "PNN",
            "BPPQ",
            Some('q'),
        ),
        ("<b1> game 7 white [] black []", "", "", None),
        (
            "<b1> game 3 White [PB] Black [P] <- WB",
            "PB",
            "P",
            Some('B'),
        ),
    ] {
        let holdings = Holdings::parse(line).unwrap();
        for (color, letters) in [(Color::White, white), (Color::Black, black)] {
            for role in Role::ALL {
                let expected = letters.matches(role.upper_char()).count();
                assert_eq!(
                    usize::from(holdings.hands[color.index()][role.index()]),
                    expected,
                    "{line}"
                );
            }
        }
        assert_eq!(
            holdings.received.map(|piece| piece.char()),
            received,
            "{line}"
        );
    }
    for line in [
        "",
        "holding",
        "holding [P]",
        "holding [K] []",
        "holding [P] [] XQ",
        "holding [P] [ <- WB",
    ] {
        assert_eq!(Holdings::parse(line), None, "{line}");
    }
}

/// Castling as each protocol writes it, and what is read besides.
#[test]
fn castling_by_protocol() {
    let capablanca = "r4k3r/10/10/10/10/10/10/R4K3R w KQkq - 0 1";
    for (name, fen, short, long) in [
        (
            "chess",
            "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1",
            ["e1g1", "e1h1"],
            ["e1c1", "e1a1"],
        ),
        (
            "crazyhouse",
            "r3k2r/8/8/8/8/8/8/R3K2R[] b KQkq - 0 1",
            ["e8g8", "e8h8"],
            ["e8c8", "e8a8"],
        ),
        ("capablanca", capablanca, ["f1i1", "f1j1"], ["f1c1", "f1a1"]),
        (
            "wild/0",
            "r2k3r/8/8/8/8/8/8/R3K2R b KQkq - 0 1",
            ["d8b8", "d8a8"],
            ["d8f8", "d8h8"],
        ),
    ] {
        let position = position_of(name, fen);
        for (san, [king, rook]) in [("O-O", short), ("O-O-O", long)] {
            let m = position.parse_san(san).unwrap();
            assert_eq!(position.uci(m), king, "{name} {san}");
            assert_eq!(
                position.uci_with(m, CastlingMode::Standard),
                king,
                "{name} {san}"
            );
            assert_eq!(
                position.uci_with(m, CastlingMode::Chess960),
                rook,
                "{name} {san}"
            );
            assert_eq!(position.parse_uci(king), Ok(m), "{name} {san}");
            assert_eq!(position.parse_uci(rook), Ok(m), "{name} {san}");
            assert_eq!(position.san(m).trim_end_matches('+'), san);
        }
    }
}

/// Where the sister arrays of Capablanca's castle to.
#[test]
fn castling_of_the_arrays_on_ten_files() {
    for array in TenWide::ALL {
        let rank: String = array
            .back_rank()
            .chars()
            .map(|letter| {
                if matches!(letter, 'r' | 'k') {
                    letter
                } else {
                    ' '
                }
            })
            .collect();
        let mut board = String::new();
        let mut empty = 0;
        for letter in rank.chars().chain(['/']) {
            if letter == ' ' {
                empty += 1;
                continue;
            }
            if empty > 0 {
                board.push_str(&empty.to_string());
                empty = 0;
            }
            board.push(letter);
        }
        let upper = board.trim_end_matches('/').to_uppercase();
        let fen = format!("{board}pppppppppp/10/10/10/10/PPPPPPPPPP/{upper} w KQkq - 0 1");
        let position =
            Position::from_fen(Variant::Capablanca, CastlingMode::Standard, &fen).unwrap();
        let (short, long, style) = match array {
            TenWide::Embassy => ("e1h1", "e1b1", CastlingStyle::Embassy),
            _ => ("f1i1", "f1c1", CastlingStyle::Standard),
        };
        for (san, uci) in [("O-O", short), ("O-O-O", long)] {
            let m = position
                .parse_san(san)
                .unwrap_or_else(|error| panic!("{}: {error}", array.name()));
            assert_eq!(position.uci(m), uci, "{}", array.name());
            assert_eq!(position.parse_uci(uci), Ok(m), "{}", array.name());
        }
        assert_eq!(
            position.to_setup().castling_style,
            style,
            "{}",
            array.name()
        );
        let start = Position::from_fen(
            Variant::Capablanca,
            CastlingMode::Standard,
            &array.start_fen(false),
        )
        .unwrap();
        assert_eq!(start.fen(), array.start_fen(false));
    }
}

/// In Chess960 a king's step is a step, even onto a square where castling would end.
#[test]
fn steps_are_no_castling_in_chess960() {
    let position = position_of("chess960", "rk5r/8/8/8/8/8/8/RK5R w HAha - 0 1");
    let step = position.parse_uci("b1c1").unwrap();
    assert_eq!(position.san(step), "Kc1");
    let castling = position.parse_uci("b1a1").unwrap();
    assert_eq!(position.san(castling), "O-O-O");
    // The king travels five files: nothing else can be meant.
    assert_eq!(
        position.parse_uci("b1g1").map(|m| position.uci(m)),
        Ok("b1h1".to_owned())
    );
}

#[test]
fn refused_moves_say_which_kind_of_wrong_they_are() {
    let position = Position::start(Variant::Crazyhouse);
    for text in [
        "",
        "e2",
        "e2e",
        "e2e9",
        "i2i4",
        "e2e4q5",
        "N@",
        "@e4",
        "NN@e4",
        "A@e4",
        "0000",
        "e2-e4",
        "e2e4\u{301}",
        "e7e8x",
        "e2e4 ",
    ] {
        assert!(
            matches!(position.parse_uci(text), Err(UciError::Syntax { .. })),
            "{text}"
        );
    }
    for text in ["e2e5", "N@e4", "e7e5", "e1g1", "e2e4q", "K@e4"] {
        assert!(
            matches!(position.parse_uci(text), Err(UciError::Illegal { .. })),
            "{text}"
        );
    }
    for text in [
        "", "e", "e9", "xe4", "=Q", "e8=", "O-O-O-O", "Zf3", "N@@f3", "NN@f3", "k1", "Nf3xx", "--",
        "(Q)", "e8=X",
    ] {
        assert!(
            matches!(position.parse_san(text), Err(SanError::Syntax { .. })),
            "{text}"
        );
    }
    for text in ["e5", "Nd4", "N@f3", "O-O", "exd5", "a8=Q"] {
        assert!(
            matches!(position.parse_san(text), Err(SanError::Illegal { .. })),
            "{text}"
        );
    }
    let two_rooks = position_of("chess", "4k3/8/8/8/8/8/4K3/R6R w - - 0 1");
    assert!(matches!(
        two_rooks.parse_san("Rd1"),
        Err(SanError::Ambiguous { .. })
    ));
    let error = Position::start(Variant::Chess)
        .parse_uci("e2e5")
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "e2e5 is not legal in rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
    );
}

/// Long forms and old habits.
#[test]
fn lenient_spellings() {
    for (name, fen, uci, spellings) in [
        (
            "chess",
            Variant::Chess.start_fen(),
            "g1f3",
            "Nf3 nf3 Ngf3 N1f3 Ng1f3 Ng1-f3 Nf3!? Nf3+ Nf3#",
        ),
        (
            "chess",
            Variant::Chess.start_fen(),
            "e2e4",
            "e4 e2e4 e2-e4 Pe4 pe4 e4!! e4?",
        ),
        (
            "chess",
            "4k3/8/8/3p4/4P3/8/8/4K3 w - - 0 1",
            "e4d5",
            "exd5 ed5 e4d5 e4xd5 e:d5 Pexd5",
        ),
        (
            "chess",
            "4k3/1P6/8/8/8/8/8/4K3 w - - 0 1",
            "b7b8q",
            "b8=Q b8Q b8q b8(Q) b8/Q b8=q b7b8=Q b8=Q+",
        ),
        (
            "antichess",
            "8/1P6/8/8/8/8/8/k7 w - - 0 1",
            "b7b8k",
            "b8=K b8K b8k",
        ),
        (
            "capablanca",
            "4k5/P8P/10/10/10/10/10/5K4 w - - 0 1",
            "a7a8a",
            "a8=A a8A a8a a7a8a a8(A)",
        ),
        (
            "capahouse",
            "5k4/10/10/10/10/10/10/5K4[C] w - - 0 1",
            "C@j4",
            "C@j4 c@j4 C@J4",
        ),
    ] {
        let position = position_of(name, fen);
        let m = position.parse_uci(uci).unwrap();
        for text in spellings.split(' ') {
            assert_eq!(position.parse_san(text), Ok(m), "{text} in {fen}");
        }
    }
}

#[test]
fn pockets_with_counts() {
    let position = position_of("crazyhouse", "4k3/8/8/8/8/8/8/4K3[12P2nQ] w - - 0 1");
    assert_eq!(
        position.fen(),
        "4k3/8/8/8/8/8/8/4K3[QPPPPPPPPPPPPnn] w - - 0 1"
    );
    for pocket in ["[3]", "[P3]", "[99999P]", "[0", "[]]", "[[]", "[P][p]"] {
        let fen = format!("4k3/8/8/8/8/8/8/4K3{pocket} w - - 0 1");
        assert!(
            Position::from_fen(Variant::Crazyhouse, CastlingMode::Standard, &fen).is_err(),
            "{pocket}"
        );
    }
}

/// Every start reads and writes itself, and a setup says the same as the position made of it.
#[test]
fn starts_come_back() {
    let mut random = SplitMix64::new(11);
    for start in all_starts(&mut random) {
        let fen = start.fen();
        let again = Position::from_fen(start.variant(), start.castling_mode(), &fen).unwrap();
        assert_eq!(again.fen(), fen);
        assert_eq!(again.key(), start.key());
        let setup = Setup::from_fen(start.variant(), start.castling_mode(), &fen).unwrap();
        assert_eq!(setup, start.to_setup(), "{fen}");
    }
    for wild in [Wild::W0, Wild::W1] {
        let start = Position::from_fen(
            Variant::Chess,
            CastlingMode::Standard,
            &wild.start_fen(&mut random),
        )
        .unwrap();
        assert_eq!(start.to_setup().castling_rooks.iter().flatten().count(), 4);
    }
}
