//! A panic anywhere in the daemon must not print a secret, whatever is in its message.
//!
//! Panic hook and log belong to a whole process, so the test starts itself again as the process that panics. Nothing in the
//! daemon is made to fail by a switch: the daemon is assembled from a configuration with real secrets, and one account's client
//! is a task with a bug of the worst kind, one that puts what it holds into the message of its panic.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use seneschal::config::{Config, Sources, load};
use seneschal::daemon::assemble::{Surroundings, assemble};
use seneschal::daemon::{Shutdown, run};
use seneschal::observability::log;
use seneschal::platform::lichess::LichessConfig;
use seneschal::platform::pychess::PychessConfig;

use crate::daemon_process::write_private;

/// Set in the process that panics: where its configuration is.
const CHILD: &str = "SENESCHAL_TEST_PANIC_IN";
const TEST: &str = "daemon_panics::a_panic_with_a_secret_in_its_message_prints_none";
const TOKEN: &str = "canary_of_the_token_9f31";
/// With everything in it that texts in quotes and JSON write differently.
const PASSWORD: &str = "canary\"of\\the_password_77aa";

fn configuration(home: &Path, format: &str) -> String {
    let files = ["ivory", "onyx"].map(|name| home.join(format!("{name}.token")));
    format!(
        "[daemon]\nstate_dir = \"{0}/state\"\ndrain_timeout_s = 5\n[log]\nfilter = \"trace\"\nformat = \"{format}\"\n\
         [engine]\nhash_mib = 1\nthreads = 1\nbook_file = \"<none>\"\n\
         [accounts.ivory]\nplatform = \"house\"\nbase_url = \"http://127.0.0.1:9\"\ntoken_file = \"{1}\"\n\
         [accounts.onyx]\nplatform = \"fics\"\nhost = \"127.0.0.1\"\nport = 9\nhandle = \"onyx\"\ntoken_file = \"{2}\"\n",
        home.display(),
        files[0].display(),
        files[1].display(),
    )
}

#[test]
fn a_panic_with_a_secret_in_its_message_prints_none() {
    if let Some(home) = std::env::var_os(CHILD) {
        return panic_in_a_daemon(Path::new(&home));
    }
    for format in ["text", "json"] {
        let home = tempfile::tempdir().expect("a directory");
        write_private(&home.path().join("ivory.token"), TOKEN);
        write_private(&home.path().join("onyx.token"), PASSWORD);
        std::fs::write(
            home.path().join("seneschal.toml"),
            configuration(home.path(), format),
        )
        .expect("a configuration");
        let output = Command::new(std::env::current_exe().expect("this test"))
            .args([TEST, "--exact", "--nocapture"])
            .env(CHILD, home.path())
            .env("RUST_BACKTRACE", "1")
            .output()
            .expect("the process runs");
        let words = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(output.status.success(), "{words}");
        // The panics are told, with place, task and message, all but the secrets in them.
        for sign in [
            "panicked",
            "a bug that prints its request",
            "a bug that prints its password",
            "a bug that prints its settings",
            "a part of the daemon died",
            "tests/it/daemon_panics.rs",
            "[hidden]",
        ] {
            assert!(words.contains(sign), "no `{sign}` in\n{words}");
        }
        for part in ["canary", "of_the_token_9f31", "the_password_77aa"] {
            assert!(!words.contains(part), "`{part}` in\n{words}");
        }
    }
}

/// The process that panics: in a task of the daemon, and in a thread and a task beside it.
fn panic_in_a_daemon(home: &Path) {
    let sources = Sources {
        files: vec![home.join("seneschal.toml")],
        ..Sources::default()
    };
    let config: Config = load(&sources).expect("a configuration").config;
    let surroundings = Surroundings::default();
    log::start(&config.log, &surroundings.hidden).expect("the log starts");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let mut daemon = assemble(&config, &surroundings).await.expect("a daemon");
        let token = SecretString::from(TOKEN.to_owned());
        let request = reqwest::Client::new()
            .post("http://127.0.0.1:9/api")
            .header("Authorization", format!("Bearer {TOKEN}"))
            .body(TOKEN)
            .build()
            .expect("a request");
        daemon.accounts[0].client = Box::pin(async move {
            let bearer = request.headers().clone();
            panic!(
                "a bug that prints its request: {request:?} {bearer:?} {}",
                token.expose_secret()
            )
        });
        let report =
            tokio::time::timeout(Duration::from_secs(60), run(daemon, Shutdown::default()))
                .await
                .expect("the daemon ends");
        assert_eq!(report.died, ["client of account ivory"]);
        let settings = (
            LichessConfig::new("ivory", SecretString::from(TOKEN.to_owned())),
            PychessConfig::new("ivory", SecretString::from(TOKEN.to_owned())),
        );
        // The types of the settings themselves show nothing, hook or no hook.
        assert!(!format!("{settings:?}").contains(TOKEN));
        let task = tokio::spawn(async move {
            panic!("a bug that prints its settings: {config:?} {settings:?}")
        });
        let error = task.await.expect_err("it panics");
        tracing::error!(%error, ?error, "as the daemon tells it");
    });
    let thread = std::thread::Builder::new().name("search".to_owned());
    let thread = thread.spawn(|| panic!("a bug that prints its password: {PASSWORD:?} {PASSWORD}"));
    let joined = thread.expect("a thread").join();
    assert!(joined.is_err());
}
