#!/bin/sh
# The way from nothing to a net at work, at a scale of some seconds: games, training, resumption, a match.
# Usage: tests/train_small.sh [path of a seneschal built with --features train]
set -eu

seneschal=${1:-target/release/seneschal}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# The error must have fallen from the first epoch to the last: that of the positions held back (7th word of the line), or,
# where so few positions say nothing about others, that of those learnt from (4th word).
must_have_learnt() {
    awk -v word="$1" '/^epoch/ { gsub(",", ""); last = $word; if (!first) first = $word }
         END { if (!(last < first)) { print "the net did not learn: " first " " last; exit 1 } }' "$folder/log"
}

for variant in crazyhouse capablanca; do
    games="$folder/$variant.sns"
    net="$folder/$variant.net"
    # Broken off and taken up again: the second run adds what is missing.
    "$seneschal" datagen --variant "$variant" --out "$games" --games 60 --nodes 100 --seed 1 --eval-file '<none>'
    "$seneschal" datagen --variant "$variant" --out "$games" --games 120 --nodes 100 --seed 1 --eval-file '<none>'
    train() {
        "$seneschal" train --data "$games" --variant "$variant" --hidden 32 --batch 256 --rate 0.003 \
            --held-back 10 --seed 1 "$@"
    }
    train --epochs 12 --out "$net" --checkpoint "$folder/$variant.run" | tee "$folder/log"
    must_have_learnt 7
    # A finished run is only read; the net is the same, and so it is with two threads from the beginning.
    train --epochs 12 --out "$net.again" --checkpoint "$folder/$variant.run"
    cmp "$net" "$net.again"
    train --epochs 12 --out "$net.two" --threads 2
    cmp "$net" "$net.two"
    # So does a correction of the hand-written evaluation.
    train --epochs 12 --correction --out "$net.correction" | tee "$folder/log"
    must_have_learnt 4
    "$seneschal" match --variant "$variant" --games 2 --nodes 200 --judge-nodes 200 \
        --first "self name=corrected option.EvalFile=$net.correction" --second "self name=hand option.EvalFile=<none>"
    # The net plays: legal games to their ends.
    "$seneschal" match --variant "$variant" --games 4 --nodes 200 --judge-nodes 200 \
        --first "self name=net option.EvalFile=$net" --second "self name=hand option.EvalFile=<none>"
done
echo "train_small: all well"
