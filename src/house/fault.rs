//! The fault plan: how the house misbehaves on purpose, so that clients can rehearse.
//!
//! A plan is a list of faults; each says where it strikes, when, and what happens.
//! As a file it is TOML:
//!
//! ```
//! let plan = seneschal::house::fault::FaultPlan::parse(r#"
//!     seed = 7
//!
//!     [[fault]]                       # the third move is answered 429, "wait two seconds"
//!     on = "move"
//!     when = { nth = 3 }
//!     effect = { rate-limit = { shape = "retry-after", seconds = 2 } }
//!
//!     [[fault]]                       # one game state in twenty cuts the connection in mid-line
//!     on = "game-stream"
//!     line = "game-state"
//!     when = { probability = 0.05 }
//!     effect = "cut"
//! "#)?;
//! assert_eq!(plan.faults.len(), 2);
//! # Ok::<(), seneschal::house::fault::FaultPlanError>(())
//! ```

use std::sync::{Mutex, PoisonError};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};

use super::endpoint::Endpoint;
use super::lines::LineKind;

/// A list of faults, and the seed of those that strike at random.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FaultPlan {
    /// Seed of the random faults: the same requests meet the same faults.
    #[serde(default)]
    pub seed: u64,
    /// The faults. For one request or line the first one that strikes counts.
    #[serde(default, rename = "fault")]
    pub faults: Vec<Fault>,
}

/// One fault.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Fault {
    /// Where it strikes; absent is every endpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<Endpoint>,
    /// Only this account's requests (its id).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// Only lines of this kind (faults of streams).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<LineKind>,
    /// Which of the matching requests or lines.
    #[serde(default)]
    pub when: When,
    /// How often it strikes at most; absent is without end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// What happens.
    pub effect: Effect,
}

/// Which of the requests or lines that match a fault. Counting starts at 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum When {
    /// All of them.
    #[default]
    Always,
    /// The n-th one.
    Nth(u32),
    /// The first n.
    First(u32),
    /// Every n-th one.
    Every(u32),
    /// Each with this probability.
    Probability(f64),
}

/// What a fault does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    // Instead of an answer, or with it.
    /// Answer 429; nothing is done.
    RateLimit {
        /// What the answer looks like.
        shape: RateLimitShape,
        /// How long it says to wait, where the shape can say it.
        #[serde(default = "sixty")]
        seconds: u64,
    },
    /// Answer with this status and a page of HTML, as proxies do; nothing is done.
    Html {
        /// The status, 502 if absent.
        #[serde(default = "bad_gateway")]
        status: u16,
    },
    /// Answer with this status and body; nothing is done.
    Answer {
        /// The status.
        status: u16,
        /// The body, sent as JSON whatever it is.
        body: String,
    },
    /// Wait before doing anything.
    Delay {
        /// Milliseconds.
        ms: u64,
    },
    /// Do it at once, answer late.
    DelayAnswer {
        /// Milliseconds.
        ms: u64,
    },
    /// Do nothing and lose the connection.
    DropRequest(Loss),
    /// Do it, then lose the connection instead of answering.
    DropAnswer(Loss),
    /// Restart the house: every connection is reset, games are read back from the disk.
    Restart {
        /// How long nobody is at home, in milliseconds.
        #[serde(default)]
        down_ms: u64,
    },

    // To a stream, at a line.
    /// The stream ends in good order before the line.
    End,
    /// The connection ends after half of the line.
    Cut,
    /// The connection ends before the line, without the end that HTTP wants.
    Close,
    /// The connection is reset (RST) before the line.
    Reset,
    /// Nothing more comes, not even keep-alives, and the connection stays.
    Silence,
    /// The line comes in two pieces.
    Split {
        /// Milliseconds between them.
        ms: u64,
    },
    /// The line comes twice.
    Duplicate,
    /// Before the line comes the same state with fewer moves (only for states of games).
    Shrink {
        /// Plies missing.
        plies: usize,
    },
    /// The line never comes.
    Lose,
    /// Before the line comes another: an error object, or whatever is given.
    Insert {
        /// The inserted line.
        line: String,
    },
    /// The line ends in CR LF.
    CrLf,
}

/// The shapes of a 429 that have been seen in the wild.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RateLimitShape {
    /// `{"error": "..."}` and a `Retry-After` header.
    RetryAfter,
    /// `{"error": "...", "ratelimit": {"key": ..., "seconds": ...}}`.
    Object,
    /// `{"error": "..."}`.
    Plain,
    /// No body at all.
    Empty,
    /// A page of HTML.
    Html,
}

/// How a connection is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Loss {
    /// Closed (FIN).
    Close,
    /// Reset (RST).
    Reset,
    /// Kept open, and nothing comes.
    Silence,
}

fn sixty() -> u64 {
    60
}

fn bad_gateway() -> u16 {
    502
}

impl Effect {
    /// Whether it strikes at lines of streams; the others strike at requests.
    pub fn is_for_lines(&self) -> bool {
        match self {
            Effect::End
            | Effect::Cut
            | Effect::Close
            | Effect::Reset
            | Effect::Silence
            | Effect::Split { .. }
            | Effect::Duplicate
            | Effect::Shrink { .. }
            | Effect::Lose
            | Effect::Insert { .. }
            | Effect::CrLf => true,
            Effect::RateLimit { .. }
            | Effect::Html { .. }
            | Effect::Answer { .. }
            | Effect::Delay { .. }
            | Effect::DelayAnswer { .. }
            | Effect::DropRequest(_)
            | Effect::DropAnswer(_)
            | Effect::Restart { .. } => false,
        }
    }
}

/// Why a plan cannot be carried out.
#[derive(Debug, thiserror::Error)]
pub enum FaultPlanError {
    /// Not a plan.
    #[error("the fault plan cannot be read: {0}")]
    Syntax(#[from] toml::de::Error),
    /// A fault that could never strike, or not as written.
    #[error("fault {number} of the plan: {reason}")]
    Fault {
        /// Which one, counted from 1.
        number: usize,
        /// What is wrong.
        reason: String,
    },
}

impl FaultPlan {
    /// Reads and checks a plan.
    ///
    /// # Errors
    /// [`FaultPlanError`] with the place of the mistake.
    pub fn parse(toml: &str) -> Result<FaultPlan, FaultPlanError> {
        let plan: FaultPlan = toml::from_str(toml)?;
        plan.check()?;
        Ok(plan)
    }

    /// A plan of one fault.
    pub fn one(fault: Fault) -> FaultPlan {
        FaultPlan {
            seed: 0,
            faults: vec![fault],
        }
    }

    /// Checks what the types do not.
    ///
    /// # Errors
    /// [`FaultPlanError::Fault`].
    pub fn check(&self) -> Result<(), FaultPlanError> {
        for (number, fault) in (1..).zip(&self.faults) {
            let wrong = |reason: &str| {
                Err(FaultPlanError::Fault {
                    number,
                    reason: reason.to_owned(),
                })
            };
            let stream = fault.on.is_none_or(Endpoint::is_stream);
            if fault.effect.is_for_lines() && !stream {
                return wrong("this effect is for `event-stream` and `game-stream` only");
            }
            if fault.line.is_some() && !fault.effect.is_for_lines() {
                return wrong("`line` goes with effects on lines of a stream only");
            }
            match fault.when {
                When::Nth(0) | When::First(0) | When::Every(0) => {
                    return wrong("counting starts at 1");
                }
                When::Probability(p) if !(0.0..=1.0).contains(&p) => {
                    return wrong("a probability is between 0 and 1");
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Carries a plan out: counts what matches, draws for the random ones.
#[derive(Debug)]
pub struct FaultEngine {
    state: Mutex<EngineState>,
}

#[derive(Debug)]
struct EngineState {
    plan: FaultPlan,
    rng: StdRng,
    /// Per fault: how much matched, how often it struck.
    counts: Vec<(u32, u32)>,
}

impl FaultEngine {
    /// Starts a plan.
    pub fn new(plan: FaultPlan) -> FaultEngine {
        FaultEngine {
            state: Mutex::new(EngineState::new(plan)),
        }
    }

    /// Replaces the plan; counting starts again.
    pub fn replace(&self, plan: FaultPlan) {
        *self.lock() = EngineState::new(plan);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, EngineState> {
        // Counters stay usable whatever happened to a holder of the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What strikes this request, if anything.
    pub fn at_request(&self, on: Endpoint, account: Option<&str>) -> Option<Effect> {
        self.lock().draw(|fault| {
            !fault.effect.is_for_lines()
                && fault.on.is_none_or(|wanted| wanted == on)
                // The page stays usable unless it is meant by name.
                && (fault.on.is_some() || on != Endpoint::Page)
                && fault.account.as_deref().is_none_or(|a| Some(a) == account)
        })
    }

    /// What strikes this line of a stream, if anything.
    pub fn at_line(&self, on: Endpoint, account: &str, kind: LineKind) -> Option<Effect> {
        self.lock().draw(|fault| {
            fault.effect.is_for_lines()
                && fault.on.is_none_or(|wanted| wanted == on)
                && fault.account.as_deref().is_none_or(|a| a == account)
                && fault.line.is_none_or(|wanted| wanted == kind)
        })
    }

    /// How often each fault of the plan has struck.
    pub fn struck(&self) -> Vec<u32> {
        self.lock().counts.iter().map(|(_, hits)| *hits).collect()
    }
}

impl EngineState {
    fn new(plan: FaultPlan) -> EngineState {
        EngineState {
            rng: StdRng::seed_from_u64(plan.seed),
            counts: vec![(0, 0); plan.faults.len()],
            plan,
        }
    }

    fn draw(&mut self, matches: impl Fn(&Fault) -> bool) -> Option<Effect> {
        let mut struck = None;
        for (fault, (seen, hits)) in self.plan.faults.iter().zip(&mut self.counts) {
            if !matches(fault) {
                continue;
            }
            *seen += 1;
            let due = match fault.when {
                When::Always => true,
                When::Nth(n) => *seen == n,
                When::First(n) => *seen <= n,
                When::Every(n) => seen.is_multiple_of(n),
                // Drawn even if another fault strikes, so that the sequence does not depend on it.
                When::Probability(p) => self.rng.random_bool(p),
            };
            let allowed = fault.limit.is_none_or(|limit| *hits < limit);
            if due && allowed && struck.is_none() {
                *hits += 1;
                struck = Some(fault.effect.clone());
            }
        }
        struck
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(on: Endpoint, when: When, effect: Effect) -> Fault {
        Fault {
            on: Some(on),
            account: None,
            line: None,
            when,
            limit: None,
            effect,
        }
    }

    #[test]
    fn counting_faults_strike_where_they_should() {
        let html = Effect::Html { status: 502 };
        let hits = |when, limit| -> Vec<usize> {
            let engine = FaultEngine::new(FaultPlan::one(Fault {
                limit,
                ..fault(Endpoint::Move, when, html.clone())
            }));
            (1..=10)
                .filter(|_| engine.at_request(Endpoint::Move, None).is_some())
                .collect()
        };
        assert_eq!(hits(When::Nth(3), None), [3]);
        assert_eq!(hits(When::First(2), None), [1, 2]);
        assert_eq!(hits(When::Every(4), None), [4, 8]);
        assert_eq!(hits(When::Always, Some(2)), [1, 2]);
    }

    #[test]
    fn random_faults_repeat_with_their_seed() {
        let run = |seed| -> Vec<bool> {
            let engine = FaultEngine::new(FaultPlan {
                seed,
                faults: vec![fault(
                    Endpoint::Chat,
                    When::Probability(0.3),
                    Effect::DropAnswer(Loss::Reset),
                )],
            });
            (0..200)
                .map(|_| engine.at_request(Endpoint::Chat, None).is_some())
                .collect()
        };
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
        let share = run(1).iter().filter(|hit| **hit).count();
        assert!((30..90).contains(&share), "{share} of 200");
    }

    #[test]
    fn faults_choose_by_endpoint_account_and_line() {
        let plan = FaultPlan {
            seed: 0,
            faults: vec![Fault {
                on: Some(Endpoint::EventStream),
                account: Some("bot_a".into()),
                line: Some(LineKind::GameFinish),
                when: When::Always,
                limit: None,
                effect: Effect::Lose,
            }],
        };
        let engine = FaultEngine::new(plan);
        let finish = LineKind::GameFinish;
        let at = |on, who, kind| engine.at_line(on, who, kind);
        assert_eq!(at(Endpoint::EventStream, "bot_b", finish), None);
        assert_eq!(at(Endpoint::GameStream, "bot_a", finish), None);
        assert_eq!(
            at(Endpoint::EventStream, "bot_a", LineKind::GameStart),
            None
        );
        assert_eq!(
            at(Endpoint::EventStream, "bot_a", finish),
            Some(Effect::Lose)
        );
        assert_eq!(
            engine.at_request(Endpoint::EventStream, Some("bot_a")),
            None
        );
        assert_eq!(engine.struck(), [1]);
    }

    #[test]
    fn the_page_is_spared_unless_named() {
        let everywhere = Fault {
            on: None,
            ..fault(Endpoint::Move, When::Always, Effect::Html { status: 502 })
        };
        let engine = FaultEngine::new(FaultPlan::one(everywhere));
        assert!(engine.at_request(Endpoint::Account, None).is_some());
        assert!(engine.at_request(Endpoint::Page, None).is_none());
    }

    #[test]
    fn plans_that_cannot_work_are_refused_with_their_number() {
        let refused = |toml: &str| FaultPlan::parse(toml).unwrap_err().to_string();
        let good = "[[fault]]\non = \"move\"\neffect = { html = {} }\n";
        assert!(FaultPlan::parse(good).is_ok());
        let on_line = format!("{good}[[fault]]\non = \"move\"\neffect = \"cut\"\n");
        assert!(
            refused(&on_line).contains("fault 2"),
            "{}",
            refused(&on_line)
        );
        let never = "[[fault]]\nwhen = { nth = 0 }\neffect = { html = {} }\n";
        assert!(refused(never).contains("starts at 1"));
        let odds = "[[fault]]\nwhen = { probability = 1.5 }\neffect = { html = {} }\n";
        assert!(refused(odds).contains("between 0 and 1"));
        assert!(refused("[[fault]]\neffect = \"explode\"\n").contains("explode"));
        assert!(refused("[[faults]]\n").contains("faults"));
    }

    #[test]
    fn every_effect_survives_the_way_through_a_file() {
        let effects = [
            Effect::RateLimit {
                shape: RateLimitShape::Object,
                seconds: 5,
            },
            Effect::Html { status: 503 },
            Effect::Answer {
                status: 400,
                body: "{}".into(),
            },
            Effect::Delay { ms: 3 },
            Effect::DelayAnswer { ms: 3 },
            Effect::DropRequest(Loss::Silence),
            Effect::DropAnswer(Loss::Close),
            Effect::Restart { down_ms: 9 },
            Effect::End,
            Effect::Cut,
            Effect::Close,
            Effect::Reset,
            Effect::Silence,
            Effect::Split { ms: 20 },
            Effect::Duplicate,
            Effect::Shrink { plies: 2 },
            Effect::Lose,
            Effect::Insert {
                line: r#"{"error":"x"}"#.into(),
            },
            Effect::CrLf,
        ];
        let plan = FaultPlan {
            seed: 3,
            faults: effects
                .into_iter()
                .map(|effect| fault(Endpoint::GameStream, When::Nth(1), effect))
                .collect(),
        };
        let text = toml::to_string(&plan).unwrap();
        assert_eq!(FaultPlan::parse(&text).unwrap(), plan, "{text}");
    }
}
