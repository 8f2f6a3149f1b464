import type { CommandDefinition } from '../command.ts'
import { printJson, printTable, shown } from '../printing.ts'
import { addServiceOptions, connect, type Json, type Schemas, type ServiceOptions } from '../service.ts'
import { namingColumns, readDeclaration, withUploads } from './declaration-file.ts'
import { showingIngestion } from './progress.ts'

interface RegisterOptions extends ServiceOptions {
  readonly dryRun?: boolean
}

/** `npx sotto register` */
export const define: CommandDefinition = (command) => {
  command
    .description(
      `Registers a dataset from its declaration in YAML or JSON, and prints what the ingestion counted. A source
{"kind": "upload", "upload": "visits.csv"} that names a file, relative to the declaration, is uploaded first, and so is each such
table of a joined source. The same registration again changes nothing.`,
    )
    .argument('<declaration>', 'the file of the declaration')
    .option('--dry-run', 'check the declaration and every value of the source, and publish nothing')
  addServiceOptions(command).action(registerDataset)
}

async function registerDataset(file: string, options: RegisterOptions): Promise<void> {
  const client = connect(options)
  const read = readDeclaration(file)
  const { declaration } = read
  const dryRun = options.dryRun ?? false
  const send = (body: Json) =>
    showingIngestion(client, declaration.id, options, () =>
      // The service checks the declaration.
      namingColumns(declaration, () =>
        client.register(body as unknown as Schemas['Registration'], { dryRun }),
      ),
    )
  const answer = await withUploads(client, read, send)
  if (options.json) printJson(answer)
  else printRegistered(answer)
}

function printRegistered(answer: Schemas['RegisteredDataset'] | Schemas['TriedRegistration']): void {
  const id = shown(answer.id)
  console.log(
    'dryRun' in answer
      ? `${id}: ${triedText(answer.ingestion)}; nothing was published`
      : `${id}: registered as version ${shown(answer.version)}`,
  )
  printCounts(answer.ingestion)
  printCoverage(answer)
  const { candidates, dataset } = answer.disclosureRisk
  console.log(
    `\nWorst case: somebody who knows everyone in the data but one person, and has ${shown(candidates)} candidates for that person, ` +
      `finds the right one with a probability of ${dataset.risk > 0.999 ? 'nearly 100%' : `at most ${Math.ceil(dataset.risk * 1_000) / 10}%`}, ` +
      `once the whole budget (epsilon ${shown(dataset.epsilon)}) is spent.`,
  )
}

/** Says whether the values that a dry run read fit their declaration. */
export function triedText({ invalidValues }: Schemas['IngestionCounts']): string {
  return invalidValues.some(({ values }) => values !== 0)
    ? 'the declaration can be registered, but some values do not fit it'
    : 'everything fits'
}

/** Prints what `maxRows` leaves out, or what measuring it would cost. */
export function printCoverage({
  leftOut,
  coverageStatement,
}: Pick<Schemas['Dataset'], 'leftOut' | 'coverageStatement'>): void {
  if (coverageStatement !== undefined) console.log(`\n${coverageStatement}`)
  else if (leftOut !== undefined && leftOut.epsilon > 0)
    console.log(
      `\nOnce it is published, the share of rows beyond maxRows is measured for an epsilon of ${shown(leftOut.epsilon)} from the budget.`,
    )
}

const COUNTS = [
  ['rowsRead', 'rows read'],
  ['rowsWithoutIdentifier', 'rows without identifier, left out'],
  ['rowsBeyondMaxRows', 'rows beyond maxRows, left out'],
  ['rowsStored', 'rows that queries read'],
  ['people', 'people'],
] as const

/** Prints what an ingestion counted, if the answer to a custodian has it. */
export function printCounts(ingestion: Schemas['IngestionCounts'] | undefined): void {
  if (ingestion === undefined) return
  console.log('\nExact numbers, for custodians only. Do not publish them.\n')
  const counts = COUNTS.filter(([field]) => ingestion[field] !== undefined)
  printTable(
    ['count', 'of'],
    counts.map(([field, label]) => [shown(ingestion[field]), label]),
  )
  printJoins(ingestion)
  printClamped(ingestion)
  const columns = ingestion.invalidValues.filter(({ values }) => values !== 0)
  if (columns.length === 0) return
  console.log('\nValues that did not fit their declaration:\n')
  printTable(
    ['column', 'values', 'rule', 'first places'],
    columns.flatMap(({ column, values, misfits = [] }) => {
      if (misfits.length === 0) return [[shown(column), shown(values), '', '']]
      return misfits.map(({ rule, values: number, unit, first, table }) => [
        shown(column),
        shown(number),
        shown(rule),
        first === undefined
          ? ''
          : `${shown(unit)} ${first.map(shown).join(', ')}${table === undefined ? '' : ` of ${shown(table)}`}`,
      ])
    }),
  )
  console.log(
    '\nThey count as missing, or as onInvalidValue of their column says. If there are many, the column may lack a category or declare the wrong form.',
  )
}

function printJoins({ joins = [] }: Schemas['IngestionCounts']): void {
  if (joins.length === 0) return
  console.log(
    '\nRows whose reference finds no row, which "dangling" keeps with missing values or leaves out:\n',
  )
  printTable(
    ['reference', 'to', 'missing', 'leads nowhere'],
    joins.map(({ from, to, missing, dangling }) => [from, to, missing, dangling].map(shown)),
  )
  for (const { beyondMaxRows = {} } of joins)
    for (const [table, rows] of Object.entries(beyondMaxRows))
      console.log(`\nRows of ${shown(table)} left out because their person has more than maxRows: ${rows}`)
}

function printClamped({ clampedValues }: Schemas['IngestionCounts']): void {
  const columns = clampedValues.filter(({ values }) => values !== 0)
  if (columns.length === 0) return
  console.log('\nValues beyond the bounds, clamped to them:\n')
  printTable(
    ['column', 'values'],
    columns.map(({ column, values }) => [shown(column), shown(values)]),
  )
  console.log(
    '\nHalf-widths do not cover clamping. If there are many, think again which values are plausible, from what you know outside of this data.',
  )
}
