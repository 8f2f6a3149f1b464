import { describe, expect, test } from 'vitest'
import { describeBudgetRisk, describeReleaseRisk } from '../../../src/answers/documents/disclosure.ts'
import { deltaAtto, epsilonNano } from '../../../src/privacy/loss.ts'
import { people } from '../../core/planner/neighbours/people.ts'

const loss = (epsilon: number) => ({
  epsilonNano: epsilonNano(BigInt(epsilon * 1e9)),
  deltaAtto: deltaAtto(0n),
})
const changeOne = { ...people('change-one'), rows: 1_000 }
const addRemove = people('add-remove')

describe('the description of the disclosure risk', () => {
  test('of a release states the risk and the accuracy in a sentence', () => {
    const release = {
      loss: loss(0.5),
      replacementLoss: loss(0.5),
      accuracy: { confidence: 0.95, halfWidth: 6 },
    }
    const risk = describeReleaseRisk({ dataset: addRemove, granted: loss(1), candidates: 4 }, release)
    expect(risk.query.risk).toBeCloseTo(1 / (1 + 3 * Math.exp(-0.5)), 12)
    // Neighbours have one row more or fewer, so one row replaced is two steps.
    expect(risk.dataset.risk).toBeCloseTo(1 / (1 + 3 * Math.exp(-2)), 12)
    expect(risk.statement).toBe(
      'At epsilon 0.5, an adversary who knows everyone but one person, with 4 candidates for that person, guesses ' +
        "correctly at most 35.5% of the time (blind guess: 25%), and at most 71.2% of the time once the dataset's whole budget of epsilon 1 is spent. " +
        'The 95% half-width is 6.',
    )
  })

  test('an unknown half-width is omitted, and one in rows states its unit', () => {
    const release = { loss: loss(0.5), replacementLoss: loss(1) }
    const said = (accuracy: object) =>
      describeReleaseRisk(
        { dataset: addRemove, granted: loss(1) },
        { ...release, accuracy: { confidence: 0.9, halfWidth: null, ...accuracy } },
      ).statement
    expect(said({})).not.toContain('half-width')
    expect(said({ halfWidth: 12.3456, unit: 'rows' })).toContain('The 90% half-width is 12.35 rows.')
    // Stated too large rather than too small.
    expect(said({ halfWidth: 12_344 })).toContain('half-width is 12350.')
    expect(said({ halfWidth: 0 })).toContain('half-width is 0.')
  })

  test('the number of candidates is the supposed one, else the public number of rows, else two', () => {
    const candidates = (disclosed: Parameters<typeof describeBudgetRisk>[0]) =>
      describeBudgetRisk(disclosed).candidates
    expect(candidates({ dataset: addRemove, granted: loss(1) })).toBe(2)
    expect(candidates({ dataset: changeOne, granted: loss(1) })).toBe(1_000)
    expect(candidates({ dataset: changeOne, granted: loss(1), candidates: 7 })).toBe(7)
  })

  test('the blind guess is rounded to nearest, because it is not a bound', () => {
    const { statement } = describeBudgetRisk({ dataset: addRemove, granted: loss(1), candidates: 3 })
    expect(statement).toContain('(blind guess: 33.3%)')
  })

  test('percentages are rounded up, never down, and end at 100', () => {
    const risk = describeBudgetRisk({ dataset: changeOne, granted: loss(20) })
    expect(risk.statement).toContain('at most 100% of the time')
    expect(describeBudgetRisk({ dataset: changeOne, granted: loss(1) }).statement).toContain(
      'at most 0.272% of the time',
    )
    expect(1 / (1 + 999 * Math.exp(-1))).toBeGreaterThan(0.00271)
  })
})
