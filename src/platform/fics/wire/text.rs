//! The server's sentences. Matching is by the words that the known servers share, so that a server with other wording
//! costs a feature and not the connection.

use super::shape::{is_name, split_name};
use super::{InGameOffer, Refusal, ServerLine};

/// Reads `**** text ****`.
pub(super) fn starred(text: &str) -> ServerLine {
    if let Some(name) = text.split_once("session as ").map(|(_, name)| name)
        && let Some((handle, marks)) = split_name(name.trim())
    {
        let titles = marks
            .split(['(', ')'])
            .map(str::trim)
            .filter(|title| !title.is_empty())
            .map(str::to_owned)
            .collect();
        return ServerLine::SessionStarted {
            handle: handle.to_owned(),
            titles,
        };
    }
    let lower = text.to_ascii_lowercase();
    if lower.contains("invalid password") {
        ServerLine::InvalidPassword
    } else if lower.contains("can't both be logged in") {
        ServerLine::Kicked
    } else if lower.contains("already logged in") {
        ServerLine::OtherSessionClosed
    } else if lower.contains("login timeout") || lower.contains("auto-logout") {
        ServerLine::LoggedOut {
            words: text.to_owned(),
        }
    } else {
        ServerLine::Text(format!("**** {text} ****"))
    }
}

/// Reads a sentence; anything unknown is [`ServerLine::Text`].
pub(super) fn sentence(line: &str) -> ServerLine {
    login(line)
        .or_else(|| own_command(line))
        .or_else(|| by_player(line))
        .or_else(|| about_player(line))
        .or_else(|| seeks(line))
        .or_else(|| settings(line))
        .or_else(|| adjourned(line))
        .unwrap_or_else(|| ServerLine::Text(line.to_owned()))
}

/// The text between the first pair of double quotes.
fn quoted(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once('"')?;
    rest.split_once('"').map(|(inner, _)| inner)
}

fn login(line: &str) -> Option<ServerLine> {
    const NAME_REFUSED: [&str; 5] = [
        "Names should ",
        "A name should be ",
        "Sorry, names can only ",
        "Sorry, names may be at most",
        "That is not a valid name",
    ];
    const GUESTS_REFUSED: [&str; 3] = [
        "guest connections have been prevented",
        "nobody from your site may login",
        "no guest",
    ];
    if line.starts_with('"') && line.contains("is a registered name") {
        return Some(ServerLine::NameRegistered(quoted(line)?.to_owned()));
    }
    if line.starts_with('"') && line.contains("is not a registered name") {
        return Some(ServerLine::NameUnregistered(quoted(line)?.to_owned()));
    }
    if line.starts_with("Logging you in as \"") {
        return Some(ServerLine::GuestNamed(quoted(line)?.to_owned()));
    }
    if line.starts_with("Press return to enter") {
        return Some(ServerLine::PressReturn);
    }
    if line.starts_with("Logging you out") {
        return Some(ServerLine::Farewell);
    }
    let words = || line.to_owned();
    let lower = line.to_ascii_lowercase();
    if GUESTS_REFUSED.iter().any(|part| lower.contains(part)) {
        return Some(ServerLine::LoginRefused { words: words() });
    }
    if NAME_REFUSED.iter().any(|start| line.starts_with(start)) {
        return Some(ServerLine::NameRefused { words: words() });
    }
    if let Some(rest) = line.strip_prefix("Sorry, ")
        && rest.contains("is already logged in")
    {
        return Some(ServerLine::LoginRefused { words: words() });
    }
    None
}

/// Answers to what we sent.
fn own_command(line: &str) -> Option<ServerLine> {
    if let Some(word) = line.strip_suffix(": Command not found.") {
        return Some(ServerLine::UnknownCommand(word.trim().to_owned()));
    }
    if let Some(rest) = line.strip_prefix("Illegal move") {
        let text = rest
            .trim()
            .trim_end_matches('.')
            .strip_prefix('(')
            .and_then(|t| t.strip_suffix(')'));
        if rest.starts_with([' ', '.']) {
            return Some(ServerLine::IllegalMove(text.map(str::to_owned)));
        }
    }
    if let Some(rest) = line.strip_prefix("Ambiguous move") {
        let text = rest
            .trim()
            .trim_end_matches('.')
            .strip_prefix('(')
            .and_then(|t| t.strip_suffix(')'));
        return Some(ServerLine::IllegalMove(text.map(str::to_owned)));
    }
    let known = match line {
        "It is not your move." => ServerLine::NotYourMove,
        "You are not playing a game." | "You are not playing or examining a game." => {
            ServerLine::NotPlaying
        }
        "Your opponent is not out of time." => ServerLine::FlagTooEarly,
        "You have no offers to accept." => ServerLine::NoSuchOffer,
        _ => return own_command_with_parameters(line),
    };
    Some(known)
}

fn own_command_with_parameters(line: &str) -> Option<ServerLine> {
    if line.starts_with("There is no offer ")
        || line.starts_with("There are no pending offers from ")
    {
        return Some(ServerLine::NoSuchOffer);
    }
    if line.starts_with("Your communication has been queued")
        || line.starts_with("You have reached the communication")
    {
        return Some(ServerLine::TellsThrottled);
    }
    if let Some(rest) = line.strip_prefix("Challenge: ") {
        return super::offer::match_offer(rest).map(|offer| ServerLine::Challenge(Box::new(offer)));
    }
    if let Some(rest) = line.strip_prefix("Issuing: ") {
        return super::offer::match_offer(rest).map(|offer| ServerLine::Issuing(Box::new(offer)));
    }
    if let Some(rest) = line.strip_prefix("Creating: ") {
        return super::game::creating(rest).map(|offer| ServerLine::Creating(Box::new(offer)));
    }
    if let Some(rest) = line.strip_prefix("Challenge from ") {
        return rest
            .strip_suffix(" removed.")
            .filter(|name| is_name(name))
            .map(|name| ServerLine::ChallengeGone(name.to_owned()));
    }
    if let Some(rest) = line.strip_prefix("You withdraw the match offer to ") {
        return Some(ServerLine::OurChallengeGone(
            rest.trim_end_matches('.').to_owned(),
        ));
    }
    if let Some(rest) = line.strip_prefix("Challenge to ") {
        return rest
            .strip_suffix(" withdrawn.")
            .filter(|name| is_name(name))
            .map(|name| ServerLine::OurChallengeGone(name.to_owned()));
    }
    if line.starts_with("No ratings adjustment done") {
        return Some(ServerLine::RatingUnchanged);
    }
    if let Some((kind, from, to)) = super::game::rating_change(line) {
        return Some(ServerLine::RatingChanged { kind, from, to });
    }
    if let Some(rest) = line.strip_prefix("Game ")
        && let Some((game, rest)) = rest.split_once(": ")
        && rest.starts_with("A disconnection will be considered a forfeit")
    {
        return game.parse().ok().map(ServerLine::DisconnectionForfeits);
    }
    None
}

/// `NAME does something to us.`
fn by_player(line: &str) -> Option<ServerLine> {
    let (name, rest) = split_name(line)?;
    let by = name.to_owned();
    let offer = |offer| {
        Some(ServerLine::InGameOffer {
            by: name.to_owned(),
            offer,
        })
    };
    let rest = rest
        .strip_prefix("'s challenge intercepts your challenge.")
        .map_or(rest, |_| " accepts the match offer.");
    match rest {
        " offers you a draw." => return offer(InGameOffer::Draw),
        " updates the offer." => return Some(ServerLine::OfferUpdated(by)),
        " accepts the match offer."
        | " accepts your match offer."
        | " accepts your challenge."
        | " accepts your seek." => {
            return Some(ServerLine::MatchAccepted(by));
        }
        " declines the match offer."
        | " declines your match offer."
        | " declines your challenge."
        | " declines your offer and proposes a counteroffer." => {
            return Some(ServerLine::MatchDeclined(by));
        }
        " withdraws the match offer." | " withdraws the challenge." => {
            return Some(ServerLine::ChallengeGone(by));
        }
        _ => {}
    }
    if let Some(rest) = rest.strip_prefix(" would like to ") {
        if rest.starts_with("abort the game") {
            return offer(InGameOffer::Abort);
        }
        if rest.starts_with("adjourn the game") {
            return offer(InGameOffer::Adjourn);
        }
        let plies = rest
            .strip_prefix("take back ")?
            .split(' ')
            .next()?
            .parse()
            .ok()?;
        return offer(InGameOffer::Takeback(plies));
    }
    if rest.starts_with(" requests to abort ") {
        return offer(InGameOffer::Abort);
    }
    if rest.starts_with(" requests to adjourn ") {
        return offer(InGameOffer::Adjourn);
    }
    if let Some(rest) = rest.strip_prefix(" proposes a different number (") {
        return offer(InGameOffer::Takeback(rest.split_once(')')?.0.parse().ok()?));
    }
    if rest.starts_with(" offers to be your bughouse partner") {
        return Some(ServerLine::PartnershipOffered(by));
    }
    if let Some(rest) = rest.strip_prefix(" has added ")
        && rest.ends_with(" to your clock.")
    {
        return Some(ServerLine::TimeAdded);
    }
    if let Some(rest) = rest.strip_prefix(", who was challenging you, ") {
        return Some(
            match rest
                .strip_prefix("has joined a match with ")
                .map(|with| with.trim_end_matches('.'))
            {
                Some(with) => ServerLine::ChallengerPlays {
                    name: by,
                    with: with.to_owned(),
                },
                None => ServerLine::ChallengeGone(by),
            },
        );
    }
    in_game_offer_gone(name, rest)
}

/// `NAME withdraws the draw request.`, `NAME declines [the|your] draw request.`
fn in_game_offer_gone(name: &str, rest: &str) -> Option<ServerLine> {
    let (verb, rest) = rest.strip_prefix(' ')?.split_once(' ')?;
    let withdrawn = match verb {
        "withdraws" => true,
        "declines" => false,
        _ => return None,
    };
    let rest = rest
        .strip_prefix("the ")
        .or_else(|| rest.strip_prefix("your "))
        .unwrap_or(rest);
    let offer = match rest
        .strip_suffix(" request.")
        .or_else(|| rest.strip_suffix(" offer."))?
    {
        "draw" => InGameOffer::Draw,
        "abort" => InGameOffer::Abort,
        "adjourn" => InGameOffer::Adjourn,
        "takeback" => InGameOffer::Takeback(0),
        _ => return None,
    };
    Some(ServerLine::InGameOfferGone {
        by: name.to_owned(),
        offer,
        withdrawn,
    })
}

/// Refusals of a match of ours and news about a player.
fn about_player(line: &str) -> Option<ServerLine> {
    let refused = |refusal| {
        Some(ServerLine::MatchRefused {
            refusal,
            words: line.to_owned(),
        })
    };
    if let Some(rest) = line.strip_prefix("Your opponent, ")
        && let Some((name, rest)) = split_name(rest)
        && rest.contains("has lost contact or quit")
    {
        return Some(ServerLine::OpponentGone(name.to_owned()));
    }
    if line.starts_with("No player named ") || line.starts_with("There is no player matching ") {
        return refused(Refusal::Absent);
    }
    if line.starts_with("You are on ") && line.contains("noplay list") {
        return refused(Refusal::Unwilling);
    }
    if line.starts_with("Match request does not ") {
        return refused(Refusal::Unwilling);
    }
    if line.starts_with("You have an adjourned game with ") {
        return refused(Refusal::AdjournedGame);
    }
    const BAD: [&str; 6] = [
        "You can't match yourself",
        "Only registered players can play rated games",
        "You are already offering an identical match",
        "No such category/board",
        "Usage: ",
        "Setting match offer to unrated and ",
    ];
    if BAD.iter().any(|start| line.starts_with(start)) {
        return refused(Refusal::BadRequest);
    }
    let (_, rest) = split_name(line)?;
    match rest {
        " is not open to match requests." | " is censoring you." => refused(Refusal::Unwilling),
        " is playing a game." | " is examining a game." | " is already playing a game." => {
            refused(Refusal::Busy)
        }
        " is not logged in." => refused(Refusal::Absent),
        _ if rest.starts_with(" is not open to ") => refused(Refusal::Unwilling),
        _ => None,
    }
}

fn seeks(line: &str) -> Option<ServerLine> {
    if let Some(rest) = line.strip_prefix("Your seek has been posted with index ") {
        return rest
            .trim_end_matches('.')
            .parse()
            .ok()
            .map(ServerLine::SeekPosted);
    }
    if line.starts_with("Your seeks have been removed") || line.starts_with("Ads removed") {
        return Some(ServerLine::OwnSeeksRemoved);
    }
    if let Some(rest) = line.strip_prefix("Your seek ")
        && let Some(number) = rest.strip_suffix(" has been removed.")
    {
        return number
            .parse()
            .ok()
            .map(|number| ServerLine::SeeksRemoved(vec![number]));
    }
    if line.starts_with("You can only have ") && line.contains("active seeks") {
        return Some(ServerLine::SeekRefused {
            words: line.to_owned(),
        });
    }
    if line.starts_with("Your seek matches one already posted by ") {
        return Some(ServerLine::SeekMatched);
    }
    None
}

fn settings(line: &str) -> Option<ServerLine> {
    if line.starts_with("No such ivariable") {
        return Some(ServerLine::SettingUnknown(
            quoted(line).unwrap_or_default().to_owned(),
        ));
    }
    if let Some(rest) = line.strip_prefix("No such variable name ") {
        return Some(ServerLine::SettingUnknown(
            rest.trim_matches(['"', '.', ' ']).to_owned(),
        ));
    }
    if line.starts_with("Bad value given for variable") {
        return Some(ServerLine::SettingRefused {
            words: line.to_owned(),
        });
    }
    None
}

fn adjourned(line: &str) -> Option<ServerLine> {
    if line.contains("who has an adjourned game with you")
        || line.contains("who have an adjourned game with you")
    {
        if let Some(rest) = line.strip_prefix("Notification: ") {
            let (name, rest) = split_name(rest)?;
            return rest
                .ends_with("has arrived.")
                .then(|| ServerLine::AdjournedOnline(vec![name.to_owned()]));
        }
        // `1 player who has an adjourned game with you is online: NAME NAME`, on one server with the names on the next line.
        let starts_with_count = line.starts_with(|c: char| c.is_ascii_digit());
        let names = line.rsplit_once(':').map_or("", |(_, names)| names);
        return starts_with_count.then(|| ServerLine::AdjournedOnline(player_names(names)));
    }
    if line.ends_with("has no adjourned games.") {
        return Some(ServerLine::NothingStored);
    }
    None
}

/// Names separated by blanks, titles removed; at most 40.
fn player_names(text: &str) -> Vec<String> {
    text.split_ascii_whitespace()
        .take(40)
        .filter_map(|word| {
            split_name(word).filter(|(_, rest)| rest.is_empty() || rest.starts_with('('))
        })
        .map(|(name, _)| name.to_owned())
        .collect()
}
