#!/usr/bin/env python3
"""Verify the hashes of an export of the ledger: of every event, of the chain, and of the requests beside the events.

Usage: verify_export.py FILE [--answers FOLDER]

FOLDER has answers as the service returned them, one in each file *.json: not replays, but what GET /v1/releases/{id} returns. They are
compared with the hashes that the ledger records. Those that follow from other answers (`inference`) are recomputed if all of
these are there, too.

Uses only the standard library. Balances are not recomputed; `npx sotto ledger verify` does that.
"""

import argparse
import hashlib
import json
import re
import sys
from fractions import Fraction
from pathlib import Path

LINE = re.compile(rb'^\{"event":(.*),"hash":"([0-9a-f]{64})"(?:,"request":(".*"))?\}$', re.DOTALL)
REFERRING = ("charged", "shared", "inferred", "session-answered")


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def refers(event):
    """True for an event with the hash of a request. Those of a population's events are beside the events of its datasets."""
    return event["kind"] in REFERRING and "member" not in event


def unconfirmed(members, events, ends):
    """The reason why the chains of a population and its datasets differ; None if they do not. A chain that is not in the
    file, and what follows its end, is not compared."""
    last = {}
    for population, sequence, member in members:
        last[member["dataset"]] = max(member["sequence"], last.get(member["dataset"], 0))
        if member["sequence"] > ends.get(member["dataset"], (0, ""))[0]:
            continue
        if events.get((member["dataset"], member["sequence"])) != member["hash"]:
            return f"{population}: event {sequence} is not confirmed by {member['dataset']}"
    named = {(member["dataset"], member["sequence"]) for _, _, member in members}
    for dataset, sequence in events:
        if sequence <= last.get(dataset, 0) and (dataset, sequence) not in named:
            return f"{dataset}: event {sequence} did not debit the population"
    return None


def fault(line, heads):
    """The reason why a line does not follow the lines before it; None if it does."""
    match = LINE.match(line)
    if match is None:
        return "is not an event with its hash"
    text, recorded, request = match.groups()
    event = json.loads(text)
    sequence, previous = heads.get(event["dataset"], (0, "0" * 64))
    if sha256(text) != recorded.decode():
        return "the hash does not match the event"
    if event["sequence"] != sequence + 1 or event["previousHash"] != previous:
        return "the event does not follow the one before"
    if request is not None:
        if not refers(event):
            return "the event refers to no request"
        # Escapes of lone surrogates, which no request has, are written as other bytes.
        if sha256(json.loads(request).encode(errors="surrogatepass")) != event["requestHash"]:
            return "the request does not match its hash"
    heads[event["dataset"]] = (event["sequence"], recorded.decode())
    return None


def integers_of(answer, measurement):
    """The integers of a measurement; in a batch it is named after the place of its answer too, or of its table
    among those of all parts."""
    if measurement == answer["measurement"]:
        return answer["integers"]
    place = measurement.removeprefix(answer["measurement"] + ".")
    if "together" not in answer:
        return answer["answers"][int(place)]["integers"]
    return [table for part in answer["together"] for table in part["measured"]][int(place)]["integers"]


def wrong_estimate(answer, answers, parents):
    """The reason why an answer does not follow from others; None if it does."""
    named = {release["id"] for release in answer["inference"]["releases"]}
    # The event of an answer with a measurement of its own ("this") names no parents.
    if "this" not in named and parents.get(answer["id"], named) != named:
        return "follows from other releases than its event names"
    measured = [
        answer["integers"] if each["id"] == "this" else integers_of(answers[each["id"]], each["measurement"])
        for each in answer["inference"]["releases"]
    ]
    for estimate in (each for cells in answer["inference"]["estimates"] for each in cells):
        total = sum(
            int(term["weight"]) * int(measured[term["release"]][term["statistic"]][term["cell"]])
            for term in estimate["terms"]
        )
        exact = Fraction(total, int(estimate["denominator"]))
        if abs(Fraction(estimate["value"]) - exact) > abs(exact) * Fraction(1, 10**12) + Fraction(1, 10**18):
            return "an estimate is not the combination of integers that it states"
    return None


def verify_answers(folder, parents, recorded):
    """Recomputes the saved answers that follow from others, as far as these are saved, and compares all with their hashes. Ends the
    program for a wrong one."""
    answers, hashes = {}, {}
    for file in sorted(Path(folder).glob("*.json")):
        data = file.read_bytes()
        answer = json.loads(data)
        answers[answer["id"]] = answer
        hashes[answer["id"]] = sha256(data)
    inferred = [answer for answer in answers.values() if "inference" in answer]
    recomputed = 0
    for answer in inferred:
        named = {release["id"] for release in answer["inference"]["releases"]} - {"this"}
        if not named <= answers.keys():
            continue
        try:
            reason = wrong_estimate(answer, answers, parents)
        except (ArithmeticError, LookupError, TypeError, ValueError):
            reason = "it cannot be recomputed from the measurements that it names"
        if reason is not None:
            sys.exit(f"answer {answer['id']}: {reason}")
        recomputed += 1
    for identifier, found in hashes.items():
        if recorded.get(identifier) != found:
            sys.exit(f"answer {identifier}: the ledger records another answer, or none")
    print(f"{len(hashes)} answers match their hashes")
    print(f"{recomputed} of {len(inferred)} inferred answers recomputed")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--answers", metavar="FOLDER")
    arguments = parser.parse_args()
    heads = {}
    # The releases that each inferred answer follows from, by its id.
    parents = {}
    # The hashes of answers, by the id of the answer.
    recorded = {}
    requests, verified = 0, 0
    # What populations say of their datasets, and the hashes of the events that they have to name.
    members, shared, joined = [], {}, set()
    # By dataset: those with requests, and the first line that lacks its own.
    with_requests, lacking = set(), {}
    with open(arguments.file, "rb") as file:
        # Only a newline ends a line.
        for number, line in enumerate(file, 1):
            line = line.rstrip(b"\n")
            reason = fault(line, heads)
            if reason is not None:
                sys.exit(f"line {number}: {reason}")
            text, _, request = LINE.match(line).groups()
            event = json.loads(text)
            if request is not None:
                verified += 1
                with_requests.add(event["dataset"])
            elif refers(event):
                lacking.setdefault(event["dataset"], number)
            requests += refers(event)
            if event["kind"] == "joined":
                joined.add(event["dataset"])
            if "member" in event:
                members.append((event["dataset"], event["sequence"], event["member"]))
            elif event["dataset"] in joined and event["kind"] in ("joined", "charged", "shared"):
                shared[event["dataset"], event["sequence"]] = heads[event["dataset"]][1]
            if event["kind"] == "inferred":
                parents[event["chargeId"]] = set(event["parents"])
            if event["kind"] == "answered":
                recorded[event["chargeId"]] = event["answerHash"]
    # An export of an earlier version of Sotto has no requests at all.
    for dataset, number in lacking.items():
        if dataset in with_requests:
            sys.exit(f"line {number}: the request is missing")
    reason = unconfirmed(members, shared, heads)
    if reason is not None:
        sys.exit(reason)
    for dataset, (sequence, head) in heads.items():
        print(f"{dataset}: {sequence} events, head {head}")
    print(f"{verified} of {requests} requests match their hashes")
    if arguments.answers is not None:
        verify_answers(arguments.answers, parents, recorded)
    sys.exit(0 if heads else 1)


if __name__ == "__main__":
    main()
