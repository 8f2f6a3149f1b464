#!/bin/sh
# How many people work in each occupation? With curl.
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
ask queries/preview "$query" # what it would cost, and how far off it could be: free
ask queries "$query"         # the noisy answer; asked again, it is the same answer, free
