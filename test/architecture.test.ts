import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { REPLACES_MODULES } from '../vitest.config.ts'

const root = path.resolve(import.meta.dirname, '..')

/** Project folders that each folder may import; `type` after one allows type-only imports. The table of the design. */
const ALLOWED: Record<string, readonly string[]> = {
  'src/privacy': [],
  'src/files': [],
  'src/concurrency': [],
  'src/tracing': [],
  schemas: ['src/privacy'],
  'src/mechanisms': ['src/privacy'],
  'src/catalog': ['src/documents type', 'src/privacy', 'src/files'],
  'src/ledger': ['src/privacy'],
  'src/documents': ['src/ledger'],
  'src/custody': ['src/ledger', 'src/files', 'src/catalog'],
  'src/risk': ['src/privacy'],
  'src/access': ['src/documents type', 'src/privacy', 'src/files'],
  'src/dummy': ['src/catalog', 'src/concurrency', 'src/engines', 'src/privacy'],
  'src/plots': ['src/privacy', 'src/risk type', 'src/mechanisms type'],
  'src/planner': ['src/catalog', 'src/mechanisms', 'src/privacy', 'schemas type'],
  'src/engines': ['src/concurrency', 'src/privacy', 'src/catalog', 'src/planner type', 'src/files'],
  'src/connections': ['schemas', 'src/engines', 'src/files'],
  'src/answers': [
    'src/concurrency',
    'src/planner',
    'src/engines type',
    'src/mechanisms',
    'src/ledger',
    'src/risk',
    'src/privacy',
    'src/catalog',
    'src/dummy type',
    'src/registration type',
    'src/tracing',
  ],
  'src/registration': [
    'src/catalog',
    'src/concurrency',
    'src/connections type',
    'src/dummy',
    'src/engines',
    'src/files',
    'src/ledger',
    'src/privacy',
  ],
  'src/evaluation': [
    'src/planner',
    'src/mechanisms',
    'src/privacy',
    'src/answers',
    'src/catalog',
    'src/engines type',
  ],
  'src/sql': ['src/catalog', 'src/planner', 'src/privacy', 'schemas type'],
  'src/workers': [
    'src/concurrency',
    'src/dummy',
    'src/evaluation',
    'src/mechanisms',
    'src/planner type',
    'src/plots',
    'src/privacy',
    'src/risk',
    'src/sql',
  ],
  'src/http': [
    'src/access',
    'src/documents',
    'src/privacy',
    'src/ledger',
    'src/answers',
    'src/catalog type',
    'src/connections type',
    'src/files type',
  ],
  'src/commands': [
    'schemas',
    'src/access',
    'src/catalog',
    'src/custody',
    'src/documents',
    'src/files',
    'src/ledger',
    'src/privacy',
    'src/registration',
  ],
  routes: [
    'schemas',
    'src/catalog',
    'src/planner',
    'src/ledger',
    'src/risk',
    'src/access',
    'src/privacy',
    'src/answers',
    'src/connections type',
    'src/registration type',
    'src/mechanisms',
    'src/workers type',
    'src/dummy type',
    'src/evaluation',
    'src/plots type',
    'src/http',
    'src/sql',
  ],
}

/** May import everything. */
const COMPOSITION = ['src/app.ts', 'src/server.ts']

/** Files directly in `src/`: the composition, and the configuration that it and the commands read. */
const TOP_LEVEL = [...COMPOSITION, 'src/config.ts']

const MAY_IMPORT_FASTIFY = ['routes', 'src/http', ...COMPOSITION]

const FORBIDDEN_FOLDERS = ['utils', 'helpers', 'common', 'lib', 'services', 'controllers', 'models', 'types']

/** Folders of the console that each of its folders may import. A page may import further pages' folders. */
const CONSOLE_ALLOWED: Record<string, readonly string[]> = {
  format: [],
  api: [],
  components: ['format', 'api'],
  frame: ['api', 'components'],
  access: ['api', 'components'],
  ...Object.fromEntries(
    Object.entries({
      // It contains the parts of the other pages, which are loaded when they are shown.
      datasets: [],
      answers: [],
      keys: [],
      mechanisms: [],
      risk: ['datasets'],
      tours: ['risk'],
      register: ['risk'],
      ask: ['answers', 'datasets', 'risk'],
      sessions: ['answers', 'ask', 'datasets'],
      evaluations: ['answers', 'datasets', 'risk'],
      history: ['answers', 'datasets'],
      audit: ['datasets'],
      manage: ['datasets', 'history', 'register'],
    }).map(([page, pages]) => [
      `pages/${page}`,
      ['api', 'components', 'format', ...pages.map((other) => `pages/${other}`)],
    ]),
  ),
}

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

/** `src/privacy/loss.ts` -> `src/privacy`; `routes/queries.ts` -> `routes`; `src/app.ts` stays. */
function folderOf(file: string): string {
  const [top = '', second = '', third] = file.split('/')
  if (top !== 'src') return top
  return third === undefined ? file : `src/${second}`
}

function importsOf(file: string): readonly Import[] {
  const text = readFileSync(path.join(root, file), 'utf8')
  return [...text.matchAll(/^(?:import|export)\s([^;]*?)\sfrom\s'([^']+)'/gm)].map(
    ([, clause = '', specifier = '']) => {
      const named = clause
        .match(/^\{([^}]*)\}$/)?.[1]
        ?.split(',')
        .map((name) => name.trim())
        .filter(Boolean)
      const typeOnly =
        clause.startsWith('type ') || (named?.every((name) => name.startsWith('type ')) ?? false)
      return { from: file, specifier, typeOnly }
    },
  )
}

const imports = files.flatMap(importsOf)

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
    if (target === undefined || TOP_LEVEL.includes(folder) || folderOf(target) === folder) return false
    const targetFolder = folderOf(target)
    // A command starts the whole service, or reads its configuration.
    if (folder === 'src/commands' && TOP_LEVEL.includes(targetFolder)) return false
    const allowed = ALLOWED[folder] ?? []
    return !(allowed.includes(targetFolder) || (found.typeOnly && allowed.includes(`${targetFolder} type`)))
  })
  expect(breaches).toEqual([])
})

test('every folder of the console imports only what it may, and nothing of the service', () => {
  const own = path.join(root, 'console/src')
  const all = readdirSync(own, { recursive: true, encoding: 'utf8' }).filter((name) => /\.tsx?$/.test(name))
  const folder = (file: string) => path.dirname(file)
  const found = all.flatMap((name) =>
    importsOf(`console/src/${name}`).flatMap((each) => {
      const target = targetOf(each)
      return target === undefined ? [] : [{ from: name, to: path.relative('console/src', target) }]
    }),
  )
  expect(found.length).toBeGreaterThan(150)
  const breaches = found.filter(({ from, to }) => {
    // The files at the top compose the console.
    if (folder(from) === '.' || folder(from) === folder(to) || to === 'icon.svg') return false
    if (folder(from) === 'pages' || folder(to) === 'pages') return to.startsWith('..')
    return !(CONSOLE_ALLOWED[folder(from)] ?? []).includes(folder(to))
  })
  expect(breaches).toEqual([])
})

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
    return /Math\.random/.test(text) || (/from 'seedrandom'/.test(text) && file !== 'src/dummy/sampling.ts')
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
