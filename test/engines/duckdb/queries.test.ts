import { type DuckDBConnection, DuckDBInstance, DuckDBMaterializedResult } from '@duckdb/node-api'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { MOST_TEXTS, MOST_VALUES } from '../../../src/core/dataset/value-limits.ts'
import { collectResult } from '../../../src/engines/duckdb/queries.ts'
import { type Collector, collectIndexCounts, collectTextCounts } from '../../../src/engines/value-counts.ts'

let instance: DuckDBInstance
let connection: DuckDBConnection
beforeAll(async () => {
  instance = await DuckDBInstance.create(':memory:')
  connection = await instance.connect()
})
afterAll(() => {
  connection.disconnectSync()
  instance.closeSync()
})

const neverAborted = new AbortController().signal
const MANY = 'FROM range(20000) ORDER BY range'

const readIndexCounts = (result: DuckDBMaterializedResult, signal = neverAborted) =>
  collectResult(result, collectIndexCounts(), signal)
const readTextCounts = (result: DuckDBMaterializedResult, signal = neverAborted) =>
  collectResult(result, collectTextCounts(), signal)
const reads: Readonly<Record<string, (result: DuckDBMaterializedResult) => Promise<unknown>>> = {
  indexes: (result) => readIndexCounts(result),
  texts: (result) => readTextCounts(result),
}

describe('the counts of values', () => {
  it('are read', async () => {
    const indexes = await connection.run(
      'SELECT * FROM (VALUES (-9007199254740992::DOUBLE, 1::DOUBLE), (0, 9007199254740992), (7, 2))',
    )
    expect(await readIndexCounts(indexes)).toEqual({
      indexes: Float64Array.of(-(2 ** 53), 0, 7),
      counts: Float64Array.of(1, 2 ** 53, 2),
    })
    const texts = await connection.run("SELECT * FROM (VALUES ('日本', 1::DOUBLE), ('', 2))")
    expect(await readTextCounts(texts)).toEqual({
      texts: ['日本', ''],
      counts: Float64Array.of(1, 2),
    })
  })

  it('are empty without rows', async () => {
    const nothing = new Float64Array(0)
    const indexes = await connection.run('SELECT 1::DOUBLE, 1::DOUBLE WHERE false')
    expect(await readIndexCounts(indexes)).toEqual({ indexes: nothing, counts: nothing })
    const texts = await connection.run("SELECT '', 1::DOUBLE WHERE false")
    expect(await readTextCounts(texts)).toEqual({ texts: [], counts: nothing })
  })

  it.each([
    ['one column', 'indexes', 'SELECT 1::DOUBLE'],
    ['three columns', 'indexes', 'SELECT 1::DOUBLE, 1::DOUBLE, 1::DOUBLE'],
    ['a NULL index', 'indexes', 'SELECT NULL::DOUBLE, 1::DOUBLE'],
    ['a NULL count', 'indexes', 'SELECT 1::DOUBLE, NULL::DOUBLE'],
    ['an index of another type', 'indexes', 'SELECT 1::BIGINT, 1::DOUBLE'],
    ['a count of another type', 'indexes', 'SELECT 1::DOUBLE, 1::BIGINT'],
    ['a fraction', 'indexes', 'SELECT 0.5::DOUBLE, 1::DOUBLE'],
    ['no number', 'indexes', "SELECT 'nan'::DOUBLE, 1::DOUBLE"],
    ['infinity', 'indexes', "SELECT 'inf'::DOUBLE, 1::DOUBLE"],
    ['an index that a double may have rounded', 'indexes', 'SELECT 9007199254740994::DOUBLE, 1::DOUBLE'],
    ['a count that a double may have rounded', 'indexes', 'SELECT 1::DOUBLE, 9007199254740994::DOUBLE'],
    ['a count of nothing', 'indexes', 'SELECT 1::DOUBLE, 0::DOUBLE'],
    ['an index that comes twice', 'indexes', 'SELECT 1::DOUBLE, 1::DOUBLE FROM range(2)'],
    ['indexes that decrease', 'indexes', 'SELECT (-range)::DOUBLE, 1::DOUBLE FROM range(2)'],
    ['indexes that decrease later', 'indexes', `SELECT (range % 19999)::DOUBLE, 1::DOUBLE ${MANY}`],
    ['one column', 'texts', "SELECT 'x'"],
    ['three columns', 'texts', "SELECT 'x', 1::DOUBLE, 1::DOUBLE"],
    ['a NULL text', 'texts', 'SELECT NULL::VARCHAR, 1::DOUBLE'],
    ['a NULL count', 'texts', "SELECT 'x', NULL::DOUBLE"],
    ['a text of another type', 'texts', "SELECT 'x'::BLOB, 1::DOUBLE"],
    ['a count of another type', 'texts', "SELECT 'x', 1::BIGINT"],
    ['half a count', 'texts', "SELECT 'x', 1.5::DOUBLE"],
    ['a count of nothing', 'texts', "SELECT 'x', 0::DOUBLE"],
  ])('are refused for %s of %s', async (_, kind, sql) => {
    const result = await connection.run(sql)
    await expect(reads[kind]?.(result)).rejects.toThrow(RangeError)
  })

  it.each<[string, () => Collector<unknown>, (place: number) => unknown, number]>([
    ['indexes', collectIndexCounts, (place) => place, MOST_VALUES],
    ['texts', collectTextCounts, () => '', MOST_TEXTS],
  ])('are refused if there are more than declarations allow: %s', (_, create, at, most) => {
    const collector = create()
    for (let place = 0; place < most; place += 1) collector.add([at(place), 1])
    expect(() => collector.add([at(most), 1])).toThrow(RangeError)
  })

  it.each([
    ['indexes', `SELECT range::DOUBLE, 1::DOUBLE ${MANY}`],
    ['texts', `SELECT range::VARCHAR, 1::DOUBLE ${MANY}`],
  ])('yield to other work between chunks of %s', async (kind, sql) => {
    const result = await connection.run(sql)
    let [turns, reading] = [0, true]
    const turn = (): void => {
      turns += 1
      if (reading) setImmediate(turn)
    }
    setImmediate(turn)
    await reads[kind]?.(result)
    reading = false
    expect(result.chunkCount).toBeGreaterThan(5)
    expect(turns).toBeGreaterThanOrEqual(result.chunkCount - 1)
  })

  it.each([
    ['indexes', readIndexCounts, `SELECT range::DOUBLE, 1::DOUBLE ${MANY}`],
    ['texts', readTextCounts, `SELECT range::VARCHAR, 1::DOUBLE ${MANY}`],
  ])('are not read further once the signal is aborted: %s', async (_, read, sql) => {
    const result = await connection.run(sql)
    const stopped = new AbortController()
    const chunks = vi.spyOn(result, 'getChunk').mockImplementation((index) => {
      if (index === 2) stopped.abort(new Error('stopped'))
      return DuckDBMaterializedResult.prototype.getChunk.call(result, index)
    })
    await expect(read(result, stopped.signal)).rejects.toThrow('stopped')
    expect(chunks.mock.calls).toEqual([[0], [1], [2]])
  })
})
