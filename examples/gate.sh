#!/bin/sh
# A gate for CI: lets a release pass only if it is what its manifest says.
# usage: gate.sh RELEASE    exit code 0: verified; 1: it fails; 5: checked in part; 2: no such input
shoal verify "$1" --json >"${2:-verified.json}"
code=$?
[ "$code" -eq 0 ] || echo "gate: $1 is not published (shoal verify: exit code $code)" >&2
exit "$code"
