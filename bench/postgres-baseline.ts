import { Pool, type PoolClient, type QueryConfig } from 'pg'
import { startPostgresServer } from '../test/servers/postgres-server.ts'
import { type BareCharge, bareCharges } from './bare-charge.ts'

/** Rate of PostgreSQL with one transaction per charge. */
export interface PostgresBaselineFigure {
  readonly callers: number
  readonly datasets: number
  readonly connections: number
  readonly chargesPerSecond: number
  /** Time from the call, including the wait for a connection, until the charge was durable; 99% took less. */
  readonly p99Ms: number
}

export interface PostgresBaselineOptions {
  readonly callers: number
  /** Datasets among which the callers are spread; 1 is the contended case. */
  readonly datasets: number
  /** Default: 1500. */
  readonly measureMs?: number
}

const MEASURE_MS = 1_500
const MAX_CONNECTIONS = 64
/** Schema in the database of the measured ledger, separate from its tables. */
const SCHEMA = 'bare_charge'

/**
 * Measures the rate of one `SELECT … FOR UPDATE` transaction per charge: lock the budget, check that it covers the
 * cost, debit it, insert the charge and the event, as wide as the ledger's. Each caller waits for its charge before
 * the next, over one connection each, up to 64. Statements are prepared. The schema `bare_charge` is created and
 * dropped.
 * @param url a database that may contain other things
 * @throws Error if the database cannot be reached, or a statement fails
 */
export async function postgresBaseline(
  url: string,
  options: PostgresBaselineOptions,
): Promise<PostgresBaselineFigure> {
  const { callers, datasets, measureMs = MEASURE_MS } = options
  const connections = Math.min(callers, MAX_CONNECTIONS)
  const pool = new Pool({ connectionString: url, max: connections, min: connections })
  try {
    await createTables(pool, datasets)
    await connectAll(pool, connections)
    const tookMs: number[] = []
    const startMs = performance.now()
    await Promise.all(
      Array.from({ length: callers }, async (_, caller) => {
        const nextCharge = bareCharges(datasetName(caller % datasets))
        for (let askedMs = startMs; askedMs < startMs + measureMs; ) {
          await charge(pool, nextCharge())
          const nowMs = performance.now()
          tookMs.push(nowMs - askedMs)
          askedMs = nowMs
        }
      }),
    )
    const elapsedMs = performance.now() - startMs
    const sorted = tookMs.toSorted((a, b) => a - b)
    return {
      callers,
      datasets,
      connections,
      chargesPerSecond: (tookMs.length / elapsedMs) * 1_000,
      p99Ms: sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN,
    }
  } finally {
    await pool.query(`DROP SCHEMA IF EXISTS ${SCHEMA} CASCADE`)
    await pool.end()
  }
}

function datasetName(number: number): string {
  return `census ${number}`
}

async function createTables(pool: Pool, datasets: number): Promise<void> {
  await pool.query(`
    DROP SCHEMA IF EXISTS ${SCHEMA} CASCADE;
    CREATE SCHEMA ${SCHEMA};
    CREATE TABLE ${SCHEMA}.budget (
      dataset text PRIMARY KEY,
      cap_epsilon_nano bigint NOT NULL,
      cap_delta_atto bigint NOT NULL,
      spent_epsilon_nano bigint NOT NULL,
      spent_delta_atto bigint NOT NULL,
      head_sequence bigint NOT NULL,
      head_hash text NOT NULL
    );
    CREATE TABLE ${SCHEMA}.charge (
      number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      id text NOT NULL UNIQUE,
      principal text NOT NULL,
      idempotency_key text NOT NULL,
      dataset text NOT NULL,
      dataset_version text NOT NULL,
      request_hash text NOT NULL,
      request text NOT NULL,
      loss_epsilon_nano bigint NOT NULL,
      loss_delta_atto bigint NOT NULL,
      state text NOT NULL,
      attempt bigint NOT NULL,
      created_at_ms bigint NOT NULL,
      leased_at_ms bigint NOT NULL,
      lease_expires_at_ms bigint NOT NULL
    );
    CREATE TABLE ${SCHEMA}.event (
      dataset text NOT NULL,
      sequence bigint NOT NULL,
      principal text NOT NULL,
      canonical text NOT NULL,
      hash text NOT NULL,
      PRIMARY KEY (dataset, sequence)
    );
  `)
  const names = Array.from({ length: datasets }, (_, number) => datasetName(number))
  await pool.query(
    `INSERT INTO ${SCHEMA}.budget SELECT name, 1000000000000000, 0, 0, 0, 0, '' FROM unnest($1::text[]) AS name`,
    [names],
  )
}

/** Opens the connections beforehand, so that no measured time includes it. */
async function connectAll(pool: Pool, connections: number): Promise<void> {
  const clients = await Promise.all(Array.from({ length: connections }, () => pool.connect()))
  for (const client of clients) client.release()
}

interface BudgetRow {
  readonly enough: boolean
  readonly sequence: string
}

async function charge(pool: Pool, next: BareCharge): Promise<void> {
  const client = await pool.connect()
  try {
    await client.query(BEGIN)
    const { rows } = await client.query<BudgetRow>({ ...LOCK, values: [next.dataset] })
    const budget = rows[0]
    if (budget?.enough !== true) throw new Error('the budget is used up')
    await debit(client, next, budget.sequence)
    await client.query(COMMIT)
    client.release()
  } catch (error) {
    client.release(true) // together with its open transaction
    throw error
  }
}

async function debit(client: PoolClient, next: BareCharge, sequence: string): Promise<void> {
  const { id, principal, idempotencyKey, dataset, requestHash, request, nowMs, leaseExpiresAtMs } = next
  await client.query({ ...DEBIT, values: [dataset, sequence, next.hash] })
  await client.query({
    ...INSERT_CHARGE,
    values: [id, principal, idempotencyKey, dataset, requestHash, request, nowMs, leaseExpiresAtMs],
  })
  await client.query({ ...INSERT_EVENT, values: [dataset, sequence, principal, next.canonical, next.hash] })
}

const BEGIN = { name: 'begin', text: 'BEGIN' } satisfies QueryConfig
const COMMIT = { name: 'commit', text: 'COMMIT' } satisfies QueryConfig
const LOCK = {
  name: 'lock',
  text: `
    SELECT cap_epsilon_nano - spent_epsilon_nano >= 1 AND cap_delta_atto - spent_delta_atto >= 0 AS enough,
      head_sequence + 1 AS sequence
    FROM ${SCHEMA}.budget WHERE dataset = $1 FOR UPDATE
  `,
} satisfies QueryConfig
const DEBIT = {
  name: 'debit',
  text: `
    UPDATE ${SCHEMA}.budget
    SET spent_epsilon_nano = spent_epsilon_nano + 1, head_sequence = $2, head_hash = $3
    WHERE dataset = $1
  `,
} satisfies QueryConfig
const INSERT_CHARGE = {
  name: 'insert charge',
  text: `
    INSERT INTO ${SCHEMA}.charge (id, principal, idempotency_key, dataset, dataset_version, request_hash, request,
      loss_epsilon_nano, loss_delta_atto, state, attempt, created_at_ms, leased_at_ms, lease_expires_at_ms)
    VALUES ($1, $2, $3, $4, '1', $5, $6, 1, 0, 'charged', 1, $7, $7, $8)
  `,
} satisfies QueryConfig
const INSERT_EVENT = {
  name: 'insert event',
  text: `
    INSERT INTO ${SCHEMA}.event (dataset, sequence, principal, canonical, hash) VALUES ($1, $2, $3, $4, $5)
  `,
} satisfies QueryConfig

/** Runs against the database of the given URL, or a temporary server. */
if (import.meta.main) {
  const given = process.argv[2]
  const server = given === undefined ? await startPostgresServer() : undefined
  const url = given ?? (await server?.createDatabase()) ?? ''
  const figures: PostgresBaselineFigure[] = []
  for (const datasets of [1, 100]) {
    for (const callers of [1, 16, 64, 256]) figures.push(await postgresBaseline(url, { callers, datasets }))
  }
  console.table(figures)
  await server?.remove()
}
