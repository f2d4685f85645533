//! The daemon as a process: signals, kills, exit codes, and what it writes anywhere.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use seneschal::game::TimeControl;
use seneschal::house::HouseHandle;
use seneschal::house::account::{AccountKind, Scopes};
use seneschal::house::challenge::Terms;
use seneschal::house::load::{self, LoadPlan};
use seneschal::house::variant::HouseVariant;
use tokio::time::{Instant, sleep, timeout};

use crate::daemon_rig::{PATIENCE, Stage, form, play_first_moves, quick_house, until};
use crate::house::client::{Bot, status};

/// A directory with a configuration, tokens and state.
struct Home {
    dir: tempfile::TempDir,
}

impl Home {
    /// Accounts `ivory` and `ebony` of a house; the first one challenges if `seeking`.
    fn new(base_url: &str, tokens: &[(&str, &str)], seeking: bool) -> Home {
        let dir = tempfile::tempdir().expect("a directory");
        let mut text = format!(
            "[daemon]\nstate_dir = \"{0}/state\"\ndrain_timeout_s = 20\nreconcile_s = 10\n\n[log]\nfilter = \"trace\"\n\n\
             [engine]\nhash_mib = 1\nthreads = 1\nbook_file = \"<none>\"\n\n[game.time]\nmax_nodes = 200\nfirst_move_s = 0.2\n\n\
             [game.resign]\nenabled = false\n\n[lobby]\nmax_games = 16\nmax_games_per_opponent = 8\n\n\
             [matchmaking]\nenabled = {seeking}\ninterval_s = 1\nrematch_after_s = 0\nlist_age_s = 10\n\
             bot_games_left_for_others = 0\n\n[[matchmaking.offers]]\nvariant = \"crazyhouse\"\nclock = \"180+1\"\nrated = false\n\n\
             [[matchmaking.offers]]\nvariant = \"capablanca\"\nclock = \"180+1\"\nrated = false\n",
            dir.path().display()
        );
        for (index, (name, token)) in tokens.iter().enumerate() {
            let file = dir.path().join(format!("{name}.token"));
            write_private(&file, token);
            text.push_str(&format!(
                "\n[accounts.{name}]\nplatform = \"house\"\nbase_url = \"{base_url}\"\nmatchmaking = {}\ntoken_file = \"{}\"\n",
                index == 0,
                file.display()
            ));
        }
        std::fs::write(dir.path().join("seneschal.toml"), text).expect("a configuration");
        Home { dir }
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        command(&self.path().join("seneschal.toml"), arguments)
    }

    fn start(&self) -> Process {
        self.start_with(&[])
    }

    fn start_with(&self, arguments: &[&str]) -> Process {
        let log = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.path().join("log"))
            .expect("a log");
        let child = self
            .command(&["run"])
            .args(arguments)
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("the daemon starts");
        Process::of(child)
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.path().join("log")).unwrap_or_default()
    }
}

/// Our binary with these arguments and this configuration, without what a service manager says.
pub fn command(config: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_seneschal"));
    command
        .args(arguments)
        .arg("--config")
        .arg(config)
        .env_remove("NOTIFY_SOCKET")
        .env_remove("CREDENTIALS_DIRECTORY")
        .env_remove("STATE_DIRECTORY");
    command
}

/// Writes a file that nobody else may read.
pub fn write_private(path: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::write(path, text).expect("a file");
    let private = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(path, private).expect("a mode");
}

/// A daemon's process; killed if a test ends before it.
pub struct Process {
    child: Child,
}

impl Process {
    pub fn of(child: Child) -> Process {
        Process { child }
    }

    fn kill(&mut self) {
        // SIGKILL; a process that is gone already is fine.
        drop(self.child.kill());
        drop(self.child.wait());
    }

    pub fn terminate(&self) {
        let status = Command::new("kill")
            .args(["-TERM", &self.child.id().to_string()])
            .status()
            .expect("the signal is sent");
        assert!(status.success());
    }

    pub async fn code(&mut self) -> Option<i32> {
        let ended = async {
            loop {
                if let Some(status) = self.child.try_wait().expect("a status") {
                    return status.code();
                }
                sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(PATIENCE, ended).await.expect("the process ends")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

async fn token(house: &HouseHandle, user: &str) -> String {
    let token = house.register(user, AccountKind::Bot, Scopes::bot()).await;
    token.expect("an account").reveal().to_owned()
}

const PLAYERS: [&str; 2] = ["ivory", "ebony"];

/// Kills the daemon so many times while games are on; the times until all were resumed.
async fn kill_and_resume(kills: u32) -> Vec<Duration> {
    let stage = Stage::open(quick_house()).await;
    let (ivory, ebony) = (
        token(&stage.house, "Ivory").await,
        token(&stage.house, "Ebony").await,
    );
    let home = Home::new(
        stage.house.base_url(),
        &[("ivory", &ivory), ("ebony", &ebony)],
        true,
    );
    // A tenth of a second a move, whatever the machine can do, for all games together: so they last.
    let start = || {
        home.start_with(&[
            "--set",
            "log.filter=info",
            "--set",
            "game.time.max_nodes=0",
            "--set",
            "game.time.max_move_s=0.1",
        ])
    };
    let mut resumed = Vec::new();
    let mut process = start();
    for round in 0..kills {
        until("four games", || stage.house.running().len() >= 4).await;
        sleep(Duration::from_millis(u64::from(round * 97 % 700))).await;
        process.kill();
        until("the end of the streams", || {
            stage.game_streams(&PLAYERS) == 0
        })
        .await;
        let running = stage.house.running().len();
        process = start();
        let back = || stage.game_streams(&PLAYERS) >= 2 * running;
        resumed.push(until("all games", back).await);
    }
    // Whatever was owed when it was killed was played: every game goes on.
    let plies = |id: &String| stage.house.hall().look(id, |game, _| game.plies());
    let games = stage.house.running();
    let before: Vec<_> = games.iter().map(|id| (id, plies(id))).collect();
    until("moves in every game", || {
        let over = |id: &String| !stage.house.running().contains(id);
        let mut games = before.iter();
        games.all(|(id, then)| plies(id) >= then.map(|plies| plies + 2) || over(id))
    })
    .await;
    // The first signal drains, the second ends: the games of this test are long.
    process.terminate();
    sleep(Duration::from_millis(300)).await;
    process.terminate();
    assert_eq!(process.code().await, Some(0), "{}", home.log());
    stage.expect_no_violations();
    assert_eq!(stage.flags(), 0, "a flag fell");
    resumed
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_kill_9_every_game_is_resumed() {
    let resumed = kill_and_resume(3).await;
    let worst = resumed.iter().max().copied().unwrap_or_default();
    assert!(worst < Duration::from_secs(30), "{resumed:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "25 kills take minutes; run by hand with --ignored --nocapture on a quiet machine"]
async fn after_25_kills_every_game_was_resumed_within_three_seconds() {
    let resumed = kill_and_resume(25).await;
    let worst = resumed.iter().max().copied().unwrap_or_default();
    println!("resumed after 25 kills: {resumed:?}, worst {worst:?}");
    assert!(worst < Duration::from_secs(3));
}

/// All bytes of all files below a directory.
fn everything(dir: &Path) -> Vec<u8> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(dir).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            all.extend(everything(&path));
        } else if path.extension().is_none_or(|e| e != "token") {
            all.extend(std::fs::read(&path).expect("a file"));
        }
    }
    all
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    haystack
        .windows(needle.len())
        .any(|window| window == needle)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_token_is_found_nowhere() {
    let stage = Stage::open(quick_house()).await;
    let canary = token(&stage.house, "Ivory").await;
    let anna = Bot::register(&stage.house, "Anna").await;
    let home = Home::new(
        stage.house.base_url(),
        &[
            ("ivory", &canary),
            ("wrong", "canary_of_a_token_that_is_not_known"),
        ],
        false,
    );
    let mut process = home.start();
    stage.online("ivory").await;
    let game = stage
        .begin(&anna, "ivory", &form("crazyhouse", "60", "0"))
        .await;
    play_first_moves(&anna, &game, 6).await;
    // Errors of every kind pass through the log as well.
    stage
        .house
        .cut_streams("ivory", true, true, seneschal::house::fault::Loss::Reset);
    play_first_moves(&anna, &game, 12).await;
    let page = reqwest::Client::new()
        .get(format!("{}/", stage.house.base_url()))
        .send()
        .await
        .expect("a page")
        .text()
        .await
        .expect("text");
    let show = home
        .command(&["config", "show", "--origin"])
        .output()
        .expect("the configuration");
    anna.command(&game, "resign").await;
    process.terminate();
    // One account was refused, so the daemon says that not all was well.
    assert_eq!(process.code().await, Some(1), "{}", home.log());
    let found = everything(home.path());
    assert!(
        contains(&found, b"TRACE") || contains(&found, b"trace"),
        "the log is at trace"
    );
    assert!(
        contains(&found, game.as_bytes()),
        "tapes, log and database are among it"
    );
    for secret in [canary.as_str(), "canary_of_a_token_that_is_not_known"] {
        assert!(
            !contains(&found, secret.as_bytes()),
            "the state or the log holds a token"
        );
        assert!(!page.contains(secret));
        assert!(!contains(&show.stdout, secret.as_bytes()));
        assert!(!contains(&show.stderr, secret.as_bytes()));
    }
    assert!(show.status.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sigterm_drains_and_the_exit_code_is_zero() {
    let stage = Stage::open(quick_house()).await;
    let ivory = token(&stage.house, "Ivory").await;
    let anna = stage.player("Anna", AccountKind::Bot).await;
    let home = Home::new(stage.house.base_url(), &[("ivory", &ivory)], false);
    let mut process = home.start();
    stage.online("ivory").await;
    let game = stage
        .begin(&anna, "ivory", &form("capablanca", "60", "0"))
        .await;
    play_first_moves(&anna, &game, 4).await;
    process.terminate();
    sleep(Duration::from_millis(500)).await;
    assert!(
        process.child.try_wait().expect("a status").is_none(),
        "a game is on"
    );
    let last = play_first_moves(&anna, &game, 12).await;
    assert_eq!(status(&last), "started");
    anna.command(&game, "resign").await;
    assert_eq!(process.code().await, Some(0), "{}", home.log());
    stage.expect_no_violations();
    // The recorded tape replays.
    let tapes: Vec<_> = std::fs::read_dir(home.path().join("state/tapes"))
        .expect("tapes")
        .map(|entry| entry.expect("a tape").path())
        .collect();
    assert_eq!(tapes.len(), 1);
    let replay = Command::new(env!("CARGO_BIN_EXE_seneschal"))
        .arg("replay")
        .arg(&tapes[0])
        .output()
        .expect("a replay");
    let words = String::from_utf8_lossy(&replay.stdout).into_owned();
    assert!(
        replay.status.success() && words.ends_with(" 0 differences\n"),
        "{words}"
    );
}

#[test]
fn what_cannot_be_used_ends_with_code_2_and_says_why() {
    let home = Home::new("http://127.0.0.1:9", &[("ivory", "t")], false);
    let run = |change: &dyn Fn(&mut Command)| {
        let mut command = home.command(&["run"]);
        change(&mut command);
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the daemon starts");
        let mut words = String::new();
        let mut pipe = child.stderr.take().expect("a pipe");
        pipe.read_to_string(&mut words).expect("text");
        (child.wait().expect("a status").code(), words)
    };
    let (code, words) = run(&|c| {
        c.args(["--set", "lobby.max_games=0"]);
    });
    assert_eq!(code, Some(2));
    assert!(
        words.contains("flag --set: lobby.max_games: 0; allowed: 1 to 512"),
        "{words}"
    );
    let (code, words) = run(&|c| {
        c.env("SENESCHAL_LOBBY__MAX_GAMSE", "3");
    });
    assert_eq!(code, Some(2));
    assert!(words.contains("SENESCHAL_LOBBY__MAX_GAMSE"), "{words}");
    assert!(words.contains("did you mean `max_games`?"), "{words}");
    std::fs::remove_file(home.path().join("ivory.token")).expect("the token goes");
    let (code, words) = run(&|_| {});
    assert_eq!(code, Some(2), "{words}");
    assert!(words.contains("ivory.token"), "{words}");
}

#[test]
fn why_tells_the_rule_that_decides() {
    let home = Home::new("http://127.0.0.1:9", &[("ivory", "t")], false);
    let ask = |arguments: &[&str]| {
        let mut command = home.command(&["why"]);
        let output = command
            .args(["--account", "ivory"])
            .args(arguments)
            .output()
            .expect("an answer");
        (
            output.status.code(),
            String::from_utf8_lossy(&output.stdout).into_owned(),
        )
    };
    let (code, words) = ask(&["--variant", "capablanca960"]);
    assert_eq!(code, Some(0), "{words}");
    assert!(
        words.ends_with("welcome: accepted as soon as a slot is free\n"),
        "{words}"
    );
    let (code, words) = ask(&["--variant", "shogi", "--kind", "bot"]);
    assert_eq!(code, Some(1), "{words}");
    assert!(words.contains("declined by variant.known"), "{words}");
}

/// Resident memory of a process in KiB.
fn resident_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("a process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
    number.expect("a number")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_daemon_is_small() {
    let stage = Stage::open(quick_house()).await;
    let ivory = token(&stage.house, "Ivory").await;
    let home = Home::new(stage.house.base_url(), &[("ivory", &ivory)], false);
    let process = home.start();
    stage.online("ivory").await;
    sleep(Duration::from_secs(2)).await;
    let kib = resident_kib(process.child.id());
    println!("idle: {kib} KiB resident");
    assert!(kib < 30 * 1024, "{kib} KiB");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a load test: run by hand with --release --ignored --nocapture on a quiet machine"]
async fn sixty_four_games_at_a_time() {
    let stage = Stage::open(quick_house()).await;
    let (ivory, ebony) = (
        token(&stage.house, "Ivory").await,
        token(&stage.house, "Ebony").await,
    );
    let home = Home::new(
        stage.house.base_url(),
        &[("ivory", &ivory), ("ebony", &ebony)],
        true,
    );
    let log = home.path().join("log");
    let mut process = Process {
        child: home
            .command(&["run"])
            .args(["--set", "log.filter=warn,seneschal::daemon::supervise=info"])
            .args([
                "--set",
                "lobby.max_games=128",
                "--set",
                "accounts.ebony.matchmaking=true",
            ])
            .args([
                "--set",
                "lobby.max_games_per_opponent=64",
                "--set",
                "daemon.tapes=false",
            ])
            .args(["--set", "game.time.max_nodes=3000"])
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(&log).expect("a log"))
            .spawn()
            .expect("the daemon starts"),
    };
    let mut most = 0;
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(150) {
        most = most.max(stage.house.running().len());
        sleep(Duration::from_millis(100)).await;
    }
    let kib = resident_kib(process.child.id());
    process.terminate();
    sleep(Duration::from_secs(1)).await;
    process.terminate();
    process.code().await;
    println!("{most} games at a time, {kib} KiB resident; {}", home.log());
    stage.expect_no_violations();
}

/// 64 opponents inside the house against one account of a daemon in a process of its own, which looks at one node a move: what
/// is left is the way from the line that makes it our turn, as the house writes it, to the move as the house reads it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement: run by hand with --release --ignored --nocapture on a quiet machine"]
async fn from_the_state_at_the_house_to_the_move_at_the_house_with_64_games() {
    for pause in [1_000, 250, 0] {
        answer_times(Duration::from_millis(pause)).await;
    }
}

/// Prints how fast the daemon answers 64 opponents who think so long themselves.
#[expect(
    clippy::print_stdout,
    reason = "the figures are what the measurement is for"
)]
async fn answer_times(pause: Duration) {
    let stage = Stage::open(quick_house()).await;
    let ivory = token(&stage.house, "Ivory").await;
    let home = Home::new(stage.house.base_url(), &[("ivory", &ivory)], false);
    let mut process = home.start_with(&[
        "--set",
        "log.filter=warn,seneschal::daemon::supervise=info",
        "--set",
        "lobby.max_games=64",
        "--set",
        "daemon.tapes=false",
        "--set",
        "game.time.max_nodes=1",
    ]);
    stage.online("ivory").await;
    let terms = |key: &str| Terms {
        variant: HouseVariant::from_key(key).expect("a variant"),
        rated: false,
        time: TimeControl::clock(300, 3),
        color: None,
        fen: None,
        special: std::collections::BTreeSet::new(),
    };
    let plan = LoadPlan {
        games: 64,
        targets: vec!["ivory".to_owned()],
        terms: vec![terms("crazyhouse"), terms("capablanca")],
        pause,
        seed: 1,
    };
    let stop = tokio_util::sync::CancellationToken::new();
    let mut most = 0;
    let timer = async {
        for _ in 0..400 {
            sleep(Duration::from_millis(100)).await;
            most = most.max(stage.house.running().len());
        }
        stop.cancel();
    };
    let (ran, ()) = tokio::join!(load::run(&stage.house, &plan, &stop), timer);
    ran.expect("the load runs");
    let times = stage.house.hall().answer_times("ivory").expect("moves");
    println!(
        "opponents think {pause:?}: {most} games at a time, {} moves, answer p50 {} us, p90 {} us, p99 {} us, max {} us; {} KiB",
        times.count,
        times.p50_us,
        times.p90_us,
        times.p99_us,
        times.max_us,
        resident_kib(process.child.id())
    );
    process.terminate();
    sleep(Duration::from_secs(1)).await;
    process.terminate();
    process.code().await;
    println!("{}", home.log());
    stage.expect_no_violations();
}
