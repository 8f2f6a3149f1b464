import { describe, expect, test } from 'vitest'
import { refusalOf } from './planned.ts'

type Row = readonly [what: string, query: object, field: string]

const REFUSALS: Readonly<Record<string, readonly Row[]>> = {
  'query-does-not-fit': [
    [
      'a supposed mean outside the bounds',
      { kind: 'mean', column: 'Age', supposed: { mean: 121 } },
      'supposed.mean',
    ],
    [
      'a supposed standard deviation beyond half the range',
      { kind: 'variance', column: 'Age', supposed: { standardDeviation: 60.1 } },
      'supposed.standardDeviation',
    ],
    [
      'a supposed standard deviation beyond what the supposed mean allows',
      { kind: 'variance', column: 'Age', supposed: { mean: 118, standardDeviation: 16 } },
      'supposed.standardDeviation',
    ],
    [
      'a supposed mean of a query without a column',
      { kind: 'proportion', of: { column: 'Age', op: '>', value: 5 }, supposed: { mean: 0.5 } },
      'supposed.mean',
    ],
    [
      'a supposed standard deviation of several columns',
      {
        kind: 'groupBy',
        keys: ['Sex'],
        statistics: ['Age', 'Income'].map((column) => ({ kind: 'mean', column })),
        supposed: { standardDeviation: 5 },
      },
      'supposed.standardDeviation',
    ],
    ['an unknown column', { kind: 'sum', column: 'Agee' }, 'column'],
    ['a sum of a category', { kind: 'sum', column: 'Sex' }, 'column'],
    ['a histogram of free text', { kind: 'histogram', column: 'Note' }, 'column'],
    ['a histogram of numbers without edges', { kind: 'histogram', column: 'Age' }, 'column'],
    ['edges on a category', { kind: 'histogram', column: { column: 'Sex', edges: [0, 1] } }, 'column'],
    [
      'edges that fall',
      { kind: 'histogram', column: { column: 'Age', edges: [0, 50, 20] } },
      'column.edges.2',
    ],
    [
      'edges within one step',
      { kind: 'histogram', column: { column: 'Age', edges: [0, 0.5, 0.75, 20] } },
      'column.edges.2',
    ],
    [
      'an edge out of bounds',
      { kind: 'histogram', column: { column: 'Age', edges: [0, 121] } },
      'column.edges.1',
    ],
    [
      'an edge twice',
      { kind: 'histogram', column: { column: 'Age', edges: [0, 10, 10, 20] } },
      'column.edges.2',
    ],
    [
      'nonNegative for a sum that may be below 0',
      { kind: 'sum', column: 'Balance', postprocess: { nonNegative: true } },
      'postprocess.nonNegative',
    ],
    [
      'nonNegative for a mean that may be below 0',
      { kind: 'mean', column: 'Balance', postprocess: { nonNegative: true } },
      'postprocess.nonNegative',
    ],
    ['a column twice', { kind: 'contingency', columns: ['Sex', 'Region', 'Sex'] }, 'columns.2'],
    [
      'too many cells',
      {
        kind: 'contingency',
        columns: [
          { column: 'Age', edges: Array.from({ length: 120 }, (_, i) => i) },
          'Region',
          'Sex',
          'Member',
        ],
      },
      'columns',
    ],
    ['an unknown category', { kind: 'count', where: { column: 'Sex', op: '=', value: 'X' } }, 'where.value'],
    ['a text for a number', { kind: 'count', where: { column: 'Age', op: '>', value: '30' } }, 'where.value'],
    [
      'a number for a text',
      { kind: 'count', where: { column: 'Note', op: 'in', values: ['a', 1] } },
      'where.values.1',
    ],
    ['an order of categories', { kind: 'count', where: { column: 'Sex', op: '<', value: 'M' } }, 'where.op'],
    [
      'an equality off the grid',
      { kind: 'count', where: { column: 'Age', op: '=', value: 30.5 } },
      'where.value',
    ],
    [
      'a deep unknown column',
      {
        kind: 'count',
        where: { op: 'not', predicate: { op: 'and', predicates: [{ column: 'Agee', op: 'isNull' }] } },
      },
      'where.predicate.predicates.0.column',
    ],
    ['a variance of a category', { kind: 'variance', column: 'Sex' }, 'column'],
    [
      'a proportion of an unknown category',
      { kind: 'proportion', of: { column: 'Sex', op: '=', value: 'X' } },
      'of.value',
    ],
    ['distinct values of numbers without edges', { kind: 'countDistinct', column: 'Age' }, 'column'],
    [
      'a key twice',
      { kind: 'groupBy', keys: ['Sex', 'Region', 'Sex'], statistics: [{ kind: 'count' }] },
      'keys.2',
    ],
    [
      'a key of free text',
      { kind: 'groupBy', keys: ['Sex', 'Note'], statistics: [{ kind: 'count' }] },
      'keys.1',
    ],
    [
      'the mean of a category in groups',
      { kind: 'groupBy', keys: ['Sex'], statistics: [{ kind: 'count' }, { kind: 'mean', column: 'Region' }] },
      'statistics.1.column',
    ],
    [
      'nonNegative for sums in groups that may be below 0',
      {
        kind: 'groupBy',
        keys: ['Sex'],
        statistics: [
          { kind: 'mean', column: 'Age' },
          { kind: 'mean', column: 'Balance' },
        ],
        postprocess: { nonNegative: true },
      },
      'postprocess.nonNegative',
    ],
    [
      'too many groups',
      {
        kind: 'groupBy',
        keys: [{ column: 'Age', edges: Array.from({ length: 120 }, (_, i) => i) }, 'Region', 'Sex', 'Member'],
        statistics: [{ kind: 'count' }],
      },
      'keys',
    ],
    ['candidates of free text', { kind: 'noisyMax', candidates: { column: 'Note' } }, 'candidates.column'],
    [
      'a candidate twice',
      {
        kind: 'noisyMax',
        candidates: {
          predicates: ['a', 'b', 'a'].map((name) => ({ name, where: { column: 'Age', op: '>', value: 1 } })),
        },
      },
      'candidates.predicates.2.name',
    ],
    [
      'a candidate that does not fit',
      {
        kind: 'noisyMax',
        candidates: {
          predicates: [
            { name: 'a', where: { column: 'Age', op: '>', value: 1 } },
            { name: 'b', where: { column: 'Agee', op: '>', value: 1 } },
          ],
        },
      },
      'candidates.predicates.1.where.column',
    ],
    [
      'a gap of the last candidate, which has no next',
      { kind: 'noisyMax', candidates: { column: 'Region' }, k: 4, gap: true },
      'k',
    ],
    [
      'more selected candidates than candidates',
      { kind: 'noisyMax', candidates: { column: 'Region' }, k: 5 },
      'k',
    ],
    ['the median of a category', { kind: 'median', column: 'Sex' }, 'column'],
    ['the minimum of free text', { kind: 'minimum', column: 'Note' }, 'column'],
    ['the keys of a declared column', { kind: 'keySelection', column: 'Region', delta: 1e-6 }, 'column'],
  ],
  'mechanism-not-applicable': [
    ['geometric on real values', { kind: 'sum', column: 'Balance', mechanism: 'geometric' }, 'mechanism'],
    ['geometric on a real mean', { kind: 'mean', column: 'Income', mechanism: 'geometric' }, 'mechanism'],
    ['gaussian without delta', { kind: 'count', mechanism: 'gaussian' }, 'delta'],
    [
      'classic above 1',
      { kind: 'count', mechanism: 'gaussian', calibration: 'classic', epsilon: 1.5, delta: 1e-6 },
      'calibration',
    ],
    [
      'classic above 1 in a mean',
      { kind: 'mean', column: 'Age', mechanism: 'gaussian', calibration: 'classic', epsilon: 2, delta: 1e-6 },
      'calibration',
    ],
    [
      'geometric where one statistic of several is real-valued',
      {
        kind: 'groupBy',
        keys: ['Sex'],
        statistics: [{ kind: 'count' }, { kind: 'sum', column: 'Balance' }],
        mechanism: 'geometric',
      },
      'mechanism',
    ],
    [
      'a gap without Laplace noise',
      { kind: 'noisyMax', candidates: { column: 'Region' }, gap: true, noise: 'gumbel' },
      'gap',
    ],
    ['keys without delta', { kind: 'keySelection', column: 'Note', delta: 0 }, 'delta'],
    [
      'keys without delta, with counts',
      { kind: 'keySelection', column: 'Note', counts: true, delta: 0 },
      'delta',
    ],
  ],
  'invalid-request': [
    ['a calibration without gaussian', { kind: 'count', calibration: 'classic' }, 'calibration'],
    [
      'an epsilon that its statistics cannot divide',
      { kind: 'groupBy', keys: ['Sex'], statistics: [{ kind: 'variance', column: 'Age' }], epsilon: 2e-9 },
      'epsilon',
    ],
    [
      'an epsilon too small for the number of selected candidates',
      { kind: 'noisyMax', candidates: { column: 'Region' }, k: 3, epsilon: 2e-9 },
      'epsilon',
    ],
    ['percentile 0', { kind: 'percentile', column: 'Age', p: 0 }, 'p'],
    ['percentile 100 in a list', { kind: 'percentile', column: 'Age', p: [50, 100] }, 'p.1'],
    ['a percentile of three digits', { kind: 'percentile', column: 'Age', p: 33.333 }, 'p'],
    [
      'an epsilon that percentiles cannot divide',
      { kind: 'percentile', column: 'Age', p: [25, 50, 75], epsilon: 2e-9 },
      'epsilon',
    ],
  ],
}

describe.each(Object.entries(REFUSALS))('refused as %s', (code, rows) => {
  test.each(rows)('%s', (_what, query, field) => {
    const refusal = refusalOf(query)
    expect(refusal.code).toBe(code)
    expect(refusal.errors[0]?.field).toBe(field)
    expect(refusal.errors[0]?.rule.length).toBeGreaterThan(5)
  })
})
