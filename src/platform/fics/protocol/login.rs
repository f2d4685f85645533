//! From the first byte to the settings.
//!
//! The server asks without ending its line (`login: `, `password: `), so the unfinished line is looked at here and nowhere
//! else. A name that the server does not know makes a guest of whoever presses return; a registered account never does.

use std::time::Duration;

use secrecy::ExposeSecret;
use tokio::time::Instant;
use tracing::{info, warn};

use super::super::outbound::Lane;
use super::super::wire::ServerLine;
use super::{Mark, Next, Own, Phase, Protocol, SETUP_TIMEOUT};

/// How long to stay away from a server that refuses guests or our address.
const REFUSED_PAUSE: Duration = Duration::from_secs(600);

/// Where a login stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LoginStep {
    /// Nothing was sent.
    AwaitLogin,
    /// The name was sent.
    NameSent,
    /// The password was sent, or return was pressed.
    Entering,
    /// It will not succeed; the rest is ignored.
    Failed,
}

impl Protocol {
    /// Looks at the unfinished line. `quiet`: nothing more came for a moment.
    pub(super) fn login_partial(&mut self, quiet: bool, now: Instant) {
        let Phase::Login(step) = self.phase else {
            return;
        };
        let partial = self.assembler.partial();
        let question = partial.trim_end().to_ascii_lowercase();
        let asked = match step {
            // A banner may talk about the login; only a line of its own, or silence after it, is the question.
            LoginStep::AwaitLogin
                if question == "login:" || (quiet && question.ends_with("login:")) =>
            {
                self.send_name()
            }
            LoginStep::NameSent
                if question == "password:" || (quiet && question.ends_with("password:")) =>
            {
                self.send_password()
            }
            LoginStep::NameSent
                if question.starts_with("press return to enter")
                    && (question.ends_with(':') || quiet) =>
            {
                self.press_return();
                true
            }
            _ => false,
        };
        if asked {
            self.assembler.discard_partial();
        } else if !partial.is_empty() && !quiet && self.fold_deadline.is_none() {
            // Look again after a silence.
            self.fold_deadline = Some(now + super::FOLD_WAIT);
        }
    }

    /// A whole line during the login.
    pub(super) fn login_line(&mut self, line: ServerLine, now: Instant) {
        let Phase::Login(step) = self.phase else {
            return;
        };
        match line {
            ServerLine::Text(text) => {
                let question = text.trim_end().to_ascii_lowercase();
                if step == LoginStep::AwaitLogin && question == "login:" {
                    self.send_name();
                } else if step == LoginStep::NameSent && question == "password:" {
                    self.send_password();
                }
            }
            ServerLine::NameUnregistered(name) if !self.config.guest => {
                self.refuse(format!(
                    "the server does not know the name {name:?}; going on would make it a guest"
                ));
            }
            ServerLine::NameRegistered(name) if self.config.guest => {
                self.refuse(format!(
                    "the name {name:?} for a guest belongs to a registered player"
                ));
            }
            ServerLine::PressReturn if step == LoginStep::NameSent => self.press_return(),
            ServerLine::GuestNamed(_) if !self.config.guest => {
                self.refuse(
                    "the server makes us a guest although the account is registered".to_owned(),
                );
            }
            ServerLine::InvalidPassword => self.refuse("the password is wrong".to_owned()),
            ServerLine::NameRefused { words } => {
                self.refuse(format!("the server does not take the name: {words}"))
            }
            ServerLine::LoginRefused { words } => {
                self.phase = Phase::Login(LoginStep::Failed);
                self.next = Next::RetryAfter(REFUSED_PAUSE);
                self.close(&words);
            }
            ServerLine::LoggedOut { words } => self.close(&words),
            ServerLine::Kicked => self.kicked(now),
            ServerLine::OtherSessionClosed => {
                info!("another session of this account was closed by our login")
            }
            ServerLine::SessionStarted { handle, titles } => {
                self.session_started(handle, &titles, now)
            }
            _ => {}
        }
    }

    fn send_name(&mut self) -> bool {
        let name = if self.config.handle.is_empty() {
            "guest".to_owned()
        } else {
            self.config.handle.clone()
        };
        self.outbound.push(Lane::Control, &name);
        self.phase = Phase::Login(LoginStep::NameSent);
        true
    }

    fn send_password(&mut self) -> bool {
        if let Some(password) = self.password.clone().filter(|_| !self.config.guest) {
            self.outbound.push_secret(password.expose_secret());
            self.phase = Phase::Login(LoginStep::Entering);
        } else {
            self.refuse("the server wants a password and there is none".to_owned());
        }
        true
    }

    fn press_return(&mut self) {
        if self.config.guest {
            self.outbound.push(Lane::Control, "");
            self.phase = Phase::Login(LoginStep::Entering);
        } else {
            self.refuse(
                "the server would let us in as a guest although the account is registered"
                    .to_owned(),
            );
        }
    }

    /// Ends the account: what is wrong will be wrong the next time.
    fn refuse(&mut self, words: String) {
        self.phase = Phase::Login(LoginStep::Failed);
        warn!(words, "login failed");
        self.next = Next::Stop {
            words: words.clone(),
        };
        self.close(&words);
    }

    fn session_started(&mut self, handle: String, titles: &[String], now: Instant) {
        if self.phase == Phase::Login(LoginStep::Failed) {
            return;
        }
        let has = |title: &str| titles.iter().any(|own| own == title);
        self.own = Own {
            computer: has("C"),
            unregistered: has("U") || self.config.guest,
            handle,
        };
        if !self.config.guest {
            if has("U") {
                self.refuse(
                    "the server let us in as a guest although the account is registered".to_owned(),
                );
                return;
            }
            if !self.own.handle.eq_ignore_ascii_case(&self.config.handle) {
                let words = format!(
                    "the server calls us {:?} instead of {:?}",
                    self.own.handle, self.config.handle
                );
                self.refuse(words);
                return;
            }
            if self.config.computer_required && !self.own.computer {
                warn!(
                    handle = self.own.handle,
                    "this account does not carry the computer mark: rated games are closed"
                );
            }
        }
        info!(
            handle = self.own.handle,
            computer = self.own.computer,
            guest = self.own.unregistered,
            "logged in"
        );
        self.phase = Phase::Setup;
        self.phase_deadline = Some(now + SETUP_TIMEOUT);
        for command in self.config.login_commands() {
            self.outbound.push(Lane::Command, &command);
        }
        self.mark(Mark::SettingsDone, now);
    }
}
