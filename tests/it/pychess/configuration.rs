//! The example configuration is a good one.

use std::path::Path;

use seneschal::config::{self, PlatformConfig, Sources};
use seneschal::platform::pychess::variant_named;

#[test]
fn the_example_loads_and_names_only_variants_of_the_server() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("config/example.pychess.toml");
    let sources = Sources {
        files: vec![file],
        ..Sources::default()
    };
    let config = config::load(&sources).unwrap().config;
    let account = &config.accounts["pychess"];
    let PlatformConfig::Pychess(own) = &account.platform else {
        panic!("another platform")
    };
    assert!(!own.variants.is_empty());
    for name in &own.variants {
        assert!(variant_named(name).is_some(), "{name}");
    }
}
