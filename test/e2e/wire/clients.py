"""Drivers of Python speak to the service. Arguments: host, port, key. Prints a JSON document."""

import asyncio
import json
import sys

import asyncpg
import psycopg
import psycopg2
import sqlalchemy as sa

HOST, PORT, KEY = sys.argv[1], int(sys.argv[2]), sys.argv[3]
OPTIONS = "-c sotto.epsilon=0.01 -c sotto.spending=allow"
GROUPS = 'SELECT "Sex", COUNT(*) AS n, AVG("Age") FROM census WHERE "Age" > {} GROUP BY 1 ORDER BY 1'
found = {}

with psycopg.connect(host=HOST, port=PORT, user="analyst", password=KEY, dbname="sotto", options=OPTIONS) as connection:
    # From the fifth execution on, the statement is prepared on the server.
    rows = [connection.execute(GROUPS.format("%s"), (30,)).fetchall() for _ in range(8)]
    assert all(each == rows[0] for each in rows), rows
    found["psycopg"] = rows[0]
    found["psycopg binary"] = connection.cursor(binary=True).execute(GROUPS.format("%s"), (30,)).fetchall()
    dates = connection.cursor(binary=True).execute("SELECT 1::int, true, 'a'::text, NULL::text, 1.5::float8")
    found["values"] = dates.fetchone()

connection = psycopg2.connect(host=HOST, port=PORT, user="analyst", password=KEY, dbname="sotto", options=OPTIONS)
cursor = connection.cursor()
cursor.execute(GROUPS.format("%s"), (30,))
found["psycopg2"] = cursor.fetchall()
connection.close()


async def with_asyncpg():
    settings = {"sotto.epsilon": "0.01", "sotto.spending": "allow"}
    connection = await asyncpg.connect(
        host=HOST, port=PORT, user="analyst", password=KEY, database="sotto", server_settings=settings, ssl=False
    )
    found["asyncpg"] = [tuple(row) for row in await connection.fetch(GROUPS.format("$1"), 30)]
    days = "SELECT day, COUNT(*) FROM calendar WHERE day >= $1 AND at < $2 GROUP BY 1 ORDER BY 1"
    import datetime

    since, until = datetime.date(2024, 2, 28), datetime.datetime(2024, 3, 2, tzinfo=datetime.timezone.utc)
    found["dates"] = [str(row["day"]) for row in await connection.fetch(days, since, until)]
    async with connection.transaction():
        cursor = connection.cursor("SELECT Sex, Married, COUNT(*) FROM census GROUP BY 1, 2", prefetch=3)
        found["portions"] = len([row async for row in cursor])
    await connection.close()


asyncio.run(with_asyncpg())

for driver in ("psycopg", "psycopg2"):
    engine = sa.create_engine(
        f"postgresql+{driver}://analyst:{KEY}@{HOST}:{PORT}/sotto", connect_args={"options": OPTIONS}
    )
    inspector = sa.inspect(engine)
    found[f"reflected by {driver}"] = {
        "tables": inspector.get_table_names(),
        "columns": [[column["name"], str(column["type"]), column["comment"]] for column in inspector.get_columns("census")],
        "comment": inspector.get_table_comment("census")["text"],
        "keys": [
            inspector.get_pk_constraint("census")["constrained_columns"],
            inspector.get_foreign_keys("census"),
            inspector.get_indexes("census"),
            inspector.get_unique_constraints("census"),
            inspector.get_check_constraints("census"),
        ],
        "views": inspector.get_view_names(),
        "schemas": inspector.get_schema_names(),
    }
    census = sa.Table("census", sa.MetaData(), autoload_with=engine)
    age = census.c.Age
    with engine.connect() as connected:
        asked = sa.select(census.c.Sex, sa.func.count().label("n"), sa.func.avg(age))
        asked = asked.where(age > 30).group_by(census.c.Sex).order_by(census.c.Sex)
        found[f"asked by {driver}"] = [tuple(row) for row in connected.execute(asked)]

print(json.dumps(found))
