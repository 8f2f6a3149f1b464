#!/usr/bin/env python3
"""Measure what a release reveals: lower bounds of epsilon and delta from releases of two neighbouring datasets.

Usage: audit.py URL AUDITOR_KEY_FILE [RELEASES] [QUERY]

The service must run with SOTTO_AUDIT=true. QUERY is JSON and must have one number as its result. RELEASES fresh releases of
each dataset are drawn. One half chooses the set of values that best distinguishes the two datasets, the other half tests it, so
the bounds hold with the stated confidence. The script exits with 1 if they exceed the epsilon and delta of the query.
"""

import bisect
import json
import math
import sys
import urllib.error
import urllib.request

CONFIDENCE = 0.999
QUERY = '{"kind": "count", "epsilon": 1}'
LARGEST_REQUEST = 10_000
THRESHOLDS = 200


def call(url, key, path, body=None):
    request = urllib.request.Request(
        url + path,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        sys.exit(error.read().decode())


def releases_of(url, key, dataset, query, releases):
    values = []
    while len(values) < releases:
        count = min(LARGEST_REQUEST, releases - len(values))
        body = {"dataset": dataset, "query": query, "releases": count}
        values += [result["value"] for result in call(url, key, "/v1/audit/releases", body)["results"]]
    return values


def bounds(successes, trials, risk):
    """Lower and upper bound of a probability, each missed with at most this risk (Chernoff and Hoeffding 1963)."""

    def divergence(p, q):
        parts = [x * math.log(x / y) for x, y in ((p, q), (1 - p, 1 - q)) if x > 0]
        return sum(parts)

    share = successes / trials
    allowed = math.log(1 / risk) / trials

    def furthest(end):
        near, far = share, end
        for _ in range(50):
            middle = (near + far) / 2
            inside = 0 < middle < 1 and divergence(share, middle) <= allowed
            near, far = (middle, far) if inside else (near, middle)
        return far

    return furthest(0.0), furthest(1.0)


def losses(successes_here, successes_there, trials, epsilon, delta):
    """Lower bounds of epsilon, given delta, and of delta, given epsilon, from how often a set of values was hit."""
    risk = (1 - CONFIDENCE) / 8
    least, _ = bounds(successes_here, trials, risk)
    _, most = bounds(successes_there, trials, risk)
    return math.log((least - delta) / most) if least > delta else -math.inf, least - math.exp(epsilon) * most


def lower_bounds(here, there, epsilon, delta):
    """As `losses`, for half-lines of values that are chosen on one half of the releases and tested on the other."""
    half = len(here) // 2
    values = sorted(set(here[:half] + there[:half]))
    thresholds = values[:: max(1, len(values) // THRESHOLDS)]

    def successes(releases, sets):
        ordered = sorted(releases)
        below = [bisect.bisect_left(ordered, threshold) for threshold in thresholds]
        return [len(ordered) - below[place] if above else below[place] for place, above in sets]

    sets = [(place, above) for place in range(len(thresholds)) for above in (False, True)]
    chosen_on = zip(successes(here[:half], sets), successes(there[:half], sets))
    found = [losses(a, b, half, epsilon, delta) for a, b in chosen_on]
    bound = []
    for loss in (0, 1):
        best = max(range(len(sets)), key=lambda place: found[place][loss])
        [[a], [b]] = (successes(releases[half:], [sets[best]]) for releases in (here, there))
        bound.append(losses(a, b, len(here) - half, epsilon, delta)[loss])
    return bound


def main():
    url, key_file = sys.argv[1].rstrip("/"), sys.argv[2]
    releases = int(sys.argv[3]) if len(sys.argv) > 3 else 20_000
    query = json.loads(sys.argv[4] if len(sys.argv) > 4 else QUERY)
    epsilon, delta = query["epsilon"], query.get("delta", 0)
    with open(key_file, encoding="utf-8") as file:
        key = file.read().strip()
    pair = call(url, key, "/v1/audit/datasets")["datasets"][0]
    here = releases_of(url, key, pair["id"], query, releases)
    there = releases_of(url, key, pair["neighbour"], query, releases)
    both = [lower_bounds(a, b, epsilon, delta) for a, b in ((here, there), (there, here))]
    least_epsilon, least_delta = (max(bound) for bound in zip(*both))
    print(f"{query['kind']} at epsilon {epsilon} and delta {delta}, {releases} releases each of {pair['id']} and its neighbour:")
    print(f"epsilon is at least {max(0, least_epsilon):.3f}, with {CONFIDENCE:.1%} confidence, at this delta")
    print(f"delta is at least {max(0, least_delta):.3g}, with {CONFIDENCE:.1%} confidence, at this epsilon")
    sys.exit(1 if least_epsilon > epsilon or least_delta > delta else 0)


if __name__ == "__main__":
    main()
