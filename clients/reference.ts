import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { parse } from 'yaml'
import { ALERTS } from '../deploy/monitoring/alerts.ts'
import { predicate, query } from '../schemas/answers/query.ts'
import { CONNECTION_ENTRIES } from '../schemas/datasets/connections.ts'
import { columns, registration } from '../schemas/datasets/dataset.ts'
import { ALL_VARIABLES } from '../src/config.ts'
import { METRICS } from '../src/http/metrics.ts'
import { ACT_KINDS, EVENT_KINDS } from '../src/privacy/event-kinds.ts'
import { must } from '../src/privacy/must.ts'
import { REFUSALS, type Refusal } from '../test/documentation/refusals.ts'
import { type Field, readSchema } from './schema-fields.ts'

/*
 * The pages below docs/reference, which are made from what declares their facts: schemas, the table of variables, metrics,
 * alerts and openapi.yaml.
 */

type Page = () => string | Promise<string>

/** Pages by their path in the project. */
export const REFERENCE: Readonly<Record<string, Page>> = {
  'docs/reference/configuration.md': configurationPage,
  'docs/reference/declarations.md': declarationPage,
  'docs/reference/questions.md': questionPage,
  'docs/reference/refusals.md': refusalPage,
  'docs/reference/metrics.md': metricPage,
  'docs/reference/alerts.md': alertPage,
  'docs/reference/permissions.md': permissionPage,
  'docs/reference/connections.md': connectionPage,
  'docs/reference/ledger-events.md': eventPage,
}

function page(source: string, title: string, ...parts: readonly string[]): string {
  const notice = `<!-- Generated from ${source} by \`npm run generate\`. Do not edit. -->`
  return `${notice}\n# ${title}\n\n${parts.join('\n\n')}\n`
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  const written = rows.map((cells) => line(cells.map((cell) => cell.replaceAll('|', '\\|'))))
  return [line(head), `|${'---|'.repeat(head.length)}`, ...written].join('\n')
}

const code = (text: string) => `\`${text}\``

function configurationPage(): string {
  const rows = ALL_VARIABLES.map(({ name, standard = 'none', meaning, isSecret }) => [
    code(name),
    code(standard),
    isSecret ? `${meaning} May be in a file: ${code(`${name}_FILE`)}.` : meaning,
  ])
  return page(
    'src/config.ts',
    'Configuration',
    'Environment variables configure the service. All are optional. An invalid value, or an unknown variable that\n' +
      'starts with `SOTTO_`, stops the start and names the variable and the rule.\n' +
      '[Operations](../operations.md#configuration) explains secrets in files and the settings of a production service.',
    table(['variable', 'default', 'meaning'], rows),
  )
}

function metricPage(): string {
  const rows = Object.entries(METRICS).map(([name, help]) => [code(name), help])
  return page(
    'src/http/metrics.ts',
    'Metrics',
    '`/metrics` serves these to Prometheus, beside the metrics of the process and of Node.js (`process_*`, `nodejs_*`).\n' +
      '[Operations](../operations.md#health-metrics-and-logs) says who may read them.',
    table(['metric', 'meaning'], rows),
  )
}

function alertPage(): string {
  const runbooks = ALERTS.map(({ name, severity, after, summary, runbook }) => {
    const known = summary
      .replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, '`$1`')
      .replaceAll(/\{\{ \$value.*? \}\}/g, '…')
    return `## ${name}\n\n**${severity}**, after ${after}: ${known}\n\n${runbook}`
  })
  return page(
    'deploy/monitoring/alerts.ts',
    'Alerts and runbooks',
    'The rules of `deploy/prometheus/alerts.yaml`. `critical`: queries are not answered. `warning`: they will not be, or\n' +
      'some are not. `info`: a custodian decides, and no operator needs to act.',
    ...runbooks,
  )
}

interface Operation {
  readonly summary: string
  readonly tags: readonly [string]
  readonly security?: readonly Readonly<Record<string, unknown>>[]
}

interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete']

async function permissionPage(): Promise<string> {
  const text = await readFile(path.resolve(import.meta.dirname, '../openapi.yaml'), 'utf8')
  const { paths }: OpenApi = parse(text)
  const operations = Object.entries(paths).flatMap(([address, item]) =>
    METHODS.flatMap((method) => {
      const operation = item[method]
      return operation === undefined ? [] : [{ call: `${method.toUpperCase()} ${address}`, ...operation }]
    }),
  )
  const tags = [...new Set(operations.map(({ tags: [tag] }) => tag))]
  const sections = tags.map((tag) => {
    const rows = operations
      .filter(({ tags: [own] }) => own === tag)
      .map(({ call, summary, security = [] }) => [code(call), summary, callersOf(security)])
    return `## ${tag}\n\n${table(['call', 'what it does', 'who may call it'], rows)}`
  })
  return page(
    'openapi.yaml',
    'Permissions',
    'A key or a token has one role, and may be limited to datasets. For a key limited to datasets, all others do not exist.\n' +
      'Where analysts see only their own (releases, sessions, spending), auditors and custodians see those of all.',
    ...sections,
  )
}

function callersOf(security: readonly Readonly<Record<string, unknown>>[]): string {
  const roles = security
    .flatMap((scheme) => Object.keys(scheme))
    .flatMap((name) => /^(\w+)Key$/.exec(name)?.[1] ?? [])
  return roles.length === 0 ? 'anyone' : [...new Set(roles)].join(', ')
}

function fieldTable(fields: readonly Field[]): string {
  const rows = fields.map(({ name, value, isRequired, meaning }) => [
    code(name),
    isRequired ? `${value} (required)` : value,
    meaning,
  ])
  return table(['field', 'value', 'meaning'], rows)
}

/** Fields that kinds have in common, which the page describes once. */
const COMMON = [
  'epsilon',
  'accuracy',
  'mechanism',
  'calibration',
  'delta',
  'postprocess',
  'supposed',
  'contribution',
  'of',
  'perPerson',
  'use',
]

function questionPage(): string {
  const { variants, fields } = readSchema(query)
  const isCommon = ({ name, isRequired }: Field) => {
    const [first = '', ...inner] = name.split('.')
    return COMMON.includes(first) && (inner.length > 0 || !isRequired)
  }
  const common = new Map<string, Field>()
  const kinds = variants().map((variant) => {
    const all = fields(variant).filter(({ name }) => name !== 'kind' && !name.startsWith('where'))
    for (const field of all.filter(isCommon)) if (!common.has(field.name)) common.set(field.name, field)
    const own = all.filter((field) => !isCommon(field))
    const shared = [...new Set(all.filter(isCommon).map(({ name }) => name.split('.')[0]))].map((name) =>
      code(name ?? ''),
    )
    const kind = must(variant.properties?.kind, 'the kind')
    return [
      `### ${(kind.enum ?? [kind.const]).join(', ')}`,
      variant.description ?? '',
      ...(variant.examples ?? []).map((example) => `\`\`\`json\n${JSON.stringify(example)}\n\`\`\``),
      ...(own.length === 0 ? [] : [fieldTable(own)]),
      `Common fields: ${['`where`', ...shared].join(', ')}.`,
    ].join('\n\n')
  })
  return page(
    'schemas/answers/query.ts',
    'Kinds of questions',
    'The kinds in `POST /v1/datasets/{dataset}/queries`, with their fields and an example about the demo dataset.\n' +
      '[Queries](../queries.md) explains how to choose among them, and what the answers mean.',
    `## Common fields\n\n${fieldTable([...common.values()])}`,
    '`where` is a [condition](#conditions). Cells are divided as [below](#cells).',
    `## Conditions\n\n${conditionTable()}`,
    `## Cells\n\n${CELLS}`,
    `## Kinds\n\n${kinds.join('\n\n')}`,
  )
}

const CELLS = `A field that divides rows into cells takes the name of a category or boolean column, or one of these:

- \`{"column": "Age", "edges": [0, 18, 65, 120]}\` for numbers, dates and timestamps. Each bin contains its lower edge and not
  its upper edge; the last bin contains both.
- \`{"column": "visited", "by": "month", "from": "2023-07", "to": "2024-06"}\` for dates and timestamps, by the calendar in UTC.
  \`by\` is \`year\`, \`quarter\`, \`month\`, \`week\`, \`day\`, \`hour\`, \`dayOfWeek\` or \`monthOfYear\`.
  \`from\` and \`to\` name the first and the last cell; they may be left out.`

function conditionTable(): string {
  const { variants, fields } = readSchema(predicate)
  const rows = variants().map((variant) => [
    fields(variant)
      .filter(({ name }) => name !== 'op')
      .map(({ name }) => code(name))
      .join(', '),
    fields(variant).find(({ name }) => name === 'op')?.value ?? '',
    variant.description ?? '',
  ])
  return table(['fields', '`op`', 'meaning'], rows)
}

function declarationPage(): string {
  const { root, resolved, fields, variants } = readSchema(registration)
  const all = fields(root)
  const sources = variants(must(root.properties?.source, 'the source')).map((variant) => {
    const kind = fields(variant).find(({ name }) => name === 'kind')
    const own = fields(variant).filter(({ name }) => name !== 'kind')
    return `### ${kind?.value}\n\n${variant.description}\n\n${fieldTable(own)}`
  })
  const units = variants(must(root.properties?.privacyUnit, 'the privacy unit')).flatMap((variant) =>
    fields(variant, 'privacyUnit.').filter(({ name }) => name !== 'privacyUnit.kind'),
  )
  const timings = variants(must(root.properties?.timing, 'the timing')).flatMap((variant) =>
    resolved(variant).properties === undefined ? [] : fields(variant, 'timing.'),
  )
  return page(
    'schemas/datasets/dataset.ts',
    'Fields of a declaration',
    'The fields of a registration (`POST /v1/datasets`, `npx sotto register`).\n' +
      '[Register a dataset](../registering.md) explains how to choose their values.',
    fieldTable(all.flatMap((field) => [field, ...(MORE[field.name]?.({ units, timings }) ?? [])])),
    `## Sources\n\n${sources.join('\n\n')}`,
    `## Columns\n\n${columnTable()}`,
  )
}

/** Fields of alternatives, which the table lists below the field that takes one of them. */
const MORE: Readonly<Record<string, (found: Readonly<Record<'units' | 'timings', Field[]>>) => Field[]>> = {
  privacyUnit: ({ units }) => units,
  timing: ({ timings }) => timings,
}

function columnTable(): string {
  const { variants, fields, root } = readSchema(columns)
  const merged = new Map<string, { readonly field: Field; readonly types: string[] }>()
  for (const variant of variants(must(root.items, 'a column'))) {
    const [type, ...others] = [...fields(variant)].sort(
      (a, b) => Number(b.name === 'type') - Number(a.name === 'type'),
    )
    for (const field of others) {
      const key = `${field.name} ${field.meaning}`
      const known = merged.get(key) ?? { field, types: [] }
      known.types.push(type?.value ?? '')
      merged.set(key, known)
    }
  }
  const rows = [...merged.values()]
    .sort((a, b) => b.types.length - a.types.length)
    .map(({ field: { name, value, isRequired, meaning }, types }) => [
      code(name),
      types.length > 6 ? 'all' : types.join(', '),
      isRequired ? `${value} (required)` : value,
      meaning,
    ])
  return table(['field', 'types', 'value', 'meaning'], rows)
}

function connectionPage(): string {
  const engines = Object.entries(CONNECTION_ENTRIES).map(([engine, entry]) => {
    const { root, fields } = readSchema(entry)
    return `## ${engine}\n\n${fieldTable(fields(root))}`
  })
  return page(
    'schemas/datasets/connections.ts',
    'Connections to databases',
    'The fields of an entry in the file that `SOTTO_CONNECTIONS` names.\n' +
      '[Operations](../operations.md#connections-to-databases) has an example and the rules of the file.',
    ...engines,
  )
}

function eventPage(): string {
  const kinds = (meanings: Readonly<Record<string, string>>) =>
    table(
      ['kind', 'meaning'],
      Object.entries(meanings).map(([kind, meaning]) => [code(kind), meaning]),
    )
  return page(
    'schemas/budgets/ledger.ts and schemas/service/administration.ts',
    'Events of the ledger',
    'What the `kind` of an event means. [Verify the ledger](../ledger.md) explains exports, and how to check them.',
    `## Events of a dataset\n\n${kinds(EVENT_KINDS)}`,
    `## Administrative acts\n\n${kinds(ACT_KINDS)}`,
  )
}

function refusalPage(): string {
  const head = ['change', 'field', 'code', 'how to fix it']
  const rowsOf = (refusals: readonly Refusal[]) =>
    refusals.map(({ change, field, code: problem, remedy }) => [
      code(JSON.stringify(change)),
      code(field),
      code(problem),
      remedy,
    ])
  return page(
    'test/documentation/refusals.ts',
    'Refused registrations',
    'Each change, made to the registration in [Register a dataset](../registering.md#register-it), causes the refusal in its row.\n' +
      'A key with dots is a path. A refusal costs nothing and stores nothing; its `errors` name the field and the rule.',
    `## Of any registration\n\n${table(head, rowsOf(REFUSALS.unregistered))}`,
    `## While the id is registered\n\n${table(head, rowsOf(REFUSALS.registered))}`,
    `## After a withdrawal, with the budget granted by then\n\n${table(head, rowsOf(REFUSALS.withdrawn))}`,
  )
}
