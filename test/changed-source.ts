import { readdirSync, readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'

const SOURCE = new URL('../src/', import.meta.url).href

/** The address of a source file that runs as a thread. A thread does not inherit the loader hooks of its parent. */
const THREAD = /new URL\('(\.[^']+\.ts)', import\.meta\.url\)/g

/** One textual change to a source file below src/; `find` must occur exactly once, unless `last` is set. */
export interface SourceChange {
  /** Such as `mechanisms/quantile.ts`. */
  readonly file: string
  readonly find: string
  readonly replace: string
  /** True to change the last occurrence, as of a function that several migrations define. */
  readonly last?: boolean
}

/** Imports a module of the changed source, by its path below src/. */
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
 * @param standIns texts of files that replace others, by path; the original is next to it as `<name>-as-it-is.ts`
 * @throws Error unless the text to change occurs exactly once, or at least once if `last` is set
 */
export async function withChangedSource<Result>(
  changes: readonly SourceChange[],
  standIns: Readonly<Record<string, string>>,
  use: (load: Load) => Promise<Result>,
): Promise<Result> {
  const texts = new Map<string, string>()
  for (const { file, find, replace, last = false } of changes) {
    const parts = (texts.get(file) ?? sourceOf(file)).split(find)
    if (parts.length < 2 || (parts.length > 2 && !last))
      throw new Error(`${file} must have exactly one "${find}"`)
    texts.set(file, parts.slice(0, -1).join(find) + replace + parts.at(-1))
  }
  const variant = variants.length
  variants.push({
    changes,
    texts,
    standIns,
    affected: importersOf([...texts.keys(), ...Object.keys(standIns)]),
  })
  return use((file) => import(/* @vite-ignore */ moduleUrl(file, variant)))
}

const AS_IT_IS = /-as-it-is\.ts$/

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
    const text = standIn ?? variant.texts.get(parts.file) ?? sourceOf(parts.file)
    return {
      format: 'module-typescript',
      source: text.replaceAll(THREAD, (address, thread) => {
        const file = below(parts.file, thread)
        return variant.affected.has(file) ? `new URL('${threadUrl(file, variant)}')` : address
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

function sourceOf(file: string): string {
  return readFileSync(new URL(file, SOURCE), 'utf8')
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

/** For each file below src/ the files that import it, types aside. */
function importers(): ReadonlyMap<string, readonly string[]> {
  if (cachedImporters !== undefined) return cachedImporters
  const found = new Map<string, string[]>()
  const files = readdirSync(new URL(SOURCE), { recursive: true, encoding: 'utf8' })
  for (const file of files.filter((name) => name.endsWith('.ts'))) {
    const text = sourceOf(file)
    for (const [, specifier = ''] of [...text.matchAll(IMPORT), ...text.matchAll(THREAD)]) {
      const path = below(file, specifier)
      found.set(path, [...(found.get(path) ?? []), file])
    }
  }
  cachedImporters = found
  return found
}
