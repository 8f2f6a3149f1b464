import { readFileSync } from 'node:fs'
import path from 'node:path'
import { type Document, LineCounter, parseDocument, visit } from 'yaml'
import { Problem } from '../../../clients/typescript/src/administration.ts'
import { Misuse } from '../command.ts'
import { EXACT_NUMBER_RULE, exactNumber } from '../exact-number.ts'
import type { Json, ServiceClient } from '../service.ts'
import { withUpload } from './upload-file.ts'

/** A declaration in a file. */
interface DeclarationFile {
  readonly declaration: Json
  /** Local files that are the source, or tables of it, and have to be uploaded. */
  readonly localSources: readonly LocalSource[]
}

interface LocalSource {
  readonly file: string
  /** The table of a joined source; absent for the whole source. */
  readonly table?: string
}

/**
 * Reads a declaration in YAML or JSON. Its source, or each table of a joined source, may be an upload that names a file on
 * this machine, relative to the declaration: `{"kind": "upload", "upload": "visits.csv"}`.
 * @throws Misuse for a file that cannot be read, or has a number that would not arrive as it was written.
 */
export function readDeclaration(file: string): DeclarationFile {
  const lineCounter = new LineCounter()
  const document = parseDocument(readFileSync(file, 'utf8'), { lineCounter })
  const [error] = document.errors
  if (error !== undefined) throw new Misuse(`${file}: ${error.message}`)
  requireExactNumbers(document, file, lineCounter)
  const declaration = fieldsOf(document.toJS())
  if (declaration === undefined) throw new Misuse(`${file}: must hold the fields of a declaration`)
  const localFile = (source: unknown): string | undefined => {
    const { kind, upload } = fieldsOf(source) ?? {}
    if (kind !== 'upload' || typeof upload !== 'string' || isUploadId(upload)) return undefined
    return path.resolve(path.dirname(file), upload)
  }
  const source = fieldsOf(declaration.source) ?? {}
  const tables = source.kind === 'joined' ? Object.entries(fieldsOf(source.tables) ?? {}) : []
  const named = [{ source }, ...tables.map(([table, source]) => ({ source, table }))]
  const localSources = named.flatMap(({ source, ...table }) => {
    const file = localFile(source)
    return file === undefined ? [] : [{ file, ...table }]
  })
  return { declaration, localSources }
}

/** Uploads the local files of a declaration, one after the other, uses it with the ids of the uploads and deletes them. */
export function withUploads<Result>(
  client: ServiceClient,
  { declaration, localSources: [first, ...others] }: DeclarationFile,
  use: (declaration: Json) => Promise<Result>,
): Promise<Result> {
  if (first === undefined) return use(declaration)
  return withUpload(client, first.file, (upload) =>
    withUploads(
      client,
      { declaration: withUploadedSource(declaration, upload, first.table), localSources: others },
      use,
    ),
  )
}

/** @throws Misuse naming the line of a number whose digits YAML's reader, which uses doubles, would change. */
function requireExactNumbers(document: Document, file: string, lineCounter: LineCounter): void {
  visit(document, {
    Scalar(key, { value, source, range }) {
      if (key === 'key' || typeof value !== 'number') return
      if (exactNumber(source ?? '') === value) return
      const { line } = lineCounter.linePos(range?.[0] ?? 0)
      throw new Misuse(`${file}: the number in line ${line} ${EXACT_NUMBER_RULE}`)
    },
  })
}

/** Does work with a declaration. Its refusal names the columns at fault, which the service numbers from 0. */
export async function namingColumns<Result>(declaration: Json, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof Problem) || !Array.isArray(declaration.columns)) throw error
    const columns: readonly unknown[] = declaration.columns
    const errors = error.errors.map(({ field, rule }) => {
      const [, index] = /^columns\.(\d+)\b/.exec(field) ?? []
      const { name } = fieldsOf(columns[Number(index)]) ?? {}
      return { field: typeof name === 'string' ? `${field} (${name})` : field, rule }
    })
    throw new Problem({ ...error.raw, errors })
  }
}

/**
 * Returns a declaration with the id of an upload as its source.
 * @param table a table of a joined source that is uploaded instead
 */
export function withUploadedSource(declaration: Json, upload: string, table?: string): Json {
  const source = fieldsOf(declaration.source)
  if (table === undefined) return { ...declaration, source: { ...source, upload } }
  const tables = fieldsOf(source?.tables)
  const uploaded = { ...fieldsOf(tables?.[table]), upload }
  return { ...declaration, source: { ...source, tables: { ...tables, [table]: uploaded } } }
}

/** True for the id of an upload, which the service gave. */
function isUploadId(text: string): boolean {
  return /^[0-9a-f]{32}$/.test(text)
}

/** Returns the fields of an object; undefined for any other value. */
export function fieldsOf(value: unknown): Json | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined
}
