"""The client against a running service."""

from __future__ import annotations

import asyncio
import json
import pathlib
import re
import secrets
import socketserver
import threading
from collections.abc import Callable, Collection
from typing import Any

import httpx
import pandas as pd
import pytest

import sotto
from sotto import col

from .conftest import spent
from .pages import blocks_of

FAST = sotto.Retries(first_pause_seconds=0.01)


def visits_by_quarter_and_region(clinic: sotto.Dataset) -> sotto.Table:
    groups = clinic.group_by(col("visited").by("quarter"), "region")
    return groups.agg(visits=sotto.count(), patients=sotto.count(of="people")).run(
        contribution={"groups": 4, "rows_per_group": 2}, epsilon=1
    )


def quartiles_of_cost(clinic: sotto.Dataset) -> sotto.Table:
    quartiles = {
        "low": sotto.percentile("cost", 25),
        "middle": sotto.median("cost"),
        "high": sotto.percentile("cost", 75),
    }
    bounds: Any = {"groups": 1, "rows_per_group": 5}
    return clinic.group_by("region").agg(**quartiles).run(contribution=bounds, epsilon=1)


# The ten questions of examples/clinic.md, in their order.
TEN_QUESTIONS: list[Callable[[sotto.Dataset], sotto.Answer]] = [
    lambda clinic: clinic.histogram(col("visited").by("month"), contribution={"rows": 10}, epsilon=0.5),
    visits_by_quarter_and_region,
    lambda clinic: clinic.mean("cost", contribution={"rows": 5}, epsilon=0.5),
    quartiles_of_cost,
    lambda clinic: clinic.top_groups("diagnosis", of="people", k=3, epsilon=0.5),
    lambda clinic: clinic.mean("visited", per_person="count", epsilon=0.5),
    lambda clinic: clinic.percentile("visited", 90, per_person="count", epsilon=0.1),
    lambda clinic: clinic.count("people", where=col("emergency") == True, epsilon=0.1),  # noqa: E712
    lambda clinic: clinic.linear_regression("cost", ["visited", "age"], contribution={"rows": 2}, epsilon=2),
    lambda clinic: clinic.correlation("age", "cost", contribution={"rows": 2}, epsilon=1),
]


def ten_questions_of_the_page() -> list[Any]:
    return [json.loads(block) for block in blocks_of("examples/clinic.md", "json visits")]


def test_the_ten_questions_are_those_of_the_page(clinic: sotto.Dataset) -> None:
    asked = ten_questions_of_the_page()
    assert len(asked) == len(TEN_QUESTIONS) == 10
    for question, ask in zip(asked, TEN_QUESTIONS, strict=True):
        answer = ask(clinic)
        # The same question in the form of the page replays the answer, so that both were one question.
        again = clinic.ask(question)
        assert again.replayed
        assert again.document["result"] == answer.document["result"]
        assert answer.id == again.id
        frame = answer.to_frame()
        assert len(frame) > 0
        assert "<svg" in answer._repr_html_() or "<table" in answer._repr_html_()


def test_an_answer_has_value_half_width_price_and_budget(population: sotto.Dataset) -> None:
    before = spent(population)
    answer = population.count(where=col("Age") >= 65, epsilon=0.1 + 0.2)
    assert isinstance(answer.value, int)
    assert answer.half_width == 10
    assert str(answer.price) == "epsilon 0.3"
    assert spent(population) == pytest.approx(before + 0.3)
    assert answer.budget_left == population.budget().remaining
    assert not answer.replayed
    assert answer.coverage is not None
    assert answer.coverage.startswith("The half-width covers noise only")
    shown, coverage, cost = repr(answer).split("\n")
    assert re.fullmatch(r"[\d,]+ ± 10", shown)
    assert coverage == f"({answer.coverage})"
    assert re.fullmatch(r"\(95% confidence · price: epsilon 0.3 · left: epsilon [\d.]+, delta 0.001\)", cost)


def test_a_repeat_is_free_and_a_chosen_key_buys_a_fresh_answer_once(population: sotto.Dataset) -> None:
    query = sotto.sum("Earnings", epsilon=0.25)
    first = population.ask(query)
    before = spent(population)
    repeat = population.ask(query)
    assert (repeat.replayed, repeat.value, repeat.id) == (True, first.value, first.id)
    assert spent(population) == before
    fresh = [population.sum("Earnings", epsilon=0.25, idempotency_key="python-fresh") for _ in range(2)]
    assert fresh[0].id != first.id
    assert fresh[0].id == fresh[1].id
    assert spent(population) == pytest.approx(before + 0.25)


class CuttingProxy(socketserver.ThreadingTCPServer):
    """Forwards requests, and cuts some responses to POST in the middle, after the service has answered."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, target: str, cuts: Collection[int]) -> None:
        super().__init__(("127.0.0.1", 0), CuttingHandler)
        self.target, self.cuts, self.posts = target, cuts, 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class CuttingHandler(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        assert isinstance(self.server, CuttingProxy)
        method, path, _ = self.rfile.readline().decode().split(" ")
        headers: dict[str, str] = {}
        while line := self.rfile.readline().decode().strip():
            name, value = line.split(": ", 1)
            headers[name.lower()] = value
        body = self.rfile.read(int(headers.get("content-length", 0)))
        sent = {name: value for name, value in headers.items() if name in ("authorization", "content-type")}
        response = httpx.request(method, self.server.target + path, headers=sent, content=body, timeout=60)
        head = (
            f"HTTP/1.1 {response.status_code} X\r\nContent-Type: {response.headers.get('content-type')}\r\n"
            f"Content-Length: {len(response.content)}\r\nConnection: close\r\n\r\n"
        ).encode()
        cut = method == "POST" and self.server.posts in self.server.cuts
        self.server.posts += method == "POST"
        self.wfile.write(head + response.content[: len(response.content) // 2 if cut else None])


@pytest.mark.parametrize("cuts", [1, 3])
def test_a_connection_lost_after_the_charge_is_repeated_and_charged_once(
    url: str, population: sotto.Dataset, cuts: int
) -> None:
    before = spent(population)
    with CuttingProxy(url, range(cuts)) as proxy:
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        with sotto.connect(proxy.url, retries=FAST) as lossy:
            answer = lossy.dataset("population").count(where=col("Age") < 40 + cuts, epsilon=0.125)
            again = lossy.release(str(answer.id))
        assert proxy.posts == cuts + 1
        proxy.shutdown()
    assert spent(population) == pytest.approx(before + 0.125)
    assert str(answer.price) == "epsilon 0.125"
    assert isinstance(again, sotto.Value)
    assert again.value == answer.value


def test_a_session_and_its_questions_survive_lost_connections(url: str, population: sotto.Dataset) -> None:
    before = spent(population)
    with CuttingProxy(url, {0, 2, 4}) as proxy:
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        lossy = sotto.connect(proxy.url, retries=FAST)
        with lossy.dataset("population").session(threshold=1_000, positives=3, epsilon=1.5) as session:
            assert session.above(col("Age") >= 0)
            assert session.positives_left == 2
            assert not session.above(col("Age") >= 100)
            assert session.positives_left == 2
        lossy.close()
        assert proxy.posts == 6
        proxy.shutdown()
    assert spent(population) == pytest.approx(before + 1.5)


def test_a_query_that_is_being_answered_is_waited_for(population: sotto.Dataset, url: str) -> None:
    query = sotto.contingency(["Sex", "Married", "Occupation", col("Age").bins(range(0, 121))], epsilon=0.01)
    before = spent(population)

    async def ask_together() -> list[Any]:
        async with sotto.connect_async(url, retries=FAST) as client:
            return await asyncio.gather(*[client.dataset("population").ask(query) for _ in range(4)])

    answers = asyncio.run(ask_together())
    assert len({answer.id for answer in answers}) == 1
    assert spent(population) == pytest.approx(before + 0.01)


def test_problems_of_the_service(client: sotto.Client, population: sotto.Dataset, url: str) -> None:
    with pytest.raises(sotto.QueryDoesNotFit) as caught:
        population.count(where=(col("Age") >= 65) & (col("Agee") == 1), epsilon=0.1)
    assert caught.value.field == "where.predicates.1.column"
    assert "Agee" in str(caught.value.rule)
    with pytest.raises(sotto.InvalidRequest, match="epsilon"):
        population.count(epsilon=-1)
    with pytest.raises(sotto.BudgetInsufficient) as short:
        population.count(epsilon=999)
    assert short.value.document["price"]["epsilon"] == 999
    with pytest.raises(sotto.MechanismNotApplicable):
        population.count(mechanism="gaussian", epsilon=0.1)
    with pytest.raises(sotto.UnknownDataset):
        client.dataset("none").budget()
    with pytest.raises(sotto.UnknownRelease):
        client.release("0" * 32)
    with pytest.raises(sotto.NotFound):
        client.dataset("none").count(epsilon=1)
    population.count(epsilon=0.01, idempotency_key="used")
    with pytest.raises(sotto.IdempotencyKeyReused):
        population.count(epsilon=0.02, idempotency_key="used")
    with sotto.connect(url, key="sotto_wrong") as stranger, pytest.raises(sotto.Unauthenticated):
        stranger.dataset("population").budget()


def test_a_session(population: sotto.Dataset) -> None:
    before = spent(population)
    with population.session(threshold=5_000, positives=2, epsilon=2) as session:
        assert spent(population) == pytest.approx(before + 2)
        assert session.above(col("Age") >= 0)
        assert not session.above(col("Age") >= 100)
        repeated = session.above(col("Age") >= 0)
        assert repeated.above
        assert repeated.gap == pytest.approx(5_000, abs=500)
        assert session.positives_left == 1
        assert session.above(col("Age") >= 1)
        with pytest.raises(sotto.SessionUsedUp):
            session.above(col("Age") >= 2)
    with population.session(threshold=5_000, positives=2, epsilon=2) as same:
        assert same.positives_left == 0
    assert spent(population) == pytest.approx(before + 2)
    assert population.session(threshold=1, positives=1, epsilon=1).preview().affordable


def test_a_batch_shares_a_price(population: sotto.Dataset) -> None:
    queries = [
        sotto.count(where=col("Age") < 30, epsilon=0.2),
        sotto.mean("Earnings", where=col("Age") >= 30, epsilon=0.2),
    ]
    assert str(population.preview(queries).price) == "epsilon 0.2"
    young, pay = population.batch(queries)
    assert young.value > 0
    assert pay.half_width > 0
    assert "price of all: epsilon 0.2" in repr(population.batch(queries))
    assert population.batch(queries).replayed


def test_a_batch_over_a_population_costs_the_sum(client: sotto.Client, custodian: httpx.Client) -> None:
    budget = {"epsilon": 1, "delta": 1e-6}
    people = {"id": "both", "privacyUnit": "row", "budget": budget}
    custodian.post("/v1/populations", json=people).raise_for_status()
    shape = {"privacyUnit": {"kind": "row"}, "neighbours": "add-remove", "budget": budget, "population": "both"}
    for id in ("left", "right"):
        source = {"kind": "population", "rows": 100, "seed": id}
        custodian.post("/v1/datasets", json={"id": id, "title": id, "source": source, **shape}).raise_for_status()
    queries = {"left": [sotto.count(epsilon=0.25)], "right": [sotto.count(epsilon=0.5)]}
    answers = client.batch("both", queries)
    assert list(answers) == ["left", "right"]
    assert len(answers["right"]) == 1
    assert answers["right"].document["population"]["budget"]["spent"] == {"epsilon": 0.75, "delta": 0}
    assert client.batch("both", queries)["left"].replayed
    with pytest.raises(sotto.Problem):
        client.batch("both", queries, idempotency_key="fresh")


def test_a_batch_is_planned_together(population: sotto.Dataset) -> None:
    queries = [sotto.count(epsilon=0.01), sotto.histogram("Sex", epsilon=0.01)]
    preview = population.preview(queries)
    assert preview.plan == "together"
    assert preview.plans is not None
    assert preview.plans.together == preview.price
    assert repr(preview.plans).startswith("together: epsilon 0.01")
    assert population.preview(queries, plan="separate").price == preview.plans.separate
    batch = population.batch(queries, plan="together", objective="largest")
    assert batch.plan == "together"
    assert sum(batch[1].to_frame()["count"]) == pytest.approx(batch[0].value)
    with pytest.raises(sotto.Problem, match=r"weights\.1: must be at least 0"):
        population.batch(queries, plan="together", weights=[1, -1])
    with pytest.raises(TypeError, match="belong to a list"):
        population.preview(queries[0], plan="together")


def test_ranges_of_cumulative_counts(population: sotto.Dataset) -> None:
    curve = population.cumulative_counts(sotto.col("Age").bins([0, 18, 65, 120]), ranges=[(18, 65)], epsilon=0.01)
    upto = [row.values["count"].value for row in curve.rows]
    between = curve.ranges[18, 65]
    assert between.value == pytest.approx(upto[1] - upto[0])
    assert between.half_width > 0


def test_previews(population: sotto.Dataset) -> None:
    before = spent(population)
    preview = population.preview(sotto.count(epsilon=0.1))
    assert (preview.half_width, preview.affordable, str(preview.price)) == (30, True, "epsilon 0.1")
    assert not preview.paid
    assert "guess" in preview.risk
    assert population.group_by("Sex").agg(n=sotto.count()).preview(epsilon=0.1).affordable
    assert "depends on the number of rows" in repr(population.preview(sotto.mean("Age", epsilon=0.1)))
    assert population.preview(sotto.count(half_width=20, confidence=0.99)).half_width == 20
    tables = population.preview(sotto.marginals(["Sex"], 1, epsilon=0.1))
    assert 0 < (tables.root_mean_squared_error or 0) < tables.half_width
    by_sex = population.group_by("Sex").agg(n=sotto.count(), age=sotto.mean("Age"))
    previewed = by_sex.preview(epsilon=0.1)
    assert previewed.half_widths == {"n": 60, "age": None}
    assert "n ± 60, age depends on the number of rows" in repr(previewed)
    supposing = by_sex.preview(epsilon=0.1, supposed={"rows": 1_000}).half_widths
    assert 0 < supposing["age"] < 60
    assert spent(population) == before
    paid = sotto.count(where=col("Age") > 50, epsilon=0.123)
    population.ask(paid)
    again = population.preview(paid)
    assert (again.paid, str(again.cost), str(again.price)) == (True, "epsilon 0", "epsilon 0.123")
    assert "already paid" in repr(again)


def test_frames_have_names_types_and_missing_groups(mixed: sotto.Dataset) -> None:
    groups = mixed.group_by("member", "region", col("score").bins([0, 5, 10]))
    answer = groups.agg(n=sotto.count(), average=sotto.mean("score"), half=sotto.median("score")).run(epsilon=1_000)
    frame = answer.to_frame()
    assert [str(dtype) for dtype in frame.dtypes][:3] == ["boolean", "category", "object"]
    assert [str(score) for score in frame["score"][:3]] == ["[0, 5)", "[5, 10]", "None"]
    assert list(frame.columns) == [
        "member",
        "region",
        "score",
        "n",
        "n_half_width",
        "average",
        "average_half_width",
        "half",
        "half_rank_half_width",
    ]
    assert len(frame) == 27
    assert list(frame["region"].cat.categories) == ["north", "south"]
    # The noise is far below 0.5, so that these are the counts.
    rows: Any = frame.itertuples()
    sizes = {(row.member, row.region, row.score): round(row.n) for row in rows if row.n > 0.5}
    assert sorted(sizes.values()) == [15, 30, 60]
    missing = frame[frame["member"].isna() & frame["region"].isna() & frame["score"].isna()]
    assert missing["n"].round().tolist() == [15]
    assert "<NA>" in repr(missing["region"])
    assert sizes[True, "north", pd.Interval(0, 5, closed="left")] == 60


def test_periods_become_times(mixed: sotto.Dataset) -> None:
    months = mixed.histogram(col("seen").by("month"), epsilon=1_000).to_frame()
    assert months["seen"].dropna().tolist() == [pd.Timestamp(2024, month, 1) for month in (1, 2, 3)]
    assert months.set_index("seen")["count"].tolist() == [60, 30, 0, 15][: len(months)]
    days = mixed.histogram(col("seen").by("dayOfWeek"), epsilon=1_000).to_frame()
    assert days["seen"].cat.ordered
    assert days.groupby("seen", observed=False)["count"].sum()["Wednesday"] == 60
    hours = mixed.histogram(col("seen").by("hour", "2024-01-10", "2024-01-11"), epsilon=1_000).to_frame()
    assert hours[hours["count"] == 60]["seen"].tolist() == [pd.Timestamp("2024-01-10T05:00Z")]
    middle = mixed.median("seen", epsilon=1_000)
    assert middle.value == pd.Timestamp("2024-01-10T05:30Z")
    mean = mixed.mean("seen", epsilon=1_000)
    assert isinstance(mean.half_width, pd.Timedelta)
    assert "seconds" in repr(mean) or "days" in repr(mean)


def test_conditions_on_times(mixed: sotto.Dataset) -> None:
    for bound in ("2024-02-01", pd.Timestamp("2024-02-01"), pd.Timestamp("2024-02-01T01:00", tz="Europe/Berlin")):
        assert mixed.count(where=col("seen") >= bound, epsilon=1_000).value == 30
    assert mixed.count(where=col("seen").is_null(), epsilon=1_000).value == 15
    assert mixed.count(where=~(col("member") == True), epsilon=1_000).value == 45  # noqa: E712
    assert mixed.count(where=col("member") != True, epsilon=1_000).value == 30  # noqa: E712


def test_every_other_kind(population: sotto.Dataset, mixed: sotto.Dataset) -> None:
    answers = [
        population.variance("Age", epsilon=1),
        population.standard_deviation("Age", epsilon=1, delta=1e-7, mechanism="gaussian"),
        population.covariance("Age", "Earnings", epsilon=1),
        population.proportion(col("Married").isin(["M", "W"]), epsilon=1),
        population.count_distinct("Occupation", epsilon=1),
        population.histogram(col("Age").bins([0, 18, 65, 120]), epsilon=1),
        population.contingency(["Occupation", "Sex"], epsilon=1, postprocess={"non_negative": True}),
        population.noisy_max("Occupation", k=2, gap=True, noise="laplace", epsilon=1),
        population.noisy_max({"young": col("Age") < 40, "rich": col("Earnings") > 500_000}, epsilon=1),
        population.percentile("Age", [10, 90], epsilon=1),
        population.minimum("Age", epsilon=1),
        population.maximum("Age", epsilon=1),
        mixed.key_selection("Diagnosis", counts=True, delta=1e-4, epsilon=10),
    ]
    for answer in answers:
        frame = answer.to_frame()
        assert len(frame) > 0, answer.kind
        assert repr(answer)
        assert str(answer.price)[:7] == "epsilon"
        assert answer._repr_html_().startswith("<div>")
    assert " ".join(answer.kind for answer in answers) == (
        "variance standardDeviation covariance proportion countDistinct histogram contingency noisyMax noisyMax "
        "percentile minimum maximum keySelection"
    )
    assert answers[-1].to_frame()["key"].tolist() == ["often"]
    assert answers[5].to_frame()["Age"].tolist()[1] == pd.Interval(18, 65, closed="left")


def test_several_proportions_and_repeated_statistics(population: sotto.Dataset) -> None:
    groups = population.group_by("Sex").agg(
        married=sotto.proportion(col("Married") == "M"),
        retired=sotto.proportion(col("Age") >= 65),
        n=sotto.count(),
        people=sotto.count(),
    )
    frame = groups.run(epsilon=5).to_frame()
    assert frame["n"].tolist() == frame["people"].tolist()
    assert (frame["married"] > frame["retired"]).all()
    before = spent(population)
    renamed = population.group_by("Sex").agg(
        a=sotto.proportion(col("Married") == "M"), b=sotto.proportion(col("Age") >= 65), c=sotto.count()
    )
    assert renamed.run(epsilon=5).replayed
    assert spent(population) == before


def test_no_keys_are_one_group_of_all_rows(population: sotto.Dataset) -> None:
    frame = population.group_by().agg(n=sotto.count(), age=sotto.mean("Age")).run(epsilon=1).to_frame()
    assert list(frame.columns) == ["n", "n_half_width", "age", "age_half_width"]
    assert frame["n"].tolist() == [pytest.approx(10_000, abs=100)]


def test_sql(population: sotto.Dataset) -> None:
    statement = "SELECT Sex, COUNT(*) AS n, AVG(Age) AS age FROM population GROUP BY Sex ORDER BY Sex"
    answer = population.sql(statement, epsilon=1)
    frame = answer.to_frame()
    assert list(frame.columns) == ["Sex", "n", "n_half_width", "age", "age_half_width"]
    # The types follow from the columns, also if all values happen to be whole.
    assert frame.dtypes.astype(str).tolist()[1:] == ["Int64", "Float64", "Float64", "Float64"]
    assert frame["Sex"].tolist() == ["F", "M"]
    assert answer.query["kind"] == "groupBy"
    assert population.group_by("Sex").agg(n=sotto.count(), age=sotto.mean("Age")).run(epsilon=1).replayed
    assert population.preview("SELECT COUNT(*) FROM population", half_width=10, use="fresh").half_width == 10
    statement = "SELECT COUNT(*) FILTER (WHERE Sex = 'F') AS women, MIN(Age) AS a FROM population"
    several = population.sql(statement, epsilon=1)
    assert isinstance(several.answer, sotto.Batch)
    assert several.price.epsilon == 2
    assert list(several.to_frame().columns) == ["women", "women_half_width", "a", "a_rank_half_width"]
    assert "price of all" in repr(several)
    with pytest.raises(sotto.Problem) as caught:
        population.sql("SELECT p.Age FROM population p JOIN population q ON TRUE", epsilon=1)
    assert caught.value.field == "sql"
    assert "line 1" in str(caught.value.rule)


def test_practice_on_made_up_rows_is_free(client: sotto.Client, population: sotto.Dataset) -> None:
    before = spent(population)
    frame = population.dummy(rows=200, seed="a")
    assert frame.attrs["dummy"] is True
    assert len(frame) == 200
    assert list(frame.columns) == ["Sex", "Age", "Married", "Earnings", "Occupation"]
    assert frame["Sex"].dtype == "category"
    pd.testing.assert_frame_equal(frame, population.dummy(rows=200, seed="a"))
    people = population.dummy(rows=5, of="population")
    assert len(people) == 5
    pd.testing.assert_frame_equal(people, population.dummy(rows=6, of="population").head(5))
    practised = population.count(epsilon=0.1, on="dummy")
    assert (practised.dummy, practised.id) == (True, None)
    assert "made-up" in repr(practised)
    practice = client.dataset("population", on="dummy", rows=200, seed="a")
    assert practice.count(epsilon=500).value == pytest.approx(200, abs=2)
    assert practice.group_by("Sex").agg(n=sotto.count()).run(epsilon=1).dummy
    assert practice.batch([sotto.count(epsilon=1)])[0].dummy
    statement = "SELECT Sex, COUNT(*) AS n FROM population GROUP BY Sex"
    assert population.sql(statement, epsilon=1, on="dummy").answer.dummy
    assert practice.sql(statement, epsilon=500).to_frame()["n"].sum() == pytest.approx(200, abs=4)
    with pytest.raises(ValueError, match="practised"):
        practice.session(threshold=1, positives=1, epsilon=1)
    assert spent(population) == before


def test_history_has_questions_and_answers(
    client: sotto.Client, population: sotto.Dataset, custodian: httpx.Client, url: str
) -> None:
    where = col("Age") == 33
    counted = population.count(where=where, epsilon=0.1)
    young, _ = population.batch([sotto.count(where=where, epsilon=0.2), sotto.sum("Age", where=where, epsilon=0.2)])
    with population.session(threshold=33, positives=1, epsilon=0.3):
        pass
    history = population.history(from_=pd.Timestamp.now(tz="UTC") - pd.Timedelta(hours=1), limit=3)
    batch, session, count = sorted(history, key=lambda release: -(release.price.epsilon or 0))
    assert session.kind == "sparseVector"
    assert session.answer is None
    assert batch.answer[0].value == young.value
    assert count.question == {"kind": "count", "where": where.to_wire(), "epsilon": 0.1}
    assert (count.id, count.answer.value) == (counted.id, counted.value)
    again = client.release(str(counted.id))
    assert isinstance(again, sotto.Value)
    assert again.value == counted.value
    assert [release.kind for release in population.history(kind="batch", limit=1)] == ["batch"]
    frame = client.history().to_frame()
    assert len(frame) > 3
    assert frame["answered_at"].is_monotonic_decreasing
    assert set(frame["dataset"]) >= {"population"}
    with sotto.connect(url, key=custodian.headers["authorization"][7:]) as overseer:
        assert overseer.dataset("population").history(analyst=count.analyst, limit=1)[0].analyst == count.analyst


def test_post_processing_and_pictures_of_a_paid_release_are_free(population: sotto.Dataset) -> None:
    ages = [sotto.mean("Age"), sotto.count()]
    table = population.group_by("Occupation").agg(age=ages[0], n=ages[1]).run(epsilon=0.4, mechanism="laplace")
    before = spent(population)
    rounded = population.postprocess(table, round=True, non_negative=True)
    assert rounded.statistics == ["age", "n"]
    for one, other in zip(rounded.rows, table.rows, strict=True):
        assert one.values["n"].value == pytest.approx(max(0, other.values["n"].value), abs=0.5)
        assert one.values["n"].value % 1 == 0
    pictures = [population.plot(table, theme=theme) for theme in ("light", "dark")]
    assert all(picture.svg.startswith("<svg") for picture in pictures)
    assert pictures[0].svg != pictures[1].svg
    assert spent(population) == before


def test_facts_of_datasets(client: sotto.Client, mixed: sotto.Dataset) -> None:
    facts = mixed.describe()
    assert facts.to_frame()["name"].tolist() == ["member", "region", "score", "seen", "Diagnosis"]
    assert "timestamp" in repr(facts)
    assert {"clinic", "population", "mixed"} <= {dataset.id for dataset in client.datasets()}


def test_error_bars_by_matplotlib(population: sotto.Dataset) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    axes = population.histogram("Occupation", epsilon=0.5).errorbar()
    assert len(axes.containers) == 1
    assert len(axes.get_yticks()) == 5


def test_error_bars_of_one_statistic(population: sotto.Dataset) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib.figure import Figure

    table = population.group_by("Sex").agg(n=sotto.count(), age=sotto.mean("Age")).run(epsilon=0.5)
    assert len(table.errorbar(Figure().subplots()).containers) == 2
    axes = table.errorbar(Figure().subplots(), statistic="age")
    assert [len(axes.containers), axes.get_xlabel()] == [1, "age"]
    with pytest.raises(KeyError):
        table.errorbar(Figure().subplots(), statistic="other")
    with pytest.raises(TypeError):
        population.noisy_max("Sex", epsilon=0.5).errorbar(Figure().subplots())


def test_the_asynchronous_twin(url: str, population: sotto.Dataset) -> None:
    async def ask() -> tuple[sotto.Table, sotto.SessionAnswer, Any]:
        async with sotto.connect_async(url) as client:
            dataset = client.dataset("population")
            table = await dataset.group_by("Sex").agg(n=sotto.count()).run(epsilon=0.3)
            async with dataset.session(threshold=100, positives=1, epsilon=1) as session:
                above = await session.above(col("Age") >= 0)
            return table, above, await dataset.budget()

    table, above, budget = asyncio.run(ask())
    assert len(table) == 2
    assert above
    assert budget.remaining == population.budget().remaining


PHASES = ["upload", "wait", "copy", "check", "read", "store", "done"]


def test_a_custodian_registers_a_file(
    url: str, custodian: httpx.Client, client: sotto.Client, tmp_path: pathlib.Path
) -> None:
    file, run = tmp_path / "arrivals.csv", secrets.token_hex(4)
    lines = [f"{run}-{row % 300};{row % 28 + 1:02d}.03.2024;{row % 90},50" for row in range(5_000)]
    file.write_text("\n".join(["patient_id;arrived;cost", *lines, ""]))
    seen: list[sotto.Progress] = []
    with sotto.connect(url, key=custodian.headers["authorization"][7:]) as own:
        draft = own.draft(file)
        assert draft.declaration["source"]["csv"] == {"delimiter": ";", "decimal": ","}
        assert "columns.1.lower" in draft.questions
        with pytest.raises(sotto.InvalidRequest, match="open questions"):
            own.register(draft.declaration, file, dry_run=True)
        identifier, arrived, cost = draft.declaration["columns"]
        arrived.update(lower="2024-01-01", upper=pd.Timestamp("2024-12-31"))
        cost.update(lower=0, upper=80, step=0.5)
        unit = {"kind": "person", "column": identifier["name"], "maxRows": 20}
        draft.declaration.update(id=f"arrivals-{run}", privacyUnit=unit, budget={"epsilon": 1_000_000})
        tried = own.register(draft.declaration, file, dry_run=True)
        assert (tried.dry_run, tried.version, tried.counts["rowsStored"]) == (True, None, 5_000)
        registration = own.register(draft.declaration, file, progress=seen.append)
        again = own.register(draft.declaration, file)
    assert registration.version == again.version == "1"
    # Of the costs from 0.5 to 89.5, ten are beyond 80.
    assert "values of cost clamped" in repr(registration)
    assert "arrivals.csv" not in [source["name"] for source in custodian.get("/v1/sources").json()["sources"]]
    phases = [progress.phase for progress in seen]
    assert phases == sorted(phases, key=PHASES.index)
    for phase in set(phases):
        fractions = [progress.fraction or 0 for progress in seen if progress.phase == phase]
        assert fractions == sorted(fractions)
    uploading = [progress for progress in seen if progress.phase == "upload"]
    assert [uploading[0].sent_bytes, uploading[-1].sent_bytes] == [0, file.stat().st_size]
    assert [(progress.phase, progress.fraction) for progress in (uploading[-1], seen[-1])] == [
        ("upload", 1),
        ("done", 1),
    ]
    arrivals = client.dataset(registration.id)
    assert arrivals.count(epsilon=1_000).value == pytest.approx(5_000, abs=10)
    costs = [min(80, row % 90 + 0.5) for row in range(5_000)]
    assert arrivals.mean("cost", epsilon=1_000).value == pytest.approx(sum(costs) / len(costs), abs=0.05)


def test_a_custodian_registers_a_frame_and_publishes_another(
    url: str, custodian: httpx.Client, client: sotto.Client
) -> None:
    run = secrets.token_hex(4)
    seen = pd.Timestamp("2024-05-01T13:30Z")
    frame = pd.DataFrame({"seen": seen, "member": [True, False, True], "score": [1, 2.5, None], "undeclared": run})
    declaration = {
        "id": f"frame-{run}",
        "title": "Rows of a frame",
        "columns": [
            {"name": "seen", "type": "timestamp", "lower": "2024-01-01", "upper": "2024-12-31", "step": 60},
            {"name": "member", "type": "boolean"},
            {"name": "score", "type": "number", "lower": 0, "upper": 10, "step": 0.5, "nullable": True},
        ],
        "privacyUnit": {"kind": "row"},
        "neighbours": "add-remove",
        "budget": {"epsilon": 1_000_000},
    }
    with sotto.connect(url, key=custodian.headers["authorization"][7:]) as own:
        counts = own.register(declaration, frame).counts
        assert [column["values"] for column in counts["invalidValues"]] == [0, 0, 0]
        dataset = client.dataset(f"frame-{run}")
        members = dataset.histogram("member", epsilon=1_000)
        assert members.to_frame()["count"].tolist() == [1, 2]
        more = pd.concat([frame, frame])
        assert own.dataset(dataset.id).publish(more, dry_run=True).dry_run
        assert own.dataset(dataset.id).publish(more).version == "2"
    assert dataset.count(where=col("score").is_null(), epsilon=1_000).value == 2


def test_a_registration_survives_lost_connections(url: str, custodian: httpx.Client) -> None:
    id = f"lossy-{secrets.token_hex(4)}"
    declaration = {
        "id": id,
        "title": "Registered twice",
        "columns": [{"name": "score", "type": "integer", "lower": 0, "upper": 10}],
        "privacyUnit": {"kind": "row"},
        "neighbours": "add-remove",
        "budget": {"epsilon": 1},
    }
    frame = pd.DataFrame({"score": [1, 2, 3], "undeclared": id})
    # The first response is cut to the upload, and to the registration, after it was published.
    with CuttingProxy(url, {0, 2}) as proxy:
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        with sotto.connect(proxy.url, custodian.headers["authorization"][7:], retries=FAST) as lossy:
            registration = lossy.register(declaration, frame)
        assert proxy.posts == 4
        proxy.shutdown()
    assert (registration.version, registration.counts["rowsStored"]) == ("1", 3)
    assert [version["version"] for version in custodian.get(f"/v1/datasets/{id}/versions").json()["versions"]] == ["1"]
