#!/bin/sh
# Writes the secrets of compose.yaml to the folder `secrets`, unless they exist. Containers run as different users, so the
# files are readable; the folder is accessible to its owner only.
set -eu
umask 077
folder="$(dirname "$0")/secrets"
mkdir -p "$folder"
cd "$folder"

random() { od -An -N32 -tx1 /dev/urandom | tr -d ' \n'; }
write() { [ -e "$1" ] || { printf '%s\n' "$2" >"$1" && chmod 444 "$1"; }; }

write postgres-password "$(random)"
write ledger-password "$(random)"
write ledger-url "postgres://sotto:$(cat ledger-password)@postgres/sotto"
write metrics-key "$(random)"
write grafana-password "$(random)"
