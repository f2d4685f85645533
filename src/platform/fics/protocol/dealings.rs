//! What the players of the running game deal with each other: offers, words, moves of ours and their refusal.

use std::time::Duration;

use tokio::time::Instant;
use tracing::{debug, warn};

use crate::game::{
    ChatLine, ChatRoom, CommandFailure, CommandKind, GameCommand, GameEvent, GameId, OfferKind,
    Offers, PlayerName,
};
use crate::rules::Color;

use super::super::config::CHAT_CHARS_MAX;
use super::super::outbound::{Lane, chat_lines};
use super::super::translate;
use super::super::wire::{Channel, InGameOffer, Pending, PendingKind, Speech};
use super::games::SentMove;
use super::{Output, Protocol};

/// A full state asked for is answered with what we have after this long.
const RESYNC_WAIT: Duration = Duration::from_secs(3);
/// Least time between two calls of the opponent's flag.
const FLAG_GAP: Duration = Duration::from_secs(2);

impl Protocol {
    pub(super) fn offer_in_words(&mut self, by: &str, offer: InGameOffer) {
        let Some(running) = self.games.running.as_mut() else {
            return;
        };
        if !running.opponent_name().eq_ignore_ascii_case(by) {
            return;
        }
        let theirs = !running.color;
        // Where offers are numbered the numbered line follows and counts; telling both would show one offer twice.
        if !self.numbered_offers {
            set_offer(
                &mut running.open.offers,
                translate::offer_kind(offer),
                Some(theirs),
            );
            self.tell_if_announced();
        }
    }

    pub(super) fn offer_gone_in_words(&mut self, by: &str, offer: InGameOffer, withdrawn: bool) {
        let Some(running) = self.games.running.as_mut() else {
            return;
        };
        if self.numbered_offers || !running.opponent_name().eq_ignore_ascii_case(by) {
            return;
        }
        let maker = if withdrawn {
            !running.color
        } else {
            running.color
        };
        if offer_maker(&running.open.offers, translate::offer_kind(offer)) == Some(maker) {
            set_offer(&mut running.open.offers, translate::offer_kind(offer), None);
            self.tell_if_announced();
        }
    }

    /// A numbered offer in the game, by the opponent or by us.
    pub(super) fn game_offer(&mut self, pending: &Pending, ours: bool) {
        let Some(running) = self.games.running.as_mut() else {
            return;
        };
        if !running.opponent_name().eq_ignore_ascii_case(&pending.with) {
            return;
        }
        let kind = match pending.kind {
            PendingKind::Draw => OfferKind::Draw,
            PendingKind::Abort => OfferKind::Abort,
            PendingKind::Adjourn => OfferKind::Adjourn,
            PendingKind::Takeback(_) => OfferKind::Takeback,
            _ => return,
        };
        let maker = if ours { running.color } else { !running.color };
        running
            .open
            .numbers
            .retain(|(number, open)| *number != pending.number && *open != kind);
        running.open.numbers.push((pending.number, kind));
        set_offer(&mut running.open.offers, kind, Some(maker));
        self.tell_if_announced();
    }

    pub(super) fn game_offer_gone(&mut self, number: u32) {
        let Some(running) = self.games.running.as_mut() else {
            return;
        };
        let Some(index) = running
            .open
            .numbers
            .iter()
            .position(|(open, _)| *open == number)
        else {
            return;
        };
        let (_, kind) = running.open.numbers.remove(index);
        set_offer(&mut running.open.offers, kind, None);
        self.tell_if_announced();
    }

    pub(super) fn opponent_gone(&mut self, name: &str) {
        let Some(running) = self.games.running.as_ref().filter(|running| {
            running.announced && running.opponent_name().eq_ignore_ascii_case(name)
        }) else {
            return;
        };
        let event = GameEvent::OpponentLeft { claimable_in: None };
        self.outputs.push_back(Output::Game {
            id: running.id.clone(),
            event,
        });
    }

    /// The server refuses the move that we sent last.
    pub(super) fn move_refused(&mut self, words: &str, text: Option<&str>) {
        let Some(running) = self.games.running.as_mut() else {
            return;
        };
        let is_it =
            |sent: &mut SentMove| text.is_none_or(|text| text.eq_ignore_ascii_case(&sent.text));
        let Some(sent) = running.sent.take_if(is_it) else {
            return;
        };
        warn!(game = %running.id, text = sent.text, words, "the server refuses our move");
        let failure = CommandFailure::Refused {
            words: format!("{words}: {}", sent.text),
        };
        let event = GameEvent::Failed {
            command: CommandKind::Play { ply: sent.ply },
            failure,
        };
        self.outputs.push_back(Output::Game {
            id: running.id.clone(),
            event,
        });
    }

    /// A word that the server does not know; it may be a move that came after its game's end.
    pub(super) fn unknown_word(&mut self, word: &str, _now: Instant) {
        let is_move = self
            .games
            .running
            .as_ref()
            .and_then(|running| running.sent.as_ref())
            .is_some_and(|sent| sent.text.eq_ignore_ascii_case(word));
        if is_move {
            self.move_refused("the server does not read the move", Some(word));
        } else {
            debug!(word, "a word that the server does not know");
        }
    }

    /// Takes chat of the game and gives true if it was.
    pub(super) fn game_speech(&mut self, speech: &Speech) -> bool {
        let Some(running) = self
            .games
            .running
            .as_ref()
            .filter(|running| running.announced)
        else {
            return false;
        };
        let from_opponent = running.opponent_name().eq_ignore_ascii_case(&speech.from);
        let from_us = self.is_own(&speech.from);
        let here = speech.game.is_none_or(|game| running.is(game));
        let room = match speech.channel {
            Channel::Say | Channel::Tell if from_opponent => ChatRoom::Players,
            Channel::Kibitz if here => ChatRoom::Players,
            Channel::Whisper if here && (from_us || from_opponent) => ChatRoom::Spectators,
            _ => return false,
        };
        let line = ChatLine {
            from: PlayerName::new(speech.from.clone()),
            from_server: false,
            room,
            text: speech.text.clone(),
        };
        self.outputs.push_back(Output::Game {
            id: running.id.clone(),
            event: GameEvent::Chatted(line),
        });
        // An owner who plays us may also give commands by tell.
        !(speech.channel == Channel::Tell
            && self
                .config
                .owners
                .iter()
                .any(|owner| owner.eq_ignore_ascii_case(&speech.from)))
    }

    /// Carries out a command in a game. For a game that is over only a word to the last opponent is.
    pub fn game_command(&mut self, id: &GameId, command: GameCommand, now: Instant) {
        if let GameCommand::Say {
            room: ChatRoom::Players,
            text,
        } = &command
            && self.games.running.is_none()
            && self
                .games
                .finished
                .as_ref()
                .is_some_and(|finished| finished.id == *id && now < finished.until)
        {
            for line in chat_lines(text, CHAT_CHARS_MAX, 2) {
                self.outbound.push(Lane::Chat, &format!("say {line}"));
            }
            return;
        }
        let Some(running) = self
            .games
            .running
            .as_mut()
            .filter(|running| running.id == *id)
        else {
            debug!(game = %id, command = ?command.kind(), "a command for a game that is not on");
            return;
        };
        match command {
            GameCommand::Play(play) => {
                let due = running.track.as_ref().is_some_and(|track| {
                    track.len() == play.ply && track.position().turn() == running.color
                });
                let on_its_way = running
                    .sent
                    .as_ref()
                    .is_some_and(|sent| sent.ply == play.ply);
                if !due || on_its_way {
                    debug!(game = %id, ply = play.ply, "a move that is not due");
                    return;
                }
                let text = translate::move_text(&play.position, play.m);
                self.outbound.push(Lane::Move, &text);
                running.sent = Some(SentMove {
                    ply: play.ply,
                    m: play.m,
                    text,
                    at: now,
                });
                if play.offer_draw {
                    self.outbound.push(Lane::Control, "draw");
                }
            }
            GameCommand::OfferDraw => self.outbound.push(Lane::Control, "draw"),
            GameCommand::Answer { offer, accept } => self.answer(offer, accept),
            GameCommand::Resign => self.outbound.push(Lane::Control, "resign"),
            GameCommand::Abort => self.outbound.push(Lane::Control, "abort"),
            GameCommand::ClaimVictory | GameCommand::ClaimDraw | GameCommand::CallFlag => {
                if running.flag_after.is_none_or(|at| at <= now) {
                    running.flag_after = Some(now + FLAG_GAP);
                    self.outbound.push(Lane::Control, "flag");
                }
            }
            GameCommand::Say { room, text } => {
                let verb = match room {
                    ChatRoom::Players => "say",
                    ChatRoom::Spectators => "whisper",
                };
                for line in chat_lines(&text, CHAT_CHARS_MAX, 2) {
                    self.outbound.push(Lane::Chat, &format!("{verb} {line}"));
                }
            }
            GameCommand::Resync => self.resync(now),
        }
    }

    pub(super) fn answer(&mut self, offer: OfferKind, accept: bool) {
        let Some(running) = self.games.running.as_mut() else {
            return;
        };
        if offer_maker(&running.open.offers, offer) != Some(!running.color) {
            return;
        }
        let number = running
            .open
            .numbers
            .iter()
            .find(|(_, kind)| *kind == offer)
            .map(|(number, _)| *number);
        self.outbound.push(
            Lane::Control,
            &translate::answer_command(offer, number, accept),
        );
        if number.is_none() {
            // Nothing else will tell that it is settled.
            set_offer(&mut running.open.offers, offer, None);
            self.tell_if_announced();
        }
    }

    pub(super) fn resync(&mut self, now: Instant) {
        let Some(running) = self.games.running.as_mut() else {
            return;
        };
        running.resync_until = Some(now + RESYNC_WAIT);
        self.outbound.push(Lane::Control, "refresh");
    }
}

fn set_offer(offers: &mut Offers, kind: OfferKind, maker: Option<Color>) {
    let slot = match kind {
        OfferKind::Draw => &mut offers.draw,
        OfferKind::Takeback => &mut offers.takeback,
        OfferKind::Abort => &mut offers.abort,
        OfferKind::Adjourn => &mut offers.adjourn,
    };
    *slot = maker;
}

fn offer_maker(offers: &Offers, kind: OfferKind) -> Option<Color> {
    match kind {
        OfferKind::Draw => offers.draw,
        OfferKind::Takeback => offers.takeback,
        OfferKind::Abort => offers.abort,
        OfferKind::Adjourn => offers.adjourn,
    }
}

/// A move declines what was offered to the mover.
pub(super) fn clear_offers_to(offers: &mut Offers, mover: Color) {
    for kind in [
        OfferKind::Draw,
        OfferKind::Takeback,
        OfferKind::Abort,
        OfferKind::Adjourn,
    ] {
        if offer_maker(offers, kind) == Some(!mover) {
            set_offer(offers, kind, None);
        }
    }
}
