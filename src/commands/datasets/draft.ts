import { writeFileSync } from 'node:fs'
import path from 'node:path'
import {
  type DraftedTable,
  joinedDraft,
  tableNameOf,
} from '../../../clients/typescript/src/administration.ts'
import { must } from '../../privacy/must.ts'
import { type CommandDefinition, hasCode, Misuse } from '../command.ts'
import { printJson } from '../printing.ts'
import { addServiceOptions, connect, type Schemas, type ServiceOptions } from '../service.ts'
import { withUploadedSource } from './declaration-file.ts'
import { draftYaml } from './draft-yaml.ts'
import { showingTime } from './progress.ts'
import { withUpload } from './upload-file.ts'

type DraftSource = Schemas['DraftRequest']['source']

interface DraftCommandOptions extends ServiceOptions {
  readonly inDataFolder?: string
  readonly connection?: string
  readonly table?: string
  readonly joins?: boolean
  readonly showDataHints?: boolean
  readonly output?: string
}

/** `npx sotto draft` */
export const define: CommandDefinition = (command) => {
  command
    .description(
      `Proposes a declaration of a CSV or Parquet file, of several files that are joined, or of a table, in YAML with comments.
Fields with the value TODO are questions that you answer from knowledge of how the data come about. "npx sotto register" then registers the dataset.`,
    )
    .argument(
      '[files...]',
      'files on this machine, that of the rows first; they are uploaded for the draft and then deleted there',
    )
    .option('--in-data-folder <path>', 'draft a file below the data folder of the service instead')
    .option('--connection <name>', 'with --table: the connection of the service to draft a table of instead')
    .option('--table <name>', 'a table or view of the connection, as schema.table or table')
    .option('--joins', 'with --table: join the tables to which its foreign keys lead')
    .option(
      '--show-data-hints',
      'add values of the data as comments. They are not protected: do not publish or declare them',
    )
    .option('--output <file>', 'write to this file instead of standard output')
  addServiceOptions(command).action(draftDeclaration)
}

async function draftDeclaration(files: readonly string[], options: DraftCommandOptions): Promise<void> {
  const { output, showDataHints = false } = options
  const remote = remoteSource(options)
  if ((files.length === 0) === (remote === undefined))
    throw new Misuse('name a file on this machine, or --in-data-folder, or --connection and --table')
  const client = connect(options)
  const propose = (source: DraftSource) =>
    showingTime('Reading the first rows', () => client.draft({ source, showDataHints }))
  const folder = output === undefined ? process.cwd() : path.dirname(path.resolve(output))
  const proposeOf = async (file: string) => {
    const proposed = await withUpload(client, file, (upload) => propose({ kind: 'upload', upload }))
    // The upload is gone when the declaration is registered, so it names the file.
    return {
      ...proposed,
      declaration: withUploadedSource(proposed.declaration, path.relative(folder, file)),
    }
  }
  const [file, ...others] = files
  const named =
    file === undefined
      ? await propose(must(remote, 'source of the draft'))
      : others.length === 0
        ? await proposeOf(file)
        : await joinedDraftOf(files, proposeOf)
  if (options.json) printJson(named)
  else if (output === undefined) process.stdout.write(draftYaml(named))
  else writeNew(output, draftYaml(named))
}

/** @throws Misuse for files whose tables would have the same name */
async function joinedDraftOf(
  files: readonly string[],
  propose: (file: string) => Promise<Schemas['Draft']>,
): Promise<Schemas['Draft']> {
  const names = files.map((file) => path.basename(file))
  if (new Set(names.map(tableNameOf)).size < files.length)
    throw new Misuse(
      `${files.join(' ')}: the files must have different names, which become those of the tables`,
    )
  const drafted: DraftedTable[] = []
  for (const [place, file] of files.entries())
    drafted.push({ fileName: must(names[place], 'the name of a file'), draft: await propose(file) })
  return joinedDraft(drafted, 'TODO')
}

/** @throws Misuse if the file exists. It may hold the answers to an earlier draft. */
function writeNew(file: string, text: string): void {
  try {
    writeFileSync(file, text, { flag: 'wx' })
  } catch (error) {
    if (hasCode(error, 'EEXIST')) throw new Misuse(`--output: ${file} exists already; nothing was written`)
    throw error
  }
}

/** Returns the source that the service has itself, if the options name exactly one. */
function remoteSource({
  inDataFolder,
  connection,
  table,
  joins = false,
}: DraftCommandOptions): DraftSource | undefined {
  if (inDataFolder !== undefined && connection === undefined && table === undefined)
    return { kind: 'file', path: inDataFolder }
  if (inDataFolder === undefined && connection !== undefined && table !== undefined)
    return { kind: 'table', connection, table, joins }
  if (inDataFolder === undefined && connection === undefined && table === undefined) return undefined
  throw new Misuse('name either --in-data-folder, or --connection together with --table')
}
