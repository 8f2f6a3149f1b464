#!/usr/bin/env python3
"""Verify the hashes of an export of the ledger: of every event, of the chain, and of the requests beside the events.

Usage: verify_export.py FILE

Uses only the standard library. Balances are not recomputed; `npx sotto ledger verify` does that.
"""

import hashlib
import json
import re
import sys

LINE = re.compile(rb'^\{"event":(.*),"hash":"([0-9a-f]{64})"(?:,"request":(".*"))?\}$', re.DOTALL)
REFERRING = ("charged", "shared", "inferred", "session-answered")


def sha256(data):
    return hashlib.sha256(data).hexdigest()


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
        if event["kind"] not in REFERRING:
            return "the event refers to no request"
        # Escapes of lone surrogates, which no request has, are written as other bytes.
        if sha256(json.loads(request).encode(errors="surrogatepass")) != event["requestHash"]:
            return "the request does not match its hash"
    heads[event["dataset"]] = (event["sequence"], recorded.decode())
    return None


def main():
    heads = {}
    requests, verified = 0, 0
    # By dataset: those with requests, and the first line that lacks its own.
    with_requests, lacking = set(), {}
    with open(sys.argv[1], "rb") as file:
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
            elif event["kind"] in REFERRING:
                lacking.setdefault(event["dataset"], number)
            requests += event["kind"] in REFERRING
    # An export of an earlier version of Sotto has no requests at all.
    for dataset, number in lacking.items():
        if dataset in with_requests:
            sys.exit(f"line {number}: the request is missing")
    for dataset, (sequence, head) in heads.items():
        print(f"{dataset}: {sequence} events, head {head}")
    print(f"{verified} of {requests} requests match their hashes")
    sys.exit(0 if heads else 1)


if __name__ == "__main__":
    main()
