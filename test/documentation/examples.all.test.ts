import { execFile } from 'node:child_process'
import { mkdtemp, readdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'
import { canonicalJson, sha256 } from '../../src/ledger/canonical.ts'
import { testService } from '../e2e/service.ts'
import { installed } from '../installed.ts'

const run = promisify(execFile)
const folder = path.resolve(import.meta.dirname, '../../examples')

const service = testService({ SOTTO_DEMO: 'true', SOTTO_AUDIT: 'true' })
let keyFile = ''
beforeAll(async () => {
  keyFile = path.join(service.dataDirectory, 'analyst.key')
  await writeFile(keyFile, `${service.keyOf('analyst')}\n`)
})

const example = async (command: string, name: string) => {
  const { stdout } = await run(command, [path.join(folder, name), service.url, keyFile])
  return stdout
}

// The test of the Python client runs the notebook, that of the R package the script of R.
test('every example has a test', async () => {
  expect((await readdir(folder)).filter((name) => !name.endsWith('.md')).sort()).toEqual([
    'audit.py',
    'clinic.R',
    'first-hour.ipynb',
    'first-query.sh',
    'first-query.ts',
    'first_query.py',
    'verify_export.py',
  ])
})

test.skipIf(!installed('curl'))('curl', async () => {
  const [previewed, answered] = (await example('sh', 'first-query.sh')).trim().split('\n')
  expect(JSON.parse(previewed ?? '')).toMatchObject({ affordable: true, cost: { epsilon: 0.1 } })
  expect(JSON.parse(answered ?? '').result.cells).toHaveLength(5)
})

test.skipIf(!installed('python3'))('Python', async () => {
  const printed = await example('python3', 'first_query.py')
  expect(printed).toMatch(
    /mean earnings of statisticians: \d{3},\d{3}\n95% sure to be within [\d,]+\ncost: epsilon 0.2; left: epsilon [\d.]+/,
  )
})

test.skipIf(!installed('python3'))(
  'the verification of exports finds a debit that a population lacks',
  async () => {
    const custodian = service.as('custodian')
    const population = { id: 'residents', privacyUnit: 'row', budget: { epsilon: 100, delta: 1e-5 } }
    await custodian.post('/v1/populations').send(population).expect(201)
    await custodian.put('/v1/populations/residents/datasets/census').expect(200)
    for (const epsilon of [0.011, 0.013]) await service.ask('census', { kind: 'count', epsilon }).expect(200)
    const headers = { authorization: `Bearer ${service.keyOf('auditor')}` }
    const [census = '', residents = ''] = await Promise.all(
      ['datasets/census', 'populations/residents'].map(async (what) =>
        (await fetch(`${service.url}/v1/${what}/ledger/export`, { headers })).text(),
      ),
    )
    const verify = async (text: string) => {
      const file = path.join(service.dataDirectory, 'both.jsonl')
      await writeFile(file, text)
      return run('python3', [path.join(folder, 'verify_export.py'), file]).catch((error) => error)
    }
    expect(await verify(`${census}${residents}`)).toMatchObject({
      stdout: expect.stringContaining('@population:residents: '),
    })
    const events = residents
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).event)
    const place = events.findIndex(({ kind }) => kind === 'charged')
    let previousHash = '0'.repeat(64)
    const forged = events.toSpliced(place, 1).map((event, index) => {
      const canonical = canonicalJson({ ...event, sequence: index + 1, previousHash })
      previousHash = sha256(canonical)
      return `{"event":${canonical},"hash":"${previousHash}"}\n`
    })
    expect((await verify(`${census}${forged.join('')}`)).stderr).toMatch(
      /census: event \d+ did not debit the population/,
    )
  },
)

test.skipIf(!installed('python3'))('the verification of an export finds every change', async () => {
  for (const epsilon of [0.001, 0.003]) await service.ask('census', { kind: 'count', epsilon }).expect(200)
  const exported = await fetch(`${service.url}/v1/datasets/census/ledger/export`, {
    headers: { authorization: `Bearer ${service.keyOf('auditor')}` },
  })
  const text = await exported.text()
  const verify = async (lines: string) => {
    const file = path.join(service.dataDirectory, 'census.jsonl')
    await writeFile(file, lines)
    return run('python3', [path.join(folder, 'verify_export.py'), file]).catch((error) => error)
  }
  expect(await verify(text)).toMatchObject({
    stdout: expect.stringMatching(
      /^census: \d+ events, head \w{64}\n([1-9]\d*) of \1 requests match their hashes\n$/,
    ),
  })
  const lines = text.trimEnd().split('\n')
  const place = lines.findIndex((line) => line.includes('\\"epsilon\\":0.001'))
  const [line = '', next = ''] = lines.slice(place)
  const changes: readonly (readonly [string[], string])[] = [
    [
      lines.with(place, line.replace('\\"epsilon\\":0.001', '\\"epsilon\\":0.002')),
      'the request does not match',
    ],
    [lines.with(place, line.replace(/,"request":.*/, '}')), 'the request is missing'],
    [lines.with(place, line.replace('"request":"', '"request":"\\ud800')), 'the request does not match'],
    [lines.with(place, line.replace('"attempt":1', '"attempt":2')), 'the hash does not match'],
    [lines.toSpliced(place, 2, next, line), 'the event does not follow'],
    [lines.toSpliced(place, 1), 'the event does not follow'],
    [lines.with(place + 1, next.replace(/\}$/, ',"request":"{}"}')), 'the event refers to no request'],
  ]
  for (const [tampered, reason] of changes) {
    expect(tampered).not.toEqual(lines)
    const { code, stderr } = await verify(`${tampered.join('\n')}\n`)
    expect([code, stderr]).toEqual([1, expect.stringMatching(new RegExp(`^line \\d+: ${reason}.*\n$`))])
  }
})

test.skipIf(!installed('python3'))('saved answers that follow from others are recomputed', async () => {
  const saved = await mkdtemp(path.join(service.dataDirectory, 'answers-'))
  const save = (name: string, document: object) =>
    writeFile(path.join(saved, `${name}.json`), JSON.stringify(document))
  const parts = (await service.ask('census', { kind: 'histogram', column: 'Sex', epsilon: 0.01 }).expect(200))
    .body
  const total = { kind: 'count', epsilon: 0.02 }
  const free = (await service.ask('census', { ...total, use: 'free' }).expect(200)).body
  const toppedUp = (await service.ask('census', { kind: 'count', epsilon: 0.5, use: 'topUp' }).expect(200))
    .body
  const where = { column: 'Age', op: '>=', value: 40 }
  const sum = { kind: 'sum', column: 'Earnings', where, epsilon: 0.01 }
  const sums = { kind: 'groupBy', keys: ['Sex'], statistics: [{ kind: 'sum', column: 'Earnings' }] }
  const queries = [{ ...total, where }, sum, { ...sums, where, epsilon: 0.01 }]
  const batch = (
    await service
      .as('analyst')
      .post('/v1/datasets/census/queries/batch')
      .send({ plan: 'together', queries })
      .expect(200)
  ).body
  const men = { op: 'and', predicates: [where, { column: 'Sex', op: '=', value: 'M' }] }
  const part = (await service.ask('census', { ...sum, where: men, use: 'free' }).expect(200)).body
  const exported = await fetch(`${service.url}/v1/datasets/census/ledger/export`, {
    headers: { authorization: `Bearer ${service.keyOf('auditor')}` },
  })
  const file = path.join(service.dataDirectory, 'inferred.jsonl')
  await writeFile(file, await exported.text())
  const verify = () =>
    run('python3', [path.join(folder, 'verify_export.py'), file, '--answers', saved]).catch((error) => error)
  await save('free', free)
  expect((await verify()).stdout).toMatch(/\n0 of 1 inferred answers recomputed\n$/)
  await save('parts', parts)
  for (const { id } of toppedUp.inference.releases)
    if (id !== 'this')
      await save(id, (await service.as('analyst').get(`/v1/releases/${id}`).expect(200)).body)
  await save('topped-up', toppedUp)
  await save('batch', batch)
  await save('part', part)
  expect((await verify()).stdout).toMatch(
    /\n\d+ answers match their hashes\n3 of 3 inferred answers recomputed\n$/,
  )

  const { inference } = free
  const [[estimate]] = inference.estimates
  const [first, ...rest] = estimate.terms
  const withEstimate = (changes: object) => ({
    ...inference,
    estimates: [[{ ...estimate, ...changes }]],
  })
  const changes: readonly (readonly [object, RegExp])[] = [
    [withEstimate({ value: estimate.value + 1e-6 }), /an estimate is not/],
    [
      withEstimate({ terms: [{ ...first, weight: `${Number(first.weight) + 1}` }, ...rest] }),
      /an estimate is not/,
    ],
    [{ ...inference, releases: [{ id: toppedUp.id, measurement: toppedUp.measurement }] }, /other releases/],
    [
      {
        ...inference,
        releases: inference.releases.map(({ id }: { id: string }) => ({ id, measurement: 'other' })),
      },
      /cannot be recomputed/,
    ],
  ]
  // What the program does not recompute has a hash.
  await save('free', { ...free, question: { kind: 'count', epsilon: 0.03 } })
  expect((await verify()).stderr).toMatch(/records another answer/)
  for (const [tampered, reason] of changes) {
    await save('free', { ...free, inference: tampered })
    const { code, stderr } = await verify()
    expect([code, stderr]).toEqual([1, expect.stringMatching(reason)])
  }
})

describe.skipIf(!installed('python3'))('an audit', () => {
  const audit = async (...args: readonly string[]) => {
    const auditorKeyFile = path.join(service.dataDirectory, 'auditor.key')
    await writeFile(auditorKeyFile, `${service.keyOf('auditor')}\n`)
    const { stdout } = await run('python3', [
      path.join(folder, 'audit.py'),
      service.url,
      auditorKeyFile,
      '4000',
      ...args,
    ])
    const boundOf = (name: string) =>
      Number(new RegExp(`${name} is at least (\\d[\\d.e-]*), with 99.9% confidence`).exec(stdout)?.[1])
    return { epsilon: boundOf('epsilon'), delta: boundOf('delta') }
  }

  test('of epsilon', async () => {
    const { epsilon, delta } = await audit()
    // At most the price, and far enough above 0 to show that the two datasets were distinguished.
    expect(epsilon).toBeLessThanOrEqual(1)
    expect(epsilon).toBeGreaterThan(0.5)
    expect(delta).toBe(0)
  })

  test('of delta', async () => {
    const query = { kind: 'count', mechanism: 'gaussian', epsilon: 0.1, delta: 0.3 }
    const { epsilon, delta } = await audit(JSON.stringify(query))
    expect(epsilon).toBeLessThanOrEqual(0.1)
    expect(delta).toBeLessThanOrEqual(0.3)
    expect(delta).toBeGreaterThan(0.15)
  })
})

test('TypeScript', async () => {
  const printed = await example(process.execPath, 'first-query.ts')
  expect(printed).toContain('Unicorn Wrangler')
  expect(printed).toMatch(/geometric noise of scale 5\neach cell is within 15 with probability 0.95/)
})

test('a refusal ends an example with the message of the service', async () => {
  await writeFile(keyFile, 'sotto_wrong\n')
  if (installed('python3')) {
    await expect(example('python3', 'first_query.py')).rejects.toMatchObject({
      stderr: expect.stringContaining('unauthenticated'),
    })
  }
  await expect(example(process.execPath, 'first-query.ts')).rejects.toMatchObject({
    stderr: expect.stringContaining('unauthenticated'),
  })
})
