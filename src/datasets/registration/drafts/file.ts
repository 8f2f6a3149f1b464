import { isUtf8 } from 'node:buffer'
import type { FileHandle } from 'node:fs/promises'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { createGunzip } from 'node:zlib'
import type { CsvDeclaration, CsvDialect, DateFormat, FileFormat } from '../../../core/dataset/dataset.ts'
import { DELIMITERS, QUOTES } from '../../../engines/duckdb/ingestion/formats/csv-shape.ts'
import { withSingleSpaces } from '../../../engines/duckdb/ingestion/formats/csv-text.ts'
import { PARQUET_MAGIC } from '../../../engines/duckdb/ingestion/formats/parquet.ts'
import {
  describeSample,
  type NamedColumn,
  type Sample,
  type SampledColumn,
  type SniffedCsv,
  UnreadableSample,
  WideSample,
} from '../../../engines/duckdb/ingestion/sample.ts'
import { writeDigested } from '../../../platform/files/durable-file.ts'
import { defined } from '../../../privacy/defined.ts'
import { refuseField } from '../../../privacy/refusal.ts'
import { openSourceFile } from '../sources/file.ts'
import { openUpload, uploadName } from '../uploads.ts'
import {
  type DescribedColumn,
  type DescribedSource,
  type DescribedType,
  MOST_COLUMNS,
  type Remark,
} from './described.ts'

/** A file to draft a declaration for. */
export type DraftedFile =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'upload'; readonly upload: string }

/** Folders, principal and signal of a draft. */
export interface DraftContext {
  readonly dataDirectory: string
  readonly principal: string
  /** A folder that only this draft uses. */
  readonly folder: string
  readonly signal: AbortSignal
}

/** Number of bytes of a CSV file that are read, after decompression. */
const SAMPLE_BYTES = 8 * 2 ** 20

/**
 * Describes a file by its first rows. Of a CSV file only the beginning is read. A Parquet file is copied, because its
 * description is at its end.
 * @throws Refusal `source-refused` or `source-unreadable`
 */
export async function describeFile(file: DraftedFile, context: DraftContext): Promise<DescribedSource> {
  const { dataDirectory, principal, folder, signal } = context
  const name = file.kind === 'file' ? file.path : await uploadName(dataDirectory, principal, file.upload)
  const handle =
    file.kind === 'file'
      ? await openSourceFile(dataDirectory, { ...file, format: formatByName(file.path) })
      : await openUpload(dataDirectory, principal, file.upload)
  try {
    const copy = path.join(folder, 'sample')
    const format = await formatOf(handle)
    const text = format === 'csv' ? await writeStart(handle, copy) : undefined
    if (format === 'parquet')
      await writeDigested(handle.createReadStream({ autoClose: false, start: 0 }), copy, signal)
    const sample = await describeSample({
      path: copy,
      ...(format === 'csv' && { spacedPath: spacedCopy(copy) }),
      ...{ format, choose: describedPlaces, temporaryDirectory: path.join(folder, 'temporary'), signal },
    })
    return { name, ...describeSampled(file, format, text, sample) }
  } catch (error) {
    if (error instanceof UnreadableSample || error instanceof InvalidText)
      throw refuseField('source-unreadable', 'source', 'is not recognised as CSV or Parquet')
    if (error instanceof WideSample) {
      const rule = 'has too many columns for a draft; write the declaration by hand'
      throw refuseField('source-unreadable', 'source', rule)
    }
    throw error
  } finally {
    await handle.close()
  }
}

/** Returns the places of the columns that a declaration can have. */
function describedPlaces(columns: readonly NamedColumn[]): readonly number[] {
  return columns
    .flatMap(({ type }, place) => (describeDuckDbType(type).kind === 'other' ? [] : [place]))
    .slice(0, MOST_COLUMNS)
}

/** The copy of a text in which single spaces separate fields, as ingestion reads files with this delimiter. */
function spacedCopy(copy: string): string {
  return `${copy}.spaced`
}

/** A file without text, or one that cannot be decompressed. */
class InvalidText extends Error {}

function formatByName(name: string): FileFormat {
  return name.endsWith('.parquet') ? 'parquet' : 'csv'
}

async function formatOf(handle: FileHandle): Promise<FileFormat> {
  const length = PARQUET_MAGIC.length
  const { buffer } = await handle.read(Buffer.alloc(length), 0, length, 0)
  return buffer.toString('latin1') === PARQUET_MAGIC ? 'parquet' : 'csv'
}

type Encoding = CsvDialect['encoding']

/** Facts about the first lines of a text file. */
interface SampledText {
  readonly encoding: Encoding
  /** True if there is a double quote. */
  readonly hasQuotes: boolean
}

/** Writes the first lines of a text file as UTF-8. */
async function writeStart(handle: FileHandle, copy: string): Promise<SampledText> {
  const bytes = await readStart(handle)
  if (bytes.length === 0) throw new InvalidText()
  const encoding = encodingOf(bytes)
  const label = encoding === 'utf-16' && bytes[0] === 0xfe ? 'utf-16be' : LABELS[encoding]
  const text = new TextDecoder(label).decode(bytes)
  const isCut = bytes.length >= SAMPLE_BYTES
  const lines = Buffer.from(isCut ? text.slice(0, text.lastIndexOf('\n') + 1) : text)
  await writeFile(copy, lines, { mode: 0o600 })
  await writeFile(spacedCopy(copy), withSingleSpaces(chunksOf(lines), '"'), { mode: 0o600 })
  return { encoding, hasQuotes: text.includes('"') }
}

const CHUNK_BYTES = 2 ** 16

/** Yields the bytes in chunks, between which other work can run. */
function* chunksOf(bytes: Buffer): Generator<Buffer> {
  for (let start = 0; start < bytes.length; start += CHUNK_BYTES)
    yield bytes.subarray(start, start + CHUNK_BYTES)
}

const LABELS: Readonly<Record<Encoding, string>> = {
  'utf-8': 'utf-8',
  'latin-1': 'windows-1252',
  'utf-16': 'utf-16le',
}

/** Reads the beginning of a file, decompressed if it is compressed with gzip. */
async function readStart(handle: FileHandle): Promise<Buffer> {
  const raw = handle.createReadStream({ autoClose: false, start: 0, end: SAMPLE_BYTES - 1 })
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(2), 0, 2, 0)
  const isCompressed = bytesRead === 2 && buffer[0] === 0x1f && buffer[1] === 0x8b
  const chunks: Buffer[] = []
  let length = 0
  try {
    for await (const chunk of isCompressed ? raw.pipe(createGunzip()) : raw) {
      chunks.push(chunk)
      length += chunk.length
      if (length >= SAMPLE_BYTES) break
    }
  } catch {
    // The compressed bytes may have been cut; what was decompressed before is enough.
    if (length === 0) throw new InvalidText()
  } finally {
    raw.destroy()
  }
  return Buffer.concat(chunks, Math.min(length, SAMPLE_BYTES))
}

/** Recognises UTF-16 by its byte order mark, and UTF-8 by its form; anything else is taken for Latin-1. */
function encodingOf(bytes: Buffer): Encoding {
  if ((bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff)) return 'utf-16'
  // The last character may be incomplete.
  for (let cut = 0; cut < 4 && cut <= bytes.length; cut += 1)
    if (isUtf8(bytes.subarray(0, bytes.length - cut))) return 'utf-8'
  return 'latin-1'
}

function describeSampled(
  file: DraftedFile,
  format: FileFormat,
  text: SampledText | undefined,
  { csv, rows, columns }: Sample,
): Omit<DescribedSource, 'name'> {
  const decimalComma =
    csv !== undefined && csv.delimiter !== ',' && columns.some(({ facts }) => facts?.decimalComma === true)
  const dialect = csv === undefined || text === undefined ? undefined : dialectOf(csv, text, decimalComma)
  const source = defined({ ...file, format, csv: dialect })
  return {
    source,
    columns: columns.map((column) => describeColumn(column, { rows, decimalComma, csv })),
    notes: notesOn(csv, columns),
  }
}

function notesOn(csv: SniffedCsv | undefined, columns: readonly SampledColumn[]): readonly Remark[] {
  if (csv === undefined) return []
  const notes: Remark[] = []
  const note = (field: string, text: string) => notes.push({ field, text })
  if (csv.skippedLines > 0)
    note('source', `The first ${csv.skippedLines} lines are not part of the table. Remove them.`)
  if (!csv.header) note('source.csv.header', 'No names were recognised in the first line.')
  if (csv.nullValues.length > 0)
    note(
      'source.csv.nullValues',
      'These texts look like missing values. Remove those that are values, and add others that may occur: the list is public.',
    )
  if (columns.length === 1) note('source', 'Only one column was recognised. Check the delimiter.')
  return notes
}

/**
 * Returns the parts of the dialect that differ from the defaults; undefined if none does.
 * @throws UnreadableSample for a dialect that cannot be declared
 */
function dialectOf(csv: SniffedCsv, { encoding, hasQuotes }: SampledText, decimalComma: boolean) {
  const delimiter = nameOf(DELIMITERS, csv.delimiter)
  // Quotes that the sniffer does not take for quotes are part of the values.
  const quote = csv.quote === undefined ? (hasQuotes ? 'none' : '"') : nameOf(QUOTES, csv.quote)
  const dialect: CsvDeclaration = {
    ...(delimiter !== ',' && { delimiter }),
    ...(quote !== '"' && { quote }),
    ...(decimalComma && { decimal: ',' }),
    ...(!csv.header && { header: false }),
    ...(encoding !== 'utf-8' && { encoding }),
    ...(csv.nullValues.length > 0 && { nullValues: [...csv.nullValues] }),
  }
  return Object.keys(dialect).length === 0 ? undefined : dialect
}

/** @throws UnreadableSample for a character that no dialect has */
function nameOf<Name extends string>(characters: Readonly<Record<Name, string>>, character: string): Name {
  const names = Object.keys(characters) as Name[]
  const name = names.find((each) => characters[each] === character)
  if (name === undefined) throw new UnreadableSample('the dialect cannot be declared')
  return name
}

function describeColumn(
  { name, type, facts }: SampledColumn,
  { rows, decimalComma, csv }: { rows: number; decimalComma: boolean; csv: SniffedCsv | undefined },
): DescribedColumn {
  if (facts === undefined) return { name, type: describeDuckDbType(type, csv) }
  const { decimalComma: hasComma, ...values } = facts
  const found: DescribedType = decimalComma && hasComma ? { kind: 'number' } : describeDuckDbType(type, csv)
  return { name, type: found, sampled: { rows, ...values } }
}

/**
 * Returns the kind of values of a DuckDB type.
 * @param csv the form of the file, if it is text
 */
function describeDuckDbType(type: string, csv?: SniffedCsv): DescribedType {
  if (/^U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?$/.test(type)) return { kind: 'integer' }
  if (/^(FLOAT|DOUBLE|DECIMAL\(\d+,\d+\))$/.test(type)) return { kind: 'number' }
  if (type === 'BOOLEAN') return { kind: 'boolean' }
  if (type === 'DATE') return { kind: 'date', ...datedBy(csv?.dateFormat) }
  if (/^TIMESTAMP(_S|_MS|_NS| WITH TIME ZONE)?$/.test(type))
    return { kind: 'timestamp', ...datedBy(csv?.timestampFormat) }
  if (type === 'VARCHAR' || type.startsWith('ENUM(')) return { kind: 'text' }
  if (type === 'UUID') return { kind: 'uuid' }
  return { kind: 'other', name: type.slice(0, 40) }
}

/** Returns the declared name of a format of DuckDB, if it has one. A time of day may follow. */
function datedBy(format: string | undefined): { readonly dateFormat?: DateFormat } {
  const day = format?.replace(/[ T].*/s, '').replaceAll('%-', '%')
  return defined({ dateFormat: day === undefined ? undefined : DATE_FORMATS[day] })
}

const DATE_FORMATS: Readonly<Record<string, DateFormat>> = {
  '%Y-%m-%d': 'YYYY-MM-DD',
  '%Y/%m/%d': 'YYYY/MM/DD',
  '%Y%m%d': 'YYYYMMDD',
  '%d.%m.%Y': 'DD.MM.YYYY',
  '%d/%m/%Y': 'DD/MM/YYYY',
  '%d-%m-%Y': 'DD-MM-YYYY',
  '%m/%d/%Y': 'MM/DD/YYYY',
  '%m-%d-%Y': 'MM-DD-YYYY',
}
