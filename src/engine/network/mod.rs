//! Evaluation by a small network that is learned from games; see `docs/training.md` for how one is made.
//!
//! Each side's view of the position is a long list of zeros and ones ([`inputs`]); its weighted sum is the side's hidden
//! layer, which a move changes little and which is therefore kept and brought up to date ([`state`]). The values of the
//! hidden layer, clipped to 0..1 and squared, own side first, give the output by one more weighted sum.

mod embedded;
pub mod file;
pub mod inputs;
pub mod kernel;
pub mod state;

use std::path::Path;
use std::sync::Arc;

pub use embedded::embedded;
pub use file::{Network, NetworkError};
pub use state::NetworkState;

use super::own::{Choice, Owned};
use crate::rules::Variant;

/// Which networks evaluate; a variant without one has the hand-written evaluation.
pub type Networks = Choice<Network>;

impl Owned for Network {
    type Error = NetworkError;

    fn variant(&self) -> Variant {
        self.variant()
    }

    fn load(path: &Path) -> Result<Self, NetworkError> {
        Self::load(path)
    }

    fn embedded(variant: Variant) -> Option<Arc<Self>> {
        embedded(variant)
    }
}

#[cfg(test)]
mod tests {
    use super::file::Shape;
    use super::file::tests::random_network;
    use super::*;

    #[test]
    fn files_replace_the_embedded_net_of_their_variant_only() {
        let shape = Shape {
            variant: Variant::Atomic,
            hidden: 32,
            king_buckets: 1,
        };
        let network = random_network(shape, 9);
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), network.to_bytes()).expect("it can be written");
        let name = file.path().to_str().expect("a plain name");
        let networks = Networks::parse(name).expect("a net");
        let hash = networks.get(Variant::Atomic).map(|n| n.hash());
        assert_eq!(hash, Some(network.hash()));
        let own = Networks::default();
        assert_eq!(networks.get(Variant::Chess), own.get(Variant::Chess));
        assert_ne!(networks, own);
        assert_eq!(Networks::parse("<embedded>").expect("no file"), own);
        let none = Networks::parse("<none>").expect("no file");
        assert!(Variant::ALL.iter().all(|&v| none.get(v).is_none()));
        assert!(Networks::parse("/nonexistent/net").is_err());
    }
}
