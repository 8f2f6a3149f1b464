import { describe, expect, test } from 'vitest'
import { cursorOfLink, withFurtherPages } from '../../../console/src/api/pages.ts'
import { formatMinute, formatTime } from '../../../console/src/format/time.ts'
import {
  answerText,
  freshnessText,
  type StoredDocument,
} from '../../../console/src/pages/answers/answer-text.ts'
import { KIND_NAMES, predicateText, questionText } from '../../../console/src/pages/answers/question-text.ts'
import { asksTheSame, compareAnswers } from '../../../console/src/pages/history/compare/comparison.ts'
import { wholeCsv } from '../../../console/src/pages/history/history-csv.ts'
import {
  addressOf,
  askAgainAddress,
  filterOf,
  type ListedRelease,
  releaseParameters,
  replaceField,
  shownReleases,
} from '../../../console/src/pages/history/history-filter.ts'
import { amountScale, spendingOf, stepsOf } from '../../../console/src/pages/history/spending.ts'
import { releaseKind } from '../../../schemas/answers/releases.ts'

/** The parts of a stored answer that the history reads. */
function answer(result: unknown, accuracy: Record<string, unknown>): StoredDocument {
  return { result, accuracy: { confidence: 0.95, halfWidth: null, ...accuracy } } as StoredDocument
}

type Counts = readonly (readonly [cell: string, count: number])[]

/** Cells of a table by one column. */
function cells(...counts: Counts) {
  return counts.map(([Sex, value]) => ({ key: { Sex }, value }))
}

describe('the selection in the address', () => {
  test('is read from the parameters that it is written to', () => {
    const filter = { dataset: 'census', kind: 'count', from: '2026-01-31', cursor: '12-ab' }
    const address = addressOf(filter)
    expect(address).toBe('/history?dataset=census&kind=count&from=2026-01-31&cursor=12-ab')
    expect(filterOf(new URL(address, 'http://localhost').searchParams)).toEqual(filter)
    expect(filterOf(new URLSearchParams('dataset=+&unknown=1'))).toEqual({})
    expect(addressOf({})).toBe('/history')
  })

  test('starts with the first page again once a field changes', () => {
    const filter = { dataset: 'census', cursor: '12-ab' }
    expect(replaceField(filter, 'kind', 'sum')).toEqual({ dataset: 'census', kind: 'sum' })
    expect(addressOf(replaceField(filter, 'dataset', ''))).toBe('/history')
  })

  test('of a question to ask again contains the question as it was asked', () => {
    const question = { kind: 'count', where: { column: 'A&B', op: '=', value: 'ü' }, epsilon: 0.1 }
    const { pathname, searchParams } = new URL(askAgainAddress('census', question), 'http://localhost')
    expect(pathname).toBe('/datasets/census/ask')
    expect(JSON.parse(searchParams.get('q') ?? '')).toEqual(question)
  })
})

describe('a page of the list', () => {
  const release = (id: string, epsilon: number, question: object) =>
    ({
      id,
      question,
      dataset: 'census',
      analyst: 'ada',
      answer: answer({ value: 4 }, {}),
      price: { epsilon, delta: 0 },
    }) as unknown as ListedRelease
  const newestFirst = [
    release('mean', 0.1, { kind: 'mean', column: 'Age' }),
    release('old', 0.5, { kind: 'count', where: { column: 'Age', op: '>=', value: 65 } }),
    release('count', 0.2, { kind: 'count' }),
  ]
  const ids = (filter: Parameters<typeof shownReleases>[1]) =>
    shownReleases(newestFirst, filter).map(({ id }) => id)

  test('has the questions with all words of the search', () => {
    expect(ids({ search: 'AGE count' })).toEqual(['old'])
    expect(ids({ search: 'census' })).toEqual(['mean', 'old', 'count'])
    expect(ids({ search: 'income' })).toEqual([])
  })

  test('is ordered as chosen', () => {
    expect(ids({})).toEqual(['mean', 'old', 'count'])
    expect(ids({ sort: 'oldest' })).toEqual(['count', 'old', 'mean'])
    expect(ids({ sort: 'price' })).toEqual(['old', 'count', 'mean'])
    expect(ids({ sort: 'question' })).toEqual(['count', 'old', 'mean'])
  })

  test('is large if it is searched or ordered, which the service does not know', () => {
    expect(releaseParameters({ dataset: 'census' })).toEqual({ dataset: 'census', limit: '25' })
    expect(releaseParameters({ search: 'age', sort: 'price' })).toEqual({ limit: '200' })
  })
})

describe('questions in a line', () => {
  test('every kind of release has a name', () => {
    expect(Object.keys(KIND_NAMES).sort()).toEqual([...releaseKind.options].sort())
  })

  test.each([
    [{ kind: 'count', where: { column: 'Age', op: '>=', value: 65 } }, 'count of rows where Age ≥ 65'],
    [{ kind: 'count', of: 'people' }, 'count of people'],
    [{ kind: 'mean', column: 'Cost', perPerson: 'sum' }, 'mean of the sum of Cost per person'],
    [{ kind: 'correlation', columns: ['A', 'B'] }, 'correlation of A and B'],
    [{ kind: 'linearRegression', outcome: 'E', predictors: ['A', 'B'] }, 'regression of E on A and B'],
    [{ kind: 'proportion', of: { column: 'A', op: 'isNull' } }, 'proportion with A is missing'],
    [{ kind: 'histogram', column: { column: 'Age', edges: [0, 10, 20] } }, 'rows by Age in 2 bins'],
    [{ kind: 'histogram', column: { column: 'Day', by: 'month' }, of: 'people' }, 'people by month of Day'],
    [
      { kind: 'groupBy', keys: ['Sex'], statistics: [{ kind: 'count' }, { kind: 'mean', column: 'Age' }] },
      'count of rows, mean of Age by Sex',
    ],
    [{ kind: 'percentile', column: 'Age', p: [25, 50] }, 'percentiles 25, 50 of Age'],
    [{ kind: 'marginals', columns: ['A', 'B'], ways: [1, 2] }, 'counts by every 1 or 2 of A and B'],
    [{ kind: 'noisyMax', candidates: { column: 'Job' } }, 'most frequent Job'],
    [{ kind: 'topGroups', keys: ['Job'], k: 3 }, 'largest 3 by Job'],
    [{ kind: 'topGroups', keys: ['Job'], k: 1 }, 'largest 1 by Job'],
    [{ queries: [{ kind: 'count' }, { kind: 'sum', column: 'A' }] }, '2 questions: count of rows; sum of A'],
    [{ threshold: 20, positives: 3, epsilon: 1 }, 'session: at least 20 rows, up to 3 times'],
    [
      { kind: 'count', where: { op: 'between', column: 'Day', lower: '2024-02-01', upper: '2024-06-30' } },
      'count of rows where Day from 1 Feb 2024 to 30 Jun 2024',
    ],
  ])('%j', (question, text) => {
    expect(questionText(question)).toBe(text)
  })

  test('nested predicates are in parentheses, and long lists are cut', () => {
    const old = { column: 'Age', op: '>', value: 60 }
    const either = { op: 'or', predicates: [old, { column: 'Sex', op: '!=', value: 'F' }] }
    expect(predicateText({ op: 'and', predicates: [old, either] })).toBe('Age > 60 and (Age > 60 or Sex ≠ F)')
    expect(predicateText({ op: 'not', predicate: either })).toBe('not (Age > 60 or Sex ≠ F)')
    expect(predicateText({ column: 'A', op: 'in', values: [1, 2, 3, 4, 5, 6] })).toBe(
      'A in 1, 2, 3, 4 and 2 more',
    )
  })
})

describe('answers in a line', () => {
  test.each([
    ['2,531 ± 30', answer({ value: 2531 }, { halfWidth: 30 })],
    ['0.41', answer({ value: 0.41 }, {})],
    ['39 (rank ± 35 rows)', answer({ value: 39 }, { halfWidth: 35, unit: 'rows' })],
    ['1 Mar 2024 ± 3 days', answer({ value: '2024-03-01' }, { halfWidth: 3, unit: 'days' })],
    ['F: 1, M: 2 ± 7', answer({ cells: cells(['F', 1], ['M', 2]) }, { halfWidth: 7 })],
    ['4 cells ± 7', answer({ cells: cells(['A', 1], ['B', 1], ['C', 1], ['D', 1]) }, { halfWidth: 7 })],
    [
      'missing, [0, 10), [1,000, 2,000]',
      answer(
        {
          selected: [
            { candidate: null },
            { candidate: { lower: 0, upper: 10 } },
            { candidate: { lower: 1_000, upper: 2_000, upperIncluded: true } },
          ],
        },
        {},
      ),
    ],
    ['2 values: a, b', answer({ keys: [{ key: 'a' }, { key: 'b' }], truncated: false }, {})],
  ])('%s', (text, document) => {
    expect(answerText(document)).toBe(text)
  })

  test('times are shown in UTC', () => {
    expect(formatTime('2026-01-31T23:30:05.000Z')).toBe('31 Jan 2026, 23:30:05')
    expect(formatTime('2026-01-31')).toBe('31 Jan 2026')
    for (const period of ['2026-W05', '2026-03', '2026']) expect(formatTime(period)).toBe(period)
    expect(formatMinute('2026-11-27T14:05:09.000Z')).toBe('27 Nov 2026, 14:05')
  })
})

describe('the comparison of two answers', () => {
  test('adds the half-widths, and the probabilities that they fail', () => {
    const one = answer({ value: 100 }, { halfWidth: 10, confidence: 0.95 })
    const other = answer({ value: 125 }, { halfWidth: 15, confidence: 0.9 })
    const [found] = compareAnswers(one, other).differences
    expect(found).toMatchObject({ difference: 25, halfWidth: 25, verdict: 'noise' })
    expect(found?.confidence).toBeCloseTo(0.85, 12)
    const farther = answer({ value: 125.5 }, { halfWidth: 15, confidence: 0.9 })
    expect(compareAnswers(one, farther).differences[0]?.verdict).toBe('larger')
  })

  test('states no bound where one of the half-widths is missing or is a rank', () => {
    const known = answer({ value: 100 }, { halfWidth: 10 })
    for (const unknown of [{}, { halfWidth: 5, unit: 'rows' }, { halfWidth: 5, unit: 'people' }])
      expect(compareAnswers(known, answer({ value: 1_000 }, unknown)).differences[0]).toMatchObject({
        halfWidth: null,
        verdict: 'unknown',
      })
  })

  test('subtracts dates in days', () => {
    const one = answer({ value: '2024-02-28' }, { halfWidth: 1, unit: 'days' })
    const other = answer({ value: '2024-03-01' }, { halfWidth: 0.5, unit: 'days' })
    expect(compareAnswers(one, other).differences[0]).toMatchObject({
      difference: 2,
      halfWidth: 1.5,
      verdict: 'larger',
      unit: 'days',
    })
  })

  test('matches cells, groups and the answers of a batch by their names', () => {
    const table = (...counts: Counts) => answer({ cells: cells(...counts) }, { halfWidth: 2 })
    const { differences, unmatched } = compareAnswers(table(['F', 5], ['M', 6]), table(['M', 9], ['X', 1]))
    expect(differences.map(({ label, difference }) => [label, difference])).toEqual([['Sex: M', 3]])
    expect(unmatched).toEqual(['Sex: F', 'Sex: X'])
    const groups = (value: number) =>
      answer({ groups: [{ key: { Sex: 'F' }, values: { mean_Age: { value, halfWidth: 1 } } }] }, {})
    expect(compareAnswers(groups(40), groups(45)).differences).toMatchObject([
      { label: 'Sex: F, mean_Age', difference: 5, halfWidth: 2, verdict: 'larger' },
    ])
    const batch = (value: number) =>
      ({
        answers: [answer({ value }, { halfWidth: 1 }), answer({ value }, { halfWidth: 1 })],
        question: { queries: [{ kind: 'count' }, { kind: 'count' }] },
      }) as unknown as StoredDocument
    expect(compareAnswers(batch(1), batch(1)).differences.map(({ label }) => label)).toEqual([
      '1. count of rows',
      '2. count of rows',
    ])
  })

  test('matches the cells of every table of marginals, each with the half-width of its table', () => {
    const marginals = (count: number) =>
      answer(
        {
          columns: [
            { column: 'Sex', labels: ['F', 'M'] },
            { column: 'Age', labels: [{ lower: 0, upper: 18 }] },
          ],
          tables: [
            { columns: ['Sex'], cells: 2, halfWidth: 3, values: [count, 2] },
            { columns: ['Sex', 'Age'], cells: 2, halfWidth: 5, values: [1, count] },
            { columns: ['Age'], cells: 1, halfWidth: 4 },
          ],
        },
        { halfWidth: 5 },
      )
    const { differences, unmatched } = compareAnswers(marginals(10), marginals(17))
    expect(differences.map(({ label, difference, halfWidth }) => [label, difference, halfWidth])).toEqual([
      ['Sex: F', 7, 6],
      ['Sex: M', 0, 6],
      ['Sex: F, Age: [0, 18)', 0, 10],
      ['Sex: M, Age: [0, 18)', 7, 10],
    ])
    expect(unmatched).toEqual([])
  })

  test('an answer without numbers has nothing to compare', () => {
    const selection = answer({ selected: [{ candidate: 'a' }] }, {})
    expect(compareAnswers(selection, selection)).toEqual({ differences: [], unmatched: [] })
  })
})

describe('the download', () => {
  test('contains all pages with one header', async () => {
    const pages: Record<string, { text: string; next?: string }> = {
      '': { text: 'id,question\r\n1,"a\nb"\r\n', next: 'x' },
      x: { text: 'id,question\r\n2,c\r\n', next: 'y' },
      y: { text: 'id,question\r\n3,d\r\n' },
    }
    const whole = await wholeCsv(async (cursor = '') => pages[cursor] ?? { text: '' })
    expect(whole).toBe('id,question\r\n1,"a\nb"\r\n2,c\r\n3,d\r\n')
  })

  test('finds the next page in the header of a response', () => {
    expect(cursorOfLink('</v1/releases?kind=count&cursor=12-ab>; rel="next"')).toBe('12-ab')
    expect(cursorOfLink(null)).toBeUndefined()
  })
})

test('a list without a limit is read whole, and a page as it is', async () => {
  const pages = [['a', 'b'], ['c'], ['d']]
  const sent: string[] = []
  const send = async (request: Request) => {
    const { search, searchParams } = new URL(request.url)
    sent.push(search)
    const at = Number(searchParams.get('cursor') ?? 0)
    const next = at < 2 ? { next: String(at + 1) } : {}
    const headers = { link: `</v1/keys?cursor=${at + 1}>; rel="next"` }
    return Response.json({ keys: pages[at], ...next }, at < 2 ? { headers } : {})
  }
  const read = async (address: string) => {
    const request = new Request(address)
    return (await withFurtherPages(request, await send(request), send)).json()
  }
  expect(await read('http://localhost/v1/keys')).toEqual({ keys: ['a', 'b', 'c', 'd'] })
  expect(sent).toEqual(['', '?limit=500&cursor=1', '?limit=500&cursor=2'])
  expect(await read('http://localhost/v1/keys?limit=1')).toEqual({ keys: ['a', 'b'], next: '1' })
})

describe('the budget over time', () => {
  const entry = (sequence: number, kind: 'opened' | 'charged' | 'shared' | 'denied', epsilon: number) => ({
    sequence,
    kind,
    at: `2026-01-01T00:00:0${sequence}.000Z`,
    amount: { epsilon, delta: 0 },
  })
  const entries = [
    entry(5, 'charged', 0.2),
    entry(4, 'denied', 9),
    entry(3, 'shared', 0.5),
    entry(2, 'charged', 0.1),
    entry(1, 'opened', 10),
  ]

  test('adds up charges, and for an analyst the shared ones as well', () => {
    expect(spendingOf(entries, 'dataset').map(({ spent }) => spent)).toEqual([0.1, 0.3])
    expect(spendingOf(entries, 'analyst').map(({ spent }) => spent)).toEqual([0.1, 0.6, 0.8])
  })

  test('stays level between two charges', () => {
    const totals = [
      { atMs: 2_000, spent: 1 },
      { atMs: 4_000, spent: 3 },
    ]
    expect(stepsOf(totals, { fromMs: 1_000, toMs: 6_000 })).toEqual([
      { x: 1_000, y: 0 },
      { x: 2_000, y: 0 },
      { x: 2_000, y: 1 },
      { x: 4_000, y: 1 },
      { x: 4_000, y: 3 },
      { x: 6_000, y: 3 },
    ])
  })

  test('always has the cap in sight', () => {
    expect(amountScale(2, { epsilon: 10, delta: 0 }).upper).toBeGreaterThan(10)
    expect(amountScale(0.001, { rho: 10 }).upper).toBeGreaterThan(10)
    expect(amountScale(12, { rho: 10 }).upper).toBeGreaterThan(12)
    expect(amountScale(0, { rho: 0 }).upper).toBe(1)
  })
})

test('an answer with one group states its values', () => {
  const values = { n: { value: 302.4, halfWidth: 12 }, median_Age: { value: 41, halfWidth: 9, unit: 'rows' } }
  expect(answerText(answer({ groups: [{ key: {}, values }] }, {}))).toBe(
    'n: 302.4 ± 12, median_Age: 41 (rank ± 9 rows)',
  )
  expect(
    answerText(
      answer(
        {
          groups: [
            { key: {}, values },
            { key: {}, values },
          ],
        },
        {},
      ),
    ),
  ).toBe('2 groups')
})

test('two questions ask the same if only price, noise and post-processing differ', () => {
  const asked = (question: object) => ({ question }) as StoredDocument
  const count = { kind: 'count', where: { column: 'Age', op: '>', value: 3 } }
  const one = { ...count, epsilon: 0.1, postprocess: { round: true } }
  const other = { ...count, accuracy: { halfWidth: 3 }, supposed: { rows: 10 }, mechanism: 'laplace' }
  expect(asksTheSame(asked(one), asked(other))).toBe(true)
  expect(asksTheSame(asked({ queries: [one] }), asked({ queries: [other] }))).toBe(true)
  expect(asksTheSame(asked(one), asked({ kind: 'count', epsilon: 0.1 }))).toBe(false)
  expect(asksTheSame(asked({ queries: [one] }), asked({ queries: [one, one] }))).toBe(false)
  expect(asksTheSame(asked(one), asked({ ...one, contribution: { rows: 2 } }))).toBe(false)
  const tables = { kind: 'marginals', columns: ['A', 'B'], ways: [1, 2] }
  const weighed = { ...tables, weights: [1, 1, 3], rho: 0.5 }
  expect(asksTheSame(asked({ ...tables, objective: 'largest' }), asked(weighed))).toBe(true)
})

test('an answer about a live table says how old its rows can be, and until when a repeat is free', () => {
  const debitedAt = '2026-11-27T12:05:30.000Z'
  const since = 'The rows are those of 27 Nov 2026, 12:05 UTC or later.'
  const until = 'A repeat is free until 28 Nov 2026, 00:00 UTC.'
  expect(freshnessText({ debitedAt, replaysUntil: '2026-11-28T00:00:00.000Z' })).toBe(`${since} ${until}`)
  expect(freshnessText({ debitedAt })).toBe(since)
  expect(freshnessText({})).toBe('')
})
