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

use crate::rules::Variant;

/// Which networks are used: the program's own, unless replaced or switched off.
#[derive(Clone, Debug, Default)]
pub struct Networks {
    replaced: Vec<Arc<Network>>,
    without_own: bool,
}

impl Networks {
    /// None at all: the hand-written evaluation for every variant.
    #[must_use]
    pub const fn none() -> Self {
        Self {
            replaced: Vec::new(),
            without_own: true,
        }
    }

    /// Uses a network for its variant, in place of any other.
    #[must_use]
    pub fn with(mut self, network: Arc<Network>) -> Self {
        self.replaced
            .retain(|other| other.variant() != network.variant());
        self.replaced.push(network);
        self
    }

    /// Reads the text form: `<embedded>` or nothing for the program's own, `<none>` for none, or files with `;` between
    /// them, which replace the program's own for their variants.
    ///
    /// # Errors
    /// If a file cannot be read or is refused.
    pub fn parse(text: &str) -> Result<Self, NetworkError> {
        let mut networks = Self::default();
        match text.trim() {
            "" | "<embedded>" => {}
            "<none>" | "none" => return Ok(Self::none()),
            files => {
                for file in files.split(';').map(str::trim).filter(|f| !f.is_empty()) {
                    networks = networks.with(Arc::new(Network::load(Path::new(file))?));
                }
            }
        }
        Ok(networks)
    }

    /// The network of a variant; `None`: the hand-written evaluation.
    #[must_use]
    pub fn get(&self, variant: Variant) -> Option<Arc<Network>> {
        self.replaced
            .iter()
            .find(|network| network.variant() == variant)
            .cloned()
            .or_else(|| {
                if self.without_own {
                    None
                } else {
                    embedded(variant)
                }
            })
    }
}

impl PartialEq for Networks {
    fn eq(&self, other: &Self) -> bool {
        let hash = |variant| (self.get(variant), other.get(variant));
        Variant::ALL.into_iter().all(|variant| {
            let (mine, theirs) = hash(variant);
            mine.map(|network| network.hash()) == theirs.map(|network| network.hash())
        })
    }
}

impl Eq for Networks {}

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
