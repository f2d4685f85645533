"""A client that nobody here wrote plays whole games in a house.

Needs the package `berserk` from PyPI, unmodified. The moves come from the `seneschal position` command, so that no second
chess library has to know all variants.

    python3 tests/oracle/berserk_game.py --seneschal target/debug/seneschal
        starts a house of its own with two accounts; berserk plays both sides of one game per variant
    python3 tests/oracle/berserk_game.py --url http://127.0.0.1:8080 --token hse_... --opponent Some_Bot
        berserk challenges an account that is logged in already (a daemon's), and plays one game per variant

Prints one line per game and ends with code 1 if anything is not as it should be.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import threading
import time

import berserk

DEADLINE_S = 120


class Rules:
    """Legal moves, told by `seneschal position`."""

    def __init__(self, binary):
        self.binary = binary

    def legal(self, variant, fen, moves):
        name = {"standard": "chess", "threeCheck": "3check"}.get(variant, variant.lower())
        command = [self.binary, "position", "--variant", name, "--json"]
        if fen != "startpos":
            command += ["--fen", fen]
        command += ["--moves", " ".join(moves)] if moves else []
        out = subprocess.run(command, capture_output=True, text=True, timeout=20)
        if out.returncode != 0:
            raise RuntimeError(f"{command}: {out.stderr}")
        return json.loads(out.stdout)["legal"]


class Player(threading.Thread):
    """One account: accepts what it is asked for, plays random legal moves."""

    def __init__(self, base, token, rules, games, seed, accept=True):
        super().__init__(daemon=True)
        session = berserk.TokenSession(token)
        self.client = berserk.Client(session=session, base_url=base)
        self.rules = rules
        self.random = random.Random(seed)
        self.games = games
        self.accept = accept
        self.ended = threading.Semaphore(0)
        self.results = {}
        self.failures = []
        self.account = self.client.account.get()["id"]

    def run(self):
        try:
            for event in self.client.bots.stream_incoming_events():
                kind = event["type"]
                if kind == "challenge" and self.accept:
                    challenge = event["challenge"]
                    if challenge["challenger"]["id"] != self.account:
                        self.client.bots.accept_challenge(challenge["id"])
                elif kind == "gameStart":
                    game = threading.Thread(target=self.play, args=(event["game"]["gameId"],), daemon=True)
                    game.start()
        except Exception as failure:  # a thread's failure must reach the report
            self.failures.append(f"{self.account}: events: {failure!r}")

    def play(self, game_id):
        try:
            white = variant = start = None
            for event in self.client.bots.stream_game_state(game_id):
                if event["type"] == "gameFull":
                    white = event["white"]["id"] == self.account
                    variant, start = event["variant"]["key"], event["initialFen"]
                    self.client.bots.post_message(game_id, "Good luck, have fun")
                    state = event["state"]
                elif event["type"] == "gameState":
                    state = event
                else:
                    continue
                moves = state["moves"].split()
                if state["status"] != "started":
                    self.results[game_id] = (variant, state["status"], state.get("winner"), len(moves))
                    break
                if (len(moves) % 2 == 0) == white:
                    legal = self.rules.legal(variant, start, moves)
                    if not legal:
                        # The last state is on its way.
                        continue
                    self.client.bots.make_move(game_id, self.random.choice(legal))
        except Exception as failure:
            self.failures.append(f"{self.account}: {game_id}: {failure!r}")
        finally:
            self.ended.release()


def wait_online(client, wanted):
    """The bots that are online, once the wanted one is among them."""
    for _ in range(100):
        online = [bot["id"] for bot in client.bots.get_online_bots(limit=50)]
        if wanted in online:
            return online
        time.sleep(0.1)
    raise RuntimeError(f"{wanted} is not online")


def play_all(challenger, opponent, variants, rated):
    for variant in variants:
        made = challenger.client.challenges.create(
            opponent, rated=rated, clock_limit=300, clock_increment=5, variant=variant, color="random"
        )
        assert made["variant"]["key"] == variant, made
        listed = challenger.client.challenges.get_mine()
        assert set(listed) == {"in", "out"}, listed
        if not challenger.ended.acquire(timeout=DEADLINE_S):
            challenger.failures.append(f"{variant}: no end within {DEADLINE_S} s")
            return


def own_house(binary, data):
    def account(name):
        command = [binary, "house", "account", "add", name, "--bot", "--data", data]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    tokens = account("Berserk_A"), account("Berserk_B")
    house = subprocess.Popen(
        [binary, "house", "--listen", "127.0.0.1:0", "--data", data], stdout=subprocess.PIPE, text=True
    )
    line = house.stdout.readline()
    return house, line.split(": ", 1)[1].strip(), tokens


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seneschal", default="target/debug/seneschal")
    parser.add_argument("--url")
    parser.add_argument("--token")
    parser.add_argument("--opponent")
    parser.add_argument("--variants", default="crazyhouse,capablanca,atomic")
    arguments = parser.parse_args()
    rules = Rules(arguments.seneschal)
    variants = arguments.variants.split(",")
    house = None
    with tempfile.TemporaryDirectory() as data:
        try:
            if arguments.url:
                players = [Player(arguments.url, arguments.token, rules, variants, 1, accept=False)]
                opponent = arguments.opponent
            else:
                house, url, tokens = own_house(arguments.seneschal, data)
                players = [Player(url, token, rules, variants, n) for n, token in enumerate(tokens)]
                opponent = "Berserk_B"
            for player in players:
                player.start()
            print("online:", ", ".join(wait_online(players[0].client, opponent.lower())))
            play_all(players[0], opponent, variants, rated=False)
            failures = [failure for player in players for failure in player.failures]
            for game_id, (variant, status, winner, plies) in players[0].results.items():
                pgn = players[0].client.games.export(game_id, as_pgn=True)
                complete = pgn.count("[Variant ") == 1 and "[Result " in pgn
                print(f"{game_id} {variant}: {status}, {winner or 'nobody'} wins after {plies} plies")
                if not complete:
                    failures.append(f"{game_id}: the PGN is not complete: {pgn[:200]}")
            if len(players[0].results) != len(variants):
                failures.append(f"{len(players[0].results)} of {len(variants)} games ended")
        finally:
            if house:
                house.terminate()
                report = house.stdout.read().strip()
                house.wait(timeout=20)
                print(report)
                if "; 0 violations" not in report:
                    failures.append(f"the house reports: {report}")
    for failure in failures:
        print("FAILED", failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
