//! A network and the file it is kept in.
//!
//! All numbers are little-endian.
//!
//! | bytes | meaning |
//! |---|---|
//! | 8 | `SNSNET02` |
//! | 2 | version of the input layout |
//! | 2 + n | length and UCI name of the variant |
//! | 4 | inputs per set of input weights |
//! | 2 | hidden neurons for each side's view |
//! | 1 | sets of input weights, chosen by the place of the king: 1 or 4 |
//! | 1 | sets of output weights |
//! | 2 | search units that an output of 1.0 is worth |
//! | 8 | fingerprint of the hand-written weights to whose value the output is added; 0: the output is the whole value |
//! | 2 + n | length and text of the training summary |
//! | 8 | FNV-1a of the payload |
//! | rest | payload: input weights by set, input, neuron (i16, 1.0 = 255); hidden biases (i16); output weights by set, own then enemy neurons (i16, 1.0 = 64); output biases (i32, 1.0 = 255 * 64) |
//!
//! Loading proves that no sum can overflow whatever the position: see [`NetworkError::Hidden`] and
//! [`NetworkError::Output`].

use std::path::{Path, PathBuf};

use super::inputs::{Inputs, LAYOUT_VERSION, OUTPUT_BUCKETS};
use super::kernel::{ACTIVATION_MAX, Block, LANES};
use crate::engine::evaluation::weights::weights;
use crate::rules::Variant;
use crate::with_variants;

/// First bytes of a network file.
pub const MAGIC: [u8; 8] = *b"SNSNET02";
/// Input weights and hidden biases of 1.0.
pub const HIDDEN_ONE: i32 = ACTIVATION_MAX as i32;
/// Output weights of 1.0.
pub const OUTPUT_ONE: i32 = 64;
/// Greatest absolute output weight: times 255 it fits sixteen bits.
pub const OUTPUT_WEIGHT_MAX: i16 = 127;
/// Most hidden neurons for each view.
pub const HIDDEN_MAX: usize = 2048;
const SIZE_MAX: u64 = 64 << 20;

/// The numbers of a network. All of them have been checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    pub(super) variant: Variant,
    pub(super) inputs: usize,
    pub(super) hidden: usize,
    pub(super) king_buckets: usize,
    pub(super) scale: u16,
    /// The hand-written weights that the output corrects.
    pub(super) base: Option<u64>,
    pub(super) summary: String,
    pub(super) hash: u64,
    /// By set, input, block.
    pub(super) input_weights: Vec<Block>,
    pub(super) hidden_biases: Vec<Block>,
    /// By set, own before enemy, block.
    pub(super) output_weights: Vec<Block>,
    pub(super) output_biases: [i32; OUTPUT_BUCKETS],
}

/// The numbers of a network in the order of the file, unchecked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// By set, input, neuron.
    pub input_weights: Vec<i16>,
    /// By neuron.
    pub hidden_biases: Vec<i16>,
    /// By set, own before enemy, neuron.
    pub output_weights: Vec<i16>,
    /// By set.
    pub output_biases: Vec<i32>,
}

/// Shape of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Rules whose positions it sees.
    pub variant: Variant,
    /// Hidden neurons for each view; a multiple of 32.
    pub hidden: usize,
    /// Sets of input weights by the place of the king: 1 or 4.
    pub king_buckets: usize,
}

impl Shape {
    /// Whether networks of this shape exist.
    ///
    /// # Errors
    /// If one of the numbers is out of range.
    pub const fn check(self) -> Result<(), NetworkError> {
        let hidden = self.hidden;
        if hidden == 0 || hidden > HIDDEN_MAX || !hidden.is_multiple_of(LANES) {
            return Err(NetworkError::HiddenSize(hidden));
        }
        if !matches!(self.king_buckets, 1 | 4) {
            return Err(NetworkError::KingBuckets(self.king_buckets));
        }
        Ok(())
    }
}

/// Why a network was refused.
#[derive(Debug, thiserror::Error)]
pub enum NetworkError {
    /// The file cannot be read.
    #[error("network file {path:?} cannot be read")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The file is larger than any network.
    #[error("network file {path:?} has {bytes} bytes, more than any network")]
    Size {
        /// The file.
        path: PathBuf,
        /// Its size.
        bytes: u64,
    },
    /// Not a network file, or one of another format.
    #[error("not a network file: it begins with {0:02x?}")]
    Magic(Vec<u8>),
    /// Inputs mean something else there.
    #[error("the network's inputs are of layout {0}, this program's of layout {LAYOUT_VERSION}")]
    Layout(u16),
    /// No such variant.
    #[error("the network is for {0:?}, which is no variant")]
    Variant(String),
    /// The variant has another number of inputs.
    #[error("the network has {found} inputs where {variant:?} has {wanted}")]
    Inputs {
        /// Rules.
        variant: Variant,
        /// As the file says.
        found: u32,
        /// As it must be.
        wanted: usize,
    },
    /// The number of hidden neurons is 0, too large, or no multiple of 32.
    #[error("a network cannot have {0} hidden neurons")]
    HiddenSize(usize),
    /// Neither one set of input weights nor four.
    #[error("a network cannot have {0} sets of input weights")]
    KingBuckets(usize),
    /// Not the number of sets of output weights that positions are sorted into.
    #[error("the network has {0} sets of output weights, not {OUTPUT_BUCKETS}")]
    OutputBuckets(usize),
    /// Output would be worth nothing.
    #[error("the network's scale is 0")]
    Scale,
    /// It corrects a hand-written evaluation that this program does not have.
    #[error(
        "the network corrects weights {found:016x}, this program's for {variant:?} are {wanted:016x}"
    )]
    Base {
        /// Rules.
        variant: Variant,
        /// As the file says.
        found: u64,
        /// Fingerprint of the weights in use.
        wanted: u64,
    },
    /// The file ends early, or goes on after its end.
    #[error("the network file should have {wanted} bytes from byte {at} on, and has {found}")]
    Length {
        /// Where.
        at: usize,
        /// Bytes that should follow.
        wanted: usize,
        /// Bytes that do.
        found: usize,
    },
    /// The payload was damaged.
    #[error("the network's payload has hash {found:016x} where the header says {stated:016x}")]
    Hash {
        /// As the header says.
        stated: u64,
        /// As it is.
        found: u64,
    },
    /// The number of weights does not fit the shape.
    #[error("a network of this shape has {wanted} {what}, not {found}")]
    Count {
        /// Which numbers.
        what: &'static str,
        /// As it must be.
        wanted: usize,
        /// As it is.
        found: usize,
    },
    /// The value of a hidden neuron could leave sixteen bits.
    #[error("hidden neuron {neuron} can reach {reach}, which does not fit sixteen bits")]
    Hidden {
        /// Which.
        neuron: usize,
        /// Greatest (or least) value any position can give.
        reach: i64,
    },
    /// The output sum could leave 32 bits, or a weight times 255 sixteen.
    #[error("output set {bucket} has weights up to {weight} and can reach {reach}: too much")]
    Output {
        /// Which.
        bucket: usize,
        /// Greatest absolute weight.
        weight: i64,
        /// Greatest absolute sum.
        reach: i64,
    },
}

/// FNV-1a of 64 bits.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
    })
}

macro_rules! by_variant {
    ($($name:ident),* $(,)?) => {
        /// Number of inputs of a variant.
        #[must_use]
        pub const fn inputs_of(variant: Variant) -> usize {
            match variant { $(Variant::$name => Inputs::<crate::rules::variants::$name>::COUNT),* }
        }

        /// For every input as White sees it, the same as Black sees it.
        #[must_use]
        pub fn other_view_of(variant: Variant) -> Vec<u16> {
            match variant { $(Variant::$name => Inputs::<crate::rules::variants::$name>::other_view()),* }
        }

        fn greatest_sum_of(variant: Variant, weight: &dyn Fn(usize) -> i64) -> i64 {
            match variant { $(Variant::$name => Inputs::<crate::rules::variants::$name>::greatest_sum(weight)),* }
        }
    };
}
with_variants!(by_variant);

/// Reads numbers off a byte string.
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn take(&mut self, n: usize) -> Result<&'a [u8], NetworkError> {
        let rest = &self.bytes[self.at..];
        let taken = rest.get(..n).ok_or(NetworkError::Length {
            at: self.at,
            wanted: n,
            found: rest.len(),
        })?;
        self.at += n;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], NetworkError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    fn u16(&mut self) -> Result<u16, NetworkError> {
        self.array().map(u16::from_le_bytes)
    }

    fn text(&mut self) -> Result<String, NetworkError> {
        let length = self.u16()?;
        let bytes = self.take(usize::from(length))?;
        Ok(String::from_utf8_lossy(bytes).into_owned())
    }

    fn shorts(&mut self, n: usize) -> Result<Vec<i16>, NetworkError> {
        let bytes = self.take(2 * n)?;
        Ok(bytes
            .chunks_exact(2)
            .map(|pair| i16::from_le_bytes([pair[0], pair[1]]))
            .collect())
    }
}

fn to_blocks(values: &[i16]) -> Vec<Block> {
    values
        .chunks_exact(LANES)
        .map(|chunk| Block(std::array::from_fn(|lane| chunk[lane])))
        .collect()
}

impl Network {
    /// Checks numbers and makes a network of them.
    ///
    /// # Errors
    /// If the shape is not supported, a number is missing, or a sum could overflow.
    pub fn new(
        shape: Shape,
        scale: u16,
        summary: &str,
        parts: &Parts,
    ) -> Result<Self, NetworkError> {
        let Shape {
            variant,
            hidden,
            king_buckets,
        } = shape;
        shape.check()?;
        if scale == 0 {
            return Err(NetworkError::Scale);
        }
        let inputs = inputs_of(variant);
        for (what, wanted, found) in [
            (
                "input weights",
                king_buckets * inputs * hidden,
                parts.input_weights.len(),
            ),
            ("hidden biases", hidden, parts.hidden_biases.len()),
            (
                "output weights",
                OUTPUT_BUCKETS * 2 * hidden,
                parts.output_weights.len(),
            ),
            ("output biases", OUTPUT_BUCKETS, parts.output_biases.len()),
        ] {
            if wanted != found {
                return Err(NetworkError::Count {
                    what,
                    wanted,
                    found,
                });
            }
        }
        check_hidden(shape, parts)?;
        check_output(hidden, parts)?;
        Ok(Self {
            variant,
            inputs,
            hidden,
            king_buckets,
            scale,
            base: None,
            summary: summary.to_owned(),
            hash: fnv(&payload(parts)),
            input_weights: to_blocks(&parts.input_weights),
            hidden_biases: to_blocks(&parts.hidden_biases),
            output_weights: to_blocks(&parts.output_weights),
            output_biases: std::array::from_fn(|bucket| parts.output_biases[bucket]),
        })
    }

    /// The same numbers as a correction of the hand-written evaluation in use for the variant: its value and the output
    /// are added.
    #[must_use]
    pub fn correcting(mut self) -> Self {
        self.base = Some(weights(self.variant).fingerprint());
        self
    }

    /// Reads a network file.
    ///
    /// # Errors
    /// If the file cannot be read or the network is refused.
    pub fn load(path: &Path) -> Result<Self, NetworkError> {
        let failed = |source| NetworkError::Io {
            path: path.to_owned(),
            source,
        };
        let bytes = std::fs::metadata(path).map_err(failed)?.len();
        if bytes > SIZE_MAX {
            return Err(NetworkError::Size {
                path: path.to_owned(),
                bytes,
            });
        }
        Self::from_bytes(&std::fs::read(path).map_err(failed)?)
    }

    /// Reads a network.
    ///
    /// # Errors
    /// If the bytes are no network, a damaged one, or one that this program cannot use.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, NetworkError> {
        let mut cursor = Cursor { bytes, at: 0 };
        let magic = &bytes[..bytes.len().min(MAGIC.len())];
        if magic != MAGIC {
            return Err(NetworkError::Magic(magic.to_owned()));
        }
        cursor.at = MAGIC.len();
        let layout = cursor.u16()?;
        if layout != LAYOUT_VERSION {
            return Err(NetworkError::Layout(layout));
        }
        let name = cursor.text()?;
        let variant = Variant::ALL
            .into_iter()
            .find(|variant| variant.uci_name() == name)
            .ok_or(NetworkError::Variant(name))?;
        let found = u32::from_le_bytes(cursor.array()?);
        let wanted = inputs_of(variant);
        if found as usize != wanted {
            return Err(NetworkError::Inputs {
                variant,
                found,
                wanted,
            });
        }
        let hidden = usize::from(cursor.u16()?);
        let [king_buckets, output_buckets] = cursor.array()?.map(usize::from);
        if output_buckets != OUTPUT_BUCKETS {
            return Err(NetworkError::OutputBuckets(output_buckets));
        }
        // Before anything is sized by them.
        if hidden > HIDDEN_MAX {
            return Err(NetworkError::HiddenSize(hidden));
        }
        if king_buckets > 4 {
            return Err(NetworkError::KingBuckets(king_buckets));
        }
        let scale = cursor.u16()?;
        let base = u64::from_le_bytes(cursor.array()?);
        let wanted_base = weights(variant).fingerprint();
        if base != 0 && base != wanted_base {
            return Err(NetworkError::Base {
                variant,
                found: base,
                wanted: wanted_base,
            });
        }
        let summary = cursor.text()?;
        let stated = u64::from_le_bytes(cursor.array()?);
        let start = cursor.at;
        let parts = Parts {
            input_weights: cursor.shorts(king_buckets * wanted * hidden)?,
            hidden_biases: cursor.shorts(hidden)?,
            output_weights: cursor.shorts(OUTPUT_BUCKETS * 2 * hidden)?,
            output_biases: (0..OUTPUT_BUCKETS)
                .map(|_| cursor.array().map(i32::from_le_bytes))
                .collect::<Result<_, _>>()?,
        };
        if cursor.at != bytes.len() {
            return Err(NetworkError::Length {
                at: cursor.at,
                wanted: 0,
                found: bytes.len() - cursor.at,
            });
        }
        let found = fnv(&bytes[start..]);
        if found != stated {
            return Err(NetworkError::Hash { stated, found });
        }
        let shape = Shape {
            variant,
            hidden,
            king_buckets,
        };
        let network = Self::new(shape, scale, &summary, &parts)?;
        Ok(if base == 0 {
            network
        } else {
            network.correcting()
        })
    }

    /// The network as a file holds it. A summary longer than 65,535 bytes is cut.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let payload = payload(&self.parts());
        let mut bytes = MAGIC.to_vec();
        let put_text = |bytes: &mut Vec<u8>, text: &str| {
            let text = &text.as_bytes()[..text.len().min(usize::from(u16::MAX))];
            bytes.extend((text.len() as u16).to_le_bytes());
            bytes.extend(text);
        };
        bytes.extend(LAYOUT_VERSION.to_le_bytes());
        put_text(&mut bytes, self.variant.uci_name());
        bytes.extend((self.inputs as u32).to_le_bytes());
        bytes.extend((self.hidden as u16).to_le_bytes());
        bytes.extend([self.king_buckets as u8, OUTPUT_BUCKETS as u8]);
        bytes.extend(self.scale.to_le_bytes());
        bytes.extend(self.base.unwrap_or(0).to_le_bytes());
        put_text(&mut bytes, &self.summary);
        bytes.extend(fnv(&payload).to_le_bytes());
        bytes.extend(payload);
        bytes
    }

    /// Its numbers in the order of the file.
    #[must_use]
    pub fn parts(&self) -> Parts {
        let flat = |blocks: &[Block]| blocks.iter().flat_map(|block| block.0).collect();
        Parts {
            input_weights: flat(&self.input_weights),
            hidden_biases: flat(&self.hidden_biases),
            output_weights: flat(&self.output_weights),
            output_biases: self.output_biases.to_vec(),
        }
    }

    /// Its shape.
    #[must_use]
    pub const fn shape(&self) -> Shape {
        Shape {
            variant: self.variant,
            hidden: self.hidden,
            king_buckets: self.king_buckets,
        }
    }

    /// Search units that an output of 1.0 is worth.
    #[must_use]
    pub const fn scale(&self) -> u16 {
        self.scale
    }

    /// Rules whose positions it sees.
    #[must_use]
    pub const fn variant(&self) -> Variant {
        self.variant
    }

    /// Hidden neurons for each view.
    #[must_use]
    pub const fn hidden(&self) -> usize {
        self.hidden
    }

    /// Sets of input weights.
    #[must_use]
    pub const fn king_buckets(&self) -> usize {
        self.king_buckets
    }

    /// Whether its output is added to the hand-written evaluation.
    #[must_use]
    pub const fn is_correction(&self) -> bool {
        self.base.is_some()
    }

    /// What was said about its training.
    #[must_use]
    pub fn summary(&self) -> &str {
        &self.summary
    }

    /// Identity: hash of all its numbers.
    #[must_use]
    pub const fn hash(&self) -> u64 {
        self.hash
    }
}

fn payload(parts: &Parts) -> Vec<u8> {
    let shorts = parts
        .input_weights
        .iter()
        .chain(&parts.hidden_biases)
        .chain(&parts.output_weights);
    let mut bytes: Vec<u8> = shorts.flat_map(|value| value.to_le_bytes()).collect();
    bytes.extend(parts.output_biases.iter().flat_map(|b| b.to_le_bytes()));
    bytes
}

/// Whether every hidden value fits sixteen bits in every position, as if each square could hold the worst piece.
fn check_hidden(shape: Shape, parts: &Parts) -> Result<(), NetworkError> {
    let Shape {
        variant, hidden, ..
    } = shape;
    let inputs = inputs_of(variant);
    for set in parts.input_weights.chunks_exact(inputs * hidden) {
        for neuron in 0..hidden {
            let bias = i64::from(parts.hidden_biases[neuron]);
            let weight = |input: usize| i64::from(set[input * hidden + neuron]);
            let greatest = bias + greatest_sum_of(variant, &weight);
            let least = bias - greatest_sum_of(variant, &|input| -weight(input));
            for reach in [greatest, least] {
                if i16::try_from(reach).is_err() {
                    return Err(NetworkError::Hidden { neuron, reach });
                }
            }
        }
    }
    Ok(())
}

/// Whether every output sum fits 32 bits whatever the hidden values are.
fn check_output(hidden: usize, parts: &Parts) -> Result<(), NetworkError> {
    for (bucket, weights) in parts.output_weights.chunks_exact(2 * hidden).enumerate() {
        let sizes = || weights.iter().map(|&weight| i64::from(weight).abs());
        let weight = sizes().max().unwrap_or(0);
        let reach = sizes().sum::<i64>() * i64::from(HIDDEN_ONE * HIDDEN_ONE);
        if weight > i64::from(OUTPUT_WEIGHT_MAX) || reach > i64::from(i32::MAX) {
            return Err(NetworkError::Output {
                bucket,
                weight,
                reach,
            });
        }
    }
    Ok(())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A network of random small numbers.
    pub(in super::super) fn random_network(shape: Shape, seed: u64) -> Network {
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let mut next = |limit: i64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 33) as i64 % (2 * limit + 1) - limit
        };
        let Shape {
            variant,
            hidden,
            king_buckets,
        } = shape;
        let mut shorts = |n: usize, limit: i64| (0..n).map(|_| next(limit) as i16).collect();
        let parts = Parts {
            input_weights: shorts(king_buckets * inputs_of(variant) * hidden, 60),
            hidden_biases: shorts(hidden, 200),
            output_weights: shorts(OUTPUT_BUCKETS * 2 * hidden, 90),
            output_biases: (0..OUTPUT_BUCKETS as i32).map(|n| 500 * n - 900).collect(),
        };
        Network::new(shape, 400, "random numbers", &parts).expect("small numbers pass")
    }

    const SHAPE: Shape = Shape {
        variant: Variant::Crazyhouse,
        hidden: 32,
        king_buckets: 1,
    };

    #[test]
    fn what_was_written_is_read() {
        for variant in Variant::ALL {
            for king_buckets in [1, 4] {
                let shape = Shape {
                    variant,
                    hidden: 64,
                    king_buckets,
                };
                let network = random_network(shape, 3);
                let again = Network::from_bytes(&network.to_bytes()).expect("it can be read");
                assert_eq!(again, network);
                assert_eq!(again.summary(), "random numbers");
            }
        }
    }

    #[test]
    fn corrections_belong_to_one_table_of_weights() {
        let network = random_network(SHAPE, 3).correcting();
        let mut bytes = network.to_bytes();
        let again = Network::from_bytes(&bytes).expect("it can be read");
        assert_eq!(again, network);
        assert!(again.is_correction() && !random_network(SHAPE, 3).is_correction());
        let at = 8 + 2 + 2 + 10 + 4 + 2 + 2 + 2;
        bytes[at] ^= 1;
        assert!(matches!(
            Network::from_bytes(&bytes),
            Err(NetworkError::Base {
                variant: Variant::Crazyhouse,
                ..
            })
        ));
    }

    #[test]
    fn every_damage_is_noticed() {
        let bytes = random_network(SHAPE, 1).to_bytes();
        for at in (0..bytes.len()).step_by(bytes.len() / 400).chain(0..80) {
            // In the summary and the scale a change is another header, not damage.
            let header = 8 + 2 + 2 + 10 + 4 + 2 + 2;
            let summary = header + 2 + 8;
            if (header..header + 2).contains(&at) || (summary..summary + 2 + 14).contains(&at) {
                continue;
            }
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x10;
            assert!(Network::from_bytes(&damaged).is_err(), "byte {at}");
            assert!(Network::from_bytes(&bytes[..at]).is_err(), "cut at {at}");
        }
        let mut longer = bytes.clone();
        longer.push(0);
        let error = Network::from_bytes(&longer).expect_err("a byte too many");
        assert!(matches!(error, NetworkError::Length { found: 1, .. }));
    }

    fn parts() -> Parts {
        let inputs = inputs_of(SHAPE.variant);
        Parts {
            input_weights: vec![0; inputs * 32],
            hidden_biases: vec![0; 32],
            output_weights: vec![0; OUTPUT_BUCKETS * 64],
            output_biases: vec![0; OUTPUT_BUCKETS],
        }
    }

    #[test]
    fn sums_that_could_overflow_are_refused() {
        let new = |parts: &Parts| Network::new(SHAPE, 400, "", parts);
        let mut high = parts();
        // One plane of 64 squares of 512 fills sixteen bits, and the bias of the neuron decides.
        for square in 0..64 {
            high.input_weights[square * 32 + 5] = 511;
        }
        high.hidden_biases[5] = 63;
        assert!(new(&high).is_ok());
        high.hidden_biases[5] = 64;
        assert!(matches!(
            new(&high),
            Err(NetworkError::Hidden {
                neuron: 5,
                reach: 32_768
            })
        ));
        let mut strong = parts();
        strong.output_weights[70] = 128;
        assert!(matches!(
            new(&strong),
            Err(NetworkError::Output {
                bucket: 1,
                weight: 128,
                ..
            })
        ));
        strong.output_weights[70] = -127;
        assert!(new(&strong).is_ok());
    }

    #[test]
    fn shapes_that_do_not_fit_are_refused() {
        let odd = Shape {
            hidden: 40,
            ..SHAPE
        };
        assert!(matches!(
            Network::new(odd, 400, "", &parts()),
            Err(NetworkError::HiddenSize(40))
        ));
        let three = Shape {
            king_buckets: 3,
            ..SHAPE
        };
        assert!(matches!(
            Network::new(three, 400, "", &parts()),
            Err(NetworkError::KingBuckets(3))
        ));
        let chess = Shape {
            variant: Variant::Chess,
            ..SHAPE
        };
        assert!(matches!(
            Network::new(chess, 400, "", &parts()),
            Err(NetworkError::Count { .. })
        ));
        assert!(matches!(
            Network::load(Path::new("/nonexistent/net")),
            Err(NetworkError::Io { .. })
        ));
    }
}
