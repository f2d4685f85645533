//! How we behave in a game: the section `[game]` of the configuration.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::words::{millis, seconds};

/// Behaviour inside games. Every field is a key of the configuration file, with its unit in the key's name.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GamePolicy {
    /// Thinking time.
    pub time: TimePolicy,
    /// When to give up.
    pub resign: ResignPolicy,
    /// Draw offers, ours and theirs.
    pub draw: DrawPolicy,
    /// Requests to take moves back.
    pub takeback: TakebackPolicy,
    /// Opponents who do not start or who leave.
    pub absence: AbsencePolicy,
    /// What to do when the platform reports a move that our rules refuse, or a state that cannot be read, twice.
    pub on_rules_error: LeavePolicy,
    /// Talking.
    pub chat: ChatPolicy,
}

/// Section `[game.time]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TimePolicy {
    /// Least time taken off for the way to the platform; the measured figure replaces it when larger. 0 to 10,000 ms.
    #[serde(rename = "move_overhead_ms", with = "millis")]
    pub move_overhead: Duration,
    /// Thinking time for a first move that costs nothing. 0 to 60 s.
    #[serde(rename = "first_move_s", with = "seconds")]
    pub first_move: Duration,
    /// Thinking time per move in games without any clock. 0.01 to 3,600 s.
    #[serde(rename = "no_clock_move_s", with = "seconds")]
    pub no_clock_move: Duration,
    /// Thinking time per move in correspondence games. 0.01 to 3,600 s.
    #[serde(rename = "correspondence_move_s", with = "seconds")]
    pub correspondence_move: Duration,
    /// Longest thought in a game with a clock. 0.01 to 3,600 s.
    #[serde(rename = "max_move_s", with = "seconds")]
    pub max_move: Duration,
    /// Deepest iteration in plies; 0 = no bound.
    pub max_depth: u32,
    /// Most nodes per move; 0 = no bound.
    pub max_nodes: u64,
}

impl Default for TimePolicy {
    fn default() -> Self {
        Self {
            move_overhead: Duration::from_millis(100),
            first_move: Duration::from_secs(1),
            no_clock_move: Duration::from_secs(5),
            correspondence_move: Duration::from_secs(30),
            max_move: Duration::from_secs(60),
            max_depth: 0,
            max_nodes: 0,
        }
    }
}

/// Section `[game.resign]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ResignPolicy {
    /// Resign at all.
    pub enabled: bool,
    /// Resign when our score is at or below this, in centipawns. -100,000 to -100.
    pub score_cp: i32,
    /// On so many of our moves in a row. 1 to 100.
    pub moves: u32,
    /// Resign against people too.
    pub against_humans: bool,
}

impl Default for ResignPolicy {
    fn default() -> Self {
        Self {
            enabled: true,
            score_cp: -1_500,
            moves: 4,
            against_humans: true,
        }
    }
}

/// Section `[game.draw]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DrawPolicy {
    /// Offer draws.
    pub offer: bool,
    /// Accept draws.
    pub accept: bool,
    /// A position counts as equal within this many centipawns. 0 to 1,000.
    pub score_cp: i32,
    /// On so many of our moves in a row. 1 to 100.
    pub moves: u32,
    /// Not before this ply. 0 to 600.
    pub min_ply: u32,
}

impl Default for DrawPolicy {
    fn default() -> Self {
        Self {
            offer: true,
            accept: true,
            score_cp: 10,
            moves: 8,
            min_ply: 80,
        }
    }
}

/// Section `[game.takeback]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TakebackPolicy {
    /// Takebacks granted per game; survives restarts. 0 to 100.
    pub max_per_game: u32,
    /// Grant them in rated games.
    pub in_rated: bool,
    /// Grant them to bots.
    pub to_bots: bool,
}

impl Default for TakebackPolicy {
    fn default() -> Self {
        Self {
            max_per_game: 2,
            in_rated: false,
            to_bots: false,
        }
    }
}

/// Section `[game.absence]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AbsencePolicy {
    /// Abort when the opponent does not make his first move within this time. 5 to 3,600 s.
    #[serde(rename = "abort_after_s", with = "seconds")]
    pub abort_after: Duration,
    /// The command `!wait` adds this much. 0 to 600 s.
    #[serde(rename = "wait_s", with = "seconds")]
    pub wait: Duration,
    /// Claim the win (or the draw, if we cannot mate) when the platform allows it.
    pub claim: bool,
}

impl Default for AbsencePolicy {
    fn default() -> Self {
        Self {
            abort_after: Duration::from_secs(60),
            wait: Duration::from_secs(60),
            claim: true,
        }
    }
}

/// How to leave a game that cannot be played on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeavePolicy {
    /// Abort where that is still possible, else resign.
    #[default]
    Resign,
    /// Abort where that is still possible, else stay until the clock decides.
    Stay,
}

/// Section `[game.chat]`. Texts may contain `{me}`, `{opponent}`, `{variant}` and `{engine}`; an empty text is not sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ChatPolicy {
    /// Say anything at all.
    pub enabled: bool,
    /// To the opponent at the start.
    pub hello: String,
    /// To the opponent at the end.
    pub goodbye: String,
    /// To spectators at the start.
    pub hello_spectators: String,
    /// To spectators at the end.
    pub goodbye_spectators: String,
    /// Answer `!help` and its kind.
    pub commands: bool,
    /// Answer `!eval` in the room that the opponent reads.
    pub eval_to_opponent: bool,
    /// Answers per game, all rooms together. 0 to 1,000.
    pub max_answers: u32,
}

impl Default for ChatPolicy {
    fn default() -> Self {
        Self {
            enabled: true,
            hello: "Hello {opponent}, I am {me}. Type !help for what I answer to.".to_owned(),
            goodbye: "Thank you for the game!".to_owned(),
            hello_spectators: String::new(),
            goodbye_spectators: String::new(),
            commands: true,
            eval_to_opponent: false,
            max_answers: 20,
        }
    }
}

/// A value that the configuration may not have: which key (relative to the section), what it was and what is allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Dotted key within the section.
    pub key: String,
    /// What is wrong with which value.
    pub found: String,
    /// What is allowed.
    pub allowed: String,
}

impl Problem {
    /// States a problem.
    pub fn new(
        key: impl Into<String>,
        found: impl std::fmt::Display,
        allowed: impl Into<String>,
    ) -> Self {
        Self {
            key: key.into(),
            found: found.to_string(),
            allowed: allowed.into(),
        }
    }
}

/// Notes a problem if a number is outside its range.
pub fn check_range<T>(
    problems: &mut Vec<Problem>,
    key: &str,
    value: T,
    range: std::ops::RangeInclusive<T>,
) where
    T: PartialOrd + std::fmt::Display,
{
    if !range.contains(&value) {
        let allowed = format!("{} to {}", range.start(), range.end());
        problems.push(Problem::new(key, value, allowed));
    }
}

/// Placeholders that chat texts may contain.
pub const PLACEHOLDERS: [&str; 4] = ["me", "opponent", "variant", "engine"];

impl GamePolicy {
    /// Everything that is out of range, all at once.
    pub fn problems(&self) -> Vec<Problem> {
        let mut found = Vec::new();
        let p = &mut found;
        let seconds = Duration::as_secs_f64;
        check_range(
            p,
            "time.move_overhead_ms",
            self.time.move_overhead.as_millis(),
            0..=10_000,
        );
        check_range(
            p,
            "time.first_move_s",
            seconds(&self.time.first_move),
            0.0..=60.0,
        );
        check_range(
            p,
            "time.no_clock_move_s",
            seconds(&self.time.no_clock_move),
            0.01..=3_600.0,
        );
        check_range(
            p,
            "time.correspondence_move_s",
            seconds(&self.time.correspondence_move),
            0.01..=3_600.0,
        );
        check_range(
            p,
            "time.max_move_s",
            seconds(&self.time.max_move),
            0.01..=3_600.0,
        );
        check_range(p, "time.max_depth", self.time.max_depth, 0..=255);
        check_range(p, "resign.score_cp", self.resign.score_cp, -100_000..=-100);
        check_range(p, "resign.moves", self.resign.moves, 1..=100);
        check_range(p, "draw.score_cp", self.draw.score_cp, 0..=1_000);
        check_range(p, "draw.moves", self.draw.moves, 1..=100);
        check_range(p, "draw.min_ply", self.draw.min_ply, 0..=600);
        check_range(
            p,
            "takeback.max_per_game",
            self.takeback.max_per_game,
            0..=100,
        );
        check_range(
            p,
            "absence.abort_after_s",
            seconds(&self.absence.abort_after),
            5.0..=3_600.0,
        );
        check_range(
            p,
            "absence.wait_s",
            seconds(&self.absence.wait),
            0.0..=600.0,
        );
        check_range(p, "chat.max_answers", self.chat.max_answers, 0..=1_000);
        for (key, text) in [
            ("chat.hello", &self.chat.hello),
            ("chat.goodbye", &self.chat.goodbye),
            ("chat.hello_spectators", &self.chat.hello_spectators),
            ("chat.goodbye_spectators", &self.chat.goodbye_spectators),
        ] {
            if let Err(wrong) = fill(text, |_| Some("")) {
                let allowed = "{me}, {opponent}, {variant}, {engine}; write {{ for a brace";
                p.push(Problem::new(key, wrong, allowed));
            }
        }
        found
    }
}

/// Replaces the placeholders of a chat text. `{{` and `}}` stand for braces.
///
/// # Errors
/// The offending piece of text: an unknown placeholder or a brace without its partner.
pub fn fill<'a>(text: &str, value: impl Fn(&str) -> Option<&'a str>) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        let (before, tail) = rest.split_at(at);
        out.push_str(before);
        if let Some(after) = tail.strip_prefix("{{") {
            out.push('{');
            rest = after;
        } else if let Some(after) = tail.strip_prefix("}}") {
            out.push('}');
            rest = after;
        } else {
            let inner = tail.strip_prefix('{').and_then(|t| t.split_once('}'));
            let Some((name, after)) = inner else {
                return Err(format!(
                    "`{}` has a brace without its partner",
                    tail.escape_debug()
                ));
            };
            if !PLACEHOLDERS.contains(&name) {
                return Err(format!("unknown placeholder {{{}}}", name.escape_debug()));
            }
            out.push_str(value(name).unwrap_or_default());
            rest = after;
        }
    }
    out.push_str(rest);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_within_their_own_ranges() {
        assert_eq!(GamePolicy::default().problems(), []);
    }

    #[test]
    fn a_text_with_a_wrong_brace_is_a_problem_of_its_key() {
        let mut policy = GamePolicy::default();
        policy.chat.goodbye = "Good game {opponent]!".to_owned();
        policy.resign.score_cp = 5;
        let keys: Vec<_> = policy.problems().into_iter().map(|p| p.key).collect();
        assert_eq!(keys, ["resign.score_cp", "chat.goodbye"]);
    }

    #[test]
    fn placeholders_are_filled_and_doubled_braces_kept() {
        let value = |name: &str| (name == "me").then_some("bot");
        assert_eq!(
            fill("{{x}} {me}, hi {opponent}.", value),
            Ok("{x} bot, hi .".to_owned())
        );
        assert!(fill("{you}", value).is_err());
        assert!(fill("a } b", value).is_err());
    }
}
