import { type CommandDefinition, exitingWith, SUCCESS } from './command.ts'
import { fieldsOf, readDeclaration, withUploadedSource } from './declaration-file.ts'
import { printJson, printTable, shown } from './printing.ts'
import { showingIngestion } from './progress.ts'
import { addServiceOptions, connect, type Json, type ServiceOptions } from './service.ts'
import { withUpload } from './upload-file.ts'

interface RegisterOptions extends ServiceOptions {
  readonly dryRun?: boolean
}

/** `npx sotto register` */
export const register: CommandDefinition = (command) => {
  command
    .description(
      `Registers a dataset from its declaration in YAML or JSON, and prints what the ingestion counted. A source
{"kind": "upload", "upload": "visits.csv"} that names a file, relative to the declaration, is uploaded first. The same
registration again changes nothing.`,
    )
    .argument('<declaration>', 'the file of the declaration')
    .option('--dry-run', 'check the declaration and every value of the source, and publish nothing')
  addServiceOptions(command).action(exitingWith(registerDataset))
}

async function registerDataset(file: string, options: RegisterOptions): Promise<number> {
  const client = connect(options)
  const { declaration, localSource } = readDeclaration(file)
  const dryRun = options.dryRun ?? false
  const send = (body: Json) =>
    showingIngestion(client, declaration.id, options, () =>
      client.send('POST', dryRun ? '/v1/datasets?dryRun=true' : '/v1/datasets', body),
    )
  const answer = await (localSource === undefined
    ? send(declaration)
    : withUpload(client, localSource, (upload) => send(withUploadedSource(declaration, upload))))
  if (options.json) printJson(answer)
  else printRegistered(answer, dryRun)
  return SUCCESS
}

function printRegistered(answer: Json, dryRun: boolean): void {
  const id = shown(answer.id)
  console.log(
    dryRun
      ? `${id}: everything fits; nothing was published`
      : `${id}: registered as version ${shown(answer.version)}`,
  )
  printCounts(answer)
  const { epsilon, risk } = fieldsOf(fieldsOf(answer.disclosureRisk)?.dataset) ?? {}
  if (typeof risk === 'number')
    console.log(
      `\nWith the whole budget, an epsilon of ${shown(epsilon)}, an adversary guesses which of ` +
        `${shown(fieldsOf(answer.disclosureRisk)?.candidates)} candidates is in the data with a probability of at most ${risk.toPrecision(4)}.`,
    )
}

const COUNTS: readonly (readonly [field: string, label: string])[] = [
  ['rowsRead', 'rows read'],
  ['rowsWithoutIdentifier', 'rows without identifier, left out'],
  ['rowsBeyondMaxRows', 'rows beyond maxRows, left out'],
  ['rowsStored', 'rows that queries read'],
  ['people', 'people'],
]

/** Prints what an ingestion counted, if the answer to a custodian has it. */
export function printCounts(answer: Json): void {
  const ingestion = fieldsOf(answer.ingestion)
  if (ingestion === undefined) return
  console.log('\nExact numbers, for custodians only. Do not publish them.\n')
  const counts = COUNTS.filter(([field]) => ingestion[field] !== undefined)
  printTable(
    ['count', 'of'],
    counts.map(([field, label]) => [shown(ingestion[field]), label]),
  )
  const columns = arrayOf(ingestion.invalidValues).filter(({ values }) => values !== 0)
  if (columns.length === 0) return
  console.log('\nValues that did not fit their declaration:\n')
  printTable(
    ['column', 'values', 'rule', 'first places'],
    columns.flatMap(({ column, values, misfits }) => {
      const broken = arrayOf(misfits)
      if (broken.length === 0) return [[shown(column), shown(values), '', '']]
      return broken.map(({ rule, values: number, unit, first }) => [
        shown(column),
        shown(number),
        shown(rule),
        Array.isArray(first) ? `${shown(unit)} ${first.map(shown).join(', ')}` : '',
      ])
    }),
  )
}

function arrayOf(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.map((each) => fieldsOf(each) ?? {}) : []
}
