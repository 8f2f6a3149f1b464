import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'

const root = path.resolve(import.meta.dirname, '..')

/**
 * What each room may import of ours, rooms or single files; `type` after one allows type-only imports. The design's table.
 */
const ALLOWED: Record<string, readonly string[]> = {
  'src/privacy': [],
  schemas: ['src/privacy'],
  'src/mechanisms': ['src/privacy'],
  'src/catalog': ['src/privacy', 'src/durable-file.ts'],
  'src/ledger': ['src/privacy'],
  'src/risk': ['src/privacy'],
  'src/plots': ['src/privacy', 'src/risk type', 'src/mechanisms type'],
  'src/access': ['src/privacy', 'src/durable-file.ts'],
  'src/planner': ['src/catalog', 'src/mechanisms', 'src/privacy', 'schemas type'],
  'src/evaluation': ['src/planner', 'src/mechanisms', 'src/privacy', 'src/release.ts'],
  'src/engines': ['src/privacy', 'src/catalog', 'src/planner type', 'src/durable-file.ts'],
  routes: [
    'schemas',
    'src/catalog',
    'src/planner',
    'src/ledger',
    'src/risk',
    'src/access',
    'src/privacy',
    'src/answer.ts',
    'src/audit.ts',
    'src/charge.ts',
    'src/disclosure.ts',
    'src/sparse-vector.ts',
    'src/register.ts type',
    'src/mechanisms/compare.ts',
    'src/computation-pool.ts type',
    'src/trial.ts',
    'src/pictures.ts type',
    'src/plots type',
    'src/json.ts',
  ],
  'src/answer.ts': [
    'src/planner',
    'src/engines type',
    'src/mechanisms type',
    'src/ledger type',
    'src/privacy',
    'src/charge.ts',
    'src/disclosure.ts',
    'src/release.ts',
    'src/catalog type',
  ],
  'src/charge.ts': ['src/ledger', 'src/privacy', 'src/catalog type'],
  'src/disclosure.ts': ['src/risk', 'src/privacy', 'src/catalog type'],
  'src/sparse-vector.ts': [
    'src/planner',
    'src/engines type',
    'src/mechanisms',
    'src/ledger',
    'src/privacy',
    'src/answer.ts',
    'src/charge.ts',
    'src/disclosure.ts',
    'src/catalog type',
  ],
  'src/release.ts': ['src/planner', 'src/engines type', 'src/mechanisms'],
  'src/audit.ts': [
    'src/answer.ts',
    'src/ledger',
    'src/planner',
    'src/privacy',
    'src/catalog',
    'src/register.ts type',
  ],
  'src/register.ts': ['src/catalog', 'src/engines', 'src/ledger', 'src/privacy'],
  'src/computation-pool.ts': ['src/computation-worker.ts type', 'src/privacy'],
  'src/computation-worker.ts': [
    'src/evaluation',
    'src/mechanisms',
    'src/pictures.ts',
    'src/plots',
    'src/privacy',
    'src/risk',
    'src/trial.ts type',
  ],
  'src/trial.ts': [
    'src/catalog',
    'src/engines type',
    'src/evaluation',
    'src/planner',
    'src/privacy',
    'src/release.ts',
  ],
  'src/pictures.ts': [
    'src/evaluation',
    'src/mechanisms',
    'src/planner type',
    'src/plots',
    'src/privacy',
    'src/risk',
    'src/trial.ts type',
  ],
  'src/demo.ts': ['src/engines', 'src/register.ts type'],
  'src/config.ts': [],
  'src/durable-file.ts': [],
  'src/create-key.ts': ['src/access', 'src/config.ts'],
  'src/sotto.ts': ['src/config.ts', 'src/durable-file.ts', 'src/ledger', 'src/privacy'],
  'src/write-openapi.ts': ['src/config.ts', 'src/server.ts'],
  'src/json.ts': ['src/privacy'],
  'src/metrics.ts': [],
  'src/welcome.ts': [],
  'src/problem.ts': ['src/privacy', 'src/ledger', 'src/answer.ts', 'src/sparse-vector.ts'],
}

/** May import everything. */
const COMPOSITION = ['src/app.ts', 'src/server.ts']

const MAY_IMPORT_FASTIFY = ['routes', 'src/app.ts', 'src/server.ts', 'src/problem.ts']

const FORBIDDEN_FOLDERS = ['utils', 'helpers', 'common', 'lib', 'services', 'controllers', 'models', 'types']

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
function roomOf(file: string): string {
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

/** The project's file an import leads to; `undefined` for a package. */
function targetOf({ from, specifier }: Import): string | undefined {
  if (!specifier.startsWith('.')) return undefined
  return path.relative(root, path.resolve(root, path.dirname(from), specifier))
}

test('the rooms and their imports were found', () => {
  expect(files.length).toBeGreaterThan(40)
  expect(imports.length).toBeGreaterThan(150)
  for (const room of Object.keys(ALLOWED))
    expect(
      files.some((file) => roomOf(file) === room),
      room,
    ).toBe(true)
})

test('every room imports only what it may', () => {
  const breaches = imports.filter((found) => {
    const target = targetOf(found)
    const room = roomOf(found.from)
    if (target === undefined || COMPOSITION.includes(room) || roomOf(target) === room) return false
    const allowed = ALLOWED[room]
    if (allowed === undefined) return true
    const targetRoom = roomOf(target)
    if (allowed.includes(target)) return false
    return !(allowed.includes(targetRoom) || (found.typeOnly && allowed.includes(`${targetRoom} type`)))
  })
  expect(breaches).toEqual([])
})

test('Fastify appears only where HTTP is spoken', () => {
  const breaches = imports.filter(
    ({ from, specifier }) => /^@?fastify/.test(specifier) && !MAY_IMPORT_FASTIFY.includes(roomOf(from)),
  )
  expect(breaches).toEqual([])
})

test('no folder or file has a name that says nothing', () => {
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
    return /Math\.random/.test(text) || (/from 'seedrandom'/.test(text) && file !== 'src/demo.ts')
  })
  expect(offenders).toEqual([])
})
