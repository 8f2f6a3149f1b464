import { once } from 'node:events'
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type BuiltImage, buildImage, imageObstacle, runInImage, sizeOf, startInImage } from './image.ts'

const REPOSITORY = path.resolve(import.meta.dirname, '../..')
const LARGEST_BYTES = 180e6
const QUESTION = { kind: 'count', epsilon: 0.25 }

interface Answer {
  readonly id: string
  readonly result: unknown
  readonly cost: unknown
  readonly budget: { readonly spent: unknown }
}

const obstacle = imageObstacle()
if (obstacle !== undefined) console.log(`Tests of the image are skipped: ${obstacle}.`)

describe.skipIf(obstacle !== undefined)('The image (skipped without Buildah, debootstrap or root)', () => {
  let image: BuiltImage
  const folders: string[] = []
  beforeAll(async () => {
    image = await buildImage('0123456789abcdef')
  })
  afterAll(async () => {
    await image?.remove()
    for (const folder of folders) rmSync(folder, { recursive: true, force: true })
  })

  /** A folder that belongs to the user of the image. */
  function volume(): string {
    const folder = mkdtempSync(path.join(tmpdir(), 'sotto-volume-'))
    folders.push(folder)
    chownSync(folder, 1000, 1000)
    return folder
  }

  /** Starts the service of the image on a volume. */
  async function start(data: string) {
    const environment = { SOTTO_PORT: '0', SOTTO_HOST: '127.0.0.1', SOTTO_DRAIN_MS: '0' }
    const child = startInImage(image, { data, command: image.config.Cmd, environment })
    let printed = ''
    const url = await new Promise<string>((resolve, reject) => {
      for (const stream of [child.stdout, child.stderr])
        stream?.on('data', (part) => {
          printed += part
          const found = /Sotto answers at (\S+)\.\s/.exec(printed)?.[1]
          if (found !== undefined && printed.includes('Swagger UI:')) resolve(found)
        })
      child.once('close', (code) => reject(new Error(`ended with code ${code}: ${printed}`)))
    })
    const key = readFileSync(path.join(data, 'analyst.key'), 'utf8').trim()
    return {
      get: (address: string) => fetch(`${url}${address}`, { headers: { authorization: `Bearer ${key}` } }),
      async ask(question: object) {
        const response = await fetch(`${url}/v1/datasets/census/queries`, {
          method: 'POST',
          headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
          body: JSON.stringify(question),
        })
        expect(response.status).toBe(200)
        return (await response.json()) as Answer
      },
      async stop() {
        const ended = once(child, 'close')
        child.kill('SIGTERM')
        const [code] = await ended
        return code as number | null
      },
    }
  }

  test('states what it is', () => {
    const { version, description } = JSON.parse(readFileSync(path.join(REPOSITORY, 'package.json'), 'utf8'))
    const label = (name: string) => image.config.Labels[`org.opencontainers.image.${name}`]
    expect(label('title')).toBe('Sotto')
    expect(label('version')).toBe(version)
    expect(label('revision')).toBe('0123456789abcdef')
    expect(label('description')).toBe(description)
    expect(image.config).toMatchObject({ User: 'node', Volumes: { '/data': {} } })
  })

  test('adds at most 180 MB to its base', async () => {
    const added = (await sizeOf(image.root)) - (await sizeOf(image.baseRoot))
    expect(added).toBeGreaterThan(0)
    expect(added).toBeLessThanOrEqual(LARGEST_BYTES)
  })

  test('contains what production needs, and a list of exactly that', () => {
    const sotto = path.join(image.root, 'sotto')
    expect(readdirSync(sotto).sort()).toEqual(
      [
        'clients',
        'console',
        'guide',
        'node_modules',
        'package.json',
        'routes',
        'sbom.cdx.json',
        'schemas',
        'src',
      ].sort(),
    )
    const listed = JSON.parse(readFileSync(path.join(sotto, 'sbom.cdx.json'), 'utf8'))
    expect(listed).toMatchObject({ bomFormat: 'CycloneDX', metadata: { component: { name: 'sotto' } } })
    const names = (listed.components as { group?: string; name: string; version: string }[]).map(
      ({ group, name, version }) => `${group === undefined ? '' : `${group}/`}${name}@${version}`,
    )
    expect([...new Set(names)].sort()).toEqual(packagesIn(path.join(sotto, 'node_modules')))
    const { dependencies, devDependencies } = JSON.parse(
      readFileSync(path.join(REPOSITORY, 'package.json'), 'utf8'),
    )
    const isInstalled = (name: string) => existsSync(path.join(sotto, 'node_modules', name))
    expect(Object.keys(dependencies).filter((name) => !isInstalled(name))).toEqual([])
    const runtime = new Set(names.map((name) => name.replace(/@[^@]*$/, '')))
    expect(Object.keys(devDependencies).filter((name) => isInstalled(name) && !runtime.has(name))).toEqual([])
    expect(['vite', 'vitest', 'typescript', 'playwright-core'].filter(isInstalled)).toEqual([])
  })

  test('runs as user 1000 on a read-only root, answers, stops on SIGTERM, and keeps its budget on the volume', async () => {
    const data = volume()
    const identity = await runInImage(image, volume(), ['sh', '-c', 'id --user; touch /sotto/x'])
    expect(identity.output).toMatch(/^1000\n.*Read-only file system/)
    for (const command of [['npx', 'sotto'], ['sotto']])
      expect(await runInImage(image, volume(), [...command, 'key', '--help'])).toMatchObject({
        code: 0,
        output: expect.stringMatching(/^Usage: npx sotto key /),
      })

    const first = await start(data)
    expect((await first.get('/readyz')).status).toBe(200)
    const page = await first.get('/datasets')
    expect(page.headers.get('content-type')).toContain('text/html')
    const script = /src="(\/assets\/[^"]+\.js)"/.exec(await page.text())?.[1]
    expect((await first.get(script ?? 'none')).status).toBe(200)
    expect(await (await first.get('/problems/forbidden')).text()).toContain('id="forbidden"')
    const answer = await first.ask(QUESTION)
    expect(await first.stop()).toBe(0)

    const second = await start(data)
    const repeated = await second.ask(QUESTION)
    expect(repeated).toMatchObject({ id: answer.id, result: answer.result, cost: { epsilon: 0 } })
    expect(repeated.budget.spent).toEqual({ epsilon: 0.25, delta: 0 })
    expect(await second.stop()).toBe(0)
  })
})

/** Names and versions of all packages in a folder of packages. */
function packagesIn(folder: string): string[] {
  const found = new Set<string>()
  for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!/(^|node_modules\/)(@[^/]+\/)?[^/@]+\/package\.json$/.test(file)) continue
    const { name, version } = JSON.parse(readFileSync(path.join(folder, file), 'utf8'))
    found.add(`${name}@${version}`)
  }
  return [...found].sort()
}
