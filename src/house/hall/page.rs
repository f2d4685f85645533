//! What people do on the page: guests, links, games at one device, rematches, and what they see.

use std::sync::Arc;

use rand::SeedableRng;
use rand::rngs::StdRng;
use serde::Serialize;
use serde_json::{Value, json};

use super::super::account::{Account, AccountError, AccountKind, Scopes, Token};
use super::super::archive::TokenRecord;
use super::super::challenge::{Challenge, ChallengeStatus, Terms};
use super::super::game::{Game, PlayRefusal, Room, color_word};
use super::super::limits::Limited;
use super::super::refusal::Refusal;
use super::super::wire::show_clock;
use super::{Caller, Hall, State};
use crate::rules::Color;

/// The scope of a browser's session.
pub(super) const PAGE_SCOPE: &str = "page:play";

/// What is found at an address of eight characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ahead {
    /// A game.
    Game,
    /// Something that may become one.
    Waiting(Waiting),
    /// The game is at another address.
    Moved(String),
    /// Nothing (any more).
    Nothing,
}

/// A challenge or an offer that waits for an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Waiting {
    /// `challenge`, `link` or `seek`.
    pub kind: &'static str,
    /// Name of who asks.
    pub challenger: String,
    /// Name of who is asked, if it is somebody in particular.
    pub dest: Option<String>,
    /// Variant.
    pub variant: &'static str,
    /// Clock, in words.
    pub clock: String,
    /// Whether it is rated.
    pub rated: bool,
    /// `created`, `declined`, `canceled`, ...
    pub status: Value,
    /// Why it was refused, in a sentence.
    pub reason: Option<&'static str>,
    /// Whether the viewer made it.
    pub mine: bool,
    /// Whether the viewer may accept it.
    pub open_to_me: bool,
}

/// Who looks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Viewer {
    /// Id of the account, if the browser has one.
    pub account: Option<String>,
}

/// What a viewer sees of a game, apart from the picture.
#[derive(Debug)]
pub struct PageView {
    /// The game, copied.
    pub game: Game,
    /// The viewer's side; of a shared game the one whose turn it is.
    pub color: Option<Color>,
    /// Time of the copy.
    pub now_ms: i64,
    /// Which players are there.
    pub here: [bool; 2],
    /// Whether the viewer may claim against an absent opponent now.
    pub may_claim: bool,
    /// Who wants a rematch.
    pub rematch: Option<&'static str>,
    /// The game after this one.
    pub next: Option<String>,
    /// Number of the state; grows with every change.
    pub version: u64,
}

/// A page that is open on a game or on what may become one. Dropping it closes it.
#[derive(Debug)]
pub struct PageGuard {
    hall: Arc<Hall>,
    id: String,
    account: String,
    /// The sides that are present because of it.
    sides: Vec<Color>,
    waits: bool,
}

impl Drop for PageGuard {
    fn drop(&mut self) {
        self.hall.close_page(self);
    }
}

impl Hall {
    /// Makes a guest, with the wished name or one of its own, and a session for him.
    ///
    /// # Errors
    /// [`AccountError`] if the name is no name or taken.
    pub fn create_guest(
        &self,
        name: Option<&str>,
    ) -> Result<(Account, Token, TokenRecord), AccountError> {
        self.command(|state, now_ms| {
            let name = match name {
                Some(name) => name.to_owned(),
                None => loop {
                    let name = format!("Guest-{}", state.draw_id(5));
                    if !state.accounts.contains_key(&name.to_ascii_lowercase()) {
                        break name;
                    }
                },
            };
            let account = Account::new(&name, AccountKind::Guest, now_ms)?;
            if state.accounts.contains_key(&account.id()) {
                return Err(AccountError::Taken(name));
            }
            state.accounts.insert(account.id(), account.clone());
            state.dirty_accounts.insert(account.id());
            let (token, record) = state.open_session(&account.id());
            Ok((account, token, record))
        })
    }

    /// A session for the owner of a token, so that a registered account can play on the page.
    ///
    /// # Errors
    /// 401 if the token is not known, 400 if it is a program's.
    pub fn log_in(&self, token: &str) -> Result<(Account, Token, TokenRecord), Refusal> {
        self.command(|state, _| {
            let hash = super::TokenHash::of(token);
            let Some((account, _)) = state.tokens.get(&hash).cloned() else {
                return Err(Refusal::Unauthorized("No such token"));
            };
            let account = state.account(&account)?.clone();
            if account.is_bot() {
                return Err(Refusal::bad(
                    "Programs play through the API, not on the page",
                ));
            }
            let (token, record) = state.open_session(&account.id());
            Ok((account, token, record))
        })
    }

    /// Who is behind a session.
    pub fn page_caller(&self, token: &str) -> Option<(Caller, Account)> {
        let caller = self.caller_of_any(super::TokenHash::of(token))?;
        if !caller.scopes.has_any(&[PAGE_SCOPE]) {
            return None;
        }
        let (account, _) = self.account(&caller.account)?;
        Some((caller, account))
    }

    /// A challenge to whoever has its address.
    ///
    /// # Errors
    /// 503 if the house is closing.
    pub fn open_link(&self, caller: &Caller, terms: Terms) -> Result<String, Refusal> {
        self.command(|state, now_ms| {
            state.refuse_if_closing()?;
            state.account(&caller.account)?;
            let id = state.fresh_id();
            let final_color = state.draw_color(terms.color);
            state.add_challenge(Challenge {
                id: id.clone(),
                challenger: caller.account.clone(),
                dest: None,
                initial_fen: terms.fen.clone(),
                terms,
                final_color,
                status: ChallengeStatus::Created,
                declined: None,
                created_ms: now_ms,
                seen_ms: now_ms,
                rematch_of: None,
            });
            Ok(id)
        })
    }

    /// A move on the page. Unlike one through the API it is no violation when it is refused:
    /// people slip.
    ///
    /// # Errors
    /// 400 with the reason, 404 for games of others.
    pub fn page_move(&self, caller: &Caller, id: &str, uci: &str) -> Result<(), Refusal> {
        self.in_game(caller, id, |game, color, now_ms| {
            match game.play(color, uci, None, now_ms) {
                Ok(played) => Ok(played.notes),
                Err(PlayRefusal::Malformed(uci)) => Err(Refusal::bad(format!("{uci} is no move"))),
                Err(PlayRefusal::NotYourTurn) => Err(Refusal::bad("It is not your turn")),
                Err(PlayRefusal::Illegal(reason)) => Err(Refusal::bad(reason)),
            }
        })
    }

    /// A line of chat from the page: players talk in their room, others in the watchers'.
    ///
    /// # Errors
    /// 404 if there is no such game.
    pub fn page_chat(&self, caller: &Caller, id: &str, text: &str) -> Result<(), Refusal> {
        self.command(|state, now_ms| {
            let name = state.account(&caller.account)?.name.clone();
            let Some(live) = state.games.get_mut(id) else {
                return Err(Refusal::NOT_FOUND);
            };
            let room = match live.game.color_of(&caller.account) {
                Some(_) => Room::Player,
                None => Room::Spectator,
            };
            let note = live.game.chat(&name, room, text, now_ms);
            state.deliver(id, note.into_iter().collect(), now_ms);
            Ok(())
        })
    }

    /// Counts something that is limited.
    ///
    /// # Errors
    /// 429.
    pub fn charge(&self, what: Limited, who: &str) -> Result<(), Refusal> {
        self.command(|state, now_ms| {
            state.refuse_if_closing()?;
            let charged = state.meter.charge(what, who, 1, now_ms);
            charged.map_err(|_| Refusal::too_many())
        })
    }

    /// Accepts what waits at an address: a link, an offer, or a challenge to the caller.
    ///
    /// # Errors
    /// 400 or 404 if it cannot be accepted (any more).
    pub fn join(&self, caller: &Caller, id: &str) -> Result<(), Refusal> {
        let link = self.command(|state, now_ms| {
            let Some(pending) = state.challenges.get(id) else {
                return Ok(false);
            };
            let mut challenge = pending.challenge.clone();
            if challenge.dest.is_some() {
                return Ok(false);
            }
            if challenge.challenger == caller.account {
                return Err(Refusal::bad("This is your own link; send it to somebody"));
            }
            if !challenge.status.is_open() {
                return Err(Refusal::bad(
                    "Somebody was faster, or the link was withdrawn",
                ));
            }
            challenge.dest = Some(caller.account.clone());
            state.begin(challenge, now_ms)?;
            Ok(true)
        })?;
        if link {
            return Ok(());
        }
        match self.take_seek(caller, id) {
            Err(Refusal::NotFound(_)) => self.accept(caller, id),
            other => other,
        }
    }

    /// A game of two at one device; its id.
    ///
    /// # Errors
    /// 400 if the start is no position.
    pub fn share_device(&self, caller: &Caller, terms: &Terms) -> Result<String, Refusal> {
        self.command(|state, now_ms| {
            state.refuse_if_closing()?;
            let id = state.fresh_id();
            let players = [caller.account.as_str(); 2];
            let terms = Terms {
                rated: false,
                ..terms.clone()
            };
            state.start_game(&id, players, &terms, terms.fen.clone(), now_ms)?;
            Ok(id)
        })
    }

    /// Another game with the same opponent and sides changed; the address to go to.
    ///
    /// # Errors
    /// 400 if the game is not over.
    pub fn rematch(&self, caller: &Caller, id: &str) -> Result<String, Refusal> {
        self.command(|state, now_ms| {
            let color = state.color_in(id, &caller.account, now_ms)?;
            let Some(live) = state.games.get(id) else {
                return Err(Refusal::NOT_FOUND);
            };
            let game = &live.game;
            if !game.status.is_over() {
                return Err(Refusal::bad("The game is not over"));
            }
            if let Some(next) = &live.next {
                return Ok(next.clone());
            }
            let other = live.rematch.clone().filter(|(by, _)| *by != color);
            if let Some((_, challenge)) = other
                && let Some(pending) = state.challenges.get(&challenge)
                && pending.challenge.status.is_open()
            {
                let challenge = pending.challenge.clone();
                let next = challenge.id.clone();
                state.begin(challenge, now_ms)?;
                return Ok(next);
            }
            state.offer_rematch(caller, id, color, now_ms)
        })
    }

    /// What is found at an address, for a viewer.
    pub fn ahead(&self, id: &str, viewer: &Viewer) -> Ahead {
        let state = self.lock();
        if state.games.contains_key(id) {
            return Ahead::Game;
        }
        if let Some((next, _)) = state.moved_on.get(id) {
            return Ahead::Moved(next.clone());
        }
        state.waiting(id, viewer)
    }

    /// Number of a game's state, for somebody who only watches it.
    pub fn watched_version(&self, id: &str, viewer: &Viewer) -> Option<u64> {
        let state = self.lock();
        let live = state.games.get(id)?;
        let plays = |account: &str| live.game.color_of(account).is_some();
        (!viewer.account.as_deref().is_some_and(plays)).then_some(live.version)
    }

    /// What a viewer sees of a game.
    pub fn page_view(&self, id: &str, viewer: &Viewer) -> Option<PageView> {
        let state = self.lock();
        let now_ms = self.timeline.now_ms();
        let live = state.games.get(id)?;
        let game = live.game.clone();
        let color = viewer.account.as_deref().and_then(|a| game.color_of(a));
        let may_claim = color.is_some_and(|color| {
            game.turn() != color && game.could_claim(color, state.settings.gone_after_ms, now_ms)
        });
        Some(PageView {
            color,
            now_ms,
            here: Color::ALL.map(|side| game.is_here(side)),
            may_claim,
            rematch: live.rematch.as_ref().map(|(by, _)| color_word(*by)),
            next: live.next.clone(),
            version: live.version,
            game,
        })
    }

    /// Notes that a viewer's page is open at an address.
    pub fn open_page(self: &Arc<Hall>, id: &str, viewer: &Viewer) -> Option<PageGuard> {
        let account = viewer.account.clone()?;
        // The guard is made outside: dropped inside, it would wait for the lock that is held.
        let (sides, waits) =
            self.command(|state, now_ms| state.enter_page(id, &account, now_ms))?;
        Some(PageGuard {
            hall: Arc::clone(self),
            id: id.to_owned(),
            account,
            sides,
            waits,
        })
    }

    /// A viewer who waits at an offer is still there.
    pub fn still_waiting(&self, id: &str, viewer: &Viewer) {
        self.command(|state, now_ms| {
            let mine = state
                .seek_owner(id)
                .is_some_and(|owner| viewer.account.as_deref() == Some(owner));
            if mine {
                state.saw_seek(id, now_ms);
            }
        });
    }

    fn close_page(&self, guard: &PageGuard) {
        self.command(|state, now_ms| {
            if let Some(live) = state.games.get_mut(&guard.id) {
                for side in &guard.sides {
                    live.game.left(*side, now_ms);
                }
                // The others see his light go out.
                state.changed.insert(guard.id.clone());
                state.seen_ms.insert(guard.account.clone(), now_ms);
            }
            if guard.waits
                && let Some(pending) = state.challenges.get_mut(&guard.id)
            {
                pending.waiting = pending.waiting.saturating_sub(1);
                pending.challenge.seen_ms = now_ms;
            }
        });
    }

    /// A player in the house's own process comes to or leaves his game.
    pub fn sit(&self, game: &str, account: &str, here: bool) {
        self.command(|state, now_ms| {
            let Some(live) = state.games.get_mut(game) else {
                return;
            };
            let Some(color) = live.game.color_of(account) else {
                return;
            };
            let note = if here {
                live.game.came(color)
            } else {
                live.game.left(color, now_ms);
                None
            };
            state.deliver(game, note.into_iter().collect(), now_ms);
        });
    }
}

impl State {
    /// The sides that are present with a page of `account` at this address, and whether the page waits for a challenge.
    fn enter_page(&mut self, id: &str, account: &str, now_ms: i64) -> Option<(Vec<Color>, bool)> {
        if let Some(live) = self.games.get_mut(id) {
            let color = live.game.color_of(account)?;
            let sides = if live.game.is_shared() {
                Color::ALL.to_vec()
            } else {
                vec![color]
            };
            let notes = sides
                .iter()
                .filter_map(|side| live.game.came(*side))
                .collect();
            self.changed.insert(id.to_owned());
            self.deliver(id, notes, now_ms);
            return Some((sides, false));
        }
        self.saw_seek(id, now_ms);
        let pending = self.challenges.get_mut(id)?;
        if pending.challenge.challenger != account {
            return None;
        }
        pending.waiting += 1;
        Some((Vec::new(), true))
    }

    fn open_session(&mut self, account: &str) -> (Token, TokenRecord) {
        // Sessions are secrets: never from a seeded generator.
        let token = Token::draw(&mut StdRng::from_os_rng());
        let record = TokenRecord {
            hash: token.hash(),
            account: account.to_owned(),
            scopes: Scopes::parse(PAGE_SCOPE),
        };
        let entry = (record.account.clone(), record.scopes.clone());
        self.tokens.insert(record.hash, entry);
        (token, record)
    }

    fn offer_rematch(
        &mut self,
        caller: &Caller,
        id: &str,
        color: Color,
        now_ms: i64,
    ) -> Result<String, Refusal> {
        let Some(live) = self.games.get(id) else {
            return Err(Refusal::NOT_FOUND);
        };
        let game = &live.game;
        let terms = Terms {
            variant: game.variant,
            rated: game.rated,
            time: game.clock.time(),
            color: Some(!color),
            // A shuffled start is drawn anew.
            fen: game
                .initial_fen
                .clone()
                .filter(|_| !game.variant.is_shuffled()),
            special: game.terms.clone(),
        };
        if game.is_shared() {
            let next = self.fresh_id();
            let players = [caller.account.as_str(); 2];
            let fen = terms.fen.clone();
            self.start_game(&next, players, &terms, fen, now_ms)?;
            if let Some(live) = self.games.get_mut(id) {
                live.next = Some(next.clone());
            }
            self.changed.insert(id.to_owned());
            return Ok(next);
        }
        let dest = game.seat(!color).account.clone();
        let before = Some(id.to_owned());
        let next = self.create_challenge(&caller.account, &dest, terms, before, now_ms)?;
        if let Some(live) = self.games.get_mut(id) {
            live.rematch = Some((color, next.clone()));
        }
        self.changed.insert(id.to_owned());
        Ok(next)
    }

    fn waiting(&self, id: &str, viewer: &Viewer) -> Ahead {
        let me = viewer.account.as_deref();
        let name = |account: &str| self.accounts.get(account).map(|a| a.name.clone());
        if let Some(pending) = self.challenges.get(id) {
            let challenge = &pending.challenge;
            let mine = me == Some(challenge.challenger.as_str());
            let for_me = match &challenge.dest {
                None => !mine,
                Some(dest) => me == Some(dest.as_str()),
            };
            return Ahead::Waiting(Waiting {
                kind: if challenge.dest.is_some() {
                    "challenge"
                } else {
                    "link"
                },
                challenger: name(&challenge.challenger).unwrap_or_default(),
                dest: challenge.dest.as_deref().and_then(name),
                variant: challenge.terms.variant.name(),
                clock: show_clock(challenge.terms.time),
                rated: challenge.terms.rated,
                status: json!(challenge.status),
                reason: challenge.declined.map(|reason| reason.sentence()),
                mine,
                open_to_me: for_me && challenge.status.is_open(),
            });
        }
        match self.seek_view(id) {
            Some((seek, terms)) => {
                let mine = me == Some(seek.as_str());
                Ahead::Waiting(Waiting {
                    kind: "seek",
                    challenger: name(&seek).unwrap_or_default(),
                    dest: None,
                    variant: terms.variant.name(),
                    clock: show_clock(terms.time),
                    rated: terms.rated,
                    status: json!("created"),
                    reason: None,
                    mine,
                    open_to_me: !mine,
                })
            }
            None => Ahead::Nothing,
        }
    }
}
