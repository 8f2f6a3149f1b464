import { randomUUID } from 'node:crypto'
import { type FileHandle, mkdir, open, rm } from 'node:fs/promises'
import path from 'node:path'
import type { Dataset } from '../catalog/dataset.ts'
import {
  createLimiter,
  type Limiter,
  LimiterFull,
  LimiterTimeout,
  type Place,
} from '../concurrency/limiter.ts'
import { convertToParquet, type ParquetColumn } from '../engines/duckdb/parquet-file.ts'
import { type Engine, EngineFailure } from '../engines/engine.ts'
import { Refusal } from '../privacy/refusal.ts'
import { type DummyColumn, type DummySize, dummyDeclaration, requireFewValues } from './declaration.ts'
import type { DummyFileInput } from './file.ts'
import { createDummyTables } from './tables.ts'
import type { DummyTextFormat } from './text.ts'

/** Format of a file of made-up rows. */
export type DummyFormat = DummyTextFormat | 'parquet'

/** The caller for whom rows are made up. */
export interface DummyCaller {
  /** Principals take turns. */
  readonly principal: string
  /** Aborted once the client has disconnected. */
  readonly givenUp: AbortSignal
}

/** An open file that has no name any more. The caller must close it. */
export interface OpenDummyFile {
  readonly handle: FileHandle
  readonly bytes: number
}

/** A table of made-up rows that can be queried. */
export interface DummyTable {
  /**
   * Queries must be planned with this dataset. Its id cannot be that of a registered dataset, so that no other engine has
   * rows for it. Its columns are the declared ones, and the rules of the registered dataset hold for it.
   */
  readonly dataset: Dataset
  /** Reads tables of made-up rows and nothing else. */
  readonly engine: Engine
  /** Lets others have their turn, and waits for the next one. */
  readonly yield: () => Promise<void>
}

/** Made-up rows: files to send, and tables to query. Rows follow from declarations alone. */
export interface Dummies {
  /**
   * Makes a file of rows.
   * @throws Refusal `invalid-request` for too many values; `unavailable` if too many requests wait, or there is no space.
   */
  file(
    dataset: Pick<Dataset, 'columns' | 'privacyUnit'>,
    size: DummySize,
    format: DummyFormat,
    caller: DummyCaller,
  ): Promise<OpenDummyFile>
  /**
   * Runs work that queries a table of rows. The table is kept for others with the same declaration.
   * @throws Refusal as {@link Dummies.file} does, and for a statement that failed; other errors of the work.
   */
  query<Result>(
    dataset: Dataset,
    size: DummySize,
    caller: DummyCaller,
    work: (table: DummyTable) => Promise<Result>,
  ): Promise<Result>
  /** Closes and removes all tables. */
  close(): Promise<void>
}

/** Parts of {@link Dummies}. */
export interface DummiesOptions {
  /** A folder of their own. It is removed when they are closed. */
  readonly directory: string
  /** Writes rows to a file in a thread. */
  readonly write: (input: DummyFileInput, caller: DummyCaller) => Promise<void>
  /** Returns false if the disk has too little free space. */
  readonly hasSpace: () => Promise<boolean>
}

/** The number of requests that query made-up rows, or convert them, at the same time. A principal has one of them. */
const PLACES = 2

/** The number of requests that wait for a place, and the time limit for the wait. */
const WAITS = { maxWaiting: 32, maxWaitMs: 20_000 } as const

/** Never aborted: a table is made for everybody who waits for it. */
const NEVER = new AbortController().signal

/** Creates made-up rows. No file and no table exists at first. */
export function openDummies(options: DummiesOptions): Dummies {
  const { directory, write } = options
  const limiter = createLimiter({ concurrency: PLACES, ...WAITS })
  const tables = createDummyTables(directory, PLACES)
  return {
    async file(dataset, size, format, caller) {
      const declaration = dummyDeclaration(dataset)
      requireFewValues(declaration, size)
      await requireSpace(options)
      await mkdir(directory, { recursive: true, mode: 0o700 })
      const text = path.join(directory, `${randomUUID()}.text`)
      const converted = `${text}.parquet`
      const temporaryDirectory = `${text}.temporary`
      try {
        await write({ declaration, size, format: format === 'json' ? format : 'csv', file: text }, caller)
        if (format !== 'parquet') return await openFile(text)
        const columns = declaration.columns.map(parquetColumn)
        await inTurn(limiter, caller, () =>
          convertToParquet(columns, { csvPath: text, parquetPath: converted, temporaryDirectory }),
        )
        return await openFile(converted)
      } finally {
        // An open file stays readable without its name.
        for (const name of [text, converted, temporaryDirectory])
          await rm(name, { recursive: true, force: true })
      }
    },
    async query(dataset, size, caller, work) {
      const declaration = dummyDeclaration(dataset)
      requireFewValues(declaration, size)
      await requireSpace(options)
      const writeForAll = (input: DummyFileInput) => write(input, { ...caller, givenUp: NEVER })
      return inTurn(limiter, caller, (place) =>
        tables.use(declaration, size, writeForAll, (facts) =>
          work({
            dataset: {
              ...rulesOf(dataset),
              ...facts.dataset,
              ...(dataset.neighbours === 'change-one' ? facts.units : {}),
            },
            engine: tables.engine,
            yield: () => place.yield(),
          }),
        ),
      )
    },
    close: tables.close,
  }
}

async function openFile(file: string): Promise<OpenDummyFile> {
  const handle = await open(file)
  return { handle, bytes: (await handle.stat()).size }
}

/** Rules of a registered dataset that plans and prices depend on, and its title. */
function rulesOf(dataset: Dataset) {
  const { title, neighbours, accounting, sharing, timing, failureLimit, queryLimits } = dataset
  return { title, neighbours, accounting, sharing, timing, failureLimit, queryLimits }
}

/** @throws Refusal `unavailable` */
async function requireSpace({ hasSpace }: DummiesOptions): Promise<void> {
  if (!(await hasSpace())) throw unavailable('The disk has too little free space for made-up rows.')
}

/** @throws Refusal `unavailable` if no place is free in time. */
async function inTurn<Result>(
  limiter: Limiter,
  { principal, givenUp }: DummyCaller,
  work: (place: Place) => Promise<Result>,
): Promise<Result> {
  const place = await limiter.enter({ turn: principal, signal: givenUp }).catch((error: unknown) => {
    if (givenUp.aborted) throw new Refusal('unavailable', 'The client disconnected.')
    if (error instanceof LimiterFull) throw unavailable('Too many requests for made-up rows are waiting.')
    if (error instanceof LimiterTimeout) throw unavailable('The request waited too long for its turn.')
    throw error
  })
  try {
    return await work(place)
  } catch (error) {
    // No failure depends on data, and nothing was charged.
    throw error instanceof EngineFailure ? unavailable('The made-up rows could not be read.') : error
  } finally {
    place.leave()
  }
}

/** Refusal of a request for made-up rows that can be repeated later. */
function unavailable(reason: string): Refusal {
  return new Refusal('unavailable', `${reason} Retry later.`, [], { retryAfterSeconds: 2 })
}

const LEAST_BIGINT = -(2n ** 63n)
const LARGEST_BIGINT = 2n ** 63n - 1n
const ONE_NANO = 1_000_000_000n

/** The type of a column in Parquet. */
function parquetColumn(column: DummyColumn): ParquetColumn {
  const { name } = column
  switch (column.type) {
    case 'integer': {
      const [lower, upper] = [column.lowerIndex, column.upperIndex].map(
        (index) => (index * column.stepNano) / ONE_NANO,
      )
      const fits = (lower ?? 0n) >= LEAST_BIGINT && (upper ?? 0n) <= LARGEST_BIGINT
      return { name, type: fits ? 'BIGINT' : 'DOUBLE' }
    }
    case 'number':
      return { name, type: 'DOUBLE' }
    case 'date':
      return { name, type: 'DATE' }
    case 'timestamp':
      return { name, type: 'TIMESTAMPTZ' }
    case 'boolean':
      return { name, type: 'BOOLEAN' }
    case 'category':
    case 'string':
    case 'identifier':
      return { name, type: 'VARCHAR' }
  }
}
