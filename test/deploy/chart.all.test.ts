import { execFile, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { readConfig, SECRET_VARIABLES } from '../../src/config.ts'
import { findPython } from '../python.ts'
import { PROGRAM_FOLDER, programsObstacle } from './programs.ts'

const run = promisify(execFile)
const CHART = path.resolve(import.meta.dirname, '../../deploy/helm/sotto')
const SETS = path.resolve(import.meta.dirname, 'charts')
const names = readdirSync(SETS)
  .filter((name) => !name.endsWith('.objects.yaml'))
  .map((name) => path.basename(name, '.yaml'))

/** Oldest and newest version of Kubernetes whose schemas the objects are checked against. */
const KUBERNETES_VERSIONS = ['1.29', '1.37']
/** Kinds that are not part of Kubernetes. The program `chart` checks them against the types of their operator. */
const CUSTOM_KINDS = ['ServiceMonitor']

const obstacle = programsObstacle()
const python = findPython()

/** An object of Kubernetes, as far as the tests read it. */
interface KubernetesObject {
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly spec: {
    readonly template: {
      readonly spec: {
        readonly terminationGracePeriodSeconds: number
        readonly containers: readonly [
          {
            readonly env: readonly { readonly name: string; readonly value: string }[]
            readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[]
          },
        ]
        readonly volumes: readonly { readonly name: string }[]
      }
    }
  }
}

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'sotto-chart-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Renders the chart, and rejects with the errors of Helm. */
async function render(valuesFile: string, chart = CHART): Promise<string> {
  const { stdout } = await run(path.join(PROGRAM_FOLDER, 'chart'), [chart, valuesFile])
  return stdout
}

async function refusal(values: string, chart = CHART): Promise<string> {
  const file = path.join(folder, 'refused.yaml')
  writeFileSync(file, values)
  return await render(file, chart).then(
    () => 'rendered',
    ({ stderr }) => stderr,
  )
}

function objectsIn(text: string): readonly KubernetesObject[] {
  return parseAllDocuments(text).map((document) => document.toJS())
}

describe.skipIf(obstacle !== undefined)(
  `the Helm chart${obstacle === undefined ? '' : ` (skipped: ${obstacle})`}`,
  () => {
    test('has a value of its own for each variable that its settings may not contain', () => {
      const template = readFileSync(path.join(CHART, 'templates/_pod.tpl'), 'utf8')
      const ours = new Set(Array.from(template.matchAll(/"(SOTTO_[A-Z_]+)"/g), ([, name = '']) => name))
      const { settings } = JSON.parse(readFileSync(path.join(CHART, 'values.schema.json'), 'utf8')).properties
      expect(Object.keys(settings.properties).sort()).toEqual(
        [...new Set([...ours, ...Array.from(ours, (name) => name.replace(/_FILE$/, ''))])].sort(),
      )
    })

    test.each(names)('with the values %s passes helm lint, and gives the stored objects', async (name) => {
      const objects = await render(path.join(SETS, `${name}.yaml`))
      await expect(objects).toMatchFileSnapshot(path.join(SETS, `${name}.objects.yaml`))
    })

    test.each(names)(
      'with the values %s gives the service variables and files that it accepts',
      async (name) => {
        const objects = objectsIn(await render(path.join(SETS, `${name}.yaml`)))
        const pod = objects.find(({ kind }) => kind === 'Deployment')?.spec.template.spec
        if (pod === undefined) throw new Error('there is no Deployment')
        const [{ env, volumeMounts }] = pod.containers
        expect(volumeMounts.map((mount) => mount.name)).toEqual(pod.volumes.map((volume) => volume.name))
        const files = env.filter(({ value }) => value.startsWith('/')).map(({ value }) => value)
        for (const file of files)
          expect(volumeMounts.some(({ mountPath }) => file.startsWith(mountPath))).toBe(true)
        const config = readConfig(
          Object.fromEntries(env.map(({ name, value }) => [name, withSecret(name, value)])),
        )
        expect(config.dataDirectory).toBe('/data')
        expect(1_000 * pod.terminationGracePeriodSeconds).toBeGreaterThan(config.drainMs + config.shutdownMs)
      },
    )

    test.each([
      ['replicas: 2', 'a SQLite ledger has one replica'],
      ['ledger: {kind: postgres}', 'ledger.postgres.secret: is needed'],
      ['catalog: {kind: postgres}', 'needs ledger.kind postgres'],
      [
        'demo: true\nledger: {kind: postgres, postgres: {secret: url}}\ncatalog: {kind: postgres}',
        'demo: its rows are a file',
      ],
      ['ledger: {kind: mysql}', '/ledger/kind'],
      ['replicas: 0', '/replicas'],
      ['replica: 2', "additional properties 'replica' not allowed"],
      ['oidc: {issuer: "https://login.example.org"}', 'oidc.audience: is needed'],
      ['oidc: {clientId: console}', 'oidc.issuer: is needed'],
      ['oidc: {secret: sotto-oidc, audience: sotto}', 'not both'],
      ['oidc: {issuer: "http://login.example.org", audience: sotto}', '/oidc/issuer'],
      ['ingress: {enabled: true}', 'ingress.host: is needed'],
      ['metrics: {serviceMonitor: {enabled: true}}', 'needs metrics.enabled'],
      ['metrics: {enabled: true, port: 8080}', '/metrics/port'],
      ['settings: {SOTTO_LEDGER_URL: "postgres://sotto:password@db/sotto"}', '/settings/SOTTO_LEDGER_URL'],
      ['settings: {SOTTO_QUERY_THREADS: 4}', '/settings/SOTTO_QUERY_THREADS'],
      ['networkPolicy: {monitoring: []}', '/networkPolicy/monitoring'],
    ])('refuses %s', async (values, reason) => {
      expect(await refusal(values)).toContain(reason)
    })

    test.each([
      ['deployment.yaml', 'readOnlyRootFilesystem', 'readOnlyRootFileSystem'],
      ['servicemonitor.yaml', 'interval:', 'intervall:'],
    ])('whose %s has a misspelled field is refused', async (file, right, wrong) => {
      const copy = path.join(folder, wrong.replace(':', ''), 'sotto')
      mkdirSync(path.dirname(copy), { recursive: true })
      cpSync(CHART, copy, { recursive: true })
      const template = path.join(copy, 'templates', file)
      writeFileSync(template, readFileSync(template, 'utf8').replace(right, wrong))
      const values = readFileSync(path.join(SETS, 'replicas.yaml'), 'utf8')
      expect(await refusal(values, copy)).toMatch(
        new RegExp(`${file}.*unknown field.*${wrong.replace(':', '')}`),
      )
    })

    test.skipIf(python === undefined)(
      `has objects that fit the schemas of Kubernetes ${KUBERNETES_VERSIONS.join(' and ')}`,
      async () => {
        const environment = path.join(folder, 'environment')
        await run(python ?? '', ['-m', 'venv', environment])
        const program = (name: string) => path.join(environment, 'bin', name)
        await run(program('pip'), ['install', '--quiet', '--no-compile', 'kubernetes-validate==1.37.0'])
        const validate = (version: string, files: readonly string[]) =>
          spawnSync(program('kubernetes-validate'), ['--strict', '--kubernetes-version', version, ...files], {
            encoding: 'utf8',
          })
        const files: string[] = []
        let expected = 0
        for (const name of names) {
          const objects = objectsIn(await render(path.join(SETS, `${name}.yaml`)))
          const standard = objects.filter(({ kind }) => !CUSTOM_KINDS.includes(kind))
          expected += standard.length
          files.push(path.join(folder, `${name}.yaml`))
          writeFileSync(files.at(-1) ?? '', standard.map((object) => JSON.stringify(object)).join('\n---\n'))
        }
        for (const version of KUBERNETES_VERSIONS) {
          const { status, stdout, stderr } = validate(version, files)
          expect(status, stdout + stderr).toBe(0)
          expect(stdout.match(/ passed for resource /g)).toHaveLength(expected)
        }
        const wrong = path.join(folder, 'wrong.yaml')
        writeFileSync(wrong, readFileSync(files[0] ?? '', 'utf8').replace('"replicas":', '"replica":'))
        expect(validate('1.37', [wrong]).status).not.toBe(0)
      },
    )
  },
)

/** Puts a file with a secret of the right form in the place of one that Kubernetes mounts. */
function withSecret(name: string, value: string): string {
  if (!SECRET_VARIABLES.some((secret) => name === `${secret}_FILE`)) return value
  const file = path.join(folder, name)
  writeFileSync(file, name.endsWith('_URL_FILE') ? 'postgres://sotto@db/sotto\n' : 'k'.repeat(32))
  return file
}
