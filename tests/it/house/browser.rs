//! A browser for the tests: a cookie, the headers that browsers send, and the events of a page.

use std::time::Duration;

use seneschal::house::HouseHandle;
use serde_json::{Value, json};

use super::client::{Lines, Next, answer, http_client};

/// A browser: a cookie, and the headers that browsers send.
pub struct Browser {
    pub base: String,
    pub cookie: Option<String>,
    pub http: reqwest::Client,
}

impl Browser {
    pub fn new(house: &HouseHandle) -> Browser {
        Browser {
            base: house.base_url().to_owned(),
            cookie: None,
            http: http_client("browser/1"),
        }
    }

    pub async fn guest(house: &HouseHandle, name: &str) -> Browser {
        let mut browser = Browser::new(house);
        let (code, me) = browser.take("/page/guest", &[("name", name)]).await;
        assert_eq!((code, &me["name"]), (200, &json!(name)), "{me}");
        browser
    }

    /// Posts and keeps the cookie of the answer.
    pub async fn take(&mut self, path: &str, form: &[(&str, &str)]) -> (u16, Value) {
        let response = self.request(path, form).send().await.unwrap();
        if let Some(cookie) = response.headers().get("set-cookie") {
            let text = cookie.to_str().unwrap();
            assert!(
                text.contains("HttpOnly") && text.contains("SameSite=Strict"),
                "{text}"
            );
            self.cookie = Some(text.split(';').next().unwrap().to_owned());
        }
        let code = response.status().as_u16();
        (code, response.json().await.unwrap())
    }

    pub fn request(&self, path: &str, form: &[(&str, &str)]) -> reqwest::RequestBuilder {
        let request = self.http.post(format!("{}{path}", self.base));
        let request = request.header("origin", &self.base).form(form);
        match &self.cookie {
            Some(cookie) => request.header("cookie", cookie),
            None => request,
        }
    }

    pub async fn post(&self, path: &str, form: &[(&str, &str)]) -> (u16, Value) {
        answer(self.request(path, form)).await
    }

    pub async fn get(&self, path: &str) -> (u16, Value) {
        let request = self.http.get(format!("{}{path}", self.base));
        answer(match &self.cookie {
            Some(cookie) => request.header("cookie", cookie),
            None => request,
        })
        .await
    }

    pub async fn ask(&self, form: &[(&str, &str)]) -> String {
        let (code, json) = self.post("/page/challenge", form).await;
        assert_eq!(code, 200, "{json}");
        json["url"].as_str().unwrap()[1..].to_owned()
    }

    pub async fn play(&self, id: &str, uci: &str) {
        let (code, json) = self.post(&format!("/page/game/{id}/move/{uci}"), &[]).await;
        assert_eq!(code, 200, "{uci}: {json}");
    }

    pub async fn watch(&self, id: &str) -> Events {
        let request = self
            .http
            .get(format!("{}/page/game/{id}/stream", self.base));
        let request = match &self.cookie {
            Some(cookie) => request.header("cookie", cookie),
            None => request,
        };
        let response = request
            .timeout(Duration::from_secs(60))
            .send()
            .await
            .unwrap();
        assert_eq!(response.status().as_u16(), 200);
        Events(Lines::of(response))
    }
}

/// Server-sent events of a page.
pub struct Events(pub Lines);

impl Events {
    pub async fn next(&mut self) -> (String, Value) {
        let mut name = String::new();
        loop {
            match self.0.next().await {
                Next::Text(line) => {
                    if let Some(event) = line.strip_prefix("event: ") {
                        name = event.to_owned();
                    }
                    if let Some(data) = line.strip_prefix("data: ") {
                        return (name, serde_json::from_str(data).unwrap());
                    }
                }
                other => panic!("unexpected {other:?}"),
            }
        }
    }

    /// The first state for which `wanted` holds.
    pub async fn state(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let (name, data) = self.next().await;
            if name == "state" && wanted(&data) {
                return data;
            }
        }
    }

    pub async fn plies(&mut self, plies: usize) -> Value {
        self.state(|s| s["moves"].as_array().unwrap().len() == plies)
            .await
    }

    pub async fn over(&mut self) -> Value {
        self.state(|s| s["over"] == true).await
    }
}

pub const QUICK: [(&str, &str); 2] = [("clock.limit", "180"), ("clock.increment", "2")];

/// The form of a quick game with more in it.
pub fn asking(more: &[(&'static str, &'static str)]) -> Vec<(&'static str, &'static str)> {
    QUICK.iter().chain(more).copied().collect()
}
