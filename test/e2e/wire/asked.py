"""psycopg asks the statements of its input, a JSON list. Arguments: port, key. Prints the rows of each, in text and in binary."""

import datetime
import json
import sys

import psycopg

PORT, KEY = sys.argv[1:]
OPTIONS = "-c sotto.epsilon=1 -c sotto.spending=allow"


def shown(value):
    if isinstance(value, datetime.datetime):
        return value.astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return value.isoformat() if isinstance(value, datetime.date) else value


found = []
with psycopg.connect(
    host="127.0.0.1", port=PORT, user="analyst", password=KEY, dbname="sotto", options=OPTIONS, autocommit=True
) as connection:
    for sql in json.load(sys.stdin):
        in_text, in_binary = (
            [[shown(value) for value in row] for row in connection.cursor(binary=binary).execute(sql).fetchall()]
            for binary in (False, True)
        )
        found.append([in_text, in_binary])
print(json.dumps(found))
