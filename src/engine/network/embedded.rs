//! The nets that are part of the program. A net is installed by putting its file into `nets/` and a line into the table.

use std::sync::{Arc, LazyLock};

use super::file::Network;
use crate::rules::Variant;

/// File contents by variant; variants that are not here use the hand-written evaluation.
const NETS: &[(Variant, &[u8])] = &[
    (Variant::Crazyhouse, include_bytes!("nets/crazyhouse.net")),
    (Variant::Capablanca, include_bytes!("nets/capablanca.net")),
    (Variant::Capahouse, include_bytes!("nets/capahouse.net")),
    (Variant::ThreeCheck, include_bytes!("nets/3check.net")),
    (
        Variant::KingOfTheHill,
        include_bytes!("nets/kingofthehill.net"),
    ),
    (Variant::Antichess, include_bytes!("nets/antichess.net")),
    (Variant::Suicide, include_bytes!("nets/suicide.net")),
    (Variant::Atomic, include_bytes!("nets/atomic.net")),
    (Variant::Horde, include_bytes!("nets/horde.net")),
    (Variant::RacingKings, include_bytes!("nets/racingkings.net")),
];

/// The embedded net of a variant.
#[must_use]
pub fn embedded(variant: Variant) -> Option<Arc<Network>> {
    static READ: LazyLock<Vec<Arc<Network>>> = LazyLock::new(|| {
        NETS.iter()
            .map(|(_, bytes)| {
                let network = Network::from_bytes(bytes);
                Arc::new(network.expect("a test reads every embedded net"))
            })
            .collect()
    });
    READ.iter()
        .find(|network| network.variant() == variant)
        .cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_embedded_net_can_be_read_and_is_of_its_variant() {
        let mut total = 0;
        for (variant, bytes) in NETS {
            let network = Network::from_bytes(bytes).expect("it can be read");
            assert_eq!(network.variant(), *variant);
            assert_eq!(embedded(*variant).map(|n| n.hash()), Some(network.hash()));
            assert!(bytes.len() <= 4 << 20, "{variant:?}: {} bytes", bytes.len());
            assert!(!network.summary().is_empty());
            total += bytes.len();
        }
        assert!(total <= 20 << 20);
    }
}
