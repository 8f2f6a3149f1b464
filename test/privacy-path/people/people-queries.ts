import type { Dataset } from '../../../src/core/dataset/dataset.ts'
import type { plan as planAsItIs } from '../../../src/core/planner/plan.ts'
import type { Plan } from '../../../src/core/planner/plans/plan-kinds.ts'
import type { Neighbours } from '../../../src/privacy/neighbours.ts'
import { planner } from '../examination.ts'
import { RIVALS, SOME_ROWS, type Wire } from '../queries.ts'
import {
  MOST_ROWS,
  type Pairs,
  peoplePairs,
  peopleTowerPairs,
  tallPeoplePairs,
  tinyPeople,
} from '../tiny-datasets.ts'

/** Kinds of neighbours under which some pair of people spends the whole price. */
export type Tight = 'both' | 'add-remove' | 'neither'

const GEOMETRIC = { mechanism: 'geometric' }
const GAUSSIAN = { mechanism: 'gaussian', delta: 1e-6 }
const AGE_BINS = { column: 'Age', edges: [1, 2, 4] }
export const REGIONS: Wire = { kind: 'histogram', column: 'Region', epsilon: 0.7 }
export const NOTES: Wire = { kind: 'keySelection', column: 'Note', epsilon: 1, delta: 0.01 }

/*
 * Under `change-one` fewer queries are tight: two people cannot be in different cells of a small table with all of
 * their rows, no person can raise a sum and a count most at once, and a table may have no person who contributes
 * nothing.
 */

const ADDITIVE: readonly (readonly [Wire, Tight])[] = [
  [{ kind: 'count' }, 'add-remove'],
  [{ kind: 'count', where: SOME_ROWS }, 'both'],
  [{ kind: 'count', where: SOME_ROWS, contribution: { rows: 1 } }, 'both'],
  [{ kind: 'count', where: SOME_ROWS, contribution: { rows: 2 } }, 'both'],
  [{ kind: 'count', of: 'people', where: SOME_ROWS }, 'both'],
  [{ kind: 'sum', column: 'Age' }, 'both'],
  [{ kind: 'sum', column: 'Income', where: SOME_ROWS }, 'both'],
  [{ kind: 'sum', column: 'Age', where: SOME_ROWS, contribution: { rows: 2 } }, 'both'],
  [{ kind: 'mean', column: 'Age' }, 'add-remove'],
  [{ kind: 'variance', column: 'Balance', where: SOME_ROWS }, 'add-remove'],
  [{ kind: 'covariance', columns: ['Age', 'Balance'] }, 'add-remove'],
  [{ kind: 'correlation', columns: ['Income', 'Balance'], contribution: { rows: 2 } }, 'add-remove'],
  [{ kind: 'linearRegression', outcome: 'Age', predictors: ['Balance'], where: SOME_ROWS }, 'add-remove'],
  [{ kind: 'proportion', of: SOME_ROWS }, 'both'],
  [{ kind: 'countDistinct', column: 'Region', where: SOME_ROWS }, 'both'],
  [{ kind: 'countDistinct', column: AGE_BINS }, 'add-remove'],
  [REGIONS, 'both'],
  [{ ...REGIONS, contribution: { rows: 2 } }, 'both'],
  [{ ...REGIONS, of: 'people' }, 'both'],
  [{ ...REGIONS, of: 'people', contribution: { groups: 2 } }, 'both'],
  [{ ...REGIONS, contribution: { groups: 1, rowsPerGroup: 2 } }, 'both'],
  [{ ...REGIONS, contribution: { groups: 2, rowsPerGroup: 2 } }, 'add-remove'],
  [{ kind: 'histogram', column: 'Sex' }, 'both'],
  [{ kind: 'bounds', column: 'Age', contribution: { rows: 2 } }, 'both'],
  [{ kind: 'topGroups', keys: ['Region'], k: 2, contribution: { groups: 2 } }, 'both'],
  [{ kind: 'histogram', column: 'Sex', of: 'people' }, 'both'],
  [{ kind: 'contingency', columns: ['Sex', 'Region'], contribution: { groups: 2 } }, 'both'],
  [{ kind: 'contingency', columns: ['Sex', 'Member'], of: 'people', where: SOME_ROWS }, 'add-remove'],
  [{ kind: 'contributionProfile' }, 'both'],
  [{ kind: 'contributionProfile', where: SOME_ROWS, ...GAUSSIAN }, 'both'],
  [{ kind: 'sum', column: 'Age', contribution: { perPerson: { lower: 2, upper: 7 } } }, 'both'],
  [
    {
      kind: 'sum',
      column: 'Balance',
      where: SOME_ROWS,
      contribution: { perPerson: { lower: -2, upper: 2 } },
    },
    'both',
  ],
  [{ kind: 'mean', column: 'Age', perPerson: 'sum' }, 'both'],
  [{ kind: 'mean', column: 'Age', perPerson: 'mean', where: SOME_ROWS }, 'add-remove'],
  [{ kind: 'mean', column: 'Income', perPerson: 'count' }, 'add-remove'],
  [{ kind: 'countDistinct', column: 'Note', contribution: { groups: 2 } }, 'add-remove'],
  [
    {
      kind: 'groupBy',
      keys: ['Region'],
      statistics: [{ kind: 'sum', column: 'Age' }],
      contribution: { groups: 2, rowsPerGroup: 2, perPerson: { lower: 0, upper: 6 } },
    },
    'neither',
  ],
  [
    {
      kind: 'groupBy',
      keys: ['Region'],
      statistics: [{ kind: 'sum', column: 'Age' }],
      contribution: { groups: 2 },
    },
    'add-remove',
  ],
  [
    {
      kind: 'groupBy',
      keys: ['Sex'],
      statistics: [{ kind: 'sum', column: 'Balance' }],
      contribution: { rows: 2 },
    },
    'both',
  ],
  [
    {
      kind: 'groupBy',
      keys: ['Region'],
      statistics: [{ kind: 'count' }, { kind: 'count', of: 'people' }, { kind: 'mean', column: 'Age' }],
      contribution: { groups: 2, rowsPerGroup: 2 },
    },
    'neither',
  ],
]

const SELECTIONS: readonly (readonly [Wire, Tight])[] = [
  [{ kind: 'noisyMax', candidates: { column: 'Region' }, of: 'people' }, 'both'],
  [
    { kind: 'noisyMax', candidates: { column: 'Region' }, contribution: { groups: 1, rowsPerGroup: 2 } },
    'both',
  ],
  ...['exponential', 'gumbel', 'laplace'].map((noise) => [rivals({ noise }), 'both'] as const),
  [rivals({ of: 'people' }), 'both'],
  [rivals({ of: 'people', k: 2 }), 'both'],
  [rivals({ gap: true }), 'both'],
  [rivals({ contribution: { rows: 2 }, where: SOME_ROWS }), 'both'],
]

function rivals(wire: object): Wire {
  return { kind: 'noisyMax', candidates: RIVALS, ...wire }
}

const QUANTILES: readonly (readonly [Wire, Tight])[] = [
  [{ kind: 'median', column: 'Wealth' }, 'both'],
  [{ kind: 'median', column: 'Wealth', contribution: { rows: 1 } }, 'both'],
  [{ kind: 'median', column: 'Income', where: SOME_ROWS }, 'neither'],
  [{ kind: 'percentile', column: 'Wealth', p: 75 }, 'both'],
  [{ kind: 'percentile', column: 'Wealth', p: [20, 50], contribution: { rows: 2 } }, 'neither'],
  [{ kind: 'minimum', column: 'Wealth' }, 'both'],
  [{ kind: 'median', column: 'Wealth', perPerson: 'mean' }, 'both'],
  [
    {
      kind: 'percentile',
      column: 'Wealth',
      p: 75,
      perPerson: 'sum',
      contribution: { perPerson: { lower: 0, upper: 1e15 } },
    },
    'both',
  ],
  [{ kind: 'maximum', column: 'Income', perPerson: 'count', where: SOME_ROWS }, 'neither'],
  [{ kind: 'maximum', column: 'Wealth', contribution: { rows: 2 } }, 'both'],
]

const GROUPS: readonly (readonly [Wire, Tight])[] = [
  [{ kind: 'groupBy', keys: ['Sex'], statistics: [{ kind: 'median', column: 'Wealth' }] }, 'both'],
  [
    {
      kind: 'groupBy',
      keys: ['Region'],
      statistics: [{ kind: 'percentile', column: 'Wealth', p: 75 }],
      contribution: { groups: 2 },
    },
    'neither',
  ],
  [
    {
      kind: 'groupBy',
      keys: ['Region'],
      statistics: [{ kind: 'median', column: 'Wealth' }, { kind: 'count' }],
      contribution: { rows: 2 },
      mechanism: 'geometric',
    },
    'neither',
  ],
]

const MARGINALS: readonly (readonly [Wire, Tight])[] = [
  [{ kind: 'marginals', columns: ['Sex', 'Region'], ways: [1, 2], contribution: { rows: 2 } }, 'neither'],
  [{ kind: 'marginals', columns: ['Sex', 'Member'], ways: 1, where: SOME_ROWS, delta: 1e-6 }, 'neither'],
]

const CURVES: readonly (readonly [Wire, Tight])[] = [
  [{ kind: 'cumulativeCounts', column: AGE_BINS }, 'add-remove'],
  [{ kind: 'cumulativeCounts', column: 'Age', contribution: { rows: 2 }, where: SOME_ROWS }, 'add-remove'],
  [{ kind: 'cumulativeCounts', column: 'Age', contribution: { groups: 1, rowsPerGroup: 2 } }, 'add-remove'],
  [{ kind: 'cumulativeCounts', column: 'Age', of: 'people', contribution: { groups: 1 } }, 'add-remove'],
  [{ kind: 'cumulativeCounts', column: 'Age', contribution: { groups: 2, rowsPerGroup: 2 } }, 'neither'],
]

const KEYS: readonly (readonly [Wire, Tight])[] = [
  [{ ...NOTES, counts: true }, 'neither'],
  [{ ...NOTES, counts: true, contribution: { groups: 1 } }, 'neither'],
  [{ ...NOTES, counts: false, contribution: { groups: 2 } }, 'neither'],
  [{ ...NOTES, counts: false }, 'neither'],
  [{ ...NOTES, counts: false, where: SOME_ROWS }, 'neither'],
]

/** Queries about people, of every kind. Their epsilon is that at which a few people spend nearly all of it. */
export const PEOPLE_QUERIES: readonly { readonly wire: Wire; readonly tight: Tight }[] = [
  ...ADDITIVE.flatMap(([wire, tight]) =>
    [GEOMETRIC, GAUSSIAN].map((mechanism) => ({
      wire: offered(wire, 0.7, wholeNumbers(wire, mechanism)),
      tight,
    })),
  ),
  ...SELECTIONS.map(([wire, tight]) => ({ wire: offered(wire, 60), tight })),
  ...QUANTILES.map(([wire, tight]) => ({ wire: offered(wire, 16), tight })),
  ...GROUPS.map(([wire, tight]) => ({ wire: offered(wire, 16), tight })),
  ...MARGINALS.map(([wire, tight]) => ({ wire: offered(wire, 0.7), tight })),
  ...CURVES.flatMap(([wire, tight]) =>
    [{}, { delta: 1e-6 }].map((price) => ({ wire: offered(wire, 0.7, price), tight })),
  ),
  ...KEYS.map(([wire, tight]) => ({ wire, tight })),
]

function offered(wire: Wire, epsilon: number, mechanism: object = {}): Wire {
  return { ...wire, epsilon, ...mechanism }
}

/** Geometric noise is for whole numbers only. */
function wholeNumbers(wire: Wire, mechanism: object): object {
  const text = JSON.stringify(wire)
  return mechanism === GEOMETRIC && /Balance|Income/.test(text) ? { mechanism: 'laplace' } : mechanism
}

/**
 * The queries that can be asked under these neighbours: distinct values of free text are counted under `add-remove`
 * only.
 */
export function queriesOfPeople(neighbours: Neighbours): typeof PEOPLE_QUERIES {
  return PEOPLE_QUERIES.filter(
    ({ wire }) => neighbours === 'add-remove' || wire.kind !== 'countDistinct' || wire.column !== 'Note',
  )
}

/** Plans a query for tiny datasets with this number of people. */
export function peoplePlanner(
  wire: Wire,
  neighbours: Neighbours,
  plan?: typeof planAsItIs,
  datasetOf: (neighbours: Neighbours, people: number) => Dataset = (kind, people) =>
    tinyPeople(kind, people, MOST_ROWS),
): (people: number) => Plan {
  return planner(wire, neighbours, plan, datasetOf)
}

/** The pairs of datasets of people on which a query is examined. */
export function peoplePairsFor({ kind, statistics }: Wire, neighbours: Neighbours): readonly Pairs[] {
  switch (kind) {
    case 'groupBy':
      return JSON.stringify(statistics).includes('Wealth')
        ? [...tallPeoplePairs[neighbours], ...peoplePairs[neighbours]]
        : peoplePairs[neighbours]
    case 'median':
    case 'percentile':
    case 'minimum':
    case 'maximum':
      return tallPeoplePairs[neighbours]
    case 'keySelection':
      return [...peoplePairs[neighbours], ...peopleTowerPairs[neighbours]]
    default:
      return peoplePairs[neighbours]
  }
}
