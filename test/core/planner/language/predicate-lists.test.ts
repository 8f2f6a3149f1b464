import { expect, test } from 'vitest'
import { planPredicate } from '../../../../src/core/planner/language/predicate.ts'
import { people } from '../neighbours/people.ts'

const dataset = people('add-remove')
const planned = (where: object) => planPredicate(where as never, dataset, 'where')
const ages = (...values: number[]) => ({ column: 'Age', op: 'in', values })
const or = (...predicates: object[]) => ({ op: 'or', predicates })

test('lists of one column, of which any may have the value, are one list', () => {
  const region = { column: 'Region', op: '=', value: 'N' }
  expect(planned(or(ages(1, 2), region, or(ages(2, 3), { column: 'Age', op: '=', value: 4 })))).toMatchObject(
    {
      kind: 'or',
      predicates: [
        { kind: 'index-in', column: 'Age', indexes: [1n, 2n, 3n, 4n] },
        { kind: expect.stringMatching(/-in$/), column: 'Region' },
      ],
    },
  )
})

test('lists of which all must have the value stay apart', () => {
  expect(planned({ op: 'and', predicates: [ages(1, 2), ages(2, 3)] })).toMatchObject({
    kind: 'and',
    predicates: [{ indexes: [1n, 2n] }, { indexes: [2n, 3n] }],
  })
})
