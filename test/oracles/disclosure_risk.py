"""The disclosure risk of Lee and Clifton (2011) from its definitions: every world, every neighbour, in fractions.

Reads a JSON list of questions from the standard input and writes the list of answers. A question has `universe`,
`released`, `query`, `changed`, `epsilon`, `response`, `risk` and, perhaps, `prior`. Only for small universes.
"""

import json
import math
import sys
from fractions import Fraction
from itertools import combinations
from math import exp, inf, isqrt, log
from operator import eq, ge, gt, le, lt, ne

COMPARISONS = {"=": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}
DIGITS = 10**40


def satisfies(predicate):
    if predicate["op"] == "between":
        return lambda value: predicate["lower"] <= value <= predicate["upper"]
    if predicate["op"] == "in":
        return lambda value: value in predicate["values"]
    return lambda value: COMPARISONS[predicate["op"]](value, predicate["value"])


def mean(values):
    return sum(values) / Fraction(len(values))


def variance(values):
    centre = mean(values)
    return mean([(value - centre) ** 2 for value in values])


def root(value):
    """The square root to 40 digits after the point; the same for the same value."""
    return Fraction(isqrt(int(value * DIGITS**2)), DIGITS)


def percentile(p):
    def interpolate(values):
        place = (len(values) - 1) * Fraction(p) / 100
        lower = math.floor(place)
        upper = math.ceil(place)
        ordered = sorted(values)
        return ordered[lower] + (place - lower) * (ordered[upper] - ordered[lower])

    return interpolate


def function_of(query):
    kind = query["kind"]
    if kind == "count":
        counts = satisfies(query["satisfying"])
        return lambda values: Fraction(sum(1 for value in values if counts(value)))
    if kind == "percentile":
        return percentile(query["p"])
    return {
        "sum": lambda values: Fraction(sum(values)),
        "mean": mean,
        "variance": variance,
        "standardDeviation": lambda values: root(variance(values)),
        "median": percentile(50),
        "minimum": lambda values: Fraction(min(values)),
        "maximum": lambda values: Fraction(max(values)),
    }[kind]


def sensitivities(universe, released, changed, query):
    """Bounded and unbounded, over all existing pairs of neighbours."""
    function = function_of(query)
    everybody = range(len(universe))

    def answer(people):
        return function([universe[person] for person in people])

    bounded, unbounded = [], []
    for world in combinations(everybody, released):
        rest = [person for person in everybody if person not in world]
        own = answer(world)
        for joining in combinations(rest, changed):
            unbounded.append(abs(answer(world + joining) - own))
        for leaving in combinations(world, changed):
            staying = tuple(person for person in world if person not in leaving)
            if staying or query["kind"] in ("sum", "count"):
                unbounded.append(abs(answer(staying) - own))
            for joining in combinations(rest, changed):
                bounded.append(abs(answer(staying + joining) - own))
    return max(bounded), max(unbounded)


def bisect(rises_beyond):
    low, high = 0.0, 1.0
    while not rises_beyond(high):
        low, high = high, 2 * high
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (low, middle) if rises_beyond(middle) else (middle, high)
    return low


def answer(question):
    universe = [Fraction(value) for value in question["universe"]]
    released, changed = int(question["released"]), int(question["changed"])
    query, risk = question["query"], question["risk"]
    epsilon, response = question["epsilon"], question["response"]
    bounded, unbounded = sensitivities(universe, released, changed, query)
    function = function_of(query)
    worlds = list(combinations(range(len(universe)), released))
    answers = [function([universe[person] for person in world]) for world in worlds]
    given = question.get("prior") or [Fraction(1)] * len(worlds)
    prior = [Fraction(belief) / sum(given) for belief in given]
    odds = [[float(other / own) if own else inf for other in prior] for own in prior]

    def in_scales(distance):
        return float(distance / unbounded) if unbounded else 0.0

    def posterior(world):
        if not prior[world]:
            return 0.0
        own = abs(response - answers[world])
        gains = [in_scales(own - abs(response - other)) for other in answers]
        return 1 / sum(o * exp(float(epsilon) * gain) for o, gain in zip(odds[world], gains) if o)

    distances = [[in_scales(abs(own - other)) for other in answers] for own in answers]

    def tight(at):
        return max(
            1 / sum(o * exp(-at * d) for o, d in zip(odds[world], distances[world]))
            for world in range(len(worlds))
            if prior[world]
        )

    likeliest = max(prior)
    against = float((1 - likeliest) / likeliest)
    ratio = in_scales(bounded)
    limit = max(
        own / sum(p for p, other in zip(prior, answers) if other == mine)
        for own, mine in zip(prior, answers)
        if own
    )
    posteriors = [posterior(world) for world in range(len(worlds))]
    best = posteriors.index(max(posteriors))
    return {
        "boundedSensitivity": float(bounded),
        "unboundedSensitivity": float(unbounded),
        "largestDifference": float(max(answers) - min(answers)),
        "answers": [float(value) for value in answers],
        "positions": [list(world) for world in worlds],
        "posterior": posteriors,
        "largest": max(posteriors),
        "confidence": max(posteriors) - float(prior[best]),
        "upperBound": 1 / (1 + against * exp(-float(epsilon) * ratio)),
        "tightBound": tight(float(epsilon)),
        "upperBoundEpsilon": log(against * float(risk) / (1 - float(risk))) / ratio if ratio else None,
        "tightBoundEpsilon": None if risk >= limit else bisect(lambda at: tight(at) > float(risk)),
        "largestRisk": float(limit),
    }


if __name__ == "__main__":
    questions = json.load(sys.stdin, parse_float=Fraction, parse_int=Fraction)
    json.dump([answer(question) for question in questions], sys.stdout)
