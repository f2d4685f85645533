//! Sections that belong to the daemon as a whole.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::game::policy::{Problem, check_range};
use crate::game::words::{millis, seconds};

/// Section `[daemon]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DaemonSection {
    /// Where the database and the tapes are kept. Empty: `$STATE_DIRECTORY`, else `seneschal-state` in the working directory.
    pub state_dir: PathBuf,
    /// After the first signal running games may go on so long. 0 to 86,400 s.
    #[serde(rename = "drain_timeout_s", with = "seconds")]
    pub drain_timeout: Duration,
    /// Record every game as a tape, for `seneschal replay`.
    pub tapes: bool,
    /// Tapes kept; the oldest go first. 0 to 1,000,000.
    pub max_tapes: u32,
    /// The platforms' own lists are compared with ours this often. 10 to 3,600 s.
    #[serde(rename = "reconcile_s", with = "seconds")]
    pub reconcile: Duration,
    /// Seed of all draws (whom to challenge, jitter of waits); 0 = from the system's randomness.
    pub seed: u64,
}

impl Default for DaemonSection {
    fn default() -> Self {
        Self {
            state_dir: PathBuf::new(),
            drain_timeout: Duration::from_secs(1_500),
            tapes: true,
            max_tapes: 1_000,
            reconcile: Duration::from_secs(60),
            seed: 0,
        }
    }
}

impl DaemonSection {
    /// Everything that is out of range, all at once.
    pub fn problems(&self) -> Vec<Problem> {
        let mut found = Vec::new();
        let s = Duration::as_secs_f64;
        check_range(
            &mut found,
            "drain_timeout_s",
            s(&self.drain_timeout),
            0.0..=86_400.0,
        );
        check_range(&mut found, "max_tapes", self.max_tapes, 0..=1_000_000);
        check_range(
            &mut found,
            "reconcile_s",
            s(&self.reconcile),
            10.0..=3_600.0,
        );
        found
    }

    /// The directory in force, given the environment's `STATE_DIRECTORY` (set by the service manager).
    pub fn state_dir(&self, from_environment: Option<PathBuf>) -> PathBuf {
        if self.state_dir.as_os_str().is_empty() {
            from_environment.unwrap_or_else(|| PathBuf::from("seneschal-state"))
        } else {
            self.state_dir.clone()
        }
    }
}

/// Section `[engine]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EngineSection {
    /// Search threads for all games together; 0 = all processors but one, at least one. 0 to 256.
    pub threads: u32,
    /// Memory of the common transposition table in MiB. 1 to 65,536.
    pub hash_mib: u32,
    /// Searches that may wait at the same time. 1 to 10,000.
    pub queue: u32,
    /// Every search that gets a thread keeps it at least so long. 1 to 1,000 ms.
    #[serde(rename = "slice_ms", with = "millis")]
    pub slice: Duration,
    /// Networks: `<embedded>` for the program's own, `<none>` for the hand-written evaluation, or files with `;` between
    /// them, which replace the program's own for their variants.
    pub eval_file: String,
    /// Opening books in the same form: `<embedded>`, `<none>`, or files. Without a book the daemon plays the same game
    /// against whoever plays the same moves.
    pub book_file: String,
}

impl Default for EngineSection {
    fn default() -> Self {
        Self {
            threads: 0,
            hash_mib: 64,
            queue: 256,
            slice: Duration::from_millis(5),
            eval_file: "<embedded>".to_owned(),
            book_file: "<embedded>".to_owned(),
        }
    }
}

impl EngineSection {
    /// Everything that is out of range, all at once.
    pub fn problems(&self) -> Vec<Problem> {
        let mut found = Vec::new();
        check_range(&mut found, "threads", self.threads, 0..=256);
        check_range(&mut found, "hash_mib", self.hash_mib, 1..=65_536);
        check_range(&mut found, "queue", self.queue, 1..=10_000);
        check_range(&mut found, "slice_ms", self.slice.as_millis(), 1..=1_000);
        found
    }

    /// Threads in force on a machine with so many processors.
    pub fn threads(&self, processors: usize) -> usize {
        match self.threads {
            0 => processors.saturating_sub(1).max(1),
            some => some as usize,
        }
    }
}
