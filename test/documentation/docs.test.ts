import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { linkInSite } from '../../guide/markdown.ts'
import { anchorOf, PAGES as PAGES_OF_GUIDE } from '../../guide/navigation.ts'
import { answer as answerSchema } from '../../schemas/answers/answer.ts'
import { QUERY_KINDS, query as querySchema } from '../../schemas/answers/query.ts'
import { columns as columnsSchema } from '../../schemas/datasets/dataset.ts'
import { LARGEST_WIRE_UNIVERSE } from '../../schemas/studies/risk.ts'
import { loadParser, parseStatement } from '../../src/answers/sql/parsing/parser.ts'
import { translate } from '../../src/answers/sql/translation.ts'
import { readConfig } from '../../src/config.ts'
import { declareDataset } from '../../src/core/dataset/declaration.ts'
import { normalForm } from '../../src/core/planner/identity/normal-form.ts'
import { plan } from '../../src/core/planner/plan.ts'
import { censusRegistration } from '../../src/datasets/registration/demo.ts'
import { visitColumns } from '../../src/datasets/registration/sources/visits.ts'
import { canonicalJson, chargeId, sha256 } from '../../src/ledger/canonical.ts'
import { lossNumbers } from '../../src/privacy/loss.ts'
import * as limits from '../../src/studies/risk/limits.ts'

const root = path.resolve(import.meta.dirname, '../..')
const page = (name: string) => readFileSync(path.join(root, name), 'utf8')

test("the README's first answer has the shape and the id of an answer to its first query", () => {
  const readme = page('README.md')
  const wire = /-d '(\{.*\})'/.exec(readme)?.[1] ?? ''
  const shown = answerSchema.parse(JSON.parse(/```json\n([\s\S]*?)```/.exec(readme)?.[1] ?? ''))
  const { budget: _, ...registration } = censusRegistration
  const census = declareDataset(registration, '1')
  const request = canonicalJson({
    dataset: 'census',
    version: '1',
    query: normalForm(plan(querySchema.parse(JSON.parse(wire)), census, { maxCells: 1 })),
  })
  expect(shown.id).toBe(chargeId('analyst', `sha256:${sha256(request)}`))
  expect(shown.question).toEqual(JSON.parse(wire))
})

test('every query on the pages of queries can be planned on the demo dataset within its budget', () => {
  const { budget, ...census } = censusRegistration
  const diagnosis = { name: 'Diagnosis', type: 'string', selectable: true, nullable: true } as const
  const withDiagnosis = declareDataset({ ...census, columns: [...census.columns, diagnosis] }, '1')
  const text = page('docs/queries.md') + page('docs/budget.md')
  const asked = [...text.matchAll(/^```json\n([\s\S]*?)^```/gm)].map(([, json = '']) =>
    querySchema.parse(JSON.parse(json)),
  )
  for (const query of asked) {
    // Only `keySelection` needs another column.
    const dataset = query.kind === 'keySelection' ? withDiagnosis : declareDataset(census, '1')
    const { loss } = plan(query, dataset, {
      maxCells: readConfig({}).maxCells,
    })
    const { epsilon, delta } = lossNumbers(loss)
    expect(epsilon <= budget.epsilon && delta <= budget.delta, JSON.stringify(query)).toBe(true)
  }
  const shown = new Set(asked.map(({ kind }) => kind))
  expect(QUERY_KINDS.filter((kind) => !shown.has(kind) && !text.includes(`\`${kind}\``))).toEqual([])
})

test('the table of errors on the page about budgets has the figures of its picture', () => {
  const shown = [...page('docs/pictures/budget-errors-light.svg').matchAll(/>(\d+\.\d+)</g)]
  const rows = [...page('docs/budget.md').matchAll(/^\|.* times \|$/gm)].join('')
  const listed = [...rows.matchAll(/\b(\d+\.\d+)\b(?! times)/g)]
  expect(listed.map(([, figure]) => figure)).toEqual(shown.map(([, figure]) => figure))
})

test('every statement on the page of SQL can be planned on the demo dataset', async () => {
  await loadParser()
  const census = declareDataset(censusRegistration, '1')
  const asked = [...page('docs/sql.md').matchAll(/^```sql\n([\s\S]*?)^```/gm)].map(([, sql = '']) => sql)
  expect(asked.length).toBeGreaterThan(3)
  for (const sql of asked) {
    for (const query of translate(sql, parseStatement(sql), census, Date.now()).queries)
      expect(
        () => plan(querySchema.parse({ ...query, epsilon: 1 }), census, { maxCells: 10_000 }),
        sql,
      ).not.toThrow()
  }
})

test('every query about visits on the pages of queries can be planned on the made-up visits', () => {
  const visits = declareDataset(
    {
      id: 'visits',
      title: 'Visits',
      source: { kind: 'visits', people: 1_000, rows: 5_000, seed: 'page' },
      columns: visitColumns,
      privacyUnit: { kind: 'person', column: 'patient_id', maxRows: 20 },
      neighbours: 'add-remove',
      synthetic: true,
      accounting: 'basic',
      sharing: false,
      timing: 'off',
      failureLimit: 3,
      queryLimits: {},
    },
    '1',
  )
  const text = page('docs/queries.md') + page('docs/budget.md') + page('examples/clinic.md')
  const asked = [...text.matchAll(/^```json visits\n([\s\S]*?)^```/gm)]
  expect(asked.length).toBeGreaterThan(16)
  for (const [, json = ''] of asked)
    expect(() => plan(querySchema.parse(JSON.parse(json)), visits, { maxCells: 10_000 }), json).not.toThrow()
})

test('every column on the page about registering can be declared', () => {
  const asked = [...page('docs/registering.md').matchAll(/^```json column\n([\s\S]*?)^```/gm)]
  expect(asked.length).toBeGreaterThan(1)
  const declared = columnsSchema.parse(asked.map(([, json = '']) => JSON.parse(json)))
  const { columns: _, ...facts } = censusRegistration
  expect(declareDataset({ ...facts, columns: declared }, '1').columns).toHaveLength(asked.length)
})

const PAGES = [
  ...PAGES_OF_GUIDE,
  'README.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'bench/README.md',
  'deploy/README.md',
  'examples/README.md',
  'examples/clinic.md',
  'examples/comparison.md',
  'test/README.md',
  'test/attacks.md',
  'test/reliability/README.md',
  ...readdirSync(path.join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
].filter((name, index, all) => all.indexOf(name) === index)

test('every page of the documentation is in a group of the navigation of the guide', () => {
  expect(PAGES.filter((name) => name.startsWith('docs/') && !PAGES_OF_GUIDE.has(name))).toEqual([])
})

test('the image builds the guide from all of its pages', () => {
  const stages = readFileSync(path.join(root, 'Dockerfile'), 'utf8').split(/^FROM /m)
  const stage = stages.find((each) => / AS guide\n/.test(each)) ?? ''
  const copied = [...stage.matchAll(/^COPY (.+) \S+$/gm)].flatMap(([, files = '']) => files.split(' '))
  const isCopied = (page: string) => copied.some((name) => page === name || page.startsWith(`${name}/`))
  expect([...PAGES_OF_GUIDE].filter((page) => !isCopied(page))).toEqual([])
})

test('links between pages of the guide stay in it, and those to other files become text', () => {
  const page = 'docs/privacy.md'
  expect(linkInSite('problems.md#forbidden', page)).toBe('/problems.md#forbidden')
  expect(linkInSite('decisions/', page)).toBe('/decisions/')
  expect(linkInSite('../src/core/mechanisms/README.md#proofs', page)).toBe(
    '/project/src/core/mechanisms/#proofs',
  )
  expect(linkInSite('README.md', page)).toBe('/')
  expect(linkInSite('../src/app.ts', page)).toBeUndefined()
  expect(linkInSite('https://example.org/', page)).toBe('https://example.org/')
})

test('every link between pages has a target', () => {
  expect(PAGES.length).toBeGreaterThan(40)
  for (const name of PAGES) {
    for (const [, target = '', anchor] of page(name).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)/g)) {
      const file = path.join(root, path.dirname(name), target === '' ? path.basename(name) : target)
      expect(existsSync(file), `${name} -> ${target}`).toBe(true)
      if (anchor === undefined) continue
      const anchors = [...readFileSync(file, 'utf8').matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
        anchorOf(heading),
      )
      expect(anchors, `${name} -> ${target}#${anchor}`).toContain(anchor)
    }
  }
})

test('every file of the project that a page names exists', () => {
  for (const name of PAGES) {
    for (const [file] of page(name).matchAll(
      /\b(?:clients\/\w+\/)?(?:src|test|routes|schemas|bench|examples|docs)\/[\w./-]+\.(?:ts|py|sh|md)\b/g,
    ))
      expect(existsSync(path.join(root, file)), `${name} names ${file}`).toBe(true)
  }
})

test('every decision is numbered and indexed', () => {
  const index = page('docs/decisions/README.md')
  const numbers = PAGES.filter((name) => /decisions\/\d/.test(name)).map((name) => {
    const [file = '', number = ''] = /(\d{4})-[\w-]+\.md$/.exec(name) ?? []
    expect(page(name), name).toMatch(new RegExp(`^# ${Number(number)}\\. `))
    expect(index, name).toContain(`[${Number(number)}](${file})`)
    return number
  })
  expect(new Set(numbers).size).toBe(numbers.length)
})

test('exactly the existing folders of the source are documented', () => {
  const documented = [...page('CONTRIBUTING.md').matchAll(/^\| `src\/([\w-]+)\/` /gm)].map(([, name]) => name)
  const existing = readdirSync(path.join(root, 'src'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
  expect(documented.sort()).toEqual(existing.sort())
})

test('the documented limits of disclosure risk equal those of the code', () => {
  const rows = [
    ...page('src/studies/risk/disclosure-risk.md').matchAll(/^\| ([a-z][\w ]+?) +\| +([\d,e]+) \|$/gm),
  ]
  expect(
    Object.fromEntries(rows.map(([, what, value = '']) => [what, Number(value.replaceAll(',', ''))])),
  ).toEqual({
    'people in a universe': limits.LARGEST_UNIVERSE,
    'enumerated worlds': limits.MOST_ENUMERATED_WORLDS,
    'values read to compare worlds with neighbours': limits.MOST_ENUMERATED_VALUES,
    'possible worlds': Number(limits.MOST_WORLDS),
    'distinct answers': limits.MOST_ANSWERS,
    'distinct answers times points of a curve': limits.MOST_CURVE_STEPS,
    'entries in the table of sums': limits.LARGEST_SUM_TABLE,
    'additions to fill that table': limits.MOST_SUM_ADDITIONS,
    'digits before and after the point of a value': limits.MOST_DIGITS,
  })
  expect(LARGEST_WIRE_UNIVERSE).toBe(limits.LARGEST_UNIVERSE)
})

test('every test that the page of attacks names exists in the file that it names', () => {
  const cited = page('test/attacks.md').matchAll(/((?:"[^"]+"(?:, )?)+) \(\[[^\]]+\]\(([^)]+)\)\)/g)
  let tests = 0
  for (const [, titles = '', file = ''] of cited) {
    const source = page(`test/${file}`)
    for (const [, title = ''] of titles.matchAll(/"([^"]+)"/g)) {
      expect(source, `${file}: ${title}`).toContain(`'${title}'`)
      tests += 1
    }
  }
  expect(tests).toBeGreaterThan(40)
})

test('every proof beside the code is cited by code, and every citation of a proof has its page', () => {
  const names = (folder: string) =>
    readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' }).map(
      (name) => `${folder}/${name}`,
    )
  const proofs = names('src').filter((name) => name.endsWith('.md') && !name.endsWith('README.md'))
  const cited = names('src')
    .filter((name) => name.endsWith('.ts'))
    .flatMap((name) => readFileSync(path.join(root, name), 'utf8').match(/\bsrc\/[\w/-]+\.md\b/g) ?? [])
  expect(proofs.length).toBeGreaterThan(10)
  expect([...new Set(cited)].sort()).toEqual(proofs.sort())
})

test('every decision is cited by the code to which it applies, and every citation has its page', () => {
  const cited = SOURCES.flatMap((folder) =>
    readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.(ts|tsx|py)$/.test(name) && !name.includes('node_modules'))
      .flatMap((name) => [
        ...readFileSync(path.join(root, folder, name), 'utf8').matchAll(/\bdecision (\d+)/g),
      ])
      .map(([, number = '']) => number.padStart(4, '0')),
  )
  const decisions = PAGES.flatMap((name) => /decisions\/(\d{4})/.exec(name)?.[1] ?? [])
  expect([...new Set(cited)].sort()).toEqual(decisions.sort())
})

const SOURCES = ['src', 'routes', 'schemas', 'clients', 'console/src']
