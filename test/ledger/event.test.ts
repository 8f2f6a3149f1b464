import fc from 'fast-check'
import { expect, it } from 'vitest'
import { canonicalJson } from '../../src/ledger/canonical.ts'
import { canonicalEvent, type EventAmount, type LedgerEvent } from '../../src/ledger/event.ts'
import { codePoint } from '../code-point.ts'
import { KINDS_OF_EVENTS } from './verification/sample-history.ts'

// Texts of whole code points, including those that JSON escapes and those that UTF-16 and UTF-8 order differently.
const text = fc.oneof(
  fc.string({ unit: codePoint }),
  fc.constantFrom(
    '',
    '"',
    '\\',
    '\u0000',
    '\u001f',
    '\u007f',
    '\u2028',
    '\ud83d\udca7',
    '\uff5e',
    '__proto__',
  ),
)
const digits = fc.bigInt({ min: 0n, max: 10n ** 25n }).map(String)
const amount: fc.Arbitrary<EventAmount> = fc.oneof(
  // In either order, because the order of an object's fields does not matter.
  fc.record({ epsilonNano: digits, deltaAtto: digits }),
  fc.record({ deltaAtto: digits, epsilonNano: digits }),
  fc.record({ rhoPico: digits }),
)
const count = fc.maxSafeNat()

/** Every field of an event. A new field does not compile until it is listed here. */
const FIELDS: { readonly [Field in keyof Required<LedgerEvent>]: fc.Arbitrary<LedgerEvent[Field]> } = {
  version: fc.constant(1),
  dataset: text,
  neighbours: fc.constantFrom('add-remove', 'change-one'),
  privacyUnit: fc.oneof(
    fc.record({ kind: fc.constant('person'), column: text }),
    fc.record({ column: text, kind: fc.constant('person') }),
    fc.record({ kind: fc.constant('person') }),
  ),
  synthetic: fc.boolean(),
  population: text,
  member: fc.record({ dataset: text, sequence: count, hash: text }),
  otherDatasets: fc.array(text),
  parents: fc.array(text),
  sequence: count,
  previousHash: text,
  kind: fc.constantFrom(...KINDS_OF_EVENTS) as fc.Arbitrary<LedgerEvent['kind']>,
  at: text,
  principal: text,
  salt: text,
  accounting: fc.constant('zcdp'),
  chargeId: text,
  attempt: count,
  question: count,
  requestHash: text,
  datasetVersion: text,
  loss: amount,
  limit: amount,
  sharedFrom: text,
  spentOnShared: amount,
  analyst: text,
  answerHash: text,
  reason: text,
  counted: fc.constant(true),
  errorClass: text,
  failures: count,
  subject: text,
  facts: fc.dictionary(
    fc.stringMatching(/^[a-zA-Z]\w{0,9}$/),
    fc.oneof(text, fc.boolean(), fc.integer(), fc.array(text)),
  ),
}

const event = fc
  .tuple(
    fc.record<LedgerEvent>(FIELDS as never, {
      requiredKeys: ['version', 'dataset', 'sequence', 'previousHash', 'kind', 'at', 'principal'],
    }),
    fc.infiniteStream(fc.nat()),
  )
  .map(([fields, places]) => {
    const shuffled = Object.entries(fields).map((field) => ({ field, place: places.next().value }))
    return Object.fromEntries(
      shuffled.sort((a, b) => Number(a.place) - Number(b.place)).map(({ field }) => field),
    ) as unknown as LedgerEvent
  })

it('the text of an event is its canonical JSON (RFC 8785), in any order of its fields', () => {
  fc.assert(
    fc.property(event, (each) => {
      expect(canonicalEvent(each)).toBe(canonicalJson(each))
      expect(JSON.parse(canonicalEvent(each))).toEqual(each)
    }),
    // A field that is left out, or out of place beside one other, escapes with a probability below 1e-11: an event has two
    // given fields in a given order with a probability of at least 1/8.
    { numRuns: 200 },
  )
})
