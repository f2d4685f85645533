//! The public page of a game, `GET /{id}`: the only place that tells how a game ended.
//!
//! The page is HTML of some 20 KB whose root element carries the game as `data-*` attributes. Only those are looked for; the rest of the
//! page may change as it likes.

/// What the page tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GamePage {
    /// The server's number for how it ended, or -1 and -2 while it has not.
    pub status: i32,
    /// `1-0`, `0-1`, `1/2-1/2`, or `*` without a result.
    pub result: String,
    /// Shuffled start, if the page says.
    pub chess960: Option<bool>,
    /// The start position, `""` for the usual one.
    pub initial_fen: Option<String>,
    /// The position on the board now.
    pub fen: Option<String>,
    /// Moves played so far. (The page itself counts from -1.)
    pub plies: Option<usize>,
}

/// A page without the attributes it should have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the game's page has no readable {attribute}")]
pub struct PageError {
    /// Which one.
    pub attribute: &'static str,
}

impl GamePage {
    /// Reads the page.
    ///
    /// # Errors
    /// [`PageError`] if status or result is missing.
    pub fn parse(html: &str) -> Result<GamePage, PageError> {
        let status = attribute(html, "data-status")
            .and_then(|text| text.parse().ok())
            .ok_or(PageError {
                attribute: "data-status",
            })?;
        let result = attribute(html, "data-result").ok_or(PageError {
            attribute: "data-result",
        })?;
        Ok(GamePage {
            status,
            result,
            chess960: attribute(html, "data-chess960").and_then(|text| match text.as_str() {
                "True" | "true" | "1" => Some(true),
                "False" | "false" | "0" => Some(false),
                _ => None,
            }),
            initial_fen: attribute(html, "data-initialfen"),
            fen: attribute(html, "data-fen"),
            plies: attribute(html, "data-ply")
                .and_then(|text| text.parse::<i64>().ok())
                .and_then(|ply| usize::try_from(ply.saturating_add(1)).ok()),
        })
    }
}

/// The value of the first `name="..."`, with the five entities of HTML replaced.
fn attribute(html: &str, name: &str) -> Option<String> {
    const VALUE_BYTES_MAX: usize = 512;
    let mut rest = html;
    loop {
        let found = rest.find(name)?;
        let after = rest.get(found + name.len()..)?;
        // The character before must end something else, so that `data-initialfen` is not found in `x-data-initialfen`.
        let starts = rest
            .get(..found)?
            .chars()
            .next_back()
            .is_none_or(|c| c.is_whitespace() || c == '"' || c == '\'');
        let value = after.strip_prefix('=').and_then(|text| {
            let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
            text.get(1..)?.split_once(quote).map(|(value, _)| value)
        });
        match value {
            Some(value) if starts && value.len() <= VALUE_BYTES_MAX => {
                return Some(unescape(value));
            }
            _ => rest = after,
        }
    }
}

fn unescape(text: &str) -> String {
    // The ampersand comes last: otherwise `&amp;lt;` would become `<`.
    text.replace("&quot;", "\"")
        .replace("&#34;", "\"")
        .replace("&#39;", "'")
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = r#"<!doctype html><title>data-status of a game</title><body><div id="main" data-gameid="aaaa0001" data-ply="2" data-initialfen="" data-date="2026-01-01" data-result="0-1" data-status="2" data-chess960="False" data-fen="8/8 b - - 0 2" data-board="{&quot;status&quot;: 2}"></div></body>"#;

    #[test]
    fn a_page_is_read() {
        let page = GamePage::parse(PAGE).unwrap();
        let expected = GamePage {
            status: 2,
            result: "0-1".to_owned(),
            chess960: Some(false),
            initial_fen: Some(String::new()),
            fen: Some("8/8 b - - 0 2".to_owned()),
            plies: Some(3),
        };
        assert_eq!(page, expected);
        assert_eq!(
            GamePage::parse(&PAGE.replace("\"2\" data-initialfen", "\"-1\" data-initialfen"))
                .unwrap()
                .plies,
            Some(0)
        );
    }

    #[test]
    fn negative_states_and_both_quotes() {
        let page = GamePage::parse("<div data-status='-1' data-result='*'>").unwrap();
        assert_eq!(
            (page.status, page.result.as_str(), page.chess960),
            (-1, "*", None)
        );
    }

    #[test]
    fn entities_are_replaced_once() {
        let page = GamePage::parse(
            r#"<a data-status="1" data-result="&amp;lt;" data-initialfen="a&#39;b">"#,
        )
        .unwrap();
        assert_eq!(page.result, "&lt;");
        assert_eq!(page.initial_fen.as_deref(), Some("a'b"));
    }

    #[test]
    fn another_page_is_an_error() {
        assert_eq!(
            GamePage::parse("<title>Page not found!</title>"),
            Err(PageError {
                attribute: "data-status"
            })
        );
        assert_eq!(
            GamePage::parse("data-status=\"1\""),
            Err(PageError {
                attribute: "data-result"
            })
        );
        assert!(GamePage::parse("data-status=\"1").is_err());
        assert!(GamePage::parse("data-status").is_err());
    }

    #[test]
    fn every_prefix_is_harmless() {
        for end in 0..PAGE.len() {
            if let Some(prefix) = PAGE.get(..end) {
                drop(GamePage::parse(prefix));
            }
        }
    }
}
