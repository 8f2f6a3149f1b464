import { zeroConcentratedMap } from '../src/core/mechanisms/mechanism.ts'
import { calibrateGeometric } from '../src/core/mechanisms/noise/geometric.ts'
import { priceOf } from '../src/core/planner/price/price.ts'
import {
  type Accounting,
  addAmounts,
  amountBoughtBy,
  coversAmount,
  noAmount,
} from '../src/privacy/accounting.ts'
import { deltaFromWire, epsilonFromWire, type PrivacyLoss } from '../src/privacy/loss.ts'

/** Sensitivity of a count to one person more or fewer. */
const ONE_COUNT = { l0: 1n, l1: 1n, l2Squared: 1n, lInfinity: 1n }

/** Number of counts of one epsilon that a budget pays for, by accounting. */
export interface CompositionFigure {
  readonly epsilonOfEach: number
  readonly counts: Readonly<Record<Accounting, number>>
}

/** Charges geometric counts to a budget of epsilon 1 and delta 1e-6, one after the other, until one no longer fits. */
export function compositionBenchmark(): CompositionFigure[] {
  const granted = { epsilonNano: epsilonFromWire(1, 'epsilon'), deltaAtto: deltaFromWire(1e-6, 'delta') }
  return [0.1, 0.01, 0.001].map((epsilonOfEach) => ({
    epsilonOfEach,
    counts: {
      basic: countsWithin('basic', granted, epsilonOfEach),
      zcdp: countsWithin('zcdp', granted, epsilonOfEach),
    },
  }))
}

function countsWithin(accounting: Accounting, granted: PrivacyLoss, epsilonOfEach: number): number {
  const measurement = calibrateGeometric(ONE_COUNT, epsilonFromWire(epsilonOfEach, 'epsilon'))
  const rho = zeroConcentratedMap(measurement, ONE_COUNT)
  const price = priceOf({ loss: measurement.loss, rho }, accounting)
  const cap = amountBoughtBy(accounting, granted)
  let counts = 0
  let spent = addAmounts(noAmount(accounting), price)
  while (coversAmount(cap, spent)) {
    counts += 1
    spent = addAmounts(spent, price)
  }
  return counts
}
