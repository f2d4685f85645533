//! Requests by class: what limits count, what fault plans choose by, what reports name.

use axum::http::Method;
use serde::{Deserialize, Serialize};

/// A class of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Endpoint {
    /// `GET /api/stream/event`.
    EventStream,
    /// `GET /api/bot/game/stream/{id}`.
    GameStream,
    /// `POST /api/bot/game/{id}/move/{uci}`.
    Move,
    /// `POST /api/bot/game/{id}/chat`.
    Chat,
    /// `GET /api/bot/game/{id}/chat`.
    ReadChat,
    /// `POST /api/bot/game/{id}/abort`.
    Abort,
    /// `POST /api/bot/game/{id}/resign`.
    Resign,
    /// `POST /api/bot/game/{id}/draw/{answer}`.
    Draw,
    /// `POST /api/bot/game/{id}/takeback/{answer}`.
    Takeback,
    /// `POST /api/bot/game/{id}/claim-victory`.
    ClaimVictory,
    /// `POST /api/bot/game/{id}/claim-draw`.
    ClaimDraw,
    /// Any other `POST /api/bot/game/{id}/...`.
    OtherCommand,
    /// `POST /api/challenge/{name}`.
    ChallengeCreate,
    /// `POST /api/challenge/{id}/accept`.
    ChallengeAccept,
    /// `POST /api/challenge/{id}/decline`.
    ChallengeDecline,
    /// `POST /api/challenge/{id}/cancel`.
    ChallengeCancel,
    /// `GET /api/challenge`.
    ChallengeList,
    /// `GET /api/challenge/{id}/show`.
    ChallengeShow,
    /// `GET /api/account`.
    Account,
    /// `GET /api/account/playing`.
    Playing,
    /// `POST /api/bot/account/upgrade`.
    Upgrade,
    /// `POST /api/token/test`.
    TokenTest,
    /// `GET /api/bot/online`.
    BotsOnline,
    /// `GET /api/users/status`, `GET /api/user/{name}`, `POST /api/users`.
    Users,
    /// `POST /api/round/{id}/add-time/{seconds}`.
    AddTime,
    /// `GET /game/export/{id}`, `GET /api/games/user/{name}`.
    Export,
    /// The page and everything it loads.
    Page,
    /// A path of the API that does not exist.
    Unknown,
}

impl Endpoint {
    /// The class of a request line.
    pub fn of(method: &Method, path: &str) -> Endpoint {
        let post = method == Method::POST;
        let parts: Vec<&str> = path.split('/').filter(|p| !p.is_empty()).collect();
        match (post, parts.as_slice()) {
            (false, ["api", "stream", "event"]) => Endpoint::EventStream,
            (false, ["api", "bot", "game", "stream", _]) => Endpoint::GameStream,
            (true, ["api", "bot", "game", _, "move", _]) => Endpoint::Move,
            (true, ["api", "bot", "game", _, "chat"]) => Endpoint::Chat,
            (false, ["api", "bot", "game", _, "chat"]) => Endpoint::ReadChat,
            (true, ["api", "bot", "game", _, "abort"]) => Endpoint::Abort,
            (true, ["api", "bot", "game", _, "resign"]) => Endpoint::Resign,
            (true, ["api", "bot", "game", _, "draw", _]) => Endpoint::Draw,
            (true, ["api", "bot", "game", _, "takeback", _]) => Endpoint::Takeback,
            (true, ["api", "bot", "game", _, "claim-victory"]) => Endpoint::ClaimVictory,
            (true, ["api", "bot", "game", _, "claim-draw"]) => Endpoint::ClaimDraw,
            (true, ["api", "bot", "game", _, _]) => Endpoint::OtherCommand,
            (true, ["api", "challenge", _]) => Endpoint::ChallengeCreate,
            (true, ["api", "challenge", _, "accept"]) => Endpoint::ChallengeAccept,
            (true, ["api", "challenge", _, "decline"]) => Endpoint::ChallengeDecline,
            (true, ["api", "challenge", _, "cancel"]) => Endpoint::ChallengeCancel,
            (false, ["api", "challenge"]) => Endpoint::ChallengeList,
            (false, ["api", "challenge", _, "show"]) => Endpoint::ChallengeShow,
            (false, ["api", "account"]) => Endpoint::Account,
            (false, ["api", "account", "playing"]) => Endpoint::Playing,
            (true, ["api", "bot", "account", "upgrade"]) => Endpoint::Upgrade,
            (true, ["api", "token", "test"]) => Endpoint::TokenTest,
            (false, ["api", "bot", "online"]) => Endpoint::BotsOnline,
            (false, ["api", "users", "status"])
            | (false, ["api", "user", _])
            | (true, ["api", "users"]) => Endpoint::Users,
            (true, ["api", "round", _, "add-time", _]) => Endpoint::AddTime,
            (false, ["game", "export", _]) | (false, ["api", "games", "user", _]) => {
                Endpoint::Export
            }
            (_, ["api", ..]) => Endpoint::Unknown,
            _ => Endpoint::Page,
        }
    }

    /// Whether its answer is a stream of lines.
    pub fn is_stream(self) -> bool {
        matches!(self, Endpoint::EventStream | Endpoint::GameStream)
    }

    /// The name used in fault plans and reports.
    pub fn name(self) -> String {
        match serde_json::to_value(self) {
            Ok(serde_json::Value::String(name)) => name,
            _ => format!("{self:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_fall_into_their_classes() {
        let of = |method: &str, path| Endpoint::of(&method.parse().unwrap(), path);
        assert_eq!(of("GET", "/api/stream/event"), Endpoint::EventStream);
        assert_eq!(of("GET", "/api/bot/game/stream/abc"), Endpoint::GameStream);
        assert_eq!(of("POST", "/api/bot/game/abc/move/P@e4"), Endpoint::Move);
        assert_eq!(of("GET", "/api/bot/game/abc/move/e2e4"), Endpoint::Unknown);
        assert_eq!(
            of("POST", "/api/challenge/Somebody"),
            Endpoint::ChallengeCreate
        );
        assert_eq!(of("GET", "/api/challenge"), Endpoint::ChallengeList);
        assert_eq!(of("GET", "/"), Endpoint::Page);
        assert_eq!(Endpoint::ClaimVictory.name(), "claim-victory");
    }
}
