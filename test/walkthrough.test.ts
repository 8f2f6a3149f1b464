import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { answer as answerSchema, preview as previewSchema } from '../schemas/answer.ts'
import { evaluation as evaluationSchema } from '../schemas/evaluation.ts'
import { epsilonReport, riskReport } from '../schemas/risk.ts'
import { startTestService, type TestService } from './e2e/service.ts'
import { installed } from './installed.ts'

const run = promisify(execFile)
const page = readFileSync(path.resolve(import.meta.dirname, '../docs/walkthrough.md'), 'utf8')
/** The page with its lines joined, to look for sentences that are broken over several. */
const prose = page.replaceAll(/\s+/g, ' ')

let service: TestService
let folder = ''
beforeAll(async () => {
  service = await startTestService({ SOTTO_DEMO: 'true' })
  folder = await mkdtemp(path.join(tmpdir(), 'sotto-walkthrough-'))
  await symlink(service.dataDirectory, path.join(folder, 'data'))
  await writeFile(path.join(service.dataDirectory, 'analyst.key'), `${service.keyOf('analyst')}\n`)
})
afterAll(async () => {
  await service.close()
  await rm(folder, { recursive: true, force: true })
})

/** What all commands of the page print, pasted one after the other. */
async function walk(): Promise<readonly string[]> {
  const commands = [...page.matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(([, text = '']) => text)
  const script = commands.join('\n').replaceAll('http://127.0.0.1:8080', service.url)
  const { stdout } = await run('sh', ['-ec', script], { cwd: folder, maxBuffer: 10_000_000 })
  return stdout.trim().split('\n')
}

test.skipIf(!installed('curl'))('every command of the walkthrough does what the page says', async () => {
  const [table, wholeNumbers, gaussian, laplace, selected, risk, epsilon, preview, paid, ...rest] = (
    await walk()
  ).map((line) => JSON.parse(line))
  expect(rest).toEqual([])

  const evaluated = [table, wholeNumbers, gaussian, laplace].map((body) => {
    const found = evaluationSchema.parse(body)
    if (!('values' in found)) throw new Error('these are made of numbers')
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

  const pictures = (await readdir(folder)).filter((name) => name.endsWith('.svg')).sort()
  const shown = new Set([...page.matchAll(/pictures\/([\w-]+)-light\.svg/g)].map(([, name]) => `${name}.svg`))
  expect(pictures).toEqual([...shown].sort())
  for (const name of pictures) expect(await readFile(path.join(folder, name), 'utf8')).toMatch(/^<svg /)
})
