//! Where a value was set, and what is wrong with it.

use std::path::PathBuf;

/// Where a value was set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// Nowhere: it is the default.
    Default,
    /// In a file.
    File {
        /// Which.
        path: PathBuf,
        /// Line, from 1, if it can be told.
        line: Option<usize>,
    },
    /// In the environment.
    Environment(String),
    /// By a flag.
    Flag,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line: None } => write!(f, "{}", path.display()),
            Self::File {
                path,
                line: Some(line),
            } => write!(f, "{}:{line}", path.display()),
            Self::Environment(variable) => write!(f, "environment variable {variable}"),
            Self::Flag => f.write_str("flag --set"),
        }
    }
}

/// One thing that is wrong with the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigProblem {
    /// Where.
    pub place: Place,
    /// Dotted key; empty if it concerns the whole file.
    pub key: String,
    /// What is wrong.
    pub message: String,
    /// What is allowed.
    pub allowed: Option<String>,
    /// What was probably meant.
    pub suggestion: Option<String>,
}

impl std::fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: ", self.place)?;
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.message)?;
        if let Some(allowed) = &self.allowed {
            write!(f, "; allowed: {allowed}")?;
        }
        if let Some(suggestion) = &self.suggestion {
            write!(f, "; did you mean `{suggestion}`?")?;
        }
        Ok(())
    }
}

/// Everything that is wrong with the configuration, one problem a line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ConfigError {
    /// The problems.
    pub problems: Vec<ConfigProblem>,
}

impl ConfigError {
    pub(super) fn one(problem: ConfigProblem) -> Self {
        Self {
            problems: vec![problem],
        }
    }
}

impl std::fmt::Display for ConfigError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}
