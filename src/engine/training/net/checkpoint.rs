//! The state of a training run on disk, so that a broken run goes on where it was.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use super::optimizer::Adam;

const MAGIC: &[u8; 8] = b"SNSTRN01";

/// Everything that changes during a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// Epochs done.
    pub epochs: u64,
    /// Parameters.
    pub row: Vec<f32>,
    /// Running means.
    pub adam: Adam,
}

/// Why a run cannot be kept or resumed.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// The file cannot be read or written.
    #[error("checkpoint {path:?}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The file is something else, or torn.
    #[error("{path:?} is no checkpoint")]
    Format {
        /// The file.
        path: PathBuf,
    },
    /// The file is of a run with other settings or other data.
    #[error("checkpoint {path:?} is of another run: {theirs}; this one is {ours}")]
    OtherRun {
        /// The file.
        path: PathBuf,
        /// Description of the run in the file.
        theirs: String,
        /// Description of this run.
        ours: String,
    },
}

impl Checkpoint {
    /// Writes the file anew; a crash leaves either the old or the new one.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn save(&self, path: &Path, run: &str) -> Result<(), CheckpointError> {
        let failed = |source| CheckpointError::Io {
            path: path.to_owned(),
            source,
        };
        let mut bytes = MAGIC.to_vec();
        bytes.extend((run.len() as u64).to_le_bytes());
        bytes.extend(run.as_bytes());
        bytes.extend(self.epochs.to_le_bytes());
        bytes.extend(self.adam.steps.to_le_bytes());
        bytes.extend((self.row.len() as u64).to_le_bytes());
        for part in [&self.row, &self.adam.mean, &self.adam.square] {
            bytes.extend(part.iter().flat_map(|value| value.to_le_bytes()));
        }
        let mut name = path.as_os_str().to_owned();
        name.push(".new");
        let new = PathBuf::from(name);
        let mut file = File::create(&new).map_err(failed)?;
        file.write_all(&bytes).map_err(failed)?;
        file.sync_all().map_err(failed)?;
        std::fs::rename(&new, path).map_err(failed)
    }

    /// Reads the file; `None` if there is none.
    ///
    /// # Errors
    /// If it cannot be read or does not belong to the run.
    pub fn load(path: &Path, run: &str) -> Result<Option<Self>, CheckpointError> {
        let mut bytes = Vec::new();
        let opened = File::open(path).and_then(|mut file| file.read_to_end(&mut bytes));
        match opened {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => {
                return Err(CheckpointError::Io {
                    path: path.to_owned(),
                    source,
                });
            }
        }
        let format = || CheckpointError::Format {
            path: path.to_owned(),
        };
        let mut rest = bytes.as_slice();
        let mut take = |n: u64| -> Option<&[u8]> {
            let (head, tail) = rest.split_at_checked(usize::try_from(n).ok()?)?;
            rest = tail;
            Some(head)
        };
        if take(8) != Some(MAGIC) {
            return Err(format());
        }
        let number = |bytes: Option<&[u8]>| -> Option<u64> {
            Some(u64::from_le_bytes(bytes?.try_into().ok()?))
        };
        let length = number(take(8)).ok_or_else(format)?;
        let theirs = take(length).ok_or_else(format)?;
        if theirs != run.as_bytes() {
            return Err(CheckpointError::OtherRun {
                path: path.to_owned(),
                theirs: String::from_utf8_lossy(theirs).into_owned(),
                ours: run.to_owned(),
            });
        }
        let epochs = number(take(8)).ok_or_else(format)?;
        let steps = number(take(8)).ok_or_else(format)?;
        let count = number(take(8)).ok_or_else(format)?;
        let mut floats = || -> Option<Vec<f32>> {
            let bytes = take(count.checked_mul(4)?)?;
            let values = bytes.chunks_exact(4);
            Some(
                values
                    .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
                    .collect(),
            )
        };
        let row = floats().ok_or_else(format)?;
        let mean = floats().ok_or_else(format)?;
        let square = floats().ok_or_else(format)?;
        if !rest.is_empty() {
            return Err(format());
        }
        Ok(Some(Self {
            epochs,
            row,
            adam: Adam {
                mean,
                square,
                steps,
            },
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_kept_and_another_run_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("run");
        assert!(Checkpoint::load(&path, "a").expect("no file").is_none());
        let checkpoint = Checkpoint {
            epochs: 3,
            row: vec![1.0, -2.5],
            adam: Adam {
                mean: vec![0.1, 0.2],
                square: vec![0.3, 0.4],
                steps: 77,
            },
        };
        checkpoint.save(&path, "a").expect("it can be written");
        let again = Checkpoint::load(&path, "a").expect("it can be read");
        assert_eq!(again, Some(checkpoint));
        let error = Checkpoint::load(&path, "b").expect_err("another run");
        assert!(matches!(error, CheckpointError::OtherRun { .. }));
        let bytes = std::fs::read(&path).expect("it is there");
        std::fs::write(&path, &bytes[..bytes.len() - 1]).expect("it can be written");
        let error = Checkpoint::load(&path, "a").expect_err("torn");
        assert!(matches!(error, CheckpointError::Format { .. }));
    }
}
