import { expect, test } from 'vitest'
import type * as asItIs from '../../../src/core/planner/batch.ts'
import type { Neighbours } from '../../../src/privacy/neighbours.ts'
import { type SourceChange, withChangedSource } from '../../mutants/changed-source.ts'
import { selectMutants } from '../../mutants/select-mutants.ts'
import { COUNTS, examine, largestLogRatio, largestRho, ROUNDING } from './batches-of-counts.ts'

const MISTAKES: readonly {
  readonly mistake: string
  readonly change: SourceChange
  readonly neighbours: readonly Neighbours[]
}[] = [
  {
    mistake: 'a replaced row that is in one query only',
    change: {
      file: 'core/planner/price/stability.ts',
      find: "return neighbours === 'add-remove' ? each : 2 * each",
      replace: 'return each',
    },
    neighbours: ['change-one'],
  },
  {
    mistake: 'a row that is in no query',
    change: {
      file: 'core/planner/price/stability.ts',
      find: "return neighbours === 'add-remove' ? each : 2 * each",
      replace: "return neighbours === 'add-remove' ? 0 : 2 * each",
    },
    neighbours: ['add-remove'],
  },
  {
    mistake: 'overlapping queries credited',
    change: {
      file: 'core/planner/batch.ts',
      find: 'group.every((other) => disjoint(place, other))',
      replace: 'true',
    },
    neighbours: ['add-remove', 'change-one'],
  },
  {
    mistake: 'queries credited that are disjoint from only part of a group',
    change: {
      file: 'core/planner/batch.ts',
      find: 'group.every((other) => disjoint(',
      replace: 'group.some((other) => disjoint(',
    },
    neighbours: ['add-remove'],
  },
  {
    mistake: 'the first of a group',
    change: {
      file: 'core/planner/batch.ts',
      find: '.sort((a, b) => (a < b ? 1 : a > b ? -1 : 0))',
      replace: '',
    },
    neighbours: ['add-remove', 'change-one'],
  },
  {
    mistake: 'predicates forgotten, and no row thought to count without one',
    change: {
      file: 'core/planner/identity/disjoint.ts',
      find: 'predicate === undefined ? EVERYWHERE',
      replace: 'predicate !== undefined ? []',
    },
    neighbours: ['add-remove', 'change-one'],
  },
]

test.each(selectMutants(import.meta.dirname, MISTAKES, ({ change }) => [change]))(
  '$mistake: detected by the joint distribution',
  async ({ change, neighbours }) => {
    await withChangedSource([change], {}, async (load) => {
      const { planBatch } = await load<typeof asItIs>('core/planner/batch.ts')
      for (const kind of neighbours) {
        const shares = COUNTS.map(
          ({ wires }) => examine(wires, kind, 'basic', largestLogRatio, planBatch).share,
        )
        expect(Math.max(...shares), kind).toBeGreaterThan(1 + ROUNDING)
        const rhos = COUNTS.map(({ wires }) => examine(wires, kind, 'zcdp', largestRho, planBatch).share)
        expect(Math.max(...rhos), kind).toBeGreaterThan(1 + ROUNDING)
      }
    })
  },
)
