import { registerHooks } from 'node:module'
import { fileWith, placesOf, sourceFile, sourceFiles, sourceText } from './source-places.ts'

const SOURCE = new URL('../../src/', import.meta.url).href

/** The address of a source file that runs as a thread. A thread does not inherit the loader hooks of its parent. */
const THREAD = /new URL\('(\.[^']+\.ts)', import\.meta\.url\)/g

/** A text that a source file reads when it is loaded. A changed one takes its place. */
const READ_TEXT = /readFileSync\(new URL\('(\.[^']+\.sql)', import\.meta\.url\), 'utf8'\)/g

/** One textual change to a source file below src/; `find` must occur exactly once. */
export interface SourceChange {
  /** Such as `core/mechanisms/selection/quantile.ts`. */
  readonly file: string
  readonly find: string
  readonly replace: string
}

/** Imports a module of the changed source, by a name of {@link sourceFile}. */
export type Load = <Module>(file: string) => Promise<Module>

/** A changed source: the changed texts, and the modules that are instantiated again because of them. */
interface Variant {
  readonly changes: readonly SourceChange[]
  /** By path below src/. */
  readonly texts: ReadonlyMap<string, string>
  readonly standIns: Readonly<Record<string, string>>
  /** Paths below src/: the files with changes or stand-ins, and all that import them, directly or not. */
  readonly affected: ReadonlySet<string>
}

const variants: Variant[] = []

/**
 * Imports modules of the actual source with these changes. A loader hook serves the changed texts; the changed modules
 * and those that import them are instantiated anew, all others are shared with the test.
 *
 * @param standIns texts of files that replace others, by name; the original is next to it as `<name>-as-it-is.ts`
 * @throws Error unless the text to change occurs exactly once. The run fails even if
 * the error is caught, because a mutant that is not made would count as detected.
 */
export async function withChangedSource<Result>(
  changes: readonly SourceChange[],
  standIns: Readonly<Record<string, string>>,
  use: (load: Load) => Promise<Result>,
): Promise<Result> {
  const { texts, replaced } = orFailTheRun(() => ({
    texts: changedTexts(changes),
    replaced: Object.fromEntries(Object.entries(standIns).map(([file, text]) => [sourceFile(file), text])),
  }))
  const variant = variants.length
  variants.push({
    changes,
    texts,
    standIns: replaced,
    affected: importersOf([...texts.keys(), ...Object.keys(replaced)]),
  })
  return use((file) => import(/* @vite-ignore */ moduleUrl(namedFile(file), variant)))
}

/**
 * The texts of the files with these changes, by path below src/.
 * @throws Error unless the text to change occurs exactly once
 */
export function changedTexts(changes: readonly SourceChange[]): ReadonlyMap<string, string> {
  const texts = new Map<string, string>()
  for (const { file: name, find, replace } of changes) {
    const file = fileWith(find, name)
    const text = texts.get(file) ?? sourceText(file)
    const places = placesOf(find, text)
    const place = places.at(-1)
    if (place === undefined || places.length > 1) throw new Error(`${file} must have exactly one "${find}"`)
    texts.set(file, text.slice(0, place.start) + replace + text.slice(place.end))
  }
  return texts
}

function orFailTheRun<Result>(find: () => Result): Result {
  try {
    return find()
  } catch (error) {
    setImmediate(() => {
      throw error
    })
    throw error
  }
}

const AS_IT_IS = /-as-it-is\.ts$/

/** {@link sourceFile}, also of an original beside its stand-in. */
function namedFile(name: string): string {
  return AS_IT_IS.test(name)
    ? sourceFile(name.replace(AS_IT_IS, '.ts')).replace(/\.ts$/, '-as-it-is.ts')
    : sourceFile(name)
}

/** The URL of a file below src/ in a variant; without a query if the module is shared. */
function moduleUrl(file: string, variant: number): string {
  if (AS_IT_IS.test(file)) return `${SOURCE}${file.replace(AS_IT_IS, '.ts')}?variant=${variant}&as-it-is`
  const query = variants[variant]?.affected.has(file) ? `?variant=${variant}` : ''
  return `${SOURCE}${file}${query}`
}

/** The file and the variant in a URL of {@link moduleUrl}; `undefined` if it has no variant. */
function partsOf(url: string | undefined) {
  if (url === undefined || !url.startsWith(SOURCE)) return undefined
  const [, file = '', variant, original] =
    /^(.*)\?variant=(\d+)(&as-it-is)?$/.exec(url.slice(SOURCE.length)) ?? []
  if (variant === undefined) return undefined
  return { file, variant: Number(variant), isOriginal: original !== undefined }
}

registerHooks({
  resolve(specifier, context, nextResolve) {
    const parent = partsOf(context.parentURL)
    if (parent === undefined || !specifier.startsWith('.')) return nextResolve(specifier, context)
    const url = new URL(specifier, SOURCE + parent.file).href
    if (!url.startsWith(SOURCE)) return nextResolve(specifier, context)
    return {
      url: moduleUrl(url.slice(SOURCE.length), parent.variant),
      format: 'module-typescript',
      shortCircuit: true,
    }
  },
  load(url, context, nextLoad) {
    const parts = partsOf(url)
    if (parts === undefined) return nextLoad(url, context)
    const variant = variants[parts.variant]
    if (variant === undefined) throw new Error(`there is no variant ${parts.variant}`)
    const standIn = parts.isOriginal ? undefined : variant.standIns[parts.file]
    const text = standIn ?? variant.texts.get(parts.file) ?? sourceText(parts.file)
    return {
      format: 'module-typescript',
      source: text
        .replaceAll(THREAD, (address, thread) => {
          const file = below(parts.file, thread)
          return variant.affected.has(file) ? `new URL('${threadUrl(file, variant)}')` : address
        })
        .replaceAll(READ_TEXT, (call, name) => {
          const changed = variant.texts.get(below(parts.file, name))
          return changed === undefined ? call : JSON.stringify(changed)
        }),
      shortCircuit: true,
    }
  },
})

/** Resolves a relative import of a file to a path below src/. */
function below(file: string, specifier: string): string {
  return new URL(specifier, SOURCE + file).href.slice(SOURCE.length)
}

/** The URL of a thread that makes the same changes and then runs a file. */
function threadUrl(file: string, { changes, standIns }: Variant): string {
  const script = `
    const { withChangedSource } = await import(${JSON.stringify(import.meta.url)})
    const [changes, standIns, file] = ${JSON.stringify([changes, standIns, file])}
    await withChangedSource(changes, standIns, (load) => load(file))`
  return `data:text/javascript,${encodeURIComponent(script).replaceAll("'", '%27')}`
}

/** These files and all that import them, directly or not. */
function importersOf(files: readonly string[]): ReadonlySet<string> {
  const found = new Set<string>()
  const waiting = [...files]
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (found.has(file)) continue
    found.add(file)
    waiting.push(...(importers().get(file) ?? []))
  }
  return found
}

/** An import of a project file by its relative path. Type-only imports do not exist at run time. */
const IMPORT = /(?:^(?:import|export)\s(?!type\s)(?:[^'"]*?\sfrom\s)?|\bimport\()'(\.[^']+)'/gm

let cachedImporters: ReadonlyMap<string, readonly string[]> | undefined

/** For each file below src/ the files that import or read it, types aside. */
function importers(): ReadonlyMap<string, readonly string[]> {
  if (cachedImporters !== undefined) return cachedImporters
  const found = new Map<string, string[]>()
  for (const file of sourceFiles()) {
    const text = sourceText(file)
    const specifiers = [IMPORT, THREAD, READ_TEXT].flatMap((pattern) => [...text.matchAll(pattern)])
    for (const [, specifier = ''] of specifiers) {
      const path = below(file, specifier)
      found.set(path, [...(found.get(path) ?? []), file])
    }
  }
  cachedImporters = found
  return found
}
