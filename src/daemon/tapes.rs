//! Tapes of all games: one thread writes them, games only hand lines over.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use crate::game::GameId;
use crate::lobby::AccountName;

/// Lines that may wait for the disk; a tape that finds no room ends there.
const QUEUE: usize = 8_192;

/// Takes the lines of all tapes. Clones share the thread; the last one to go ends it.
#[derive(Debug, Clone)]
pub struct TapeDesk {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    lines: Option<SyncSender<Order>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
enum Order {
    Line(PathBuf, String),
    Close(PathBuf),
}

impl Drop for Shared {
    fn drop(&mut self) {
        // Closing the queue ends the thread after what is in it.
        self.lines = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the tape writer panicked");
        }
    }
}

impl TapeDesk {
    /// Opens the directory, drops the oldest tapes beyond `max_tapes` and starts the thread.
    ///
    /// # Errors
    /// If the directory cannot be made or the thread not be started.
    pub fn open(dir: &Path, max_tapes: u32) -> std::io::Result<Self> {
        fs::create_dir_all(dir)?;
        prune(dir, max_tapes as usize)?;
        let (lines, orders) = sync_channel(QUEUE);
        let thread = std::thread::Builder::new()
            .name("tapes".to_owned())
            .spawn(move || write_all(&orders))?;
        Ok(Self {
            shared: Arc::new(Shared {
                lines: Some(lines),
                thread: Some(thread),
            }),
        })
    }
}

/// The tape of one game.
#[derive(Debug)]
pub struct Tape {
    desk: TapeDesk,
    path: PathBuf,
    broken: bool,
}

impl Tape {
    /// A tape for a game. A second session of the same game begins a tape of its own.
    pub fn new(
        desk: TapeDesk,
        dir: &Path,
        account: &AccountName,
        game: &GameId,
        now_ms: i64,
    ) -> Self {
        let safe = |text: &str| -> String {
            let plain = text.chars().take(64);
            plain
                .map(|c| {
                    if c.is_ascii_alphanumeric() || c == '-' {
                        c
                    } else {
                        '_'
                    }
                })
                .collect()
        };
        let name = format!(
            "{}.{}.{now_ms}.jsonl",
            safe(account.as_str()),
            safe(game.as_str())
        );
        Self {
            desk,
            path: dir.join(name),
            broken: false,
        }
    }

    /// Hands a line over. A full queue breaks the tape off: half of a later part would mean nothing.
    pub fn write(&mut self, line: String) {
        if self.broken {
            return;
        }
        let Some(lines) = &self.desk.shared.lines else {
            return;
        };
        match lines.try_send(Order::Line(self.path.clone(), line)) {
            Ok(()) => {}
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {
                self.broken = true;
                tracing::warn!(tape = %self.path.display(), "the tape breaks off: the disk does not keep up");
            }
        }
    }
}

impl Drop for Tape {
    fn drop(&mut self) {
        if let Some(lines) = &self.desk.shared.lines {
            // A full queue leaves the file open until the daemon ends; nothing is lost by that.
            drop(lines.try_send(Order::Close(self.path.clone())));
        }
    }
}

fn write_all(orders: &Receiver<Order>) {
    let mut files: HashMap<PathBuf, Option<File>> = HashMap::new();
    for order in orders {
        match order {
            Order::Line(path, line) => {
                let file = files.entry(path.clone()).or_insert_with(|| create(&path));
                let Some(open) = file else { continue };
                // One write per line: what was written before a kill is a whole tape as far as it goes.
                if let Err(error) = open.write_all(format!("{line}\n").as_bytes()) {
                    tracing::error!(tape = %path.display(), %error, "the tape breaks off");
                    *file = None;
                }
            }
            Order::Close(path) => {
                files.remove(&path);
            }
        }
    }
}

fn create(path: &Path) -> Option<File> {
    match File::create(path) {
        Ok(file) => Some(file),
        Err(error) => {
            tracing::error!(tape = %path.display(), %error, "there will be no tape");
            None
        }
    }
}

fn prune(dir: &Path, keep: usize) -> std::io::Result<()> {
    let mut tapes = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let path = entry.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "jsonl")
        {
            tapes.push((entry.metadata()?.modified()?, path));
        }
    }
    tapes.sort();
    let surplus = tapes.len().saturating_sub(keep);
    for (_, path) in tapes.into_iter().take(surplus) {
        fs::remove_file(path)?;
    }
    Ok(())
}
