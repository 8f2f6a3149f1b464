import { mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { gzipSync } from 'node:zlib'
import { beforeAll, describe, expect, test } from 'vitest'
import { dataset as datasetSchema, registeredDataset } from '../../../schemas/datasets/dataset.ts'
import { startTestService, testService } from '../service.ts'

const service = testService()
beforeAll(async () => {
  const file = (name: string, text: string) => writeFile(path.join(service.dataDirectory, name), text)
  await mkdir(path.join(service.dataDirectory, 'school'))
  await file(
    'school/pupils.csv',
    [
      'name,year,absent,sex,club',
      'Ada,1,1.25,F,true',
      'Ben,2,2.5,M,false',
      'Cyn,3,3.75,F,true',
      'Dan,4,10,M,',
    ].join('\n'),
  )
  await file(
    'school/odd.csv',
    ['name,year,sex', 'Ada,one,F', 'Ben,NaN,X', 'Cyn,1e999,', 'Dan,-7,M'].join('\n'),
  )
  await file('school/empty.csv', 'name,year\n')
  await file('school/broken.parquet', 'this is no parquet file')
  await symlink('/etc/hostname', path.join(service.dataDirectory, 'school', 'link.csv'))
})

const pupils = {
  id: 'pupils',
  title: 'Pupils',
  source: { kind: 'file', path: 'school/pupils.csv', format: 'csv' },
  columns: [
    { name: 'year', type: 'integer', lower: 1, upper: 4 },
    { name: 'absent', type: 'number', lower: 0, upper: 20, step: 0.25 },
    { name: 'sex', type: 'category', categories: ['F', 'M'] },
    { name: 'club', type: 'boolean', nullable: true },
    { name: 'name', type: 'string' },
  ],
  privacyUnit: { kind: 'row' },
  neighbours: 'change-one',
  budget: { epsilon: 100, delta: 1e-5 },
  synthetic: true,
}
/** Noise of scale 1/90 is 0 except with a probability below 1e-38. */
const EXACT = { epsilon: 90, mechanism: 'geometric' }
const CLUBS = { kind: 'histogram', column: 'club', ...EXACT }

const budgetOf = async (role: 'analyst' | 'custodian' = 'analyst') =>
  (await service.as(role).get('/v1/datasets/pupils/budget').expect(200)).body

describe('a file is registered', () => {
  test('its public facts are returned, and a repeated registration changes nothing', async () => {
    const { body } = await service.register(pupils).expect(201)
    const { disclosureRisk, ingestion, ...facts } = registeredDataset.parse(body)
    expect(ingestion).toMatchObject({
      rowsRead: 4,
      rowsStored: 4,
      rowsWithoutIdentifier: 0,
      rowsBeyondMaxRows: 0,
    })
    expect(disclosureRisk).toMatchObject({ candidates: 4, blindGuess: 0.25 })
    expect(datasetSchema.parse(facts)).toMatchObject({ id: 'pupils', neighbours: 'change-one', rows: 4 })
    expect((await service.as('analyst').get('/v1/datasets/pupils').expect(200)).body).toEqual(facts)
    expect((await service.register(pupils).expect(200)).body).toEqual(body)
    expect((await service.as('auditor').get('/v1/datasets').expect(200)).body.datasets).toEqual([facts])
  })

  test('a CSV file is read in its declared dialect, which Parquet does not have', async () => {
    const csv = { delimiter: ';', decimal: ',', header: false, encoding: 'latin-1' } as const
    const text = 'Zoë;1,25\nBen;?\nZoë;2,5\n'
    const bytes = gzipSync(Buffer.from(text, 'latin1'))
    await writeFile(path.join(service.dataDirectory, 'school/values.csv.gz'), bytes)
    const registration = {
      ...pupils,
      id: 'dialect',
      source: { kind: 'file', path: 'school/values.csv.gz', format: 'csv', csv },
      columns: [
        { name: 'column1', type: 'category', categories: ['Zoë', 'Ben'] },
        { name: 'column2', type: 'number', lower: 0, upper: 10, step: 0.25, nullable: true },
      ],
    }
    const { body } = await service.register(registration).expect(201)
    const facts = registeredDataset.parse(body)
    expect(facts.source).toEqual(registration.source)
    expect(facts.ingestion?.invalidValues).toEqual([
      { column: 'column1', values: 0, misfits: [] },
      {
        column: 'column2',
        values: 1,
        misfits: [{ rule: 'not-a-number', values: 1, unit: 'line', first: [2] }],
      },
    ])
    expect((await service.register(registration).expect(200)).body).toEqual(body)
    const where = { column: 'column2', op: '>=', value: 1.25 }
    const count = await service.ask('dialect', { kind: 'count', where, ...EXACT }).expect(200)
    expect(count.body.result.value).toBe(2)

    const source = { kind: 'file', path: 'school/broken.parquet', format: 'parquet', csv }
    const refused = await service.register({ ...registration, id: 'parquet', source }).expect(400)
    expect(refused.body.errors).toEqual([{ field: 'source.csv', rule: 'is only for the format csv' }])
  })

  test('its timing has a default that depends on whether it is made up, and a range', async () => {
    const timings = [
      [{ synthetic: true }, 'off'],
      [{ synthetic: false }, { slotMs: 50 }],
      [{ synthetic: false, timing: 'off' }, 'off'],
      [{ synthetic: true, timing: { slotMs: 10 } }, { slotMs: 10 }],
      [{ synthetic: false, timing: { deadlineMs: 120_000 }, failureLimit: 1_000 }, { deadlineMs: 120_000 }],
    ] as const
    for (const [index, [declared, timing]] of timings.entries()) {
      const file = `school/timed-${index}.csv`
      await writeFile(path.join(service.dataDirectory, file), `year\n${'1\n'.repeat(index + 1)}`)
      const timed = {
        ...pupils,
        id: `timed-${index}`,
        source: { ...pupils.source, path: file },
        columns: pupils.columns.slice(0, 1),
        ...declared,
      }
      const { body } = await service.register(timed).expect(201)
      const failureLimit = 'failureLimit' in declared ? declared.failureLimit : 3
      expect(body).toMatchObject({ timing, failureLimit })
      // The defaults are part of the registration.
      await service.register({ ...timed, timing, failureLimit }).expect(200)
    }
    for (const timing of [
      'on',
      {},
      { slotMs: 9 },
      { slotMs: 10_001 },
      { deadlineMs: 99 },
      { deadlineMs: 120_001 },
      { slotMs: 12.5 },
      { slotMs: 50, deadlineMs: 100 },
    ]) {
      const { body } = await service.register({ ...pupils, id: 'timed', timing }).expect(400)
      expect(body.errors[0].field).toMatch(/^timing/)
    }
    for (const failureLimit of [0, 1_001]) {
      const { body } = await service.register({ ...pupils, id: 'timed', failureLimit }).expect(400)
      expect(body.errors[0].field).toBe('failureLimit')
    }
  })

  test('its limits on queries have a default that depends on whether it is made up, and are checked', async () => {
    const declared = [
      [{ synthetic: true }, {}],
      [{ synthetic: false }, { minEpsilon: 0.001 }],
      [{ queryLimits: { maxEpsilon: 2, minHalfWidth: 3.5 } }, { maxEpsilon: 2, minHalfWidth: 3.5 }],
      [
        { synthetic: false, queryLimits: { maxEpsilon: 2 } },
        { minEpsilon: 0.001, maxEpsilon: 2 },
      ],
      [{ synthetic: false, queryLimits: { minEpsilon: 1e-9 } }, { minEpsilon: 1e-9 }],
    ] as const
    for (const [index, [facts, queryLimits]] of declared.entries()) {
      const id = `limited-${index}`
      const file = `school/${id}.csv`
      await writeFile(path.join(service.dataDirectory, file), `year\n${'2\n'.repeat(index + 1)}`)
      const source = { ...pupils.source, path: file }
      const limited = { ...pupils, id, source, columns: pupils.columns.slice(0, 1), timing: 'off', ...facts }
      const { body } = await service.register(limited).expect(201)
      expect(body.queryLimits).toEqual(queryLimits)
      // The defaults are part of the registration.
      await service.register({ ...limited, queryLimits }).expect(200)
    }
    const { body } = await service.ask('limited-3', { kind: 'count', epsilon: 0.0009 }).expect(422)
    expect(body).toMatchObject({
      code: 'query-does-not-fit',
      errors: [{ field: 'epsilon', rule: 'must be at least 0.001, as the dataset declares for each query' }],
    })
    await service.ask('limited-3', { kind: 'count', epsilon: 2.1 }).expect(422)
    await service.ask('limited-3', { kind: 'count', epsilon: 0.001 }).expect(200)
    const custodian = service.as('custodian')
    await custodian
      .post('/v1/datasets/limited-3/queries/preview')
      .send({ kind: 'count', epsilon: 0.0001 })
      .expect(422)
    for (const [queryLimits, field] of [
      [{ minEpsilon: 0 }, 'minEpsilon'],
      [{ minEpsilon: 0.0000000001 }, 'minEpsilon'],
      [{ minEpsilon: 1_001 }, 'minEpsilon'],
      [{ maxEpsilon: -1 }, 'maxEpsilon'],
      [{ minEpsilon: 2, maxEpsilon: 1 }, 'maxEpsilon'],
      [{ minHalfWidth: 0 }, 'minHalfWidth'],
      [{ least: 1 }, 'least'],
    ] as const) {
      const refused = await service.register({ ...pupils, id: 'unlimited', queryLimits }).expect(400)
      expect(refused.body.errors[0].field).toBe(`queryLimits.${field}`)
    }
  })

  test('another declaration of the same id is refused while it is registered', async () => {
    const { body } = await service.register({ ...pupils, neighbours: 'add-remove' }).expect(409)
    expect(body.code).toBe('dataset-exists')
  })

  test('queries count its rows', async () => {
    const counted = await service.ask('pupils', CLUBS).expect(200)
    expect(counted.body.result.cells).toEqual([
      { key: { club: false }, value: 1 },
      { key: { club: true }, value: 2 },
      { key: { club: null }, value: 1 },
    ])
  })

  test('with add-remove neighbours the number of rows is never returned', async () => {
    const { body } = await service
      .register({ ...pupils, id: 'pupils-private', neighbours: 'add-remove' })
      .expect(201)
    expect(body).not.toHaveProperty('rows')
  })
})

describe('a population is registered', () => {
  const people = {
    id: 'people',
    title: 'A thousand made-up people',
    source: { kind: 'population', rows: 1_000, seed: 's' },
    privacyUnit: { kind: 'row' },
    neighbours: 'change-one',
    budget: { epsilon: 100 },
  }

  test('without a file: it has all columns, is synthetic, and can be registered again', async () => {
    const { body } = await service.register(people).expect(201)
    expect(body).toMatchObject({ rows: 1_000, synthetic: true, source: people.source })
    expect(body.columns.map(({ name }: { name: string }) => name)).toEqual([
      'Sex',
      'Age',
      'Married',
      'Earnings',
      'Occupation',
    ])
    expect((await service.register(people).expect(200)).body).toEqual(body)
    await service.register({ ...people, source: { ...people.source, seed: 't' } }).expect(409)
    const counted = await service.ask('people', { kind: 'histogram', column: 'Sex', ...EXACT }).expect(200)
    const [men, women] = counted.body.result.cells.map((cell: { value: number }) => cell.value)
    expect(men + women).toBe(1_000)
  })

  test('with some of its columns, within narrower bounds', async () => {
    const columns = [{ name: 'Age', type: 'integer', lower: 40, upper: 50 }]
    const { body } = await service.register({ ...people, id: 'ages', columns }).expect(201)
    expect(body.columns).toHaveLength(1)
    const counted = await service
      .ask('ages', {
        kind: 'count',
        where: { column: 'Age', op: '<', value: 40 },
        ...EXACT,
      })
      .expect(200)
    expect(counted.body.result.value).toBe(0)
  })
})

describe('an invalid value follows the declared rule', () => {
  const odd = (column: object, id: string) => ({
    ...pupils,
    id,
    source: { kind: 'file', path: 'school/odd.csv', format: 'csv' },
    columns: [column],
  })

  test('it becomes NULL', async () => {
    await service
      .register(odd({ name: 'year', type: 'integer', lower: 1, upper: 4, nullable: true }, 'odd-null'))
      .expect(201)
    const { body } = await service
      .ask('odd-null', {
        kind: 'count',
        where: { column: 'year', op: 'isNull' },
        ...EXACT,
      })
      .expect(200)
    // "one" and "NaN"; 1e999 and -7 are clamped.
    expect(body.result.value).toBe(2)
  })

  test('it is replaced', async () => {
    const column = {
      name: 'sex',
      type: 'category',
      categories: ['F', 'M', '?'],
      onInvalidValue: { replaceWith: '?' },
    }
    await service.register(odd(column, 'odd-replace')).expect(201)
    const { body } = await service
      .ask('odd-replace', { kind: 'histogram', column: 'sex', ...EXACT, epsilon: 95 })
      .expect(200)
    expect(body.result.cells.map((cell: { value: number }) => cell.value)).toEqual([1, 1, 2])
  })

  test('the file is refused, naming the column but no value', async () => {
    const { body, text } = await service
      .register(odd({ name: 'sex', type: 'category', categories: ['F', 'M'] }, 'odd-refuse'))
      .expect(422)
    expect(body).toMatchObject({ code: 'source-does-not-fit' })
    expect(body.errors[0].field).toMatch(/^columns\.0/)
    expect(text).not.toMatch(/"X"|Cyn|Ben/)
    await service.as('analyst').get('/v1/datasets/odd-refuse').expect(404)
  })

  const source = (path: string, format = 'csv') => ({ source: { kind: 'file', path, format } })
  const population = (rows: number) => ({ source: { kind: 'population', rows, seed: 's' } })
  test.each([
    [
      'a column that is not in the file',
      { columns: [{ name: 'shoe', type: 'string' }] },
      'source-does-not-fit',
    ],
    [
      'no rows under change-one',
      { ...source('school/empty.csv'), columns: [{ name: 'name', type: 'string' }] },
      'source-does-not-fit',
    ],
    ['a file in another format', source('school/broken.parquet', 'parquet'), 'source-unreadable'],
    [
      'people by a column that is no identifier',
      { privacyUnit: { kind: 'person', column: 'name', maxRows: 3 } },
      'invalid-request',
    ],
    ['a path upwards', source('../pupils.csv'), 'source-refused'],
    ['an absolute path', source('/etc/passwd.csv'), 'source-refused'],
    ['a link', source('school/link.csv'), 'source-refused'],
    ['a URL', source('http://127.0.0.1:1/pupils.csv'), 'source-refused'],
    ["the service's own keys", source('keys.json'), 'source-refused'],
    ['epsilon 0', { budget: { epsilon: 0 } }, 'invalid-request'],
    ['epsilon with ten decimals', { budget: { epsilon: 0.1234567891 } }, 'invalid-request'],
    ['delta 1', { budget: { epsilon: 1, delta: 1 } }, 'invalid-request'],
    ['an id with a slash', { id: '../pupils' }, 'invalid-request'],
    ['an unknown type', { columns: [{ name: 'year', type: 'int' }] }, 'invalid-request'],
    ['a missing bound', { columns: [{ name: 'year', type: 'integer', lower: 1 }] }, 'invalid-request'],
    ['no columns', { columns: [] }, 'invalid-request'],
    ['a file without columns', { columns: undefined }, 'invalid-request'],
    ['a source of no kind', { source: { path: 'a.csv', format: 'csv' } }, 'invalid-request'],
    ['a population that is not synthetic', { ...population(10), synthetic: false }, 'invalid-request'],
    ['an empty population', population(0), 'invalid-request'],
    ['too large a population', population(1_000_001), 'invalid-request'],
    ['a column that no population has', population(10), 'source-does-not-fit'],
    ['an unknown field', { owner: 'me' }, 'invalid-request'],
  ])('%s is refused and leaves nothing behind', async (_name, change, code) => {
    const { body } = await service.register({ ...pupils, id: 'refused', ...change })
    expect(body).toMatchObject({ status: code === 'invalid-request' ? 400 : 422, code })
    expect(body.errors?.length).toBeGreaterThan(0)
    await service.as('analyst').get('/v1/datasets/refused').expect(404)
    expect(await readdir(path.join(service.dataDirectory, 'datasets'))).not.toContain('refused')
  })
})

describe('spent budget stays spent', () => {
  test('across a restart', async () => {
    const before = await budgetOf()
    expect(before.spent.epsilon).toBe(90)
    const paid = await service.ask('pupils', CLUBS).expect(200)
    await service.restart()
    expect(await budgetOf()).toEqual(before)
    const replayed = await service.ask('pupils', CLUBS).expect(200)
    expect(replayed.headers['idempotent-replayed']).toBe('true')
    expect(replayed.text).toBe(paid.text)
    await service
      .ask('pupils', { kind: 'count', where: { column: 'year', op: '<', value: 3 }, epsilon: 5 })
      .expect(200)
  })

  test('across deletion and another registration', async () => {
    const before = await budgetOf()
    await service.as('custodian').delete('/v1/datasets/pupils').expect(204)
    await service.as('analyst').get('/v1/datasets/pupils').expect(404)
    await service.ask('pupils', { kind: 'count', epsilon: 1 }).expect(404)
    await service.as('custodian').delete('/v1/datasets/pupils').expect(404)
    expect(await budgetOf('custodian')).toEqual(before)
    const { entries } = (await service.as('auditor').get('/v1/datasets/pupils/ledger').expect(200)).body
    expect(entries.at(-1)).toMatchObject({ sequence: 1, kind: 'opened' })

    const raised = await service.register({ ...pupils, budget: { epsilon: 200, delta: 1e-5 } }).expect(409)
    expect(raised.body).toMatchObject({ code: 'budget-account-exists', spent: before.spent, cap: before.cap })
    // A replaced row may count twice what an added or removed row does.
    const { body: changed } = await service.register({ ...pupils, neighbours: 'add-remove' }).expect(409)
    expect(changed).toMatchObject({ code: 'budget-account-exists', errors: [{ field: 'neighbours' }] })
    await service.restart()
    await service.register({ ...pupils, neighbours: 'add-remove' }).expect(409)
    // Charges for rows do not protect a person with several rows.
    const people = {
      ...pupils,
      privacyUnit: { kind: 'person', column: 'name', maxRows: 2 },
      columns: [...pupils.columns.slice(0, -1), { name: 'name', type: 'identifier' }],
    }
    const { body: united } = await service.register(people).expect(409)
    expect(united).toMatchObject({ code: 'budget-account-exists', errors: [{ field: 'privacyUnit' }] })
    await service.register({ ...pupils, title: 'Pupils, again' }).expect(201)
    expect(await budgetOf()).toEqual(before)
    await service.ask('pupils', { kind: 'count', epsilon: 50 }).expect(403)
  })
})

test('a repeated registration changes nothing after a grant', async () => {
  const registration = { ...pupils, id: 'pupils-granted' }
  await service.register(registration).expect(201)
  await service
    .as('custodian')
    .post('/v1/datasets/pupils-granted/grants')
    .send({ epsilon: 1, reason: 'more' })
    .expect(200)
  await service.register(registration).expect(200)
  const { body } = await service
    .register({ ...registration, budget: { epsilon: 101, delta: 1e-5 } })
    .expect(409)
  expect(body.code).toBe('dataset-exists')
})

describe('people with several rows are registered', () => {
  const visits = {
    ...pupils,
    id: 'visits',
    source: { kind: 'file', path: 'school/visits.csv', format: 'csv' },
    columns: [
      { name: 'pupil', type: 'identifier', nullable: true, onInvalidValue: 'dropRow' },
      { name: 'minutes', type: 'integer', lower: 0, upper: 60, nullable: true },
    ],
    privacyUnit: { kind: 'person', column: 'pupil', maxRows: 2 },
  }
  const ingestion = {
    rowsRead: 7,
    rowsWithoutIdentifier: 1,
    rowsBeyondMaxRows: 1,
    rowsStored: 5,
    people: 3,
    invalidValues: [
      { column: 'pupil', values: 1, misfits: [{ rule: 'missing', values: 1, unit: 'line', first: [5] }] },
      {
        column: 'minutes',
        values: 1,
        misfits: [{ rule: 'not-a-whole-number', values: 1, unit: 'line', first: [6] }],
      },
    ],
    clampedValues: [{ column: 'minutes', values: 0 }],
  }
  const keys = async () => {
    const folder = path.join(service.dataDirectory, 'datasets', 'visits')
    const names = (await readdir(folder)).filter((name) => name.endsWith('.person-key'))
    return Promise.all(
      names.map(async (name) => {
        const file = path.join(folder, name)
        return { name, key: await readFile(file, 'utf8'), mode: (await stat(file)).mode & 0o777 }
      }),
    )
  }

  test('the custodian is told what ingestion counted, others see the public number of people', async () => {
    const lines = ['ada,1', 'ben,2', 'ada,3', ',4', 'cyn,?', 'ada,5', 'ben,6']
    await writeFile(
      path.join(service.dataDirectory, 'school/visits.csv'),
      `pupil,minutes\n${lines.join('\n')}\n`,
    )
    const { body } = await service.register(visits).expect(201)
    expect(body).toMatchObject({ people: 3, privacyUnit: visits.privacyUnit, ingestion })
    expect(body).not.toHaveProperty('rows')
    expect((await service.register(visits).expect(200)).body).toEqual(body)
    for (const role of ['analyst', 'auditor'] as const) {
      const { body: facts } = await service.as(role).get('/v1/datasets/visits').expect(200)
      expect(facts).toMatchObject({ people: 3 })
      expect(facts).not.toHaveProperty('ingestion')
    }
  })

  test('the key of the digests is private, lives as long as the rows, and is new for each version', async () => {
    const [first, ...others] = await keys()
    expect(others).toEqual([])
    expect(first).toMatchObject({
      name: '1.person-key',
      mode: 0o600,
      key: expect.stringMatching(/^[0-9a-f]{64}\n$/),
    })
    await service.restart()
    expect(await keys()).toEqual([first])
    await service.as('custodian').delete('/v1/datasets/visits').expect(204)
    expect(await keys()).toEqual([])
    const { body } = await service.register(visits).expect(201)
    expect(body.ingestion).toEqual(ingestion)
    const [second] = await keys()
    expect(second?.name).toBe('2.person-key')
    expect(second?.key).not.toBe(first?.key)
  })

  test('a refused file leaves no key', async () => {
    const strict = visits.columns.map((column) =>
      column.type === 'identifier' ? { ...column, nullable: false, onInvalidValue: 'refuse' } : column,
    )
    const { body } = await service.register({ ...visits, id: 'refused', columns: strict }).expect(422)
    expect(body.errors.map(({ field }: { field: string }) => field)).toEqual(['columns.0.name'])
    expect(await readdir(path.join(service.dataDirectory, 'datasets'))).not.toContain('refused')
  })

  test('an identifier that repeats is refused where each row is a person', async () => {
    const { body } = await service
      .register({ ...visits, id: 'rows', privacyUnit: { kind: 'row' } })
      .expect(422)
    expect(body).toMatchObject({ code: 'source-does-not-fit', errors: [{ field: 'columns.0.name' }] })
    expect(body.detail).toContain('"person"')
    expect(JSON.stringify(body.errors) + body.detail).not.toContain('ada')
  })
})

describe('responses without charge reveal nothing about any person', () => {
  const others = 'Ada,1\nBen,2\nCyn,3\n'
  const seenOf = async (csv: string) => {
    const seen: unknown[] = []
    const watched = await startTestService()
    try {
      await writeFile(path.join(watched.dataDirectory, 'people.csv'), `name,year\n${csv}`)
      const columns = [{ name: 'year', type: 'integer', lower: 1, upper: 4, nullable: true }]
      const source = { kind: 'file', path: 'people.csv', format: 'csv' }
      const registration = {
        ...pupils,
        id: 'people',
        source,
        columns,
        neighbours: 'add-remove',
        synthetic: false,
      }
      // The counts of the ingestion are exact, and for the custodian only.
      const { ingestion, ...registered } = (await watched.register(registration).expect(201)).body
      expect(ingestion.rowsRead).toBe(csv.trim().split('\n').length)
      seen.push(registered)
      const query = { kind: 'sum', column: 'year', epsilon: 1 }
      const { body: paid } = await watched.ask('people', query).expect(200)
      seen.push(paid)
      for (const call of ['', '/budget', '/ledger']) {
        seen.push((await watched.as('analyst').get(`/v1/datasets/people${call}`).expect(200)).body)
      }
      seen.push(
        (await watched.as('analyst').post('/v1/datasets/people/queries/preview').send(query).expect(200))
          .body,
      )
      seen.push((await watched.ask('people', { ...query, epsilon: 100 }).expect(403)).body)
    } finally {
      await watched.close()
    }
    // Times and ids differ between runs, and hashes include times.
    const differing = ['registeredAt', 'answeredAt', 'at', 'hash', 'requestId', 'measurement']
    const noisy = ['result', 'interval', 'integers']
    return JSON.stringify(seen, (key, value) => ([...differing, ...noisy].includes(key) ? null : value))
  }

  test('every response but the noisy result is the same with a person, without, and with another', async () => {
    const [without, present, other] = [
      await seenOf(others),
      await seenOf(`${others}Dan,4\n`),
      await seenOf(`${others}Dan,1\n`),
    ]
    expect(present).toBe(without)
    expect(other).toBe(without)
  })
})

test('after the loss of the catalog, a question about another file does not get an old answer', async () => {
  const lost = await startTestService({ SOTTO_DEMO: 'true' })
  try {
    const file = path.join(lost.dataDirectory, 'people.csv')
    const registration = {
      ...pupils,
      id: 'people',
      source: { kind: 'file', path: 'people.csv', format: 'csv' },
      columns: [{ name: 'year', type: 'integer', lower: 1, upper: 4 }],
    }
    const count = async () =>
      (await lost.ask('people', { kind: 'count', ...EXACT, epsilon: 50 }).expect(200)).body
    await writeFile(file, 'year\n1\n2\n')
    await lost.register(registration).expect(201)
    await lost
      .as('custodian')
      .post('/v1/datasets/census/grants')
      .send({ epsilon: 1, reason: 'more' })
      .expect(200)
    expect((await count()).result).toEqual({ value: 2 })
    const folder = path.join(lost.dataDirectory, 'datasets')
    await rm(folder, { recursive: true })
    // Otherwise the demo would be registered again, and the other datasets would be forgotten.
    await expect(lost.restart()).rejects.toThrow(
      /the ledger has budgets of census, people\. Restore the folder/,
    )
    await mkdir(folder)
    await lost.restart()
    await lost.as('analyst').get('/v1/datasets/census').expect(200)
    await writeFile(file, 'year\n1\n2\n3\n')
    await lost.register(registration).expect(201)
    expect(await count()).toMatchObject({ datasetVersion: '2', result: { value: 3 } })
  } finally {
    await lost.close()
  }
})

test('a mean over a public number of rows is a sum divided by it', async () => {
  await service.register({ ...pupils, id: 'pupils-mean' }).expect(201)
  const { body } = await service
    .ask('pupils-mean', { kind: 'mean', column: 'absent', epsilon: 100, mechanism: 'laplace' })
    .expect(200)
  expect(Math.abs(body.result.value - (1.25 + 2.5 + 3.75 + 10) / 4)).toBeLessThan(5)
  expect(body.noise.sensitivity).toBeCloseTo(20 / 4, 10)
})
