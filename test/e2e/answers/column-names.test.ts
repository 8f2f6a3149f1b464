import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { columnName } from '../../../schemas/datasets/dataset.ts'
import { codePoint } from '../../code-point.ts'
import { testService } from '../service.ts'

/** Names that have broken something somewhere: quotes, paths, markup, formulas, keywords, scripts and marks. */
const DIFFICULT = [
  'Education-Num',
  'Größe',
  "it's",
  '"quoted"',
  'say ""',
  '\\',
  '\\" OR 1=1 --',
  "'; DROP TABLE rows; --",
  '../../etc/passwd',
  'a.b[0]["c"]',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the name of a column, not a template.
  '${name}',
  '{{name}}',
  '$1',
  '%s%n',
  '<script>alert(1)</script>',
  '&amp;',
  '=1+1',
  '-',
  '_',
  '0',
  'select',
  'rows',
  'count',
  'mean_Age',
  'constructor',
  'toString',
  '__proto__',
  'a,b',
  'a;b|c',
  '# comment',
  '/* comment */',
  '体重',
  'עברית',
  'العمر',
  '🩺',
  '👍🏽',
  'n\u0303\u0301'.normalize('NFC'),
  '\u0301',
  'ẞ',
  'x'.repeat(63),
  '𝒳'.repeat(63),
]

const character = fc.oneof(
  { weight: 3, arbitrary: codePoint },
  { weight: 2, arbitrary: fc.string({ unit: 'binary-ascii', minLength: 1, maxLength: 1 }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('"', "'", '\\', '`', '$', '{', '%', '.', ',', '/', '\u0301', '\u05d0'),
  },
)
const printable = fc
  .array(character, { minLength: 1, maxLength: 30 })
  .map((characters) => characters.join('').normalize('NFC'))
  .filter((name) => columnName.safeParse(name).success)

/** Leaves out names that differ from an earlier one in upper and lower case only. */
function distinct(names: readonly string[]): readonly string[] {
  const folded = (name: string) => name.toLowerCase().toUpperCase().toLowerCase()
  return names.filter(
    (name, place) =>
      names.findIndex((other) => folded(other) === folded(name)) === place &&
      !folded(name).startsWith('sotto_'),
  )
}

const names = distinct([...DIFFICULT, ...fc.sample(printable, { numRuns: 60, seed: 31 })])
/** Rows in which column i has the value `yes` i times. Its second column, a number, is always i. */
const ROWS = names.length

const service = testService()
beforeAll(async () => {
  const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`
  const lines = Array.from({ length: ROWS }, (_, row) =>
    names.map((_, i) => (row < i ? 'yes' : 'no')).join(','),
  )
  const file = [names.map(quoted).join(','), ...lines, ''].join('\n')
  await writeFile(path.join(service.dataDirectory, 'names.csv'), file)
  await service
    .register({
      id: 'names',
      title: 'Columns with difficult names',
      timing: 'off',
      source: { kind: 'file', path: 'names.csv', format: 'csv' },
      columns: names.map((name) => ({ name, type: 'category', categories: ['no', 'yes'] })),
      privacyUnit: { kind: 'row' },
      neighbours: 'add-remove',
      budget: { epsilon: 900_000, delta: 1e-6 },
    })
    .expect(201)
})

/** Epsilon at which a count is exact, except with a probability below 1e-80. */
const epsilon = 200

async function ask(query: object) {
  const response = await service.ask('names', query)
  expect(response.body, JSON.stringify(query)).toMatchObject({ result: expect.anything() })
  return response.body.result
}

test('a column can be queried under any printable name', async () => {
  for (const [i, name] of names.entries()) {
    const where = { column: name, op: '=', value: 'yes' }
    const cells = [
      { key: Object.fromEntries([[name, 'no']]), value: 0 },
      { key: Object.fromEntries([[name, 'yes']]), value: i },
    ]
    expect(await ask({ kind: 'histogram', column: name, where, epsilon })).toEqual({ cells })
  }
})

test('no log line names a column', () => {
  expect(service.logLines.length).toBeGreaterThan(0)
  expect(service.logLines.filter((line) => /Größe|Education-Num|script/.test(line))).toEqual([])
})

test('statistics of groups are named after their columns', async () => {
  const numeric = ['Education-Num', 'Größe "cm"', '__proto__', 'a.b\\c']
  const header = ['group', ...numeric.map((name) => `"${name.replaceAll('"', '""')}"`)].join(',')
  await writeFile(path.join(service.dataDirectory, 'numbers.csv'), `${header}\n${'x,1,2,3,4\n'.repeat(3)}`)
  await service
    .register({
      id: 'numbers',
      title: 'Numbers with difficult names',
      timing: 'off',
      source: { kind: 'file', path: 'numbers.csv', format: 'csv' },
      columns: [
        { name: 'group', type: 'category', categories: ['x'] },
        ...numeric.map((name) => ({ name, type: 'integer', lower: 0, upper: 9 })),
      ],
      privacyUnit: { kind: 'row' },
      neighbours: 'add-remove',
      budget: { epsilon: 1_000 },
    })
    .expect(201)
  const { body } = await service
    .ask('numbers', {
      kind: 'groupBy',
      keys: ['group'],
      statistics: numeric.map((column) => ({ kind: 'sum', column })),
      epsilon: 1_000,
    })
    .expect(200)
  const [{ values }] = body.result.groups
  const expected = numeric.map((name, place) => [`sum_${name}`, 3 * (place + 1)])
  expect(
    Object.entries<{ readonly value: number }>(values).map(([name, { value }]) => [name, value]),
  ).toEqual(expected)
})

test('the public facts of the dataset list the names as they were declared', async () => {
  const { body } = await service.as('analyst').get('/v1/datasets/names').expect(200)
  expect(body.columns.map(({ name }: { readonly name: string }) => name)).toEqual(names)
})

test.each([
  ['an empty name', '', 'printable'],
  ['a space at the start', ' a', 'printable'],
  ['a space at the end', 'a ', 'printable'],
  ['64 characters', 'x'.repeat(64), 'printable'],
  ['a line feed', 'a\nb', 'printable'],
  ['a tab', 'a\tb', 'printable'],
  ['a zero byte', 'a\u0000b', 'printable'],
  ['a character that reverses the text after it', 'a\u202eb', 'printable'],
  ['a mark of the writing direction', 'a\u200fb', 'printable'],
  ['an isolate', '\u2067a\u2069', 'printable'],
  ['a zero-width joiner', 'a\u200db', 'printable'],
  ['a no-break space', 'a\u00a0b', 'printable'],
  ['a line separator', 'a\u2028b', 'printable'],
  ['a private-use character', '\ue000', 'printable'],
  ['a decomposed letter', 'Gro\u0308ße', 'normalization form C'],
  ['the reserved prefix', 'sotto_person', 'must not start with "sotto_"'],
  ['the reserved prefix in upper case', 'SOTTO_rank', 'must not start with "sotto_"'],
  ['a name that differs from another in case only', 'GRÖSSE', 'upper and lower case'],
])('%s is refused by field and rule', async (_, name, rule) => {
  const columns = ['Größe', name].map((column) => ({ name: column, type: 'string' }))
  const { body, status } = await service.register({
    id: 'refused',
    title: 'Refused',
    source: { kind: 'file', path: 'names.csv', format: 'csv' },
    columns,
    privacyUnit: { kind: 'row' },
    neighbours: 'add-remove',
    budget: { epsilon: 1 },
  })
  expect(status).toBe(400)
  expect(body.errors).toEqual([{ field: 'columns.1.name', rule: expect.stringContaining(rule) }])
})
