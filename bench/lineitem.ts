import type { Column, Dataset } from '../src/core/dataset/dataset.ts'
import type { Aggregate } from '../src/core/planner/language/aggregate.ts'

/*
 * TPC-H's lineitem as a dataset of rows, queries over it, and their measurement: shared by the benchmarks of live tables.
 */

const CENT = 10_000_000n
const facts = { nullable: false, invalidValue: { kind: 'refuse' } } as const
const cents = (name: string, upperIndex: bigint): Column => ({
  ...{ ...facts, name, upperIndex },
  ...{ type: 'number', stepNano: CENT, lowerIndex: 0n },
})
const category = (name: string, categories: readonly string[]): Column => ({
  ...facts,
  name,
  type: 'category',
  categories,
})
const dayOf = (date: string) => BigInt(Date.parse(date) / 86_400_000)

/** The dataset, in which each row is a privacy unit. */
export const lineitem: Dataset = {
  ...{ id: 'lineitem', title: 'lineitem', version: '1' },
  columns: [
    cents('l_quantity', 5_000n),
    cents('l_extendedprice', 11_000_000n),
    cents('l_discount', 10n),
    category('l_returnflag', ['A', 'N', 'R']),
    category('l_linestatus', ['F', 'O']),
    {
      ...{ ...facts, name: 'l_shipdate', type: 'date', dateFormat: 'YYYY-MM-DD', stepNano: 1_000_000_000n },
      ...{ lowerIndex: dayOf('1992-01-01'), upperIndex: dayOf('1998-12-31') },
    },
  ],
  ...{ privacyUnit: { kind: 'row' }, neighbours: 'add-remove', synthetic: true, accounting: 'basic' },
  source: { kind: 'file', path: 'none.csv', format: 'csv' },
  ...{ sharing: false, timing: 'off', failureLimit: 3, queryLimits: {} },
}

/** SQL of a category's index, which both databases understand. */
export const FLAG = "CASE l_returnflag WHEN 'A' THEN 0 WHEN 'N' THEN 1 WHEN 'R' THEN 2 END"
/** SQL of a category's index, which both databases understand. */
export const STATUS = "CASE l_linestatus WHEN 'F' THEN 0 WHEN 'O' THEN 1 END"

const sumOf = (column: string) => ({ kind: 'affine-sum', column, factor: 1n, offset: 0n }) as const

/** Aggregates by the names of queries. */
export const AGGREGATES = {
  'count of a year': {
    ...{ groupBy: [], statistics: [{ kind: 'count' }] },
    where: {
      kind: 'index-between',
      column: 'l_shipdate',
      lower: dayOf('1994-01-01'),
      upper: dayOf('1994-12-31'),
    },
  },
  'sum of prices': { groupBy: [], statistics: [sumOf('l_extendedprice')] },
  'sums by flag and status': {
    statistics: [sumOf('l_quantity'), sumOf('l_extendedprice')],
    groupBy: [
      { kind: 'category', column: 'l_returnflag', size: 3, nullCell: false },
      { kind: 'category', column: 'l_linestatus', size: 2, nullCell: false },
    ],
  },
  'histogram of quantities': {
    statistics: [{ kind: 'count' }],
    groupBy: [
      {
        ...{ kind: 'bins', column: 'l_quantity', nullCell: false },
        edges: Array.from({ length: 51 }, (_, bin) => BigInt(bin * 100 + 1)),
      },
    ],
  },
  'sum of products': {
    groupBy: [],
    statistics: [
      {
        kind: 'affine-product-sum',
        terms: [
          { column: 'l_quantity', factor: 1n, offset: 0n },
          { column: 'l_discount', factor: 1n, offset: 0n },
        ],
      },
    ],
  },
} as const satisfies Readonly<Record<string, Omit<Aggregate, 'bounding'>>>

/** Name of a query. */
export type QueryName = keyof typeof AGGREGATES

/** Times of a work, and its last answer. */
export interface Measured<Answer> {
  readonly shortestMs: number
  readonly medianMs: number
  readonly answer: Answer
}

/**
 * Measures works that take turns, after turns that are not measured.
 * @param rounds number of measured turns of each
 * @param warmUps number of turns of each before
 */
export async function measure<Answer>(
  works: readonly (() => Promise<Answer>)[],
  rounds: number,
  warmUps: number,
): Promise<readonly Measured<Answer>[]> {
  const measured = []
  for (const work of works) measured.push({ work, answer: await work(), times: [] as number[] })
  for (let round = 1 - warmUps; round < rounds; round += 1) {
    for (const each of measured) {
      const start = performance.now()
      each.answer = await each.work()
      if (round >= 0) each.times.push(performance.now() - start)
    }
  }
  return measured.map(({ answer, times }) => ({
    shortestMs: Math.min(...times),
    medianMs: times.toSorted((a, b) => a - b)[times.length >> 1] ?? Number.NaN,
    answer,
  }))
}
