import { execFile } from 'node:child_process'
import { cp, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ServiceProcess, startServiceProcess } from '../e2e/process.ts'
import { folderForAll } from '../folders.ts'
import { installed } from '../installed.ts'
import { findPython } from '../python.ts'

/*
 * Makes a release of the files as they are, in a repository of its own, and installs its packages into empty folders, as
 * somebody does who has nothing else of Sotto.
 */

const root = path.resolve(import.meta.dirname, '../..')
const VERSION = '7.8.9'
const TOOLS = ['node_modules', 'clients/typescript/node_modules']
const hasR = installed('R')
const obstacle = findPython() === undefined ? ' (skipped: it needs Python)' : ''

const folder = folderForAll()
const inFolder = (...names: readonly string[]) => path.join(folder.path, ...names)
const packed = (name: string) => inFolder('sotto/dist', VERSION, name)

async function run(program: string, args: readonly string[], cwd: string): Promise<string> {
  const { stdout } = await promisify(execFile)(program, args, { cwd, maxBuffer: 1e8 })
  return stdout.trim()
}

const git = (...args: readonly string[]) => run('git', args, inFolder('sotto'))
const release = () =>
  run('npm', ['run', 'release', '--', VERSION, '--without-tests', '--without-image'], inFolder('sotto'))

/** A repository with the files as they are in the work tree, and the installed packages. */
async function copyRepository(): Promise<void> {
  const listed = await run(
    'git',
    ['ls-files', '--cached', '--others', '--exclude-standard', '--deduplicate'],
    root,
  )
  const present = new Set(await readdir(root, { recursive: true }))
  for (const name of listed.split('\n').filter((each) => present.has(each)))
    await cp(path.join(root, name), inFolder('sotto', name))
  await run('git', ['init', '--quiet'], inFolder('sotto'))
  await git('config', 'user.name', 'Owner')
  await git('config', 'user.email', 'owner@example.org')
  await writeFile(inFolder('sotto/.git/info/exclude'), TOOLS.join('\n'))
  for (const name of TOOLS) await symlink(path.join(root, name), inFolder('sotto', name))
  await commitAll()
}

async function commitAll(): Promise<void> {
  await git('add', '--all')
  await git('commit', '--quiet', '--message', 'files')
}

describe.skipIf(obstacle !== '')(`a release${obstacle}`, () => {
  let refused: { readonly stderr: string }
  beforeAll(async () => {
    await copyRepository()
    refused = await release().catch((error) => error)
    await writeFile(inFolder('sotto/LICENSE'), 'Terms.\n')
    await commitAll()
    await release()
  })

  test('asks for a licence, and changes nothing without one', async () => {
    expect(refused.stderr).toContain('put its text into a file LICENSE beside package.json')
    expect(await git('log', '--format=%s')).toBe(`chore(release): ${VERSION}\nfiles\nfiles`)
    expect(await git('status', '--porcelain')).toBe('')
  })

  test('has one version, also in the changelog, and the licence in each package', async () => {
    expect(await readFile(inFolder('sotto/CHANGELOG.md'), 'utf8')).toMatch(/^## 7\.8\.9 - \d{4}-\d\d-\d\d$/m)
    expect((await readdir(packed(''))).sort()).toEqual([
      'SHA256SUMS',
      'provenance.json',
      `sotto-${VERSION}.cdx.json`,
      `sotto-${VERSION}.tgz`,
      `sotto-client-${VERSION}.tgz`,
      ...(hasR ? [`sotto_${VERSION}.tar.gz`] : []),
      `sotto_client-${VERSION}-py3-none-any.whl`,
      `sotto_client-${VERSION}.tar.gz`,
    ])
    for (const name of (await readdir(packed(''))).filter((each) => /gz$/.test(each)))
      expect(await run('tar', ['tzf', packed(name)], folder.path), name).toMatch(/^[^/]+\/LICENSE$/m)
  })

  test('states its packages, its digests and its commit', async () => {
    const { subject, predicate } = JSON.parse(await readFile(packed('provenance.json'), 'utf8'))
    const [source] = predicate.buildDefinition.resolvedDependencies
    expect(source.digest.gitCommit).toBe(await git('rev-parse', 'HEAD'))
    const sums = await readFile(packed('SHA256SUMS'), 'utf8')
    for (const { name, digest } of subject) expect(sums).toContain(`${digest.sha256}  ${name}\n`)
    expect(await run('sha256sum', ['--check', 'SHA256SUMS'], packed(''))).not.toContain('FAILED')
    const { components } = JSON.parse(await readFile(packed(`sotto-${VERSION}.cdx.json`), 'utf8'))
    const names = components.map(({ name }: { readonly name: string }) => name)
    expect(names).toContain('fastify')
    expect(names).not.toContain('vitest')
  })

  describe('installed into empty folders', () => {
    let service: ServiceProcess
    beforeAll(async () => {
      await Promise.all([
        npmInstall(`sotto-${VERSION}.tgz`, 'server'),
        npmInstall(`sotto-client-${VERSION}.tgz`, 'typescript'),
        createEnvironment(),
      ])
      // What `npx sotto start` runs; npx does not pass a signal on.
      service = await startServiceProcess(
        { PATH: withNode24() },
        { command: ['node_modules/.bin/sotto', 'start'], cwd: inFolder('server') },
      )
    })
    afterAll(() => service.stop('SIGTERM'))

    test('answers, and serves the console', async () => {
      const { version } = JSON.parse(
        await readFile(inFolder('server/node_modules/sotto/package.json'), 'utf8'),
      )
      expect(version).toBe(VERSION)
      const page = await fetch(service.url, { headers: { accept: 'text/html' } })
      expect(await page.text()).toContain('<script type="module"')
      expect((await fetch(`${service.url}/guide/`)).status).toBe(200)
      const key = (await readFile(inFolder('server/data/analyst.key'), 'utf8')).trim()
      const ask = async (address: string, body: object) => {
        const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
        const reply = await fetch(`${service.url}${address}`, {
          method: 'POST',
          headers,
          body: JSON.stringify(body),
        })
        return { status: reply.status, document: await reply.json() }
      }
      expect(await ask('/v1/datasets/census/queries', { kind: 'count', epsilon: 0.1 })).toMatchObject({
        status: 200,
        document: { softwareVersion: VERSION, accuracy: { halfWidth: 30 } },
      })
      // Each has threads of its own, whose entries are found by their addresses.
      const sql = { sql: 'SELECT COUNT(*) FROM census WHERE Age >= 65', epsilon: 0.1 }
      expect(await ask('/v1/datasets/census/sql', sql)).toMatchObject({ status: 200 })
      expect(await ask('/v1/datasets/census/queries?on=dummy', { kind: 'count', epsilon: 1 })).toMatchObject({
        status: 200,
      })
      const question = { mechanism: 'geometric', epsilon: 0.5, truth: 100 }
      const plot = new URL('/v1/plots/answer-distribution', service.url)
      plot.searchParams.set('question', JSON.stringify(question))
      expect((await fetch(plot)).status).toBe(200)
    })

    test('has a command line that says what an old Node lacks', async () => {
      const helped = await run('npx', ['sotto', '--help'], inFolder('server'))
      expect(helped).toContain('start the service')
      for (const [version, isOld] of [
        ['20.20.2', true],
        ['24.9.0', true],
        ['24.15.0', false],
      ] as const) {
        const set = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } })`
        const args = ['--import', `data:text/javascript,${set}`, 'node_modules/.bin/sotto', '--version']
        const failed = await run(process.execPath, args, inFolder('server')).catch((error) => error)
        if (isOld) expect(failed.stderr).toContain(`needs Node 24.15 or newer, and this is Node ${version}.`)
        else expect(failed).toBe(VERSION)
      }
    })

    test("the TypeScript client runs its README's example", async () => {
      await placeExample('clients/typescript/README.md', 'ts', 'typescript/example.mjs')
      expect(await run(process.execPath, ['example.mjs'], inFolder('typescript'))).toMatch(/^\d+ ± 30$/)
    })

    test("the wheel and the sdist of the Python client run its README's example", async () => {
      await placeExample('clients/python/README.md', 'python', 'python/example.py')
      const python = inFolder('python/environment/bin/python')
      expect(await run(python, ['example.py'], inFolder('python'))).toMatch(/^[\d,]+ ± 30/)
      await pip('uninstall', '--yes', 'sotto-client')
      await pip('install', packed(`sotto_client-${VERSION}.tar.gz`))
      expect(await run(python, ['example.py'], inFolder('python'))).toMatch(/^[\d,]+ ± 30/)
    })

    test.skipIf(!hasR)(
      "the R package runs its README's example (skipped if R is not installed)",
      async () => {
        await mkdir(inFolder('r/library'), { recursive: true })
        await run(
          'R',
          ['CMD', 'INSTALL', '--library=library', packed(`sotto_${VERSION}.tar.gz`)],
          inFolder('r'),
        )
        await placeExample('clients/r/README.md', 'r', 'r/example.R')
        const program = `Sys.setenv(SOTTO_KEY = readLines("data/analyst.key")); .libPaths("library"); source("example.R"); print(answer)`
        expect(await run('Rscript', ['-e', program], inFolder('r'))).toMatch(/^[\d,]+ ± 30/m)
      },
    )

    /** Writes the example of a README beside a link to the service's keys. */
    async function placeExample(page: string, language: string, file: string): Promise<void> {
      const text = await readFile(path.join(root, page), 'utf8')
      const [, code = ''] = new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\``, 'm').exec(text) ?? []
      expect(code).toContain('http://127.0.0.1:8080')
      await symlink(inFolder('server/data'), inFolder(path.dirname(file), 'data'))
      await writeFile(inFolder(file), code.replace('http://127.0.0.1:8080', service.url))
    }
  })
})

/** The programs' folders, with that of this Node before an older one. */
function withNode24(): string {
  return `${path.dirname(process.execPath)}:${process.env.PATH ?? ''}`
}

/** Installs a package into a new folder. */
async function npmInstall(name: string, project: string): Promise<void> {
  await mkdir(inFolder(project))
  const quietly = ['--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error']
  await run('npm', ['install', ...quietly, packed(name)], inFolder(project))
}

/** Installs the wheel into a virtual environment of a new folder. */
async function createEnvironment(): Promise<void> {
  await mkdir(inFolder('python'))
  await run(findPython() ?? '', ['-m', 'venv', 'environment'], inFolder('python'))
  await pip('install', '--no-compile', packed(`sotto_client-${VERSION}-py3-none-any.whl`))
}

async function pip(...args: readonly string[]): Promise<void> {
  await run(inFolder('python/environment/bin/pip'), ['--quiet', ...args], inFolder('python'))
}
