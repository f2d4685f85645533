"""The house's page in a real browser: guests play the bot and each other, with mouse, touch and keyboard.

    python3 tests/browser/page.py --seneschal target/release/seneschal [--shots DIR] [NAME...]

Needs `chromium`; without it nothing is tested, and that is said, unless `--must` makes it a failure.
Ends with a line `N passed, N failed`.
"""

import argparse
import json
import os
import sys
import time
import traceback

from driver import Chromium, Demo, House, ScriptedBot, find_chromium


class Stage:
    def __init__(self, house, bot, browser, shots):
        self.house, self.bot, self.browser, self.shots = house, bot, browser, shots
        self.pages = []

    def page(self, path="/", **options):
        page = self.browser.page(self.house.url + path, **options)
        self.pages.append(page)
        return page

    def shot(self, page, name):
        if self.shots:
            page.shot(os.path.join(self.shots, f"{name}.png"))

    def challenge_bot(self, page, variant, color="white"):
        page.until("[...document.querySelector('#with').options].some((o) => o.value === 'user:House_Bot')")
        assert page.js("document.querySelector('#with').value") == "user:House_Bot", "the form is ready for the bot"
        page.choose("#variant", variant)
        page.choose("#challenge [name=color]", color)
        page.click("#challenge button.main")
        page.until("document.querySelector('#game')?.dataset.ply === '0'", "the game begins")


def crazyhouse_with_a_drop_to_mate(stage):
    stage.bot.replies = ["f7f5", "a7a6", "g7g5"]
    page = stage.page()
    stage.shot(page, "lobby")
    stage.challenge_bot(page, "crazyhouse")
    page.tap("e2", "e4")
    page.plies(2)
    page.click_at(page.place("e4"))
    page.until("document.querySelectorAll('#board .ring').length === 1", "the capture is marked")
    page.until("document.querySelectorAll('#board .dot').length === 1", "the quiet move is marked")
    stage.shot(page, "legal-moves")
    page.click_at(page.place("f5"))
    page.plies(4)
    page.click_at(page.place("P@"))
    page.until("document.querySelectorAll('#board .dot').length > 20", "drop squares are marked")
    stage.shot(page, "drop-squares")
    page.click_at(page.place("P@"))
    page.drag("P@", "e6")
    page.plies(6)
    assert page.text("[data-ply='4']") == "P@e6"
    page.type_move("Qh5")
    page.until("document.getElementById('end').textContent.includes('Checkmate: White wins')")
    page.until("document.getElementById('said').textContent.includes('Checkmate')", "it is said aloud")
    stage.shot(page, "crazyhouse-mate")
    assert page.js("document.querySelectorAll('#board .check').length") == 1


def capablanca_with_castling_and_an_archbishop(stage):
    shuffle = ["i8j6", "j6i8"]
    stage.bot.replies = (shuffle * 6)[:10]
    page = stage.page()
    stage.challenge_bot(page, "capablanca")
    for ply, (start, end) in enumerate([("h2", "h4"), ("g1", "h2"), ("h1", "g3"), ("i1", "j3")]):
        page.drag(start, end)
        page.plies(2 * ply + 2)
    page.drag("f1", "i1")
    page.plies(10)
    assert page.text("[data-ply='8']") == "O-O", page.text("[data-ply='8']")
    stage.shot(page, "capablanca-castled")
    for ply, (start, end) in enumerate([("a2", "a4"), ("a4", "a5"), ("a5", "a6"), ("a6", "b7")]):
        page.tap(start, end)
        page.plies(2 * ply + 12)
    page.tap("b7", "a8")
    page.until("document.querySelectorAll('#promotion button[data-role]').length === 6", "six roles")
    assert page.js("document.querySelectorAll('#promotion button').length") == 7, "and a way back"
    stage.shot(page, "capablanca-promotion")
    page.click("#promotion button[data-role='a']")
    page.plies(20)
    assert page.text("[data-ply='18']").startswith("bxa8=A"), page.text("[data-ply='18']")
    page.until("document.querySelector('#board use[data-s=a8]')?.getAttribute('href') === '#p-wa'", "an archbishop stands on a8")
    page.tap("a8", "c7")
    page.until("document.getElementById('end').textContent.includes('Black has resigned')")
    stage.shot(page, "capablanca-end")


def two_guests_by_link_with_chat_and_reload(stage):
    white = stage.page()
    white.choose("#with", "link")
    white.choose("#variant", "crazyhouse960")
    white.choose("#challenge [name=color]", "white")
    white.click("#challenge button.main")
    white.until("document.querySelector('.waiting .address')", "the address to send")
    stage.shot(white, "link-waiting")
    link = white.js("location.pathname")
    black = stage.page(link)
    black.until("!document.getElementById('waiting').hidden")
    stage.shot(black, "link-invitation")
    black.press_button("Play")
    for page in (white, black):
        page.plies(0)
    # The page was open before its reader had a name: it is told anew who he is.
    black.until("document.querySelector('#board svg')?.dataset.flipped === 'true'", "Black sits below")
    white.tap("e2", "e4")
    black.plies(1)
    black.drag("e7", "e5")
    white.plies(2)
    white.js("document.querySelector('#line').value = '<b>hello</b>'; document.getElementById('say').requestSubmit()")
    black.until("document.getElementById('chat').textContent.includes('<b>hello</b>')", "chat is text")
    assert black.js("document.querySelectorAll('#chat b').length") == 0
    black.reload()
    black.plies(2)
    assert black.js("document.getElementById('game').dataset.side") == "black", "the same side after a reload"
    white.tap("d2", "d4")
    black.plies(3)
    black.press_button("Take back")
    white.press_button("Allow")
    white.plies(1)
    black.drag("d7", "d5")
    white.tap("e4", "d5")
    black.plies(3)
    watcher = stage.page(link)
    watcher.plies(3)
    assert watcher.js("document.getElementById('game').dataset.side") == ""
    assert watcher.js("document.getElementById('typed').hidden") is True
    stage.shot(watcher, "link-watched")
    black.press_button("Offer a draw")
    white.press_button("Accept")
    for page in (white, black, watcher):
        page.until("document.getElementById('end').textContent.includes('Draw by agreement')")
    white.press_button("Rematch")
    black.press_button("Accept the rematch")
    for page, side in ((white, "black"), (black, "white")):
        page.until(f"location.pathname !== {link!r} && document.getElementById('game')?.dataset.side === '{side}'", "rematch")


def a_premove_is_played_at_once(stage):
    stage.bot.replies = ["e7e5", "b8c6", "a7a6"]
    stage.bot.delay_s = 1.5
    try:
        page = stage.page()
        stage.challenge_bot(page, "standard")
        page.tap("e2", "e4")
        page.plies(1)
        page.tap("g1", "f3")
        page.until("document.querySelectorAll('#board .premove').length === 2", "the premove is marked")
        stage.shot(page, "premove")
        page.plies(3)
        assert page.text("[data-ply='2']") == "Nf3"
        # One that has become impossible is forgotten, and one can be taken back.
        page.tap("f3", "e5")
        page.until("document.querySelectorAll('#board .premove').length === 2")
        page.js("document.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape' }))")
        page.until("document.querySelectorAll('#board .premove').length === 0")
        page.plies(4)
        page.type_move("Bb5")
        page.plies(5)
    finally:
        stage.bot.delay_s = 0


def a_phone_plays_by_touch(stage):
    stage.bot.replies = ["e7e5", "d7d5", "e5d4", "a7a6"]
    page = stage.page(width=390, height=844, touch=True, scale=2)
    stage.shot(page, "phone-lobby")
    stage.challenge_bot(page, "capahouse")
    wide = page.js("document.documentElement.scrollWidth")
    assert wide <= 390, f"the page is {wide} wide"
    page.tap("e2", "e4")
    page.plies(2)
    stage.shot(page, "phone-game")
    page.type_move("d2d4")
    page.plies(4)
    page.tap("e4", "d5")
    page.plies(6)
    page.click_at(page.place("P@"))
    page.until("document.querySelectorAll('#board .dot').length > 20", "drop squares by touch")
    stage.shot(page, "phone-drop-squares")
    page.click_at(page.place("P@"))
    page.until("document.querySelectorAll('#board .dot').length === 0", "a second touch lets go")
    page.click_at(page.place("P@"))
    page.click_at(page.place("d6"))
    page.plies(8)
    assert page.text("[data-ply='6']") == "P@d6", page.text("[data-ply='6']")
    wide = page.js("document.documentElement.scrollWidth")
    assert wide <= 390, f"the page is {wide} wide"


def two_at_one_device_and_every_variant_has_its_rules(stage):
    page = stage.page()
    page.choose("#with", "device")
    page.choose("#variant", "atomic")
    page.choose("#challenge [name=minutes]", "")
    page.click("#challenge button.main")
    page.plies(0)
    assert "explodes" in page.text(".rules[open] p")
    page.tap("e2", "e4")
    page.plies(1)
    page.tap("e7", "e5")
    page.plies(2)
    page.press_button("Take back")
    page.plies(1)
    page.type_move("d5")
    page.plies(2)
    page.type_move("exd5")
    page.plies(3)
    stage.shot(page, "device-atomic")
    page.press_button("Draw agreed")
    page.until("document.getElementById('end').textContent.includes('Draw by agreement')")


def analyse(page):
    page.press_button("Analyse the game")
    page.until("document.getElementById('review').dataset.state === 'done'", "the analysis")


def after_the_game_it_can_be_looked_at_again(stage):
    # White takes a pawn and loses the queen for it.
    stage.bot.replies = ["e7e5", "b8c6", "h8h7"]
    page = stage.page()
    stage.challenge_bot(page, "crazyhouse")
    for ply, move in enumerate(["e4", "Qh5", "Qxh7"]):
        page.type_move(move)
        page.plies(2 * ply + 2)
    # Earlier positions while the game goes on: the board is not to be moved, and comes back.
    page.js("document.activeElement.blur()")
    page.key("ArrowLeft")
    page.until("document.getElementById('game').dataset.shown === '5'", "one move back")
    page.until("document.querySelector('#board use[data-s=h7]')?.getAttribute('href') === '#p-wq'", "the queen is still there")
    assert page.js("document.getElementById('now').hidden") is False
    page.tap("e4", "e5")
    assert page.js("document.querySelectorAll('#board .premove').length") == 0, "nothing moves in the past"
    stage.shot(page, "earlier-position")
    page.press_button("Back to the game")
    page.until("document.querySelector('#board use[data-s=h7]')?.getAttribute('href') === '#p-br'")
    page.confirm_next()
    page.press_button("Resign")
    page.until("document.getElementById('end').textContent.includes('White has resigned')")
    analyse(page)
    stage.shot(page, "after-game")
    assert page.js("document.querySelectorAll('#review .graph-mark.blunder').length") >= 1, "the blunder is in the graph"
    assert page.text("[data-ply='4'] .glyph") == "??", page.text("[data-ply='4']")
    page.click("[data-ply='3']")
    page.until("document.getElementById('game').dataset.shown === '4'")
    page.until("document.querySelectorAll('#board .arrow').length === 3", "the line as arrows")
    stage.shot(page, "after-game-arrows")
    page.key("ArrowRight")
    page.until("document.querySelector('.verdict').textContent.includes('blunder')", "the blunder in words")
    page.until("document.getElementById('said').textContent.includes('blunder')", "and aloud")
    assert "Better was" in page.text(".verdict"), page.text(".verdict")
    stage.shot(page, "after-game-blunder")
    page.key("Home")
    page.until("document.getElementById('game').dataset.shown === '0'")
    assert "White: king e1" in page.text("#words")
    page.key("End")
    page.until("document.getElementById('game').dataset.shown === '6'")
    pgn = page.js(f"fetch('/game/export/' + document.getElementById('game').dataset.id).then((r) => r.text())")
    assert "[%eval" in pgn and "$4" in pgn, pgn
    # The link stays, for somebody else and on a phone.
    other = stage.page(page.js("location.pathname"), width=390, height=844, touch=True, scale=2)
    other.until("document.getElementById('review').dataset.state === 'done'", "the same analysis")
    other.click("[data-ply='4']")
    other.until("document.getElementById('game').dataset.shown === '5'")
    wide = other.js("document.documentElement.scrollWidth")
    assert wide <= 390, f"the page is {wide} wide"
    other.js("document.getElementById('review').scrollIntoView()")
    stage.shot(other, "after-game-phone")
    page.go(stage.house.url + "/games?variant=crazyhouse&result=black")
    page.until("document.querySelector('table.list tbody tr')", "the archive")
    stage.shot(page, "archive")


def who_loses_the_connection_comes_back_to_the_game(stage):
    white = stage.page()
    white.choose("#with", "link")
    white.choose("#variant", "standard")
    white.choose("#challenge [name=color]", "white")
    white.click("#challenge button.main")
    white.until("document.querySelector('.waiting .address')", "the address to send")
    black = stage.page(white.js("location.pathname"))
    black.press_button("Play")
    for page in (white, black):
        page.plies(0)
    white.tap("e2", "e4")
    black.plies(1)
    black.offline(True)
    white.until("document.querySelector('#top .away')", "White sees that nobody is there")
    black.until("document.getElementById('net').textContent !== ''", "it is said that the connection is lost")
    stage.shot(black, "connection-lost")
    black.tap("e7", "e5")
    black.until("document.getElementById('problem').textContent.includes('cannot be reached')")
    black.offline(False)
    black.until("document.getElementById('net').textContent === ''", "the connection is back")
    white.until("document.querySelector('#top .here')")
    black.tap("e7", "e5")
    white.plies(2)
    white.tap("g1", "f3")
    black.plies(3)


def endings_are_told_in_words(stage):
    def start(page, form):
        fields = {"with": "device", "variant": "fromPosition", **form}
        url = page.js(
            "import('/assets/page.js').then(async (m) => { await m.ensureName();"
            f" return (await m.post('/page/challenge', {json.dumps(fields)})).url; }})"
        )
        page.go(stage.house.url + url)
        page.plies(0)

    page = stage.page()
    cases = [
        ("stalemate", {"fen": "7k/5K2/8/6Q1/8/8/8/8 w - - 0 1"}, "Qg6", "Stalemate"),
        ("bare-kings", {"fen": "7k/8/8/8/8/8/5p2/6K1 w - - 0 1"}, "Kxf2", "Nobody can mate"),
        ("repetition", {"variant": "crazyhouse"}, "Nf3 Nf6 Ng1 Ng8 Nf3 Nf6 Ng1 Ng8", "same pieces in hand, for the third time"),
        ("mate", {"variant": "capablanca960", "fen": "k9/10/1K8/10/10/10/10/7C2 w - - 0 1"}, "Ch8", "Checkmate: White wins"),
    ]
    for name, form, moves, words in cases:
        start(page, form)
        for ply, move in enumerate(moves.split()):
            page.type_move(move)
            page.plies(ply + 1)
        page.until(f"document.getElementById('end').textContent.includes({json.dumps(words)})", f"{name}: {words}")
        page.until(f"document.getElementById('said').textContent.includes({json.dumps(words)})", f"{name} aloud")
    # The clock runs from the second move on; the shortest gives three seconds to begin with.
    short = {"clock.limit": "0", "clock.increment": "1"}
    for fen, moves, words in [
        ("k7/7p/8/8/8/8/7Q/K7 w - - 0 1", "Qh3 Kb8", "White has no time left: Black wins"),
        ("k7/8/8/8/8/8/7Q/K7 w - - 0 1", "Qh3 Kb8", "could never have mated. Draw"),
    ]:
        start(page, {"fen": fen, **short})
        for ply, move in enumerate(moves.split()):
            page.type_move(move)
            page.plies(ply + 1)
        page.until(f"document.getElementById('end').textContent.includes({json.dumps(words)})", words)
    stage.shot(page, "ending-in-words")


def the_demo_opens_with_a_ready_form_and_its_bots_play(stage):
    demo = Demo(stage.house.binary)
    try:
        assert demo.first_line.startswith("live boards: http://127.0.0.1:"), demo.first_line
        page = stage.browser.page(demo.url)
        stage.pages.append(page)
        page.until("document.querySelector('#with').value.startsWith('user:')", "a bot is chosen already")
        page.until("document.querySelectorAll('figure.game svg.board').length > 0", "boards move")
        stage.shot(page, "demo")
        page.choose("#challenge [name=color]", "black")
        page.click("#challenge button.main")
        page.until("Number(document.getElementById('game')?.dataset.ply) >= 1", "the bot has moved")
        page.until("document.querySelector('#typed') && !document.querySelector('#typed').hidden")
        reply = page.js(
            "fetch('/page/game/' + document.getElementById('game').dataset.id + '/at/1').then((r) => r.json()).then((j) => j.words)"
        )
        assert "Black to move" in reply, reply
        page.type_move("d5")
        page.plies(3)
        stage.shot(page, "demo-game")
    finally:
        report = demo.close()
    assert "0 violations" in report, report


def dark_and_light(stage):
    stage.bot.replies = ["a7a6"] * 1
    page = stage.page()
    page.call("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark"}]})
    stage.challenge_bot(page, "capahouse", color="white")
    page.tap("b2", "b4")
    page.plies(2)
    stage.shot(page, "dark")
    background = page.js("getComputedStyle(document.body).backgroundColor")
    assert background == "rgb(25, 23, 20)", background
    page.tap("c2", "c4")
    page.until("document.getElementById('end').textContent !== ''")
    page.go(stage.house.url)
    page.until("document.querySelectorAll('figure.game').length > 0")
    stage.shot(page, "dark-lobby")


TESTS = [
    crazyhouse_with_a_drop_to_mate,
    capablanca_with_castling_and_an_archbishop,
    two_guests_by_link_with_chat_and_reload,
    a_premove_is_played_at_once,
    a_phone_plays_by_touch,
    two_at_one_device_and_every_variant_has_its_rules,
    after_the_game_it_can_be_looked_at_again,
    who_loses_the_connection_comes_back_to_the_game,
    endings_are_told_in_words,
    the_demo_opens_with_a_ready_form_and_its_bots_play,
    dark_and_light,
]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seneschal", default="target/release/seneschal")
    parser.add_argument("--shots", help="directory for screenshots")
    parser.add_argument("--must", action="store_true", help="fail if there is no browser")
    parser.add_argument("names", nargs="*", help="only tests whose names contain one of these")
    arguments = parser.parse_args()
    chromium = find_chromium()
    if not chromium:
        print("skipped: there is no chromium on this machine\n0 passed, 0 failed")
        return 1 if arguments.must else 0
    if arguments.shots:
        os.makedirs(arguments.shots, exist_ok=True)
    chosen = [t for t in TESTS if not arguments.names or any(name in t.__name__ for name in arguments.names)]
    house = House(arguments.seneschal)
    bot = ScriptedBot(house)
    bot.start()
    browser = Chromium(chromium)
    passed, failed = 0, 0
    try:
        for test in chosen:
            stage = Stage(house, bot, browser, arguments.shots)
            began = time.monotonic()
            bot.failures.clear()
            try:
                test(stage)
                complaints = [c for page in stage.pages for c in page.complaints()]
                assert not complaints, complaints
                assert not bot.failures, bot.failures
                passed += 1
                print(f"ok     {test.__name__} ({time.monotonic() - began:.1f} s)", flush=True)
            except Exception:
                failed += 1
                print("FAILED", test.__name__)
                traceback.print_exc(file=sys.stdout)
                for number, page in enumerate(stage.pages):
                    stage.shot(page, f"failed-{test.__name__}-{number}")
            for page in stage.pages:
                page.close()
    finally:
        browser.close()
        report = house.close()
        print(report)
    if "; 0 violations" not in report:
        failed += 1
        print("FAILED the house reports violations")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
