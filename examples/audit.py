#!/usr/bin/env python3
"""Measure what a release reveals: a lower bound of epsilon from releases of two neighbouring datasets.

Usage: audit.py URL AUDITOR_KEY_FILE [RELEASES]

The service has to run with SOTTO_AUDIT=true. Of RELEASES fresh answers for each dataset, half choose the set of answers
that tells the two datasets apart best, and the other half test it, so that the bound holds with the stated confidence
whatever was chosen. A bound above the epsilon that was paid would be proof of a leak.
"""

import collections
import json
import math
import sys
import urllib.request

CONFIDENCE = 0.999
QUERY = {"kind": "count", "epsilon": 1}
LARGEST_BATCH = 10_000


def call(url, key, path, body=None):
    request = urllib.request.Request(
        url + path,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request) as response:
        return json.load(response)


def releases_of(url, key, dataset, releases):
    values = []
    while len(values) < releases:
        batch = min(LARGEST_BATCH, releases - len(values))
        body = {"dataset": dataset, "query": QUERY, "releases": batch}
        values += [result["value"] for result in call(url, key, "/v1/audit/releases", body)["results"]]
    return values


def bounds(successes, trials, risk):
    """A probability's lower and upper bound, each missed with at most this risk (Chernoff and Hoeffding 1963)."""

    def divergence(p, q):
        parts = [x * math.log(x / y) for x, y in ((p, q), (1 - p, 1 - q)) if x > 0]
        return sum(parts)

    share = successes / trials
    allowed = math.log(1 / risk) / trials

    def furthest(end):
        near, far = share, end
        for _ in range(100):
            middle = (near + far) / 2
            inside = 0 < middle < 1 and divergence(share, middle) <= allowed
            near, far = (middle, far) if inside else (near, middle)
        return far

    return furthest(0.0), furthest(1.0)


def lower_bound(here, there):
    """Epsilon is at least this, if answers from here and from there are told apart by a set chosen on other answers."""
    chosen, tested = len(here) // 2, len(here) - len(here) // 2
    counts_here = collections.Counter(here[:chosen])
    counts_there = collections.Counter(there[:chosen])
    likelier = {value for value in counts_here if counts_here[value] > 1.5 * counts_there[value]}
    risk = (1 - CONFIDENCE) / 4
    least, _ = bounds(sum(value in likelier for value in here[chosen:]), tested, risk)
    _, most = bounds(sum(value in likelier for value in there[chosen:]), tested, risk)
    return math.log(least / most) if least > 0 else -math.inf


def main():
    url, key_file = sys.argv[1].rstrip("/"), sys.argv[2]
    releases = int(sys.argv[3]) if len(sys.argv) > 3 else 20_000
    with open(key_file, encoding="utf-8") as file:
        key = file.read().strip()
    pair = call(url, key, "/v1/audit/datasets")["datasets"][0]
    here = releases_of(url, key, pair["id"], releases)
    there = releases_of(url, key, pair["neighbour"], releases)
    bound = max(lower_bound(here, there), lower_bound(there, here))
    print(f"{QUERY['kind']} at epsilon {QUERY['epsilon']}, {releases} releases each of {pair['id']} and its neighbour:")
    print(f"epsilon is at least {bound:.3f}, with {CONFIDENCE:.1%} confidence")
    sys.exit(1 if bound > QUERY["epsilon"] else 0)


if __name__ == "__main__":
    main()
