import { expect } from 'vitest'
import type { UniformSource } from '../../../../src/core/mechanisms/samplers/uniform-source.ts'
import { selectNoisyMax } from '../../../../src/core/mechanisms/selection/noisy-max.ts'
import type { CellLabel } from '../../../../src/core/planner/language/grouping.ts'
import type { ExactAggregate } from '../../../../src/core/planner/plans/plan-kinds.ts'
import { accuracyReport } from '../../../../src/core/planner/report.ts'
import { scriptedSource } from '../../../core/mechanisms/scripted-source.ts'
import { planFor, planOf } from '../../../core/planner/planned.ts'
import { type ContractTest, candidatesOf, contractTest, meanOf, taped, tapeTo } from '../evaluated.ts'

/** Contract of selections among candidates. */
export const CANDIDATE_CONTRACT: readonly ContractTest[] = [
  contractTest(
    'a selection reports how often each candidate won, and the shortfall in rows',
    async (module) => {
      const planned = planFor('noisy-max', planOf({ kind: 'noisyMax', candidates: { column: 'Sex' } }))
      const scores = [5n, 3n]
      const winner = (source: UniformSource) =>
        selectNoisyMax(planned.measurement, scores, source)[0]?.candidate
      const noiseSource = scriptedSource([0, 1, 0, 0].flatMap((wanted) => tapeTo(wanted, winner)))
      const exact: ExactAggregate = { kind: 'noisy-max', scores }
      expect(await module.evaluate({ plan: planned, exact }, { runs: 4, shown: 2, noiseSource })).toEqual({
        runs: 4,
        confidence: 0.95,
        candidates: [
          // Permute-and-flip visits each first half of the time, and takes the one that is 2 behind with exp(-2).
          {
            candidate: 'M',
            truth: 5,
            won: 3,
            selected: 3,
            probabilityToWin: expect.closeTo(1 - Math.exp(-2) / 2, 9),
          },
          {
            candidate: 'F',
            truth: 3,
            won: 1,
            selected: 1,
            probabilityToWin: expect.closeTo(Math.exp(-2) / 2, 9),
          },
        ],
        // 0, 2, 0, 0.
        shortfallRows: { value: 0.5, standardError: 0.5 },
        // With 95% confidence not more than 2 are missing, as exp(-3) / 2 is below 0.05.
        withinHalfWidth: 1,
        shown: [{ selected: [{ candidate: 'M' }] }, { selected: [{ candidate: 'F' }] }],
      })
    },
  ),
  contractTest('each of several selected candidates is compared with the best one left', async (module) => {
    const wire = { kind: 'noisyMax', candidates: { column: 'Region' }, k: 3, noise: 'gumbel', epsilon: 0.1 }
    const planned = planFor('noisy-max', planOf(wire))
    const exact: ExactAggregate = { kind: 'noisy-max', scores: [4n, 9n, 2n, 7n] }
    const options = { runs: 100, shown: 100, noiseSource: taped() }
    const { candidates, shortfallRows, withinHalfWidth, shown } = candidatesOf(
      await module.evaluate({ plan: planned, exact }, options),
    )
    const rowsOf = new Map(
      planned.candidates.map((candidate, place) => [candidate, [4, 9, 2, 7][place] ?? 0]),
    )
    const shortfalls = shown.map((result) => {
      const chosen = 'selected' in result ? result.selected.map(({ candidate }) => candidate) : []
      expect(new Set(chosen).size).toBe(3)
      const missing = chosen.map((candidate, rank) => {
        const left = planned.candidates.filter((other) => !chosen.slice(0, rank).includes(other))
        return Math.max(...left.map((other) => rowsOf.get(other) ?? 0)) - (rowsOf.get(candidate) ?? 0)
      })
      return Math.max(...missing)
    })
    expect(new Set(shortfalls).size).toBeGreaterThan(3)
    expect(shortfallRows.value).toBeCloseTo(meanOf(shortfalls), 10)
    expect(withinHalfWidth).toBe(1)
    expect(candidates.reduce((sum, { won }) => sum + won, 0)).toBe(100)
    expect(candidates.reduce((sum, { selected }) => sum + selected, 0)).toBe(300)
    for (const { candidate, won, selected, probabilityToWin } of candidates) {
      const lists = shown.map((result) => ('selected' in result ? result.selected : []))
      expect(won).toBe(lists.filter(([first]) => first?.candidate === candidate).length)
      expect(selected).toBe(lists.flat().filter((each) => each.candidate === candidate).length)
      expect(probabilityToWin).toBeNull()
    }
  }),
  contractTest(
    'the error of each gap is measured against the true lead of the selected candidate',
    async (module) => {
      const k = 2
      const wire = {
        kind: 'noisyMax',
        candidates: { column: 'Region' },
        k,
        noise: 'laplace',
        gap: true,
        epsilon: 0.5,
      }
      // A small confidence makes the half-width small enough for errors on either side of it.
      const planned = { ...planFor('noisy-max', planOf(wire)), confidence: 0.05 }
      const rows = [4, 9, 2, 7]
      const exact: ExactAggregate = { kind: 'noisy-max', scores: rows.map(BigInt) }
      const options = { runs: 100, shown: 100, noiseSource: taped() }
      const { gaps, shown } = candidatesOf(await module.evaluate({ plan: planned, exact }, options))
      const errors = shown.map((result) => {
        const selected = 'selected' in result ? result.selected : []
        const rowsOf = (candidate: CellLabel | undefined) =>
          rows[planned.candidates.indexOf(candidate ?? null)] ?? Number.NaN
        const left = planned.candidates.filter(
          (each) => !selected.some(({ candidate }) => candidate === each),
        )
        const rivals = [rowsOf(selected[1]?.candidate), Math.max(...left.map(rowsOf))]
        return selected.map(
          ({ candidate, gap = Number.NaN }, rank) => gap - (rowsOf(candidate) - (rivals[rank] ?? Number.NaN)),
        )
      })
      // Noise changes the order often, so that some true gaps are negative.
      expect(
        new Set(
          shown.map((result) => JSON.stringify('selected' in result ? result.selected[0]?.candidate : 0)),
        ).size,
      ).toBe(4)
      for (const rank of [0, 1]) {
        const each = errors.map((ofRun) => ofRun[rank] ?? Number.NaN)
        const mean = meanOf(each)
        expect(gaps?.ranks[rank]).toMatchObject({
          rank: rank + 1,
          meanAbsoluteError: { value: expect.closeTo(meanOf(each.map(Math.abs)), 9), theoretical: null },
          bias: { value: expect.closeTo(mean, 9) },
          standardDeviation: expect.closeTo(
            Math.sqrt(each.reduce((sum, error) => sum + (error - mean) ** 2, 0) / 99),
            9,
          ),
        })
      }
      const halfWidth = accuracyReport(planned).gapHalfWidth ?? Number.NaN
      expect(gaps?.halfWidth).toBe(halfWidth)
      const within = errors.filter((ofRun) => ofRun.every((error) => Math.abs(error) <= halfWidth))
      expect(gaps?.withinHalfWidth).toBe(within.length / 100)
      expect(within.length).toBeGreaterThan(5)
      expect(within.length).toBeLessThan(95)
      // Noise of scale k / epsilon = 4 on 4 candidates: 4 (2 (1 + 1/2 + 1/3 + 1/4) - 1).
      expect(gaps?.ranks[0]?.meanAbsoluteError.theoreticalBound).toBeCloseTo(4 * (25 / 6 - 1), 6)
      const without = planOf({ ...wire, gap: false })
      const ungapped = { ...options, runs: 1, noiseSource: taped() }
      expect(candidatesOf(await module.evaluate({ plan: without, exact }, ungapped)).gaps).toBeUndefined()
    },
  ),
]
