//! Challenges of ours.

use std::time::Duration;

use seneschal::lobby::{LobbyPolicy, MatchmakingPolicy, Offer};

use crate::lobby_script::{Stage, stage};

fn seeking(change: impl FnOnce(&mut LobbyPolicy, &mut MatchmakingPolicy)) -> Stage {
    let mut lobby = LobbyPolicy::default();
    let mut matchmaking = MatchmakingPolicy {
        enabled: true,
        ..MatchmakingPolicy::default()
    };
    change(&mut lobby, &mut matchmaking);
    let mut stage = stage(lobby, matchmaking);
    stage.check(
        "
        0 main online
        0 main lists
        0 main tick
          > main list bots
        ",
    );
    stage
}

#[test]
fn challenges_a_bot_waits_and_withdraws() {
    seeking(|_, _| {}).check(
        "
        1   main bots me bot-a
        1   main tick
            > main create 1 bot-a crazyhouse 180+2
        // C06: no second challenge while the answer is on its way, however slow.
        3   main tick
        4   main created 1 x1 bot-a crazyhouse 180+2
        4   main echo x1 bot-a crazyhouse 180+2
        23  main tick
        24  main tick
            > main cancel x1
        ",
    );
}

#[test]
fn the_echo_may_come_before_the_answer() {
    seeking(|_, _| {}).check(
        "
        1   main bots bot-a
        1   main tick
            > main create 1 bot-a crazyhouse 180+2
        2   main echo x1 bot-a crazyhouse 180+2
        3   main created 1 x1 bot-a crazyhouse 180+2
        // So may the game.
        4   main started x1 bot-a
        ",
    );
    seeking(|_, _| {}).check(
        "
        1   main bots bot-a
        1   main tick
            > main create 1 bot-a crazyhouse 180+2
        2   main started x1 bot-a
        3   main created 1 x1 bot-a crazyhouse 180+2
        ",
    );
}

#[test]
fn a_challenge_of_an_earlier_run_is_withdrawn() {
    seeking(|_, _| {}).check(
        "
        1   main lists-out old bot-a crazyhouse 180+2
            > main cancel old
        ",
    );
}

#[test]
fn a_no_is_remembered_also_after_a_restart() {
    let mut first = seeking(|_, m| m.interval = Duration::from_secs(1));
    first.check(
        "
        1   main bots bot-a bot-b
        1   main tick
            > main create 1 bot-a crazyhouse 180+2
        2   main created 1 x1 bot-a crazyhouse 180+2
        3   main declined x1 later
        4   main tick
            > main create 2 bot-b crazyhouse 180+2
        5   main created 2 x2 bot-b crazyhouse 180+2
        6   main declined x2 nobot
        7   main tick
        ",
    );
    let mut second = stage(
        LobbyPolicy::default(),
        MatchmakingPolicy {
            enabled: true,
            ..MatchmakingPolicy::default()
        },
    );
    second.lobby.recall(first.remembered);
    second.check(
        "
        8    main online
        8    main lists
        8    main tick
             > main list bots
        9    main bots bot-a bot-b
        9    main tick
        // Later means a quarter of the usual rest.
        5404 main tick
             > main list bots
        5405 main bots bot-a bot-b
        5405 main tick
             > main create 1 bot-a crazyhouse 180+2
        ",
    );
}

#[test]
fn a_no_about_the_terms_bars_only_the_terms() {
    let two = |_: &mut LobbyPolicy, m: &mut MatchmakingPolicy| {
        m.interval = Duration::from_secs(1);
        m.offers = vec![Offer::default()];
    };
    let mut stage = seeking(two);
    stage.check(
        "
        1   main bots bot-a
        1   main tick
            > main create 1 bot-a crazyhouse 180+2
        2   main created 1 x1 bot-a crazyhouse 180+2
        3   main declined x1 variant
        5   main tick
        ",
    );
    let kept = stage.remembered.iter().any(|change| {
        matches!(change, seneschal::lobby::MemoryChange::Rest { key, .. }
            if key == "player:bot-a crazyhouse Blitz rated")
    });
    assert!(kept, "{:?}", stage.remembered);
}

#[test]
fn the_limit_of_an_opponent_is_his_own() {
    // C02: only bot-a rests, the next one is asked at once, our budget is untouched.
    seeking(|_, _| {}).check(
        "
        1   main bots bot-a bot-b
        1   main tick
            > main create 1 bot-a crazyhouse 180+2
        2   main refused 1 opponent 50000
        2.1 main tick
            > main create 2 bot-b crazyhouse 180+2
        ",
    );
}

#[test]
fn our_own_limit_stops_all_challenges() {
    // C03, C01.
    let quick = |_: &mut LobbyPolicy, m: &mut MatchmakingPolicy| {
        m.interval = Duration::from_secs(1);
        m.list_age = Duration::from_secs(3_600);
    };
    seeking(quick).check(
        "
        1   main bots bot-a bot-b
        1   main tick
            > main create 1 bot-a crazyhouse 180+2
        2   main refused 1 budget 60
        3   main tick
        61  main tick
        63  main tick
            > main create 2 bot-a crazyhouse 180+2
        ",
    );
}

#[test]
fn an_offer_the_platform_never_takes_is_dropped() {
    // C09: the opponent is not to blame.
    seeking(|_, m| m.interval = Duration::from_secs(1))
        .with_notes()
        .check(
            "
        1   main bots bot-a
        1   main tick
            > main note matchmaking: challenges (crazyhouse 180+2 against bot-a)
            > main create 1 bot-a crazyhouse 180+2
        2   main refused 1 bad
            > main note matchmaking.offer: drops the offer (offer 0: the platform said so)
        4   main tick
        ",
        );
}

#[test]
fn a_person_takes_the_slot_of_an_unanswered_challenge() {
    // C11: concurrency 1, own challenge out, a person asks; the race may be lost.
    let one = |l: &mut LobbyPolicy, _: &mut MatchmakingPolicy| {
        l.max_games = 1;
        l.overcommit = 0;
    };
    seeking(one).check(
        "
        1   main bots bot-a
        1   main tick
            > main create 1 bot-a crazyhouse 180+2
        2   main created 1 x1 bot-a crazyhouse 180+2
        3   main challenge c1 anna crazyhouse 180+2
            > main cancel x1
            > main accept c1
        4   main started c1 anna
        5   main started x1 bot-a
            > main unwanted x1
        ",
    );
}

#[test]
fn a_game_that_starts_takes_its_slot_from_a_pending_challenge() {
    let one = |l: &mut LobbyPolicy, _: &mut MatchmakingPolicy| l.max_games = 1;
    seeking(one).check(
        "
        1   main bots bot-a
        1   main tick
            > main create 1 bot-a crazyhouse 180+2
        2   main created 1 x1 bot-a crazyhouse 180+2
        3   main started surprise anna
            > main cancel x1
        ",
    );
}

#[test]
fn no_challenge_without_a_slot_for_bots() {
    let kept = |l: &mut LobbyPolicy, _: &mut MatchmakingPolicy| {
        l.max_games = 2;
        l.reserved_for_humans = 1;
    };
    seeking(kept).check(
        "
        1   main bots bot-b
        1   main started g1 bot-c
        2   main tick
        3   main ended g1
        4   main tick
            > main create 1 bot-b crazyhouse 180+2
        ",
    );
}

#[test]
fn the_platforms_budgets_are_kept_without_being_told() {
    let fast = |l: &mut LobbyPolicy, m: &mut MatchmakingPolicy| {
        l.max_games = 512;
        m.interval = Duration::from_millis(1_000);
        m.rematch_after = Duration::ZERO;
        m.list_age = Duration::from_secs(3_600);
        m.bot_games_left_for_others = 95;
    };
    let mut stage = seeking(fast);
    let names: Vec<String> = (1..=40).map(|i| format!("bot-{i:02}")).collect();
    let listed = format!("1 main bots {}\n", names.join(" "));
    stage.check(&listed);
    let mut created = 0;
    let mut games = 0;
    for second in 2..=59 {
        let now = crate::lobby_script::now(f64::from(second));
        for (account, action) in stage.lobby.tick(now) {
            if let seneschal::lobby::LobbyAction::Create(request) = action {
                created += 1;
                // Half of them refuse, the others play and end at once.
                let refusal = seneschal::lobby::ChallengeRefusal::Opponent {
                    words: String::new(),
                    retry_after: None,
                };
                let event = seneschal::lobby::LobbyEvent::Refused(request.request, refusal);
                stage.lobby.step(&account, event, now);
            }
        }
    }
    // 25 challenges a minute and no more, although one a second was wanted.
    assert_eq!(created, 25);
    for second in 70..=90 {
        let now = crate::lobby_script::now(f64::from(second));
        for (_, action) in stage.lobby.tick(now) {
            if let seneschal::lobby::LobbyAction::Create(request) = action {
                games += 1;
                let script = format!(
                    "{second} main started-alone g{second} {}\n{second} main ended g{second}",
                    request.opponent
                );
                stage.check(&script);
            }
        }
    }
    // Five of the hundred games of the day are ours to begin.
    assert_eq!(games, 5);
}

#[test]
fn whom_we_do_not_ask() {
    let picky = |_: &mut LobbyPolicy, m: &mut MatchmakingPolicy| {
        m.block = vec!["Bot-Blocked".to_owned()];
        m.min_rating = 1_200;
        m.max_rating = 1_800;
    };
    seeking(picky).check(
        "
        1   main bots me bot-blocked bot-weak=1100 bot-strong=1900 bot-closed
        1   main tick
        17  main tick
            > main list bots
        18  main bots bot-fits=1300
        18  main tick
            > main create 1 bot-fits crazyhouse 180+2
        ",
    );
    seeking(|_, m| m.only = vec!["bot-friend".to_owned()]).check(
        "
        1   main bots bot-a bot-b Bot-Friend
        1   main tick
            > main create 1 Bot-Friend crazyhouse 180+2
        ",
    );
}

#[test]
fn offers_are_drawn_by_weight() {
    let offer = |variant: &str, weight: u32| Offer {
        variant: variant.to_owned(),
        clock: "60+1".to_owned(),
        rated: false,
        weight,
    };
    let weighted = |l: &mut LobbyPolicy, m: &mut MatchmakingPolicy| {
        l.max_games = 512;
        m.interval = Duration::from_secs(60);
        m.list_age = Duration::from_secs(3_600);
        m.bot_games_left_for_others = 0;
        m.offers = vec![offer("crazyhouse", 3), offer("capablanca960", 1)];
    };
    let mut stage = seeking(weighted);
    let names: Vec<String> = (0..200).map(|i| format!("bot-{i}")).collect();
    let mut drawn = std::collections::BTreeMap::new();
    for minute in 1..=120 {
        let seconds = f64::from(minute) * 60.0;
        stage.check(&format!("{seconds} main bots {}", names.join(" ")));
        let now = crate::lobby_script::now(seconds);
        for (account, action) in stage.lobby.tick(now) {
            if let seneschal::lobby::LobbyAction::Create(request) = action {
                *drawn.entry(request.variant.uci_name()).or_insert(0) += 1;
                let refusal = seneschal::lobby::ChallengeRefusal::Lost;
                let event = seneschal::lobby::LobbyEvent::Refused(request.request, refusal);
                stage.lobby.step(&account, event, now);
            }
        }
    }
    let (zh, capa) = (drawn["crazyhouse"], drawn["capablanca"]);
    assert!(zh > 2 * capa && capa > 5, "{drawn:?}");
}

#[test]
fn a_drain_withdraws_and_asks_no_more() {
    seeking(|_, m| m.interval = Duration::from_secs(1)).check(
        "
        1   main bots bot-a bot-b
        1   main tick
            > main create 1 bot-a crazyhouse 180+2
        2   main created 1 x1 bot-a crazyhouse 180+2
        3   main drain
            > main cancel x1
        4   main canceled x1
        9   main tick
        ",
    );
    // The answer to a challenge that was on the wire during the drain.
    seeking(|_, _| {}).check(
        "
        1   main bots bot-a
        1   main tick
            > main create 1 bot-a crazyhouse 180+2
        3   main drain
        4   main created 1 x1 bot-a crazyhouse 180+2
            > main cancel x1
        ",
    );
}
