//! First parser: the grammar of a line. It tells apart what a machine wrote from what a person wrote.
//!
//! A person's text always follows a prefix that the server writes (`NAME tells you: `), so chat is recognised first and
//! machine forms are taken only from column 0. Nothing inside a chat text is ever looked at by the second parser.

/// The form of one line, borrowed from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape<'a> {
    /// Nothing.
    Empty,
    /// A folded part that came too late to be joined; it belongs to nobody.
    Continuation,
    /// Somebody's words.
    Chat(ChatShape<'a>),
    /// Output of a program run by the server's staff, such as the tournament director; starts with a colon.
    Staff(&'a str),
    /// `<tag> rest`.
    Tagged {
        /// What stands between the angle brackets.
        tag: &'a str,
        /// What follows, without the blank.
        rest: &'a str,
    },
    /// `{inner} tail`.
    Braced {
        /// What stands between the braces.
        inner: &'a str,
        /// What follows, without the blank; a result or nothing.
        tail: &'a str,
    },
    /// `**** text ****`.
    Starred(&'a str),
    /// Any other text.
    Text(&'a str),
}

/// How somebody spoke.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    /// To us alone.
    Tell,
    /// To us as the opponent, in or after a game.
    Say,
    /// To us as the bughouse partner.
    Partner,
    /// To players and observers of a game.
    Kibitz,
    /// To observers of a game.
    Whisper,
    /// To everybody, in any of the forms for that.
    Shout,
    /// To a numbered channel.
    Numbered(u32),
}

/// The parts of a chat line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChatShape<'a> {
    /// Who spoke, without titles.
    pub from: &'a str,
    /// Titles, ratings and numbers between the name and the verb, as written: `(C)(1882)[1]`.
    pub marks: &'a str,
    /// How.
    pub channel: Channel,
    /// The words.
    pub text: &'a str,
}

/// Reads the form of `line`.
#[must_use]
pub fn shape(line: &str) -> Shape<'_> {
    if line.is_empty() {
        return Shape::Empty;
    }
    if line.starts_with('\\') {
        return Shape::Continuation;
    }
    if let Some(rest) = line.strip_prefix(':') {
        return Shape::Staff(rest);
    }
    if let Some(chat) = chat(line) {
        return Shape::Chat(chat);
    }
    if let Some((tag, rest)) = line.strip_prefix('<').and_then(|rest| rest.split_once('>'))
        && (1..=3).contains(&tag.len())
        && tag.bytes().all(|b| b.is_ascii_alphanumeric())
    {
        return Shape::Tagged {
            tag,
            rest: rest.trim_start(),
        };
    }
    if let Some((inner, tail)) = line
        .strip_prefix('{')
        .and_then(|rest| rest.rsplit_once('}'))
    {
        return Shape::Braced {
            inner,
            tail: tail.trim_start(),
        };
    }
    if let Some(inner) = line
        .strip_prefix("****")
        .and_then(|rest| rest.trim_end().strip_suffix("****"))
    {
        return Shape::Starred(inner.trim());
    }
    Shape::Text(line)
}

/// Splits a leading player name off: letters only, at most 17 by the servers' rules (20 are allowed here).
#[must_use]
pub fn split_name(text: &str) -> Option<(&str, &str)> {
    let end = text
        .bytes()
        .position(|b| !b.is_ascii_alphabetic())
        .unwrap_or(text.len());
    if (1..=20).contains(&end) {
        Some(text.split_at(end))
    } else {
        None
    }
}

/// Whether `text` is a player name and nothing else.
#[must_use]
pub fn is_name(text: &str) -> bool {
    matches!(split_name(text), Some((_, "")))
}

fn chat(line: &str) -> Option<ChatShape<'_>> {
    if let Some(rest) = line.strip_prefix("--> ") {
        let (from, rest) = split_name(rest)?;
        let (marks, text) = split_marks(rest);
        return Some(ChatShape {
            from,
            marks,
            channel: Channel::Shout,
            text: text.trim_start(),
        });
    }
    let (from, rest) = split_name(line)?;
    let (marks, rest) = split_marks(rest);
    if let Some(text) = rest.strip_prefix(" (your partner) tells you:") {
        return Some(ChatShape {
            from,
            marks,
            channel: Channel::Partner,
            text: text.trim_start(),
        });
    }
    const VERBS: [(&str, Channel); 7] = [
        (" tells you:", Channel::Tell),
        (" says:", Channel::Say),
        (" kibitzes:", Channel::Kibitz),
        (" whispers:", Channel::Whisper),
        (" shouts:", Channel::Shout),
        (" c-shouts:", Channel::Shout),
        (" s-shouts:", Channel::Shout),
    ];
    for (verb, channel) in VERBS {
        if let Some(text) = rest.strip_prefix(verb) {
            return Some(ChatShape {
                from,
                marks,
                channel,
                text: text.trim_start(),
            });
        }
    }
    // `NAME(C)(50): text`: the last mark is the channel's number.
    let text = rest
        .strip_prefix(": ")
        .or_else(|| (rest == ":").then_some(""))?;
    let number = marks.strip_suffix(')')?.rsplit_once('(')?.1;
    let number = number.parse().ok().filter(|number| *number <= 255)?;
    Some(ChatShape {
        from,
        marks,
        channel: Channel::Numbered(number),
        text,
    })
}

/// Splits `(...)` and `[...]` groups off; the blank after them stays with the rest.
fn split_marks(text: &str) -> (&str, &str) {
    let mut end = 0;
    loop {
        let rest = &text[end..];
        let close = match rest.as_bytes().first() {
            Some(b'(') => ')',
            Some(b'[') => ']',
            _ => break,
        };
        match rest.find(close) {
            // Titles and ratings are short; anything longer is not a mark.
            Some(length) if length <= 12 => end += length + 1,
            _ => break,
        }
    }
    text.split_at(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spoken(line: &str) -> (String, String, Channel, String) {
        match shape(line) {
            Shape::Chat(chat) => (
                chat.from.to_owned(),
                chat.marks.to_owned(),
                chat.channel,
                chat.text.to_owned(),
            ),
            other => panic!("{line} is {other:?}"),
        }
    }

    #[test]
    fn every_way_of_speaking_is_chat() {
        let cases = [
            (
                "Anna(C) tells you: hello",
                "Anna",
                "(C)",
                Channel::Tell,
                "hello",
            ),
            (
                "Anna(C)(U) tells you: a: b",
                "Anna",
                "(C)(U)",
                Channel::Tell,
                "a: b",
            ),
            ("Anna[12] says: hi", "Anna", "[12]", Channel::Say, "hi"),
            ("Anna says: hi", "Anna", "", Channel::Say, "hi"),
            (
                "Anna(C) (your partner) tells you: sit",
                "Anna",
                "(C)",
                Channel::Partner,
                "sit",
            ),
            (
                "Anna(C)(1882)[1] kibitzes: +0.3",
                "Anna",
                "(C)(1882)[1]",
                Channel::Kibitz,
                "+0.3",
            ),
            (
                "Anna( 997)[1] whispers: pv",
                "Anna",
                "( 997)[1]",
                Channel::Whisper,
                "pv",
            ),
            (
                "Anna(1558) kibitzes: kib",
                "Anna",
                "(1558)",
                Channel::Kibitz,
                "kib",
            ),
            ("Anna shouts: all", "Anna", "", Channel::Shout, "all"),
            ("--> Anna waves", "Anna", "", Channel::Shout, "waves"),
            (
                "Anna(TD)(50): round two",
                "Anna",
                "(TD)(50)",
                Channel::Numbered(50),
                "round two",
            ),
        ];
        for (line, from, marks, channel, text) in cases {
            assert_eq!(
                spoken(line),
                (from.to_owned(), marks.to_owned(), channel, text.to_owned()),
                "{line}"
            );
        }
    }

    #[test]
    fn machine_text_inside_chat_stays_chat() {
        for line in [
            "Anna tells you: {Game 1 (Bot vs. Anna) Anna resigns} 1-0",
            "Anna(1500)[1] kibitzes: <12> rnbqkbnr",
            "Anna says: Challenge: Anna (1500) Bot (1500) rated blitz 3 0.",
        ] {
            assert!(matches!(shape(line), Shape::Chat(_)), "{line}");
        }
    }

    #[test]
    fn machine_forms_stand_at_column_zero() {
        assert_eq!(
            shape("<12> a b"),
            Shape::Tagged {
                tag: "12",
                rest: "a b"
            }
        );
        assert_eq!(
            shape("{x} 1-0"),
            Shape::Braced {
                inner: "x",
                tail: "1-0"
            }
        );
        assert_eq!(shape("**** hello ****"), Shape::Starred("hello"));
        assert_eq!(shape(":You play White"), Shape::Staff("You play White"));
        assert_eq!(shape("\\   {x} 1-0"), Shape::Continuation);
        assert_eq!(shape(" <12> a"), Shape::Text(" <12> a"));
        assert_eq!(
            shape("Challenge: A (1) B (2) rated blitz 3 0."),
            Shape::Text("Challenge: A (1) B (2) rated blitz 3 0.")
        );
    }
}
