"""What clients, datasets, groups and sessions can do, as operations without a transport.

`client.py` and `aio.py` attach each operation to a synchronous and to an asynchronous method.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, TypeVar, cast
from urllib.parse import quote

import pandas as pd

from .amounts import Budget
from .answers import Answer, Batch, Marginals, Picture, Preview, SessionAnswer, Table, read_answer
from .columns import Where
from .problems import Problem, SottoError, UnexpectedResponse
from .progress import Progress, Report, SentFile, show_progress
from .protocol import Operation, Reply, Request, Retries, Watch, exchange
from .query import A, Contribution, Groups, On, Query, Subject, SupposableOptions
from .registering import Data, Draft, Registration, Tables, data_name, opened
from .releases import DatasetFacts, History, Release, SqlAnswer, dummy_frame
from .values import Json, wire, wire_time

if sys.version_info >= (3, 11):
    from typing import Unpack
else:
    from typing_extensions import Unpack

T = TypeVar("T")

LOOK_EVERY_SECONDS = 1.0
"""Time between two requests for the progress of an ingestion."""

Asked: TypeAlias = Query[Any] | Mapping[str, Any]
"""A query, or its JSON in the form of the service."""

Plan: TypeAlias = Literal["together", "separate"]
"""How the queries of a batch are planned."""

Objective: TypeAlias = Literal["largest", "total"]
"""What the tables that are measured together are chosen for."""


@dataclass(frozen=True)
class ServiceOperations:
    """Operations that concern no particular dataset."""

    retries: Retries = field(default_factory=Retries)

    def _get(self, path: str, **parameters: Any) -> Operation[Reply]:
        given = {name: str(value) for name, value in parameters.items() if value is not None}
        return exchange(Request("GET", path, parameters=given), self.retries)

    def _post(
        self,
        path: str,
        body: Json,
        idempotency_key: str | None = None,
        parameters: Mapping[str, str] | None = None,
    ) -> Operation[Reply]:
        headers = {} if idempotency_key is None else {"Idempotency-Key": idempotency_key}
        return exchange(Request("POST", path, body, parameters or {}, headers), self.retries)

    def _list(
        self,
        path: str,
        name: str,
        filters: Mapping[str, Any] | None = None,
        *,
        most: int = sys.maxsize,
        page: int = 500,
    ) -> Operation[list[Any]]:
        """Read a list page by page, and at most `most` entries of it."""
        entries: list[Any] = []
        cursor: str | None = None
        while len(entries) < most:
            limit = min(page, most - len(entries))
            reply = yield from self._get(path, cursor=cursor, limit=limit, **(filters or {}))
            document = reply.json()
            entries += document[name]
            cursor = document.get("next")
            if cursor is None:
                break
        return entries

    def datasets(self) -> Operation[list[DatasetFacts]]:
        """Return the public facts of all datasets."""
        entries = yield from self._list("/v1/datasets", "datasets")
        return [DatasetFacts(entry) for entry in entries]

    def release(self, id: str) -> Operation[Answer | Batch]:
        """Return a stored answer again, at no cost."""
        reply = yield from self._get(f"/v1/releases/{quote(id, safe='')}")
        return Release.answer_of(reply.json(), {})

    def batch_across(
        self, population: str, queries: Mapping[str, Iterable[Asked]], *, idempotency_key: str | None = None
    ) -> Operation[dict[str, Batch]]:
        """Answer queries about several datasets of a population, by dataset, charged as their sum or not at all."""
        bodies = {dataset: _bodies(each) for dataset, each in queries.items()}
        body: Json = {"batches": [{"dataset": dataset, "queries": each} for dataset, each in bodies.items()]}
        path = f"/v1/populations/{quote(population, safe='')}/queries/batch"
        reply = yield from self._post(path, body, idempotency_key)
        # Those that had been answered before state what they cost then.
        return {
            document["dataset"]: Batch(document, bodies[document["dataset"]], "price" in document)
            for document in reply.json()["batches"]
        }

    def postprocess(
        self, release: Answer | Batch | str, *, round: bool = False, non_negative: bool = False
    ) -> Operation[Any]:
        """Round the values of a paid answer, or replace negative ones by 0, at no cost."""
        path = f"/v1/releases/{_release_id(release)}/postprocess"
        reply = yield from self._post(path, {"round": round, "nonNegative": non_negative})
        document = reply.json()
        if isinstance(release, Answer):
            names = release.names if isinstance(release, Table) else None
            return read_answer(document, release.question, release.replayed, names)
        return Release.answer_of(document, {})

    def plot(self, release: Answer | Batch | str, *, theme: Literal["light", "dark"] = "light") -> Operation[Picture]:
        """Draw a paid answer with error bars, at no cost. The service makes the SVG."""
        reply = yield from self._get(f"/v1/releases/{_release_id(release)}/plot", theme=theme)
        return Picture(reply.content.decode())

    def tables(self, release: Answer | str) -> Operation[Marginals]:
        """Return a paid answer of `marginals` with all of its tables, also the largest, at no cost."""
        path = f"/v1/releases/{_release_id(release)}"
        reply = yield from self._get(path)
        document = reply.json()
        reply = yield from self._get(f"{path}/tables", format="json")
        values = {tuple(table["columns"]): table["values"] for table in reply.json()["tables"]}
        tables = [{**table, "values": values[tuple(table["columns"])]} for table in document["result"]["tables"]]
        return Marginals({**document, "result": {**document["result"], "tables": tables}}, {}, replayed=True)

    def history(
        self,
        *,
        dataset: str | None = None,
        kind: str | None = None,
        analyst: str | None = None,
        from_: Any = None,
        to: Any = None,
        limit: int = 1_000,
    ) -> Operation[History]:
        """Return paid answers with their questions, newest first, at most `limit` of them.

        Analysts see their own, auditors and custodians those of all analysts, or of one `analyst`. They were answered
        at `from_` or later, and before `to`: dates or times.
        """
        period = {name: _time_text(at) for name, at in (("from", from_), ("to", to)) if at is not None}
        filters = {"dataset": dataset, "kind": kind, "analyst": analyst, **period}
        entries = yield from self._list("/v1/releases", "releases", filters, most=limit, page=100)
        return History([Release(entry) for entry in entries])

    def draft(self, data: Data, *, show_data_hints: bool = False, progress: Report = show_progress) -> Operation[Draft]:
        """Propose a declaration of a CSV or Parquet file, or of a data frame: names, types, the form of the file.

        Needs the key of a custodian, as `register` and `publish` do. The rows are uploaded, and then deleted there.
        """

        def propose(upload: Mapping[str, Any]) -> Operation[Draft]:
            source: Json = {"kind": "upload", "upload": upload["id"]}
            reply = yield from self._post("/v1/drafts", {"source": source, "showDataHints": show_data_hints})
            return Draft(reply.json())

        return (yield from _reported(self._with_upload(data, progress, propose), data_name(data), progress))

    def register(
        self,
        declaration: Mapping[str, Any],
        data: Tables | None = None,
        *,
        dry_run: bool = False,
        progress: Report = show_progress,
    ) -> Operation[Registration]:
        """Register a dataset, with the rows of a file or data frame, or else of the source in its declaration.

        Tables of a joined source are given by their names; the source in the declaration has the joins. A dry run
        checks the declaration and every value, and publishes nothing. The rows are uploaded, and deleted in the
        end; the dataset remains. The same registration again changes nothing.
        """
        work = self._ingest("/v1/datasets", str(declaration.get("id")), declaration, data, dry_run, progress)
        return (yield from work)

    def _ingest(
        self,
        path: str,
        dataset: str,
        declaration: Mapping[str, Any],
        data: Tables | None,
        dry_run: bool,
        progress: Report,
    ) -> Operation[Registration]:
        parameters = {"dryRun": "true"} if dry_run else {}
        look = functools.partial(_report_ingestion, dataset, progress)
        watch = Watch(Request("GET", "/v1/ingestions"), look, LOOK_EVERY_SECONDS)

        def send(source: Mapping[str, Any]) -> Operation[Registration]:
            body = wire({**declaration, **source})
            reply = yield from exchange(Request("POST", path, body, parameters, watch=watch), self.retries)
            return Registration(reply.json())

        source = declaration.get("source", {})

        def send_tables(left: Mapping[str, Data], tables: Mapping[str, Json]) -> Operation[Registration]:
            if not left:
                return send({"source": {**source, "kind": "joined", "tables": tables}})
            name, *others = left

            def send_next(upload: Mapping[str, Any]) -> Operation[Registration]:
                table = _upload_source(upload, source.get("tables", {}).get(name, {}))
                return send_tables({other: left[other] for other in others}, {**tables, name: table})

            return self._with_upload(left[name], progress, send_next)

        if data is None:
            work = send({})
        elif isinstance(data, Mapping):
            work = send_tables(data, {})
        else:
            work = self._with_upload(data, progress, lambda upload: send({"source": _upload_source(upload, source)}))
        return (yield from _reported(work, dataset, progress))

    def _with_upload(
        self, data: Data, progress: Report, use: Callable[[Mapping[str, Any]], Operation[T]]
    ) -> Operation[T]:
        """Upload rows, use the upload, and delete it. One that remains, because the connection was lost, expires."""
        with opened(data) as file:
            sent = SentFile(data_name(data), file, progress)
            reply = yield from exchange(Request("POST", "/v1/sources", file=sent), self.retries)
        upload = reply.json()
        try:
            result = yield from use(upload)
        except Problem:
            yield from self._delete_upload(upload)
            raise
        yield from self._delete_upload(upload)
        return result

    def _delete_upload(self, upload: Mapping[str, Any]) -> Operation[None]:
        with contextlib.suppress(SottoError):
            yield from exchange(Request("DELETE", f"/v1/sources/{upload['id']}"), Retries(attempts=1))


def _upload_source(upload: Mapping[str, Any], form: Mapping[str, Any]) -> Json:
    """Return an upload as a source, with the form of the file that is declared."""
    return {"format": upload["format"], **form, "kind": "upload", "upload": upload["id"]}


def _reported(work: Operation[T], name: str, progress: Report) -> Operation[T]:
    """Report the end of work."""
    end = Progress(name, "failed")
    try:
        result = yield from work
        end = Progress(name, "done", 1.0)
        return result
    finally:
        progress(end)


def _report_ingestion(dataset: str, progress: Report, reply: Reply) -> None:
    """Report the newest ingestion of a dataset, if the service lists one."""
    # Without its progress, the ingestion goes on.
    with contextlib.suppress(UnexpectedResponse):
        listed = reply.json()["ingestions"] if reply.status == 200 else []
        for ingestion in [each for each in listed if each["dataset"] == dataset][:1]:
            progress(Progress(dataset, ingestion["phase"], ingestion.get("fraction")))


def _release_id(release: Answer | Batch | str) -> str:
    id = release if isinstance(release, str) else release.id
    if id is None:
        raise ValueError("this answer is not a release of its own")
    return quote(id, safe="")


def _time_text(at: Any) -> str:
    return at if isinstance(at, str) else wire_time(at)


@dataclass(frozen=True)
class DatasetOperations(ServiceOperations):
    """Operations on one dataset."""

    id: str = ""
    on: On = "data"
    rows: int | None = None
    """Number of made-up rows to practise on."""
    seed: str | None = None
    """Seed of the made-up rows."""

    @property
    def path(self) -> str:
        """Path of the dataset."""
        return f"/v1/datasets/{quote(self.id, safe='')}"

    def _practice(self, on: On | None) -> dict[str, str]:
        """Return the parameters of a request that made-up rows shall answer; none if the data shall."""
        if (on or self.on) != "dummy":
            return {}
        size = {"rows": self.rows, "seed": self.seed}
        return {"on": "dummy", **{name: str(value) for name, value in size.items() if value is not None}}

    def describe(self) -> Operation[DatasetFacts]:
        """Return the public facts of the dataset: columns, bounds, categories, privacy unit."""
        reply = yield from self._get(self.path)
        return DatasetFacts(reply.json())

    def budget(self) -> Operation[Budget]:
        """Return the budget and, if you have one, your allotment."""
        reply = yield from self._get(f"{self.path}/budget")
        return Budget(reply.json())

    def ask(self, query: Query[A], names: Mapping[str, str] | None = None) -> Operation[A]:
        """Answer a query, and charge it unless its answer is stored."""
        reply = yield from self._post(
            f"{self.path}/queries", query.body, query.idempotency_key, self._practice(query.on)
        )
        return cast("A", read_answer(reply.json(), query.body, reply.replayed, names))

    def ask_json(self, query: Mapping[str, Any]) -> Operation[Answer]:
        """Answer a query in the form of the service, such as `{"kind": "count", "epsilon": 0.1}`."""
        answer: Answer = yield from self.ask(_query_of(query))
        return answer

    def batch(
        self,
        queries: Iterable[Asked],
        *,
        plan: Plan | None = None,
        objective: Objective | None = None,
        weights: Sequence[float] | None = None,
        on: On | None = None,
        idempotency_key: str | None = None,
    ) -> Operation[Batch]:
        """Answer up to 100 queries for one charge, all or none. Queries about disjoint rows share a price.

        Counts, sums and tables of them, of the same rows, are planned together where that costs less, unless `plan`
        says otherwise.
        """
        bodies = _bodies(queries)
        body: Json = {"queries": bodies, **_terms(plan, objective, weights)}
        reply = yield from self._post(f"{self.path}/queries/batch", body, idempotency_key, self._practice(on))
        return Batch(reply.json(), bodies, reply.replayed)

    def sql(self, statement: str, **options: Unpack[SupposableOptions]) -> Operation[SqlAnswer]:
        """Answer a SELECT statement over the dataset, with `epsilon=` or `half_width=`."""
        query = Query[Any]("sql", {"sql": statement}, options)
        reply = yield from self._post(f"{self.path}/sql", query.terms, query.idempotency_key, self._practice(query.on))
        return SqlAnswer(reply.json(), reply.replayed)

    def preview(
        self,
        query: Asked | Iterable[Asked] | str,
        *,
        plan: Plan | None = None,
        objective: Objective | None = None,
        weights: Sequence[float] | None = None,
        **options: Unpack[SupposableOptions],
    ) -> Operation[Preview]:
        """Return cost and accuracy of a query, of a list of queries (a batch) or of a SQL text. Nothing is charged."""
        terms = _terms(plan, objective, weights)
        if terms and isinstance(query, str | Query | Mapping):
            raise TypeError("plan, objective and weights belong to a list of queries")
        if isinstance(query, str):
            reply = yield from self._post(f"{self.path}/sql/preview", Query[Any]("sql", {"sql": query}, options).terms)
            return Preview(reply.json()["preview"])
        if options:
            raise TypeError("options belong to the query itself; only a SQL text takes them here")
        if isinstance(query, Query | Mapping):
            reply = yield from self._post(f"{self.path}/queries/preview", _query_of(query).body)
        else:
            body: Json = {"queries": _bodies(query), **terms}
            reply = yield from self._post(f"{self.path}/queries/batch/preview", body)
        return Preview(reply.json())

    def dummy(
        self, rows: int = 1_000, seed: str | None = None, of: Literal["declaration", "population"] = "declaration"
    ) -> Operation[pd.DataFrame]:
        """Return made-up rows to practise on, which follow from the declaration of the dataset alone.

        The same rows answer queries with `on="dummy"`. `attrs` marks them as dummy. With `of="population"` they are the
        first of the own people of a dataset whose source is a made-up population, which has a seed.
        """
        facts = yield from self.describe()
        reply = yield from self._get(f"{self.path}/dummy", rows=rows, seed=seed, of=of, format="json")
        return dummy_frame(reply.json(), facts, seed or ("dummy" if of == "declaration" else None))

    def own_history(
        self,
        *,
        kind: str | None = None,
        analyst: str | None = None,
        from_: Any = None,
        to: Any = None,
        limit: int = 1_000,
    ) -> Operation[History]:
        """Return paid answers on this dataset with their questions, newest first, at most `limit` of them."""
        page = self.history(dataset=self.id, kind=kind, analyst=analyst, from_=from_, to=to, limit=limit)
        return (yield from page)

    def publish(
        self,
        data: Tables | None = None,
        declaration: Mapping[str, Any] | None = None,
        *,
        dry_run: bool = False,
        progress: Report = show_progress,
    ) -> Operation[Registration]:
        """Publish a version with the rows of a file or data frame, or with the present source read again.

        Of a declaration, the columns, the derived ones and the form of the file are taken; columns are by default
        those of the present version. The same rows again change nothing.
        """
        given = declaration or {}
        brought = {name: given[name] for name in ("source", "columns", "derived", "separateBudget") if name in given}
        return (yield from self._ingest(f"{self.path}/versions", self.id, brought, data, dry_run, progress))


def dataset_operations(
    service: ServiceOperations, id: str, on: On, rows: int | None, seed: str | None
) -> DatasetOperations:
    """Return the operations on one dataset.

    Raises:
        ValueError: if made-up rows are described, and the data shall answer.

    """
    if on == "data" and (rows is not None or seed is not None):
        raise ValueError('rows and seed are for on="dummy"')
    return DatasetOperations(service.retries, id, on, rows, seed)


def _query_of(query: Asked) -> Query[Any]:
    if isinstance(query, Query):
        return query
    fields = {name: wire(value, name) for name, value in query.items()}
    made = Query[Any](str(fields.pop("kind", "")), {})
    made.body.update(fields)
    return made


def _terms(plan: Plan | None, objective: Objective | None, weights: Sequence[float] | None) -> dict[str, Json]:
    listed: list[Json] | None = None if weights is None else [*weights]
    terms: dict[str, Json] = {"plan": plan, "objective": objective, "weights": listed}
    return {name: value for name, value in terms.items() if value is not None}


def _bodies(queries: Iterable[Asked]) -> list[Json]:
    made = [_query_of(query) for query in queries]
    if any(query.on or query.idempotency_key for query in made):
        raise ValueError("on and idempotency_key belong to the batch")
    return [query.body for query in made]


@dataclass(frozen=True)
class GroupOperations:
    """Operations on groups of rows."""

    dataset: DatasetOperations
    groups: Groups

    def with_statistics(self, statistics: Mapping[str, Query[Any]]) -> GroupOperations:
        """Return the groups with further statistics."""
        return GroupOperations(self.dataset, self.groups.with_statistics(statistics))

    def run(self, **options: Unpack[SupposableOptions]) -> Operation[Table]:
        """Answer the statistics of all groups. All groups together cost as much as one."""
        query, names = self.groups.query(options)
        return (yield from self.dataset.ask(query, names))

    def preview(self, **options: Unpack[SupposableOptions]) -> Operation[Preview]:
        """Return cost and accuracy. Nothing is charged."""
        query, names = self.groups.query(options)
        return Preview((yield from self.dataset.preview(query)).document, names)


class SessionOperations:
    """Operations of a session, which is opened, and charged, on its first use."""

    def __init__(self, dataset: DatasetOperations, body: dict[str, Json], idempotency_key: str | None) -> None:
        self.dataset = dataset
        self.body = body
        self.idempotency_key = idempotency_key
        self.opened: dict[str, Any] | None = None

    @property
    def positives_left(self) -> int | None:
        """Number of answers `above` left; None before the session is opened."""
        return None if self.opened is None else int(self.opened["positivesLeft"])

    def open(self) -> Operation[None]:
        """Open the session, and charge it unless a session with the same terms is open already."""
        if self.opened is not None:
            return
        path = f"{self.dataset.path}/sparse-vector-sessions"
        reply = yield from self.dataset._post(path, self.body, self.idempotency_key)
        opened = reply.json()
        if reply.replayed:
            state = yield from self.dataset._get(f"/v1/sparse-vector-sessions/{opened['id']}", limit=1)
            opened["positivesLeft"] = state.json()["positivesLeft"]
        self.opened = opened

    def above(self, where: Where) -> Operation[SessionAnswer]:
        """Ask if at least `threshold` rows (or people) satisfy the condition."""
        yield from self.open()
        assert self.opened is not None
        path = f"/v1/sparse-vector-sessions/{self.opened['id']}/questions"
        reply = yield from self.dataset._post(path, {"where": wire(where)})
        answer = SessionAnswer(reply.json())
        # A repeated question shows the state after its first answer.
        self.opened["positivesLeft"] = min(answer.positives_left, self.opened["positivesLeft"])
        return answer

    def preview(self) -> Operation[Preview]:
        """Return cost and accuracy of the session. Nothing is charged."""
        path = f"{self.dataset.path}/sparse-vector-sessions/preview"
        reply = yield from self.dataset._post(path, self.body)
        return Preview(reply.json())


def session_operations(
    dataset: DatasetOperations,
    threshold: int,
    positives: int,
    epsilon: Any,
    of: Subject | None = None,
    contribution: Contribution | None = None,
    idempotency_key: str | None = None,
) -> SessionOperations:
    """Return a session that has not been opened yet.

    Raises:
        ValueError: for a dataset with `on="dummy"`. A session cannot be practised, and would be charged.

    """
    if dataset.on == "dummy":
        raise ValueError("a session cannot be practised on made-up rows")
    terms = {"threshold": threshold, "positives": positives, "of": of, "contribution": contribution}
    return SessionOperations(dataset, Query[Any]("sparseVector", terms, {"epsilon": epsilon}).terms, idempotency_key)
