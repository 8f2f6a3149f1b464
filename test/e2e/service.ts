import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Logger, pino } from 'pino'
import supertest from 'supertest'
import { afterAll, beforeAll } from 'vitest'
import { readConfig } from '../../src/config.ts'
import { censusRegistration } from '../../src/datasets/registration/demo.ts'
import type { Role } from '../../src/http/access/principal.ts'
import { must } from '../../src/privacy/must.ts'
import { type Service, type ServiceParts, startService } from '../../src/server.ts'
import { createKey } from '../api-key.ts'
import { WITHOUT_LIMITS } from './process.ts'

/** A complete service on a free port with its own data folder. */
export interface TestService {
  readonly url: string
  /** Address of the metrics' own port, if they have one. */
  readonly metricsUrl: string | undefined
  /** Port of PostgreSQL's protocol, if it is on. */
  readonly pgPort: number | undefined
  readonly dataDirectory: string
  readonly logLines: readonly string[]
  /** Returns a request agent with the key of a role. */
  as(role: Role): ReturnType<typeof supertest.agent>
  keyOf(role: Role): string
  /** Registers a dataset as a custodian. */
  register(registration: object): supertest.Test
  /** Asks a query as an analyst. */
  ask(dataset: string, query: object): supertest.Test
  /** Returns a request agent with the key of another analyst. */
  asColleague(): ReturnType<typeof supertest.agent>
  /** Stops the service and starts it again on the same data folder, with changes of the environment. */
  restart(environment?: Record<string, string>): Promise<void>
  /** Stops the service and keeps its data folder, for `restart`. */
  stop(): Promise<void>
  close(): Promise<void>
}

/** A file to place in the data folder before the start. */
export type PlacedFiles = Readonly<Record<string, string>>

/** What a test adds to a service. */
export interface Additions {
  readonly parts?: ServiceParts
  readonly files?: PlacedFiles
  /** Registers {@link CENSUS}. */
  readonly census?: boolean
}

/** The dataset of the demo with fewer people: to make and read 100,000 takes most of the time of a start. */
export const CENSUS = { ...censusRegistration, source: { ...censusRegistration.source, rows: 5_000 } }

/** Starts a service as `npm start` does, with changes of the environment. */
export async function startTestService(
  environment: Record<string, string> = {},
  { parts = {}, files = {}, census = false }: Additions = {},
): Promise<TestService> {
  const dataDirectory = await mkdtemp(path.join(tmpdir(), 'sotto-e2e-'))
  for (const [name, text] of Object.entries(files))
    await writeFile(path.join(dataDirectory, name), text, { mode: 0o600 })
  const logLines: string[] = []
  const logger: Logger = pino({ level: 'debug' }, { write: (line: string) => logLines.push(line) })
  const start = (changes: Record<string, string> = {}): Promise<Service> =>
    startService(
      readConfig({
        SOTTO_PORT: '0',
        SOTTO_DEMO: 'false',
        SOTTO_DRAIN_MS: '0',
        ...WITHOUT_LIMITS,
        ...environment,
        ...changes,
        SOTTO_DATA_DIR: dataDirectory,
      }),
      logger,
      parts,
    )
  // Keys are created by a command before the start.
  const auditorKey = await createKey(dataDirectory, { name: 'auditor', role: 'auditor' })
  const analystKey = await createKey(dataDirectory, { name: 'analyst', role: 'analyst' })
  const custodianKey = await createKey(dataDirectory, { name: 'custodian', role: 'custodian' })
  const colleagueKey = await createKey(dataDirectory, { name: 'colleague', role: 'analyst' })
  const keys: Record<Role, string> = { analyst: analystKey, auditor: auditorKey, custodian: custodianKey }
  let service = await start()
  const as = (role: Role) => supertest.agent(service.url).set('authorization', `Bearer ${keys[role]}`)
  if (census) await as('custodian').post('/v1/datasets').send(CENSUS).expect(201)
  return {
    get url() {
      return service.url
    },
    get metricsUrl() {
      return service.metricsUrl
    },
    get pgPort() {
      return service.pgPort
    },
    dataDirectory,
    logLines,
    keyOf: (role) => keys[role],
    as,
    register: (registration) => as('custodian').post('/v1/datasets').send(registration),
    ask: (dataset, query) => as('analyst').post(`/v1/datasets/${dataset}/queries`).send(query),
    asColleague: () => supertest.agent(service.url).set('authorization', `Bearer ${colleagueKey}`),
    async restart(changes) {
      await service.close()
      service = await start(changes)
    },
    stop: () => service.close(),
    async close() {
      await service.close()
      await rm(dataDirectory, { recursive: true, force: true })
    },
  }
}

/** A service of the tests of a suite or file: {@link startTestService} before the first, closed after the last. */
export function testService(...options: Parameters<typeof startTestService>): TestService {
  let started: TestService | undefined
  beforeAll(async () => {
    started = await startTestService(...options)
  })
  afterAll(() => started?.close())
  return new Proxy({} as TestService, {
    get: (_, name) => Reflect.get(must(started, 'a started service'), name),
  })
}

/** Reads a file in the data folder of a service. */
export function dataFile(service: TestService, name: string): Promise<string> {
  return readFile(path.join(service.dataDirectory, name), 'utf8')
}

/** Parser for supertest that returns a body of any type as text. */
export function wholeText(
  incoming: supertest.Response,
  done: (error: Error | null, text: string) => void,
): void {
  let text = ''
  incoming.on('data', (part) => {
    text += part
  })
  incoming.on('end', () => done(null, text))
}
