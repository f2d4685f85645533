//! The example configuration is a good one.

use std::path::Path;

use seneschal::config::{self, PlatformConfig, Sources};
use seneschal::platform::fics::FicsVariant;

#[test]
fn the_example_loads_and_agrees_with_itself() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("config/example.fics.toml");
    let sources = Sources {
        files: vec![file],
        ..Sources::default()
    };
    let config = config::load(&sources).unwrap().config;
    let account = &config.accounts["fics"];
    let PlatformConfig::Fics(own) = &account.platform else {
        panic!("another platform")
    };
    own.validate().unwrap();
    // Careful where carelessness costs: no guest by accident, no points by a crash, no seal without leave.
    assert!(!own.guest && own.computer_required && !own.noescape && !own.timeseal);
    assert_eq!(
        own.variants,
        [FicsVariant::Crazyhouse, FicsVariant::Standard]
    );
    // What is advertised is also accepted.
    for seek in &own.seeks {
        assert!(own.variants.contains(&seek.variant), "{seek:?}");
    }
    assert_eq!(
        config.lobby.max_games, 1,
        "one game at a time is all there is"
    );
}
