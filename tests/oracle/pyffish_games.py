#!/usr/bin/env python3
"""Plays random games with pyffish and asks the seneschal binary about every position on the way.

Compared are the legal moves and the text of every position, how every game ends, and in some positions check, the
notation of a few moves, and whether anybody can still win. Everything must agree; where pyffish is known to write
something else on purpose, the comparison says so.

    python3 -m venv target/oracle && target/oracle/bin/pip install pyffish
    target/oracle/bin/python tests/oracle/pyffish_games.py --binary target/release/seneschal --games 300

pyffish takes some three milliseconds a call, so 300 games of every variant keep one core busy for an hour; the variants
can be run apart with --variants.
"""

import argparse
import json
import random
import subprocess
import sys

import pyffish

VARIANTS = [
    "chess", "chess960", "crazyhouse", "crazyhouse960", "capablanca", "capablanca960", "capahouse", "capahouse960",
    "3check", "kingofthehill", "antichess", "suicide", "losers", "atomic", "atomic960", "horde", "racingkings", "embassy",
    "gothic", "schoolbook", "conservative", "victorian",
]
# Arrays on ten files that are a variant of their own there, and Capablanca's with another array here.
SISTERS = {"embassy": "capablanca", "gothic": "capablanca"}
# Arrays that are Capablanca's with another start for both.
ARRAYS = {"schoolbook": "rqnbakbncr", "conservative": "arnbqkbnrc", "victorian": "crnbakbnrq"}


def shuffled_start(name, rng):
    """A start of a "960" variant: bishops on both square colors, the king between the rooks, mirrored."""
    base = name.removesuffix("960")
    wide = base in ("capablanca", "capahouse")
    pieces = list("rnabqkbcnr" if wide else "rnbqkbnr")
    while True:
        rng.shuffle(pieces)
        bishops = [i for i, p in enumerate(pieces) if p == "b"]
        rooks = [i for i, p in enumerate(pieces) if p == "r"]
        if (bishops[0] + bishops[1]) % 2 and rooks[0] < pieces.index("k") < rooks[1]:
            break
    rank = "".join(pieces)
    width = len(rank)
    rights = "".join(chr(ord("A") + f) for f in reversed(rooks))
    pocket = "[]" if base in ("crazyhouse", "capahouse") else ""
    checks = " 3+3" if base == "3check" else ""
    return (f"{rank}/{'p' * width}/{width}/{width}/{width}/{width}/{'P' * width}/{rank.upper()}{pocket} w "
            f"{rights}{rights.lower()} -{checks} 0 1")


class Seneschal:
    """The binary in its line mode: a question a line, an answer a line."""

    def __init__(self, binary):
        self.process = subprocess.Popen(
            [binary, "position", "--batch", "--adjudication", "pychess"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def ask(self, variant, fen, moves=""):
        self.process.stdin.write(f"{variant}\t{fen}\t{moves}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"the binary died over {variant} {fen} {moves}")
        return json.loads(answer)

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=10)


def without_en_passant(fen):
    fields = fen.split(" ")
    fields[3] = "-"
    return " ".join(fields)


def same_fen(ours, theirs):
    """pyffish names the en-passant square if a pawn stands beside it, we only if the capture is legal."""
    return ours == theirs or (ours.split(" ")[3] == "-" and without_en_passant(theirs) == ours)


def strip_marks(san):
    return san.rstrip("+#")


def compare(base, chess960, fen, answer, rng, thorough, report):
    """Compares one position; returns the legal moves. The moves are always compared, the rest if `thorough`."""
    legal = sorted(pyffish.legal_moves(base, fen, [], chess960))
    if answer.get("error"):
        report("refused", answer["error"])
        return legal
    if sorted(answer["legal"]) != legal:
        ours, theirs = set(answer["legal"]), set(legal)
        report("moves", f"only ours {sorted(ours - theirs)}, only theirs {sorted(theirs - ours)}")
    if legal and not thorough:
        return legal
    if base not in ("antichess", "suicide"):
        check = pyffish.gives_check(base, fen, [], chess960)
        # A game that a rule of the variant has ended may end in check; neither side asks any more.
        if legal and check != answer["in_check"]:
            report("check", f"ours {answer['in_check']}, theirs {check}")
    for uci in rng.sample(legal, min(3, len(legal))):
        ours, theirs = answer["san"].get(uci), pyffish.get_san(base, fen, uci, chess960)
        if ours is None or strip_marks(ours) != strip_marks(theirs):
            report("notation", f"{uci}: ours {ours}, theirs {theirs}")
        elif ours[-1] != "#" and ours != theirs and base != "atomic":
            # Moves that win by a rule of the variant have no # there, and no check has a mark in atomic.
            report("notation", f"{uci}: ours {ours}, theirs {theirs}")
    if not legal:
        value = pyffish.game_result(base, fen, [], chess960)
        white = value if fen.split(" ")[1] == "w" else -value
        theirs = "1/2-1/2" if value == 0 else ("1-0" if white > 0 else "0-1")
        ours = (answer["outcome"] or {}).get("result")
        if ours != theirs:
            report("result", f"ours {answer['outcome']}, theirs {theirs}")
    else:
        over, value = pyffish.is_immediate_game_end(base, fen, [], chess960)
        material = all(pyffish.has_insufficient_material(base, fen, [], chess960))
        reason = (answer["outcome"] or {}).get("reason")
        if over:
            report("result", f"ours {answer['outcome']}, theirs ended with {value}")
        if material != (reason == "insufficient"):
            report("material", f"ours {answer['outcome']}, theirs {material}")
    return legal


def play(seneschal, name, rng, options, differences):
    chess960 = name.endswith("960")
    base = "capablanca" if name in ARRAYS else name.removesuffix("960")
    ours = SISTERS.get(base, base) + ("960" if chess960 else "")
    if chess960:
        fen = shuffled_start(name, rng)
    elif name in ARRAYS:
        rank = ARRAYS[name]
        fen = f"{rank}/{'p' * 10}/10/10/10/10/{'P' * 10}/{rank.upper()} w KQkq - 0 1"
    else:
        fen = pyffish.start_fen(base)
    answer = seneschal.ask(ours, fen)
    for ply in range(options.plies):
        def report(kind, text):
            differences.append(f"{name} {kind} in {fen}: {text}")

        thorough = rng.randrange(options.every) == 0
        legal = compare(base, chess960, fen, answer, rng, thorough, report)
        if not legal:
            return ply
        move = rng.choice(legal)
        after = pyffish.get_fen(base, fen, [move], chess960)
        answer = seneschal.ask(ours, fen, move)
        if "fen" not in answer or not same_fen(answer["fen"], after):
            differences.append(f"{name} position after {move} in {fen}: ours {answer}, theirs {after}")
            return ply
        fen = after
    return options.plies


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", default="target/release/seneschal")
    parser.add_argument("--games", type=int, default=5, help="games per variant")
    parser.add_argument("--plies", type=int, default=160, help="longest game")
    parser.add_argument("--every", type=int, default=6,
                        help="compare check, notation and material in one of so many positions; moves always")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--variants", nargs="*", default=VARIANTS)
    options = parser.parse_args()
    seneschal = Seneschal(options.binary)
    failed = 0
    for name in options.variants:
        rng = random.Random(f"{options.seed} {name}")
        differences = []
        plies = sum(play(seneschal, name, rng, options, differences) for _ in range(options.games))
        for text in differences[:10]:
            print("DIFFERENCE", text)
        failed += bool(differences)
        print(f"{name}: {options.games} games, {plies} half-moves, {len(differences)} differences", flush=True)
    seneschal.close()
    print(f"{len(options.variants) - failed} variants agree, {failed} differ")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
