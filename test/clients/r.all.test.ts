import { execFile } from 'node:child_process'
import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { commandsOf, openShell, readPage } from '../documentation/pasted-page.ts'
import { startTestService, type TestService } from '../e2e/service.ts'
import { folderForAll } from '../folders.ts'
import { installed } from '../installed.ts'
import { listen, startLossyProxy } from './proxy.ts'

/*
 * The R package, built and installed into an empty library, against a service. Programs of R write what they got as JSON,
 * which is compared with what the service stored.
 */

const root = path.resolve(import.meta.dirname, '../..')
const execute = promisify(execFile)
const title = `the R package${installed('R') ? '' : ' (skipped: R is not installed)'}`

const page = readPage('clients/r/README.md')
const blocks = [...page.matchAll(/^```r\n([\s\S]*?)^```/gm)].map(([, code = '']) => code)

interface Estimate {
  readonly value: number
  readonly halfWidth: number
}

describe.skipIf(!installed('R'))(title, () => {
  let service: TestService
  let built = ''
  const folder = folderForAll()
  const inFolder = (name: string) => path.join(folder.path, name)

  const run = (program: string, args: readonly string[], environment: Record<string, string> = {}) =>
    execute(program, args, {
      cwd: folder.path,
      env: {
        ...process.env,
        R_LIBS: inFolder('library'),
        SOTTO_URL: service.url,
        SOTTO_KEY: service.keyOf('analyst'),
        ...environment,
      },
    })

  /** Runs code after `library(sotto)`. Returns what it prints, and its last value as JSON. */
  const r = async (code: string, environment: Record<string, string> = {}) => {
    const program = `library(sotto)
result <- {
${code}
}
cat("\nresult: ", jsonlite::toJSON(result, auto_unbox = TRUE, digits = NA, null = "null", na = "null"), "\n", sep = "")`
    await writeFile(inFolder('program.R'), program)
    const { stdout } = await run('Rscript', ['program.R'], environment)
    const [printed = '', json = ''] = stdout.split('\nresult: ')
    return { printed, result: JSON.parse(json) }
  }

  const spent = async () => {
    const { body } = await service.as('analyst').get('/v1/datasets/census/budget').expect(200)
    return body.spent.epsilon as number
  }

  beforeAll(async () => {
    service = await startTestService({ SOTTO_DEMO: 'true' })
    const shell = await openShell(service)
    await shell.run(commandsOf(readPage('examples/clinic.md'))[0] ?? '').finally(() => shell.close())
    await symlink(service.dataDirectory, inFolder('data'))
    await mkdir(inFolder('library'))
    await run('R', ['CMD', 'build', path.join(root, 'clients/r')])
    built = (await readdir(folder.path)).find((name) => name.endsWith('.tar.gz')) ?? ''
    await run('R', ['CMD', 'INSTALL', '--library=library', built])
  })
  afterAll(() => service?.close())

  test('passes R CMD check, but for the licence that its owner has not chosen', async () => {
    // No index of packages is read.
    const { stdout } = await run('R', ['CMD', 'check', '--no-manual', built], {
      R_CRAN_SRC: `file://${folder.path}`,
      R_CRAN_WEB: `file://${folder.path}`,
    })
    const found = stdout.split('\n').filter((line) => /\.\.\. (?:WARNING|ERROR)$/.test(line))
    expect(found, stdout).toEqual(['* checking DESCRIPTION meta-information ... WARNING'])
    expect(stdout).toContain('Invalid license file pointers: LICENSE')
  })

  test("runs the README's first example", async () => {
    const [first = ''] = blocks
    const { printed, result } = await r(
      `${first.replace('http://127.0.0.1:8080', service.url)}
print(sotto_preview(census, old))
print(answer)
c(answer[c("id", "value", "half_width", "interval", "confidence", "replayed")], list(price = unclass(answer$price)))`,
    )
    const { body } = await service.as('analyst').get(`/v1/releases/${result.id}`).expect(200)
    const { value } = body.result
    expect(body.question).toEqual({
      kind: 'count',
      where: { column: 'Age', op: '>=', value: 65 },
      epsilon: 0.1,
    })
    expect(result).toEqual({
      ...{ id: body.id, value, half_width: 30, interval: [value - 30, value + 30], confidence: 0.95 },
      ...{ price: { epsilon: 0.1, delta: 0 }, replayed: false },
    })
    const lines = printed.split('\n')
    expect(lines).toContain('± 30; price: epsilon 0.1, already paid; left: epsilon 9.9, delta 1e-05')
    expect(lines).toContain(`${value.toLocaleString('en')} ± 30`)
    expect(printed.replaceAll('\n', ' ')).toContain('(95% confidence, price: epsilon 0.1, left: epsilon 9.9,')
  })

  test('runs all examples of its README', async () => {
    const code = blocks.join('\n').replace('http://127.0.0.1:8080', service.url)
    const { printed, result } = await r(
      `${code}
list(groups = names(table), rows = nrow(table), columns = sotto_describe(census)$name, dummy = sotto_ask(practice, sotto_median("Age", epsilon = 0.1))$dummy)`,
    )
    expect(printed).toContain('query-does-not-fit column')
    expect(result).toEqual({
      groups: ['Sex', 'Married', 'n', 'n_half_width', 'pay', 'pay_half_width'],
      rows: 10,
      columns: ['Sex', 'Age', 'Married', 'Earnings', 'Occupation'],
      dummy: true,
    })
  })

  test('examples/clinic.R asks the ten questions of the page, and shows what was released', async () => {
    const documented = [...readPage('examples/clinic.md').matchAll(/^```json visits\n([\s\S]*?)^```/gm)]
    expect(documented).toHaveLength(10)
    const { printed, result } = await r(`source("${path.join(root, 'examples/clinic.R')}")
lapply(answers, function(answer) list(id = answer$id, rows = as.data.frame(answer)))`)
    const answers = Object.values(result) as {
      readonly id: string
      readonly rows: Record<string, unknown>[]
    }[]
    for (const [place, [, json = '']] of documented.entries()) {
      const { body } = await service.ask('clinic', JSON.parse(json)).expect(200)
      const { id, rows } = answers[place] ?? expect.fail()
      expect(id, json).toBe(body.id)
      const numbers = rows.flatMap(({ lower: _, upper: __, ...row }) =>
        Object.values(row).filter((each) => typeof each === 'number'),
      )
      expect(numbers.map(rounded), json).toEqual(released(body).map(rounded))
    }
    expect(rowsOf('visits_by_month')[1]).toMatchObject({ visited: '2023-02-01', count_half_width: 60 })
    expect(rowsOf('visits_and_patients')[6]).toMatchObject({ visited: '2023-04-01', region: 'South' })
    expect(Object.keys(rowsOf('quartiles_of_cost')[0] ?? {}).slice(0, 3)).toEqual([
      'region',
      'low',
      'low_rank_half_width',
    ])
    expect(rowsOf('frequent_diagnoses').map(({ diagnosis }) => diagnosis)).toContain('Common cold')
    expect(rowsOf('trend_of_costs').map(({ term }) => term)).toEqual(['intercept', 'visited', 'age'])
    expect(printed).toContain('epsilon 12.6, delta 1e-06 left of epsilon 20, delta 1e-06')

    function rowsOf(name: string): Record<string, unknown>[] {
      return result[name].rows
    }
  })

  test.each([
    ['before the first byte of the response', 0],
    ['in the middle of the response', 40],
  ])('a connection that is lost after the charge, %s, is charged once', async (_, bytes) => {
    const proxy = await startLossyProxy(service.url, { losses: 2, bytes })
    try {
      const before = await spent()
      const { result } = await r(
        `answer <- sotto_ask(sotto_connect() |> sotto_dataset("census"), sotto_count(where = ~ Age >= ${20 + bytes}, epsilon = 0.125))
list(replayed = answer$replayed, price = unclass(answer$price))`,
        { SOTTO_URL: proxy.url },
      )
      expect(proxy.lost()).toBe(2)
      expect(result).toEqual({ replayed: true, price: { epsilon: 0.125, delta: 0 } })
      expect(await spent()).toBeCloseTo(before + 0.125, 9)
    } finally {
      await proxy.close()
    }
  })

  test('repeats what can pass, and nothing else', async () => {
    const asked: string[] = []
    const replies: Readonly<Record<string, readonly (readonly [status: number, code: string])[]>> = {
      busy: [
        [503, 'overloaded'],
        [409, 'query-in-flight'],
        [429, 'rate-limited'],
        [200, ''],
      ],
      quota: [[429, 'quota-of-bytes']],
      reused: [[409, 'idempotency-key-reused']],
      failed: [[500, 'query-failed']],
      moved: [[307, '']],
    }
    const server = await listen((incoming, outgoing) => {
      const name = path.basename(incoming.url ?? '')
      const place = asked.filter((each) => each === name).length
      asked.push(name)
      const [status, code] = replies[name]?.[place] ?? [404, 'asked-too-often']
      const body = { code, status, detail: 'a detail', id: name, title: '', columns: [] }
      outgoing.writeHead(status, { location: `${service.url}/v1/datasets` }).end(JSON.stringify(body))
    })
    try {
      const { result } = await r(
        `service <- sotto_connect("${server.url}")
outcome <- function(id) tryCatch(class(sotto_describe(sotto_dataset(service, id))), sotto_error = function(error) c(class(error)[1], error$code))
lapply(c(busy = "busy", quota = "quota", reused = "reused", failed = "failed", moved = "moved"), outcome)`,
      )
      expect(result).toEqual({
        busy: 'data.frame',
        quota: ['sotto_problem', 'quota-of-bytes'],
        reused: ['sotto_problem', 'idempotency-key-reused'],
        failed: ['sotto_problem', 'query-failed'],
        moved: 'sotto_unexpected_response',
      })
      expect(asked).toEqual(['busy', 'busy', 'busy', 'busy', 'quota', 'reused', 'failed', 'moved'])
    } finally {
      await server.close()
    }
  })

  test('refusals are conditions with the fields of the problem, and cost nothing', async () => {
    const before = await spent()
    const { result } = await r(`census <- sotto_connect() |> sotto_dataset("census")
problem <- tryCatch(sotto_ask(census, sotto_count(where = ~ Age >= 65 & Agee == 1, epsilon = 0.1)), sotto_problem = identity)
list(class = class(problem), message = conditionMessage(problem), code = problem$code, status = problem$status, field = problem$field, errors = length(problem$errors), same = identical(problem$document$requestId, problem$request_id))`)
    expect(result).toEqual({
      class: ['sotto_problem', 'sotto_error', 'error', 'condition'],
      message: expect.stringMatching(/^query-does-not-fit: .*Agee/),
      ...{
        code: 'query-does-not-fit',
        status: 422,
        field: 'where.predicates.1.column',
        errors: 1,
        same: true,
      },
    })
    expect(await spent()).toBe(before)
  })

  test('sends values of R in the form of the service, and never shows the key', async () => {
    const { printed, result } = await r(`service <- sotto_connect()
print(service); str(service)
start <- as.POSIXct("2024-01-01 10:00", tz = "Europe/Berlin")
sent <- function(question) capture.output(print(question))
edges <- sotto_ask(sotto_dataset(service, "census", on = "dummy"), sotto_histogram(sotto_bins("Earnings", c(0, 1e5, 1e7)), epsilon = 1))
list(
  where = sent(sotto_count(where = ~ seen >= start & day < as.Date("2024-02-01") & !is.na(x) & \`a b\` %in% factor("c"))),
  numbers = sent(sotto_count(where = ~ between(Age, 1e5, 2^53 - 1), epsilon = 0.1 + 0.2, delta = 1e-12)),
  options = sent(sotto_mean("cost", per_person = "count", half_width = 2, confidence = 0.9, supposed = list(standard_deviation = 3))),
  bins = levels(as.data.frame(edges)$Earnings)
)`)
    expect(printed).toContain(service.url)
    expect(printed).not.toContain(service.keyOf('analyst'))
    const { where, numbers, options, bins } = result
    expect(JSON.parse(where).where.predicates).toEqual([
      { column: 'seen', op: '>=', value: '2024-01-01T09:00:00Z' },
      { column: 'day', op: '<', value: '2024-02-01' },
      { op: 'not', predicate: { column: 'x', op: 'isNull' } },
      { column: 'a b', op: 'in', values: ['c'] },
    ])
    expect(numbers).toContain('"lower":100000,"upper":9007199254740991},"epsilon":0.3,"delta":1e-12}')
    expect(JSON.parse(options)).toEqual({
      ...{ kind: 'mean', column: 'cost', perPerson: 'count', accuracy: { halfWidth: 2, confidence: 0.9 } },
      supposed: { standardDeviation: 3 },
    })
    expect(bins).toEqual(['[0, 100000)', '[100000, 10000000]'])
  })
})

/** Returns the values of an answer and their half-widths, in their order. */
// biome-ignore lint/suspicious/noExplicitAny: answers of every kind
function released({ result, accuracy }: any): readonly number[] {
  const flat = (estimates: readonly Estimate[]) =>
    estimates.flatMap(({ value, halfWidth }) => [value, halfWidth])
  const { halfWidth } = accuracy
  if ('value' in result) return [result.value, halfWidth]
  if ('cells' in result) return result.cells.flatMap(({ value }: Estimate) => [value, halfWidth])
  if ('intercept' in result) return flat([result.intercept, ...result.coefficients])
  return result.groups.flatMap(({ values }: { readonly values: Record<string, Estimate> }) =>
    flat(Object.values(values)),
  )
}

/** Rounds to the digits that R writes. */
function rounded(value: number): number {
  return Number(value.toPrecision(12))
}
