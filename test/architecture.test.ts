import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { REPLACES_MODULES } from '../vitest.config.ts'

const root = path.resolve(import.meta.dirname, '..')

/**
 * The wings that each wing may import; `type` after one allows type-only imports. The table of the design: imports
 * point down the list.
 */
const ALLOWED: Record<string, readonly string[]> = {
  'src/privacy': [],
  'src/platform': ['src/privacy'],
  schemas: ['src/privacy'],
  'src/core': ['src/privacy', 'schemas type'],
  'src/ledger': ['src/platform', 'src/privacy'],
  'src/engines': ['src/core', 'src/platform', 'src/privacy'],
  'src/datasets': ['schemas', 'src/core', 'src/engines', 'src/ledger', 'src/platform', 'src/privacy'],
  'src/answers': [
    'schemas',
    'src/core',
    'src/datasets',
    'src/engines type',
    'src/ledger',
    'src/platform',
    'src/privacy',
  ],
  'src/studies': ['schemas', 'src/answers', 'src/core', 'src/platform', 'src/privacy'],
  'src/http': ['schemas', 'src/answers', 'src/ledger', 'src/platform', 'src/privacy'],
  routes: [
    'schemas',
    'src/answers',
    'src/core',
    'src/datasets',
    'src/http',
    'src/ledger',
    'src/platform',
    'src/privacy',
    'src/studies',
  ],
  'src/wire': [
    'schemas',
    'src/answers',
    'src/core',
    'src/datasets',
    'src/http',
    'src/platform',
    'src/privacy',
  ],
  'src/commands': [
    'clients',
    'schemas',
    'src/core',
    'src/datasets',
    'src/http',
    'src/ledger',
    'src/platform',
    'src/privacy',
  ],
}

/** May import everything. */
const COMPOSITION = ['src/app.ts', 'src/server.ts']

/** Files directly in `src/`: the composition, and the configuration that it and the commands read. */
const TOP_LEVEL = [...COMPOSITION, 'src/config.ts']

const MAY_IMPORT_FASTIFY = ['routes', 'src/http', ...COMPOSITION]

const FORBIDDEN_FOLDERS = ['utils', 'helpers', 'common', 'lib', 'services', 'controllers', 'models', 'types']

/**
 * Folders of the console that each of its folders may import; folders inside one are part of it. A page may import further
 * pages' folders.
 */
const CONSOLE_ALLOWED: Record<string, readonly string[]> = {
  format: [],
  api: [],
  components: ['format', 'api'],
  frame: ['api', 'components'],
  access: ['api', 'components'],
  ...Object.fromEntries(
    Object.entries({
      datasets: [],
      answers: [],
      keys: [],
      mechanisms: [],
      risk: ['datasets'],
      tours: ['risk'],
      register: ['risk'],
      ask: ['answers', 'datasets', 'risk'],
      sessions: ['answers', 'ask', 'datasets'],
      evaluations: ['answers', 'ask', 'datasets', 'risk'],
      history: ['answers', 'datasets'],
      audit: ['answers', 'datasets'],
      manage: ['datasets', 'history', 'register'],
    }).map(([page, pages]) => [
      `pages/${page}`,
      ['api', 'components', 'format', ...pages.map((other) => `pages/${other}`)],
    ]),
  ),
}

/** The one folder of the service that the console may import. It runs in the browser. */
const VERIFIER = 'src/ledger/protocol/verifier'

/**
 * Files outside its sources that the console may import: the icon, the verifier that shares no code, the types of the
 * generated table of kinds, and functions for optional fields, for the labels of bins, for what a clamp cuts off, for the order of
 * tables of marginals and for the time series of an answer.
 */
const CONSOLE_FILES = [
  'console/src/icon.svg',
  'examples/verify_export.py?url',
  'clients/kind-entry.ts',
  'src/privacy/defined.ts',
  'src/core/dataset/declaration.ts',
  'src/core/dataset/derived-facts.ts',
  'src/core/planner/language/bin-text.ts',
  'src/core/planner/language/columns.ts',
  'src/core/planner/kinds/bounds/clamping-error.ts',
  'src/core/workloads/column-sets.ts',
  'src/studies/plots/time-series.ts',
]

interface Import {
  readonly from: string
  readonly specifier: string
  readonly typeOnly: boolean
}

const files = ['src', 'routes', 'schemas'].flatMap((folder) =>
  readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => `${folder}/${name}`),
)

/** `src/privacy/loss.ts` -> `src/privacy`; `routes/answers/queries.ts` -> `routes`; `src/app.ts` stays. */
function folderOf(file: string): string {
  const [top = '', second = '', third] = file.split('/')
  if (top !== 'src') return top
  return third === undefined ? file : `src/${second}`
}

/** Returns the imports of a file, also those that are made when they are needed. */
function importsOf(file: string): readonly Import[] {
  const text = readFileSync(path.join(root, file), 'utf8')
  const lazily = [...text.matchAll(/\bimport\('([^']+)'\)/g)].map(([, specifier = '']) => ({
    from: file,
    specifier,
    typeOnly: false,
  }))
  const named = [...text.matchAll(/^(?:import|export)\s([^;]*?)\sfrom\s'([^']+)'/gm)].map(
    ([, clause = '', specifier = '']) => {
      const names = clause
        .match(/^\{([^}]*)\}$/)?.[1]
        ?.split(',')
        .map((name) => name.trim())
        .filter(Boolean)
      const typeOnly =
        clause.startsWith('type ') || (names?.every((name) => name.startsWith('type ')) ?? false)
      return { from: file, specifier, typeOnly }
    },
  )
  return [...named, ...lazily]
}

const imports = files.flatMap(importsOf)

const consoleImports = readdirSync(path.join(root, 'console/src'), { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.tsx?$/.test(name))
  .flatMap((name) => importsOf(`console/src/${name}`))

/** The project file that an import resolves to; `undefined` for a package. */
function targetOf({ from, specifier }: Import): string | undefined {
  if (!specifier.startsWith('.')) return undefined
  return path.relative(root, path.resolve(root, path.dirname(from), specifier))
}

test('the folders and their imports were found', () => {
  expect(files.length).toBeGreaterThan(40)
  expect(imports.length).toBeGreaterThan(150)
  const folders = new Set(files.map(folderOf).filter((folder) => !TOP_LEVEL.includes(folder)))
  expect([...folders].sort()).toEqual(Object.keys(ALLOWED).sort())
})

test('every folder imports only what it may', () => {
  const breaches = imports.filter((found) => {
    const target = targetOf(found)
    const folder = folderOf(found.from)
    if (target === undefined || folderOf(target) === folder || TOP_LEVEL.includes(folder)) return false
    const targetFolder = folderOf(target)
    // A command starts the whole service, or reads its configuration.
    if (folder === 'src/commands' && TOP_LEVEL.includes(targetFolder)) return false
    const allowed = ALLOWED[folder] ?? []
    return !(allowed.includes(targetFolder) || (found.typeOnly && allowed.includes(`${targetFolder} type`)))
  })
  expect(breaches).toEqual([])
})

/** `pages/ask/terms/options.ts` -> `pages/ask`; `components/forms/field.tsx` -> `components`; `app.tsx` -> `.`. */
function consoleFolderOf(file: string): string {
  const [top = '', second = '', third] = file.split('/')
  if (second === '') return '.'
  return top === 'pages' && third !== undefined ? `pages/${second}` : top
}

test('every folder of the console imports only what it may, and of the service little more than the verifier of the ledger', () => {
  expect(consoleImports.length).toBeGreaterThan(150)
  const inside = 'console/src/'
  const breaches = consoleImports.filter((found) => {
    const target = targetOf(found)
    if (target === undefined || CONSOLE_FILES.includes(target)) return false
    const from = consoleFolderOf(found.from.slice(inside.length))
    if (path.dirname(target) === VERIFIER) return from !== 'pages/audit'
    if (!target.startsWith(inside)) return true
    const to = consoleFolderOf(target.slice(inside.length))
    // The files at the top compose the console. Every page may show the page of an unknown address.
    if (from === '.' || from === to || from === 'pages' || to === 'pages') return false
    return !(CONSOLE_ALLOWED[from] ?? []).includes(to)
  })
  expect(breaches).toEqual([])
})

test('the verifier of the ledger imports no package and no module of Node, not even through other files', () => {
  const reached = new Set(files.filter((file) => path.dirname(file) === VERIFIER))
  expect(reached.size).toBeGreaterThan(3)
  for (const file of reached) {
    for (const found of importsOf(file)) {
      const target = targetOf(found)
      expect(target, `${file} imports ${found.specifier}`).toMatch(/^src\/(ledger|privacy)\//)
      if (target !== undefined) reached.add(target)
    }
  }
})

test('no files import each other in a circle, types included', () => {
  expect(circlesOf([...imports, ...consoleImports])).toEqual([])
})

/** Returns each set of files that reach each other (Tarjan 1972, "Depth-first search and linear graph algorithms"). */
function circlesOf(edges: readonly Import[]): readonly (readonly string[])[] {
  const targets = Map.groupBy(edges, ({ from }) => from)
  const order = new Map<string, number>()
  const open: string[] = []
  const circles: string[][] = []
  const visit = (file: string): number => {
    const index = order.size
    order.set(file, index)
    open.push(file)
    let lowest = index
    for (const target of (targets.get(file) ?? []).map(targetOf)) {
      if (target === undefined) continue
      if (!order.has(target)) lowest = Math.min(lowest, visit(target))
      else if (open.includes(target)) lowest = Math.min(lowest, order.get(target) ?? lowest)
    }
    if (lowest === index) {
      const circle = open.splice(open.indexOf(file))
      if (circle.length > 1) circles.push(circle.sort())
    }
    return lowest
  }
  for (const file of targets.keys()) if (!order.has(file)) visit(file)
  return circles
}

test('only the HTTP layer imports Fastify', () => {
  const breaches = imports.filter(
    ({ from, specifier }) => /^@?fastify/.test(specifier) && !MAY_IMPORT_FASTIFY.includes(folderOf(from)),
  )
  expect(breaches).toEqual([])
})

test('no folder or file has a meaningless name', () => {
  const breaches = files.filter(
    (file) =>
      file.split('/').some((part) => FORBIDDEN_FOLDERS.includes(part.replace(/\.ts$/, ''))) ||
      file.endsWith('/index.ts'),
  )
  expect(breaches).toEqual([])
})

test('noise comes from the operating system, never from Math.random or a seed', () => {
  const offenders = files.filter((file) => {
    const text = readFileSync(path.join(root, file), 'utf8')
    return (
      /Math\.random/.test(text) || (/from 'seedrandom'/.test(text) && file !== 'src/datasets/sampling.ts')
    )
  })
  expect(offenders).toEqual([])
})

test('exactly the fast tests that replace modules run isolated', () => {
  const names = readdirSync(path.join(root, 'test'), { recursive: true, encoding: 'utf8' })
  const replacing = names
    .map((name) => path.join('test', name))
    .filter((name) => /(?<!\.all|\.long)\.test\.ts$/.test(name))
    .filter((name) => /\bvi\.(mock|spyOn)\(/.test(readFileSync(path.join(root, name), 'utf8')))
  expect(replacing.sort()).toEqual([...REPLACES_MODULES].sort())
})

/**
 * Defaults after a look-up in `privacy`, `core` and `ledger` that answer for what may be missing. What cannot be missing is
 * asserted by `must` or `entry`: a default in its place would hide a defect, and could become too little noise.
 */
const DEFAULTS_OF_LOOKUPS: readonly string[] = [
  // A version with fewer numbers.
  'const part = parts[place] ?? 0',
  // A dataset without charges.
  'if ((counts?.get(dataset) ?? 0) > verifier.charges.size)',
]

test('no silent default answers for a look-up that cannot fail', () => {
  const found = files
    .filter((file) => /^src\/(privacy|core|ledger)\//.test(file))
    .flatMap((file) =>
      readFileSync(path.join(root, file), 'utf8')
        .split('\n')
        // A sum by key begins with 0.
        .filter(
          (line) => /(\]|\.(get|at)\([^()]*\)) \?\? (0n?\b|\[\]|'')/.test(line) && !/\.set\(/.test(line),
        )
        .filter((line) => !DEFAULTS_OF_LOOKUPS.some((known) => line.includes(known)))
        .map((line) => `${file}: ${line.trim()}`),
    )
  expect(found).toEqual([])
})
