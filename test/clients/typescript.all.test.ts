import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import path from 'node:path'
import { promisify } from 'node:util'
import { chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type Client,
  col,
  connect,
  correlation,
  count,
  type Dataset,
  histogram,
  type Kind,
  linearRegression,
  mean,
  median,
  Problem,
  percentile,
  type Query,
  topGroups,
} from '../../clients/typescript/src/sotto.ts'
import { readPage } from '../documentation/pasted-page.ts'
import { startTestService, type TestService } from '../e2e/service.ts'
import { listen, passOn, startLossyProxy } from './proxy.ts'

const root = path.resolve(import.meta.dirname, '../..')
const folder = path.join(root, 'clients/typescript')
const run = promisify(execFile)
const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find((file) => existsSync(file))
const compiler = path.join(
  path.dirname(createRequire(path.join(folder, 'package.json')).resolve('typescript/package.json')),
  'bin/tsc',
)

let service: TestService
let client: Client
let built = ''
beforeAll(async () => {
  service = await startTestService({ SOTTO_DEMO: 'true' })
  client = connect(service.url, service.keyOf('analyst'))
  // Inside the package, so that programs there can import it by its name.
  built = await mkdtemp(path.join(folder, 'dist-'))
  await run(process.execPath, [compiler, '--project', 'tsconfig.build.json', '--outDir', built], {
    cwd: folder,
  })
})
afterAll(async () => {
  await service.close()
  await rm(built, { recursive: true, force: true })
})

const spent = async () => (await client.dataset('census').budget()).spent

test('answers a query, replays it, and states refusals with field and rule', async () => {
  const census = client.dataset('census')
  const question = { where: col('Age').gte(65), epsilon: 0.1 }
  const answer = await census.count(question)
  expect(answer).toMatchObject({ kind: 'count', halfWidth: 30, price: { epsilon: 0.1 }, replayed: false })
  const before = await spent()
  expect(await census.count(question)).toMatchObject({ value: answer.value, id: answer.id, replayed: true })
  expect(await client.release(answer)).toMatchObject({ id: answer.id, value: answer.value })
  expect(await spent()).toEqual(before)
  const refused = await census.sum('Agee', { epsilon: 0.1 }).catch((error: unknown) => error)
  expect(refused).toBeInstanceOf(Problem)
  expect(refused).toMatchObject({ code: 'query-does-not-fit', field: 'column' })
  expect((await client.datasets()).map(({ id }) => id)).toContain('census')
})

test('rounds 0.1 + 0.2, which the service would refuse', async () => {
  const answer = await client.dataset('census').count({ epsilon: 0.1 + 0.2 })
  expect(answer.price).toEqual({ epsilon: 0.3, delta: 0 })
})

test('asks about groups, batches, sessions, SQL and made-up rows', async () => {
  const census = client.dataset('census')
  const groups = census.groupBy('Sex').agg({ n: count(), pay: mean('Earnings'), half: percentile('Age', 50) })
  const table = await groups.run({ epsilon: 1 })
  expect(table.rows.length).toBeGreaterThan(1)
  for (const { values } of table.rows)
    for (const estimate of [values.n, values.pay, values.half])
      expect(estimate).toMatchObject({ value: expect.any(Number), halfWidth: expect.any(Number) })
  const { answers } = await census.batch([
    count({ epsilon: 0.1, where: col('Age').lt(30) }),
    median('Age', { epsilon: 0.1 }),
  ])
  expect(answers.map(({ kind }) => kind)).toEqual(['count', 'median'])
  const counts = [count({ epsilon: 0.01 }), histogram('Sex', { epsilon: 0.01 })] as const
  const { plan, plans } = await census.previewBatch(counts)
  expect([plan, plans.separate.price]).toEqual(['together', { epsilon: 0.02, delta: 0 }])
  expect((await census.batch(counts, { plan: 'separate' })).raw.plan).toBe('separate')
  const session = await census.session({ threshold: 100, positives: 1, epsilon: 0.5 })
  expect(await session.above(col('Age').gte(18))).toMatchObject({ above: true, positivesLeft: 0 })
  expect(await session.state()).toMatchObject({ answered: 1 })
  const before = await spent()
  const again = await census.session({ threshold: 100, positives: 1, epsilon: 0.5 })
  expect(again).toMatchObject({ id: session.id, replayed: true })
  const sql = await census.sql('SELECT Sex, COUNT(*) AS n FROM census GROUP BY Sex', { epsilon: 0.1 })
  expect(sql.rows[0]).toMatchObject({ Sex: expect.any(String), n: expect.any(Number) })
  const parts =
    "SELECT COUNT(*) FILTER (WHERE Sex = 'F') AS f, COUNT(*) FILTER (WHERE Sex = 'M') AS m FROM census"
  const several = await census.sql(parts, { epsilon: 0.01 })
  expect(several.answer).toMatchObject({
    price: { epsilon: 0.01 },
    answers: [{ kind: 'count' }, { kind: 'count' }],
  })
  expect(several.rows[0]).toMatchObject({ f: expect.any(Number), m: expect.any(Number) })
  expect(await spent()).not.toEqual(before)
  const practice = await client.dataset('census', { on: 'dummy', rows: 200 }).count({ epsilon: 1 })
  expect(practice).toMatchObject({ dummy: true, id: undefined })
  expect(await census.dummy({ rows: 20, seed: 'lesson' })).toHaveLength(20)
  expect(await census.dummy({ rows: 3, of: 'population' })).toHaveLength(3)
})

test('lists what was asked, newest first and over several pages', async () => {
  const census = client.dataset('census')
  const asked: string[] = []
  for (let age = 1; age <= 3; age += 1) {
    const { id } = await census.count({ where: col('Age').lt(age), epsilon: 0.001 })
    if (id !== undefined) asked.unshift(id)
  }
  const listed: string[] = []
  for await (const release of census.history({ kind: 'count', limit: 2 })) {
    listed.push(release.id)
    if (release.id === asked[0])
      expect(release).toMatchObject({
        question: { kind: 'count', where: { column: 'Age', op: '<', value: 3 }, epsilon: 0.001 },
        price: { epsilon: 0.001 },
        answer: { id: asked[0] },
      })
  }
  expect(listed.slice(0, 3)).toEqual(asked)
})

test('rounds and draws stored answers at no cost', async () => {
  const census = client.dataset('census')
  const answer = await census.mean('Age', { epsilon: 0.01 })
  const batch = await census.batch([count({ epsilon: 0.01, where: col('Age').lt(9) })])
  const before = await spent()
  expect(await census.postprocess(answer, { round: true })).toMatchObject({
    id: answer.id,
    value: Math.round(Number(answer.value)),
  })
  expect(await client.postprocess(batch, { nonNegative: true })).toMatchObject({
    id: batch.id,
    answers: [{ kind: 'count' }],
  })
  expect(await client.plot(answer, { theme: 'dark' })).toContain('<svg')
  expect(await spent()).toEqual(before)
})

/** The questions about the clinic, in the order of the page of queries. */
const questionsAboutVisits: readonly Query<Kind>[] = [
  histogram(col('visited').by('month'), { contribution: { rows: 10 }, epsilon: 0.5 }),
  quarterly(),
  mean('cost', { contribution: { rows: 5 }, epsilon: 0.5 }),
  quartiles(),
  topGroups(['diagnosis'], { of: 'people', k: 3, epsilon: 0.5 }),
  mean('visited', { perPerson: 'count', epsilon: 0.5 }),
  percentile('visited', 90, { perPerson: 'count', epsilon: 0.1 }),
  count({ of: 'people', where: col('emergency').eq(true), epsilon: 0.1 }),
  linearRegression('cost', ['visited', 'age'], { contribution: { rows: 2 }, epsilon: 2 }),
  correlation('age', 'cost', { contribution: { rows: 2 }, epsilon: 1 }),
]

function quarterly(): Query<'groupBy'> {
  return connect('http://127.0.0.1', 'none')
    .dataset('clinic')
    .groupBy(col('visited').by('quarter'), 'region')
    .agg({ visits: count(), patients: count({ of: 'people' }) })
    .query({ contribution: { groups: 4, rowsPerGroup: 2 }, epsilon: 1 })
}

function quartiles(): Query<'groupBy'> {
  return connect('http://127.0.0.1', 'none')
    .dataset('clinic')
    .groupBy('region')
    .agg({ lower: percentile('cost', 25), middle: median('cost'), upper: percentile('cost', 75) })
    .query({ contribution: { groups: 1, rowsPerGroup: 5 }, epsilon: 1 })
}

test('asks the ten questions of the documentation', async () => {
  const documented = [...readPage('examples/clinic.md').matchAll(/^```json visits\n([\s\S]*?)^```/gm)].map(
    ([, json = '']) => JSON.parse(json),
  )
  expect(questionsAboutVisits.map(({ body }) => body)).toEqual(documented)
  await service
    .register({
      id: 'clinic',
      title: 'Visits of made-up patients',
      neighbours: 'add-remove',
      source: { kind: 'visits', people: 3_000, rows: 20_000, seed: 'clinic' },
      privacyUnit: { kind: 'person', column: 'patient_id', maxRows: 50 },
      budget: { epsilon: 20, delta: 1e-6 },
    })
    .expect(201)
  const clinic: Dataset = client.dataset('clinic')
  for (const question of questionsAboutVisits) {
    const { cost } = await clinic.preview(question)
    const answer = await clinic.ask(question)
    expect(answer).toMatchObject({ kind: question.kind, price: cost, replayed: false })
    expect(JSON.stringify(answer)).not.toMatch(/"value":null/)
  }
})

test.each([
  ['before the first byte of the response', 0],
  ['in the middle of the response', 40],
])('a connection that is lost after the charge, %s, is charged once', async (_, bytes) => {
  const proxy = await startLossyProxy(service.url, { losses: 2, bytes })
  try {
    const before = (await spent()) as { readonly epsilon: number }
    const census = connect(proxy.url, service.keyOf('analyst')).dataset('census')
    const answer = await census.count({ where: col('Age').gte(20 + bytes), epsilon: 0.125 })
    expect(proxy.lost()).toBe(2)
    expect(answer).toMatchObject({ replayed: true, price: { epsilon: 0.125 } })
    expect(((await spent()) as { readonly epsilon: number }).epsilon).toBeCloseTo(before.epsilon + 0.125, 9)
  } finally {
    await proxy.close()
  }
})

/** Compiles and runs a program that imports the package. */
async function runProgram(name: string, text: string): Promise<string> {
  const program = path.join(built, `${name}.ts`)
  const code = text
    .replaceAll(/'sotto-client(?:\/(\w+))?'/g, (_, entry = 'sotto') => `'./${entry}.js'`)
    .replaceAll("'http://127.0.0.1:8080'", JSON.stringify(service.url))
  await writeFile(program, code)
  const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2022', '--skipLibCheck']
  const types = ['--types', 'node', '--typeRoots', path.join(root, 'node_modules/@types')]
  await run(process.execPath, [compiler, ...options, ...types, program])
  const keys = { SOTTO_KEY: service.keyOf('analyst'), SOTTO_CUSTODIAN_KEY: service.keyOf('custodian') }
  const environment = { ...process.env, ...keys }
  return (await run(process.execPath, [program], { env: environment })).stdout
}

test('code blocks of the documentation compile and run', async () => {
  const blocks = [...readPage('docs/typescript.md').matchAll(/^```ts\n([\s\S]*?)^```/gm)].map(
    ([, code]) => code,
  )
  expect(blocks.length).toBeGreaterThan(8)
  const printed = await runProgram('page', blocks.join('\n'))
  expect(printed).toContain('query-does-not-fit column')
  expect(printed).toContain('nHalfWidth')
  const [, compared = ''] = /^```ts\n([\s\S]*?)^```/m.exec(readPage('examples/comparison.md')) ?? []
  expect(await runProgram('compared', compared.replace("'people'", "'census'"))).toContain('ageHalfWidth')
})

describe.skipIf(CHROMIUM === undefined)('in Chromium (skipped if it is not installed)', () => {
  /** Serves a page, the built client and, below the same address, the service. */
  const startSite = () =>
    listen((incoming, outgoing) => {
      const url = incoming.url ?? ''
      if (url.startsWith('/v1/moved'))
        outgoing.writeHead(307, { location: `${service.url}/v1/datasets` }).end()
      else if (url.startsWith('/v1/'))
        passOn(service.url, incoming, (response) => {
          outgoing.writeHead(response.statusCode ?? 500, response.headers)
          response.pipe(outgoing)
        })
      else if (url.startsWith('/client/'))
        readFile(path.join(built, path.basename(url))).then((code) =>
          outgoing.writeHead(200, { 'content-type': 'text/javascript' }).end(code),
        )
      else outgoing.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>Test</title>')
    })

  /** Opens the page and runs a task there. */
  const onPage = async <Result>(task: (page: Page, url: string) => Promise<Result>): Promise<Result> => {
    const site = await startSite()
    const browser = await chromium.launch({ executablePath: CHROMIUM ?? '', args: ['--no-sandbox'] })
    try {
      const page = await browser.newPage()
      await page.goto(site.url)
      return await task(page, site.url)
    } finally {
      await browser.close()
      await site.close()
    }
  }

  test('a page of the same origin asks, is refused, aborts, and follows no redirect', async () => {
    const seen = await onPage((page) =>
      page.evaluate(
        // A text, because the module is known to the browser only.
        `(async (key) => {
          const { col, connect, count, mean } = await import('/client/sotto.js')
          const census = connect('/', key).dataset('census')
          const answer = await census.count({ where: col('Age').gte(33), epsilon: 0.1 })
          const groups = await census.groupBy('Sex').agg({ n: count(), age: mean('Age') }).run({ epsilon: 0.5 })
          const refused = await census.mean('Agee', { epsilon: 0.1 }).catch(({ name, code, field }) => ({ name, code, field }))
          const controller = new AbortController()
          const aborted = census.median('Age', { epsilon: 0.1, signal: controller.signal }).catch(({ name }) => name)
          controller.abort()
          const moved = await connect('/v1/moved', key).datasets().catch(({ name }) => name)
          return { answer, rows: groups.rows, refused, aborted: await aborted, moved }
        })(${JSON.stringify(service.keyOf('analyst'))})`,
      ),
    )
    expect(seen).toMatchObject({
      answer: { kind: 'count', value: expect.any(Number), halfWidth: 30 },
      refused: { name: 'Problem', code: 'query-does-not-fit', field: 'column' },
      aborted: 'AbortError',
      moved: 'UnexpectedResponse',
    })
    const { rows } = seen as { readonly rows: readonly object[] }
    expect(rows[0]).toMatchObject({
      values: { n: { value: expect.any(Number) }, age: { halfWidth: expect.any(Number) } },
    })
  })

  test('a page of another origin gets no answer, because the service permits none', async () => {
    const failure = await onPage((page) =>
      page.evaluate(`(async (url, key) => {
        const { connect } = await import('/client/sotto.js')
        return await connect(url, key, { attempts: 1 }).datasets().catch(({ name }) => name)
      })(${JSON.stringify(service.url)}, ${JSON.stringify(service.keyOf('analyst'))})`),
    )
    expect(failure).toBe('ConnectionFailed')
  })
})
