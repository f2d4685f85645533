//! Files of self-played games with the score of every position.
//!
//! A file is [`MAGIC`] and then records: length of the body and its checksum (both little-endian `u32`), and the body:
//! variant (`u8`), result (`u8`: 0 Black won, 1 draw, 2 White won), length of the start FEN (`u16`), the FEN, number of plies
//! (`u16`), and for each ply the move (`u16`), the score of the position before it from the mover's side in search units
//! (`i16`), and flags (`u8`; bit 0: fit for training). A torn record at the end, left by a crash, is cut off when the file is
//! opened for writing and ends the reading.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::rules::{CastlingMode, Color, Move, Outcome, Position, Variant};

/// First bytes of a file.
pub const MAGIC: &[u8; 8] = b"SNSGAME1";
/// No record is longer; a length beyond it is damage.
const MAX_BODY: u32 = 1 << 16;

/// One half-move of a game.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlyRecord {
    /// Move played.
    pub m: Move,
    /// Score of the position before it, from the mover's side.
    pub score: i16,
    /// The position is quiet enough to learn from.
    pub usable: bool,
}

/// One game.
#[derive(Clone, Debug)]
pub struct GameRecord {
    /// Position the game began from; knows its variant.
    pub start: Position,
    /// Result.
    pub result: Outcome,
    /// Moves and scores.
    pub plies: Vec<PlyRecord>,
}

/// Why a file of games could not be read.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file could not be opened, read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        source: io::Error,
    },
    /// The file does not begin with [`MAGIC`].
    #[error("{path} is no file of game records")]
    Magic {
        /// The file.
        path: PathBuf,
    },
    /// A record is damaged.
    #[error("{path}: the record at byte {offset} is damaged: {what}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where the record begins.
        offset: u64,
        /// What is wrong with it.
        what: String,
    },
}

fn checksum(body: &[u8]) -> u32 {
    body.iter().fold(0x811C_9DC5, |hash, &byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

impl GameRecord {
    fn encode(&self) -> Vec<u8> {
        let fen = self.start.fen();
        let mut body = vec![
            self.start.variant() as u8,
            match self.result.winner() {
                Some(Color::Black) => 0,
                None => 1,
                Some(Color::White) => 2,
            },
        ];
        body.extend((fen.len() as u16).to_le_bytes());
        body.extend(fen.as_bytes());
        body.extend((self.plies.len() as u16).to_le_bytes());
        for ply in &self.plies {
            body.extend(ply.m.0.to_le_bytes());
            body.extend(ply.score.to_le_bytes());
            body.push(u8::from(ply.usable));
        }
        body
    }

    fn decode(body: &[u8]) -> Result<Self, String> {
        let mut rest = body;
        let mut take = |n: usize| -> Result<&[u8], String> {
            let (head, tail) = rest
                .split_at_checked(n)
                .ok_or_else(|| format!("{n} more bytes were expected"))?;
            rest = tail;
            Ok(head)
        };
        let number = |bytes: &[u8]| u16::from_le_bytes([bytes[0], bytes[1]]);
        let code = take(1)?[0];
        let variant = *Variant::ALL
            .get(usize::from(code))
            .ok_or_else(|| format!("variant number {code}"))?;
        let result = match take(1)?[0] {
            0 => Outcome::win(Color::Black),
            1 => Outcome::Draw,
            2 => Outcome::win(Color::White),
            other => return Err(format!("result number {other}")),
        };
        let length = usize::from(number(take(2)?));
        let fen = std::str::from_utf8(take(length)?).map_err(|e| e.to_string())?;
        let start = Position::from_fen(variant, CastlingMode::Chess960, fen)
            .map_err(|e| format!("start position {fen:?}: {e}"))?;
        let count = usize::from(number(take(2)?));
        let mut plies = Vec::with_capacity(count);
        for _ in 0..count {
            let bytes = take(5)?;
            plies.push(PlyRecord {
                m: Move(number(bytes)),
                score: number(&bytes[2..]) as i16,
                usable: bytes[4] & 1 != 0,
            });
        }
        Ok(Self {
            start,
            result,
            plies,
        })
    }

    /// Calls `visit` with every position of the game before its move. Stops at a move that is not legal, which is an error
    /// of the record.
    ///
    /// # Errors
    /// The number of the offending half-move.
    pub fn replay(&self, mut visit: impl FnMut(&Position, &PlyRecord)) -> Result<(), usize> {
        let mut position = self.start.clone();
        for (n, ply) in self.plies.iter().enumerate() {
            if !position.is_legal(ply.m) {
                return Err(n);
            }
            visit(&position, ply);
            position.play_unchecked(ply.m);
        }
        Ok(())
    }
}

/// Appends games to a file.
#[derive(Debug)]
pub struct Writer {
    path: PathBuf,
    file: BufWriter<File>,
}

impl Writer {
    /// Opens or begins a file; a torn record at its end is cut off. The second value is the number of games already there.
    ///
    /// # Errors
    /// If the file cannot be opened or is something else.
    pub fn open(path: &Path) -> Result<(Self, u64), RecordError> {
        let io = |source| RecordError::Io {
            path: path.to_owned(),
            source,
        };
        let mut games = 0;
        let mut good_end = 0;
        let exists = path.metadata().is_ok_and(|meta| meta.len() > 0);
        if exists {
            let mut reader = Reader::open(path)?;
            good_end = MAGIC.len() as u64;
            while let Some(Ok(_)) = reader.next_body() {
                games += 1;
                good_end = reader.offset;
            }
        }
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path)
            .map_err(io)?;
        file.set_len(good_end).map_err(io)?;
        file.seek(SeekFrom::End(0)).map_err(io)?;
        if good_end == 0 {
            file.write_all(MAGIC).map_err(io)?;
        }
        let writer = Self {
            path: path.to_owned(),
            file: BufWriter::new(file),
        };
        Ok((writer, games))
    }

    /// Appends a game and hands it to the operating system.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn append(&mut self, game: &GameRecord) -> Result<(), RecordError> {
        let body = game.encode();
        let mut record = Vec::with_capacity(body.len() + 8);
        record.extend((body.len() as u32).to_le_bytes());
        record.extend(checksum(&body).to_le_bytes());
        record.extend(&body);
        self.file
            .write_all(&record)
            .and_then(|()| self.file.flush())
            .map_err(|source| RecordError::Io {
                path: self.path.clone(),
                source,
            })
    }
}

/// Reads the games of a file one after another.
#[derive(Debug)]
pub struct Reader {
    path: PathBuf,
    file: BufReader<File>,
    offset: u64,
    ended: bool,
}

impl Reader {
    /// Opens a file.
    ///
    /// # Errors
    /// If it cannot be opened or is something else.
    pub fn open(path: &Path) -> Result<Self, RecordError> {
        let io = |source| RecordError::Io {
            path: path.to_owned(),
            source,
        };
        let mut file = BufReader::new(File::open(path).map_err(io)?);
        let mut magic = [0; 8];
        let is_ours = file.read_exact(&mut magic).is_ok() && &magic == MAGIC;
        if !is_ours {
            return Err(RecordError::Magic {
                path: path.to_owned(),
            });
        }
        Ok(Self {
            path: path.to_owned(),
            file,
            offset: MAGIC.len() as u64,
            ended: false,
        })
    }

    fn damaged(&mut self, what: String) -> RecordError {
        self.ended = true;
        RecordError::Damaged {
            path: self.path.clone(),
            offset: self.offset,
            what,
        }
    }

    /// The next record's body; `None` at the end of the file or at a record cut short by a crash.
    fn next_body(&mut self) -> Option<Result<Vec<u8>, RecordError>> {
        if self.ended {
            return None;
        }
        let mut head = [0; 8];
        if self.file.read_exact(&mut head).is_err() {
            self.ended = true;
            return None;
        }
        let length = u32::from_le_bytes([head[0], head[1], head[2], head[3]]);
        let sum = u32::from_le_bytes([head[4], head[5], head[6], head[7]]);
        if length > MAX_BODY {
            return Some(Err(self.damaged(format!("length {length}"))));
        }
        let mut body = vec![0; length as usize];
        if self.file.read_exact(&mut body).is_err() {
            self.ended = true;
            return None;
        }
        if checksum(&body) != sum {
            return Some(Err(self.damaged("its checksum is wrong".to_owned())));
        }
        self.offset += 8 + u64::from(length);
        Some(Ok(body))
    }
}

impl Iterator for Reader {
    type Item = Result<GameRecord, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        let body = match self.next_body()? {
            Ok(body) => body,
            Err(error) => return Some(Err(error)),
        };
        Some(GameRecord::decode(&body).map_err(|what| self.damaged(what)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn game() -> GameRecord {
        let start = Position::start(Variant::Crazyhouse);
        let m = start.legal_moves()[3];
        GameRecord {
            start,
            result: Outcome::win(Color::Black),
            plies: vec![PlyRecord {
                m,
                score: -77,
                usable: true,
            }],
        }
    }

    #[test]
    fn games_are_read_as_written_and_a_torn_tail_is_cut() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("games.sns");
        let (mut writer, before) = Writer::open(&path).unwrap();
        assert_eq!(before, 0);
        writer.append(&game()).unwrap();
        writer.append(&game()).unwrap();
        drop(writer);
        let length = path.metadata().unwrap().len();
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(length - 3).unwrap();
        assert_eq!(Reader::open(&path).unwrap().count(), 1);
        let (mut writer, before) = Writer::open(&path).unwrap();
        assert_eq!(before, 1);
        writer.append(&game()).unwrap();
        drop(writer);
        let games: Vec<_> = Reader::open(&path).unwrap().map(Result::unwrap).collect();
        assert_eq!(games.len(), 2);
        assert_eq!(games[1].plies, game().plies);
        assert_eq!(games[1].result, game().result);
        assert_eq!(games[1].start.key(), game().start.key());
    }

    #[test]
    fn damage_is_named_with_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("games.sns");
        let (mut writer, _) = Writer::open(&path).unwrap();
        writer.append(&game()).unwrap();
        drop(writer);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[20] ^= 0x55;
        std::fs::write(&path, bytes).unwrap();
        let error = Reader::open(&path).unwrap().next().unwrap().unwrap_err();
        assert!(error.to_string().contains("byte 8"), "{error}");
        std::fs::write(&path, b"something else").unwrap();
        assert!(matches!(
            Reader::open(&path),
            Err(RecordError::Magic { .. })
        ));
    }
}
