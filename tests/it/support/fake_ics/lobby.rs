//! Offers between players, seeks, and what is said about them.

use super::dialect::{Dialect, Kind};
use super::world::World;

/// Terms of a game.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    pub minutes: u32,
    pub increment: u32,
    pub rated: bool,
    pub white_wanted: Option<bool>,
    pub kind: Kind,
}

/// What an offer is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum About {
    Match(Terms),
    /// An adjourned game.
    Resume,
    Draw,
    Abort,
    Adjourn,
    Takeback(u32),
    Pause,
    Partner,
}

/// An open offer.
#[derive(Debug, Clone)]
pub struct Offer {
    pub number: u32,
    pub from: usize,
    pub to: usize,
    pub about: About,
}

/// An advertisement.
#[derive(Debug, Clone)]
pub struct Seek {
    pub number: u32,
    pub owner: usize,
    pub terms: Terms,
    pub manual: bool,
}

impl About {
    fn type_word(&self) -> &'static str {
        match self {
            About::Match(_) | About::Resume => "match",
            About::Draw => "draw",
            About::Abort => "abort",
            About::Adjourn => "adjourn",
            About::Takeback(_) => "takeback",
            About::Pause => "pause",
            About::Partner => "partner",
        }
    }

    pub fn is_game(&self) -> bool {
        matches!(self, About::Match(_) | About::Resume)
    }
}

impl World {
    fn numbered(&mut self, session: usize) -> bool {
        self.session(session)
            .is_some_and(|session| session.ivariables.get("pendinfo") == Some(&true))
    }

    fn rating_words(&mut self, session: usize) -> String {
        let guest = self.session(session).is_some_and(|session| session.guest);
        let name = self.name_of(session);
        match self.account(&name) {
            Some(account) if !guest => account.rating.to_string(),
            _ => "++++".to_owned(),
        }
    }

    /// `A (1500) [white] B (1500) rated crazyhouse 3 0`.
    fn match_words(&mut self, from: usize, to: usize, about: &About) -> String {
        let (from_name, to_name) = (self.name_of(from), self.name_of(to));
        let (from_rating, to_rating) = (self.rating_words(from), self.rating_words(to));
        match about {
            About::Match(terms) => {
                let color = match terms.white_wanted {
                    Some(true) => " [white]",
                    Some(false) => " [black]",
                    None => "",
                };
                let rated = if terms.rated { "rated" } else { "unrated" };
                let kind = terms
                    .kind
                    .offer_words(terms.minutes, terms.increment, self.dialect);
                format!("{from_name} ({from_rating}){color} {to_name} ({to_rating}) {rated} {kind}")
            }
            _ => {
                let stored = self
                    .stored_between(&from_name, &to_name)
                    .cloned()
                    .expect("there is such a game");
                let kind = stored.terms.kind.offer_words(
                    stored.terms.minutes,
                    stored.terms.increment,
                    self.dialect,
                );
                let rated = if stored.terms.rated {
                    "rated"
                } else {
                    "unrated"
                };
                format!(
                    "{from_name} ({from_rating}) {to_name} ({to_rating}) {rated} {kind} (adjourned)"
                )
            }
        }
    }

    fn free_number(&self) -> u32 {
        match self.dialect {
            // Numbers are not used again for a while.
            Dialect::Fics => self.log.len() as u32 + self.offers.len() as u32 + 1,
            Dialect::FatIcs | Dialect::Lasker => (1..)
                .find(|number| self.offers.iter().all(|offer| offer.number != *number))
                .expect("endless"),
        }
    }

    /// Opens an offer and shows it to both.
    pub fn open_offer(
        &mut self,
        from: usize,
        to: usize,
        about: About,
        own_words: &str,
        other_words: &str,
    ) {
        let mut number = self.free_number();
        while self.offers.iter().any(|offer| offer.number == number) {
            number += 1;
        }
        let parameters = match &about {
            About::Match(_) | About::Resume => self.match_words(from, to, &about),
            About::Takeback(plies) => plies.to_string(),
            _ => "#".to_owned(),
        };
        let kind = about.type_word();
        let (from_name, to_name) = (self.name_of(from), self.name_of(to));
        let own_line = if self.numbered(from) {
            format!("\n\n<pt> {number} w={to_name} t={kind} p={parameters}")
        } else {
            String::new()
        };
        self.reply(from, &format!("{own_words}{own_line}"));
        self.tell_session(to, other_words);
        if self.numbered(to) {
            // No prompt follows this one.
            self.out(
                to,
                &format!("\n<pf> {number} w={from_name} t={kind} p={parameters}\n"),
            );
        }
        self.offers.push(Offer {
            number,
            from,
            to,
            about,
        });
    }

    /// Removes an offer and tells both its number.
    pub fn close_offer(&mut self, number: u32) -> Option<Offer> {
        let index = self
            .offers
            .iter()
            .position(|offer| offer.number == number)?;
        let offer = self.offers.remove(index);
        for session in [offer.from, offer.to] {
            if self.numbered(session) {
                self.out(session, &format!("\n<pr> {number}\n"));
            }
        }
        Some(offer)
    }

    pub fn parse_terms(&self, words: &[&str]) -> Option<Terms> {
        let mut terms = Terms {
            minutes: 2,
            increment: 12,
            rated: true,
            white_wanted: None,
            kind: Kind::Chess,
        };
        let mut numbers = Vec::new();
        let mut rest = words.iter();
        let mut kind_seen = false;
        while let Some(word) = rest.next() {
            if kind_seen && self.dialect == Dialect::Lasker {
                // This family wants the board last.
                return None;
            }
            match *word {
                "r" | "rated" => terms.rated = true,
                "u" | "unrated" => terms.rated = false,
                "w" | "white" => terms.white_wanted = Some(true),
                "b" | "black" => terms.white_wanted = Some(false),
                "wild" => {
                    terms.kind = Kind::parse(&format!("wild/{}", rest.next()?))?;
                    kind_seen = true;
                }
                word => match word.parse() {
                    Ok(number) => numbers.push(number),
                    Err(_) => {
                        terms.kind = Kind::parse(word)?;
                        kind_seen = true;
                    }
                },
            }
        }
        if let Some(minutes) = numbers.first() {
            terms.minutes = *minutes;
            terms.increment = numbers.get(1).copied().unwrap_or(0);
        }
        if numbers.len() > 2 {
            return None;
        }
        Some(terms)
    }

    pub fn offer_match(&mut self, session: usize, rest: &str) {
        let words: Vec<&str> = rest.split_ascii_whitespace().collect();
        let Some((to_name, words)) = words.split_first() else {
            self.reply(session, "Usage: match <player> [terms]");
            return;
        };
        let name = self.name_of(session);
        let Some(to) = self.session_of(to_name) else {
            self.reply(
                session,
                &format!("No player named \"{}\" is online.", to_name.to_lowercase()),
            );
            return;
        };
        let to_name = self.name_of(to);
        let refusal = self.match_refusal(session, to, &name, &to_name);
        if let Some(refusal) = refusal {
            self.reply(session, &refusal);
            return;
        }
        let stored = self.stored_between(&name, &to_name).is_some();
        if stored && !words.is_empty() {
            self.reply(session, &format!("You have an adjourned game with {to_name}.  You cannot start a new game until you finish it."));
            return;
        }
        let about = if stored {
            About::Resume
        } else {
            match self.parse_terms(words) {
                Some(terms) => About::Match(terms),
                None => {
                    let complaint = if self.dialect == Dialect::Lasker {
                        "No such category/board: x/0"
                    } else {
                        "Usage: match <player> [terms]"
                    };
                    self.reply(session, complaint);
                    return;
                }
            }
        };
        if let About::Match(terms) = &about
            && terms.rated
            && [session, to]
                .into_iter()
                .any(|player| self.session(player).is_some_and(|player| player.guest))
        {
            self.reply(session, "Only registered players can play rated games.");
            return;
        }
        self.issue(session, to, about);
    }

    fn match_refusal(
        &mut self,
        from: usize,
        to: usize,
        name: &str,
        to_name: &str,
    ) -> Option<String> {
        if from == to {
            return Some("You can't match yourself.".to_owned());
        }
        if self.game_index_of(name).is_some() {
            return Some("You can't challenge while you are playing a game.".to_owned());
        }
        if self.game_index_of(to_name).is_some() {
            return Some(format!("{to_name} is playing a game."));
        }
        let target = self.session(to)?;
        if target.variables.get("open").map(String::as_str) == Some("0") {
            return Some(format!("{to_name} is not open to match requests."));
        }
        let filters_all = target
            .variables
            .get("formula")
            .is_some_and(|formula| formula == "none");
        let modern = self.dialect.is_modern();
        filters_all.then(|| {
            if modern {
                format!("Match request does not meet formula for {to_name}:")
            } else {
                format!(
                    "Match request does not fit formula for {to_name}:\n{to_name}'s formula: none"
                )
            }
        })
    }

    fn issue(&mut self, from: usize, to: usize, about: About) {
        let (name, to_name) = (self.name_of(from), self.name_of(to));
        let same_terms =
            |offer: &Offer| offer.from == to && offer.to == from && offer.about == about;
        if let Some(offer) = self
            .offers
            .iter()
            .find(|offer| same_terms(offer))
            .map(|offer| offer.number)
        {
            self.out(
                from,
                &format!("Your challenge intercepts {to_name}'s challenge.\n"),
            );
            self.out(
                to,
                &format!("{name}'s challenge intercepts your challenge.\nfics% "),
            );
            self.accept_number(from, offer);
            return;
        }
        let mut heading = String::new();
        let mut other_heading = String::new();
        if let Some(index) = self
            .offers
            .iter()
            .position(|offer| offer.from == from && offer.to == to && offer.about.is_game())
        {
            // An updated offer gets a new number, and nothing says that the old one is gone.
            self.offers.remove(index);
            heading = format!("Updating the offer already made to {to_name}.\n");
            other_heading = format!("{name} updates the offer.\nfics% ");
        }
        if let Some(number) = self
            .offers
            .iter()
            .find(|offer| offer.from == to && offer.to == from && offer.about.is_game())
            .map(|offer| offer.number)
        {
            self.out(
                from,
                &format!("Declining the offer from {to_name} and proposing a counteroffer.\n"),
            );
            self.out(
                to,
                &format!("{name} declines your offer and proposes a counteroffer.\nfics% "),
            );
            self.close_offer(number);
        }
        let words = self.match_words(from, to, &about);
        let computer = |world: &mut World, session: usize| {
            world
                .session(session)
                .is_some_and(|session| session.computer)
        };
        let own_note = if computer(self, to) {
            format!("\n--** {to_name} is a computer **--")
        } else {
            String::new()
        };
        let other_note = if computer(self, from) {
            format!("\n--** {name} is a computer **--\nfics% ")
        } else {
            "\n".to_owned()
        };
        let change = if self.dialect == Dialect::Lasker {
            "\nYour wild rating will change:  Win: +58,  Draw: -85,  Loss: -229\nYour new RD will be 260.3"
        } else {
            ""
        };
        let own = format!("{heading}Issuing: {words}.{own_note}{change}");
        let other = format!(
            "{other_heading}Challenge: {words}.{change}{other_note}You can \"accept\" or \"decline\", or propose different parameters."
        );
        self.open_offer(from, to, about, &own, &other);
    }

    /// Finds the offer meant by the words after `accept`, `decline` or `withdraw`.
    fn meant(&mut self, session: usize, words: &str, ours: bool) -> Result<u32, String> {
        let mine = |offer: &&Offer| {
            if ours {
                offer.from == session
            } else {
                offer.to == session
            }
        };
        let candidates: Vec<&Offer> = self.offers.iter().filter(mine).collect();
        if words.is_empty() {
            return match candidates[..] {
                [] => Err("You have no offers to accept.".to_owned()),
                [only] => Ok(only.number),
                _ => Err("You have more than one offer.".to_owned()),
            };
        }
        if let Ok(number) = words.parse::<u32>() {
            let known = candidates.iter().any(|offer| offer.number == number);
            return if known {
                Ok(number)
            } else {
                Err(format!("There is no offer {number} to accept."))
            };
        }
        let by_type = words.strip_prefix("t ").unwrap_or(words);
        let found = candidates.iter().find(|offer| {
            let partner = if ours { offer.to } else { offer.from };
            let name = self.sessions[partner]
                .as_ref()
                .map(|session| session.name.as_str())
                .unwrap_or_default();
            offer.about.type_word() == by_type || name.eq_ignore_ascii_case(words)
        });
        found
            .map(|offer| offer.number)
            .ok_or_else(|| format!("There are no pending offers from {words}."))
    }

    pub fn accept(&mut self, session: usize, rest: &str) {
        match self.meant(session, rest, false) {
            Ok(number) => self.accept_number(session, number),
            Err(words) => self.reply(session, &words),
        }
    }

    pub fn accept_number(&mut self, session: usize, number: u32) {
        let Some(offer) = self
            .offers
            .iter()
            .find(|offer| offer.number == number)
            .cloned()
        else {
            return;
        };
        let (name, from_name) = (self.name_of(session), self.name_of(offer.from));
        let thing = if offer.about.is_game() {
            "match offer".to_owned()
        } else {
            format!("{} request", offer.about.type_word())
        };
        let (own, other) = match self.dialect {
            Dialect::FatIcs => (
                format!("Accepting the {thing} from {from_name}."),
                format!("{name} accepts your {thing}."),
            ),
            Dialect::Fics => (
                format!("You accept the {thing} from {from_name}."),
                format!("{name} accepts the {thing}."),
            ),
            Dialect::Lasker => (
                format!(
                    "You accept the challenge of {from_name}.\n\n{from_name}, who was challenging you, has joined a match with {name}."
                ),
                format!("{name} accepts your challenge.\nfics% Challenge to {name} withdrawn."),
            ),
        };
        self.out(session, &format!("{own}\n"));
        self.tell_session(offer.from, &other);
        self.close_offer(number);
        match offer.about {
            About::Match(terms) => self.start_match(offer.from, session, terms),
            About::Resume => self.resume_stored(offer.from, session),
            About::Partner => {
                self.reply(session, &format!("You agree to be {from_name}'s partner."));
            }
            about => self.agreed(session, about),
        }
    }

    pub fn decline(&mut self, session: usize, rest: &str) {
        match self.meant(session, rest, false) {
            Ok(number) => {
                // The order of the number's removal and the sentence is another on each server.
                let offer = if self.dialect == Dialect::Fics {
                    self.close_offer(number)
                } else {
                    self.offers
                        .iter()
                        .find(|offer| offer.number == number)
                        .cloned()
                };
                let Some(offer) = offer else { return };
                let (name, from_name) = (self.name_of(session), self.name_of(offer.from));
                let thing = match (&offer.about, self.dialect) {
                    (about, _) if about.is_game() => "match offer".to_owned(),
                    (About::Draw, Dialect::FatIcs) => "draw offer".to_owned(),
                    (about, _) => format!("{} request", about.type_word()),
                };
                let the = match self.dialect {
                    Dialect::FatIcs => "your ",
                    Dialect::Fics => "the ",
                    Dialect::Lasker if offer.about.is_game() => "the ",
                    Dialect::Lasker => "",
                };
                self.reply(
                    session,
                    &format!("You decline the {thing} from {from_name}."),
                );
                self.tell_session(offer.from, &format!("{name} declines {the}{thing}."));
                self.close_offer(number);
            }
            Err(words) => self.reply(session, &words),
        }
    }

    pub fn withdraw(&mut self, session: usize, rest: &str) {
        match self.meant(session, rest, true) {
            Ok(number) => {
                let Some(offer) = self.close_offer(number) else {
                    return;
                };
                let name = self.name_of(session);
                let thing = if offer.about.is_game() {
                    "match offer".to_owned()
                } else {
                    format!("{} request", offer.about.type_word())
                };
                let to_name = self.name_of(offer.to);
                self.reply(session, &format!("You withdraw the {thing} to {to_name}."));
                self.tell_session(offer.to, &format!("{name} withdraws the {thing}."));
            }
            Err(words) => self.reply(session, &words),
        }
    }

    /// All offers of players who just began a game vanish, and their seeks.
    pub fn offers_void(&mut self, players: [usize; 2]) {
        let names = players.map(|player| self.name_of(player));
        let numbers: Vec<u32> = self
            .offers
            .iter()
            .filter(|offer| players.contains(&offer.from) || players.contains(&offer.to))
            .map(|offer| offer.number)
            .collect();
        for number in numbers {
            if let Some(offer) = self.close_offer(number)
                && players.contains(&offer.from)
                && !players.contains(&offer.to)
            {
                let (who, with) = if offer.from == players[0] {
                    (&names[0], &names[1])
                } else {
                    (&names[1], &names[0])
                };
                self.tell_session(offer.to, &format!("{who}, who was challenging you, has joined a match with {with}.\nChallenge from {who} removed."));
            }
        }
        let gone: Vec<u32> = self
            .seeks
            .iter()
            .filter(|seek| players.contains(&seek.owner))
            .map(|seek| seek.number)
            .collect();
        self.seeks.retain(|seek| !players.contains(&seek.owner));
        for number in gone {
            for player in players {
                self.out(player, &format!("<sr> {number}\n"));
            }
        }
    }

    pub fn offers_of_leaver(&mut self, name: &str) {
        let Some(session) = self.session_of(name) else {
            return;
        };
        let numbers: Vec<u32> = self
            .offers
            .iter()
            .filter(|offer| offer.from == session || offer.to == session)
            .map(|offer| offer.number)
            .collect();
        for number in numbers {
            if let Some(offer) = self.close_offer(number)
                && offer.from == session
            {
                self.tell_session(offer.to, &format!("{name}, who was challenging you, has departed.\nChallenge from {name} removed."));
            }
        }
    }

    pub fn seek(&mut self, session: usize, rest: &str) {
        let mut words: Vec<&str> = rest.split_ascii_whitespace().collect();
        let manual = words.iter().any(|word| matches!(*word, "m" | "manual"));
        if manual && self.dialect == Dialect::Lasker {
            self.reply(session, "No such category/board: m/0");
            return;
        }
        words.retain(|word| !matches!(*word, "m" | "manual"));
        let Some(terms) = self.parse_terms(&words) else {
            self.reply(session, "Usage: seek [terms]");
            return;
        };
        if self
            .seeks
            .iter()
            .filter(|seek| seek.owner == session)
            .count()
            >= 3
        {
            self.reply(session, "You can only have 3 active seeks.");
            return;
        }
        if let Some(index) = self
            .seeks
            .iter()
            .position(|seek| seek.owner != session && seek.terms == terms && !seek.manual)
        {
            let other = self.seeks[index].owner;
            let names = [self.name_of(session), self.name_of(other)];
            self.out(
                session,
                &format!("Your seek matches one already posted by {}.\n", names[1]),
            );
            self.tell_session(
                other,
                &format!("Your seek matches one already posted by {}.", names[0]),
            );
            self.start_match(session, other, terms);
            return;
        }
        let number = self.log.len() as u32;
        self.seeks.push(Seek {
            number,
            owner: session,
            terms,
            manual,
        });
        self.reply(
            session,
            &format!("Your seek has been posted with index {number}.\n(1 player saw the seek.)"),
        );
    }

    pub fn unseek(&mut self, session: usize) {
        self.seeks.retain(|seek| seek.owner != session);
        self.reply(session, "Your seeks have been removed.");
    }

    pub fn play_seek(&mut self, session: usize, rest: &str) {
        if self
            .session(session)
            .is_some_and(|session| session.computer)
        {
            self.reply(session, "Computers cannot accept seeks.");
            return;
        }
        let owner = rest.parse::<u32>().ok();
        let by_name = self.session_of(rest);
        let Some(seek) = self
            .seeks
            .iter()
            .find(|seek| Some(seek.number) == owner || Some(seek.owner) == by_name)
            .cloned()
        else {
            self.reply(session, "That seek is not available.");
            return;
        };
        if seek.manual {
            self.out(
                session,
                "Issuing match request since the seek was set to manual.\n",
            );
            self.issue(session, seek.owner, About::Match(seek.terms));
        } else {
            let name = self.name_of(session);
            self.tell_session(seek.owner, &format!("{name} accepts your seek."));
            self.start_match(session, seek.owner, seek.terms);
        }
    }

    pub fn offer_partnership(&mut self, session: usize, rest: &str) {
        let Some(to) = self.session_of(rest) else {
            self.reply(session, "No such player.");
            return;
        };
        let name = self.name_of(session);
        let words = format!(
            "{name} offers to be your bughouse partner; type \"partner {name}\" to accept."
        );
        self.open_offer(
            session,
            to,
            About::Partner,
            &format!("Making a partnership offer to {rest}."),
            &words,
        );
    }
}
