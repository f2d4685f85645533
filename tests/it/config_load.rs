//! The configuration: layers, origins, errors with their place, secrets.

use std::path::{Path, PathBuf};
use std::time::Duration;

use secrecy::ExposeSecret;
use seneschal::config::secrets::{self, SecretSource};
use seneschal::config::{self, Config, ConfigError, Loaded, Place, PlatformConfig, Sources};

/// A file in a directory of its own.
struct Written {
    _dir: tempfile::TempDir,
    path: PathBuf,
}

fn write(text: &str) -> Written {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("seneschal.toml");
    std::fs::write(&path, text).expect("a file");
    Written { _dir: dir, path }
}

fn load(
    text: &str,
    environment: &[(&str, &str)],
    flags: &[(&str, &str)],
) -> (Written, Result<Loaded, ConfigError>) {
    let file = write(text);
    let owned = |pairs: &[(&str, &str)]| {
        let pairs = pairs.iter();
        pairs
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect()
    };
    let sources = Sources {
        files: vec![file.path.clone()],
        environment: owned(environment),
        flags: owned(flags),
    };
    let loaded = config::load(&sources);
    (file, loaded)
}

/// The problems of a file as lines, with the file's name taken out.
fn problems(text: &str, environment: &[(&str, &str)], flags: &[(&str, &str)]) -> Vec<String> {
    let (file, loaded) = load(text, environment, flags);
    let error = loaded.expect_err("a bad configuration");
    let name = file.path.display().to_string();
    let lines = error.problems.iter();
    lines
        .map(|p| p.to_string().replace(&name, "FILE"))
        .collect()
}

fn defaults() -> Config {
    config::load(&Sources::default())
        .expect("the defaults are good")
        .config
}

/// The file with its example accounts switched on.
fn with_examples() -> String {
    let lines = config::DEFAULTS
        .lines()
        .map(|line| match line.strip_prefix('#') {
            Some(rest) if !rest.is_empty() && !rest.starts_with(' ') => rest,
            _ => line,
        });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_shipped_file_has_every_key_and_the_defaults_of_the_code() {
    let in_file: toml::Table = config::DEFAULTS.parse().expect("TOML");
    let sections = config::Sections::default();
    let json = serde_json::to_value(&sections).expect("plain values");
    let mut missing = Vec::new();
    compare(&json, Some(&toml::Value::Table(in_file)), "", &mut missing);
    assert_eq!(missing, Vec::<String>::new());
    // And nothing but: unknown keys are errors.
    assert_eq!(defaults().game, seneschal::game::GamePolicy::default());
    assert_eq!(defaults().lobby, seneschal::lobby::LobbyPolicy::default());
    assert_eq!(
        defaults().matchmaking,
        seneschal::lobby::MatchmakingPolicy::default()
    );
}

/// Every value of the code must be in the file, and equal.
fn compare(
    code: &serde_json::Value,
    file: Option<&toml::Value>,
    key: &str,
    wrong: &mut Vec<String>,
) {
    match (code, file) {
        (serde_json::Value::Object(fields), file) => {
            for (name, inner) in fields {
                let key = format!("{key}.{name}");
                if key == ".accounts" {
                    continue;
                }
                compare(inner, file.and_then(|f| f.get(name)), &key, wrong);
            }
        }
        (serde_json::Value::Array(items), Some(toml::Value::Array(found)))
            if items.len() == found.len() =>
        {
            for (index, (item, found)) in items.iter().zip(found).enumerate() {
                compare(item, Some(found), &format!("{key}[{index}]"), wrong);
            }
        }
        (code, Some(found)) => {
            let found = serde_json::to_value(found).expect("plain values");
            let same = match (code.as_f64(), found.as_f64()) {
                (Some(a), Some(b)) => a == b,
                _ => *code == found,
            };
            if !same {
                wrong.push(format!("{key}: the code has {code}, the file {found}"));
            }
        }
        (_, None) => wrong.push(format!("{key} is missing")),
    }
}

#[test]
fn the_examples_of_the_shipped_file_load_and_show_every_key_of_their_platform() {
    let text = with_examples();
    let (_file, loaded) = load(&text, &[], &[]);
    let config = loaded.expect("the examples are good").config;
    assert_eq!(config.accounts.len(), 4);
    let table: toml::Table = text.parse().expect("TOML");
    let keys = |account: &str| -> Vec<String> {
        table["accounts"][account]
            .as_table()
            .expect("a table")
            .keys()
            .cloned()
            .collect()
    };
    for (account, code) in [
        (
            "lichess_example",
            serde_json::to_value(config::accounts::LichessSection::default()),
        ),
        (
            "lichess_example",
            serde_json::to_value(config::accounts::CommonSection::default()),
        ),
        (
            "pychess_example",
            serde_json::to_value(config::accounts::PychessSection::default()),
        ),
    ] {
        let code = code.expect("plain values");
        for key in code.as_object().expect("an object").keys() {
            assert!(keys(account).contains(key), "{account} lacks {key}");
        }
    }
}

#[test]
fn the_shipped_examples_of_platforms_load() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("config");
    let mut examples = 0;
    for entry in std::fs::read_dir(dir).expect("config/") {
        let path = entry.expect("an entry").path();
        let sources = Sources {
            files: vec![path.clone()],
            ..Sources::default()
        };
        let loaded = config::load(&sources);
        assert!(
            loaded.is_ok(),
            "{}: {}",
            path.display(),
            loaded.expect_err("bad")
        );
        examples += 1;
    }
    assert!(examples >= 2, "{examples}");
}

#[test]
fn later_layers_win_and_everything_knows_its_origin() {
    let text =
        "\n[lobby]\nmax_games = 5\novercommit = 1\n\n[accounts.main]\nplatform = \"lichess\"\n";
    let (file, loaded) = load(
        text,
        &[
            ("SENESCHAL_LOBBY__OVERCOMMIT", "3"),
            ("SENESCHAL_LOBBY__RESERVED_FOR_HUMANS", "2"),
            ("SENESCHAL_ACCOUNTS__MAIN__MAX_GAMES", "9"),
            ("SENESCHAL_LOBBY__ACCEPT__VARIANTS", "[\"atomic\"]"),
            ("SENESCHAL_TOKEN_MAIN", "not a key"),
            ("SENESCHAL_CONFIG", "not a key"),
            ("LOBBY__MAX_GAMES", "1"),
        ],
        &[
            ("lobby.reserved_for_humans", "1"),
            ("daemon.state_dir", "/tmp/x"),
        ],
    );
    let loaded = loaded.expect("good layers");
    let config = &loaded.config;
    assert_eq!(config.lobby.max_games, 5);
    assert_eq!(config.lobby.overcommit, 3);
    assert_eq!(config.lobby.reserved_for_humans, 1);
    assert_eq!(config.lobby.lease, Duration::from_secs(25));
    assert_eq!(config.lobby.accept.variants, ["atomic"]);
    assert_eq!(config.accounts["main"].common.max_games, 9);
    assert_eq!(config.daemon.state_dir, Path::new("/tmp/x"));
    let place = |key: &str| {
        let shown = loaded.shown.iter().find(|s| s.key == key);
        shown
            .unwrap_or_else(|| panic!("{key} is not shown"))
            .place
            .clone()
    };
    let line = |line| Place::File {
        path: file.path.clone(),
        line: Some(line),
    };
    assert_eq!(place("lobby.max_games"), line(3));
    assert_eq!(place("accounts.main.platform"), line(7));
    assert_eq!(place("lobby.lease_s"), Place::Default);
    assert_eq!(place("lobby.reserved_for_humans"), Place::Flag);
    assert_eq!(
        place("lobby.overcommit"),
        Place::Environment("SENESCHAL_LOBBY__OVERCOMMIT".to_owned())
    );
}

#[test]
fn a_problem_names_file_line_key_and_what_is_allowed() {
    assert_eq!(
        problems("[lobby]\n\nmax_games = 900\n", &[], &[]),
        ["FILE:3: lobby.max_games: 900; allowed: 1 to 512"]
    );
    // All at once, each with its own place.
    let text = "[game.chat]\nhello = \"Hi {opponent]\"\n[game.resign]\nmoves = 0\n[[matchmaking.offers]]\nclock = \"100+0\"\n";
    let found = problems(
        text,
        &[("SENESCHAL_LOBBY__QUEUE_S", "61")],
        &[("lobby.lease_s", "1")],
    );
    assert_eq!(found.len(), 5, "{found:#?}");
    assert!(
        found[0].starts_with("FILE:4: game.resign.moves: 0; allowed: 1 to 100"),
        "{found:#?}"
    );
    assert!(
        found[1].starts_with("FILE:2: game.chat.hello: "),
        "{found:#?}"
    );
    assert!(
        found[2].starts_with(
            "environment variable SENESCHAL_LOBBY__QUEUE_S: lobby.queue_s: 61; allowed: 0 to 60"
        ),
        "{found:#?}"
    );
    assert!(
        found[3].starts_with("flag --set: lobby.lease_s: 1; allowed: 5 to 120"),
        "{found:#?}"
    );
    assert!(
        found[4].starts_with("FILE:6: matchmaking.offers[0].clock: `100+0`; allowed: "),
        "{found:#?}"
    );
}

#[test]
fn a_value_of_the_wrong_kind_names_its_place() {
    let found = problems("[lobby]\nmax_games = \"many\"\n", &[], &[]);
    assert!(
        found[0].starts_with("FILE:2: lobby.max_games: invalid type"),
        "{found:#?}"
    );
    let found = problems("", &[("SENESCHAL_LOBBY__MAX_GAMES", "many")], &[]);
    let place = "environment variable SENESCHAL_LOBBY__MAX_GAMES: lobby.max_games: ";
    assert!(found[0].starts_with(place), "{found:#?}");
    let found = problems("[lobby.accept]\nspeeds = [\"blitz\", \"fast\"]\n", &[], &[]);
    assert!(
        found[0].starts_with("FILE:2: lobby.accept.speeds[1]: "),
        "{found:#?}"
    );
}

#[test]
fn an_unknown_key_is_an_error_with_a_suggestion() {
    assert_eq!(
        problems("[lobby]\nmax_gmaes = 3\n", &[], &[]),
        ["FILE:2: lobby.max_gmaes: unknown key; did you mean `max_games`?"]
    );
    assert_eq!(
        problems("[lobbby]\nmax_games = 3\n", &[], &[]),
        ["FILE:1: lobbby: unknown key; did you mean `lobby`?"]
    );
    let found = problems(
        "[accounts.main]\nplatform = \"lichess\"\nbase_ulr = \"x\"\n",
        &[],
        &[],
    );
    assert_eq!(
        found,
        ["FILE:3: accounts.main.base_ulr: unknown key; did you mean `base_url`?"]
    );
    // A key of another platform is unknown as well.
    let found = problems(
        "[accounts.main]\nplatform = \"pychess\"\nupgrade_to_bot = true\n",
        &[],
        &[],
    );
    assert!(
        found[0].starts_with("FILE:3: accounts.main.upgrade_to_bot: unknown key"),
        "{found:#?}"
    );
}

#[test]
fn what_is_no_toml_names_the_line() {
    let found = problems("[lobby]\nmax_games = \n", &[], &[]);
    assert!(found[0].starts_with("FILE:2: is not TOML: "), "{found:#?}");
    let sources = Sources {
        files: vec![PathBuf::from("/nowhere/at/all.toml")],
        ..Sources::default()
    };
    let error = config::load(&sources)
        .expect_err("no such file")
        .to_string();
    assert!(
        error.starts_with("/nowhere/at/all.toml: cannot be read: "),
        "{error}"
    );
}

#[test]
fn accounts_are_checked() {
    let found = problems(
        "[accounts.main]\nplatform = \"lichess\"\ntoken = \"lip_secret\"\n",
        &[],
        &[],
    );
    assert!(
        found[0].starts_with(
            "FILE:3: accounts.main.token: secrets are not written into the configuration"
        ),
        "{found:#?}"
    );
    assert!(!found[0].contains("lip_secret"));
    for (text, words) in [
        (
            "[accounts.main]\nenabled = true\n",
            "accounts.main.platform: is missing",
        ),
        (
            "[accounts.main]\nplatform = \"lichss\"\n",
            "did you mean `lichess`?",
        ),
        (
            "[accounts.main]\nplatform = \"house\"\n",
            "accounts.main.base_url",
        ),
        (
            "[accounts.main]\nplatform = \"lichess\"\nbase_url = \"http://example.org\"\n",
            "accounts.main.base_url: `http://example.org`",
        ),
        (
            "[accounts.Main]\nplatform = \"lichess\"\n",
            "is not a name for an account",
        ),
        (
            "[accounts.main]\nplatform = \"pychess\"\nvariants = [\"shogi\"]\n",
            "accounts.main.variants[0]: `shogi`",
        ),
    ] {
        let found = problems(text, &[], &[]);
        assert!(found[0].contains(words), "{found:#?}");
    }
    let good = "[accounts.main]\nplatform = \"house\"\nbase_url = \"http://127.0.0.1:9000\"\n";
    let config = load(good, &[], &[]).1.expect("good").config;
    let PlatformConfig::House(own) = &config.accounts["main"].platform else {
        panic!("{:?}", config.accounts);
    };
    assert_eq!(own.base_url, "http://127.0.0.1:9000");
}

fn source<'a>(file: Option<&'a Path>, dir: Option<&'a Path>) -> SecretSource<'a> {
    SecretSource {
        account: "my-bot",
        file,
        credential: None,
        credentials_dir: dir,
    }
}

#[test]
fn a_token_comes_from_environment_credential_or_file_in_this_order() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("token");
    std::fs::write(&file, "from_file\n").expect("a file");
    let mode = |mode| std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode));
    mode(0o600).expect("a mode");
    let nothing = |_: &str| None;
    let token = secrets::find(&source(Some(&file), None), nothing).expect("a token");
    assert_eq!(token.expose_secret(), "from_file");
    assert!(!format!("{token:?}").contains("from_file"));

    std::fs::write(dir.path().join("my-bot.token"), "from_credential").expect("a file");
    let token = secrets::find(&source(Some(&file), Some(dir.path())), nothing).expect("a token");
    assert_eq!(token.expose_secret(), "from_credential");

    // As systemd names it when it loads a directory.
    let whole = dir.path().join("whole");
    std::fs::create_dir(&whole).expect("a directory");
    std::fs::write(whole.join("seneschal_my-bot.token"), "from_directory").expect("a file");
    let token = secrets::find(&source(Some(&file), Some(&whole)), nothing).expect("a token");
    assert_eq!(token.expose_secret(), "from_directory");

    let variable = |name: &str| (name == "SENESCHAL_TOKEN_MY_BOT").then(|| "from_env".to_owned());
    let token = secrets::find(&source(Some(&file), Some(dir.path())), variable).expect("a token");
    assert_eq!(token.expose_secret(), "from_env");

    mode(0o644).expect("a mode");
    let error = secrets::find(&source(Some(&file), None), nothing).expect_err("exposed");
    assert!(error.to_string().contains("mode 644"), "{error}");

    mode(0o600).expect("a mode");
    std::fs::write(&file, "two words\n").expect("a file");
    let error = secrets::find(&source(Some(&file), None), nothing).expect_err("malformed");
    assert!(!error.to_string().contains("two words"), "{error}");

    let error = secrets::find(&source(None, None), nothing)
        .expect_err("missing")
        .to_string();
    for place in [
        "SENESCHAL_TOKEN_MY_BOT",
        "my-bot.token",
        "accounts.my-bot.token_file",
    ] {
        assert!(error.contains(place), "{error}");
    }
}
