import fc from 'fast-check'
import seedrandom from 'seedrandom'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { query as querySchema } from '../../../schemas/answers/query.ts'
import { releaseOf } from '../../../src/answers/asked.ts'
import { shortestQuery } from '../../../src/answers/documents/asked-query.ts'
import { uniformFromWords } from '../../../src/core/mechanisms/samplers/uniform-integers.ts'
import { plan } from '../../../src/core/planner/plan.ts'
import { drawPanels } from '../../../src/studies/plots/draw.ts'
import { plotsOfRelease } from '../../../src/studies/plots/release-plot.ts'
import { rowOf } from '../../core/planner/arbitraries.ts'
import { people } from '../../core/planner/neighbours/people.ts'
import { referenceEngine } from '../../engines/reference-engine.ts'
import { flawsOf } from './flaws.ts'
import { pictureOf } from './picture.ts'

const warnings = vi.spyOn(console, 'warn')
beforeEach(() => void warnings.mockClear())
afterEach(() => expect(warnings).not.toHaveBeenCalled())

const dataset = people('add-remove')
const rows = fc.sample(rowOf(dataset), { numRuns: 300, seed: 7 })
const engine = referenceEngine(() => rows)

type Wire = Readonly<Record<string, unknown>>

/** The stored document of an answer, as far as its picture needs it. */
async function documentOf(wire: Wire) {
  const query = querySchema.parse({ epsilon: 2, ...wire })
  const planned = plan(query, dataset, { maxCells: 1000 })
  // Noise of a fixed tape, so that the positions of labels are always the same.
  const random = seedrandom('release')
  const noiseSource = uniformFromWords({ next: () => random.int32() >>> 0 })
  const released = await releaseOf(planned, { engine, noiseSource })
  return { dataset: 'people', ...released, question: shortestQuery(query) }
}

const COLUMNS = [{ name: 'Visited', type: 'date', lower: '2024-01-20', upper: '2024-04-10' }]
const plotsOf = (document: object) => plotsOfRelease(JSON.stringify(document), COLUMNS)

const MEN = {
  op: 'and',
  predicates: [
    { column: 'Age', op: '>=', value: 65 },
    { column: 'Sex', op: '=', value: 'M' },
  ],
}
const STATISTICS = [
  { kind: 'count' },
  { kind: 'mean', column: 'Age' },
  { kind: 'mean', column: 'Visited' },
  { kind: 'median', column: 'Income' },
]

/** A query of each kind, the number of its panels, and a part of the text for screen readers. */
const RELEASES: readonly (readonly [wire: Wire, panels: number, spoken: RegExp])[] = [
  [{ kind: 'count', where: MEN }, 1, /Rows with Age >= 65 and Sex = M\. count: \S+ ± \S+\./],
  [{ kind: 'sum', column: 'Balance' }, 1, /sum of Balance: \S+ ± /],
  [{ kind: 'mean', column: 'Visited' }, 1, /mean of Visited: 2024-\d\d-\d\d, from 2024-\S+ to 2024-\S+\./],
  [{ kind: 'variance', column: 'Age' }, 1, /variance of Age: /],
  [{ kind: 'standardDeviation', column: 'Age' }, 1, /standard deviation of Age: /],
  [{ kind: 'covariance', columns: ['Age', 'Balance'] }, 1, /covariance of Age and Balance: /],
  [{ kind: 'correlation', columns: ['Age', 'Balance'] }, 1, /correlation of Age and Balance: /],
  [{ kind: 'proportion', of: MEN }, 1, /proportion: /],
  [{ kind: 'countDistinct', column: 'Region' }, 1, /count distinct of Region: /],
  [
    { kind: 'histogram', column: { column: 'Age', edges: [0, 18, 65, 120] } },
    1,
    /\[0, 18\): \S+ ± \S+ rows\. \[18, 65\): .* \[65, 120\]: /,
  ],
  [{ kind: 'contingency', columns: ['Region', 'Sex'] }, 1, /missing, F: /],
  [{ kind: 'histogram', column: { column: 'Visited', by: 'week' } }, 1, /2024-W03: \S+, from \S+ to \S+\./],
  [
    {
      kind: 'groupBy',
      keys: ['Sex', { column: 'Visited', by: 'month' }],
      statistics: STATISTICS.slice(1, 2),
    },
    1,
    /M, 2024-01: \S+, from \S+ to \S+\. .*F, 2024-04: /,
  ],
  [{ kind: 'topGroups', keys: ['Region'], k: 2 }, 1, /± \S+ rows\./],
  [{ kind: 'marginals', columns: ['Region', 'Sex', 'Member'], ways: 2 }, 3, /missing, F: \S+ ± \S+ rows\./],
  [
    { kind: 'cumulativeCounts', column: { column: 'Age', edges: [0, 18, 40, 65, 120] } },
    1,
    /^count by Age, as lines\. .*18: \S+, from \S+ to \S+\. 40: .* 120: /,
  ],
  [
    { kind: 'cumulativeCounts', column: { column: 'Visited', by: 'month' } },
    1,
    /^count by time, as lines\. .*2024-01: \S+, from \S+ to \S+\. 2024-02: /,
  ],
  [
    { kind: 'groupBy', keys: ['Sex', 'Member'], statistics: STATISTICS },
    4,
    /The rank of each value is within \S+ rows/,
  ],
  [{ kind: 'groupBy', keys: [], statistics: STATISTICS.slice(0, 2) }, 2, /all rows: /],
  [
    { kind: 'linearRegression', outcome: 'Age', predictors: ['Balance', 'Member'] },
    3,
    /coefficient of Member: /,
  ],
  [
    { kind: 'median', column: 'Age' },
    1,
    /within \S+ rows of the requested rank, with 95% confidence\. median of Age: \d+\./,
  ],
  [{ kind: 'percentile', column: 'Age', p: [25, 75] }, 1, /75%: \d+\./],
  [{ kind: 'minimum', column: 'Visited' }, 1, /minimum of Visited: 2024-/],
  [{ kind: 'noisyMax', candidates: { column: 'Region' }, k: 2 }, 1, /Best first.*1\. .*2\. /],
  [{ kind: 'noisyMax', candidates: { column: 'Region' }, k: 2, gap: true }, 1, /± \S+ rows\./],
  [
    { kind: 'keySelection', column: 'Note', delta: 1e-6 },
    1,
    /Common values of Note|appears, with 95% confidence/,
  ],
  [{ kind: 'keySelection', column: 'Note', delta: 1e-6, counts: true }, 1, /\(empty text\): \S+ ± /],
]

describe.each(RELEASES)('%j', (wire, panels, spoken) => {
  test.each(['light', 'dark'] as const)('is drawn for %s', async (theme) => {
    const plots = plotsOf(await documentOf(wire))
    expect(plots).toHaveLength(panels)
    for (const plot of plots) expect(flawsOf(await drawPanels([plot], theme), plot, theme)).toEqual([])
    const svg = await drawPanels(plots, theme)
    const description = /<desc>([^<]*)<\/desc>/.exec(svg)?.[1]?.replaceAll('&gt;', '>') ?? ''
    expect(description).toMatch(spoken)
  })
})

test('each value of marginals is drawn under its labels: a row of a table adds up to the value of the smaller table', async () => {
  const document = await documentOf({ kind: 'marginals', columns: ['Region', 'Sex'], ways: [1, 2] })
  const [regions, , both] = plotsOf(document)
  if (regions?.plot !== 'noisy-table' || both?.plot !== 'noisy-table') throw new Error('tables are drawn')
  expect(both.keys).toEqual(['Region', 'Sex'])
  for (const { key, value, halfWidth } of regions.cells) {
    const row = both.cells.filter((cell) => cell.key[0] === key[0])
    expect(row.length).toBeGreaterThan(1)
    expect(row.reduce((sum, cell) => sum + cell.value, 0)).toBeCloseTo(value, 6)
    expect(halfWidth).toBe(regions.cells[0]?.halfWidth)
  }
  // The same table from the integers that were measured.
  const [again] = plotsOfRelease(JSON.stringify(document), [], 'Sex,Region')
  if (again?.plot !== 'noisy-table') throw new Error('a table is drawn')
  expect(again.cells.map(({ key }) => key)).toEqual(both.cells.map(({ key }) => key))
  for (const [place, { value }] of again.cells.entries())
    expect(value).toBeCloseTo(both.cells[place]?.value ?? Number.NaN, 6)
})

test('the panels of a batch are below each other, without overlaps', async () => {
  const answers = [await documentOf({ kind: 'count' }), await documentOf({ kind: 'median', column: 'Age' })]
  const batch = {
    dataset: 'people',
    answers: answers.map(({ question: _, dataset: __, ...answer }) => answer),
    question: { queries: answers.map(({ question }) => question) },
  }
  const plots = plotsOf(batch)
  expect(plots.map(({ plot }) => plot)).toEqual(['noisy-table', 'noisy-table'])
  const { height, texts } = pictureOf(await drawPanels(plots, 'light'))
  const heights = await Promise.all(
    plots.map(async (plot) => pictureOf(await drawPanels([plot], 'light')).height),
  )
  expect(height).toBe(heights.reduce((sum, each) => sum + each, 0))
  const first = texts.find(({ text }) => text === 'Noisy count: people')?.box
  const second = texts.find(({ text }) => text === 'Noisy median of Age: people')?.box
  expect((second?.y ?? 0) - (first?.y ?? 0)).toBeCloseTo(heights[0] ?? 0, 0)
})

test('a session: the margins about its threshold', async () => {
  const halfWidths = [1, 10, 100].map((questions) => ({ questions, halfWidth: 50 * questions ** 0.5 }))
  const session = {
    dataset: 'people',
    threshold: 20_000,
    positives: 3,
    accuracy: { confidence: 0.95, halfWidths },
  }
  const [plot, ...others] = plotsOf(session)
  if (plot === undefined) throw new Error('a session has a panel')
  expect(others).toEqual([])
  expect(plot).toMatchObject({ unit: 'rows' })
  expect(plotsOf({ ...session, of: 'people' })[0]).toMatchObject({ unit: 'people' })
  expect(flawsOf(await drawPanels([plot], 'light'), plot, 'light')).toEqual([])
})

test('people by their number of rows are counted in people', () => {
  const cells = [{ key: { rows: '1' }, value: 5 }]
  const profile = {
    dataset: 'people',
    kind: 'contributionProfile',
    result: { cells },
    accuracy: { halfWidth: 2 },
  }
  expect(plotsOf(profile)).toMatchObject([{ unit: 'people' }])
})

test('of many values the largest are drawn', async () => {
  const ages = { column: 'Age', edges: Array.from({ length: 21 }, (_, place) => 6 * place) }
  const [plot] = plotsOf(await documentOf({ kind: 'contingency', columns: [ages, 'Region'] }))
  expect(plot?.plot === 'noisy-table' && plot.cells.length).toBe(60)
  expect(plot?.plot === 'noisy-table' && plot.notes).toContain('The 60 largest of 80 values')
})

test('too many panels are refused with advice', async () => {
  const answer = await documentOf({ kind: 'count' })
  const batch = { dataset: 'people', answers: Array.from({ length: 13 }, () => answer) }
  expect(() => plotsOf(batch)).toThrow(/at most 12 panels/)
})
