#!/usr/bin/env python3
"""Counts solved test positions, engines side by side.

usage: tactics.py FILE (--nodes N | --movetime MS [--within MS,MS]) [--prefix ID] ENGINE [ENGINE ...]

FILE has one position a line: FEN ; variant V ; bm MOVES | am MOVES ; dm N ; id NAME ; ... Moves are UCI. A position with a
mate length, or whose name begins with the prefix given by --mates, is solved when the engine reports any forced mate for the
side to move; others when the move is among bm (or not among am). ENGINE is a command line that speaks UCI. An engine that has
reported its mate is stopped, so that with --within one run tells how many mates were found within several shorter times.
"""

import argparse
import time

from uci_process import UciProcess


def read_positions(path, prefix):
    for line in open(path):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        fields = [field.strip() for field in line.split(" ; ")]
        entry = {"fen": fields[0]}
        for field in fields[1:]:
            key, _, value = field.partition(" ")
            entry.setdefault(key, value)
        if "variant" not in entry or not entry.get("id", "").startswith(prefix):
            continue
        yield entry


class Engine(UciProcess):
    def find_mate(self, entry, go):
        """Seconds until a forced mate for the side to move was reported, or None."""
        self.set_up(entry["variant"], entry["fen"])
        begun = time.monotonic()
        self.send(go)
        found = None
        for line in self.lines_until("bestmove"):
            words = line.split()
            if found is None and "score" in words and "pv" in words and not {"lowerbound", "upperbound"} & set(words):
                kind, value = words[words.index("score") + 1 :][:2]
                if kind == "mate" and int(value) > 0:
                    found = time.monotonic() - begun
                    self.send("stop")
        return found

    def solve(self, entry, go):
        self.set_up(entry["variant"], entry["fen"])
        self.send(go)
        lines = self.wait("bestmove")
        best = lines[-1].split()[1]
        scores = [line.split(" score ")[1].split()[:2] for line in lines if " score " in line]
        return best, bool(scores) and scores[-1][0] == "mate" and int(scores[-1][1]) > 0


def is_solved(entry, best, mate, mates):
    if "am" in entry:
        return best not in entry["am"].split()
    if mate and ("dm" in entry or entry.get("id", "").startswith(mates)):
        return True
    if "dm" in entry or entry.get("id", "").startswith(mates):
        return False
    return best in entry.get("bm", "").split()


def milliseconds(text):
    return [int(part) for part in text.split(",")]


def count_mates(engine, positions, go, args):
    positions = [entry for entry in positions if "dm" in entry or entry.get("id", "").startswith(args.mates)]
    found = [engine.find_mate(entry, go) for entry in positions]
    if args.show:
        missed = [entry.get("id") for entry, seconds in zip(positions, found) if seconds is None]
        print("  not solved: " + " ".join(map(str, missed)))
    for limit in args.within:
        solved = sum(seconds is not None and 1000 * seconds <= limit for seconds in found)
        print(f"{engine.command}: {solved} of {len(positions)} mates within {limit} ms ({go})", flush=True)
    engine.send("quit")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file")
    parser.add_argument("--nodes", type=int)
    parser.add_argument("--movetime", type=int)
    parser.add_argument("--within", type=milliseconds, default=[], metavar="MS,MS", help="counts mates only")
    parser.add_argument("--prefix", default="")
    parser.add_argument("--mates", default="zhpuz")
    parser.add_argument("--show", action="store_true", help="name the positions that were not solved")
    parser.add_argument("engine", nargs="+")
    args = parser.parse_args()
    go = f"go nodes {args.nodes}" if args.nodes else f"go movetime {args.movetime or 1000}"
    positions = [
        entry
        for entry in read_positions(args.file, args.prefix)
        if "bm" in entry or "am" in entry or entry.get("id", "").startswith(args.mates)
    ]
    for command in args.engine:
        engine = Engine(command)
        if args.within:
            count_mates(engine, positions, go, args)
            continue
        solved = 0
        for entry in positions:
            best, mate = engine.solve(entry, go)
            good = is_solved(entry, best, mate, args.mates)
            solved += good
            if args.show and not good:
                print(f"  not solved: {entry.get('id')} {entry['variant']} played {best}")
        engine.send("quit")
        print(f"{command}: {solved} of {len(positions)} solved ({go})")


if __name__ == "__main__":
    main()
