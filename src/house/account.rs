//! Accounts of the house and their tokens.

use std::collections::BTreeMap;

use rand::{CryptoRng, Rng};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// What an account is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AccountKind {
    /// A registered program; shown with the title BOT.
    Bot,
    /// A registered person.
    Human,
    /// Somebody who only has a name, given when the page was opened.
    Guest,
}

/// A rating in one category.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Perf {
    /// Rated games counted.
    pub games: u32,
    /// Glicko-2 rating.
    pub rating: f64,
    /// Rating deviation.
    pub deviation: f64,
    /// Volatility.
    pub volatility: f64,
}

impl Default for Perf {
    fn default() -> Self {
        Perf {
            games: 0,
            rating: 1500.0,
            deviation: 350.0,
            volatility: 0.06,
        }
    }
}

impl Perf {
    /// The rating as it is shown.
    pub fn shown(&self) -> i64 {
        self.rating.round() as i64
    }

    /// Whether the rating is still a guess. Lichess's bound.
    pub fn is_provisional(&self) -> bool {
        self.deviation > 110.0
    }
}

/// An account.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Account {
    /// Name as displayed, 2 to 30 letters, digits, `_` or `-`.
    pub name: String,
    /// What it is.
    pub kind: AccountKind,
    /// When it was made, ms since 1970.
    pub created_ms: i64,
    /// Whether it lets opponents take moves back. Bots do not, unless told so.
    #[serde(default)]
    pub takebacks: bool,
    /// Line about itself; Lichess lists only bots that have one.
    #[serde(default)]
    pub bio: String,
    /// Ratings by category.
    #[serde(default)]
    pub perfs: BTreeMap<String, Perf>,
    /// Finished games: all, won, drawn, lost.
    #[serde(default)]
    pub counts: Counts,
}

/// Finished games of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counts {
    /// Games that were not aborted.
    pub all: u32,
    /// Of these, rated ones.
    pub rated: u32,
    /// Won.
    pub win: u32,
    /// Drawn.
    pub draw: u32,
    /// Lost.
    pub loss: u32,
}

/// Why a name or a token cannot be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AccountError {
    /// Not a name.
    #[error("`{0}` is no account name: 2 to 30 letters, digits, `_` or `-` are")]
    BadName(String),
    /// Somebody has it.
    #[error("the name `{0}` is taken")]
    Taken(String),
    /// Nobody has it.
    #[error("there is no account `{0}`")]
    Unknown(String),
}

impl Account {
    /// A new account.
    ///
    /// # Errors
    /// [`AccountError::BadName`].
    pub fn new(name: &str, kind: AccountKind, now_ms: i64) -> Result<Account, AccountError> {
        let fits = (2..=30).contains(&name.len())
            && name
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
        if !fits {
            return Err(AccountError::BadName(name.to_owned()));
        }
        Ok(Account {
            name: name.to_owned(),
            kind,
            created_ms: now_ms,
            takebacks: kind != AccountKind::Bot,
            bio: String::new(),
            perfs: BTreeMap::new(),
            counts: Counts::default(),
        })
    }

    /// The key: the name in lower case.
    pub fn id(&self) -> String {
        account_id(&self.name)
    }

    /// `BOT` for bots.
    pub fn title(&self) -> Option<&'static str> {
        (self.kind == AccountKind::Bot).then_some("BOT")
    }

    /// Rating in a category; the start value if none was played.
    pub fn perf(&self, key: &str) -> Perf {
        self.perfs.get(key).copied().unwrap_or_default()
    }

    /// Whether it is a program.
    pub fn is_bot(&self) -> bool {
        self.kind == AccountKind::Bot
    }
}

/// The key under which a name is found.
pub fn account_id(name: &str) -> String {
    name.to_ascii_lowercase()
}

/// SHA-256 of a token: all that the house keeps of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TokenHash(pub [u8; 32]);

impl TokenHash {
    /// The hash of a token as a client sent it.
    pub fn of(token: &str) -> TokenHash {
        TokenHash(Sha256::digest(token.as_bytes()).into())
    }
}

/// A new token. Shown once, to whoever asked for it; printed with `{}` it is whole, with `{:?}` it is hidden.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// Draws a token of 190 random bits.
    pub fn draw(rng: &mut (impl Rng + CryptoRng)) -> Token {
        const ALPHABET: &[u8; 62] =
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
        let mut text = String::from("hse_");
        text.extend((0..32).map(|_| char::from(ALPHABET[rng.random_range(0..ALPHABET.len())])));
        Token(text)
    }

    /// The token's text, for the client that will log in with it.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// What is kept of it.
    pub fn hash(&self) -> TokenHash {
        TokenHash::of(&self.0)
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(***)")
    }
}

/// What a token allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scopes(Vec<String>);

impl Scopes {
    /// Everything a bot needs.
    pub fn bot() -> Scopes {
        Scopes::parse("bot:play,challenge:read,challenge:write")
    }

    /// From words separated by commas.
    pub fn parse(text: &str) -> Scopes {
        let words = text.split(',').map(str::trim).filter(|w| !w.is_empty());
        Scopes(words.map(str::to_owned).collect())
    }

    /// Whether any of these words is among them.
    pub fn has_any(&self, wanted: &[&str]) -> bool {
        wanted.iter().any(|w| self.0.iter().any(|s| s == w))
    }
}

impl std::fmt::Display for Scopes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.join(","))
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    use super::*;

    #[test]
    fn names_are_plain_words() {
        for name in ["ab", "Bot_1", "x-y", &"a".repeat(30)] {
            assert!(Account::new(name, AccountKind::Bot, 0).is_ok(), "{name}");
        }
        for name in ["", "a", "a b", "<b>", "é1", "a/b", &"a".repeat(31)] {
            let refused = Account::new(name, AccountKind::Bot, 0).unwrap_err();
            assert_eq!(refused, AccountError::BadName(name.to_owned()));
        }
    }

    #[test]
    fn a_token_is_long_fits_the_header_and_hides_itself() {
        let mut rng = StdRng::seed_from_u64(1);
        let (a, b) = (Token::draw(&mut rng), Token::draw(&mut rng));
        assert_ne!(a, b);
        assert!(a.reveal().len() >= 32);
        assert!(
            a.reveal()
                .bytes()
                .all(|c| c.is_ascii_alphanumeric() || c == b'_')
        );
        assert_eq!(format!("{a:?}"), "Token(***)");
        assert_eq!(TokenHash::of(a.reveal()), a.hash());
        assert_ne!(a.hash(), b.hash());
    }
}
