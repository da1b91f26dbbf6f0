#!/bin/sh
# Runs one case in ns-2 and writes traces/NAME.txt.
#
#   trace.sh NAME VARIANT SINK WINDOW PACKETS SECONDS LOST ACKS_LOST MARKED
set -e
cd "$(dirname "$0")"
mkdir -p traces
RAW=$(mktemp)
VARIABLES=$(mktemp)
export RAW VARIABLES
trap 'rm -f "$RAW" "$VARIABLES"' EXIT
trace=traces/$1.txt
shift
ns case.tcl "$@" >"$trace"
{
    awk '$1 == "+" { print $2, "send", $11 }' "$RAW"
    # The last value at each time: the one after the ACK was processed.
    awk '$6 == "cwnd_" || $6 == "ssthresh_" {
            if ($1 != time && time != "") print time, "window", cwnd, ssthresh
            time = $1
            if ($6 == "cwnd_") cwnd = $7; else ssthresh = $7
        }
        END { print time, "window", cwnd, ssthresh }' "$VARIABLES"
} | sort -s -n -k1,1 >>"$trace"
