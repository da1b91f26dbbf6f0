#!/bin/sh
# Writes traces/*.txt anew with ns-2.35 (Debian: apt-get install ns2). See README.md.
set -e
cd "$(dirname "$0")"

for variant in Tahoe Reno Newreno Sack1; do
    name=$(echo $variant | tr A-Z a-z)
    case $variant in
    Tahoe) agent="" sink="" ;;
    Sack1) agent=/Sack1 sink=/Sack1 ;;
    *) agent=/$variant sink="" ;;
    esac
    many="12 30 31 45 60 61 62 90 91 95 120 140 141 143 144 145 180 200 201 202 203 204 205 206 207 250"
    ./trace.sh $name-no-loss "$agent" "$sink" 1000 100 3 "" "" ""
    ./trace.sh $name-one-loss "$agent" "$sink" 1000 80 6 "20" "" ""
    ./trace.sh $name-two-losses "$agent" "$sink" 1000 80 6 "20 22" "" ""
    ./trace.sh $name-three-losses "$agent" "$sink" 1000 80 8 "20 23 27" "" ""
    ./trace.sh $name-burst-loss "$agent" "$sink" 1000 80 12 "20 21 22 23 24 25 26" "" ""
    ./trace.sh $name-lost-retransmission "$agent" "$sink" 1000 80 12 "20 43" "" ""
    ./trace.sh $name-twice-timed-out "$agent" "$sink" 1000 60 20 "20 43 44 55" "" ""
    ./trace.sh $name-last-lost "$agent" "$sink" 1000 30 6 "30" "" ""
    ./trace.sh $name-first-lost "$agent" "$sink" 1000 30 6 "1" "" ""
    ./trace.sh $name-syn-lost "$agent" "$sink" 1000 20 8 "0" "" ""
    ./trace.sh $name-acks-lost "$agent" "$sink" 1000 80 6 "" "4 10 11 12 13 20 21 22 23 24 25 26 27 28 29" ""
    ./trace.sh $name-delayed-acks "$agent" "$sink/DelAck" 1000 80 6 "20 22" "" ""
    ./trace.sh $name-receiver-window "$agent" "$sink" 8 80 6 "30" "" ""
    ./trace.sh $name-many-losses "$agent" "$sink" 20 400 30 "$many" "" ""
    ./trace.sh $name-marks "$agent" "$sink" 1000 120 6 "" "" "20 21 50 90"
    ./trace.sh $name-marks-and-losses "$agent" "$sink" 20 120 12 "33 70" "" "1 2 20 30 60 61 62 63 64 65 66 67 68 69"
done

ns cubic.tcl 30 "1000 30000" | grep -v ^cmd >cubic.txt
