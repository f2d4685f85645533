//! Challenges to us, slots and leases.

use std::time::Duration;

use seneschal::lobby::{LobbyPolicy, MatchmakingPolicy};

use crate::lobby_script::{Stage, stage, stage_with};

fn with(change: impl FnOnce(&mut LobbyPolicy)) -> Stage {
    let mut policy = LobbyPolicy {
        max_games_per_opponent: 1,
        ..LobbyPolicy::default()
    };
    change(&mut policy);
    let mut stage = stage(policy, MatchmakingPolicy::default());
    stage.check(
        "
        0 main online
        0 main lists
        0 side online
        0 side lists
        ",
    );
    stage
}

#[test]
fn a_burst_takes_one_slot_and_the_others_wait_their_turn() {
    // C12: three within milliseconds, one slot; people first.
    with(|p| p.max_games = 1).check(
        "
        1.000 main challenge c1 anna crazyhouse 180+2
              > main accept c1
        1.002 main challenge c2 bot-b crazyhouse 180+2
        1.005 main challenge c3 carl crazyhouse 180+2
        2     main started c1 anna
        5     main ended c1
              > main accept c3
        6     main started c3 carl
        // The bot waited 15 seconds.
        16.003 main tick
              > main decline c2 Later
        ",
    );
}

#[test]
fn the_queue_may_be_switched_off() {
    let no_queue = |p: &mut LobbyPolicy| {
        p.max_games = 1;
        p.queue = Duration::ZERO;
    };
    with(no_queue).check(
        "
        1 main challenge c1 anna crazyhouse 180+2
          > main accept c1
        1 main challenge c2 bert crazyhouse 180+2
          > main decline c2 Later
        ",
    );
}

#[test]
fn one_player_cannot_take_more_than_his_share() {
    // C13: eight from one user; the older ones are replaced while they wait, and none is accepted beyond the limit.
    let script: String = (1..=8)
        .map(|i| {
            let answer = if i == 1 { "> main accept c1" } else { "" };
            let answer = if i > 1 {
                format!("> main decline c{i} Later")
            } else {
                answer.to_owned()
            };
            format!("1 main challenge c{i} anna crazyhouse 180+2\n{answer}\n")
        })
        .collect();
    with(|p| p.max_games = 8).check(&script);
    with(|p| {
        p.max_games = 8;
        p.max_games_per_opponent = 2;
    })
    .check(
        "
        1 main challenge c1 anna crazyhouse 180+2
          > main accept c1
        1 main challenge c2 anna crazyhouse 180+2
          > main accept c2
        1 main challenge c3 anna crazyhouse 180+2
          > main decline c3 Later
        2 main started c1 anna
        2 main started c2 anna
        // Of a game that runs the end may be on its way; after three seconds it is not.
        2 main challenge c4 anna crazyhouse 180+2
        // The same name on another account is another matter.
        2 side challenge c5 anna crazyhouse 180+2
          > side accept c5
        4.999 main tick
        5 main tick
          > main decline c4 Later
        ",
    );
}

#[test]
fn a_challenge_in_the_moment_in_which_the_last_game_ends_waits_for_its_end() {
    // The next challenge and the end of the game come on different streams, in any order.
    let script = "
        1   main challenge c1 anna crazyhouse 180+2
            > main accept c1
        1   main started c1 anna
        60  main challenge c2 anna crazyhouse 180+2
        60.2 main ended c1
            > main accept c2
        61  main started c2 anna
        // The end may also never come: somebody who asks for a second game beside the first one.
        70  main challenge c3 anna crazyhouse 180+2
        // Meanwhile he asks again, and only the newer one counts.
        71  main challenge c4 anna crazyhouse 180+2
        73.999 main tick
        74  main tick
            > main decline c4 Later
        // Once it is declined, the end of the game does not bring it back.
        75  main ended c2
        75  main challenge c5 anna crazyhouse 180+2
            > main accept c5
        ";
    with(|_| ()).check(script);
    // Without a queue for slots it is the same: it is not a slot that it waits for.
    with(|p| p.queue = Duration::ZERO).check(script);
}

#[test]
fn a_challenge_that_waits_for_the_end_of_a_game_is_asked_again_by_every_rule() {
    with(|p| {
        p.max_games = 2;
        p.max_games_in_a_row = 1;
        p.rest_after_row = Duration::from_secs(60);
    })
    .check(
        "
        1  main challenge c1 anna crazyhouse 180+2
           > main accept c1
        1  main started c1 anna
        // What would not pass anyway is said at once.
        2  main challenge c2 anna crazyhouse 5400+0
           > main decline c2 TooSlow
        // Welcome but for the game that is on; then its end makes it one game too many in a row.
        3  main challenge c3 anna crazyhouse 180+2
        4  main ended c1
           > main decline c3 Later
        // One that waits is forgotten when it is withdrawn.
        5  main challenge c4 bert crazyhouse 180+2
           > main accept c4
        5  main started c4 bert
        6  main challenge c5 bert crazyhouse 180+2
        7  main canceled c5
        8  main ended c4
        ",
    );
}

#[test]
fn a_drain_declines_what_waits_for_the_end_of_a_game() {
    with(|_| ()).check(
        "
        1  main challenge c1 anna crazyhouse 180+2
           > main accept c1
        1  main started c1 anna
        2  main challenge c2 anna crazyhouse 180+2
        3  main drain
           > main decline c2 Later
        ",
    );
}

#[test]
fn a_person_behind_a_bot_gets_the_slot_that_is_kept_for_people() {
    // C14.
    let reserve = |p: &mut LobbyPolicy| {
        p.max_games = 2;
        p.reserved_for_humans = 1;
        p.accept.humans_first = false;
    };
    with(reserve).check(
        "
        1 main challenge c1 bot-a crazyhouse 180+2
          > main accept c1
        1 main started c1 bot-a
        2 main challenge c2 bot-b crazyhouse 180+2
        3 main challenge c3 anna crazyhouse 180+2
          > main accept c3
        4 main ended c1
          > main accept c2
        ",
    );
}

#[test]
fn a_promise_that_is_not_kept_frees_the_slot() {
    // C15: accepted, then gone without a word; and accept answered 404.
    with(|p| p.max_games = 1).check(
        "
        1  main challenge c1 anna crazyhouse 180+2
           > main accept c1
        2  main challenge c2 bert crazyhouse 180+2
        3  main canceled c1
           > main accept c2
        4  main challenge c3 carl crazyhouse 180+2
        5  main accept-failed c2
           > main accept c3
        29 main tick
        30 main challenge c4 dora crazyhouse 180+2
           > main accept c4
        ",
    );
}

#[test]
fn nothing_is_accepted_before_the_lists_are_known() {
    let mut stage = stage(LobbyPolicy::default(), MatchmakingPolicy::default());
    stage.check(
        "
        0 main online
        1 main challenge c1 anna crazyhouse 180+2
        2 main lists-in c1 anna crazyhouse 180+2
          > main accept c1
        3 main offline
        4 main challenge c2 bert crazyhouse 180+2
        5 main online
        // The challenge is not on the list any more.
        6 main lists
        ",
    );
}

#[test]
fn a_game_that_nobody_expected_is_played_or_not_wanted_but_never_ignored() {
    // C10: a challenge that was withdrawn long ago starts all the same.
    let tight = |p: &mut LobbyPolicy| {
        p.max_games = 1;
        p.overcommit = 1;
    };
    with(tight).with_notes().check(
        "
        1 main started re4ELMrx bot-a
        2 main started second bot-b
          > main note slots.surprise: plays it all the same (1 of 1 slots were taken)
        3 main started third bot-c
          > main note slots.surprise: does not want it (2 of 1 slots and the reserve are taken)
          > main unwanted third
        4 main started third bot-c
        5 main ended third
        ",
    );
}

#[test]
fn a_game_finds_its_promise_by_the_opponent_where_ids_do_not_tell() {
    // FICS and rematches.
    let mut stage = with(|p| p.max_games = 1);
    stage.check(
        "
        1 main challenge 17 anna crazyhouse 180+2
          > main accept 17
        2 main started-alone g1 Anna
        ",
    );
    assert_eq!(stage.lobby.slots().taken(), 1);
    stage.check("3 main ended g1");
    assert_eq!(stage.lobby.slots().taken(), 0);
}

#[test]
fn every_objection_has_its_reason() {
    let strict = |p: &mut LobbyPolicy| {
        p.accept.variants = vec!["crazyhouse".to_owned(), "capablanca960".to_owned()];
        p.accept.min_increment = Duration::from_secs(1);
        p.accept.max_initial = Duration::from_secs(600);
        p.accept.max_increment = Duration::from_secs(10);
        p.accept.rated = false;
        p.accept.min_rating = 1_200;
        p.accept.max_rating = 2_000;
        p.accept.block = vec!["Pest".to_owned()];
        p.accept.guests = false;
    };
    with(strict).with_notes().check(
        "
        1 main challenge c1 anna crazyhouse 180+2 closed
          > main note platform.playable: declines (c1 180+2 from anna (Human, 1500): the platform does not let bots play this game)
          > main decline c1 Generic
        2 main challenge c2 pest crazyhouse 180+2
          > main note accept.block: declines (c2 180+2 from pest (Human, 1500): on the list lobby.accept.block)
          > main decline c2 Generic
        3 main challenge c3 guest-1 crazyhouse 180+2
          > main note opponent.kind: declines (c3 180+2 from guest-1 (Guest, 1500): no players without an account)
          > main decline c3 Generic
        4 main challenge c4 anna shogi 180+2
          > main note variant.known: declines (c4 180+2 from anna (Human, 1500): variant `shogi` is not known here)
          > main decline c4 Variant
        5 main challenge c5 anna crazyhouse960 180+2
          > main note variant.list: declines (c5 180+2 from anna (Human, 1500): crazyhouse960 is not in lobby.accept.variants)
          > main decline c5 Variant
        6 main challenge c6 anna crazyhouse 180+2 fen=8/8/8/8/8/8/8/8_w_-_-_0_1
          > main note variant.position: declines (c6 180+2 from anna (Human, 1500): no custom first positions)
          > main decline c6 Variant
        7 main challenge c7 anna crazyhouse 180+2 odds=60+0
          > main note clock.odds: declines (c7 180+2 from anna (Human, 1500): the clocks differ)
          > main decline c7 TimeControl
        8 main challenge c8 anna crazyhouse unlimited
          > main note clock.kind: declines (c8 unlimited from anna (Human, 1500): no games without a clock)
          > main decline c8 TimeControl
        9 main challenge c9 anna crazyhouse 3d
          > main note clock.kind: declines (c9 3d from anna (Human, 1500): no correspondence games)
          > main decline c9 TimeControl
        10 main challenge d1 anna crazyhouse 180+0
          > main note clock.range: declines (d1 180+0 from anna (Human, 1500): increment below 1 s)
          > main decline d1 TooFast
        11 main challenge d2 anna crazyhouse 900+2
          > main note clock.range: declines (d2 900+2 from anna (Human, 1500): bank above 600 s)
          > main decline d2 TooSlow
        12 main challenge d3 anna crazyhouse 180+2 rated
          > main note rated: declines (d3 180+2 from anna (Human, 1500): no rated games)
          > main decline d3 CasualOnly
        13 main challenge d4 anna crazyhouse 180+2 rating=900
          > main note opponent.rating: declines (d4 180+2 from anna (Human, 900): rating 900 is outside 1200 to 2000)
          > main decline d4 Generic
        14 main challenge d5 bot-a crazyhouse 180+2 noabort
          > main note game.no_abort: declines (d5 180+2 from bot-a (Bot, 1500): the game could not be aborted)
          > main decline d5 Generic
        15 main challenge d6 anna capablanca960 180+2
          > main note accept: accepts (d6 180+2 from anna (Human, 1500))
          > main accept d6
        ",
    );
}

#[test]
fn speeds_kinds_and_modes_have_their_own_words() {
    let other = |p: &mut LobbyPolicy| {
        p.accept.speeds = vec![seneschal::game::Speed::Blitz];
        p.accept.casual = false;
        p.accept.bots = false;
        p.accept.variants = vec!["chess".to_owned()];
    };
    with(other).check(
        "
        1 main challenge c1 anna chess 60+0 rated
          > main decline c1 TooFast
        2 main challenge c2 anna chess 900+10 rated
          > main decline c2 TooSlow
        3 main challenge c3 anna chess 180+2
          > main decline c3 RatedOnly
        4 main challenge c4 bot-a chess 180+2 rated
          > main decline c4 NoBots
        5 main challenge c5 anna crazyhouse 180+2 rated
          > main decline c5 StandardOnly
        6 main challenge c6 anna chess 180+2 rated
          > main accept c6
        ",
    );
    with(|p| p.accept.humans = false).check(
        "
        1 main challenge c1 anna chess 180+2
          > main decline c1 BotsOnly
        ",
    );
}

#[test]
fn a_day_limit_bars_bots_and_lets_people_in_and_survives_a_restart() {
    // C01.
    let mut first = with(|_| {});
    first.check(
        "
        1 main bot-games-limited 86398
        2 main challenge c1 bot-a crazyhouse 180+2
          > main decline c1 Later
        3 main challenge c2 anna crazyhouse 180+2
          > main accept c2
        // The limit is that of one account.
        4 side challenge c3 bot-a crazyhouse 180+2
          > side accept c3
        ",
    );
    let mut second = with(|_| {});
    second.lobby.recall(first.remembered);
    second.check(
        "
        86000 main challenge c4 bot-a crazyhouse 180+2
              > main decline c4 Later
        86399 main challenge c5 bot-a crazyhouse 180+2
              > main accept c5
        ",
    );
}

#[test]
fn games_in_a_row_have_a_limit_and_then_a_rest() {
    let limited = |p: &mut LobbyPolicy| {
        p.max_games_in_a_row = 2;
        p.rest_after_row = Duration::from_secs(60);
    };
    let mut stage = with(limited);
    stage.check(
        "
        1 main challenge c1 anna crazyhouse 180+2
          > main accept c1
        2 main started c1 anna
        3 main ended c1
        4 main challenge c2 anna crazyhouse 180+2
          > main accept c2
        5 main started c2 anna
        6 main ended c2
        7 main challenge c3 anna crazyhouse 180+2
          > main decline c3 Later
        // Others play on, and another account is another matter.
        8 main challenge c4 bert crazyhouse 180+2
          > main accept c4
        9 side challenge c5 anna crazyhouse 180+2
          > side accept c5
        10 main started c4 bert
        11 main ended c4
        65 main challenge c6 anna crazyhouse 180+2
          > main decline c6 Later
        67 main challenge c7 anna crazyhouse 180+2
          > main accept c7
        ",
    );
    let rest = |change: &seneschal::lobby::MemoryChange| matches!(change, seneschal::lobby::MemoryChange::Rest { key, .. } if key == "row:anna");
    assert!(
        stage.remembered.iter().any(rest),
        "the rest survives a restart"
    );
    // A game with somebody else in between begins the count anew.
    with(limited).check(
        "
        1 main started g1 anna
        2 main ended g1
        3 main started g2 bert
        4 main ended g2
        5 main started g3 anna
        6 main ended g3
        7 main challenge c1 anna crazyhouse 180+2
          > main accept c1
        ",
    );
}

#[test]
fn our_offer_to_go_on_with_an_adjourned_game_is_not_withdrawn_as_a_stray_one() {
    with(|p| p.max_games = 1).check(
        "
        1 main echo r1 anna crazyhouse 180+2 adjourned
        2 main lists-out r1 anna crazyhouse 180+2 adjourned
        3 main started-resumed g1 anna
        4 main ended g1
        // One of an earlier run is.
        5 main echo c1 bert crazyhouse 180+2
          > main cancel c1
        ",
    );
}

#[test]
fn rematches_without_a_challenge_do_not_get_around_the_limit_of_games_in_a_row() {
    let limited = |p: &mut LobbyPolicy| {
        p.max_games = 4;
        p.max_games_in_a_row = 2;
        p.rest_after_row = Duration::from_secs(60);
    };
    // On PyChess a rematch simply begins, and who plays is known a moment later.
    with(limited).check(
        "
        1  main challenge c1 anna crazyhouse 180+2
           > main accept c1
        2  main started c1 anna
        3  main ended c1
        4  main started-alone g2
        5  main opponent g2 anna
        6  main ended g2
        7  main started-alone g3
        8  main opponent g3 anna
           > main unwanted g3
        9  main opponent g3 anna
        10 main ended g3
        // Others may, and so may she when she has rested.
        11 main started-alone g4 bert
        12 main ended g4
        70 main started-alone g5 anna
        ",
    );
    // The rematch is heard of before the end of the game before it, and with its opponent.
    with(limited).check(
        "
        1  main started g1 anna
        2  main ended g1
        3  main started g2 anna
        4  main started-alone g3 anna
        5  main ended g2
           > main unwanted g3
        ",
    );
    // A game that goes on after a restart is played to its end whatever the rest says.
    with(limited).check(
        "
        1  main started g1 anna
        2  main started g2 anna
        3  main ended g1
        4  main ended g2
        5  main started-resumed g3 anna
        ",
    );
}

#[test]
fn nobody_on_the_block_list_gets_a_game_by_a_rematch_and_nobody_gets_one_during_a_drain() {
    with(|p| p.accept.block = vec!["Pest".to_owned()]).check(
        "
        1 main started-alone g1
        2 main opponent g1 pest
          > main unwanted g1
        3 main ended g1
        4 main drain
        5 main started-alone g2 anna
          > main unwanted g2
        // Agreed to before the drain.
        6 main started g3 bert
        ",
    );
}

#[test]
fn games_against_bots_are_counted_when_they_start_whoever_asked() {
    let mut stage = with(|p| {
        p.max_games = 512;
        p.max_games_per_opponent = 64;
        p.max_bot_games_per_opponent_per_day = 2;
    });
    stage.check(
        "
        1 main started g1 bot-a
        2 main ended g1
        3 main started g2 bot-a
        4 main ended g2
        5 main challenge c1 bot-a crazyhouse 180+2
          > main decline c1 Later
        6 main challenge c2 bot-b crazyhouse 180+2
          > main accept c2
        ",
    );
    let now = crate::lobby_script::now(10.0);
    let account = seneschal::lobby::AccountName::new("main");
    let used = stage
        .lobby
        .memory()
        .used(&account, "bot-games", now.wall_ms);
    assert_eq!(used, 2);
}

#[test]
fn a_drain_sends_everybody_away() {
    with(|p| p.max_games = 1).check(
        "
        1 main challenge c1 anna crazyhouse 180+2
          > main accept c1
        2 main challenge c2 bert crazyhouse 180+2
        3 main drain
          > main decline c2 Later
        4 main challenge c3 carl crazyhouse 180+2
          > main decline c3 Later
        // The accepted game may still start; it is played.
        5 main started c1 anna
        ",
    );
}

#[test]
fn an_adjourned_game_goes_on_whatever_the_filters_say() {
    with(|p| p.accept.rated = false).check(
        "
        1 main challenge c1 anna crazyhouse 180+2 rated adjourned
          > main accept c1
        ",
    );
}

#[test]
fn unknown_ids_are_harmless() {
    // C34.
    with(|_| {}).check(
        "
        1 main canceled nobody
        2 main declined nobody generic
        3 main ended nobody
        4 main accept-failed nobody
        5 main opponent nobody bot-a
        6 nobody challenge c1 anna crazyhouse 180+2
        ",
    );
}

#[test]
fn accounts_share_the_slots() {
    with(|p| p.max_games = 2).check(
        "
        1 main started g1 anna
        2 side started g2 anna
        3 main challenge c1 bert crazyhouse 180+2
        4 side ended g2
          > main accept c1
        ",
    );
}

#[test]
fn an_account_may_have_a_bound_of_its_own() {
    let mut stage = stage_with(
        LobbyPolicy::default(),
        MatchmakingPolicy::default(),
        Some(1),
    );
    stage.check(
        "
        0 main online
        0 main lists
        0 side online
        0 side lists
        1 main started g1 anna
        3 main challenge c1 bert crazyhouse 180+2
        3 side challenge c2 bert crazyhouse 180+2
          > side accept c2
        4 main ended g1
          > main accept c1
        ",
    );
}
