import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { auditedDatasets } from '../../../schemas/answers/audit.ts'
import { startTestService, testService } from '../service.ts'

const service = testService({ SOTTO_AUDIT: 'true' })

const audit = (body: object) => service.as('auditor').post('/v1/audit/releases').send(body)
const count = { kind: 'count', epsilon: 2, mechanism: 'geometric' }

describe('with audits enabled', () => {
  test('an auditor sees pairs of neighbouring datasets in full', async () => {
    const { body } = await service.as('auditor').get('/v1/audit/datasets').expect(200)
    const { datasets } = auditedDatasets.parse(body)
    for (const { id, neighbours, neighbour, people } of datasets) {
      const other = datasets.find((dataset) => dataset.id === neighbour)
      expect(other?.neighbour).toBe(id)
      const texts = (rows: readonly object[]) => rows.map((row) => JSON.stringify(row))
      const [here, there] = [texts(people), texts(other?.people ?? [])]
      const onlyHere = here.filter((row) => !there.includes(row))
      const onlyThere = there.filter((row) => !here.includes(row))
      expect([onlyHere.length, onlyThere.length].sort()).toEqual(
        neighbours === 'change-one' ? [1, 1] : [0, 1],
      )
      const { body: public_ } = await service.as('auditor').get(`/v1/datasets/${id}`).expect(200)
      expect(public_).toMatchObject({ synthetic: true, neighbours })
    }
  })

  test.each([
    ['a table', { kind: 'histogram', column: 'Sex', epsilon: 1 }],
    ['a median', { kind: 'median', column: 'Age', epsilon: 1 }],
    // The city of three people is kept with a probability of 0.46: 40 equal results occur once in 1e10 runs.
    ['keys', { kind: 'keySelection', column: 'City', epsilon: 4.4, delta: 0.01 }],
    ['a variance', { kind: 'variance', column: 'Income', epsilon: 1, delta: 1e-4, mechanism: 'gaussian' }],
  ])('each release of %s draws fresh noise', async (_name, query) => {
    const { body } = await audit({ dataset: 'audit-after', query, releases: 40 }).expect(200)
    expect(new Set(body.results.map((result: object) => JSON.stringify(result))).size).toBeGreaterThan(1)
    expect(body.results).toHaveLength(40)
  })

  test('an audit changes no budget and no ledger', async () => {
    const budget = await service.as('auditor').get('/v1/datasets/audit-with/budget').expect(200)
    expect(budget.body.spent).toEqual({ epsilon: 0, delta: 0 })
    const ledger = await service.as('auditor').get('/v1/datasets/audit-with/ledger').expect(200)
    expect(ledger.body.entries.map((entry: { kind: string }) => entry.kind)).toEqual(['opened'])
  })

  test('a dataset that is not synthetic is refused for every role', async () => {
    await writeFile(path.join(service.dataDirectory, 'patients.csv'), 'Age\n50\n')
    await service
      .register({
        id: 'patients',
        title: 'Patients',
        source: { kind: 'file', path: 'patients.csv', format: 'csv' },
        columns: [{ name: 'Age', type: 'integer', lower: 0, upper: 100 }],
        privacyUnit: { kind: 'row' },
        neighbours: 'add-remove',
        budget: { epsilon: 1, delta: 0 },
        timing: 'off',
      })
      .expect(201)
    const refused = await audit({ dataset: 'patients', query: count, releases: 1 }).expect(403)
    expect(refused.body.code).toBe('not-synthetic')
    for (const role of ['analyst', 'custodian'] as const) {
      const body = { dataset: 'audit-with', query: count, releases: 1 }
      await service.as(role).post('/v1/audit/releases').send(body).expect(403)
    }
  })

  test('the cost of all releases together may exceed what a budget holds', async () => {
    // A total delta of 1.2, which one budget cannot hold.
    const noisy = { kind: 'count', epsilon: 1, delta: 0.3, mechanism: 'gaussian' }
    const { body } = await audit({ dataset: 'audit-with', query: noisy, releases: 4 }).expect(200)
    expect(body.results).toHaveLength(4)
  })
})

describe('batches and sessions', () => {
  test('a batch returns the results of its queries', async () => {
    const queries = [count, { kind: 'histogram', column: 'Sex', epsilon: 1 }]
    const { body } = await audit({ dataset: 'audit-with', queries, releases: 30 }).expect(200)
    expect(body.results).toHaveLength(30)
    for (const [{ value }, { cells }] of body.results) {
      expect(Number.isInteger(value)).toBe(true)
      expect(cells).toHaveLength(2)
    }
  })

  test('a session is opened anew for each release, and answers until it is used up', async () => {
    const everybody = { where: { column: 'Age', op: '>=', value: 0 } }
    const session = { threshold: 6, positives: 1, epsilon: 1, questions: [everybody, everybody, everybody] }
    type Answers = readonly { readonly above: boolean; readonly gap?: number }[]
    const releasesOf = async (dataset: string): Promise<readonly Answers[]> =>
      (await audit({ dataset, session, releases: 30 }).expect(200)).body.results
    const [here, there] = [await releasesOf('audit-with'), await releasesOf('audit-without')]
    for (const answers of [...here, ...there]) {
      const first = answers.findIndex(({ above }) => above)
      expect(answers).toHaveLength(first === -1 ? 3 : first + 1)
      for (const { above, gap } of answers) expect(gap !== undefined).toBe(above)
    }
    // Noise is drawn for each release, so no two are equal.
    const gaps = here.flatMap(([first]) => (first?.gap === undefined ? [] : [first.gap]))
    expect(new Set(gaps).size).toBe(gaps.length)
  })

  test('refusals name the field of this request, and the number of answers is bounded', async () => {
    const question = { where: { column: 'Ag', op: '>=', value: 0 } }
    const session = { threshold: 6, positives: 1, epsilon: 1, questions: [question] }
    const wrong = await audit({ dataset: 'audit-with', session, releases: 1 }).expect(422)
    expect(wrong.body.errors[0].field).toBe('session.questions.0.where.column')
    const queries = [count, { ...count, kind: 'sum', column: 'Ag' }]
    const wrongQuery = await audit({ dataset: 'audit-with', queries, releases: 1 }).expect(422)
    expect(wrongQuery.body.errors[0].field).toBe('queries.1.column')
    const long = Array(20).fill(count)
    const tooMany = await audit({ dataset: 'audit-with', queries: long, releases: 5_001 }).expect(400)
    expect(tooMany.body.errors).toEqual([
      { field: 'releases', rule: 'must be at most 5000 for this request' },
    ])
  })

  test.each([
    [{ dataset: 'audit-with', releases: 1 }],
    [{ query: count, releases: 1 }],
    [{ dataset: 'audit-with', query: count, queries: [count], releases: 1 }],
  ])('a request has one dataset or pair, and one query, batch or session: %j', async (body) => {
    const refused = await audit(body).expect(400)
    expect(refused.body.errors[0].rule).toMatch(/^exactly one of/)
  })
})

describe("an auditor's own pair", () => {
  const columns = [
    { name: 'Age', type: 'integer', lower: 0, upper: 100 },
    { name: 'Note', type: 'string', selectable: true, nullable: true },
    { name: 'Member', type: 'boolean', nullable: true },
  ]
  const rows = [
    { Age: 20, Note: 'a, "quoted" note\nof two lines', Member: true },
    { Age: 30, Note: '', Member: false },
    { Age: 30, Note: null, Member: null },
  ]
  const more = { Age: 90, Note: 'x', Member: true }
  const pair = { columns, neighbours: 'add-remove', rows, neighbourRows: [more, ...rows] }
  const precise = { epsilon: 1000, mechanism: 'geometric' }

  test('is read unchanged, and leaves nothing behind', async () => {
    const counts = [
      { kind: 'count' },
      { kind: 'sum', column: 'Age' },
      { kind: 'count', where: { column: 'Note', op: '=', value: rows[0]?.Note } },
      { kind: 'count', where: { column: 'Note', op: '=', value: '' } },
      { kind: 'count', where: { column: 'Note', op: 'isNull' } },
      { kind: 'count', where: { column: 'Member', op: '=', value: true } },
    ].map((query) => ({ ...query, ...precise }))
    const { body } = await audit({ pair, queries: counts, releases: 2 }).expect(200)
    const valuesOfAll = (results: readonly (readonly { value: number }[])[]) =>
      results.map((answers) => answers.map(({ value }) => value))
    expect(valuesOfAll(body.results)).toEqual(Array(2).fill([3, 80, 1, 1, 1, 1]))
    expect(valuesOfAll(body.neighbourResults)).toEqual(Array(2).fill([4, 170, 1, 1, 1, 2]))
    const { body: listed } = await service.as('analyst').get('/v1/datasets').expect(200)
    expect(listed.datasets.map(({ id }: { id: string }) => id)).not.toContain('pair')
    const files = await readdir(service.dataDirectory, { recursive: true })
    expect(files.filter((file) => /^temporary.*(audit|pair)/.test(file))).toEqual([])
  })

  test('may have dates and timestamps', async () => {
    const columns = [
      { name: 'day', type: 'date', lower: '2024-02-01', upper: '2024-03-31' },
      { name: 'at', type: 'timestamp', lower: '2024-02-01T00:00:00Z', upper: '2024-03-31T00:00:00Z' },
    ]
    const visit = { day: '2024-02-29', at: '2024-03-01T00:30:00+01:00' }
    const dated = {
      columns,
      neighbours: 'add-remove',
      rows: [visit],
      neighbourRows: [visit, { ...visit, day: '2024-03-01' }],
    }
    const queries = [
      { kind: 'histogram', column: { column: 'day', by: 'month' } },
      { kind: 'count', where: { column: 'at', op: '<', value: '2024-03-01' } },
    ].map((query) => ({ ...query, ...precise }))
    const { body } = await audit({ pair: dated, queries, releases: 1 }).expect(200)
    const answers = (february: number, march: number, before: number) => [
      { cells: [{ value: february }, { value: march }] },
      { value: before },
    ]
    expect(body.results).toMatchObject([answers(1, 0, 1)])
    expect(body.neighbourResults).toMatchObject([answers(1, 1, 2)])
  })

  test('with one row replaced', async () => {
    const replaced = { ...pair, neighbours: 'change-one', neighbourRows: [more, ...rows.slice(1)] }
    const query = { kind: 'mean', column: 'Age', ...precise }
    const { body } = await audit({ pair: replaced, query, releases: 1 }).expect(200)
    expect(body.results[0].value).toBeCloseTo(80 / 3, 0)
    expect(body.neighbourResults[0].value).toBeCloseTo(150 / 3, 0)
  })

  test.each([
    ['two rows more', { neighbourRows: [more, more, ...rows] }],
    ['the same rows', { neighbourRows: rows.toReversed() }],
    ['a row replaced under add-remove', { neighbourRows: [more, ...rows.slice(1)] }],
    ['a row more under change-one', { neighbours: 'change-one' }],
    ['two rows replaced', { neighbours: 'change-one', neighbourRows: [more, more, rows[2]] }],
    ['no rows replaced', { neighbours: 'change-one', neighbourRows: rows }],
  ])('is refused unless the datasets are neighbours: %s', async (_name, change) => {
    const refused = await audit({
      pair: { ...pair, ...change },
      query: { kind: 'count', epsilon: 1 },
      releases: 1,
    })
    expect([refused.status, refused.body.errors?.[0].field]).toEqual([400, 'pair.neighbourRows'])
  })

  test('is refused if a row lacks declared columns, or a value does not fit', async () => {
    const query = { kind: 'count', epsilon: 1 }
    const short = { ...pair, neighbourRows: [...rows, { Age: 90, Note: 'x' }] }
    const missing = await audit({ pair: short, query, releases: 1 }).expect(400)
    expect(missing.body.errors[0].field).toBe('pair.neighbourRows.3')
    const unfit = { ...pair, neighbourRows: [...rows, { Age: 'old', Note: 'x', Member: true }] }
    const refused = await audit({ pair: unfit, query, releases: 1 }).expect(422)
    expect(refused.body.code).toBe('source-does-not-fit')
  })

  test('has up to 1,000 rows', async () => {
    const person = { Age: 40, Note: 'a note of some length, as there may be', Member: true }
    const many = Array(1_000).fill(person)
    const largest = { ...pair, rows: many, neighbourRows: many.slice(1) }
    const { body } = await audit({ pair: largest, query: { kind: 'count', ...precise }, releases: 1 }).expect(
      200,
    )
    expect([body.results[0].value, body.neighbourResults[0].value]).toEqual([1_000, 999])
    const tooLarge = { ...pair, rows: [...many, person], neighbourRows: many }
    await audit({ pair: tooLarge, query: { kind: 'count', epsilon: 1 }, releases: 1 }).expect(400)
  })
})

describe("an auditor's own pair of people with several rows", () => {
  const columns = [
    { name: 'Patient', type: 'identifier', nullable: false },
    { name: 'Cost', type: 'integer', lower: 0, upper: 100 },
  ]
  const privacyUnit = { kind: 'person', column: 'Patient', maxRows: 2 }
  const visits = (Patient: string, costs: readonly number[]) => costs.map((Cost) => ({ Patient, Cost }))
  const rows = [...visits('a', [1, 2, 4, 8, 16, 32]), ...visits('b', [3]), ...visits('c', [5, 7, 11])]
  const pair = { columns, privacyUnit, neighbours: 'add-remove', rows }
  const precise = (value: number) => ({
    kind: 'count',
    where: { column: 'Cost', op: '=', value },
    epsilon: 1000,
    mechanism: 'geometric',
  })
  const query = precise(3)

  test('is read with the same choice of rows of the people in both', async () => {
    const neighbourRows = [...visits('d', [50, 40]), ...rows.toReversed()]
    const queries = [...rows, { Cost: 50 }].map(({ Cost }) => precise(Cost))
    const { body } = await audit({ pair: { ...pair, neighbourRows }, queries, releases: 1 }).expect(200)
    const [here, there] = [body.results, body.neighbourResults].map(([counts]) =>
      counts.map(({ value }: { readonly value: number }) => value),
    )
    expect(here.slice(0, 6).filter((count: number) => count === 1)).toHaveLength(2)
    expect(here.at(-1)).toBe(0)
    expect(there).toEqual([...here.slice(0, -1), 1])
  })

  test('with one person replaced', async () => {
    const neighbourRows = [...rows.filter(({ Patient }) => Patient !== 'b'), ...visits('d', [50, 40, 30])]
    const replaced = { ...pair, neighbours: 'change-one', neighbourRows }
    const { body } = await audit({ pair: replaced, query: precise(3), releases: 1 }).expect(200)
    expect([body.results[0].value, body.neighbourResults[0].value]).toEqual([1, 0])
  })

  test.each([
    ['two people more', { neighbourRows: [...rows, ...visits('d', [1]), ...visits('e', [1])] }],
    ['a row more of the same person', { neighbourRows: [...rows, ...visits('b', [1])] }],
    ['two people replaced', { neighbours: 'change-one', neighbourRows: rows.slice(0, -4) }],
    ['the same people', { neighbourRows: rows.toReversed() }],
  ])('is refused unless the datasets differ in one person: %s', async (_name, change) => {
    const refused = await audit({ pair: { ...pair, ...change }, query, releases: 1 })
    expect([refused.status, refused.body.errors?.[0].field]).toEqual([400, 'pair.neighbourRows'])
  })

  test('is refused without the column of its privacy unit', async () => {
    const unknown = { ...pair, privacyUnit: { ...privacyUnit, column: 'Name' }, neighbourRows: rows }
    const refused = await audit({ pair: unknown, query, releases: 1 }).expect(400)
    expect(refused.body.errors[0].field).toBe('pair.privacyUnit.column')
  })
})

test('a request is limited in size, runs alone, and refusals name its fields', async () => {
  const edges = Array.from({ length: 101 }, (_, edge) => edge)
  const query = { kind: 'histogram', column: { column: 'Age', edges }, epsilon: 1 }
  const tooMany = await audit({ dataset: 'audit-with', query, releases: 10_000 }).expect(400)
  expect(tooMany.body.errors[0]).toMatchObject({
    field: 'releases',
    rule: expect.stringMatching(/^must be at most \d{4} for results of this length$/),
  })
  const invalidValue = await audit({
    dataset: 'audit-with',
    query: { kind: 'sum', column: 'Ag', epsilon: 1 },
    releases: 1,
  }).expect(422)
  expect(invalidValue.body.errors[0].field).toBe('query.column')
  const together = await Promise.all([1, 2].map(() => audit({ dataset: 'audit-with', query, releases: 200 })))
  expect(together.map(({ status }) => status).sort()).toEqual([200, 503])
})

test('a restart keeps withdrawals, grants and files of other users', async () => {
  const custodian = service.as('custodian')
  await custodian.post('/v1/datasets/audit-before/grants').send({ epsilon: 1, reason: 'a test' }).expect(200)
  await custodian.delete('/v1/datasets/audit-before').expect(204)
  await service.restart()
  const { body } = await service.as('auditor').get('/v1/audit/datasets').expect(200)
  const ids = auditedDatasets.parse(body).datasets.map(({ id }) => id)
  expect(ids).toEqual(['audit-without', 'audit-with', 'audit-after'])

  const other = await startTestService()
  const file = path.join(other.dataDirectory, 'audit-with.csv')
  await writeFile(file, 'mine')
  await expect(other.restart({ SOTTO_AUDIT: 'true' })).rejects.toThrow('audit-with.csv')
  expect(await readFile(file, 'utf8')).toBe('mine')
  await rm(other.dataDirectory, { recursive: true, force: true })
})

test('without the configuration the operations do not exist', async () => {
  const ordinary = await startTestService()
  try {
    await ordinary.as('auditor').get('/v1/audit/datasets').expect(404)
    const body = { dataset: 'audit-with', query: count, releases: 1 }
    await ordinary.as('auditor').post('/v1/audit/releases').send(body).expect(404)
  } finally {
    await ordinary.close()
  }
})
