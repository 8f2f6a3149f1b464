import { expect, test } from 'vitest'
import type { ExactAggregate } from '../../../src/core/planner/plans/plan-kinds.ts'
import { evaluate } from '../../../src/studies/evaluation/evaluation.ts'
import { planOf } from '../../core/planner/planned.ts'
import { KEY_CONTRACT } from './contract/keys.ts'
import { keysOf, taped } from './evaluated.ts'

test.each(KEY_CONTRACT)('$name', ({ check }) => check({ evaluate }))

test('keys that are too long are left out, and shorter ones are reported', async () => {
  const planned = planOf({ kind: 'keySelection', column: 'Note', epsilon: 1, delta: 1e-3 })
  const texts = ['a', 'b', 'c'].map((letter) => letter.repeat(4_000_000)).concat('short')
  const exact: ExactAggregate = {
    kind: 'key-selection',
    texts: { texts, counts: Float64Array.of(9, 8, 7, 6) },
  }
  const { keys, distinctKeys } = keysOf(
    await evaluate({ plan: planned, exact }, { runs: 1, shown: 0, noiseSource: taped() }),
  )
  expect(keys.map(({ key }) => key.slice(0, 5))).toEqual(['aaaaa', 'bbbbb', 'short'])
  expect(distinctKeys).toBe(4)
})
