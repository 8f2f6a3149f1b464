import {
  type Amount,
  type Answer,
  type AnswerDocument,
  type Batch,
  type BatchDocument,
  type GroupsAnswer,
  type MarginalsAnswer,
  readAnswer,
  readBatch,
} from './answers.ts'
import type { Grouping, Where } from './columns.ts'
import {
  type Connection,
  type ConnectionOptions,
  jsonOf,
  type Key,
  openConnection,
  pagesOf,
  type Request,
  wholeList,
} from './connection.ts'
import { type Decimal, wire } from './decimal.ts'
import { groupQuery, renamed, type Statistic } from './groups.ts'
import * as queries from './queries.ts'
import {
  type CallOptions,
  type Counted,
  fieldsOf,
  type Kind,
  type Query,
  type SupposableOptions,
} from './query.ts'
import type { components } from './schema.ts'

type Schemas = components['schemas']

/** Facts about made-up rows that answer queries, free of charge. */
export interface Practice {
  readonly on: 'dummy'
  /** Number of made-up rows. Default: 1,000. */
  readonly rows?: number
  /** The same declaration, number of rows and seed always give the same rows. Default: `dummy`. */
  readonly seed?: string
}

/** Options of a SQL statement: those of the query that it is translated to. */
export type SqlOptions = Omit<SupposableOptions, 'where'>

/** Rows of a SQL statement, and the answer that they were made from. */
export interface SqlAnswer {
  readonly columns: Schemas['SqlAnswer']['columns']
  /** A record for each row, by the names of the columns. */
  readonly rows: readonly Readonly<Record<string, string | number | boolean | null>>[]
  readonly notes: readonly string[]
  /** Query that the statement was translated to, or the batch if it means several. */
  readonly query: Schemas['SqlAnswer']['query']
  readonly answer: Answer | Batch
  readonly raw: Schemas['SqlAnswer']
}

/** A stored release, as the history lists it. */
export type Release = Schemas['ListedRelease']

/** Selects stored releases. */
export interface HistoryFilter {
  /** Kind of the query, `batch` or `sparseVector`. */
  readonly kind?: NonNullable<Release['kind']>
  /** Name of an analyst, for auditors and custodians. */
  readonly analyst?: string
  /** Earliest time of the answer. */
  readonly from?: Date | string
  /** Time before which the answer was given. */
  readonly to?: Date | string
  /** Releases in one page. Default: 50. */
  readonly limit?: number
  readonly signal?: AbortSignal
}

/** Changes to the values of a stored answer. Without any, they are shown as measured. */
export interface Postprocessing {
  /** Rounds to whole numbers. */
  readonly round?: boolean
  /** Replaces negative values by 0. */
  readonly nonNegative?: boolean
  readonly signal?: AbortSignal
}

/** A release, by its answer or its id. */
export type ReleaseReference = string | { readonly id: string | undefined }

/** Client of one service with one key. */
export interface Client {
  /** Returns the public facts of the datasets that the key may use. */
  datasets(options?: Pick<CallOptions, 'signal'>): Promise<readonly Schemas['Dataset'][]>
  /** Returns a dataset, without a request. With `{ on: 'dummy' }` made-up rows answer its queries, free of charge. */
  dataset(id: string, practice?: Practice): Dataset
  /** Answers queries about several datasets of a population, by dataset, for one charge of their sum, all or none. */
  batch<Id extends string>(
    population: string,
    queries: Readonly<Record<Id, readonly Query[]>>,
    options?: CallOptions,
  ): Promise<Readonly<Record<Id, Batch>>>
  /** Returns a stored answer, at no cost. */
  release(
    reference: ReleaseReference,
    options?: Pick<CallOptions, 'signal'>,
  ): Promise<Answer | Batch | OpenedSession>
  /** Lists stored releases, newest first, page by page. */
  history(filter?: HistoryFilter & { readonly dataset?: string }): AsyncIterableIterator<Release>
  /** Rounds a stored answer, or replaces its negative values by 0, at no cost. */
  postprocess(reference: ReleaseReference, options: Postprocessing): Promise<Answer | Batch>
  /** Returns a picture of a stored answer as SVG, at no cost. */
  plot(
    reference: ReleaseReference,
    options?: { readonly theme?: 'light' | 'dark'; readonly signal?: AbortSignal },
  ): Promise<string>
  /** Returns a stored answer of `marginals` with all of its tables, also those that are too large for it, at no cost. */
  tables(reference: ReleaseReference, options?: Pick<CallOptions, 'signal'>): Promise<MarginalsAnswer>
}

/**
 * Returns a client of the service at an address. It sends nothing yet.
 * @param url address such as `https://sotto.example.org`; a browser page of the same origin may pass `/`
 * @param key API key or access token, or a function that returns the current one
 */
export function connect(url: string, key: Key, options: ConnectionOptions = {}): Client {
  const send = openConnection(url, key, options)
  return {
    datasets: ({ signal } = {}) => wholeList(send, 'datasets', { path: '/v1/datasets', signal }),
    dataset: (id, practice) => datasetOf(send, id, practice),
    batch: (population, queries, options) => answersAcross(send, population, queries, options),
    release: async (reference, { signal } = {}) => {
      const document = jsonOf<AnswerDocument | BatchDocument | Schemas['OpenedSession']>(
        await send({ method: 'GET', path: releasePath(reference), signal }),
      )
      if ('answers' in document) return readBatch(document, true)
      return 'result' in document ? readAnswer(document, true) : openedSession(document, true)
    },
    history: (filter = {}) => listReleases(send, filter),
    postprocess: (reference, options) => postprocessed(send, reference, options),
    plot: (reference, options) => plotted(send, reference, options),
    tables: (reference, options) => tablesOf(send, reference, options),
  }
}

async function answersAcross<Id extends string>(
  send: Connection,
  population: string,
  queries: Readonly<Record<Id, readonly Query[]>>,
  { idempotencyKey, signal }: CallOptions = {},
): Promise<Readonly<Record<Id, Batch>>> {
  const batches = Object.entries<readonly Query[]>(queries).map(([dataset, each]) => ({
    dataset,
    queries: each.map(({ body }) => body),
  }))
  const path = `/v1/populations/${encodeURIComponent(population)}/queries/batch`
  const reply = await send({ method: 'POST', path, body: { batches }, idempotencyKey, signal })
  const { batches: documents } = jsonOf<Schemas['PopulationBatchAnswer']>(reply)
  // One that had been answered before states what it cost then.
  const read = documents.map((each, place) => [
    each.dataset,
    readBatch(each, each.price !== undefined, batches[place]?.queries),
  ])
  return Object.fromEntries(read) as Record<Id, Batch>
}

/** Methods that answer one query each: one for each function of `queries.ts`. */
type Asking = {
  readonly [K in Kind as K extends 'groupBy' ? never : K]: (typeof queries)[K &
    keyof typeof queries] extends (...given: infer Given) => Query<K>
    ? (...given: Given) => Promise<Answer<K>>
    : never
}

/** How the queries of a batch are planned: `together` where that costs less, by default. */
export type BatchTerms = Pick<Schemas['Batch'], 'plan' | 'objective' | 'weights'>

function termsOf({ plan, objective, weights }: BatchTerms): BatchTerms {
  return {
    ...(plan === undefined ? {} : { plan }),
    ...(objective === undefined ? {} : { objective }),
    ...(weights === undefined ? {} : { weights }),
  }
}

/** A dataset of a service. Its methods answer queries, and charge them unless their answer is stored. */
export interface Dataset extends Asking {
  readonly id: string
  /** Answers a query of `count(...)` and the like. */
  ask<K extends Kind>(query: Query<K>): Promise<Answer<K>>
  /** Divides the rows into groups: `groupBy('Sex').agg({ n: count() }).run({ epsilon: 0.5 })`. */
  groupBy(...keys: readonly Grouping[]): Groups<never>
  /** Answers several queries for one charge, all or none. */
  batch<const Queries extends readonly Query[]>(
    queries: Queries,
    options?: CallOptions & BatchTerms,
  ): Promise<Batch<{ readonly [Place in keyof Queries]: Answer<Queries[Place]['kind']> }>>
  /** Answers a SELECT statement. */
  sql(statement: string, options: SqlOptions): Promise<SqlAnswer>
  /** Returns cost, accuracy and disclosure risk of a query, without a charge. */
  preview(query: Query): Promise<Schemas['Preview']>
  /** Returns cost, accuracy and disclosure risk of a batch, without a charge. */
  previewBatch(
    queries: readonly Query[],
    options?: Pick<CallOptions, 'signal'> & BatchTerms,
  ): Promise<Schemas['BatchPreview']>
  /** Returns the query that a SELECT statement is translated to, and its preview. */
  previewSql(statement: string, options: SqlOptions): Promise<Schemas['SqlPreview']>
  /** Returns the public facts of the dataset. */
  describe(options?: Pick<CallOptions, 'signal'>): Promise<Schemas['Dataset']>
  /** Returns the budget of the dataset and, for an analyst who has one, the allotment. */
  budget(options?: Pick<CallOptions, 'signal'>): Promise<Schemas['BudgetReport']>
  /** Lists stored releases of the dataset, newest first, page by page. */
  history(filter?: HistoryFilter): AsyncIterableIterator<Release>
  /** Returns made-up rows that fit the declaration of the dataset, or the first of its own people if they are made up. */
  dummy(options?: {
    readonly of?: 'declaration' | 'population'
    readonly rows?: number
    readonly seed?: string
    readonly signal?: AbortSignal
  }): Promise<readonly Readonly<Record<string, string | number | boolean | null>>[]>
  /** Opens a session that reports if the rows that satisfy a condition reach the threshold, for one charge. */
  session(terms: SessionTerms): Promise<Session>
  /** As {@link Client.postprocess}. */
  postprocess: Client['postprocess']
  /** As {@link Client.plot}. */
  plot: Client['plot']
}

function datasetOf(send: Connection, id: string, practice?: Practice): Dataset {
  const path = `/v1/datasets/${encodeURIComponent(id)}`
  // Made-up rows are chosen by parameters. A plain object, because every field of it is sent.
  const parameters =
    practice === undefined ? {} : { on: practice.on, rows: practice.rows, seed: practice.seed }
  const post = (place: string, body: unknown, { idempotencyKey, signal }: CallOptions, charged = true) =>
    send({
      method: 'POST',
      path: `${path}/${place}`,
      body,
      idempotencyKey,
      signal,
      parameters: charged ? parameters : {},
    })
  const get = async <Document>(place: string, signal?: AbortSignal, given: Request['parameters'] = {}) =>
    jsonOf<Document>(await send({ method: 'GET', path: `${path}${place}`, signal, parameters: given }))
  const ask = async (query: Query) => {
    const reply = await post('queries', query.body, query)
    return readAnswer(jsonOf(reply), reply.replayed, query.body)
  }
  const asking = Object.fromEntries(
    Object.entries(queries).map(([kind, build]) => [
      kind,
      // The functions of queries.ts take the same parameters as the methods.
      (...given: readonly unknown[]) => ask((build as (...given: readonly unknown[]) => Query)(...given)),
    ]),
  ) as unknown as Asking
  const bodyOf = (statement: string, options: SqlOptions) => ({
    sql: statement,
    ...fieldsOf(options),
  })
  const methods: Omit<Dataset, keyof Asking> = {
    id,
    ask: ask as Dataset['ask'],
    groupBy: (...keys) => groupsOf(ask, keys, {}),
    batch: async (batch, options = {}) => {
      const bodies = batch.map(({ body }) => body)
      const reply = await post('queries/batch', { queries: bodies, ...termsOf(options) }, options)
      return readBatch(jsonOf(reply), reply.replayed, bodies) as Batch<never>
    },
    sql: async (statement, options) => {
      const reply = await post('sql', bodyOf(statement, options), options)
      return sqlAnswer(jsonOf(reply), reply.replayed)
    },
    preview: async (query) =>
      jsonOf(await post('queries/preview', query.body, { ...signalOf(query) }, false)),
    previewBatch: async (batch, options = {}) =>
      jsonOf(
        await post(
          'queries/batch/preview',
          { queries: batch.map(({ body }) => body), ...termsOf(options) },
          options,
          false,
        ),
      ),
    previewSql: async (statement, options) =>
      jsonOf(await post('sql/preview', bodyOf(statement, options), { ...signalOf(options) }, false)),
    describe: ({ signal } = {}) => get('', signal),
    budget: ({ signal } = {}) => get('/budget', signal),
    history: (filter = {}) => listReleases(send, { ...filter, dataset: id }),
    dummy: ({
      signal,
      of,
      rows = practice?.rows,
      seed = of === 'population' ? undefined : practice?.seed,
    } = {}) => get('/dummy', signal, { of, rows, seed, format: 'json' }),
    session: async (terms) => {
      if (practice !== undefined) throw new TypeError('sessions cannot be practised on made-up rows')
      const { signal, idempotencyKey, ...body } = terms
      const reply = await post('sparse-vector-sessions', wire(body), terms)
      return sessionOf(send, jsonOf(reply), reply.replayed)
    },
    postprocess: (reference, options) => postprocessed(send, reference, options),
    plot: (reference, options) => plotted(send, reference, options),
  }
  return { ...asking, ...methods } as Dataset
}

function signalOf({ signal }: CallOptions): Pick<CallOptions, 'signal'> {
  return signal === undefined ? {} : { signal }
}

/** Groups of rows, and the statistics of each. */
export interface Groups<Name extends string> {
  /** Returns the groups with further statistics, under these names. */
  agg<Added extends string>(statistics: Readonly<Record<Added, Statistic>>): Groups<Name | Added>
  /** Answers the query. */
  run(options: SupposableOptions): Promise<GroupsAnswer<Name>>
  /** Returns the query, for `preview` and `batch`. */
  query(options: SupposableOptions): Query<'groupBy'>
}

function groupsOf<Name extends string>(
  ask: (query: Query) => Promise<Answer>,
  keys: readonly Grouping[],
  statistics: Readonly<Record<string, Statistic>>,
): Groups<Name> {
  return {
    agg: (added) => groupsOf(ask, keys, { ...statistics, ...added }),
    run: async (options) => {
      const { query, names } = groupQuery(keys, statistics, options)
      return renamed((await ask(query)) as GroupsAnswer, names)
    },
    query: (options) => groupQuery(keys, statistics, options).query,
  }
}

/** Terms of a session, and how to send them. */
export interface SessionTerms extends Counted, CallOptions {
  readonly threshold: number
  /** Number of answers `above` after which the session ends. */
  readonly positives: number
  readonly epsilon: Decimal
  readonly contribution?: Schemas['Contribution']
}

/** Facts of a session when it was opened. */
export interface OpenedSession {
  readonly id: string
  readonly dataset: string
  readonly price: Amount
  readonly budgetLeft: Amount
  readonly replayed: boolean
  readonly raw: Schemas['OpenedSession']
}

/** A session. It needs no closing, and continues after a restart of the service. */
export interface Session extends OpenedSession {
  /** Reports if the rows that satisfy the condition reach the threshold. */
  above(where: Where, options?: Pick<CallOptions, 'signal'>): Promise<Schemas['SessionAnswer']>
  /** Returns the state of the session and its newest answers. */
  state(options?: Pick<CallOptions, 'signal'>): Promise<Schemas['Session']>
}

function openedSession(document: Schemas['OpenedSession'], replayed: boolean): OpenedSession {
  const { id, dataset, cost, price = cost, budget } = document
  return { id, dataset, price, budgetLeft: budget.remaining, replayed, raw: document }
}

function sessionOf(send: Connection, document: Schemas['OpenedSession'], replayed: boolean): Session {
  const path = `/v1/sparse-vector-sessions/${document.id}`
  return {
    ...openedSession(document, replayed),
    above: async (where, { signal } = {}) =>
      jsonOf(await send({ method: 'POST', path: `${path}/questions`, body: { where: wire(where) }, signal })),
    state: async ({ signal } = {}) => jsonOf(await send({ method: 'GET', path, signal })),
  }
}

function sqlAnswer(document: Schemas['SqlAnswer'], replayed: boolean): SqlAnswer {
  const { columns, rows, notes, query, answer } = document
  return {
    columns,
    notes,
    query,
    rows: rows.map((row) => Object.fromEntries(columns.map(({ name }, place) => [name, row[place] ?? null]))),
    answer: 'answers' in answer ? readBatch(answer, replayed) : readAnswer(answer, replayed),
    raw: document,
  }
}

function releasePath(reference: ReleaseReference): string {
  const id = typeof reference === 'string' ? reference : reference.id
  if (id === undefined)
    throw new TypeError('an answer of a batch or from made-up rows is no release of its own')
  return `/v1/releases/${encodeURIComponent(id)}`
}

async function postprocessed(
  send: Connection,
  reference: ReleaseReference,
  { signal, ...body }: Postprocessing,
): Promise<Answer | Batch> {
  const path = `${releasePath(reference)}/postprocess`
  const document = jsonOf<AnswerDocument | BatchDocument>(await send({ method: 'POST', path, body, signal }))
  return 'answers' in document ? readBatch(document, true) : readAnswer(document, true)
}

async function plotted(
  send: Connection,
  reference: ReleaseReference,
  { theme, signal }: { readonly theme?: 'light' | 'dark'; readonly signal?: AbortSignal } = {},
): Promise<string> {
  const reply = await send({
    method: 'GET',
    path: `${releasePath(reference)}/plot`,
    parameters: { theme },
    signal,
  })
  return reply.text
}

async function tablesOf(
  send: Connection,
  reference: ReleaseReference,
  { signal }: Pick<CallOptions, 'signal'> = {},
): Promise<MarginalsAnswer> {
  const path = releasePath(reference)
  const document = jsonOf<Schemas['MarginalsAnswer']>(await send({ method: 'GET', path, signal }))
  const { tables } = jsonOf<Schemas['ReleasedTables']>(
    await send({ method: 'GET', path: `${path}/tables`, parameters: { format: 'json' }, signal }),
  )
  const valuesOf = (columns: readonly string[]) =>
    tables.find((table) => table.columns.join() === columns.join())?.values ?? []
  const whole = document.result.tables.map((table) => ({ ...table, values: valuesOf(table.columns) }))
  const read = readAnswer({ ...document, result: { ...document.result, tables: whole } }, true)
  if (read.kind !== 'marginals') throw new TypeError('the release has no tables')
  return read
}

async function* listReleases(
  send: Connection,
  { signal, ...filter }: HistoryFilter & { readonly dataset?: string },
): AsyncGenerator<Release> {
  const parameters = wire(filter) as Readonly<Record<string, string>>
  const pages = pagesOf<Schemas['ReleasePage']>(send, { path: '/v1/releases', parameters, signal })
  for await (const { releases } of pages) yield* releases
}
