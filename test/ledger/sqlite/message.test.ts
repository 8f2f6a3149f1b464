import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Charge, ChargeRequest } from '../../../src/ledger/ledger.ts'
import type { Call, Settled } from '../../../src/ledger/operation.ts'
import {
  messageRanges,
  type PackedCall,
  packCall,
  packSettled,
  unpackCall,
  unpackSettled,
} from '../../../src/ledger/sqlite/message.ts'
import type { Amount } from '../../../src/privacy/accounting.ts'
import { deltaAtto, epsilonNano, type PrivacyLoss, rhoPico } from '../../../src/privacy/loss.ts'
import { loss, question } from '../support.ts'

const units = fc.bigInt({ min: 0n, max: 10n ** 17n })
const losses: fc.Arbitrary<PrivacyLoss> = fc.record({
  epsilonNano: units.map((value) => epsilonNano(value % 10n ** 15n)),
  deltaAtto: units.map(deltaAtto),
})
const amounts: Readonly<Record<Amount['accounting'], fc.Arbitrary<Amount>>> = {
  basic: losses.map((amount) => ({ accounting: 'basic', ...amount })),
  zcdp: units.map((value) => ({ accounting: 'zcdp', rhoPico: rhoPico(value) })),
}
const accountings = fc.constantFrom('basic' as const, 'zcdp' as const)
const texts = fc.string({ unit: 'binary' })

const requests: fc.Arbitrary<ChargeRequest> = accountings.chain((accounting) =>
  fc.record({
    dataset: texts,
    datasetVersion: texts,
    principal: texts,
    idempotencyKey: texts,
    keyChosen: fc.boolean(),
    requestHash: texts,
    request: texts,
    price: amounts[accounting],
    sharing: fc.boolean(),
    leaseMs: fc.nat(),
  }),
)

const charges: fc.Arbitrary<Charge> = accountings.chain((accounting) => {
  const amount = amounts[accounting]
  const analyst = { principal: texts, spent: amount, spentOnShared: amount }
  const allotment = fc.record({ granted: losses, limit: amount })
  return fc.record({
    id: texts,
    attempt: fc.nat(),
    budget: fc.record({ granted: losses, cap: amount, spent: amount }),
    analyst: fc.oneof(fc.record(analyst), fc.record({ ...analyst, allotment })),
    event: fc.record({ sequence: fc.nat(), hash: texts }),
  })
})

describe('what crosses threads as a list of values', () => {
  it('a charge that is asked for arrives as it was', () => {
    fc.assert(
      fc.property(requests, (request) => {
        const call: Call = { operation: 'charge', args: [request] }
        expect(unpackCall(structuredClone(packCall(call)))).toEqual(call)
      }),
    )
  })

  it('a charge that was debited arrives as it was', () => {
    fc.assert(
      fc.property(charges, (charge) => {
        const settled: Settled = { kind: 'done', result: { kind: 'charged', charge } }
        expect(unpackSettled(structuredClone(packSettled(settled)))).toEqual(settled)
      }),
    )
  })
})

describe('what crosses threads as it is', () => {
  it.each<Extract<PackedCall, Call>>([
    { operation: 'healthy', args: [] },
    { operation: 'recordAnswer', args: ['id', 1, 'an answer'] },
    {
      operation: 'openBudget',
      args: ['census', { accounting: 'zcdp', neighbours: 'add-remove', granted: loss('1') }, 'ada'],
    },
  ])('a call: $operation', (call) => {
    expect(packCall(call)).toBe(call)
    expect(unpackCall(call)).toBe(call)
  })

  const analyst = { principal: 'ada', spent: question('a').price, spentOnShared: question('a').price }
  it.each<[string, Settled]>([
    ['a failure', { kind: 'failed', error: new RangeError('the key is empty') }],
    ['nothing', { kind: 'done', result: undefined }],
    ['yes', { kind: 'done', result: true }],
    ['a list', { kind: 'done', result: ['census'] }],
    ['an answer', { kind: 'done', result: { kind: 'answered', id: 'id', answer: '{}' } }],
    ['a refusal', { kind: 'done', result: { kind: 'key-reused' } }],
    ['an allotment', { kind: 'done', result: { kind: 'allotted', analyst } }],
  ])('what became of one: %s', (_, settled) => {
    expect(packSettled(settled)).toBe(settled)
    expect(unpackSettled(settled)).toBe(settled)
  })
})

it('messages hold every item once, in order, and never many', () => {
  fc.assert(
    fc.property(fc.nat({ max: 500 }), (length) => {
      const items = Array.from({ length }, (_, place) => place)
      const parts = messageRanges(length).map(([start, end]) => items.slice(start, end))
      expect(parts.flat()).toEqual(items)
      expect(parts.every((part) => part.length > 0 && part.length <= 16)).toBe(true)
    }),
  )
})
