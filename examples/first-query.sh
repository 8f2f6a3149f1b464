#!/bin/sh
# Number of people in each occupation, with curl.
# usage: examples/first-query.sh [url] [key file]
set -eu
url=${1:-http://127.0.0.1:8080}
key=$(cat "${2:-data/analyst.key}")

ask() { # ask PATH BODY
  curl --fail-with-body --silent --show-error "$url/v1/datasets/census/$1" \
    -H "Authorization: Bearer $key" \
    -H 'Content-Type: application/json' \
    -d "$2"
  echo
}

query='{"kind": "histogram", "column": "Occupation", "epsilon": 0.1}'
ask queries/preview "$query" # cost and accuracy, without charging
ask queries "$query"         # the noisy answer; a repeat returns the same answer at no cost
