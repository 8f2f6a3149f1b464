import { readFile } from 'node:fs/promises'
import { afterEach, describe, expect, test } from 'vitest'
import { startTestService, type TestService } from '../service.ts'

const KEY = 'key-of-the-operator'

let service: TestService
afterEach(() => service.close())

const metrics = (key?: string) => {
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` }
  return fetch(`${service.url}/metrics`, { headers })
}

/** Values of a metric by its labels. */
function valuesOf(text: string, name: string): ReadonlyMap<string, number> {
  const lines = text.matchAll(new RegExp(`^${name}\\{(.*)\\} (.*)$`, 'gm'))
  return new Map(Array.from(lines, ([, labels = '', value]) => [labels, Number(value)]))
}

describe('metrics', () => {
  test('are closed by default, also for every role', async () => {
    service = await startTestService()
    for (const key of [undefined, 'x', ...(['analyst', 'custodian', 'auditor'] as const).map(service.keyOf)])
      expect((await metrics(key)).status).toBe(401)
  })

  test('open with their own key only', async () => {
    service = await startTestService({ SOTTO_METRICS_KEY: KEY })
    for (const key of [undefined, `${KEY}x`, service.keyOf('analyst'), service.keyOf('custodian')])
      expect((await metrics(key)).status).toBe(401)
    expect((await metrics(KEY)).status).toBe(200)
  })

  test('are on their own port alone if they have one, with a key if one is set', async () => {
    service = await startTestService({ SOTTO_METRICS_PORT: '0' })
    expect((await metrics()).status).toBe(404)
    const own = `${service.metricsUrl}/metrics`
    expect(service.metricsUrl).not.toBe(service.url)
    const answer = await fetch(own)
    expect(await answer.text()).toContain('process_cpu_seconds_total')
    expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'")
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect((await fetch(`${service.metricsUrl}/v1/datasets`)).status).toBe(404)
    await service.restart({ SOTTO_METRICS_KEY: KEY })
    expect((await fetch(`${service.metricsUrl}/metrics`)).status).toBe(401)
  })

  test('have no exact durations of answers from data', async () => {
    service = await startTestService({ SOTTO_DEMO: 'true', SOTTO_METRICS_KEY: KEY })
    const query = { kind: 'count', epsilon: 0.01 }
    for (const idempotencyKey of ['a', 'b', 'c'])
      await service
        .as('analyst')
        .post('/v1/datasets/census/queries')
        .set('idempotency-key', idempotencyKey)
        .send(query)
        .expect(200)
    const queries = [query, { ...query, epsilon: 0.02 }]
    await service.as('analyst').post('/v1/datasets/census/queries/batch').send({ queries }).expect(200)
    const session = { threshold: 1_000, positives: 1, epsilon: 0.1 }
    const sessions = '/v1/datasets/census/sparse-vector-sessions'
    const { id } = (await service.as('analyst').post(sessions).send(session).expect(201)).body
    const where = { column: 'Age', op: '>=', value: 90 }
    await service.as('analyst').post(`/v1/sparse-vector-sessions/${id}/questions`).send({ where }).expect(200)
    const text = await (await metrics(KEY)).text()

    const exact = [...valuesOf(text, 'sotto_http_request_duration_seconds_sum').keys()]
    expect(exact.filter((labels) => labels.includes('POST'))).toEqual([])
    const answered = [...valuesOf(text, 'sotto_answer_duration_seconds_count')]
    expect(answered.map(([labels, count]) => [/route="([^"]+)"/.exec(labels)?.[1], count])).toEqual([
      ['/v1/datasets/:dataset/queries', 3],
      ['/v1/datasets/:dataset/queries/batch', 1],
      ['/v1/datasets/:dataset/sparse-vector-sessions', 1],
      ['/v1/sparse-vector-sessions/:id/questions', 1],
    ])
    for (const sum of valuesOf(text, 'sotto_answer_duration_seconds_sum').values())
      expect(sum * 4).toBe(Math.round(sum * 4))
    const bounds = text.matchAll(/^sotto_answer_duration_seconds_bucket\{le="([^"]+)"/gm)
    expect([...new Set(Array.from(bounds, ([, bound]) => bound))]).toEqual(['0.25', '1', '5', '30', '+Inf'])
    expect(text).not.toMatch(/="analyst"|colleague|="Age"/)

    const logged = service.logLines
      .map((line): { readonly route?: string; readonly durationMs?: number } => JSON.parse(line))
      .filter(({ route }) => /(queries|batch|sessions|questions)$/.test(route ?? ''))
    expect(logged).toHaveLength(6)
    for (const { durationMs = 1 } of logged) expect(durationMs % 50).toBe(0)
  })

  test('show operators charges, denials, what is left, the queue and the disk, by public facts alone', async () => {
    service = await startTestService({ SOTTO_METRICS_KEY: KEY }, { census: true })
    const ask = (epsilon: number) => service.ask('census', { kind: 'count', epsilon })
    const population = { id: 'staff', privacyUnit: 'row', budget: { epsilon: 3 } }
    await service.as('custodian').post('/v1/populations').send(population).expect(201)
    await ask(1).expect(200)
    await ask(1).expect(200)
    await ask(9.5).expect(403)
    const text = await (await metrics(KEY)).text()

    expect(valuesOf(text, 'sotto_charges_total')).toEqual(
      new Map(
        ['charged', 'answered', 'denied'].map((outcome) => [`dataset="census",outcome="${outcome}"`, 1]),
      ),
    )
    const left = valuesOf(text, 'sotto_budget_remaining')
    expect(left.get('dataset="census",unit="epsilon"')).toBe(9)
    expect(valuesOf(text, 'sotto_budget_cap').get('dataset="census",unit="epsilon"')).toBe(10)
    expect(left.get('dataset="@population:staff",unit="epsilon"')).toBe(3)
    expect([...valuesOf(text, 'sotto_dataset_suspended').keys()]).toEqual(['dataset="census"'])
    expect(Object.fromEntries(valuesOf(text, 'sotto_failures_total'))).toEqual({
      'dataset="census",counted="true"': 0,
      'dataset="census",counted="false"': 0,
    })
    expect(text).toMatch(/^sotto_ready 1$/m)
    expect(text).toMatch(/^sotto_disk_required_bytes 268435456$/m)
    expect(valuesOf(text, 'sotto_dataset_suspended').get('dataset="census"')).toBe(0)
    expect(Object.fromEntries(valuesOf(text, 'sotto_queue_requests'))).toEqual({
      'state="running"': 0,
      'state="waiting"': 0,
    })
    expect(Number(/^sotto_disk_free_bytes (\S+)$/m.exec(text)?.[1])).toBeGreaterThan(0)
    expect(Number(/^sotto_ledger_commit_seconds_count (\d+)$/m.exec(text)?.[1])).toBe(4)
    expect(text).not.toMatch(/analyst|custodian|[0-9a-f]{32}/)
    const documented = (await readFile('docs/reference/metrics.md', 'utf8')).matchAll(/^\| `(sotto_\w+)` /gm)
    const existing = text.matchAll(/^# TYPE (sotto_\w+) /gm)
    const names = (found: Iterable<RegExpMatchArray>) => Array.from(found, ([, name]) => name).sort()
    expect(names(documented)).toEqual(names(existing))

    await service.as('custodian').delete('/v1/datasets/census').expect(204)
    const kept = [...valuesOf(await (await metrics(KEY)).text(), 'sotto_budget_remaining').keys()]
    expect(kept.filter((labels) => !labels.includes('@population:staff'))).toEqual([])
  })
})
