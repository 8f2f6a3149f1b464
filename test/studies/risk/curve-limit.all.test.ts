import { expect, test } from 'vitest'
import { epsilonOfColumns } from '../../../src/studies/risk/columns.ts'

test('a curve of too many points for its answers is refused', () => {
  const columns = { days: Array.from({ length: 1_000 }, (_, person) => person * person) }
  const question = { columns, released: 2, query: { kind: 'median' }, risk: 0.5 } as const
  const curveOf = (points: number) => () =>
    epsilonOfColumns({ ...question, curve: { from: 0, to: 1, points } })
  expect(curveOf(1_001)).toThrow('too many points')
  expect(curveOf(3)()[0]?.curve).toHaveLength(3)
})
