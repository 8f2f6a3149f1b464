import { type DraftedTable, joinedDraft, tableNameOf } from 'sotto-client/administration'
import { bodyOf, queryClient, requests } from '../../../api/api.ts'
import type { Schemas } from '../../../api/schemas.ts'
import { uploadFile } from '../../../api/upload.ts'
import type { AttemptOptions } from '../../../api/use-attempt.ts'
import { isWhole, numberOf } from '../../../format/number.ts'
import type { Draft, DraftParts, Source } from '../declaration.ts'

type TableSource = Required<Extract<Source, { kind: 'table' }>>
type MadeUpSource = Extract<Source, { kind: 'population' | 'visits' }>

/** A source that was chosen: with the draft of its declaration, or made-up people. */
export type PickedSource =
  | { readonly kind: 'drafted'; readonly draft: DraftParts; readonly fileName: string }
  | { readonly kind: 'made-up'; readonly source: MadeUpSource }

/** Where the rows of a dataset are, as it was entered. */
export interface EnteredSource {
  readonly kind: 'upload' | 'joined' | 'file' | 'table' | 'made-up'
  readonly file: File | undefined
  /** The files of the tables of a joined source. */
  readonly files: readonly File[]
  readonly upload: string
  /** Name of the file that was uploaded before. */
  readonly uploadName: string
  readonly path: string
  readonly connection: string
  readonly table: string
  readonly mode: TableSource['mode']
  /** Only for the mode `live`. */
  readonly freshness: TableSource['freshness']
  readonly madeUp: MadeUpSource['kind']
  readonly people: string
  readonly rows: string
  readonly seed: string
}

export const NO_SOURCE: EnteredSource = {
  kind: 'upload',
  file: undefined,
  files: [],
  upload: '',
  uploadName: '',
  path: '',
  connection: '',
  table: '',
  mode: 'live',
  freshness: 'day',
  madeUp: 'population',
  people: '1000',
  rows: '1000',
  seed: 'practice',
}

/** True if a source has everything that a draft needs. The service checks the values. */
export function isComplete(entered: EnteredSource): boolean {
  switch (entered.kind) {
    case 'upload':
      return entered.file !== undefined || entered.upload !== ''
    case 'joined':
      return entered.files.length > 1 && new Set(tablesOf(entered)).size === entered.files.length
    case 'file':
      return entered.path.trim() !== ''
    case 'table':
      return entered.connection !== '' && entered.table.trim() !== ''
    case 'made-up':
      return (
        isWhole(numberOf(entered.rows), 1) &&
        (entered.madeUp === 'population' || isWhole(numberOf(entered.people), 1)) &&
        entered.seed !== ''
      )
  }
}

/** Returns the names of the tables of joined files. */
export function tablesOf({ files }: Pick<EnteredSource, 'files'>): readonly string[] {
  return files.map(({ name }) => tableNameOf(name))
}

/** Step on the way to a picked source. */
export type Picking =
  | { readonly step: 'upload'; readonly name: string; readonly share: number }
  | { readonly step: 'draft' }

/**
 * Uploads the file of a source if it has one, and drafts the declaration.
 * @throws Problem, ConnectionFailed or UnexpectedResponse, and the reason of `signal` once it is aborted
 */
export async function pickSource(
  entered: EnteredSource,
  options: AttemptOptions<Picking>,
): Promise<PickedSource> {
  if (entered.kind === 'made-up') return { kind: 'made-up', source: madeUpSourceOf(entered) }
  if (entered.kind === 'joined') {
    const drafted: DraftedTable[] = []
    for (const file of entered.files) {
      const source = await uploaded(file, options)
      drafted.push({ fileName: file.name, draft: await draftOf(source, options) })
    }
    return { kind: 'drafted', draft: joinedDraft(drafted, ''), fileName: '' }
  }
  const source = await draftedSourceOf(entered, options)
  const draft = await draftOf(source, options)
  const fileName = entered.file?.name ?? entered.uploadName
  if (source.kind !== 'table') return { kind: 'drafted', draft, fileName }
  const { mode, freshness } = entered
  const declared = { ...(draft.declaration.source as object), mode, ...(mode === 'live' && { freshness }) }
  const declaration = { ...draft.declaration, source: declared }
  return { kind: 'drafted', draft: { ...draft, declaration }, fileName: '' }
}

type DraftedSource = Schemas['DraftRequest']['source']

function draftOf(source: DraftedSource, { onProgress, signal }: AttemptOptions<Picking>): Promise<Draft> {
  onProgress({ step: 'draft' })
  return bodyOf(requests.POST('/v1/drafts', { body: { source }, signal }))
}

async function draftedSourceOf(
  { kind, file, upload, path, connection, table }: EnteredSource,
  options: AttemptOptions<Picking>,
): Promise<DraftedSource> {
  if (kind === 'file') return { kind, path: path.trim() }
  if (kind === 'table') return { kind, connection, table: table.trim() }
  return file === undefined ? { kind: 'upload', upload } : uploaded(file, options)
}

async function uploaded(file: File, { onProgress, signal }: AttemptOptions<Picking>): Promise<DraftedSource> {
  const { name } = file
  onProgress({ step: 'upload', name, share: 0 })
  const { id } = await uploadFile(file, {
    signal,
    onProgress: (share) => onProgress({ step: 'upload', name, share }),
  })
  await queryClient.invalidateQueries({ queryKey: ['get', '/v1/sources'] })
  return { kind: 'upload', upload: id }
}

function madeUpSourceOf({ madeUp, people, rows, seed }: EnteredSource): MadeUpSource {
  const size = { rows: numberOf(rows) ?? 0, seed }
  return madeUp === 'population'
    ? { kind: madeUp, ...size }
    : { kind: madeUp, people: numberOf(people) ?? 0, ...size }
}
