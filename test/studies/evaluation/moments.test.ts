import { expect, test } from 'vitest'
import { releaseAggregate } from '../../../src/answers/release.ts'
import { reporter } from '../../../src/core/planner/report.ts'
import { evaluate } from '../../../src/studies/evaluation/evaluation.ts'
import { answerNumbers } from '../../../src/studies/evaluation/truth.ts'
import { planOf } from '../../core/planner/planned.ts'
import { estimates, evaluated, KINDS, meanOf, numbersOf, taped } from './evaluated.ts'

test.each(KINDS)('%s: running sums give the figures of all runs', async (_name, wire, exact) => {
  const planned = planOf(wire)
  const runs = 200
  const evaluation = numbersOf(
    await evaluate({ plan: planned, exact }, { runs, shown: 7, noiseSource: taped() }),
  )
  const noiseSource = taped()
  const answers: (readonly { readonly value: number; readonly halfWidth: number | null }[])[] = []
  for (let run = 0; run < runs; run += 1)
    answers.push(answerNumbers(reporter(planned)(await releaseAggregate(planned, exact, noiseSource))))

  expect(evaluation.shown).toHaveLength(7)
  for (const [run, { values }] of evaluation.shown.entries())
    expect(values.map(({ noisy }) => noisy)).toEqual(answers[run]?.map(({ value }) => value))
  const deviationOf = (values: readonly number[]) => {
    const mean = meanOf(values)
    return Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1))
  }
  const close = (value: number) => expect.closeTo(value, 9)
  const truths = evaluation.values.map(({ truth }) => Number(truth ?? Number.NaN))
  for (const [position, value] of evaluation.values.entries()) {
    const truth = truths[position] ?? Number.NaN
    const errors = answers.map((answer) => (answer[position]?.value ?? Number.NaN) - truth)
    const sizes = errors.map(Math.abs)
    expect(value.bias).toMatchObject({
      value: close(meanOf(errors)),
      standardError: close(deviationOf(errors) / Math.sqrt(runs)),
    })
    expect(value.meanAbsoluteError).toMatchObject({
      value: close(meanOf(sizes)),
      standardError: close(deviationOf(sizes) / Math.sqrt(runs)),
    })
    expect(value.standardDeviation).toBeCloseTo(deviationOf(errors), 9)
    if (truth === 0) expect(value.meanRelativeError).toBeNull()
    else expect(value.meanRelativeError).toBeCloseTo(meanOf(sizes) / Math.abs(truth), 9)
    if (planned.kind === 'quantile') continue
    const covered = answers.filter((answer, run) => (sizes[run] ?? 0) <= (answer[position]?.halfWidth ?? 0))
    expect(value.withinHalfWidth).toBeCloseTo(covered.length / runs, 9)
  }
  const sums = answers.map((answer) =>
    answer.reduce((sum, { value }, position) => sum + Math.abs(value - (truths[position] ?? Number.NaN)), 0),
  )
  const sumOfTruths = truths.reduce((sum, truth) => sum + Math.abs(truth), 0)
  expect(evaluation.totals).toEqual([
    expect.objectContaining({
      totalAbsoluteError: expect.objectContaining({
        value: close(meanOf(sums)),
        standardError: close(deviationOf(sums) / Math.sqrt(runs)),
      }),
      relativeTotalErrorPercent: {
        value: close((100 * meanOf(sums)) / sumOfTruths),
        standardError: close((100 * deviationOf(sums)) / Math.sqrt(runs) / sumOfTruths),
      },
    }),
  ])
})

test('errors much smaller than the truth keep their digits', async () => {
  const truth = 2n ** 52n
  const { values } = await evaluated({ kind: 'count' }, estimates([truth]), [1, 2, 1, 2], 4)
  expect(values[0]).toMatchObject({
    truth: 2 ** 52,
    bias: { value: 1.5 },
    standardDeviation: Math.sqrt(1 / 3),
  })
})
