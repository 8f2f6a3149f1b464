import { execFile, execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { readConfig, SECRET_VARIABLES } from '../../src/config.ts'
import { PROGRAM_FOLDER, programsObstacle } from './programs.ts'

const run = promisify(execFile)
const DEPLOY = path.resolve(import.meta.dirname, '../../deploy')
const PRODUCTION = ['grafana', 'postgres', 'prometheus', 'proxy', 'sotto-1', 'sotto-2']

/** A compose file as Docker Compose reads it: variables and anchors are replaced, paths are absolute. */
interface Project {
  readonly services: Readonly<Record<string, Service>>
  readonly secrets: Readonly<Record<string, { readonly file: string }>>
}

interface Service {
  readonly environment?: Readonly<Record<string, string>>
  readonly read_only: boolean
  readonly cap_drop: readonly string[]
  readonly security_opt: readonly string[]
  readonly healthcheck: { readonly test: readonly string[] }
  readonly deploy: { readonly resources: { readonly limits: Readonly<Record<string, unknown>> } }
  readonly secrets?: readonly { readonly source: string }[]
  readonly volumes?: readonly { readonly type: string; readonly source: string }[]
  readonly stop_grace_period?: string
}

const obstacle = programsObstacle()

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'sotto-compose-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function load(profile: string, file = path.join(DEPLOY, 'compose.yaml')): Promise<Project> {
  const { stdout } = await run(path.join(PROGRAM_FOLDER, 'compose'), [file, profile], {
    env: { PATH: process.env.PATH ?? '' },
  })
  return JSON.parse(stdout)
}

describe.skipIf(obstacle !== undefined)(
  `the compose file${obstacle === undefined ? '' : ` (skipped: ${obstacle})`}`,
  () => {
    test('has one service in the profile demo, which needs no secret and no file', async () => {
      const { services } = await load('demo')
      expect(Object.keys(services)).toEqual(['demo'])
      const demo = services.demo
      expect(demo?.secrets).toBeUndefined()
      expect(demo?.volumes?.map(({ type }) => type)).toEqual(['volume'])
      expect(readConfig(demo?.environment ?? {}).demo).toBe(true)
    })

    test('hardens, limits and checks every service of production', async () => {
      const { services } = await load('production')
      expect(Object.keys(services).sort()).toEqual(PRODUCTION)
      for (const [name, service] of Object.entries(services)) {
        expect(service.read_only, name).toBe(true)
        expect(service.cap_drop, name).toEqual(['ALL'])
        expect(service.security_opt, name).toEqual(['no-new-privileges:true'])
        expect(service.healthcheck.test.length, name).toBeGreaterThan(1)
        expect(Object.keys(service.deploy.resources.limits).sort(), name).toEqual(['cpus', 'memory', 'pids'])
        for (const { type, source } of service.volumes ?? [])
          if (type === 'bind') expect(existsSync(source), source).toBe(true)
      }
    })

    test('passes secrets by file alone, which create-secrets.sh writes once', async () => {
      const { services, secrets } = await load('production')
      const script = path.join(folder, 'create-secrets.sh')
      cpSync(path.join(DEPLOY, 'create-secrets.sh'), script)
      execFileSync(script)
      const written = Object.values(secrets).map(({ file }) => path.join(folder, path.relative(DEPLOY, file)))
      const contents = written.map((file) => readFileSync(file, 'utf8').trim())
      expect(new Set(contents).size).toBe(contents.length)
      for (const content of contents) expect(content).toMatch(/[0-9a-f]{64}/)
      expect(statSync(path.join(folder, 'secrets')).mode & 0o777).toBe(0o700)
      execFileSync(script)
      expect(written.map((file) => readFileSync(file, 'utf8').trim())).toEqual(contents)
      const used = new Set(Object.values(services).flatMap((service) => service.secrets ?? []))
      expect(new Set(Array.from(used, ({ source }) => source))).toEqual(new Set(Object.keys(secrets)))
    })

    test('gives the replicas variables that the service accepts, and time to stop', async () => {
      const { services } = await load('production')
      for (const name of ['sotto-1', 'sotto-2']) {
        const service = services[name]
        const environment = Object.entries(service?.environment ?? {}).map(([name, value]) => [
          name,
          SECRET_VARIABLES.some((secret) => name === `${secret}_FILE`)
            ? secretFile(path.basename(value))
            : value,
        ])
        const config = readConfig(Object.fromEntries(environment))
        expect(config.replicated).toBe(true)
        expect(config.ledgerUrl).toMatch(/^postgres:\/\/sotto:\w+@postgres\/sotto$/)
        expect(service?.stop_grace_period).toBe('1m0s')
        expect(config.drainMs + config.shutdownMs).toBeLessThan(60_000)
      }
    })

    test('with a misspelled field is refused', async () => {
      const file = path.join(folder, 'compose.yaml')
      const text = readFileSync(path.join(DEPLOY, 'compose.yaml'), 'utf8')
      writeFileSync(file, text.replace('read_only:', 'readonly:'))
      await expect(load('demo', file)).rejects.toThrow(/readonly/)
    })
  },
)

test('Prometheus reads the metrics of each replica', () => {
  const text = (name: string) => readFileSync(path.join(DEPLOY, name), 'utf8')
  const { services } = parse(text('compose.yaml'), { merge: true })
  const replicas = Object.keys(services).filter((name) => /^sotto-\d$/.test(name))
  const [{ static_configs: targets }] = parse(text('prometheus/prometheus.yaml')).scrape_configs
  expect(targets).toEqual([{ targets: replicas.map((name) => `${name}:9090`) }])
  expect(text('proxy/Caddyfile')).toContain(
    `{$SOTTO_REPLICAS:${replicas.map((name) => `${name}:8080`).join(' ')}}`,
  )
})

/** Writes a secret as `create-secrets.sh` does, and returns its path. */
function secretFile(name: string): string {
  const file = path.join(folder, name)
  writeFileSync(file, name === 'ledger-url' ? 'postgres://sotto:secret@postgres/sotto\n' : 'k'.repeat(64))
  return file
}
