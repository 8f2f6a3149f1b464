import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { ALERTS, alertRules } from '../../deploy/monitoring/alerts.ts'
import { dashboard, ROWS } from '../../deploy/monitoring/dashboard.ts'
import { startTestService, type TestService } from '../e2e/service.ts'
import { namesIn } from './expressions.ts'

const root = path.resolve(import.meta.dirname, '../..')
const fileOf = (name: string) => readFile(path.join(root, name), 'utf8')

test('the alerts and the dashboard are what the code generates (npm run monitoring writes them)', async () => {
  expect(await fileOf('deploy/prometheus/alerts.yaml')).toBe(alertRules())
  expect(await fileOf('deploy/grafana/sotto.json')).toBe(dashboard())
})

test('each alert links to its runbook, and each runbook has an alert', async () => {
  const runbooks = [...(await fileOf('docs/reference/alerts.md')).matchAll(/^## (\w+)$/gm)].map(
    ([, heading]) => heading,
  )
  expect(runbooks).toEqual(ALERTS.map(({ name }) => name))
  const { groups } = parse(alertRules('https://docs.example/sotto'))
  const links = groups[0].rules.map(
    (rule: { readonly annotations: { readonly runbook_url: string } }) => rule.annotations.runbook_url,
  )
  expect(links).toEqual(ALERTS.map(({ name }) => `https://docs.example/sotto#${name.toLowerCase()}`))
})

test('the panels of the dashboard do not overlap', () => {
  const { panels } = JSON.parse(dashboard())
  const occupied = new Set<string>()
  let cells = 0
  for (const { x, y, w, h } of panels.map((panel: { readonly gridPos: object }) => panel.gridPos)) {
    expect(x + w).toBeLessThanOrEqual(24)
    for (let column = x; column < x + w; column += 1)
      for (let line = y; line < y + h; line += 1) occupied.add(`${column} ${line}`)
    cells += w * h
  }
  expect(occupied.size).toBe(cells)
})

/** Labels that Prometheus adds to each series. */
const TARGET_LABELS = ['job', 'instance']

/** All expressions, with the texts that use their labels. */
const USES = [
  ...ALERTS.map(({ name, expression, summary }) => ({
    use: name,
    expression,
    labels: [...summary.matchAll(/\$labels\.(\w+)/g)].map(([, label = '']) => label),
  })),
  ...ROWS.flatMap(({ panels }) =>
    panels.flatMap(({ title, targets }) =>
      targets.map(({ expression, legend }) => ({
        use: title,
        expression,
        labels: [...legend.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => label),
      })),
    ),
  ),
]

describe('metrics in alerts and in the dashboard', () => {
  let service: TestService
  /** Values of each label, by metric. */
  const served = new Map<string, Map<string, Set<string>>>([['up', new Map()]])

  beforeAll(async () => {
    const connections =
      '{"warehouse": {"engine": "postgres", "host": "127.0.0.1", "port": 9, "user": "u", "database": "d"}}'
    service = await startTestService(
      { SOTTO_METRICS_KEY: 'key-of-the-operator', SOTTO_CONNECTIONS: 'connections.json' },
      { census: true, files: { 'connections.json': connections } },
    )
    const ask = (epsilon: number) => service.ask('census', { kind: 'count', epsilon })
    const population = { id: 'staff', privacyUnit: 'row', budget: { epsilon: 3 } }
    await service.as('custodian').post('/v1/populations').send(population).expect(201)
    await ask(0.1).expect(200)
    await ask(11).expect(403)
    for (const probe of ['/healthz', '/readyz', '/metrics']) await fetch(`${service.url}${probe}`)
    const headers = { authorization: 'Bearer key-of-the-operator' }
    const text = await (await fetch(`${service.url}/metrics`, { headers })).text()
    for (const [, name = '', labels = ''] of text.matchAll(/^([a-z]\w+)(?:\{(.*)\})? \S+$/gm)) {
      const known = served.get(name) ?? new Map<string, Set<string>>()
      for (const [, label = '', value = ''] of labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g))
        known.set(label, (known.get(label) ?? new Set()).add(value))
      served.set(name, known)
    }
  })
  afterAll(() => service.close())

  test.each(USES)('$use uses metrics, labels and values that the service has', ({ expression, labels }) => {
    const { metrics, groupings } = namesIn(expression)
    expect(metrics.length).toBeGreaterThan(0)
    const known = new Set(TARGET_LABELS)
    for (const { name, matchers } of metrics) {
      const found = served.get(name)
      expect(found, name).toBeDefined()
      for (const label of found?.keys() ?? []) known.add(label)
      for (const { label, values } of matchers) {
        if (TARGET_LABELS.includes(label)) continue
        expect([...(found?.keys() ?? [])], name).toContain(label)
        // Variables of the dashboard, and statuses that a healthy service does not send.
        if (label === 'status') continue
        for (const value of values.filter((each) => !each.startsWith('$')))
          expect([...(found?.get(label) ?? [])], `${name}, ${label}`).toContainEqual(
            expect.stringMatching(new RegExp(`^(?:${value.replace('+', '\\+')})$`)),
          )
      }
    }
    for (const label of [...groupings, ...labels]) expect([...known]).toContain(label)
  })
})

test('the names in an expression are found', () => {
  const expression =
    '1 - sum by (job, le) (rate(a_bucket{le="5",x=~"p|q"}[10m])) / on () group_left (y) b_total > 0 and c offset 3h'
  expect(namesIn(expression)).toEqual({
    metrics: [
      {
        name: 'a_bucket',
        matchers: [
          { label: 'le', values: ['5'] },
          { label: 'x', values: ['p', 'q'] },
        ],
      },
      { name: 'b_total', matchers: [] },
      { name: 'c', matchers: [] },
    ],
    groupings: ['job', 'le', 'y'],
  })
})
