//! Positions of recorded games as lists of inputs, in memory.

use std::path::Path;

use super::TrainError;
use crate::engine::evaluation::evaluate;
use crate::engine::evaluation::weights::weights;
use crate::engine::network::file::other_view_of;
use crate::engine::network::inputs::{Changes, Inputs};
use crate::engine::training::record::{GameRecord, Reader};
use crate::rules::bits::Bits;
use crate::rules::pos::Pos;
use crate::rules::variants::Rules;
use crate::rules::{Color, Position, Role, Variant};
use crate::with_pos;

/// A position: where its inputs are, and what is to be learnt of it.
#[derive(Clone, Copy, Debug)]
struct Item {
    start: u32,
    score: i16,
    by_hand: i16,
    n: u8,
    /// Game result for the side to move: 0 lost, 1 drawn, 2 won.
    result: u8,
    turn: Color,
    bucket: u8,
    sets: [u8; 2],
    /// No right to castle is left, so that the mirrored position is as good.
    may_mirror: bool,
}

/// What the trainer sees of a position.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'a> {
    /// Inputs as White sees them.
    pub inputs: &'a [u16],
    /// Maps an input to that of the side to move and of the other side.
    pub maps: [&'a [u16]; 2],
    /// Sets of input weights of the side to move and of the other side.
    pub sets: [u8; 2],
    /// Set of output weights.
    pub bucket: u8,
    /// Score from the search, from the side to move, in search units.
    pub score: i16,
    /// Hand-written evaluation, from the side to move, in search units.
    pub by_hand: i16,
    /// Result for the side to move: 0, 0.5 or 1.
    pub result: f32,
}

/// Positions of one variant.
#[derive(Debug)]
pub struct Samples {
    inputs: Vec<u16>,
    items: Vec<Item>,
    /// Games read.
    pub games: u64,
    choice: Choice,
    maps: Maps,
}

/// Ways to see an input: by White, by Black, and both with the files reversed.
#[derive(Debug)]
struct Maps {
    plain: [Vec<u16>; 2],
    mirrored: [Vec<u16>; 2],
}

impl Maps {
    fn new(variant: Variant) -> Self {
        let other = other_view_of(variant);
        let files = usize::from(variant.files());
        let identity: Vec<u16> = (0..other.len() as u16).collect();
        let start = Position::start(variant);
        let on_squares = with_pos!(start.any(), pos => square_inputs(pos));
        let mirrored: Vec<u16> = identity
            .iter()
            .map(|&input| {
                let index = usize::from(input);
                if index >= on_squares {
                    return input;
                }
                let file = index % files;
                (index - file + files - 1 - file) as u16
            })
            .collect();
        let other_mirrored = other.iter().map(|&i| mirrored[usize::from(i)]).collect();
        Self {
            plain: [identity, other],
            mirrored: [mirrored, other_mirrored],
        }
    }
}

/// Number of inputs that belong to a square; they come first.
fn square_inputs<R: Rules>(_: &Pos<R>) -> usize {
    Inputs::<R>::HANDS_AT
}

/// Which positions are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Rules.
    pub variant: Variant,
    /// Sets of input weights by the place of the king.
    pub king_buckets: usize,
    /// Greatest absolute score, in search units.
    pub score_max: i16,
}

impl Samples {
    /// None yet.
    #[must_use]
    pub fn new(choice: Choice) -> Self {
        Self {
            inputs: Vec::new(),
            items: Vec::new(),
            games: 0,
            choice,
            maps: Maps::new(choice.variant),
        }
    }

    /// Number of positions.
    #[must_use]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// A position, with the files reversed if that is wanted and right.
    #[inline(always)]
    #[must_use]
    pub fn get(&self, index: usize, mirror: bool) -> Sample<'_> {
        let item = &self.items[index];
        let mirror = mirror && item.may_mirror;
        let maps = if mirror {
            &self.maps.mirrored
        } else {
            &self.maps.plain
        };
        let (own, enemy) = (item.turn.index(), (!item.turn).index());
        let set = |view: usize| {
            let set = item.sets[view];
            // The first two sets are the left and the right half of the first rank.
            if mirror && set < 2 && self.choice.king_buckets > 1 {
                1 - set
            } else {
                set
            }
        };
        Sample {
            inputs: &self.inputs[item.start as usize..][..usize::from(item.n)],
            maps: [&maps[own], &maps[enemy]],
            sets: [set(own), set(enemy)],
            bucket: item.bucket,
            score: item.score,
            by_hand: item.by_hand,
            result: f32::from(item.result) / 2.0,
        }
    }

    /// Adds the usable positions of a game.
    pub fn add_game(&mut self, game: &GameRecord) {
        self.games += 1;
        let choice = self.choice;
        let winner = game.result.winner();
        let replayed = game.replay(|position, ply| {
            if !ply.usable || ply.score.unsigned_abs() > choice.score_max.unsigned_abs() {
                return;
            }
            let turn = position.turn();
            let result = match winner {
                None => 1,
                Some(color) if color == turn => 2,
                Some(_) => 0,
            };
            with_pos!(position.any(), pos => self.add(pos, ply.score, result));
        });
        // A record that does not replay was made by other rules; what came before the break is still good.
        if let Err(ply) = replayed {
            tracing::warn!(
                ply,
                "a game record holds an illegal move; the rest of it is left out"
            );
        }
    }

    fn add<R: Rules>(&mut self, pos: &Pos<R>, score: i16, result: u8) {
        let king_buckets = self.choice.king_buckets;
        let mut changes = Changes::default();
        Inputs::<R>::list(pos, &mut changes);
        let inputs = changes.added(Color::White);
        let start = self.inputs.len();
        let may_mirror = Color::ALL.into_iter().all(|color| {
            pos.castling_rook(color, false).is_none()
                && pos.castling_rook(color, true).is_none()
                && (king_buckets == 1 || pos.pieces(color, Role::King).any())
        });
        self.items.push(Item {
            start: start as u32,
            score,
            by_hand: evaluate(pos, weights(R::VARIANT)) as i16,
            n: inputs.len() as u8,
            result,
            turn: pos.turn(),
            bucket: Inputs::<R>::output_bucket(pos) as u8,
            sets: Color::ALL.map(|view| Inputs::<R>::king_bucket(pos, view, king_buckets) as u8),
            may_mirror,
        });
        self.inputs.extend_from_slice(inputs);
    }

    /// Reads files of games. Of every `held_back` games one goes into the second set, which is for validation.
    ///
    /// # Errors
    /// If a file cannot be read, or there are more positions than can be numbered.
    pub fn read(
        paths: &[impl AsRef<Path>],
        choice: Choice,
        held_back: u64,
        limit: usize,
    ) -> Result<[Self; 2], TrainError> {
        let mut sets = [Self::new(choice), Self::new(choice)];
        let mut n: u64 = 0;
        for path in paths {
            for game in Reader::open(path.as_ref())? {
                let game = game?;
                if game.start.variant() != choice.variant {
                    continue;
                }
                n += 1;
                let set = usize::from(n.is_multiple_of(held_back));
                sets[set].add_game(&game);
                if sets[set].inputs.len() > u32::MAX as usize - (1 << 20) {
                    return Err(TrainError::TooManyPositions);
                }
                if sets[0].len() >= limit {
                    return Ok(sets);
                }
            }
        }
        Ok(sets)
    }

    /// The scale at which `sigmoid(score / scale)` foretells the results best.
    #[must_use]
    pub fn best_scale(&self) -> f32 {
        let step = (self.items.len() / 300_000).max(1);
        let loss = |scale: f64| {
            let items = self.items.iter().step_by(step);
            items
                .map(|item| {
                    let expected = 1.0 / (1.0 + (-f64::from(item.score) / scale).exp());
                    let result = f64::from(item.result) / 2.0;
                    let expected = expected.clamp(1e-9, 1.0 - 1e-9);
                    -(result * expected.ln() + (1.0 - result) * (1.0 - expected).ln())
                })
                .sum::<f64>()
        };
        // The loss has one minimum; thirds close in on it.
        let (mut low, mut high) = (20.0_f64, 4_000.0_f64);
        while high - low > 1.0 {
            let (a, b) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
            if loss(a) < loss(b) {
                high = b;
            } else {
                low = a;
            }
        }
        f64::midpoint(low, high).round() as f32
    }
}
