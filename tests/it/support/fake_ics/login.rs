//! From the greeting to the session.

use super::world::World;

/// Where a connection stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stage {
    Name,
    Password(String),
    Return(String),
    In,
}

const ECHO_OFF: &[u8] = b"\xff\xfb\x01";
const ECHO_ON: &[u8] = b"\xff\xfc\x01";

impl World {
    pub fn greet(&mut self, session: usize) {
        self.out(session, "Welcome to a chess server.\nIf you are not a registered player, enter the login name \"guest\" at the login: below.\n\n");
        self.ask_name(session);
    }

    fn ask_name(&mut self, session: usize) {
        self.out(session, "login: ");
        if let Some(session) = self.session(session) {
            session.stage = Stage::Name;
            session.asked = true;
        }
    }

    pub fn login_input(&mut self, session: usize, line: &str) {
        let stage = self.session(session).map(|session| session.stage.clone());
        match stage {
            Some(Stage::Name) => self.name_given(session, line.trim()),
            Some(Stage::Password(name)) => self.password_given(session, &name, line),
            Some(Stage::Return(name)) => {
                self.bytes(session, ECHO_ON);
                self.out(session, "\n");
                self.enter(session, &name, true);
            }
            Some(Stage::In) | None => {}
        }
    }

    fn bytes(&mut self, session: usize, bytes: &[u8]) {
        if let Some(session) = self.session(session) {
            session.outbox.extend_from_slice(bytes);
        }
    }

    fn name_given(&mut self, session: usize, name: &str) {
        let complaint = if !name.bytes().all(|b| b.is_ascii_alphabetic()) {
            Some("Sorry, names can only consist of lower and upper case letters.  Try again.")
        } else if name.len() < 3 {
            Some("A name should be at least three characters long!  Try again.")
        } else {
            None
        };
        if let Some(complaint) = complaint {
            self.out(session, &format!("\n{complaint}\n\n"));
            self.ask_name(session);
            return;
        }
        if let Some(account) = self.account(name) {
            let name = account.name.clone();
            self.out(
                session,
                &format!("\n\"{name}\" is a registered name.  If it is yours, type the password.\nIf not, just hit return to try another name.\n\npassword: "),
            );
            self.bytes(session, ECHO_OFF);
            if let Some(session) = self.session(session) {
                session.stage = Stage::Password(name);
            }
            return;
        }
        let guest = if name == "guest" {
            let name = format!(
                "Guest{}",
                ["KLMN", "PQRS", "TUVW", "XYZA"][self.connections as usize % 4]
            );
            self.out(
                session,
                &format!(
                    "\nLogging you in as \"{name}\"; you may use this name to play unrated games.\n"
                ),
            );
            name
        } else {
            self.out(session, &format!("\n\"{name}\" is not a registered name.  You may play unrated games as a guest.\n"));
            name.to_owned()
        };
        self.out(session, &format!("(After logging in, do \"help register\" for more info on how to register.)\n\nPress return to enter the server as \"{guest}\":"));
        if self.dialect.is_modern() {
            self.out(session, "\n");
        }
        self.bytes(session, ECHO_OFF);
        if let Some(session) = self.session(session) {
            session.stage = Stage::Return(guest);
        }
    }

    fn password_given(&mut self, session: usize, name: &str, password: &str) {
        self.bytes(session, ECHO_ON);
        self.out(session, "\n");
        let right = self
            .account(name)
            .is_some_and(|account| account.password == password);
        if right && !self.faults.password_always_wrong {
            self.enter(session, name, false);
        } else {
            self.out(session, "\n**** Invalid password! ****\n\n");
            self.ask_name(session);
        }
    }

    fn enter(&mut self, session: usize, name: &str, guest: bool) {
        if let Some(other) = self.session_of(name) {
            self.out(
                other,
                &format!("**** {name} has arrived - you can't both be logged in. ****\n\n"),
            );
            self.leave(other);
            self.out(
                session,
                &format!("**** {name} is already logged in; closing the other connection. ****\n"),
            );
        }
        let computer = self.account(name).is_some_and(|account| account.computer);
        let mark = match (guest, computer, self.dialect.prints_titles_at_login()) {
            (true, _, true) => "(U)",
            (false, true, true) => "(C)",
            _ => "",
        };
        self.out(session, &format!("**** Starting FICS session as {name}{mark} ****\n\nThere are no new news items.\n\n"));
        if let Some(session) = self.session(session) {
            session.stage = Stage::In;
            session.name = name.to_owned();
            session.computer = computer;
            session.guest = guest;
            session.variables.insert("open".to_owned(), "1".to_owned());
        }
        self.announce_arrival(session);
        self.out(session, "fics% ");
    }

    /// Opponents in adjourned games learn of each other.
    pub fn announce_arrival(&mut self, session: usize) {
        let name = self.name_of(session);
        let opponents: Vec<String> = self
            .stored
            .iter()
            .filter_map(|stored| stored.opponent_of(&name))
            .map(str::to_owned)
            .collect();
        let online: Vec<String> = opponents
            .iter()
            .filter(|name| self.session_of(name).is_some())
            .cloned()
            .collect();
        if !online.is_empty() {
            let count = online.len();
            let names = online.join(" ");
            if self.dialect.is_modern() {
                self.out(
                    session,
                    &format!(
                        "{count} player who has an adjourned game with you is online: {names}\n"
                    ),
                );
            } else {
                self.out(
                    session,
                    &format!(
                        "{count} player, who has an adjourned game with you, is online:\n{names}\n"
                    ),
                );
            }
        }
        for opponent in online {
            self.notice(
                &opponent,
                &format!("Notification: {name}, who has an adjourned game with you, has arrived."),
            );
        }
    }

    pub fn set(&mut self, session: usize, rest: &str) {
        let (name, value) = rest.split_once(' ').unwrap_or((rest, ""));
        if !self.dialect.variables().contains(&name) {
            self.reply(session, &format!("No such variable name {name}."));
            return;
        }
        if let Some(session) = self.session(session) {
            session.variables.insert(name.to_owned(), value.to_owned());
        }
        self.reply(session, &format!("{name} set to {value}."));
    }

    pub fn iset(&mut self, session: usize, rest: &str) {
        let (name, value) = rest.split_once(' ').unwrap_or((rest, "1"));
        if !self.dialect.ivariables().contains(&name) {
            self.reply(session, &format!("No such ivariable \"{name}\"."));
            return;
        }
        let Some(state) = self.session(session) else {
            return;
        };
        if state.ivariables.get("lock") == Some(&true) {
            self.reply(session, "Cannot alter: Interface setting locked.");
            return;
        }
        state.ivariables.insert(name.to_owned(), value == "1");
        self.reply(session, &format!("{name} set."));
    }
}
