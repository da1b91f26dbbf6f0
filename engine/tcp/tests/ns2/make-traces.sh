#!/bin/sh
# Writes traces/*.txt anew with ns-2.35 (Debian: apt-get install ns2). See README.md.
set -e
cd "$(dirname "$0")"
mkdir -p traces
RAW=$(mktemp)
VARIABLES=$(mktemp)
export RAW VARIABLES

# case NAME VARIANT SINK WINDOW PACKETS SECONDS LOST ACKS_LOST MARKED
case_() {
    trace=traces/$1.txt
    shift
    ns case.tcl "$@" >"$trace"
    {
        awk '$1 == "+" { print $2, "send", $11 }' "$RAW"
        # The last value at each time: what stands once the ACK is dealt with.
        awk '$6 == "cwnd_" || $6 == "ssthresh_" {
                if ($1 != time && time != "") print time, "window", cwnd, ssthresh
                time = $1
                if ($6 == "cwnd_") cwnd = $7; else ssthresh = $7
            }
            END { print time, "window", cwnd, ssthresh }' "$VARIABLES"
    } | sort -s -n -k1,1 >>"$trace"
}

for variant in Tahoe Reno Newreno Sack1; do
    name=$(echo $variant | tr A-Z a-z)
    case $variant in
    Tahoe) agent="" sink="" ;;
    Sack1) agent=/Sack1 sink=/Sack1 ;;
    *) agent=/$variant sink="" ;;
    esac
    many="12 30 31 45 60 61 62 90 91 95 120 140 141 143 144 145 180 200 201 202 203 204 205 206 207 250"
    case_ $name-no-loss "$agent" "$sink" 1000 100 3 "" "" ""
    case_ $name-one-loss "$agent" "$sink" 1000 80 6 "20" "" ""
    case_ $name-two-losses "$agent" "$sink" 1000 80 6 "20 22" "" ""
    case_ $name-three-losses "$agent" "$sink" 1000 80 8 "20 23 27" "" ""
    case_ $name-burst-loss "$agent" "$sink" 1000 80 12 "20 21 22 23 24 25 26" "" ""
    case_ $name-lost-retransmission "$agent" "$sink" 1000 80 12 "20 43" "" ""
    case_ $name-twice-timed-out "$agent" "$sink" 1000 60 20 "20 43 44 55" "" ""
    case_ $name-last-lost "$agent" "$sink" 1000 30 6 "30" "" ""
    case_ $name-first-lost "$agent" "$sink" 1000 30 6 "1" "" ""
    case_ $name-syn-lost "$agent" "$sink" 1000 20 8 "0" "" ""
    case_ $name-acks-lost "$agent" "$sink" 1000 80 6 "" "4 10 11 12 13 20 21 22 23 24 25 26 27 28 29" ""
    case_ $name-delayed-acks "$agent" "$sink/DelAck" 1000 80 6 "20 22" "" ""
    case_ $name-receiver-window "$agent" "$sink" 8 80 6 "30" "" ""
    case_ $name-many-losses "$agent" "$sink" 20 400 30 "$many" "" ""
    case_ $name-marks "$agent" "$sink" 1000 120 6 "" "" "20 21 50 90"
    case_ $name-marks-and-losses "$agent" "$sink" 20 120 12 "33 70" "" "1 2 20 30 60 61 62 63 64 65 66 67 68 69"
done
rm -f "$RAW" "$VARIABLES"
