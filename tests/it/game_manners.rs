//! Sessions among people: resigning, draws, claims, aborts, chat.

use std::time::Duration;

use seneschal::game::GamePolicy;

use crate::game_script::{check, check_with, fics, lichess, pychess, quiet, terms};

fn policy(change: impl FnOnce(&mut GamePolicy)) -> GamePolicy {
    let mut policy = quiet();
    change(&mut policy);
    policy
}

#[test]
fn resigns_after_so_many_lost_positions_in_a_row() {
    let policy = policy(|p| {
        p.resign.enabled = true;
        p.resign.score_cp = -900;
        p.resign.moves = 2;
    });
    let think = "clock 180000+0 ms against 180000 ms, overhead 100 ms";
    check_with(
        terms(policy, lichess()),
        &format!(
            "
            0   full white chess 180+0 : e2e4 e7e5
                > think #1 ply 2 {think}
            1   report #1 g1f3 cp -950
                > send play g1f3 at 2
            2   state e2e4 e7e5 g1f3 b8c6
                > think #2 ply 4 {think}
            3   report #2 f1c4 cp -899
                > send play f1c4 at 4
            4   state e2e4 e7e5 g1f3 b8c6 f1c4 f8c5
                > think #3 ply 6 {think}
            5   report #3 d2d3 cp -2000
                > send play d2d3 at 6
            6   state e2e4 e7e5 g1f3 b8c6 f1c4 f8c5 d2d3 d7d6
                > think #4 ply 8 {think}
            7   report #4 b1c3 mate -3
                > note resign.score: resigns (2 moves in a row at -900 centipawns or worse)
                > send resign
            // C17: the platform will not have it; then we play on and do not ask again.
            8   refused resign
                > note leave.refused: plays on (the platform keeps the game running)
                > think #5 ply 8 clock 179998+0 ms against 180000 ms, overhead 100 ms
            9   report #5 b1c3 mate -3
                > send play b1c3 at 8
            "
        ),
    );
}

#[test]
fn accepts_a_draw_when_equal_or_worse_and_plays_on_if_nothing_comes_of_it() {
    let think = "clock 180000+0 ms against 180000 ms, overhead 100 ms";
    check(&format!(
        "
        0     full white chess 180+0 : e2e4 e7e5 | draw=black
              > think #1 ply 2 {think}
        100   report #1 g1f3 cp 5
              > note draw.accept: accepts (our score is 5 centipawns, at most 10)
              > send accept Draw
        2100  tick
              > note draw.accept: plays on (the game goes on in spite of our yes)
              > send play g1f3 at 2
        "
    ));
    check(&format!(
        "
        0     full white chess 180+0 : e2e4 e7e5 | draw=black
              > think #1 ply 2 {think}
        100   report #1 g1f3 cp 60
              > send play g1f3 at 2
        "
    ));
    // Offered while the opponent is to move: what we thought last decides.
    check(&format!(
        "
        0     full white chess 180+0 : e2e4 e7e5
              > think #1 ply 2 {think}
        100   report #1 g1f3 cp -40
              > send play g1f3 at 2
        200   state e2e4 e7e5 g1f3
        300   state e2e4 e7e5 g1f3 | draw=black
              > note draw.accept: accepts (our score is -40 centipawns, at most 10)
              > send accept Draw
        310   state e2e4 e7e5 g1f3 | draw=black
        320   state e2e4 e7e5 g1f3 | over=1/2,draw
              > finished Draw Draw
        "
    ));
}

#[test]
fn offers_a_draw_with_the_move_where_the_platform_can_and_not_again_soon() {
    let eager = |p: &mut GamePolicy| {
        p.draw.offer = true;
        p.draw.moves = 1;
        p.draw.min_ply = 2;
    };
    let think = "clock 180000+0 ms against 180000 ms, overhead 100 ms";
    let offered = "> note draw.offer: offers (1 equal positions in a row)";
    check_with(
        terms(policy(eager), lichess()),
        &format!(
            "
            0   full white chess 180+0 : e2e4 e7e5
                > think #1 ply 2 {think}
            1   report #1 g1f3 cp 0
                {offered}
                > send play g1f3 at 2 offering a draw
            2   state e2e4 e7e5 g1f3 b8c6
                > think #2 ply 4 {think}
            3   report #2 f1c4 cp 0
                > send play f1c4 at 4
            "
        ),
    );
    check_with(
        terms(policy(eager), fics()),
        &format!(
            "
            0   full white chess 180+0 : e2e4 e7e5
                > think #1 ply 2 {think}
            1   report #1 g1f3 cp 0
                {offered}
                > send play g1f3 at 2
                > send offer a draw
            "
        ),
    );
    check_with(
        terms(policy(eager), pychess()),
        &format!(
            "
            0   full white chess 180+0 : e2e4 e7e5
                > think #1 ply 2 {think}
            1   report #1 g1f3 cp 0
                > send play g1f3 at 2
            "
        ),
    );
}

#[test]
fn takebacks_have_a_limit_and_are_not_for_rated_games_or_bots() {
    let policy = policy(|p| p.takeback.max_per_game = 1);
    let mut remembered = terms(policy, lichess());
    remembered.memory.takebacks_granted = 1;
    check_with(
        remembered,
        "
        0   full black chess 180+0 : e2e4 e7e5 | takeback=white
            > note takeback.policy: declines (1 of 1 granted)
            > send decline Takeback
        ",
    );
    check(
        "
        0   full black chess 180+0 rated : e2e4 e7e5 | takeback=white
            > note takeback.policy: declines (the game is rated)
            > send decline Takeback
        5   state e2e4 e7e5
        6   state e2e4 e7e5 | takeback=white
            > note takeback.policy: declines (the game is rated)
            > send decline Takeback
        ",
    );
    check(
        "
        0   full black chess 180+0 bot : e2e4 e7e5 | takeback=white
            > note takeback.policy: declines (not for bots)
            > send decline Takeback
        ",
    );
}

#[test]
fn aborts_once_if_the_opponent_does_not_begin() {
    check(
        "
        0      full black chess 180+0 :
        59999  tick
        60000  tick
               > note absence.abort: aborts (the opponent does not make his first move)
               > send abort
        ",
    );
    check(
        "
        0      full white chess 180+0 :
               > think #1 ply 0 time 1000 ms
        100    report #1 e2e4
               > send play e2e4 at 0
        200    state e2e4
        60199  tick
        60200  tick
               > note absence.abort: aborts (the opponent does not make his first move)
               > send abort
        75200  tick
        99999  tick
        ",
    );
    // Not in tournaments, and not where the game cannot be aborted.
    for fact in ["arena", "noabort"] {
        check(&format!(
            "
            0      full white chess 180+0 {fact} :
                   > think #1 ply 0 time 1000 ms
            100    report #1 e2e4
                   > send play e2e4 at 0
            200    state e2e4
            90000  tick
            "
        ));
    }
}

#[test]
fn waits_longer_when_asked_to() {
    let policy = policy(|p| p.chat.enabled = true);
    let mut terms = terms(policy, lichess());
    terms.memory.greeted = true;
    check_with(
        terms,
        "
        0      full white chess 180+0 :
               > think #1 ply 0 time 1000 ms
        100    report #1 e2e4
               > send play e2e4 at 0
        200    state e2e4
        50000  chat them players !wait
               > send say to Players: I will wait 60 more seconds for the first move.
        60200  tick
        120200 tick
               > note absence.abort: aborts (the opponent does not make his first move)
               > send abort
        ",
    );
}

#[test]
fn claims_once_when_the_opponent_is_gone() {
    // C33.
    check(
        "
        0      full black chess 180+0 : e2e4 e7e5
        10     left 8
        5010   left 3
        8009   tick
        8010   tick
               > note absence.claim: claims the win (the opponent left and the platform allows it)
               > send claim victory
        8020   tick
        8500   state e2e4 e7e5 | over=0-1,abandoned
               > finished Decisive { winner: Black } Abandoned
        ",
    );
    check(
        "
        0      full black chess 180+0 : e2e4 e7e5
        10     left 8
        5010   back
        9000   tick
        ",
    );
    check(
        "
        0      full black chess 180+0 noclaim : e2e4 e7e5
        10     left 0
        11     tick
        ",
    );
    // Refused: he came back, or was not gone long enough. The next notice counts again, not forever.
    check(
        "
        0      full black chess 180+0 : e2e4 e7e5
        10     left 0
        11     tick
               > note absence.claim: claims the win (the opponent left and the platform allows it)
               > send claim victory
        500    refused claim
        900    tick
        5000   left 0
        5001   tick
               > note absence.claim: claims the win (the opponent left and the platform allows it)
               > send claim victory
        ",
    );
    // Our turn: nothing to claim. A reconnection forgets who was gone.
    check(
        "
        0      full white chess 180+0 : e2e4 e7e5
               > think #1 ply 2 clock 180000+0 ms against 180000 ms, overhead 100 ms
        10     left 0
        11     tick
        ",
    );
    check(
        "
        0      full black chess 180+0 : e2e4 e7e5
        10     left 5
        20     lost
        30     full : e2e4 e7e5
        9000   tick
        ",
    );
}

#[test]
fn claims_a_draw_where_mate_is_impossible() {
    let bare = "fen=4q3/8/4k3/8/4K3/8/8/8_b_-_-_0_40";
    check(&format!(
        "
        0      full white chess 180+0 {bare} :
        10     left 0
        11     tick
               > note absence.claim: claims a draw (the opponent left and the platform allows it)
               > send claim a draw
        "
    ));
}

#[test]
fn adjourning_is_declined_and_an_early_abort_accepted() {
    check_with(
        terms(quiet(), fics()),
        "
        0   full black crazyhouse 180+0 : e2e4 | abort=white
            > note abort.request: accepts (asked by the opponent)
            > send accept Abort
            > think #1 ply 1 time 1000 ms
        5   state e2e4 | adjourn=white
            > note adjourn.request: declines (games are played to the end)
            > send decline Adjourn
        ",
    );
    check_with(
        terms(quiet(), fics()),
        "
        0   full white crazyhouse 180+0 : e2e4 e7e5 g1f3 g8f6 f3e5 | abort=black
            > note abort.request: declines (asked by the opponent)
            > send decline Abort
        9   end * adjourned
            > finished NoResult Adjourned
        ",
    );
}

#[test]
fn greets_once_says_goodbye_and_answers_commands() {
    let policy = policy(|p| {
        p.chat.enabled = true;
        p.chat.hello = "Hi {opponent}, {me} here.".to_owned();
        p.chat.goodbye_spectators = "That was {variant}.".to_owned();
    });
    check_with(
        terms(policy, lichess()),
        "
        0      full white crazyhouse 180+0 :
               > remember takebacks 0 greeted true
               > send say to Players: Hi them, me here.
               > think #1 ply 0 time 1000 ms
        // Too soon after our own line.
        500    chat them players !help
        1500   chat them players !help
               > send say to Players: I answer to !help !name !variants !queue !wait
        3000   chat them players !eval
               > send say to Players: I tell that to spectators only.
        3100   chat guest spectators !eval
               > send say to Spectators: I have not thought yet.
        3200   report #1 e2e4 cp -35
               > send play e2e4 at 0
        3300   state e2e4 e7e5
               > think #2 ply 2 clock 180000+0 ms against 180000 ms, overhead 100 ms
        5000   chat guest spectators !eval
               > send say to Spectators: -0.35 for me, depth 10, 50 thousand nodes
        6500   chat guest spectators !pv
               > send say to Spectators: -0.35 e4
        8000   waiting anna bert
        8100   chat them players !queue
               > send say to Players: Waiting: anna, bert
        9500   chat them players !nonsense
        // C34: empty text, our own echo, the server's own lines.
        9600   chat them players
        9700   chat me players !name
        9800   chat lichess players !name
        9900   chat them players !NAME please
               > send say to Players: me plays by Seneschal test
        10000  state e2e4 e7e5 | over=1-0,resign
               > cancel #2
               > send say to Players: Thank you for the game!
               > send say to Spectators: That was crazyhouse.
               > finished Decisive { winner: White } Resignation
        ",
    );
}

#[test]
fn long_texts_are_cut_and_floods_are_not_answered() {
    let policy = policy(|p| {
        p.chat.enabled = true;
        p.chat.hello = "x".repeat(200);
        p.chat.max_answers = 1;
    });
    let mut capabilities = lichess();
    capabilities.chat_max_chars = 20;
    capabilities.chat_gap = Duration::ZERO;
    check_with(
        terms(policy, capabilities),
        "
        0    full black chess 180+0 :
             > remember takebacks 0 greeted true
             > send say to Players: xxxxxxxxxxxxxxxxx...
        10   chat them players !name
             > send say to Players: me plays by Senes...
        20   chat them players !name
        30   chat them players !name
        ",
    );
}
