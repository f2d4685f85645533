#!/usr/bin/env bash
# Speed of move generation beside Fairy-Stockfish, the two taking turns on each position.
#
#   benches/perft_fairy.sh [ROUNDS]
#
# FAIRY names its binary (default: fairy-stockfish of the PATH or of /usr/games, Debian's package, which is built for large
# boards), SENESCHAL ours (default: target/release/seneschal). Both are started anew for each count and measured by their
# user time, so depths are chosen large enough for the start not to matter. Prints the best round of each.
set -euo pipefail

rounds=${1:-3}
ours=${SENESCHAL:-target/release/seneschal}
fairy=${FAIRY:-$(command -v fairy-stockfish || echo /usr/games/fairy-stockfish)}
[ -x "$ours" ] || { echo "no binary at $ours: cargo build --release" >&2; exit 1; }
[ -x "$fairy" ] || { echo "no Fairy-Stockfish at $fairy: set FAIRY, or install Debian's fairy-stockfish" >&2; exit 1; }

TIMEFORMAT=%U

# Runs a command, prints the last number of its output as the leaves and its user time.
measure() {
    local time_file out
    time_file=$(mktemp)
    out=$( { time "$@" 2>/dev/null; } 2>"$time_file")
    grep -oE '^[0-9]+ nodes|Nodes searched: *[0-9]+' <<<"$out" | grep -oE '[0-9]+' | tail -1
    tail -1 "$time_file"
    rm -f "$time_file"
}

count_ours() { "$ours" perft --variant "$1" --fen "$2" "$3"; }

count_fairy() {
    printf 'setoption name UCI_Variant value %s\nposition fen %s\ngo perft %s\nquit\n' "$1" "$2" "$3" | "$fairy"
}

printf '%-22s%14s%10s%10s%8s\n' position leaves ours fairy ratio
while IFS='|' read -r name variant fen depth; do
    [ -n "$name" ] || continue
    best_ours='' best_fairy='' leaves=''
    for _ in $(seq "$rounds"); do
        mapfile -t a < <(measure count_ours "$variant" "$fen" "$depth")
        mapfile -t b < <(measure count_fairy "$variant" "$fen" "$depth")
        if [ "${a[0]}" != "${b[0]}" ]; then
            echo "$name: ours counts ${a[0]}, fairy-stockfish ${b[0]}" >&2
            exit 1
        fi
        leaves=${a[0]}
        best_ours=$(printf '%s\n' ${best_ours:+"$best_ours"} "${a[1]}" | sort -g | head -1)
        best_fairy=$(printf '%s\n' ${best_fairy:+"$best_fairy"} "${b[1]}" | sort -g | head -1)
    done
    awk -v name="$name" -v leaves="$leaves" -v a="$best_ours" -v b="$best_fairy" 'BEGIN {
        if (a < 0.001) a = 0.001
        if (b < 0.001) b = 0.001
        printf "%-22s%14d%10.1f%10.1f%8.1f\n", name, leaves, leaves / 1e6 / a, leaves / 1e6 / b, b / a
    }'
done <<'POSITIONS'
crazyhouse-start|crazyhouse|rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR[] w KQkq - 0 1|6
crazyhouse-pockets|crazyhouse|r4rk1/p1p2ppp/8/3Np3/4P3/8/PPP2PPP/R2QK2R[BBNPPqbbnp] w KQ - 0 15|4
chess-start|chess|rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1|6
chess-kiwipete|chess|r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1|5
antichess-start|antichess|rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w - - 0 1|6
3check-start|3check|rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 3+3 0 1|5
capablanca-start|capablanca|rnabqkbcnr/pppppppppp/10/10/10/10/PPPPPPPPPP/RNABQKBCNR w KQkq - 0 1|5
capablanca-middle|capablanca|r1b1qkbc1r/pp3pp1pp/2n1p3n1/a2p1p4/3P2P3/2N1C1N1B1/PPP1PP1PPP/R1A1QK1B1R w - - 0 12|5
capahouse-start|capahouse|rnabqkbcnr/pppppppppp/10/10/10/10/PPPPPPPPPP/RNABQKBCNR[] w KQkq - 0 1|5
capahouse-middle|capahouse|r1b1qkbc1r/pp3pp1pp/4p3n1/a2p1p4/3P2P3/4C1N1B1/PPP1PP1PPP/R1A1QK1B1R[Nn] w - - 0 12|4
POSITIONS
echo "million leaves per second of user time, best of $rounds rounds; ratio = ours / theirs"
