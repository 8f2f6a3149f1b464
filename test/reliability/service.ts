import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { createKey } from '../api-key.ts'
import { type ServiceProcess, startServiceProcess } from '../e2e/process.ts'

/** A data folder with a small dataset to register, and the keys to it. */
export interface ServiceFolder {
  readonly directory: string
  readonly analystKey: string
  readonly auditorKey: string
  readonly custodianKey: string
  /** Starts a service process on the folder, which ends with the test at the latest. */
  start(environment?: Readonly<Record<string, string>>): Promise<ServiceProcess>
}

/** One answer of a service. */
export interface Response {
  readonly status: number
  readonly text: string
  readonly replayed: boolean
}

export async function makeServiceFolder(): Promise<ServiceFolder> {
  const directory = mkdtempSync(path.join(tmpdir(), 'sotto-reliability-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  writeFileSync(path.join(directory, 'pupils.csv'), 'year\n1\n2\n3\n4\n')
  return {
    directory,
    analystKey: await createKey(directory, { name: 'ada', role: 'analyst' }),
    auditorKey: await createKey(directory, { name: 'otto', role: 'auditor' }),
    custodianKey: await createKey(directory, { name: 'carol', role: 'custodian' }),
    async start(environment = {}) {
      const service = await startServiceProcess({
        SOTTO_DATA_DIR: directory,
        SOTTO_DEMO: 'false',
        SOTTO_LOG_LEVEL: 'silent',
        ...environment,
      })
      onTestFinished(() => {
        service.child.kill('SIGKILL')
      })
      return service
    },
  }
}

/** Registers the folder's dataset `pupils` with a budget. */
export async function registerPupils(folder: ServiceFolder, url: string, epsilon: number): Promise<void> {
  const registration = {
    id: 'pupils',
    title: 'Pupils',
    timing: 'off',
    source: { kind: 'file', path: 'pupils.csv', format: 'csv' },
    columns: [{ name: 'year', type: 'integer', lower: 1, upper: 4 }],
    privacyUnit: { kind: 'row' },
    neighbours: 'add-remove',
    budget: { epsilon, delta: 0 },
  }
  const { status, text } = await send(folder.custodianKey, `${url}/v1/datasets`, registration)
  expect(status, text).toBe(201)
}

/** Asks for a noisy count of pupils. */
export function askPupils(
  folder: ServiceFolder,
  url: string,
  epsilon: number,
  key: string,
): Promise<Response> {
  const query = { kind: 'count', epsilon }
  return send(folder.analystKey, `${url}/v1/datasets/pupils/queries`, query, key)
}

export async function getJson(key: string, url: string): Promise<Record<string, unknown>> {
  const response = await fetch(url, { headers: { authorization: `Bearer ${key}` } })
  const text = await response.text()
  expect(response.status, text).toBe(200)
  return JSON.parse(text)
}

/** Sends a body with a key. */
export async function send(
  key: string,
  url: string,
  body: object,
  idempotencyKey?: string,
): Promise<Response> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
    },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  const replayed = response.headers.get('idempotent-replayed') === 'true'
  return { status: response.status, text: replayed ? storedText(text) : text, replayed }
}

/** Returns the stored answer that a replay was made from. */
function storedText(replay: string): string {
  const { price, ...document } = JSON.parse(replay)
  expect(Object.values(document.cost).every((amount) => amount === 0)).toBe(true)
  return JSON.stringify({ ...document, cost: price })
}
