"""Asks questions of a service until a file exists, and prints each question's answer as a line of JSON.

Arguments: address of the service, number of threads, epsilon of each question, file that ends the load.
"""

import json
import pathlib
import sys
import threading

import sotto


def ask(url: str, first: int, step: int, epsilon: float, end: pathlib.Path, failures: list[str]) -> None:
    # A replica that was killed leaves attempts behind, which another one takes over once their lease has expired.
    census = sotto.connect(url, retries=sotto.Retries(attempts=100, longest_wait_seconds=300)).dataset("census")
    number = first
    try:
        while not end.exists():
            where = (sotto.col("Age") >= number % 100) & (sotto.col("Earnings") >= number // 100)
            answer = census.count(where=where, epsilon=epsilon)
            print(json.dumps({"number": number, "id": answer.id, "value": answer.value}), flush=True)
            number += step
    except Exception as error:
        failures.append(repr(error))


def main() -> None:
    url, threads, epsilon, end = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), pathlib.Path(sys.argv[4])
    failures: list[str] = []
    workers = [
        threading.Thread(target=ask, args=(url, first, threads, epsilon, end, failures)) for first in range(threads)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for failure in failures:
        print(failure, file=sys.stderr)
    sys.exit(1 if failures else 0)


main()
