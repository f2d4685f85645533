//! A small client of the house's API for the tests: status, JSON and lines, nothing clever.

use std::collections::VecDeque;
use std::time::Duration;

use seneschal::house::account::{AccountKind, Scopes};
use seneschal::house::limits::Limits;
use seneschal::house::{House, HouseConfig, HouseHandle};
use serde_json::Value;

/// No test waits longer than this for anything.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// A house with short pauses and no limits.
pub fn config() -> HouseConfig {
    HouseConfig {
        limits: Limits::none(),
        keep_alive: Duration::from_millis(300),
        tick: Duration::from_millis(10),
        gone_after: Duration::from_millis(400),
        claim_delay: Duration::from_millis(20),
        seed: Some(1),
        ..HouseConfig::default()
    }
}

/// A house and two bots in it.
pub async fn house_with_bots(config: HouseConfig) -> (HouseHandle, Bot, Bot) {
    let house = House::start(config).await.unwrap();
    let ann = Bot::register(&house, "Ann_Bot").await;
    let bob = Bot::register(&house, "Bob_Bot").await;
    (house, ann, bob)
}

/// A bot account and its HTTP client.
#[derive(Clone)]
pub struct Bot {
    pub name: &'static str,
    pub token: String,
    pub base: String,
    pub http: reqwest::Client,
}

pub fn http_client(agent: &str) -> reqwest::Client {
    // A second installation fails, which is fine: the first one stays.
    drop(rustls::crypto::ring::default_provider().install_default());
    reqwest::Client::builder()
        .user_agent(agent)
        .timeout(PATIENCE)
        .build()
        .unwrap()
}

impl Bot {
    pub async fn register(house: &HouseHandle, name: &'static str) -> Bot {
        Bot::register_as(house, name, AccountKind::Bot, Scopes::bot()).await
    }

    pub async fn register_as(
        house: &HouseHandle,
        name: &'static str,
        kind: AccountKind,
        scopes: Scopes,
    ) -> Bot {
        let token = house.register(name, kind, scopes).await.unwrap();
        Bot::with_token(house.base_url(), name, token.reveal())
    }

    pub fn with_token(base: &str, name: &'static str, token: &str) -> Bot {
        Bot {
            name,
            token: token.to_owned(),
            base: base.to_owned(),
            http: http_client(&format!("house-test/1 user:{name}")),
        }
    }

    pub async fn get(&self, path: &str) -> (u16, Value) {
        answer(self.http.get(self.url(path)).bearer_auth(&self.token)).await
    }

    pub async fn post(&self, path: &str, form: &[(&str, &str)]) -> (u16, Value) {
        let request = self.http.post(self.url(path)).bearer_auth(&self.token);
        answer(request.form(form)).await
    }

    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// Opens a stream; its status and its lines.
    pub async fn open(&self, path: &str) -> (u16, Lines) {
        self.open_with(&self.http, path).await
    }

    pub async fn open_with(&self, http: &reqwest::Client, path: &str) -> (u16, Lines) {
        let request = http.get(self.url(path)).bearer_auth(&self.token);
        let response = request
            .timeout(Duration::from_secs(60))
            .send()
            .await
            .unwrap();
        (response.status().as_u16(), Lines::of(response))
    }

    pub async fn events(&self) -> Lines {
        let (status, lines) = self.open("/api/stream/event").await;
        assert_eq!(status, 200);
        lines
    }

    pub async fn game(&self, id: &str) -> Lines {
        let (status, lines) = self.open(&format!("/api/bot/game/stream/{id}")).await;
        assert_eq!(status, 200);
        lines
    }

    /// Challenges and returns the id; panics unless the house accepts it.
    pub async fn challenge(&self, dest: &str, form: &[(&str, &str)]) -> String {
        let (status, json) = self.post(&format!("/api/challenge/{dest}"), form).await;
        assert_eq!(status, 200, "{json}");
        json["id"].as_str().unwrap().to_owned()
    }

    /// Posts a move; panics unless the house takes it.
    pub async fn play(&self, game: &str, uci: &str) {
        let (status, json) = self.try_play(game, uci).await;
        assert_eq!(status, 200, "{uci}: {json}");
    }

    pub async fn try_play(&self, game: &str, uci: &str) -> (u16, Value) {
        self.post(&format!("/api/bot/game/{game}/move/{uci}"), &[])
            .await
    }

    /// A command in a game without a body, as `resign` or `draw/yes`.
    pub async fn command(&self, game: &str, command: &str) -> (u16, Value) {
        self.post(&format!("/api/bot/game/{game}/{command}"), &[])
            .await
    }
}

/// Status and JSON body of an answer; a body that is not JSON becomes a text.
pub async fn answer(request: reqwest::RequestBuilder) -> (u16, Value) {
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    let text = response.text().await.unwrap();
    let json = serde_json::from_str(&text).unwrap_or(Value::String(text));
    (status, json)
}

/// A game between two bots with White known: `white` challenges `black` and has White.
pub async fn begin(white: &Bot, black: &Bot, form: &[(&str, &str)]) -> String {
    let mut form = form.to_vec();
    form.push(("color", "white"));
    let id = white.challenge(black.name, &form).await;
    let (status, json) = black
        .post(&format!("/api/challenge/{id}/accept"), &[])
        .await;
    assert_eq!(status, 200, "{json}");
    id
}

pub const BLITZ: [(&str, &str); 2] = [("clock.limit", "180"), ("clock.increment", "2")];

/// What a stream brings next.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// A line of JSON.
    Json(Value),
    /// A line that is not JSON.
    Text(String),
    /// The stream ended in good order.
    End,
    /// The connection broke.
    Broken,
    /// Nothing came in the given time.
    Quiet,
}

/// The lines of a stream.
pub struct Lines {
    response: reqwest::Response,
    buffer: Vec<u8>,
    ready: VecDeque<String>,
    /// Empty lines so far.
    pub blanks: usize,
    /// Chunks so far.
    pub chunks: usize,
}

impl Lines {
    pub fn of(response: reqwest::Response) -> Lines {
        Lines {
            response,
            buffer: Vec::new(),
            ready: VecDeque::new(),
            blanks: 0,
            chunks: 0,
        }
    }

    /// The next line that is not empty.
    pub async fn next(&mut self) -> Next {
        self.next_within(PATIENCE).await
    }

    pub async fn next_within(&mut self, time: Duration) -> Next {
        tokio::time::timeout(time, self.wait())
            .await
            .unwrap_or(Next::Quiet)
    }

    async fn wait(&mut self) -> Next {
        loop {
            while let Some(line) = self.ready.pop_front() {
                let line = line.trim_end_matches('\r').to_owned();
                if line.is_empty() {
                    self.blanks += 1;
                    continue;
                }
                return match serde_json::from_str(&line) {
                    Ok(json) => Next::Json(json),
                    Err(_) => Next::Text(line),
                };
            }
            match self.response.chunk().await {
                Ok(Some(chunk)) => {
                    self.chunks += 1;
                    self.buffer.extend_from_slice(&chunk);
                    while let Some(end) = self.buffer.iter().position(|b| *b == b'\n') {
                        let rest = self.buffer.split_off(end + 1);
                        self.buffer.pop();
                        let line = String::from_utf8(std::mem::replace(&mut self.buffer, rest));
                        self.ready.push_back(line.unwrap());
                    }
                }
                Ok(None) => return Next::End,
                Err(_) => return Next::Broken,
            }
        }
    }

    /// The bytes of a line that never ended.
    pub fn rest(&self) -> &[u8] {
        &self.buffer
    }

    /// The next line of JSON; a line of something else, which only a fault plan sends, is skipped.
    pub async fn json(&mut self) -> Value {
        self.json_within(PATIENCE).await
    }

    /// The same with another patience.
    async fn json_within(&mut self, patience: Duration) -> Value {
        loop {
            match self.next_within(patience).await {
                Next::Json(json) => return json,
                Next::Text(_) => {}
                other => panic!("expected a line of JSON, got {other:?}"),
            }
        }
    }

    /// The next line of this type; others are skipped.
    pub async fn json_of(&mut self, kind: &str) -> Value {
        self.json_of_within(kind, PATIENCE).await
    }

    /// The same with another patience.
    pub async fn json_of_within(&mut self, kind: &str, patience: Duration) -> Value {
        loop {
            let json = self.json_within(patience).await;
            if json["type"] == kind {
                return json;
            }
        }
    }

    /// The next line must be of this type.
    pub async fn expect(&mut self, kind: &str) -> Value {
        let json = self.json().await;
        assert_eq!(json["type"], kind, "{json}");
        json
    }
}

/// Status of a game, from its state.
pub fn status(json: &Value) -> &str {
    let state = json.get("state").unwrap_or(json);
    state["status"].as_str().unwrap()
}
