"""A client that nobody here wrote plays whole games in a house.

Needs the package `berserk` from PyPI, unmodified. The moves come from the `seneschal position` command, so that no second
chess library has to know all variants.

    python3 tests/oracle/berserk_game.py --seneschal target/debug/seneschal
        starts a house of its own with two accounts; berserk plays both sides of one game per variant
    python3 tests/oracle/berserk_game.py --seneschal target/debug/seneschal --daemon
        starts a house and a daemon in it; berserk challenges the daemon to one game per variant, and then accepts a
        challenge of the daemon's
    python3 tests/oracle/berserk_game.py --url http://127.0.0.1:8080 --token hse_... --opponent Some_Bot
        berserk challenges an account that is logged in already (a daemon's), and plays one game per variant

Prints one line per game and ends with code 1 if anything is not as it should be.
"""

import argparse
import json
import os
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
        plain = variant.removesuffix("960")
        name = {"standard": "chess", "threeCheck": "3check"}.get(plain, plain.lower()) + variant[len(plain) :]
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


class Daemon:
    """`seneschal run` with one account in the house, and what it said."""

    def __init__(self, binary, directory, url, user, token, seeks):
        secret = os.path.join(directory, "token")
        with open(os.open(secret, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(token)
        config = os.path.join(directory, "seneschal.toml")
        with open(config, "w") as file:
            file.write(
                f"""
[daemon]
state_dir = {json.dumps(os.path.join(directory, "state"))}

[engine]
hash_mib = 16

[game.time]
max_move_s = 0.05
first_move_s = 0.05

[lobby]
# The next challenge comes in the moment in which the last game ends.
max_games_per_opponent = 4

[matchmaking]
enabled = {json.dumps(seeks)}
interval_s = 600
list_age_s = 10
rematch_after_s = 0

[[matchmaking.offers]]
variant = "crazyhouse"
clock = "300+5"
rated = false

[accounts.steward]
platform = "house"
base_url = {json.dumps(url)}
user = {json.dumps(user)}
token_file = {json.dumps(secret)}
matchmaking = {json.dumps(seeks)}
"""
            )
        self.log = os.path.join(directory, "log")
        with open(self.log, "a") as log:
            self.process = subprocess.Popen([binary, "run", "--config", config], stdout=log, stderr=log)

    def end(self, failures):
        """Drains it; it must end by itself and well."""
        self.process.terminate()
        try:
            code = self.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = "none within 60 s"
        if code != 0:
            with open(self.log) as log:
                failures.append(f"the daemon ends with code {code}: {log.read()[-2000:]}")


def against_daemon(binary, data, url, tokens, rules, variants, failures):
    """One game per variant that berserk asks for, and one that the daemon asks for. Returns the player."""
    steward = "Berserk_B"
    daemon = Daemon(binary, data, url, steward, tokens[1], seeks=False)
    player = Player(url, tokens[0], rules, variants, 1, accept=True)
    try:
        player.start()
        print("online:", ", ".join(wait_online(player.client, steward.lower())))
        play_all(player, steward, variants, rated=False)
    finally:
        daemon.end(failures)
    daemon = Daemon(binary, data, url, steward, tokens[1], seeks=True)
    try:
        if not player.ended.acquire(timeout=DEADLINE_S):
            failures.append(f"no game that the daemon asked for ended within {DEADLINE_S} s")
    finally:
        daemon.end(failures)
    if len(player.results) != len(variants) + 1:
        failures.append(f"{len(player.results)} of {len(variants) + 1} games ended")
    return player


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seneschal", default="target/debug/seneschal")
    parser.add_argument("--url")
    parser.add_argument("--token")
    parser.add_argument("--opponent")
    parser.add_argument("--daemon", action="store_true", help="play a daemon in a house of its own")
    parser.add_argument("--variants", default="crazyhouse,capablanca,atomic")
    arguments = parser.parse_args()
    rules = Rules(arguments.seneschal)
    variants = arguments.variants.split(",")
    house = None
    failures = []
    with tempfile.TemporaryDirectory() as data:
        try:
            if arguments.daemon:
                house, url, tokens = own_house(arguments.seneschal, data)
                players = [against_daemon(arguments.seneschal, data, url, tokens, rules, variants, failures)]
            else:
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
                if len(players[0].results) != len(variants):
                    failures.append(f"{len(players[0].results)} of {len(variants)} games ended")
            failures += [failure for player in players for failure in player.failures]
            for game_id, (variant, status, winner, plies) in players[0].results.items():
                pgn = players[0].client.games.export(game_id, as_pgn=True)
                complete = pgn.count("[Variant ") == 1 and "[Result " in pgn
                print(f"{game_id} {variant}: {status}, {winner or 'nobody'} wins after {plies} plies")
                if not complete:
                    failures.append(f"{game_id}: the PGN is not complete: {pgn[:200]}")
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
