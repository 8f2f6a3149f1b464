"""Mean earnings, their accuracy and the cost of the query, with Python's standard library alone. docs/python.md shows the client.

usage: python3 examples/first_query.py [url] [key file]
"""

import json
import pathlib
import sys
import urllib.error
import urllib.request

url = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8080"
key = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else "data/analyst.key").read_text().strip()


def ask(path, body=None):
    """Return the JSON of an answer. A refusal ends the script with its code and detail."""
    request = urllib.request.Request(
        f"{url}/v1/datasets/census/{path}",
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        problem = json.load(error)
        sys.exit(f"{problem['code']}: {problem['detail']}")


answer = ask(
    "queries",
    {
        "kind": "mean",
        "column": "Earnings",
        "where": {"column": "Occupation", "op": "=", "value": "Statistician"},
        "epsilon": 0.2,
    },
)
mean, accuracy, cost = answer["result"]["value"], answer["accuracy"], answer["cost"]
print(f"mean earnings of statisticians: {mean:,.0f}")
print(f"{accuracy['confidence']:.0%} sure to be within {accuracy['halfWidth']:,.0f}")
print(f"cost: epsilon {cost['epsilon']}; left: epsilon {ask('budget')['remaining']['epsilon']}")
