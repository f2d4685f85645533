#!/usr/bin/env python3
"""Nodes a second of engines on the same positions, one thread, in turn.

usage: nps.py [--nodes N] [--rounds N] ENGINE ENGINE [...]

Time is the processor time of the engine's process, so that other load on the machine matters little; rounds are interleaved
and the median is taken. The last column is the first engine's speed by each other one's.
"""

import argparse
import os
import statistics

from uci_process import UciProcess

POSITIONS = [
    ("crazyhouse", "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR[] w KQkq - 0 1"),
    ("crazyhouse", "r1bqk2r/pppp1ppp/2n2n2/2b1p3/2B1P3/2NP1N2/PPP2PPP/R1BQK2R[] b KQkq - 0 5"),
    ("crazyhouse", "r4rk1/p1p2ppp/8/3Np3/4P3/8/PPP2PPP/R2QK2R[BBNPPqbbnp] w KQ - 0 15"),
    ("capablanca", "rnabqkbcnr/pppppppppp/10/10/10/10/PPPPPPPPPP/RNABQKBCNR w KQkq - 0 1"),
    ("capablanca", "r1b1qkbc1r/pp3pp1pp/2n1p3n1/a2p1p4/3P2P3/2N1C1N1B1/PPP1PP1PPP/R1A1QK1B1R w - - 0 12"),
    ("capahouse", "rnabqkbcnr/pppppppppp/10/10/10/10/PPPPPPPPPP/RNABQKBCNR[] w KQkq - 0 1"),
    ("capahouse", "r1b1qkbc1r/pp3pp1pp/4p3n1/a2p1p4/3P2P3/4C1N1B1/PPP1PP1PPP/R1A1QK1B1R[Nn] w - - 0 12"),
]


class Engine(UciProcess):
    def seconds(self):
        fields = open(f"/proc/{self.process.pid}/stat").read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def speed(self, variant, fen, nodes):
        self.set_up(variant, fen)
        before = self.seconds()
        self.send(f"go nodes {nodes}")
        searched = 0
        for line in self.lines_until("bestmove"):
            words = line.split()
            if "nodes" in words:
                searched = int(words[words.index("nodes") + 1])
        return searched / max(self.seconds() - before, 0.01)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("engine", nargs="+")
    args = parser.parse_args()
    engines = [Engine(command) for command in args.engine]
    for variant, fen in POSITIONS:
        speeds = [[] for _ in engines]
        for _ in range(args.rounds):
            for engine, list_ in zip(engines, speeds):
                list_.append(engine.speed(variant, fen, args.nodes))
        medians = [statistics.median(list_) for list_ in speeds]
        ratios = " ".join(f"{medians[0] / other:.2f}" for other in medians[1:])
        figures = " ".join(f"{median / 1000:7.0f}" for median in medians)
        print(f"{variant:<11} {figures} knps   ratio {ratios}   {fen}", flush=True)
    for engine in engines:
        engine.send("quit")


if __name__ == "__main__":
    main()
