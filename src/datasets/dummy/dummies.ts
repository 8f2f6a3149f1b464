import { randomUUID } from 'node:crypto'
import { type FileHandle, mkdir, open, rm } from 'node:fs/promises'
import path from 'node:path'
import type { Readable } from 'node:stream'
import type { Column, Dataset } from '../../core/dataset/dataset.ts'
import { isJoined } from '../../core/dataset/joins.ts'
import { convertToParquet, type ParquetColumn } from '../../engines/duckdb/parquet-file.ts'
import { type Engine, EngineFailure } from '../../engines/engine.ts'
import {
  createLimiter,
  type Limiter,
  LimiterFull,
  LimiterTimeout,
  type Place,
} from '../../platform/concurrency/limiter.ts'
import { defined } from '../../privacy/defined.ts'
import { Refusal } from '../../privacy/refusal.ts'
import { type DummyDeclaration, type DummySize, dummyDeclaration, requireFewValues } from './declaration.ts'
import { populationDeclaration } from './population.ts'
import { openTables } from './tables.ts'
import type { DummyFileInput, DummyTextFormat } from './text.ts'

/** Format of a file of made-up rows. */
export type DummyFormat = Exclude<DummyTextFormat, 'source'> | 'parquet'

/** The caller for whom rows are made up. */
export interface DummyCaller {
  /** Principals take turns. */
  readonly principal: string
  /** Aborted once the client has disconnected. */
  readonly givenUp: AbortSignal
}

/** The bytes of a file that has no name any more. */
export interface DummyFile {
  /** The caller must read it to the end or destroy it. */
  readonly stream: Readable
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
}

/** Made-up rows: files to send, and tables to query. Rows follow from declarations alone. */
export interface Dummies {
  /**
   * Makes a file of rows. Its stream is destroyed once the client has disconnected, or has taken too long.
   * @throws Refusal `invalid-request` for too many values; `unavailable` if too many requests wait, or there is no space.
   */
  file(
    dataset: DummyDeclaration,
    size: DummySize,
    format: DummyFormat,
    caller: DummyCaller,
  ): Promise<DummyFile>
  /**
   * Makes a file of the first rows of a population.
   * @throws Refusal as {@link Dummies.file} does.
   */
  population(size: DummySize, format: DummyFormat, caller: DummyCaller): Promise<DummyFile>
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

/** The number of requests that make or query made-up rows at the same time. A principal has one of them. */
const PLACES = 2

/** The number of requests that wait for a place, and the time limit for the wait. */
const WAITS = { maxWaiting: 32, maxWaitMs: 20_000 } as const

/** The number of files that are made or sent at the same time, which bounds their space. A principal has half of them. */
const FILES = 8

/** Time limit for sending a file. */
const SENDING_MS = 600_000

/** Makes tables. It never gives up, because a table is made for everybody who waits for it. */
const EVERYBODY: DummyCaller = { principal: '', givenUp: new AbortController().signal }

/** Creates made-up rows. No file and no table exists at first. */
export function openDummies({ directory, write, hasSpace }: DummiesOptions): Dummies {
  const places = createLimiter({ concurrency: PLACES, ...WAITS })
  const files = createLimiter({ concurrency: FILES, ...WAITS })
  const tables = openTables(directory, PLACES, (input) => write(input, EVERYBODY))

  const declarationOf = async (
    dataset: Parameters<typeof dummyDeclaration>[0],
    size: DummySize,
  ): Promise<DummyDeclaration> => {
    const declaration = dummyDeclaration(dataset)
    requireFewValues(declaration, size)
    if (!(await hasSpace())) throw unavailable('The disk has too little free space for made-up rows.')
    await mkdir(directory, { recursive: true, mode: 0o700 })
    return declaration
  }

  const fileFor = async (rows: RowsToWrite, caller: DummyCaller): Promise<DummyFile> => {
    const place = await enter(files, caller)
    try {
      const handle = await inTurn(places, caller, () =>
        makeFile(directory, rows, (input) => write(input, caller)),
      )
      const { size: bytes } = await handle.stat()
      return { bytes, stream: streamOf(handle, caller, place) }
    } catch (error) {
      place.leave()
      throw error
    }
  }

  return {
    async file(dataset, size, format, caller) {
      const declaration = await declarationOf(dataset, size)
      return fileFor({ declaration, size, format }, caller)
    },
    async population(size, format, caller) {
      const declaration = await declarationOf(populationDeclaration, size)
      return fileFor({ declaration, size, format, of: 'population' }, caller)
    },
    async query(dataset, size, caller, work) {
      const declaration = await declarationOf(dataset, size)
      return inTurn(places, caller, () =>
        tables.use(declaration, size, ({ units, ...made }) => {
          const known = dataset.neighbours === 'change-one' ? units : {}
          // Questions about joined tables may omit the table of a column.
          const { source } = isJoined(dataset.source) ? dataset : made
          return work({ dataset: { ...rulesOf(dataset), ...made, ...known, source }, engine: tables.engine })
        }),
      )
    },
    close: tables.close,
  }
}

interface RowsToWrite extends Pick<DummyFileInput, 'declaration' | 'size' | 'of'> {
  readonly format: DummyFormat
}

/** Makes a file, opens it and removes its name. It stays readable until it is closed. */
async function makeFile(
  directory: string,
  { format, ...rows }: RowsToWrite,
  write: (input: DummyFileInput) => Promise<void>,
): Promise<FileHandle> {
  const text = path.join(directory, `${randomUUID()}.text`)
  const converted = `${text}.parquet`
  const temporaryDirectory = `${text}.temporary`
  try {
    await write({ ...rows, format: format === 'parquet' ? 'source' : format, file: text })
    if (format !== 'parquet') return await open(text)
    const columns = rows.declaration.columns.map(parquetColumn)
    await convertToParquet(columns, { csvPath: text, parquetPath: converted, temporaryDirectory })
    return await open(converted)
  } finally {
    for (const name of [text, converted, temporaryDirectory]) await rm(name, { recursive: true, force: true })
  }
}

/** Returns the bytes of an open file. The file is closed and the place given back when the stream ends or is destroyed. */
function streamOf(handle: FileHandle, { givenUp }: DummyCaller, place: Place): Readable {
  const stream = handle.createReadStream()
  const destroy = () => stream.destroy()
  const timer = setTimeout(destroy, SENDING_MS)
  givenUp.addEventListener('abort', destroy, { once: true })
  stream.once('close', () => {
    clearTimeout(timer)
    givenUp.removeEventListener('abort', destroy)
    place.leave()
  })
  if (givenUp.aborted) destroy()
  return stream
}

/** Rules of a registered dataset that plans and prices depend on, its derived columns and its title. */
function rulesOf(dataset: Dataset) {
  const { title, neighbours, accounting, sharing, timing, failureLimit, queryLimits, derived } = dataset
  return defined({ title, neighbours, accounting, sharing, timing, failureLimit, queryLimits, derived })
}

/** @throws Refusal as {@link enter} does, and if the tables cannot be read. */
async function inTurn<Result>(
  limiter: Limiter,
  caller: DummyCaller,
  work: () => Promise<Result>,
): Promise<Result> {
  const place = await enter(limiter, caller)
  try {
    return await work()
  } catch (error) {
    // No failure depends on data, and nothing was charged.
    throw error instanceof EngineFailure ? unavailable('The made-up rows could not be read.') : error
  } finally {
    place.leave()
  }
}

/** @throws Refusal `unavailable` if no place is free in time. */
async function enter(limiter: Limiter, { principal, givenUp }: DummyCaller): Promise<Place> {
  try {
    return await limiter.enter({ owner: principal, signal: givenUp })
  } catch (error) {
    if (givenUp.aborted) throw new Refusal('unavailable', 'The client disconnected.')
    if (error instanceof LimiterFull) throw unavailable('Too many requests for made-up rows are waiting.')
    if (error instanceof LimiterTimeout) throw unavailable('The request waited too long for its turn.')
    throw error
  }
}

/** Refusal of a request for made-up rows that can be repeated later. */
function unavailable(reason: string): Refusal {
  return new Refusal('unavailable', `${reason} Retry later.`, [], { retryAfterSeconds: 2 })
}

const ONE_NANO = 1_000_000_000n

/** Types of columns in Parquet. */
const PARQUET_TYPES = {
  number: 'DOUBLE',
  date: 'DATE',
  timestamp: 'TIMESTAMPTZ',
  boolean: 'BOOLEAN',
  category: 'VARCHAR',
  string: 'VARCHAR',
  identifier: 'VARCHAR',
} as const

function parquetColumn({ name, ...column }: Column): ParquetColumn {
  if (column.type !== 'integer') return { name, type: PARQUET_TYPES[column.type] }
  const { lowerIndex, upperIndex, stepNano } = column
  const bounds = [lowerIndex, upperIndex].map((index) => (index * stepNano) / ONE_NANO)
  const fits = bounds.every((bound) => BigInt.asIntN(64, bound) === bound)
  return { name, type: fits ? 'BIGINT' : 'DOUBLE' }
}
