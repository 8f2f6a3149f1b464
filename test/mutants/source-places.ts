import { readdirSync, readFileSync } from 'node:fs'

const SOURCE = new URL('../../src/', import.meta.url)

let cachedFiles: readonly string[] | undefined

/** The files below src/ that a change may name, by path. */
export function sourceFiles(): readonly string[] {
  cachedFiles ??= readdirSync(SOURCE, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\.(ts|sql)$/.test(name),
  )
  return cachedFiles
}

/**
 * Finds a file below src/ by its name, with as many of its folders as tell it from others of the same name. Folders that
 * do not exist make no difference, so that a file can move.
 *
 * @throws Error unless exactly one file of the name has the most of these folders
 */
export function sourceFile(name: string): string {
  const [found, ...others] = filesNamed(name)
  if (found === undefined) throw new Error(`no file below src/ is ${name}`)
  if (others.length > 0) throw new Error(`${name} may be any of ${[found, ...others].join(', ')}`)
  return found
}

/**
 * The file that has a text: the one of this name, or, if code moved, the only one that has so long a text.
 * @throws Error from {@link sourceFile} if there is no such file
 */
export function fileWith(find: string, name: string): string {
  const hasText = (file: string) => placesOf(find, sourceText(file)).length > 0
  const named = filesNamed(name)
  if (named.some(hasText) || folded(find).text.length < TELLING) return sourceFile(name)
  const [moved, ...others] = sourceFiles().filter(hasText)
  return moved !== undefined && others.length === 0 ? moved : sourceFile(name)
}

/** Number of characters, white space aside, of a text that tells its place wherever it moves. */
const TELLING = 30

/** The files of a name with the most of its folders. */
function filesNamed(name: string): readonly string[] {
  if (sourceFiles().includes(name)) return [name]
  const folders = name.split('/')
  const base = folders.pop()
  const candidates = sourceFiles()
    .map((file) => ({ file, parts: file.split('/') }))
    .filter(({ parts }) => parts.at(-1) === base)
    .map(({ file, parts }) => ({ file, known: folders.filter((folder) => parts.includes(folder)).length }))
  const most = Math.max(...candidates.map(({ known }) => known))
  return candidates.filter(({ known }) => known === most).map(({ file }) => file)
}

/** The text of a file, by its path below src/. */
export function sourceText(file: string): string {
  return readFileSync(new URL(file, SOURCE), 'utf8')
}

/** Where a text occurs in a source, whatever the white space and trailing commas in either. */
export function placesOf(find: string, source: string): readonly { start: number; end: number }[] {
  // Most texts do not have the first word.
  if (!source.includes(/\w+/.exec(find)?.[0] ?? '')) return []
  const { text, offsets } = folded(source)
  const wanted = folded(find).text
  if (wanted === '') throw new Error('a place needs a text')
  const places: { start: number; end: number }[] = []
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + 1)) {
    const start = offsets[at] as number
    const last = (offsets[at + wanted.length - 1] as number) + 1
    const comma = /,\s*$/.test(find) ? /^\s*,/.exec(source.slice(last)) : undefined
    const end = last + (comma?.[0].length ?? 0)
    const isSpace = (character: string) => character.trim() === ''
    const separate =
      (!/^\s/.test(find) || isSpace(source.charAt(start - 1))) &&
      (!/\s$/.test(find) || isSpace(source.charAt(end)))
    if (separate && comma !== null) places.push({ start, end })
  }
  return places
}

interface Folded {
  readonly text: string
  readonly offsets: readonly number[]
}

/** Every change looks into the same files. */
const foldedTexts = new Map<string, Folded>()

/** A text without white space and trailing commas, and the offset of each of its characters in the original. */
function folded(original: string): Folded {
  const known = foldedTexts.get(original)
  if (known !== undefined) return known
  const offsets: number[] = []
  let text = ''
  for (const { index, 0: character } of original.matchAll(/,(?!\s*(?:[)\]}]|$))|[^\s,]/g)) {
    text += character
    offsets.push(index)
  }
  const result = { text, offsets }
  foldedTexts.set(original, result)
  return result
}
