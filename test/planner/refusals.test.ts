import { describe, expect, test } from 'vitest'
import { refusalOf } from './planned.ts'

describe('refusals', () => {
  test.each([
    [
      'a supposed mean outside the bounds',
      { kind: 'mean', column: 'Age', supposed: { mean: 121 } },
      'query-does-not-fit',
      'supposed.mean',
    ],
    [
      'a supposed standard deviation beyond half the range',
      { kind: 'variance', column: 'Age', supposed: { standardDeviation: 60.1 } },
      'query-does-not-fit',
      'supposed.standardDeviation',
    ],
    [
      'a supposed standard deviation beyond what the supposed mean allows',
      { kind: 'variance', column: 'Age', supposed: { mean: 118, standardDeviation: 16 } },
      'query-does-not-fit',
      'supposed.standardDeviation',
    ],
    [
      'a supposed mean of a query without a column',
      { kind: 'proportion', of: { column: 'Age', op: '>', value: 5 }, supposed: { mean: 0.5 } },
      'query-does-not-fit',
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
      'query-does-not-fit',
      'supposed.standardDeviation',
    ],
    ['an unknown column', { kind: 'sum', column: 'Agee' }, 'query-does-not-fit', 'column'],
    ['a sum of a category', { kind: 'sum', column: 'Sex' }, 'query-does-not-fit', 'column'],
    [
      'geometric on real values',
      { kind: 'sum', column: 'Balance', mechanism: 'geometric' },
      'mechanism-not-applicable',
      'mechanism',
    ],
    [
      'geometric on a real mean',
      { kind: 'mean', column: 'Income', mechanism: 'geometric' },
      'mechanism-not-applicable',
      'mechanism',
    ],
    ['gaussian without delta', { kind: 'count', mechanism: 'gaussian' }, 'mechanism-not-applicable', 'delta'],
    [
      'classic above 1',
      { kind: 'count', mechanism: 'gaussian', calibration: 'classic', epsilon: 1.5, delta: 1e-6 },
      'mechanism-not-applicable',
      'calibration',
    ],
    [
      'classic above 1 in a mean',
      { kind: 'mean', column: 'Age', mechanism: 'gaussian', calibration: 'classic', epsilon: 2, delta: 1e-6 },
      'mechanism-not-applicable',
      'calibration',
    ],
    [
      'a calibration without gaussian',
      { kind: 'count', calibration: 'classic' },
      'invalid-request',
      'calibration',
    ],
    ['a histogram of free text', { kind: 'histogram', column: 'Note' }, 'query-does-not-fit', 'column'],
    [
      'a histogram of numbers without edges',
      { kind: 'histogram', column: 'Age' },
      'query-does-not-fit',
      'column',
    ],
    [
      'edges on a category',
      { kind: 'histogram', column: { column: 'Sex', edges: [0, 1] } },
      'query-does-not-fit',
      'column',
    ],
    [
      'edges that fall',
      { kind: 'histogram', column: { column: 'Age', edges: [0, 50, 20] } },
      'query-does-not-fit',
      'column.edges.2',
    ],
    [
      'edges within one step',
      { kind: 'histogram', column: { column: 'Age', edges: [0, 0.5, 0.75, 20] } },
      'query-does-not-fit',
      'column.edges.2',
    ],
    [
      'an edge out of bounds',
      { kind: 'histogram', column: { column: 'Age', edges: [0, 121] } },
      'query-does-not-fit',
      'column.edges.1',
    ],
    [
      'an edge twice',
      { kind: 'histogram', column: { column: 'Age', edges: [0, 10, 10, 20] } },
      'query-does-not-fit',
      'column.edges.2',
    ],
    [
      'nonNegative for a sum that may be below 0',
      { kind: 'sum', column: 'Balance', postprocess: { nonNegative: true } },
      'query-does-not-fit',
      'postprocess.nonNegative',
    ],
    [
      'nonNegative for a mean that may be below 0',
      { kind: 'mean', column: 'Balance', postprocess: { nonNegative: true } },
      'query-does-not-fit',
      'postprocess.nonNegative',
    ],
    [
      'a column twice',
      { kind: 'contingency', columns: ['Sex', 'Region', 'Sex'] },
      'query-does-not-fit',
      'columns.2',
    ],
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
      'query-does-not-fit',
      'columns',
    ],
    [
      'an unknown category',
      { kind: 'count', where: { column: 'Sex', op: '=', value: 'X' } },
      'query-does-not-fit',
      'where.value',
    ],
    [
      'a text for a number',
      { kind: 'count', where: { column: 'Age', op: '>', value: '30' } },
      'query-does-not-fit',
      'where.value',
    ],
    [
      'a number for a text',
      { kind: 'count', where: { column: 'Note', op: 'in', values: ['a', 1] } },
      'query-does-not-fit',
      'where.values.1',
    ],
    [
      'an order of categories',
      { kind: 'count', where: { column: 'Sex', op: '<', value: 'M' } },
      'query-does-not-fit',
      'where.op',
    ],
    [
      'an equality off the grid',
      { kind: 'count', where: { column: 'Age', op: '=', value: 30.5 } },
      'query-does-not-fit',
      'where.value',
    ],
    [
      'a deep unknown column',
      {
        kind: 'count',
        where: { op: 'not', predicate: { op: 'and', predicates: [{ column: 'Agee', op: 'isNull' }] } },
      },
      'query-does-not-fit',
      'where.predicate.predicates.0.column',
    ],
    ['a variance of a category', { kind: 'variance', column: 'Sex' }, 'query-does-not-fit', 'column'],
    [
      'a proportion of an unknown category',
      { kind: 'proportion', of: { column: 'Sex', op: '=', value: 'X' } },
      'query-does-not-fit',
      'of.value',
    ],
    [
      'distinct values of numbers without edges',
      { kind: 'countDistinct', column: 'Age' },
      'query-does-not-fit',
      'column',
    ],
    [
      'a key twice',
      { kind: 'groupBy', keys: ['Sex', 'Region', 'Sex'], statistics: [{ kind: 'count' }] },
      'query-does-not-fit',
      'keys.2',
    ],
    [
      'a key of free text',
      { kind: 'groupBy', keys: ['Sex', 'Note'], statistics: [{ kind: 'count' }] },
      'query-does-not-fit',
      'keys.1',
    ],
    [
      'the mean of a category in groups',
      { kind: 'groupBy', keys: ['Sex'], statistics: [{ kind: 'count' }, { kind: 'mean', column: 'Region' }] },
      'query-does-not-fit',
      'statistics.1.column',
    ],
    [
      'geometric where one statistic of several is real-valued',
      {
        kind: 'groupBy',
        keys: ['Sex'],
        statistics: [{ kind: 'count' }, { kind: 'sum', column: 'Balance' }],
        mechanism: 'geometric',
      },
      'mechanism-not-applicable',
      'mechanism',
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
      'query-does-not-fit',
      'postprocess.nonNegative',
    ],
    [
      'too many groups',
      {
        kind: 'groupBy',
        keys: [{ column: 'Age', edges: Array.from({ length: 120 }, (_, i) => i) }, 'Region', 'Sex', 'Member'],
        statistics: [{ kind: 'count' }],
      },
      'query-does-not-fit',
      'keys',
    ],
    [
      'an epsilon that its statistics cannot divide',
      {
        kind: 'groupBy',
        keys: ['Sex'],
        statistics: [{ kind: 'variance', column: 'Age' }],
        epsilon: 2e-9,
      },
      'invalid-request',
      'epsilon',
    ],
    [
      'candidates of free text',
      { kind: 'noisyMax', candidates: { column: 'Note' } },
      'query-does-not-fit',
      'candidates.column',
    ],
    [
      'a candidate twice',
      {
        kind: 'noisyMax',
        candidates: {
          predicates: ['a', 'b', 'a'].map((name) => ({ name, where: { column: 'Age', op: '>', value: 1 } })),
        },
      },
      'query-does-not-fit',
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
      'query-does-not-fit',
      'candidates.predicates.1.where.column',
    ],
    [
      'a gap of the last candidate, which has no next',
      { kind: 'noisyMax', candidates: { column: 'Region' }, k: 4, gap: true },
      'query-does-not-fit',
      'k',
    ],
    [
      'more selected candidates than candidates',
      { kind: 'noisyMax', candidates: { column: 'Region' }, k: 5 },
      'query-does-not-fit',
      'k',
    ],
    [
      'a gap without Laplace noise',
      { kind: 'noisyMax', candidates: { column: 'Region' }, gap: true, noise: 'gumbel' },
      'mechanism-not-applicable',
      'gap',
    ],
    [
      'an epsilon too small for the number of selected candidates',
      { kind: 'noisyMax', candidates: { column: 'Region' }, k: 3, epsilon: 2e-9 },
      'invalid-request',
      'epsilon',
    ],
    ['the median of a category', { kind: 'median', column: 'Sex' }, 'query-does-not-fit', 'column'],
    ['the minimum of free text', { kind: 'minimum', column: 'Note' }, 'query-does-not-fit', 'column'],
    ['percentile 0', { kind: 'percentile', column: 'Age', p: 0 }, 'invalid-request', 'p'],
    [
      'percentile 100 in a list',
      { kind: 'percentile', column: 'Age', p: [50, 100] },
      'invalid-request',
      'p.1',
    ],
    [
      'a percentile of three digits',
      { kind: 'percentile', column: 'Age', p: 33.333 },
      'invalid-request',
      'p',
    ],
    [
      'an epsilon that percentiles cannot divide',
      { kind: 'percentile', column: 'Age', p: [25, 50, 75], epsilon: 2e-9 },
      'invalid-request',
      'epsilon',
    ],
    [
      'the keys of a declared column',
      { kind: 'keySelection', column: 'Region', delta: 1e-6 },
      'query-does-not-fit',
      'column',
    ],
    [
      'keys without delta',
      { kind: 'keySelection', column: 'Note', delta: 0 },
      'mechanism-not-applicable',
      'delta',
    ],
    [
      'keys without delta, with counts',
      { kind: 'keySelection', column: 'Note', counts: true, delta: 0 },
      'mechanism-not-applicable',
      'delta',
    ],
  ])('%s', (_name, wire, code, field) => {
    const refusal = refusalOf(wire)
    expect(refusal.code).toBe(code)
    expect(refusal.errors[0]?.field).toBe(field)
    expect(refusal.errors[0]?.rule.length).toBeGreaterThan(5)
  })
})
