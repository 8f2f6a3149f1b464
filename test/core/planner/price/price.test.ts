import { expect, test } from 'vitest'
import { priceOf } from '../../../../src/core/planner/price/price.ts'
import { coversAmount } from '../../../../src/privacy/accounting.ts'
import { deltaFromWire, epsilonFromWire, rhoPico } from '../../../../src/privacy/loss.ts'
import { Refusal } from '../../../../src/privacy/refusal.ts'
import { planOf } from '../planned.ts'

const loss = { epsilonNano: epsilonFromWire(0.5, 'epsilon'), deltaAtto: deltaFromWire(1e-9, 'delta') }
const rho = rhoPico(7n)

test('a price is epsilon and delta, or rho', () => {
  expect(priceOf({ loss, rho }, 'basic')).toEqual({ accounting: 'basic', ...loss })
  expect(priceOf({ loss, rho }, 'zcdp')).toEqual({ accounting: 'zcdp', rhoPico: rho })
  expect(priceOf({ loss }, 'basic')).toEqual({ accounting: 'basic', ...loss })
})

// e tanh(e / 2) for one count; e + exp(-e) - 1 on a fine grid, at 4/9, 3/9 and 2/9 of the epsilon, and for a choice with
// exponential noise; that of a bounded range for the exponential mechanism, each of two at half.
test.each([
  [{ kind: 'count', mechanism: 'geometric' }, 462_117_157_261n],
  [{ kind: 'variance', column: 'Age', mechanism: 'laplace' }, 158_449_101_982n],
  [{ kind: 'noisyMax', candidates: { column: 'Sex' } }, 367_879_441_172n],
  [{ kind: 'noisyMax', candidates: { column: 'Sex' }, noise: 'gumbel' }, 123_301_561_483n],
  [{ kind: 'median', column: 'Age' }, 123_301_561_483n],
  [{ kind: 'percentile', column: 'Age', p: [25, 75] }, 62_284_184_524n],
])('%j costs %d pico-rho', (wire, pico) => {
  expect(priceOf(planOf(wire), 'zcdp')).toEqual({ accounting: 'zcdp', rhoPico: pico })
})

test('purely private queries never cost more rho than epsilon', () => {
  for (const epsilon of [7.9, 8, 20, 60, 1000])
    for (const wire of [
      { kind: 'count' },
      { kind: 'variance', column: 'Age' },
      { kind: 'median', column: 'Age' },
      { kind: 'percentile', column: 'Age', p: [25, 50, 75] },
      { kind: 'minimum', column: 'Age' },
      ...['laplace', 'exponential', 'gumbel'].map((noise) => ({
        kind: 'noisyMax',
        candidates: { column: 'Region' },
        noise,
        k: 3,
      })),
    ]) {
      const price = priceOf(planOf({ ...wire, epsilon }), 'zcdp')
      const largest = rhoPico(BigInt(epsilon * 1e12))
      expect(coversAmount({ accounting: 'zcdp', rhoPico: largest }, price), JSON.stringify(wire)).toBe(true)
    }
})

test('Gaussian noise has the price of its rho, for any number of statistics', () => {
  const priced = (wire: object) => {
    const amount = priceOf(planOf({ ...wire, mechanism: 'gaussian', delta: 1e-6 }), 'zcdp')
    return amount.accounting === 'zcdp' ? Number(amount.rhoPico) * 1e-12 : Number.NaN
  }
  // The sigma of an epsilon of 1 and this delta (Balle and Wang 2018, arXiv 1805.06530): rho = 1 / (2 sigma^2).
  expect(priced({ kind: 'count' }) * 2 * 4.224678889326835 ** 2).toBeCloseTo(1, 6)
  expect(priced({ kind: 'variance', column: 'Age' }) * 2 * 4.224678889326835 ** 2).toBeCloseTo(1, 6)
})

test('queries without a price in rho are refused if budgets are counted in rho', () => {
  const keys = planOf({ kind: 'keySelection', column: 'Note', delta: 1e-6 })
  expect(priceOf(keys, 'basic')).toEqual({ accounting: 'basic', ...keys.loss })
  let refusal: unknown
  try {
    priceOf(keys, 'zcdp')
  } catch (error) {
    refusal = error
  }
  expect(refusal).toBeInstanceOf(Refusal)
  expect(refusal).toMatchObject({ code: 'unsupported-under-zcdp', errors: [{ field: 'kind' }] })
})
