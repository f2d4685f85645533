//! One daemon process, one configuration, an account on each of three platforms: all play at the same time, and when one platform's plug
//! is pulled, the others notice nothing.

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use seneschal::house::account::{AccountKind, Scopes};
use seneschal::house::fault::Loss;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::daemon_process::{Process, command, write_private};
use crate::daemon_rig::{PATIENCE, Stage, form, play_first_moves_patiently, quick_house};
use crate::fics::fake_ics::{Dialect, FakeIcs};
use crate::house::client::{Bot, Next};
use crate::plug::Plug;
use crate::pychess::fake::game::Offer;
use crate::pychess::fake::{BOT, FakePychess, TOKEN};

/// The accounts in the configuration, by platform.
const NAMES: [&str; 3] = ["house", "pychess", "ics"];
/// The account's name on the internet chess server.
const ICS_NAME: &str = "Harbor";
/// Its password.
const ICS_PASSWORD: &str = "anchor";
/// Half-moves of opponents that count as playing on.
const SOME: usize = 8;

/// Three platforms and an opponent on each, who plays one game after the other.
struct Town {
    stage: Stage,
    pychess: Arc<FakePychess>,
    ics: FakeIcs,
    /// Between the daemon and each of them.
    plugs: [Plug; 3],
    /// Half-moves that each opponent made: at the house, at PyChess, on the internet chess server.
    made: [Arc<AtomicUsize>; 3],
    opponents: JoinSet<()>,
}

impl Town {
    async fn open() -> (Town, String) {
        let stage = Stage::open(quick_house()).await;
        let token = stage
            .house
            .register("Ivory", AccountKind::Bot, Scopes::bot())
            .await;
        let token = token.expect("an account").reveal().to_owned();
        let pychess = Arc::new(FakePychess::start(Duration::from_millis(200)).await);
        let ics = FakeIcs::new(Dialect::Fics, 5);
        ics.register(ICS_NAME, ICS_PASSWORD, true);
        ics.register("Birch", "pw", false);
        let port_of = |url: &str| {
            let port = url.rsplit(':').next().and_then(|word| word.parse().ok());
            port.expect("an address with a port")
        };
        let plugs = [
            Plug::of(port_of(stage.house.base_url())).await,
            Plug::of(port_of(&pychess.url())).await,
            Plug::of(ics.listen().await).await,
        ];
        let town = Town {
            plugs,
            stage,
            pychess,
            ics,
            made: Default::default(),
            opponents: JoinSet::new(),
        };
        (town, token)
    }

    /// The opponents begin once the accounts are there.
    async fn let_them_play(&mut self) {
        let anna = self.stage.player("Anna", AccountKind::Bot).await;
        self.opponents
            .spawn(at_the_house(anna, Arc::clone(&self.made[0])));
        let (fake, made) = (Arc::clone(&self.pychess), Arc::clone(&self.made[1]));
        self.opponents.spawn(at_pychess(fake, made));
        let (ics, made) = (self.ics.clone(), Arc::clone(&self.made[2]));
        self.opponents.spawn(at_the_ics(ics, made));
    }

    fn moves(&self, platform: usize) -> usize {
        self.made[platform].load(Ordering::SeqCst)
    }

    fn playing(&self) -> [bool; 3] {
        let at_pychess = |state: &mut crate::pychess::fake::State| {
            let mut games = state.games.values();
            games.any(|game| game.is_running() && game.moves.len() >= 2)
        };
        [
            !self.stage.house.running().is_empty(),
            self.pychess.with(at_pychess),
            self.ics.games() > 0,
        ]
    }

    /// Waits until the opponents on these platforms have made some more moves.
    async fn play_on(&mut self, what: &str, platforms: &[usize]) {
        let goals: Vec<(usize, usize)> = platforms
            .iter()
            .map(|platform| (*platform, self.moves(*platform) + SOME))
            .collect();
        let begun = Instant::now();
        while goals
            .iter()
            .any(|(platform, goal)| self.moves(*platform) < *goal)
        {
            if let Some(ended) = self.opponents.try_join_next() {
                ended.expect("an opponent does not fail");
            }
            assert!(
                begun.elapsed() < 2 * PATIENCE,
                "{what}: {:?} of {goals:?}",
                self.made
            );
            sleep(Duration::from_millis(10)).await;
        }
    }
}

/// Longer than an unanswered challenge lives whose maker is not seen.
const CHALLENGE_LIFE: Duration = Duration::from_secs(25);

/// Challenges until a game comes of it. An account whose streams were cut again and again has spent its allowance for opening
/// them and is away for up to a minute; a challenge made meanwhile is shown to nobody after twenty seconds, here as on Lichess.
async fn game_with_ivory(anna: &Bot) -> String {
    let begun = Instant::now();
    loop {
        let mut events = anna.events().await;
        anna.challenge("ivory", &form("crazyhouse", "180", "2"))
            .await;
        loop {
            match events.next_within(CHALLENGE_LIFE).await {
                Next::Json(line) if line["type"] == "gameStart" => {
                    let id = line["game"]["gameId"].as_str().expect("an id");
                    return id.to_owned();
                }
                Next::Json(_) | Next::Text(_) => {}
                Next::Quiet if begun.elapsed() < 2 * PATIENCE => break,
                other => panic!("no game at the house: {other:?}"),
            }
        }
    }
}

/// Challenges and plays, again and again.
async fn at_the_house(anna: Bot, made: Arc<AtomicUsize>) {
    loop {
        let id = game_with_ivory(&anna).await;
        // Piece by piece, so that moves are counted while the game is on.
        let mut plies = 0;
        loop {
            plies += 2;
            let state = play_first_moves_patiently(&anna, &id, plies, PATIENCE).await;
            made.fetch_add(1, Ordering::SeqCst);
            if state["status"] != "started" && state["status"] != "created" {
                break;
            }
        }
    }
}

/// After this time without an answer the visitor asks again: the handler of a stream that has died swallows what comes first
/// after it, on the real server too, so that the bot never hears of that challenge.
const ASK_AGAIN: Duration = Duration::from_secs(3);

async fn at_pychess(fake: Arc<FakePychess>, made: Arc<AtomicUsize>) {
    let mut rng = SmallRng::seed_from_u64(7);
    let mut challenge: Option<(String, Instant)> = None;
    loop {
        sleep(Duration::from_millis(15)).await;
        let game = challenge.as_ref().and_then(|(id, _)| fake.game(id));
        match (game, &challenge) {
            (Some(game), _) if game.is_running() => {
                let words = game.legal_words();
                if game.on_move() != BOT && !words.is_empty() {
                    let word = &words[rng.random_range(0..words.len())];
                    fake.play(&game.id, word);
                    made.fetch_add(1, Ordering::SeqCst);
                }
            }
            (Some(_), _) => challenge = None,
            (None, Some((_, asked))) if asked.elapsed() < ASK_AGAIN => {}
            (None, Some((id, _))) => {
                fake.cancel(id);
                challenge = None;
            }
            (None, None) => {
                let offer = Offer {
                    minutes: 10.0,
                    increment: 5,
                    ..Offer::new("visitor", "capablanca")
                };
                challenge = fake.challenge(offer).ok().map(|id| (id, Instant::now()));
            }
        }
    }
}

async fn at_the_ics(ics: FakeIcs, made: Arc<AtomicUsize>) {
    let mut rng = SmallRng::seed_from_u64(9);
    let birch = ics.player("Birch");
    loop {
        sleep(Duration::from_millis(15)).await;
        if ics.games() == 0 {
            if ics.is_online(ICS_NAME) {
                // Whatever is open: an offer to go on with an adjourned game, or a new one.
                birch.send("accept");
                birch.send("match Harbor");
                birch.send("match Harbor 10 5 white crazyhouse");
                sleep(Duration::from_millis(400)).await;
            }
            continue;
        }
        let moves = birch.legal_moves();
        if !moves.is_empty() {
            birch.send(&moves[rng.random_range(0..moves.len())]);
            made.fetch_add(1, Ordering::SeqCst);
        }
    }
}

/// One configuration for all three. The next challenge comes in the moment in which the last game ends, so that one game
/// with an opponent at a time would be too few now and then.
fn configuration(dir: &Path, plugs: &[Plug; 3]) -> String {
    let dir = dir.display();
    let [house, pychess, ics] = plugs.each_ref().map(Plug::port);
    format!(
        "[daemon]\nstate_dir = \"{dir}/state\"\ndrain_timeout_s = 2\nreconcile_s = 10\n\n\
         [engine]\nhash_mib = 1\nthreads = 1\nbook_file = \"<none>\"\n\n\
         [game.time]\nmax_nodes = 60\nfirst_move_s = 0.2\n\n[game.resign]\nenabled = false\n\n\
         [lobby]\nmax_games = 3\nmax_games_per_opponent = 3\n\n\
         [accounts.house]\nplatform = \"house\"\nbase_url = \"http://127.0.0.1:{house}\"\ntoken_file = \"{dir}/house.token\"\n\n\
         [accounts.pychess]\nplatform = \"pychess\"\nbase_url = \"http://127.0.0.1:{pychess}\"\ntoken_file = \"{dir}/pychess.token\"\n\
         variants = [\"capablanca\", \"crazyhouse\"]\n\n\
         [accounts.ics]\nplatform = \"fics\"\nhost = \"127.0.0.1\"\nport = {ics}\nhandle = \"{ICS_NAME}\"\n\
         token_file = \"{dir}/ics.token\"\nvariants = [\"crazyhouse\", \"standard\"]\nreconnect_min_s = 1\nreconnect_max_s = 2\n\
         commands_per_second = 200\n"
    )
}

/// Prints what the daemon said last of each account when the test fails.
struct LogOfFailure(std::path::PathBuf);

impl Drop for LogOfFailure {
    #[expect(
        clippy::print_stderr,
        reason = "what a failing test says belongs to its output"
    )]
    fn drop(&mut self) {
        if std::thread::panicking() {
            let log = std::fs::read_to_string(&self.0).unwrap_or_default();
            for name in NAMES {
                let of = format!("account={name}");
                let lines: Vec<&str> = log.lines().filter(|line| line.contains(&of)).collect();
                let from = lines.len().saturating_sub(40);
                eprintln!("{}\n", lines[from..].join("\n"));
            }
        }
    }
}

/// Lines of the log about an account that went offline, a lost stream, or an end that nobody wanted.
fn troubles(log: &str, account: &str) -> Vec<String> {
    let bad = |line: &&str| {
        line.contains(&format!("account={account}"))
            && (line.contains("offline") || line.contains(" WARN ") || line.contains(" ERROR "))
    };
    log.lines().filter(bad).map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_platforms_play_at_once_and_one_plug_is_not_the_others_business() {
    let (mut town, house_token) = Town::open().await;
    let home = tempfile::tempdir().expect("a directory");
    let text = configuration(home.path(), &town.plugs);
    let config = home.path().join("seneschal.toml");
    std::fs::write(&config, text).expect("a configuration");
    for (name, secret) in [
        ("house", house_token.as_str()),
        ("pychess", TOKEN),
        ("ics", ICS_PASSWORD),
    ] {
        write_private(&home.path().join(format!("{name}.token")), secret);
    }
    let log_path = home.path().join("log");
    let _log = LogOfFailure(log_path.clone());
    let log = || std::fs::read_to_string(&log_path).unwrap_or_default();
    let file = std::fs::File::create(&log_path).expect("a log");
    let child = command(&config, &["run"])
        .stdout(Stdio::null())
        .stderr(file)
        .spawn()
        .expect("the daemon starts");
    let mut process = Process::of(child);
    let begun = Instant::now();
    while !NAMES
        .iter()
        .all(|account| log().contains(&format!("online account={account} ")))
    {
        assert!(begun.elapsed() < PATIENCE, "not all online:\n{}", log());
        sleep(Duration::from_millis(20)).await;
    }

    town.let_them_play().await;
    town.play_on("all together", &[0, 1, 2]).await;
    let begun = Instant::now();
    while town.playing() != [true; 3] {
        assert!(begun.elapsed() < PATIENCE, "{:?}", town.playing());
        sleep(Duration::from_millis(2)).await;
    }
    for account in NAMES {
        let found = troubles(&log(), account);
        assert!(found.is_empty(), "before any plug was pulled: {found:#?}");
    }

    // One after the other: its listener is gone, its connections break, and later it is back.
    for (platform, name) in NAMES.into_iter().enumerate() {
        let others: Vec<usize> = (0..3).filter(|other| *other != platform).collect();
        let quiet = || -> Vec<usize> {
            let count = |other: &usize| troubles(&log(), NAMES[*other]).len();
            others.iter().map(count).collect()
        };
        let before = quiet();
        town.plugs[platform].pull().await;
        let misses = |line: &String| line.contains("offline");
        let begun = Instant::now();
        while !troubles(&log(), name).iter().any(misses) {
            assert!(
                begun.elapsed() < PATIENCE,
                "{name} is not missed: {}",
                log()
            );
            sleep(Duration::from_millis(20)).await;
        }
        town.play_on(&format!("without {name}"), &others).await;
        assert_eq!(before, quiet(), "while {name} was away: {}", log());
        town.plugs[platform].put_back().await;
        town.play_on(&format!("{name} again"), &[platform]).await;
    }

    let offline = |log: &str| log.matches("offline account=ics").count();
    let before = offline(&log());
    for _ in 0..10 {
        town.stage
            .house
            .cut_streams("ivory", true, true, Loss::Reset);
        sleep(Duration::from_millis(100)).await;
    }
    town.play_on("with the house's streams cut", &[1, 2]).await;
    assert_eq!(offline(&log()), before);
    town.play_on("all again", &[0, 1, 2]).await;

    process.terminate();
    assert_eq!(process.code().await, Some(0), "{}", log());
    town.stage.expect_no_violations();
    let lost_by_illegal_move = town
        .pychess
        .with(|state| state.games.values().any(|game| game.status == 10));
    assert!(!lost_by_illegal_move);
    assert_eq!(town.pychess.most_event_streams(), 1);
}
