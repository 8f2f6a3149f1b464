"""Counts rows and people of joined tables with Tumult Analytics under an infinite budget.

Reads {"lines": [[customer, product]], "customers": [[id, age]], "products": [[code, name]]} as JSON, and writes
{"rows": [[age, name, rows]], "people": the people with joined rows}.
"""

import json
import sys

from pyspark.sql import SparkSession
from tmlt.analytics import (
    AddRowsWithID,
    KeySet,
    MaxRowsPerID,
    PureDPBudget,
    QueryBuilder,
    Session,
)

given = json.load(sys.stdin)
spark = (
    SparkSession.builder.master("local[1]")
    .config("spark.ui.enabled", "false")
    .config("spark.sql.shuffle.partitions", "1")
    .config("spark.sql.codegen.wholeStage", "false")
    .config("spark.ui.showConsoleProgress", "false")
    .config("spark.driver.memory", "1g")
    .getOrCreate()
)


def frame(name, schema):
    return spark.createDataFrame([tuple(row) for row in given[name]], schema)


session = (
    Session.Builder()
    .with_privacy_budget(PureDPBudget(float("inf")))
    .with_id_space("customers")
    .with_private_dataframe(
        "lines", frame("lines", "customer string, product string"), AddRowsWithID("customer", "customers")
    )
    .with_private_dataframe(
        "customers", frame("customers", "customer string, age long"), AddRowsWithID("customer", "customers")
    )
    .with_public_dataframe("products", frame("products", "product string, name string"))
    .build()
)
joined = (
    QueryBuilder("lines")
    .join_private("customers", join_columns=["customer"])
    .join_public("products", join_columns=["product"])
    .enforce(MaxRowsPerID(1_000))
)
ages = sorted({age for _, age in given["customers"]})
names = [name for _, name in given["products"]]
keys = KeySet.from_dict({"age": ages, "name": names})


def ask(query):
    return session.evaluate(query, PureDPBudget(float("inf"))).collect()


counts = {(row["age"], row["name"]): row["count"] for row in ask(joined.groupby(keys).count())}
people = ask(joined.count_distinct(columns=["customer"]))[0][0]
rows = [[age, name, counts[age, name]] for age in ages for name in names]
json.dump({"rows": rows, "people": people}, sys.stdout)
