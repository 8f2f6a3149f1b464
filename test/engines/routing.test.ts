import { expect, test } from 'vitest'
import type { Dataset } from '../../src/core/dataset/dataset.ts'
import type { Aggregate, CellCounting, ValueCounting } from '../../src/core/planner/language/aggregate.ts'
import type { DuckDbEngine } from '../../src/engines/duckdb/engine.ts'
import { type Engine, EngineFailure } from '../../src/engines/engine.ts'
import { createDatasetEngine } from '../../src/engines/routing.ts'
import type { TableEngine } from '../../src/engines/tables/table-engine.ts'

/** An engine that notes the calls of its functions and returns its name with the function's. */
function noting<Noted extends object>(name: string, calls: string[]): Noted {
  return new Proxy({} as Noted, {
    get: (_, called) => () => {
      calls.push(`${name}.${String(called)}`)
      return `${name}.${String(called)}`
    },
  })
}

const fileDataset = { source: { kind: 'file', path: 'a.csv', format: 'csv' } } as Dataset
const liveDataset = {
  source: { kind: 'table', connection: 'warehouse', table: 'public.visits', mode: 'live' },
} as Dataset

const asked = {} as Aggregate & CellCounting & ValueCounting

/** A call of each function of an engine that concerns a dataset. */
const CALLS: {
  readonly [Name in Exclude<keyof Engine, 'healthy' | 'close' | 'isReachable'>]-?: (
    engine: Engine,
    dataset: Dataset,
  ) => unknown
} = {
  aggregate: (engine, dataset) => engine.aggregate(dataset, asked),
  // Without it every query is a statement of its own.
  scanOf: (engine, dataset) => engine.scanOf?.(dataset, asked),
  countIndexes: (engine, dataset) => engine.countIndexes(dataset, asked),
  countIndexesInCells: (engine, dataset) => engine.countIndexesInCells(dataset, asked),
  countTexts: (engine, dataset) => engine.countTexts(dataset, asked),
  accepts: (engine, dataset) =>
    engine.accepts?.(dataset, {} as Parameters<NonNullable<Engine['accepts']>>[1]),
}

/** What is known about connections, which notes the databases that it is asked to check. */
const reachabilityOf = (checked: string[], reachable: readonly string[] = ['warehouse']) => ({
  isReachable: (name: string) => reachable.includes(name),
  checkSoon: (name: string) => {
    checked.push(name)
  },
})

function routed() {
  const calls: string[] = []
  const engine = createDatasetEngine({
    duckDb: noting<DuckDbEngine>('duckDb', calls),
    tables: new Map([['warehouse', noting<TableEngine>('warehouse', calls)]]),
    keyedUnit: () => Promise.reject(new Error('no unit is needed')),
    reachability: reachabilityOf([]),
  })
  return { engine, calls }
}

test.each(Object.entries(CALLS))('%s of ingested rows is answered by DuckDB', async (name, call) => {
  const { engine, calls } = routed()
  expect(await call(engine, fileDataset)).toBe(`duckDb.${name}`)
  expect(calls).toEqual([`duckDb.${name}`])
})

test.each(Object.entries(CALLS))('%s of a live table is answered by its connection', async (name, call) => {
  const { engine, calls } = routed()
  // Queries of live tables never share a scan, because rows may change between them.
  const isShared = name === 'scanOf'
  expect(await call(engine, liveDataset)).toBe(isShared ? undefined : `warehouse.${name}`)
  expect(calls).toEqual(isShared ? [] : [`warehouse.${name}`])
})

test('a live table of a connection that is not configured is unavailable', async () => {
  const { engine, calls } = routed()
  const source = { kind: 'table', connection: 'other', table: 'public.visits', mode: 'live' }
  const dataset = { ...liveDataset, source } as Dataset
  await expect(engine.aggregate(dataset, asked)).rejects.toMatchObject({ name: 'EngineUnavailable' })
  expect(calls).toEqual([])
})

test('a failure of a live table has its database checked, and what is known of it is told', async () => {
  const checked: string[] = []
  const fail = () => Promise.reject(new EngineFailure('EngineUnavailable'))
  const engine = createDatasetEngine({
    duckDb: { aggregate: fail } as never,
    tables: new Map([['warehouse', { aggregate: fail } as never]]),
    keyedUnit: () => Promise.reject(new Error('no unit is needed')),
    reachability: reachabilityOf(checked, []),
  })
  await expect(engine.aggregate(fileDataset, asked)).rejects.toThrow(EngineFailure)
  expect(checked).toEqual([])
  await expect(engine.aggregate(liveDataset, asked)).rejects.toThrow(EngineFailure)
  expect(checked).toEqual(['warehouse'])
  expect([fileDataset, liveDataset].map((dataset) => engine.isReachable?.(dataset))).toEqual([true, false])
})
