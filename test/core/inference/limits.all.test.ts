import seedrandom from 'seedrandom'
import { expect, test } from 'vitest'
import type { Dataset } from '../../../src/core/dataset/dataset.ts'
import { INFERENCE_LIMITS, infer } from '../../../src/core/inference/infer.ts'
import { people } from '../planner/neighbours/people.ts'
import { exactRelease, isInferred, planned } from './inferred.ts'

/* What is said about a question for which the releases are too many. */

const dataset: Dataset = people('add-remove')

/** Tables over bins that have few edges in common. */
function tables(number: number, bins: number, statistics: readonly object[]): readonly object[] {
  const random = seedrandom('tables')
  return Array.from({ length: number }, () => {
    const inner = Array.from({ length: bins }, () => Math.round(20 * (-49 + 78 * random())) / 20)
    const edges = [...new Set([-50, ...inner, 30])].sort((a, b) => a - b)
    return { kind: 'groupBy', keys: [{ column: 'Balance', edges }], statistics }
  })
}

const found = (target: object, paid: readonly object[]) =>
  infer(
    planned(target, dataset),
    paid.map((each, place) => exactRelease(each, dataset, [], String(place))),
  )

test('a search that ends early calls no cell missing, and finds what follows without it', () => {
  const means = [{ kind: 'mean', column: 'Balance' }]
  const [target = {}, ...others] = tables(200, 60, means)
  expect(found(target, others)).toEqual({ kind: 'ended' })
  expect(isInferred(found(target, [...others, target]))).toBe(true)
})

test('releases that were left out are counted', () => {
  const adults = { kind: 'count', where: { column: 'Age', op: '>=', value: 18 } }
  const paid = Array.from({ length: INFERENCE_LIMITS.releases + 1 }, () => adults)
  expect(found({ kind: 'count' }, paid)).toMatchObject({ kind: 'missing', leftOut: 1 })
})
