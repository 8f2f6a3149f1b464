import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'
import { entry, must } from '../../../src/privacy/must.ts'
import { STATEMENTS } from '../../answers/sql/tool-statements.ts'
import { testService } from '../service.ts'
import { hasJava, hasPython, pgjdbc, pythonWithDrivers } from './drivers.ts'

/*
 * The dashboards of tools, asked by psycopg, which pays, and by pgjdbc, which replays. Their figures are those of the same
 * questions over HTTP, in SQL and in JSON. What is relative to the time of day is another question each time, and left out.
 */
const ASKED = Object.values(STATEMENTS).flatMap((statements) =>
  statements.flatMap(([sql, outcome]) => (typeof outcome === 'number' && !/now\(\)/i.test(sql) ? [sql] : [])),
)

type Cell = string | number | boolean | null

interface Answered {
  /** Numbers of the answer to the same question in JSON. */
  readonly figures: ReadonlySet<Cell>
  readonly rows: readonly (readonly Cell[])[]
  /** Without half-widths. */
  readonly values: readonly (readonly Cell[])[]
}

const service = testService({ SOTTO_PG_PORT: '0' })
const place = () => [String(must(service.pgPort, 'the port')), service.keyOf('analyst')]

const OCCUPATIONS = ['Statistician', 'Economist', 'Geographer', 'IT Specialist', 'Unicorn Wrangler']

function csvOfCensus(): string {
  const rows = Array.from({ length: 4_000 }, (_, i) =>
    [
      ...[i % 2 === 0 ? 'M' : 'F', (i * 7) % 91, 'MWSDN'[i % 5], ((i * 7_919) % 100_000) + i],
      ...[OCCUPATIONS[i % 4], `202${i % 7}-0${1 + (i % 9)}-11`, `2026-11-${10 + (i % 20)}T0${i % 10}:00:00Z`],
    ].join(),
  )
  return ['Sex,Age,Married,Earnings,Occupation,Joined,Seen', ...rows].join('\n')
}

beforeAll(async () => {
  const { body: upload } = await service
    .as('custodian')
    .post('/v1/sources')
    .attach('file', Buffer.from(csvOfCensus()), 'census.csv')
    .expect(201)
  await service
    .register({
      ...{ id: 'census', title: 'Census', source: { kind: 'upload', upload: upload.id, format: 'csv' } },
      columns: [
        { name: 'Sex', type: 'category', categories: ['M', 'F'], nullable: false },
        { name: 'Age', type: 'integer', lower: 0, upper: 120, nullable: false },
        { name: 'Married', type: 'category', categories: ['M', 'W', 'S', 'D', 'N'], nullable: false },
        {
          ...{ name: 'Earnings', type: 'integer', lower: 0, upper: 10_000_000, nullable: false },
          rankable: { maxValues: 1_000_000 },
        },
        { name: 'Occupation', type: 'category', categories: OCCUPATIONS, nullable: true },
        { name: 'Joined', type: 'date', lower: '2020-01-01', upper: '2026-12-31', nullable: true },
        {
          ...{ name: 'Seen', type: 'timestamp', lower: '2026-11-01T00:00:00Z', step: 60, nullable: true },
          upper: '2026-12-01T00:00:00Z',
        },
      ],
      ...{ privacyUnit: { kind: 'row' }, neighbours: 'add-remove', budget: { epsilon: 1_000, delta: 0 } },
    })
    .expect(201)
})

/** Runs a program on an input. */
async function outputOf(program: string, args: readonly string[], input: string): Promise<string> {
  const running = promisify(execFile)(program, args, { maxBuffer: 2 ** 26 })
  running.child.stdin?.end(input)
  return (await running).stdout
}

function numbersIn(document: unknown): ReadonlySet<Cell> {
  const numbers = new Set<Cell>()
  JSON.stringify(document, (_, value) => {
    if (typeof value === 'number') numbers.add(value)
    return value
  })
  return numbers
}

async function answersOverHttp(): Promise<readonly Answered[]> {
  const answered: Answered[] = []
  for (const sql of ASKED) {
    const ask = (address: string, body: object) =>
      service.as('analyst').post(`/v1/datasets/census/${address}`).send(body)
    const { body } = await ask('sql', { sql, epsilon: 1 }).expect(200)
    const isBatch = 'queries' in body.query
    const { body: replayed } = await ask(isBatch ? 'queries/batch' : 'queries', body.query).expect(200)
    expect(replayed, sql).toEqual(body.answer)
    const columns: readonly { readonly name: string; readonly halfWidthColumn?: string }[] = body.columns
    const halfWidths = columns.map(({ halfWidthColumn }) => halfWidthColumn)
    const isValue = (_: unknown, column: number) => !halfWidths.includes(columns[column]?.name)
    answered.push({
      figures: numbersIn(replayed),
      rows: body.rows,
      values: body.rows.map((row: readonly Cell[]) => row.filter(isValue)),
    })
  }
  return answered
}

describe.skipIf(!hasPython)('dashboards', () => {
  let answered: readonly Answered[]
  const spent = async () => {
    const { body } = await service.as('analyst').get('/v1/datasets/census/budget').expect(200)
    expect(body.spent.epsilon).toBeGreaterThan(ASKED.length)
    return body
  }

  test('have the figures of the JSON API through psycopg, and cost once', async () => {
    const script = path.join(import.meta.dirname, 'asked.py')
    const asked = () =>
      pythonWithDrivers().then((python) => outputOf(python, [script, ...place()], JSON.stringify(ASKED)))
    const found = JSON.parse(await asked())
    const paid = await spent()
    answered = await answersOverHttp()
    expect(JSON.parse(await asked())).toEqual(found)
    expect(await spent()).toEqual(paid)
    for (const [index, sql] of ASKED.entries()) {
      const { values } = entry(answered, index)
      expect(found[index], sql).toEqual([values, values])
      expect(values.length, sql).toBeGreaterThan(0)
    }
    // The others compute with the figures of an answer.
    const plain = answered.filter(({ values, figures }) =>
      values.flat().every((cell) => typeof cell !== 'number' || figures.has(cell)),
    )
    expect(plain.length).toBeGreaterThan(ASKED.length / 2)
  })

  test.skipIf(!hasJava)('have them through pgjdbc, with half-widths', async () => {
    const source = path.join(import.meta.dirname, 'Asked.java')
    const printed = await outputOf(
      'java',
      ['-cp', await pgjdbc(), source, ...place()],
      `${ASKED.join('\0')}\0`,
    )
    const results = printed.split('\0')
    expect(results).toHaveLength(3 * ASKED.length + 1)
    for (const [index, sql] of ASKED.entries()) {
      const { rows } = entry(answered, index)
      for (const run of [0, 1, 2]) {
        const found = entry(results, 3 * index + run)
          .split('\n')
          .slice(0, -1)
        const read = found.map((line, row) =>
          line
            .split('\t')
            .slice(0, -1)
            .map((text, column) => (typeof rows[row]?.[column] === 'number' ? Number(text) : text)),
        )
        const expected = rows.map((row) =>
          row.map((cell) => (typeof cell === 'number' ? cell : String(cell))),
        )
        expect(read, `${sql}, run ${run}`).toEqual(expected)
      }
    }
  })
})
