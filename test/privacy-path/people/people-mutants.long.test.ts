import { expect, test } from 'vitest'
import type { planBatch } from '../../../src/core/planner/batch.ts'
import { defined } from '../../../src/privacy/defined.ts'
import type { Neighbours } from '../../../src/privacy/neighbours.ts'
import { type SourceChange, withChangedSource } from '../../mutants/changed-source.ts'
import { selectMutants } from '../../mutants/select-mutants.ts'
import { importPlanner, type Mistake, stability, violations } from '../mistaken-planner.ts'
import { RIVALS, SOME_ROWS, type Wire } from '../queries.ts'
import { BY_REGION, keepingOneRow, PROFILES_BY_REGION, spentByBatch } from './people-batches.ts'
import { NOTES, peoplePairsFor, peoplePlanner, REGIONS } from './people-queries.ts'

/*
 * Mutants of the planner with a mistake in what a person can contribute. Each plans queries whose distribution on
 * neighbours that differ in a person spends more than their price.
 */

const GEOMETRIC = { mechanism: 'geometric', epsilon: 0.7 }
const GAUSSIAN = { mechanism: 'gaussian', delta: 1e-6, epsilon: 0.7 }
const COUNT: Wire = { kind: 'count', where: SOME_ROWS, ...GEOMETRIC }
const SUM: Wire = { kind: 'sum', column: 'Age', where: SOME_ROWS, ...GEOMETRIC }
const TABLE: Wire = { ...REGIONS, ...GEOMETRIC }
const PEOPLE_TABLE: Wire = { ...TABLE, of: 'people' }
const SEXES: Wire = { kind: 'histogram', column: 'Sex', ...GEOMETRIC }
const TWO_GROUPS = { contribution: { groups: 2, rowsPerGroup: 2 } }
const RIVALRY: Wire = { kind: 'noisyMax', candidates: RIVALS, epsilon: 60 }
const MEDIAN: Wire = { kind: 'median', column: 'Wealth', epsilon: 16 }
const GROUP_MEDIANS: Wire = {
  kind: 'groupBy',
  keys: ['Region'],
  statistics: [{ kind: 'median', column: 'Wealth' }],
  epsilon: 16,
}
const KEYS: Wire = { ...NOTES, counts: false }

const MISTAKES: readonly Mistake[] = [
  {
    name: 'a person taken for one row',
    mutations: stability('const rows = smaller(BigInt(bounding.rows), most)', 'const rows = 1n'),
    seenBy: [COUNT, SUM, TABLE, { ...COUNT, ...GAUSSIAN }, RIVALRY, MEDIAN, KEYS],
  },
  {
    name: 'groups with one row each',
    mutations: stability(
      'rowsPerCell: smaller(rowsPerCell, most), cells }',
      'rowsPerCell: smaller(1n, most), cells }',
    ),
    seenBy: [
      { ...TABLE, ...TWO_GROUPS },
      { kind: 'noisyMax', candidates: { column: 'Region' }, ...TWO_GROUPS, epsilon: 60 },
    ],
  },
  {
    name: 'one group of each person',
    mutations: stability('? 1n : BigInt(groupKeySize(key))', '? 1n : 1n'),
    seenBy: [PEOPLE_TABLE, { ...PEOPLE_TABLE, ...GAUSSIAN }],
  },
  {
    name: 'every column taken as constant per person',
    mutations: stability('?.constantPerPerson === true', '?.constantPerPerson !== null'),
    seenBy: [PEOPLE_TABLE, { ...PEOPLE_TABLE, ...GAUSSIAN }],
  },
  {
    name: 'rows of one cell added up as if in different cells (L2)',
    mutations: stability(
      'return (terms / termsPerCell) * termsPerCell ** 2n + rest ** 2n',
      'return terms',
    ).concat(
      stability('const inOneCell = smaller(contribution.termsPerCell, terms)', 'const inOneCell = 1n'),
    ),
    seenBy: [{ ...TABLE, ...GAUSSIAN }],
  },
  {
    name: 'full cells without the rest (L2)',
    mutations: stability('termsPerCell ** 2n + rest ** 2n', 'termsPerCell ** 2n'),
    seenBy: [{ ...TABLE, ...TWO_GROUPS, ...GAUSSIAN }],
  },
  {
    name: 'a person replaced by one with as many rows',
    mutations: stability(
      'const most = highest > 0n ? terms * highest : mayBeNothing ? 0n : highest',
      'const most = highest > 0n ? highest : mayBeNothing ? 0n : highest',
    ),
    seenBy: [COUNT, SUM],
  },
  {
    name: 'a replaced person in as many cells as an added one',
    mutations: stability(
      'l0: entries(smaller(2n * cells, allCells), magnitude)',
      'l0: entries(cells, magnitude)',
    ).concat(
      stability('l1: smaller(2n * terms * magnitude, allCells * span)', 'l1: terms * magnitude'),
      stability(
        'l2Squared: smaller(distance, allCells * span ** 2n)',
        'l2Squared: squares * magnitude ** 2n',
      ),
    ),
    seenBy: [TABLE, { ...TABLE, ...GAUSSIAN }, SEXES],
  },
  {
    name: 'people counted as they are in one cell only',
    mutations: stability('const onceEach = { terms: cells,', 'const onceEach = { terms: 1n,'),
    seenBy: [PEOPLE_TABLE],
  },
  {
    name: 'a count of rows priced as a count of people',
    mutations: stability("sensitivity: of === 'people' ? 1n : smaller(rows, rowsPerCell)", 'sensitivity: 1n'),
    seenBy: [RIVALRY, { ...RIVALRY, noise: 'laplace' }, { ...RIVALRY, noise: 'gumbel' }],
  },
  {
    name: 'counts of a replaced person taken as monotonic',
    mutations: stability("monotonic: dataset.neighbours === 'add-remove'", 'monotonic: true'),
    seenBy: [RIVALRY, { ...RIVALRY, of: 'people' }],
  },
  {
    name: 'ranks moved by one row of each person',
    mutations: stability("const terms = of === 'people' ? values : bounds.rows", 'const terms = 1n'),
    seenBy: [MEDIAN, { ...MEDIAN, kind: 'minimum' }, { ...MEDIAN, kind: 'percentile', p: 75 }],
  },
  {
    name: 'quantiles of groups, each at the sensitivity of one group',
    mutations: stability("cells === 'groups' ? 2n * weight", "cells === 'groups' ? weight"),
    seenBy: [GROUP_MEDIANS],
  },
  {
    name: 'the threshold of one key for a person with several',
    mutations: stability('const rising = smaller(rows, cells)', 'const rising = 1n'),
    seenBy: [KEYS, { ...KEYS, counts: true }],
  },
  {
    name: 'rows counted for each key, and priced as people',
    mutations: [
      {
        file: 'core/planner/plans/key-selection.ts',
        find: "...(dataset.privacyUnit.kind === 'person' ? { people: true } : {}),",
        replace: '',
      },
    ],
    seenBy: [KEYS],
  },
  {
    name: 'distinct categories of one row',
    mutations: stability(
      'const termsPerCell = smaller(rows.termsPerCell, reachableCells([statistic.of], dataset))',
      'const termsPerCell = 1n',
    ),
    seenBy: [{ kind: 'countDistinct', column: 'Region', where: SOME_ROWS, ...GEOMETRIC }],
  },
]

test.each(selectMutants(import.meta.dirname, MISTAKES, ({ mutations }) => mutations))(
  '$name: detected by its distribution',
  async ({ mutations, seenBy }) => {
    const mistaken = await importPlanner(mutations)
    for (const wire of seenBy)
      expect(violations(wire, mistaken, peoplePlanner, peoplePairsFor), JSON.stringify(wire)).not.toEqual([])
  },
)

interface BatchMistake {
  readonly name: string
  readonly mutation: SourceChange
  readonly seenBy: readonly Wire[]
  readonly datasetOf?: typeof keepingOneRow
  /** Kinds of neighbours under which tiny datasets show it; default: both. */
  readonly under?: readonly Neighbours[]
}

const BATCH_MISTAKES: readonly BatchMistake[] = [
  {
    name: 'profiles taken to count only the rows that are kept',
    mutation: {
      file: 'core/planner/additive/kind.ts',
      find: '(countsRowsOfPeople(aggregate) ? undefined : aggregate.where)',
      replace: 'aggregate.where',
    },
    seenBy: PROFILES_BY_REGION,
    datasetOf: keepingOneRow,
    under: ['add-remove'],
  },
  {
    name: 'disjoint rows taken for disjoint people',
    mutation: {
      file: 'core/planner/identity/disjoint.ts',
      find: 'return column.constantPerPerson === true',
      replace: 'return true',
    },
    seenBy: BY_REGION,
  },
  {
    name: 'a person in one of the queries that separate rows',
    mutation: {
      file: 'core/planner/price/stability.ts',
      find: "disjoint === 'units' || privacyUnit.kind === 'row' ? 1 : privacyUnit.maxRows",
      replace: '1',
    },
    seenBy: BY_REGION,
  },
]

test.each(selectMutants(import.meta.dirname, BATCH_MISTAKES, ({ mutation }) => [mutation]))(
  '$name: detected by the joint distribution',
  async ({ mutation, seenBy, datasetOf, under = ['add-remove', 'change-one'] }) => {
    await withChangedSource([mutation], {}, async (load) => {
      const mistaken = await load<{ planBatch: typeof planBatch }>('core/planner/batch.ts')
      for (const neighbours of under) {
        const { share } = spentByBatch(
          seenBy,
          neighbours,
          defined({ planBatch: mistaken.planBatch, datasetOf }),
        )
        expect(share, neighbours).toBeGreaterThan(1.01)
      }
    })
  },
)
