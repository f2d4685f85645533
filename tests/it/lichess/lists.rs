//! Lists: bots online, tournaments.

use seneschal::platform::lichess::LichessConfig;
use seneschal::platform::{AccountCommand, AccountEvent};

use crate::lichess::fake::{Answer, Fake};
use crate::lichess::rig::{Rig, config};

#[tokio::test]
async fn point_48_the_list_of_bots_ends_without_a_line_end() {
    let mut rig = Rig::online().await;
    let list = "{\"id\":\"bot_a\",\"username\":\"Bot_A\",\"title\":\"BOT\",\"perfs\":{\"blitz\":{\"games\":5,\"rating\":1500}}}\n\
        broken\n{\"id\":\"bot_us\",\"username\":\"Bot_Us\"}\n{\"id\":\"bot_b\",\"username\":\"Bot_B\"}";
    let status = r#"[{"id":"bot_a","name":"Bot_A","online":true},{"id":"bot_b","name":"Bot_B","online":true,"playing":true}]"#;
    rig.fake
        .script("GET", "/api/bot/online", [Answer::status(200, list)]);
    rig.fake
        .script("GET", "/api/users/status", [Answer::status(200, status)]);
    for _ in 0..2 {
        rig.send(AccountCommand::ListBots).await;
        let bots = rig
            .find(|event| match event {
                AccountEvent::BotsOnline(bots) => bots,
                _ => None,
            })
            .await;
        let names: Vec<(&str, Option<bool>)> = bots
            .iter()
            .map(|bot| (bot.name.as_str(), bot.playing))
            .collect();
        assert_eq!(names, [("Bot_A", Some(false)), ("Bot_B", Some(true))]);
    }
    assert_eq!(
        rig.fake.count("GET", "/api/bot/online"),
        1,
        "the second answer comes from memory"
    );
    assert!(
        rig.fake.requests("GET", "/api/bot/online")[0]
            .path
            .contains("nb=300")
    );
}

#[tokio::test]
async fn tournaments_that_allow_bots_are_entered_and_left() {
    let fake = Fake::start().await;
    fake.script(
        "GET",
        "/api/tournament/open",
        [Answer::status(200, r#"{"botsAllowed":true}"#)],
    );
    fake.script(
        "GET",
        "/api/tournament/closed",
        [Answer::status(200, r#"{"isFinished":false}"#)],
    );
    fake.script(
        "POST",
        "/api/tournament/open/join",
        [Answer::status(200, r#"{"ok":true}"#)],
    );
    fake.script("POST", "/withdraw", [Answer::status(200, r#"{"ok":true}"#)]);
    let entry = |id: &str, team: Option<&str>| seneschal::platform::lichess::Tournament {
        id: id.to_owned(),
        team: team.map(str::to_owned),
    };
    let tournaments = vec![entry("closed", None), entry("open", Some("bots"))];
    let mut rig = Rig::with(
        fake,
        LichessConfig {
            tournaments,
            ..config()
        },
    );
    rig.reconciled().await;
    rig.fake
        .until_count("POST", "/api/tournament/open/join", 1)
        .await;
    assert_eq!(rig.fake.requests("POST", "/join")[0].body, "team=bots");
    assert_eq!(rig.fake.count("POST", "/api/tournament/closed"), 0);
    rig.send(AccountCommand::Quiesce).await;
    rig.fake
        .until_count("POST", "/api/tournament/open/withdraw", 1)
        .await;
}
