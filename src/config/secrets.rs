//! Tokens and passwords: from a file, the environment or the service manager's credentials, never from the configuration.
//!
//! Looked up in this order, the first hit counts:
//! 1. the environment: `SENESCHAL_TOKEN_NAME`, the account's name in capitals with every other character as `_`;
//! 2. in `$CREDENTIALS_DIRECTORY` the credential `NAME.token` (or `credential` of the account), or `seneschal_NAME.token`, as
//!    systemd names it when it loads a whole directory under the name `seneschal`;
//! 3. `token_file` of the account, which nobody but its owner's group may read.

use std::path::{Path, PathBuf};

use secrecy::SecretString;

/// Longest secret that is read.
const MAX_BYTES: u64 = 8_192;

/// Why a secret could not be had. Never contains it.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// Nothing names one.
    #[error(
        "account `{account}` has no token: set {variable}, give the credential `{credential}` or set \
         `accounts.{account}.token_file`"
    )]
    Missing {
        /// Which account.
        account: String,
        /// The environment variable that would be read.
        variable: String,
        /// The credential that would be read.
        credential: String,
    },
    /// The file cannot be read.
    #[error("token of account `{account}`: cannot read {}: {source}", path.display())]
    Unreadable {
        /// Which account.
        account: String,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Everybody may read the file.
    #[error(
        "token of account `{account}`: {} may be read by everybody (mode {mode:03o}); allowed: no access for others",
        path.display()
    )]
    Exposed {
        /// Which account.
        account: String,
        /// The file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// The file or variable holds no secret.
    #[error("token of account `{account}`: {place} is empty, too long or not one word")]
    Malformed {
        /// Which account.
        account: String,
        /// Where it was looked for.
        place: String,
    },
}

/// Where to look for the secret of an account.
#[derive(Debug, Clone)]
pub struct SecretSource<'a> {
    /// Name of the account in the configuration.
    pub account: &'a str,
    /// `token_file` of the account.
    pub file: Option<&'a Path>,
    /// `credential` of the account.
    pub credential: Option<&'a str>,
    /// `$CREDENTIALS_DIRECTORY`.
    pub credentials_dir: Option<&'a Path>,
}

/// The environment variable that holds the token of an account.
pub fn variable_name(account: &str) -> String {
    let name = account.chars().map(|c| match c.is_ascii_alphanumeric() {
        true => c.to_ascii_uppercase(),
        false => '_',
    });
    format!("SENESCHAL_TOKEN_{}", name.collect::<String>())
}

/// Finds the secret of an account.
///
/// # Errors
/// [`SecretError`]; it names places, never contents.
pub fn find(
    source: &SecretSource<'_>,
    environment: impl Fn(&str) -> Option<String>,
) -> Result<SecretString, SecretError> {
    let account = source.account.to_owned();
    let variable = variable_name(source.account);
    if let Some(text) = environment(&variable) {
        let place = format!("environment variable {variable}");
        return one_word(&text).ok_or(SecretError::Malformed { account, place });
    }
    let credential = match source.credential {
        Some(name) => name.to_owned(),
        None => format!("{}.token", source.account),
    };
    if let Some(dir) = source.credentials_dir {
        for name in [credential.clone(), format!("seneschal_{credential}")] {
            let path = dir.join(name);
            if path.exists() {
                return read_file(&account, &path, false);
            }
        }
    }
    match source.file {
        Some(path) => read_file(&account, path, true),
        None => Err(SecretError::Missing {
            account,
            variable,
            credential,
        }),
    }
}

fn read_file(account: &str, path: &Path, check_mode: bool) -> Result<SecretString, SecretError> {
    let unreadable = |source| SecretError::Unreadable {
        account: account.to_owned(),
        path: path.to_owned(),
        source,
    };
    let facts = std::fs::metadata(path).map_err(unreadable)?;
    #[cfg(unix)]
    if check_mode {
        use std::os::unix::fs::PermissionsExt;
        let mode = facts.permissions().mode() & 0o777;
        if mode & 0o007 != 0 {
            return Err(SecretError::Exposed {
                account: account.to_owned(),
                path: path.to_owned(),
                mode,
            });
        }
    }
    let malformed = || SecretError::Malformed {
        account: account.to_owned(),
        place: path.display().to_string(),
    };
    if facts.len() > MAX_BYTES {
        return Err(malformed());
    }
    let text = std::fs::read_to_string(path).map_err(unreadable)?;
    one_word(&text).ok_or_else(malformed)
}

/// The one word of a text; a line break at the end is what editors leave.
fn one_word(text: &str) -> Option<SecretString> {
    let word = text.trim();
    let good = !word.is_empty()
        && word.len() as u64 <= MAX_BYTES
        && !word.contains(|c: char| c.is_whitespace() || c.is_control());
    good.then(|| SecretString::from(word.to_owned()))
}
