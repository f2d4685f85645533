//! Sessions of single games: owed moves, repeats, takebacks, refusals, leaving.

use seneschal::game::policy::LeavePolicy;

use crate::game_script::{check, check_with, fics, lichess, pychess, quiet, terms};

#[test]
fn first_move_is_free_and_the_clock_counts_from_the_second() {
    check(
        "
        0     full white crazyhouse 180+2 :
              > think #1 ply 0 time 1000 ms
        900   report #1 e2e4
              > send play e2e4 at 0
        950   state e2e4
        2000  state e2e4 e7e5 | w=179000 b=178000
              > think #2 ply 2 clock 179000+2000 ms against 178000 ms, overhead 100 ms
        ",
    );
}

#[test]
fn a_repeated_state_changes_nothing() {
    // C22: our own draw offer comes back as the same moves before the move does.
    check(
        "
        0     full white chess 180+2 :
              > think #1 ply 0 time 1000 ms
        100   state
        200   state | draw=white
        900   report #1 e2e4
              > send play e2e4 at 0
        950   state
        960   state | draw=white
        990   state e2e4
        995   state e2e4
        ",
    );
}

#[test]
fn a_late_report_is_dropped() {
    check(
        "
        0     full white chess 180+2 : e2e4 e7e5
              > think #1 ply 2 clock 180000+2000 ms against 180000 ms, overhead 100 ms
        10    full : e2e4 e7e5 g1f3 b8c6
              > cancel #1
              > think #2 ply 4 clock 180000+2000 ms against 180000 ms, overhead 100 ms
        20    report #1 d2d4
        30    report #2 d2d4
              > send play d2d4 at 4
        40    report #2 d2d4
        ",
    );
}

#[test]
fn an_announced_takeback_gives_the_ply_a_second_search() {
    check(
        "
        0     full white chess 180+2 : e2e4 e7e5
              > think #1 ply 2 clock 180000+2000 ms against 180000 ms, overhead 100 ms
        10    state e2e4 e7e5 | takeback=black
              > remember takebacks 1 greeted false
              > note takeback.policy: accepts (number 1 of 2)
              > send accept Takeback
        15    state e2e4 e7e5 | takeback=black
        20    state e2e4
              > cancel #1
        30    report #1 g1f3
        40    state e2e4 e7e5
              > think #2 ply 2 clock 180000+2000 ms against 180000 ms, overhead 100 ms
        50    report #2 g1f3
              > send play g1f3 at 2
        ",
    );
}

#[test]
fn a_shrunken_list_that_nobody_agreed_to_is_checked_first() {
    check(
        "
        0     full white chess 180+2 : e2e4 e7e5
              > think #1 ply 2 clock 180000+2000 ms against 180000 ms, overhead 100 ms
        10    state e2e4
              > cancel #1
              > note state.doubt: asked for the whole state (the move list is not a continuation of ours)
              > send resync
        20    report #1 g1f3
        30    full : e2e4 e7e5
              > think #2 ply 2 clock 180000+2000 ms against 180000 ms, overhead 100 ms
        ",
    );
    // The platform means it: then that is the truth.
    check(
        "
        0     full white chess 180+2 : e2e4 e7e5
              > think #1 ply 2 clock 180000+2000 ms against 180000 ms, overhead 100 ms
        10    state
              > cancel #1
              > note state.doubt: asked for the whole state (the move list is not a continuation of ours)
              > send resync
        5010  tick
              > send resync
        5030  full :
              > think #2 ply 0 time 1000 ms
        ",
    );
}

#[test]
fn a_shorter_list_that_a_new_stream_begins_with_is_checked_too() {
    check(
        "
        0     full white chess 180+2 : e2e4 e7e5
              > think #1 ply 2 clock 180000+2000 ms against 180000 ms, overhead 100 ms
        10    report #1 g1f3
              > send play g1f3 at 2
        20    state e2e4 e7e5 g1f3
        30    lost
        40    full : e2e4 e7e5
              > note state.doubt: asked for the whole state (the move list is not a continuation of ours)
              > send resync
        50    full : e2e4 e7e5 g1f3
        60    state e2e4 e7e5 g1f3 b8c6
              > think #2 ply 4 clock 180000+2000 ms against 180000 ms, overhead 100 ms
        ",
    );
}

#[test]
fn where_takebacks_come_without_a_word_a_shorter_list_is_believed() {
    check_with(
        terms(quiet(), pychess()),
        "
        0     full white capablanca 180+2 : e2e4 e7e5
              > think #1 ply 2 clock 180000+2000 ms against 180000 ms, overhead 100 ms
        10    state
              > cancel #1
              > think #2 ply 0 time 1000 ms
        20    state d2d4
              > cancel #2
        ",
    );
}

#[test]
fn a_move_is_owed_until_the_platform_shows_it() {
    check(
        "
        0     full white chess 180+2 : e2e4 e7e5
              > think #1 ply 2 clock 180000+2000 ms against 180000 ms, overhead 100 ms
        500   report #1 g1f3
              > send play g1f3 at 2
        5500  tick
              > send resync
        5600  full : e2e4 e7e5 | w=174000
              > note move.owed: sends the move again (the platform does not show it)
              > send play g1f3 at 2
        5700  lost
        9000  full : e2e4 e7e5 | w=170000
              > note move.owed: sends the move again (the platform does not show it)
              > send play g1f3 at 2
        9100  state e2e4 e7e5 g1f3
        60000 tick
        ",
    );
}

#[test]
fn an_unanswered_move_is_never_repeated_blindly() {
    check(
        "
        0     full white chess 180+2 : e2e4 e7e5
              > think #1 ply 2 clock 180000+2000 ms against 180000 ms, overhead 100 ms
        500   report #1 g1f3
              > send play g1f3 at 2
        2500  unanswered play 2
              > note move.unanswered: asks for the whole state (no answer came)
              > send resync
        2600  full : e2e4 e7e5 g1f3
        ",
    );
}

#[test]
fn after_a_gap_of_three_plies_everything_is_rebuilt() {
    // C28: the last thing we knew was e2e4.
    let session = check(
        "
        0     full white chess 180+2 : e2e4
        50    lost
        9000  full : e2e4 e7e5 g1f3 b8c6
              > think #1 ply 4 clock 180000+2000 ms against 180000 ms, overhead 100 ms
        ",
    );
    let record = session.record().expect("a game");
    assert_eq!(
        record.position().fen(),
        "r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 2 3"
    );
}

#[test]
fn a_state_that_cannot_be_read_is_asked_for_again_and_then_the_game_is_left() {
    // Asked for again, and the answer is good: the game goes on.
    check(
        "
        0     full white chess 180+2 : e2e4 e7e5
              > think #1 ply 2 clock 180000+2000 ms against 180000 ms, overhead 100 ms
        10    unreadable a king is missing
              > note state.unreadable: asks for the whole state (a king is missing)
              > cancel #1
              > send resync
        // No answer at all is asked for again as well.
        5010  tick
              > send resync
        5020  full : e2e4 e7e5
              > think #2 ply 2 clock 180000+2000 ms against 180000 ms, overhead 100 ms
        6000  unreadable a king is missing
              > note state.unreadable: asks for the whole state (a king is missing)
              > cancel #2
              > send resync
        6010  unreadable still missing
              > note state.unreadable: leaves the game (still missing)
              > send resign
        6020  unreadable still missing
        6030  end 0-1 resign
              > finished Decisive { winner: Black } Resignation
        ",
    );
    // Early enough it is aborted; where that is only a request to the opponent and nothing comes of it, resigned.
    check_with(
        terms(quiet(), fics()),
        "
        0     full black chess 180+2 : e2e4
              > think #1 ply 1 time 1000 ms
        10    unreadable noise
              > note state.unreadable: asks for the whole state (noise)
              > cancel #1
              > send resync
        20    unreadable noise
              > note state.unreadable: leaves the game (noise)
              > send abort
        10019 tick
        10020 tick
              > send resign
        10030 end 1-0 resign
              > finished Decisive { winner: White } Resignation
        ",
    );
    let mut policy = quiet();
    policy.on_rules_error = LeavePolicy::Stay;
    check_with(
        terms(policy, lichess()),
        "
        0     full white chess 180+2 : e2e4 e7e5
              > think #1 ply 2 clock 180000+2000 ms against 180000 ms, overhead 100 ms
        10    unreadable noise
              > note state.unreadable: asks for the whole state (noise)
              > cancel #1
              > send resync
        20    unreadable noise
              > note state.unreadable: leaves the game (noise)
        30    full : e2e4 e7e5
              > think #2 ply 2 clock 180000+2000 ms against 180000 ms, overhead 100 ms
        ",
    );
}

#[test]
fn a_game_that_was_never_understood_is_aborted_and_else_resigned() {
    let script = "
        0     unreadable what is this
              > note state.unreadable: asks for the whole state (what is this)
              > send resync
        5000  tick
              > send resync
        5010  unreadable what is this
              > note state.unreadable: leaves the game (what is this)
              > send abort
        ";
    // The platform says that it is too late for an abort.
    check(&format!(
        "{script}
        5020  refused abort
              > send resign
        5030  end 0-1 resign
              > finished Decisive {{ winner: Black }} Resignation
        "
    ));
    // It says nothing at all, and in the end the clock decides.
    check(&format!(
        "{script}
        15009 tick
        15010 tick
              > send resign
        15020 refused resign
        25010 tick
              > send resign
        35010 tick
              > send resign
        45010 tick
              > note leave.refused: leaves it to the clock (the platform keeps a game running that cannot be read)
        55010 tick
        99000 end 0-1 time
              > finished Decisive {{ winner: Black }} OutOfTime
        "
    ));
    // A late good state, before anything ended: it is played.
    check(&format!(
        "{script}
        5020  full white chess 180+2 : e2e4 e7e5
              > think #1 ply 2 clock 180000+2000 ms against 180000 ms, overhead 100 ms
        "
    ));
    let mut policy = quiet();
    policy.on_rules_error = LeavePolicy::Stay;
    check_with(
        terms(policy, lichess()),
        &format!(
            "{script}
            5020  refused abort
                  > note leave.refused: leaves it to the clock (the platform keeps a game running that cannot be read)
            "
        ),
    );
}

#[test]
fn both_ways_to_write_castling_are_the_same_move() {
    let moves = "e2e4 e7e5 g1f3 b8c6 f1c4 f8c5";
    check(&format!(
        "
        0     full white chess 180+2 : {moves}
              > think #1 ply 6 clock 180000+2000 ms against 180000 ms, overhead 100 ms
        10    report #1 e1g1
              > send play e1g1 at 6
        20    state {moves} e1h1
        30    full : {moves} e1g1
        40    state {moves} e1h1 g8f6
              > think #2 ply 8 clock 180000+2000 ms against 180000 ms, overhead 100 ms
        "
    ));
}

#[test]
fn a_list_with_an_illegal_move_is_asked_for_again_and_then_the_game_is_left() {
    let bad = "move 2 `e1e3` is not legal in \
               `rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2`";
    let session_script = |last: &str| {
        format!(
            "
            0     full white chess 180+2 : e2e4 e7e5
                  > think #1 ply 2 clock 180000+2000 ms against 180000 ms, overhead 100 ms
            10    state e2e4 e7e5 e1e3
                  > note rules.disagree: asked for the whole state ({bad}: REASON)
                  > cancel #1
                  > send resync
            20    full : e2e4 e7e5 e1e3
                  > note rules.disagree: leaves the game ({bad}: REASON)
                  {last}
            "
        )
    };
    let reason = {
        let position = seneschal::rules::Position::start(seneschal::rules::Variant::Chess);
        let mut position = position;
        for word in ["e2e4", "e7e5"] {
            let m = position.parse_uci(word).expect("legal");
            position.play_unchecked(m);
        }
        position.parse_uci("e1e3").expect_err("illegal").to_string()
    };
    let script = session_script("> send resign").replace("REASON", &reason);
    check(&format!(
        "{script}\n30 end 0-1 resign\n > finished Decisive {{ winner: Black }} Resignation"
    ));
    let mut policy = quiet();
    policy.on_rules_error = LeavePolicy::Stay;
    check_with(
        terms(policy, lichess()),
        &session_script("").replace("REASON", &reason),
    );
}

#[test]
fn a_refused_move_leads_to_another_and_then_to_leaving() {
    check(
        "
        0     full white chess 180+2 : e2e4 e7e5
              > think #1 ply 2 clock 180000+2000 ms against 180000 ms, overhead 100 ms
        10    report #1 g1f3
              > send play g1f3 at 2
        20    refused play 2
              > note move.refused: asks for the whole state (the platform refused our move: no)
              > send resync
        30    full : e2e4 e7e5
              > note move.refused: looks for another move (the platform refuses that one)
              > think #2 ply 2 clock 180000+2000 ms against 180000 ms, overhead 100 ms, 28 moves only
        40    report #2 d2d4
              > send play d2d4 at 2
        50    refused play 2
              > note move.refused: asks for the whole state (the platform refused our move: no)
              > send resync
        60    full : e2e4 e7e5
              > note move.refused: leaves the game (the platform refuses what we hold legal)
              > send resign
        ",
    );
}

#[test]
fn not_your_turn_after_the_move_arrived_is_harmless() {
    check(
        "
        0     full white chess 180+2 : e2e4 e7e5
              > think #1 ply 2 clock 180000+2000 ms against 180000 ms, overhead 100 ms
        10    report #1 g1f3
              > send play g1f3 at 2
        20    state e2e4 e7e5 g1f3
        30    refused play 2
        40    state e2e4 e7e5 g1f3 b8c6
              > think #2 ply 4 clock 180000+2000 ms against 180000 ms, overhead 100 ms
        ",
    );
}

#[test]
fn the_engine_is_hurried_and_then_done_without() {
    // C32: 2 s on the clock; the search never answers, a late answer changes nothing.
    check(
        "
        0     full white chess 60+0 : e2e4 e7e5 | w=2100 b=60000
              > think #1 ply 2 clock 2100+0 ms against 60000 ms, overhead 100 ms
        1599  tick
        1600  tick
              > hurry #1
        1700  tick
        1800  tick
              > cancel #1
              > note move.fallback: plays without a search (the search did not answer in time)
              > send play b1a3 at 2
        1900  report #1 g1f3
        ",
    );
    // Hurried, it may still answer.
    check(
        "
        0     full white chess 60+0 : e2e4 e7e5 | w=2100 b=60000
              > think #1 ply 2 clock 2100+0 ms against 60000 ms, overhead 100 ms
        1600  tick
              > hurry #1
        1610  report #1 g1f3
              > send play g1f3 at 2
        ",
    );
    check(
        "
        0     full white chess 60+0 : e2e4 e7e5 | w=2100 b=60000
              > think #1 ply 2 clock 2100+0 ms against 60000 ms, overhead 100 ms
        10    fails #1
              > note move.fallback: plays without a search (the pool is gone)
              > send play b1a3 at 2
        ",
    );
}

#[test]
fn an_engine_with_an_illegal_answer_does_not_get_it_sent() {
    check(
        "
        0     full white chess 60+0 : e2e4 f7f6 | w=60000 b=60000
              > think #1 ply 2 clock 60000+0 ms against 60000 ms, overhead 100 ms
        10    report #1 e1e5
              > note move.fallback: plays another move (the search answered with a move that is not legal here)
              > send play b1a3 at 2
        ",
    );
}

#[test]
fn a_game_that_is_over_by_our_rules_waits_for_the_platform() {
    // Mated: nothing is owed. The server that says nothing is asked.
    check(
        "
        0     full white chess 180+0 : f2f3 e7e5 g2g4 d8h4
        3000  tick
              > send resync
        3100  full : f2f3 e7e5 g2g4 d8h4 | over=0-1,mate
              > finished Decisive { winner: Black } Mate
        ",
    );
}

#[test]
fn a_server_that_insists_on_a_finished_game_is_left() {
    // The king stands on the hill, so the game is over by our rules; the platform wants to go on.
    let fen = "fen=8/8/4k3/8/4K3/8/8/7R_b_-_-_0_1";
    check(&format!(
        "
        0     full black kingofthehill 180+0 noabort {fen} :
        3000  tick
              > send resync
        3100  full :
        23000 tick
              > send resync
        23100 full :
        43000 tick
              > send resync
        43100 full :
              > note rules.disagree: leaves the game (the platform lets a game go on that is over by our rules)
              > send resign
        "
    ));
}

#[test]
fn a_claimable_draw_is_not_the_end() {
    // C25, C21: third occurrence by knight moves; the status says started.
    let dance = "g1f3 g8f6 f3g1 f6g8 g1f3 g8f6 f3g1 f6g8";
    check(&format!(
        "
        0     full white chess 180+0 : {dance}
              > think #1 ply 8 clock 180000+0 ms against 180000 ms, overhead 100 ms
        10    report #1 e2e4
              > send play e2e4 at 8
        20    refused play 8
              > note move.refused: asks for the whole state (the platform refused our move: no)
              > send resync
        30    end 1/2 draw
              > finished Draw Draw
        "
    ));
}

#[test]
fn an_aborted_game_ends_once_and_without_a_word() {
    // C18.
    let mut policy = quiet();
    policy.chat.enabled = true;
    let session = check_with(
        terms(policy, lichess()),
        "
        0     full white chess 180+0 : | over=*,aborted
              > finished NoResult Aborted
        10    state | over=*,aborted
        20    end * aborted
        30    tick
        ",
    );
    assert_eq!(session.next_deadline(), None);
}

#[test]
fn a_game_that_was_not_wanted_before_it_was_seen_is_aborted_when_it_is() {
    // C10: the lobby knows at once that there is no room, the first state takes a while.
    check(
        "
        0     unwanted all slots are taken
        10    full white chess 180+0 :
              > think #1 ply 0 time 1000 ms
              > note lobby.unwanted: aborts (all slots are taken)
              > cancel #1
              > send abort
        ",
    );
}

#[test]
fn a_game_with_no_abort_is_played() {
    // C17: neither abort nor resign works; no loop comes of it.
    check(
        "
        0     full white chess 180+0 noabort :
              > think #1 ply 0 time 1000 ms
        10    unwanted all slots are taken
              > note lobby.unwanted: plays all the same (all slots are taken)
        20    report #1 e2e4
              > send play e2e4 at 0
        ",
    );
    check(
        "
        0     full white chess 180+0 :
              > think #1 ply 0 time 1000 ms
        10    unwanted all slots are taken
              > note lobby.unwanted: aborts (all slots are taken)
              > cancel #1
              > send abort
        20    refused abort
              > note leave.refused: plays on (the platform keeps the game running)
              > think #2 ply 0 time 1000 ms
        30    unwanted again
              > note lobby.unwanted: plays all the same (again)
        ",
    );
}

#[test]
fn correspondence_and_games_without_a_clock_have_their_own_pace() {
    check(
        "
        0     full white chess 3d : e2e4 e7e5 | w=259200000 b=259200000
              > think #1 ply 2 time 30000 ms
        ",
    );
    check(
        "
        0     full white chess unlimited : e2e4 e7e5 | w=2147483647 b=2147483647
              > think #1 ply 2 time 5000 ms
        ",
    );
    check(
        "
        0     full white chess unlimited : e2e4 e7e5 | noclock
              > think #1 ply 2 time 5000 ms
        ",
    );
}

#[test]
fn the_measured_overhead_counts_once_it_is_larger() {
    check(
        "
        0     overhead 240
        1     full white chess 180+2 : e2e4 e7e5
              > think #1 ply 2 clock 180000+2000 ms against 180000 ms, overhead 240 ms
        ",
    );
}

#[test]
fn an_overdrawn_clock_is_zero_and_the_move_goes_out_at_once() {
    check(
        "
        0     full white chess 60+0 : e2e4 e7e5 | w=0 b=60000
              > think #1 ply 2 clock 0+0 ms against 60000 ms, overhead 100 ms
        0     tick
              > hurry #1
        20    tick
              > cancel #1
              > note move.fallback: plays without a search (the search did not answer in time)
              > send play b1a3 at 2
        ",
    );
}

#[test]
fn a_rebased_game_keeps_its_ply_and_plays_on() {
    // FICS after a resume: only the board is known.
    let base = "base=rnbqkb1r/pppp1ppp/5n2/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R[]_w_KQkq_-_2_3";
    check_with(
        terms(quiet(), fics()),
        &format!(
            "
            0     full white crazyhouse 180+0 resumed : | {base} w=100000 b=90000
                  > think #1 ply 0 clock 100000+0 ms against 90000 ms, overhead 100 ms
            10    report #1 f3e5
                  > send play f3e5 at 0
            20    state f3e5 | {base} w=99000
            30    state f3e5 d7d6 | {base} w=99000
                  > think #2 ply 2 clock 99000+0 ms against 180000 ms, overhead 100 ms
            "
        ),
    );
}

#[test]
fn arena_starts_have_a_deadline_of_their_own() {
    check(
        "
        0     full white chess 180+0 arena : | within=2400
              > think #1 ply 0 time 800 ms
        ",
    );
}

#[test]
fn the_session_says_when_it_wants_to_be_woken() {
    let session = check(
        "
        0     full white chess 60+0 : e2e4 e7e5 | w=2100 b=60000
              > think #1 ply 2 clock 2100+0 ms against 60000 ms, overhead 100 ms
        ",
    );
    let due = session.next_deadline().expect("a search has a deadline");
    assert_eq!(due.since_start().as_millis(), 1_600);
    assert!(session.owes_move());
}
