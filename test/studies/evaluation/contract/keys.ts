import { expect } from 'vitest'
import { keepProbability } from '../../../../src/core/mechanisms/selection/key-selection.ts'
import type { ExactAggregate } from '../../../../src/core/planner/plans/plan-kinds.ts'
import { planFor, planOf } from '../../../core/planner/planned.ts'
import { type ContractTest, contractTest, keysOf, meanOf, taped } from '../evaluated.ts'

/** Contract of selections of keys. */
export const KEY_CONTRACT: readonly ContractTest[] = [
  contractTest(
    'a selection of keys reports how often each appeared, and the errors of its counts',
    async (module) => {
      const wire = { kind: 'keySelection', column: 'Note', counts: true, epsilon: 1, delta: 1e-3 }
      const planned = planFor('key-selection', planOf(wire))
      const exact: ExactAggregate = {
        kind: 'key-selection',
        texts: { texts: ['rare', 'flu', 'cold'], counts: Float64Array.of(1, 20, 7) },
      }
      const { keys, distinctKeys, shown } = keysOf(
        await module.evaluate({ plan: planned, exact }, { runs: 100, shown: 100, noiseSource: taped() }),
      )
      expect(distinctKeys).toBe(3)
      expect(keys.map(({ key, truth }) => [key, truth])).toEqual([
        ['flu', 20],
        ['cold', 7],
        ['rare', 1],
      ])
      for (const { key, truth, appeared, probabilityToAppear, meanAbsoluteError, bias } of keys) {
        const errors = shown.flatMap((result) =>
          'keys' in result
            ? result.keys.filter((each) => each.key === key).map(({ count }) => (count ?? Number.NaN) - truth)
            : [],
        )
        expect(appeared).toBe(errors.length)
        expect(probabilityToAppear).toBe(keepProbability(planned.measurement, truth))
        expect(bias?.value ?? 0).toBeCloseTo(errors.length === 0 ? 0 : meanOf(errors), 10)
        if (errors.length > 0) expect(meanAbsoluteError?.value).toBeCloseTo(meanOf(errors.map(Math.abs)), 10)
      }
      const [flu, cold, rare] = keys
      expect(flu?.appeared).toBe(100)
      expect(cold?.appeared).toBeGreaterThan(10)
      expect(cold?.appeared).toBeLessThan(90)
      // It appears once in a thousand runs. Without a run there is no error.
      expect(rare).toMatchObject({ appeared: 0, meanAbsoluteError: { value: null, standardError: null } })
    },
  ),
  contractTest(
    'keys without counts have no errors, and only the largest of many keys are reported',
    async (module) => {
      const planned = planOf({ kind: 'keySelection', column: 'Note', epsilon: 1, delta: 1e-3 })
      const texts = Array.from({ length: 1_500 }, (_, position) => `key ${position}`)
      const counts = Float64Array.from(texts, (_, position) => 1 + (position % 100))
      const exact: ExactAggregate = { kind: 'key-selection', texts: { texts, counts } }
      const { keys, distinctKeys } = keysOf(
        await module.evaluate({ plan: planned, exact }, { runs: 3, shown: 1, noiseSource: taped() }),
      )
      expect(distinctKeys).toBe(1_500)
      expect(keys).toHaveLength(1_000)
      expect(keys[0]).toEqual({ key: 'key 1099', truth: 100, appeared: 3, probabilityToAppear: 1 })
      expect(Math.min(...keys.map(({ truth }) => truth))).toBe(34)
    },
  ),
]
