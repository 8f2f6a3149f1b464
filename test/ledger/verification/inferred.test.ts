import { expect, test } from 'vitest'
import { canonicalJson } from '../../../src/ledger/canonical.ts'
import { verifyDocuments } from '../../../src/ledger/exported.ts'
import { fixtureInMemory } from '../fixture.ts'
import { basic, chargeOf, question, summed } from '../support.ts'

const parts = { measurement: 'm1', integers: [['10', '21']] }
const batch = { measurement: 'm2', answers: [{}, { integers: [['-7']] }] }

const term = (release: number, cell: number, weight: string) => ({ release, statistic: 0, cell, weight })

/** The total of 10 and 21, combined with -7 of the batch: (2 * 31 - 7) / 3. */
const inference = (changes: {
  parts: string
  batch: string
  weight?: string
  value?: number
  from?: string
}) => ({
  releases: [
    { id: changes.parts, measurement: 'm1' },
    { id: changes.batch, measurement: changes.from ?? 'm2.1' },
  ],
  estimates: [
    [
      {
        value: changes.value ?? 55 / 3,
        denominator: '3',
        terms: [term(0, 0, changes.weight ?? '2'), term(0, 1, '2'), term(1, 0, '1')],
      },
    ],
  ],
})

type Changes = Omit<Parameters<typeof inference>[0], 'parts' | 'batch'> & {
  /** The parents that the event names, by their keys. */
  readonly parents?: readonly ('parts' | 'batch' | 'other')[]
  readonly asked?: readonly string[]
  /** An answer of its own measurement, 100, which the estimate adds up with the others. */
  readonly own?: string
}

/** What the verification finds in a ledger with an inferred answer, or with one of a measurement that tops releases up. */
async function verified({
  parents = ['parts', 'batch'],
  asked = ['m1', 'm2.1'],
  own,
  ...changes
}: Changes = {}) {
  const { ledger } = fixtureInMemory()
  await ledger.openBudget('census', summed('1'), 'carol')
  const ids: Record<string, string> = {}
  for (const [key, answer] of Object.entries({ parts, batch, other: parts })) {
    const { id } = chargeOf(await ledger.charge(question(key)))
    await ledger.recordAnswer(id, 1, JSON.stringify(answer))
    ids[key] = id
  }
  const idOf = (key: string) => ids[key] ?? ''
  const free = own === undefined ? { price: basic('0'), parents: parents.map(idOf) } : {}
  const request = canonicalJson({ kind: 'count', inferredFrom: asked })
  const charge = chargeOf(await ledger.charge(question('inferred', { request, ...free })))
  const stated = inference({ parts: idOf('parts'), batch: idOf('batch'), ...changes })
  if (own !== undefined) {
    stated.releases.push({ id: 'this', measurement: 'this' })
    stated.estimates[0]?.[0]?.terms.push(term(2, 0, '1'))
  }
  const measured = own === undefined ? {} : { measurement: 'm3', integers: [[own]] }
  await ledger.recordAnswer(charge.id, 1, JSON.stringify({ ...measured, inference: stated }))
  const { broken, inferred } = await verifyDocuments(ledger, 'census')
  await ledger.close()
  return broken ?? inferred
}

test('answers that follow from their releases', async () => {
  expect(await verified()).toBe(1)
  expect(await verified({ own: '100', value: 155 / 3 })).toBe(1)
  // A measurement of its own may make a release superfluous.
  expect(await verified({ own: '100', value: 155 / 3, asked: ['m0', 'm1', 'm2.1'] })).toBe(1)
})

const COMBINATION = /not the stated combination/
test.each<[string, Changes, RegExp]>([
  ['a weight', { weight: '3' }, COMBINATION],
  ['a value', { value: 55.000000001 / 3 }, COMBINATION],
  ['a parent', { parents: ['other', 'batch'] }, /other releases/],
  ['a further parent', { parents: ['parts', 'batch', 'other'] }, /other releases/],
  ['a measurement', { from: 'm2.0', asked: ['m1', 'm2.0'] }, /does not show/],
  ['a measurement of the request', { asked: ['m1', 'm9'] }, /other measurements/],
  ['a number', { weight: '2.5' }, /cannot be read/],
  ['an integer of its own', { own: '101', value: 155 / 3 }, COMBINATION],
  ['a measurement of a top-up', { own: '100', value: 155 / 3, asked: ['m1'] }, /other measurements/],
])('a change of %s is found', async (_, changes, reason) => {
  expect(await verified(changes)).toEqual({
    kind: 'broken',
    sequence: 8,
    reason: expect.stringMatching(reason),
  })
})
