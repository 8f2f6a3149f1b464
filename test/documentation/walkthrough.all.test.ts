import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { answer as answerSchema, preview as previewSchema } from '../../schemas/answers/answer.ts'
import { evaluation as evaluationSchema } from '../../schemas/studies/evaluation.ts'
import { epsilonReport, riskReport } from '../../schemas/studies/risk.ts'
import { entry } from '../../src/privacy/must.ts'
import { startTestService, type TestService } from '../e2e/service.ts'
import { installed } from '../installed.ts'
import { commandsOf, openShell, readPage, type Shell } from './pasted-page.ts'

const page = readPage('docs/walkthrough.md')
/** The page with its lines joined, to find sentences that span several. */
const prose = page.replaceAll(/\s+/g, ' ')

let service: TestService
let shell: Shell
beforeAll(async () => {
  service = await startTestService({ SOTTO_DEMO: 'true' })
  shell = await openShell(service)
})
afterAll(async () => {
  await shell.close()
  await service.close()
})

test.skipIf(!installed('curl'))('every command of the walkthrough does what the page says', async () => {
  const printed = await shell.run(commandsOf(page).join('\n'))
  const bodies = printed.map((line) => JSON.parse(line))
  const [
    table,
    wholeNumbers,
    gaussian,
    laplace,
    selected,
    risk,
    epsilon,
    preview,
    paid,
    cells,
    totals,
    ...rest
  ] = bodies
  expect(rest).toEqual([])

  const evaluated = [table, wholeNumbers, gaussian, laplace].map((body) => {
    const found = evaluationSchema.parse(body)
    if (!('values' in found)) throw new Error('expected an evaluation of numbers')
    return found
  })
  const rows = [...page.matchAll(/^\| ([\w ]+?) +\| ([MF]) +\| +(\d+) \|/gm)].map(([, ...cells]) => cells)
  expect(evaluated[0]?.values.map(({ key, truth }) => [key?.Occupation, key?.Sex, String(truth)])).toEqual(
    rows,
  )
  const theoretical = evaluated.slice(1).map(({ totals }) => totals[0]?.totalAbsoluteError.theoretical)
  expect(theoretical).toEqual([8.51, 34.66, 10].map((figure) => expect.closeTo(figure, 2)))

  const found = evaluationSchema.parse(selected)
  const candidates = 'candidates' in found ? found.candidates : []
  expect(candidates).toHaveLength(5)
  for (const { candidate, truth } of candidates)
    expect(page).toMatch(new RegExp(`\\| ${candidate} +\\| +${truth.toLocaleString('en')} \\|`))

  expect(riskReport.parse(risk).columns[1]?.posterior?.largest).toBeCloseTo(0.618, 3)
  const epsilons = epsilonReport
    .parse(epsilon)
    .columns.flatMap(({ upperBound, tightBound }) =>
      [upperBound, tightBound].map((bound) => (bound.reached ? bound.epsilon.toFixed(4) : '')),
    )
  expect(epsilons).toEqual(['0.3379', '0.5251', '0.3829', '0.4317'])
  for (const figure of epsilons) expect(page).toContain(figure)

  expect(prose).toContain(`"${previewSchema.parse(preview).disclosureRisk.statement}"`)
  expect(answerSchema.parse(paid).cost).toEqual({ epsilon: 0.3, delta: 0 })

  const numbers = ({ result }: { result: { cells: { value: number }[] } }) =>
    result.cells.map(({ value }) => value)
  const shown = [...page.matchAll(/^ +\{ "key": \{ "Occupation": "([\w ]+)" \}, "value": \d+ \}/gm)].map(
    ([, name]) => name,
  )
  expect(totals.result.cells.map(({ key }: { key: { Occupation: string } }) => key.Occupation)).toEqual(shown)
  expect(numbers(totals)).toEqual(
    numbers(totals).map((_, row) => entry(numbers(cells), 2 * row) + entry(numbers(cells), 2 * row + 1)),
  )
  expect(page).toContain(`"halfWidth": ${totals.accuracy.halfWidth.toFixed(2)}`)
  expect(page).toContain(totals.inference.statement)
  expect([cells.cost, totals.cost]).toEqual([1, 0].map((epsilon) => ({ epsilon, delta: 0 })))

  const pictures = (await readdir(shell.folder)).filter((name) => name.endsWith('.svg')).sort()
  const drawn = new Set([...page.matchAll(/pictures\/([\w-]+)-light\.svg/g)].map(([, name]) => `${name}.svg`))
  expect(pictures).toEqual([...drawn].sort())
  for (const name of pictures) expect(await readFile(path.join(shell.folder, name), 'utf8')).toMatch(/^<svg /)
})
