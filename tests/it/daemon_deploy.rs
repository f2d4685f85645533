//! What is shipped for the service manager.

use std::path::Path;
use std::process::Command;

fn unit() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/seneschal.service");
    std::fs::read_to_string(path).expect("the unit is shipped")
}

fn value<'a>(unit: &'a str, key: &str) -> Vec<&'a str> {
    let lines = unit.lines().filter_map(|line| line.strip_prefix(key));
    lines.filter_map(|rest| rest.strip_prefix('=')).collect()
}

#[test]
fn the_unit_waits_longer_than_the_longest_drain_and_restarts_by_exit_code() {
    let unit = unit();
    let config = seneschal::config::load(&seneschal::config::Sources::default());
    let drain = config
        .expect("the defaults")
        .config
        .daemon
        .drain_timeout
        .as_secs();
    let stop: u64 = value(&unit, "TimeoutStopSec")[0].parse().expect("seconds");
    assert!(stop >= drain + 30, "{stop} s for a drain of {drain} s");
    assert_eq!(value(&unit, "Type"), ["notify"]);
    assert_eq!(value(&unit, "KillSignal"), ["SIGTERM"]);
    assert_eq!(value(&unit, "RestartPreventExitStatus"), ["2"]);
    assert!(!value(&unit, "LoadCredential").is_empty());
    assert!(!unit.contains("SENESCHAL_TOKEN"), "no token in a unit");
}

#[test]
fn the_unit_is_hardened_as_far_as_a_client_of_the_network_can_be() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("seneschal.service");
    std::fs::write(&path, unit()).expect("a copy");
    let tool = Command::new("systemd-analyze")
        .args(["security", "--offline=yes", "--threshold=13"])
        .arg(&path)
        .output();
    // Without the tool there is nothing to ask; the keys below are checked all the same.
    if let Ok(output) = tool {
        let words = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{words}");
    }
    let unit = unit();
    for key in [
        "NoNewPrivileges",
        "ProtectSystem",
        "PrivateUsers",
        "MemoryDenyWriteExecute",
        "RestrictAddressFamilies",
        "SystemCallFilter",
        "DynamicUser",
    ] {
        assert!(!value(&unit, key).is_empty(), "{key}");
    }
}
