//! Conversations with the front, over a pipe as with a real GUI.

use std::io::{BufReader, PipeWriter, Write, pipe};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::engine::limits::SearchLimits;
use crate::engine::material::MaterialSearcher;
use crate::engine::report::{SearchInfo, SearchReport};
use crate::engine::searcher::Searcher;
use crate::engine::stop::StopFlag;
use crate::engine::{EngineConfig, NewSearcher};
use crate::rules::{History, Position, Variant};

/// Splits what the front writes into lines.
struct Lines {
    sender: SyncSender<String>,
    partial: Vec<u8>,
}

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        for &byte in bytes {
            if byte == b'\n' {
                let line = String::from_utf8_lossy(&self.partial).into_owned();
                self.partial.clear();
                self.sender
                    .send(line)
                    .map_err(|_| std::io::ErrorKind::BrokenPipe)?;
            } else {
                self.partial.push(byte);
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A GUI talking to the front.
struct Gui {
    to_engine: Option<PipeWriter>,
    from_engine: Receiver<String>,
    front: Option<JoinHandle<std::io::Result<()>>>,
}

impl Gui {
    fn new(new_searcher: NewSearcher) -> Gui {
        let (reader, writer) = pipe().expect("the system gives a pipe");
        let (sender, receiver) = sync_channel(100_000);
        let output = Lines {
            sender,
            partial: Vec::new(),
        };
        let front = thread::spawn(move || super::run(BufReader::new(reader), output, new_searcher));
        Gui {
            to_engine: Some(writer),
            from_engine: receiver,
            front: Some(front),
        }
    }

    fn with_material() -> Gui {
        Gui::new(Arc::new(|_| Box::new(MaterialSearcher::default())))
    }

    fn say(&mut self, line: &str) {
        let writer = self.to_engine.as_mut().expect("the pipe is open");
        writeln!(writer, "{line}").expect("the front reads");
    }

    /// All lines up to the first that begins with `start`, that one included.
    fn hear_until(&mut self, start: &str) -> Vec<String> {
        let deadline = Instant::now() + Duration::from_secs(30);
        let mut lines = Vec::new();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.from_engine.recv_timeout(left) {
                Ok(line) => lines.push(line),
                Err(error) => panic!("{error} while waiting for {start:?} after {lines:#?}"),
            }
            if lines.last().is_some_and(|line| line.starts_with(start)) {
                return lines;
            }
        }
    }

    /// Asks and hears up to `start`.
    fn ask(&mut self, line: &str, start: &str) -> Vec<String> {
        self.say(line);
        self.hear_until(start)
    }

    /// Closes our end and hears what is still said.
    fn hang_up(mut self) -> Vec<String> {
        drop(self.to_engine.take());
        let front = self.front.take().expect("not joined yet");
        front.join().expect("no panic").expect("no failure");
        self.from_engine.try_iter().collect()
    }

    /// What it says before `readyok`.
    fn remarks(&mut self, line: &str) -> Vec<String> {
        let mut lines = self.ask(&format!("{line}\nisready"), "readyok");
        lines.pop();
        lines
    }
}

fn best_of(lines: &[String]) -> &str {
    let last = lines.last().expect("there is an answer");
    last.split(' ').nth(1).expect("a move behind bestmove")
}

#[test]
fn introduces_itself() {
    let mut gui = Gui::with_material();
    let lines = gui.ask("uci", "uciok");
    assert!(lines[0].starts_with("id name Seneschal"));
    assert!(lines[1].starts_with("id author"));
    for option in [
        "UCI_Variant type combo",
        "UCI_Chess960 type check",
        "Hash type spin",
        "Threads type spin",
        "MultiPV type spin",
        "Ponder type check",
        "Move Overhead type spin",
        "UCI_LimitStrength type check",
        "UCI_Elo type spin",
        "UCI_AnalyseMode type check",
        "Clear Hash type button",
    ] {
        let start = format!("option name {option}");
        assert!(
            lines.iter().any(|line| line.starts_with(&start)),
            "{option}"
        );
    }
    assert_eq!(gui.ask("isready", "readyok"), ["readyok"]);
    assert!(gui.hang_up().is_empty());
}

#[test]
fn plays_a_move_in_every_variant() {
    let mut gui = Gui::with_material();
    for variant in Variant::ALL {
        gui.say(&format!(
            "setoption name UCI_Variant value {}",
            variant.uci_name()
        ));
        gui.say("ucinewgame");
        gui.say("position startpos");
        let lines = gui.ask("go depth 2", "bestmove");
        let start = Position::start(variant);
        assert!(
            start.parse_uci(best_of(&lines)).is_ok(),
            "{variant:?} {lines:?}"
        );
        assert!(lines.iter().any(|line| line.starts_with("info depth 2 ")));
    }
}

#[test]
fn keeps_the_position_of_the_last_command() {
    let mut gui = Gui::with_material();
    gui.say("setoption name UCI_Variant value crazyhouse");
    gui.say("position startpos moves e2e4 d7d5 e4d5 d8d5");
    let lines = gui.ask("d", "Legal moves");
    assert!(
        lines
            .iter()
            .any(|line| line.contains("Variant: crazyhouse"))
    );
    let fen = lines
        .iter()
        .find(|line| line.starts_with("Fen: "))
        .expect("a FEN");
    assert!(fen.contains("[Pp]"), "{fen}");
    let lines = gui.ask("go depth 1 searchmoves P@d4 b1c3", "bestmove");
    assert!(["P@d4", "b1c3"].contains(&best_of(&lines)));
}

#[test]
fn a_refused_position_is_not_searched() {
    let mut gui = Gui::with_material();
    for bad in [
        "position fen rubbish",
        "position fen 8/8/8/8/8/8/8/8 w - - 0 1",
        "position startpos moves e2e5",
        "position startpos moves e2e4 e2e4",
    ] {
        let remarks = gui.remarks(bad);
        assert!(
            remarks[0].starts_with("info string position refused"),
            "{bad}: {remarks:?}"
        );
        let lines = gui.ask("go depth 1", "bestmove");
        assert_eq!(best_of(&lines), "(none)");
    }
    gui.say("position startpos");
    assert_ne!(best_of(&gui.ask("go depth 1", "bestmove")), "(none)");
}

/// As a Python library writes the start of Suicide.
#[test]
fn castling_rights_where_nobody_castles_are_left_out_and_said() {
    let mut gui = Gui::with_material();
    gui.say("setoption name UCI_Variant value suicide");
    let fen = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
    let remarks = gui.remarks(&format!("position fen {fen} moves e2e3"));
    assert!(
        remarks[0].starts_with("info string castling rights mean nothing here"),
        "{remarks:?}"
    );
    assert_eq!(remarks.len(), 1, "{remarks:?}");
    let lines = gui.ask("d", "Legal moves");
    assert!(
        lines.iter().any(|line| line.contains(" b - - 0 1")),
        "{lines:?}"
    );
    assert_ne!(best_of(&gui.ask("go depth 1", "bestmove")), "(none)");
    // Another fault beside the rights is still one.
    let remarks = gui.remarks("position fen rnbqkbnr/8/8/8/8/8/8/K8 w KQkq - 0 1");
    assert!(
        remarks[0].starts_with("info string position refused"),
        "{remarks:?}"
    );
}

#[test]
fn finished_games_have_no_move() {
    let mut gui = Gui::with_material();
    gui.say("position fen R6k/6pp/8/8/8/8/8/K7 b - - 0 1");
    let lines = gui.ask("go movetime 100", "bestmove");
    assert_eq!(lines, ["info depth 0 score mate 0", "bestmove (none)"]);
    gui.say("position fen k7/2Q5/1K6/8/8/8/8/8 b - - 0 1");
    let lines = gui.ask("go infinite", "bestmove");
    assert_eq!(lines, ["info depth 0 score cp 0", "bestmove (none)"]);
}

#[test]
fn infinite_search_answers_only_when_stopped() {
    let mut gui = Gui::with_material();
    gui.say("position fen 7k/5Q2/6K1/8/8/8/8/8 w - - 0 1");
    gui.say("go infinite");
    // Even when there is nothing left to find.
    gui.hear_until("info depth 5");
    assert_eq!(
        gui.ask("isready", "readyok").last().expect("heard"),
        "readyok"
    );
    assert!(best_of(&gui.ask("stop", "bestmove")).starts_with("f7"));
    // Without any bound it is the same; and a new `go` ends the old search first.
    gui.say("go");
    gui.say("go depth 1");
    gui.hear_until("bestmove");
    gui.hear_until("bestmove");
}

#[test]
fn pondering_waits_for_the_hit() {
    let mut gui = Gui::with_material();
    gui.say("position startpos moves e2e4 e7e5");
    gui.say("go ponder wtime 200 btime 200");
    gui.hear_until("info depth 1");
    let answer = gui.ask("ponderhit", "bestmove");
    assert!(answer.len() < 100);
    gui.say("go ponder depth 1");
    gui.hear_until("info depth 1");
    assert!(
        gui.ask("isready", "readyok")
            .iter()
            .all(|line| !line.starts_with("bestmove"))
    );
    gui.ask("stop", "bestmove");
}

#[test]
fn clocks_are_obeyed() {
    let mut gui = Gui::with_material();
    gui.say("position startpos");
    for go in [
        "go wtime 0 btime 0",
        "go wtime -100 btime 100 winc 0",
        "go wtime 300 btime 300 winc 10 binc 10 movestogo 20",
        "go movetime 60",
        "go wtime 1 btime 1 movestogo 0",
    ] {
        let begun = Instant::now();
        gui.ask(go, "bestmove");
        assert!(begun.elapsed() < Duration::from_secs(10), "{go}");
    }
}

/// Takes its time to forget a game.
struct SlowToForget(MaterialSearcher);

impl Searcher for SlowToForget {
    fn search(
        &mut self,
        history: &History,
        limits: &SearchLimits,
        stop: &StopFlag,
        on_info: &mut dyn FnMut(&SearchInfo),
    ) -> SearchReport {
        self.0.search(history, limits, stop, on_info)
    }

    fn new_game(&mut self) {
        let (_sender, nothing) = sync_channel::<()>(1);
        let waited = nothing.recv_timeout(Duration::from_millis(300));
        assert!(waited.is_err());
    }
}

#[test]
fn readiness_waits_for_a_new_game_so_that_its_first_move_does_not() {
    let mut gui = Gui::new(Arc::new(|_| {
        Box::new(SlowToForget(MaterialSearcher::default()))
    }));
    gui.ask("isready", "readyok");
    gui.say("ucinewgame");
    let begun = Instant::now();
    gui.ask("isready", "readyok");
    assert!(begun.elapsed() >= Duration::from_millis(250));
}

#[test]
fn games_are_played_from_the_own_book_when_the_gui_wants_it() {
    let mut gui = Gui::new(Arc::new(crate::engine::new_searcher));
    gui.say("setoption name Hash value 1");
    gui.say("setoption name UCI_Variant value crazyhouse");
    let nodes = |lines: &[String]| {
        let searched = lines.iter().rev().find(|line| line.contains(" nodes "));
        searched.is_some_and(|line| !line.contains(" nodes 0 "))
    };
    for (own_book, searches) in [("false", true), ("true", false)] {
        gui.say(&format!("setoption name OwnBook value {own_book}"));
        gui.say("position startpos");
        let lines = gui.ask("go wtime 2000 btime 2000", "bestmove");
        assert_eq!(nodes(&lines), searches, "{own_book}: {lines:?}");
    }
    let lines = gui.ask("go nodes 500", "bestmove");
    assert!(nodes(&lines), "who asks for nodes gets a search: {lines:?}");
}

#[test]
fn perft_divides() {
    let mut gui = Gui::with_material();
    gui.say("setoption name UCI_Variant value capablanca");
    let lines = gui.ask("go perft 2", "Nodes searched");
    assert!(lines.contains(&"a2a3: 28".to_owned()), "{lines:?}");
    assert_eq!(lines.last().expect("heard"), "Nodes searched: 784");
    let lines = gui.ask("go perft 0", "Nodes searched");
    assert_eq!(lines.last().expect("heard"), "Nodes searched: 1");
    // A long count can be stopped.
    gui.say("go perft 30");
    gui.ask("stop", "info string perft stopped");
}

#[test]
fn bench_and_eval_have_an_answer() {
    let mut gui = Gui::with_material();
    gui.say("bench 1");
    while !gui.hear_until("")[0].ends_with(" nps") {}
    let lines = gui.ask("eval", "material");
    assert_eq!(lines, ["material: 0 cp for the side to move"]);
}

#[test]
fn chess960_castling_is_written_king_takes_rook() {
    let mut gui = Gui::with_material();
    gui.say("setoption name UCI_Chess960 value true");
    gui.say("position fen 4k3/8/8/8/8/8/8/4K2R w K - 0 1");
    let lines = gui.ask("go perft 1", "Nodes searched");
    assert!(lines.contains(&"e1h1: 1".to_owned()), "{lines:?}");
    gui.say("setoption name UCI_Chess960 value false");
    gui.say("position fen 4k3/8/8/8/8/8/8/4K2R w K - 0 1");
    let lines = gui.ask("go perft 1", "Nodes searched");
    assert!(lines.contains(&"e1g1: 1".to_owned()), "{lines:?}");
}

#[test]
fn garbage_gets_a_remark_and_changes_nothing() {
    let mut gui = Gui::with_material();
    for garbage in [
        "xyzzy",
        "go depth",
        "go wtime abc",
        "go nodes 99999999999999999999999999",
        "setoption name Hash value 99999999999",
        "setoption name Nonsense value 1",
        "setoption",
        "position",
        "\u{0}\u{1}\u{fffd}",
        "uci uci",
    ] {
        let remarks = gui.remarks(garbage);
        assert_eq!(remarks.len(), 1, "{garbage:?}: {remarks:?}");
        assert!(remarks[0].starts_with("info string "), "{remarks:?}");
    }
    assert!(gui.remarks("").is_empty());
    assert!(gui.remarks("stop").is_empty(), "nothing runs");
    assert!(gui.remarks("ponderhit").is_empty());
    assert!(gui.remarks("position startpos moves e2e4 ").is_empty());
}

#[test]
fn bytes_that_are_no_text_and_endless_lines_are_survived() {
    let mut gui = Gui::with_material();
    let writer = gui.to_engine.as_mut().expect("open");
    writer
        .write_all(b"\xff\xfe\x80go\xc3(\r\n")
        .expect("written");
    assert!(gui.hear_until("info string unknown command").len() == 1);
    let mut long = vec![b'a'; 3 << 20];
    long.push(b'\n');
    gui.to_engine
        .as_mut()
        .expect("open")
        .write_all(&long)
        .expect("written");
    let lines = gui.hear_until("info string line too long");
    assert_eq!(lines.len(), 1);
    assert_eq!(gui.ask("isready", "readyok").len(), 1);
}

#[test]
fn the_end_of_input_ends_the_search_with_its_answer() {
    let mut gui = Gui::with_material();
    gui.say("position startpos");
    gui.say("go infinite");
    gui.hear_until("info depth 1");
    let rest = gui.hang_up();
    assert!(rest.last().is_some_and(|line| line.starts_with("bestmove")));
    let mut gui = Gui::with_material();
    gui.say("quit");
    assert!(gui.hang_up().is_empty());
}

/// Notes what it is asked; panics at its first search.
struct Nervous {
    seen: Arc<Mutex<Vec<String>>>,
    config: EngineConfig,
}

impl Nervous {
    fn note(&self, text: String) {
        self.seen.lock().expect("not poisoned").push(text);
    }
}

impl Searcher for Nervous {
    fn search(
        &mut self,
        history: &History,
        limits: &SearchLimits,
        stop: &StopFlag,
        on_info: &mut dyn FnMut(&SearchInfo),
    ) -> SearchReport {
        let mib = self.config.hash_bytes >> 20;
        self.note(format!(
            "search {mib} {} {:?}",
            limits.lines(),
            limits.nodes
        ));
        assert!(limits.depth != Some(13), "test double panics as planned");
        MaterialSearcher::default().search(history, limits, stop, on_info)
    }

    fn new_game(&mut self) {
        self.note("new game".into());
    }

    fn explain(&self, _position: &Position) -> Option<String> {
        Some(format!("by {} MiB", self.config.hash_bytes >> 20))
    }
}

#[test]
fn eval_shows_what_the_options_just_set_would_play_with() {
    let mut gui = Gui::new(Arc::new(|config| {
        Box::new(Nervous {
            seen: Arc::default(),
            config: config.clone(),
        })
    }));
    gui.say("setoption name Hash value 24");
    assert_eq!(gui.ask("eval", "by"), ["by 24 MiB"]);
}

#[test]
fn options_reach_the_searcher_and_a_panic_is_survived() {
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let for_factory = Arc::clone(&seen);
    let mut gui = Gui::new(Arc::new(move |config| {
        Box::new(Nervous {
            seen: Arc::clone(&for_factory),
            config: config.clone(),
        })
    }));
    gui.say("setoption name Hash value 16");
    gui.say("setoption name MultiPV value 3");
    gui.ask("go depth 1", "bestmove");
    gui.say("ucinewgame");
    gui.say("setoption name UCI_Elo value 1000");
    gui.say("setoption name UCI_LimitStrength value true");
    gui.ask("go depth 1", "bestmove");
    let lines = gui.ask("go depth 13", "bestmove");
    assert!(lines[0].starts_with("info string error"), "{lines:?}");
    assert!(
        Position::start(Variant::Chess)
            .parse_uci(best_of(&lines))
            .is_ok()
    );
    gui.say("setoption name Clear Hash");
    gui.ask("go depth 1", "bestmove");
    gui.hang_up();
    let limited = crate::engine::strength::nodes_for(1000);
    assert_eq!(
        *seen.lock().expect("not poisoned"),
        [
            "search 16 3 None".to_owned(),
            "new game".to_owned(),
            format!("search 16 3 Some({limited})"),
            format!("search 16 3 Some({limited})"),
            "new game".to_owned(),
            format!("search 16 3 Some({limited})"),
        ]
    );
}
