import { expect, test } from 'vitest'
import type { Schemas } from '../../clients/typescript/src/administration.ts'
import { showingIngestion } from '../../src/commands/datasets/progress.ts'

/** A stream that notes what is written to it. */
function fakeTerminal(isTTY = true) {
  const written: string[] = []
  return { written, terminal: { isTTY, write: (text: string) => written.push(text) } }
}

const INGESTION = {
  id: '1',
  kind: 'version',
  dryRun: false,
  principal: 'demo',
  startedAt: '2026-01-01T00:00:00Z',
} as const

type Shown = Pick<Schemas['Ingestion'], 'dataset' | 'phase' | 'fraction'>

/** A service with ingestions, and the requests that it received. */
function fakeService(ingestions: () => readonly Shown[]) {
  const requests: string[] = []
  const client = {
    ingestions: async () => {
      requests.push('ingestions')
      return { ingestions: ingestions().map((each) => ({ ...INGESTION, ...each })) }
    },
  }
  return { requests, client }
}

test('the progress of the newest ingestion of the dataset is shown on a terminal, and removed at the end', async () => {
  const { written, terminal } = fakeTerminal()
  const { requests, client } = fakeService(() => [
    { dataset: 'others', phase: 'store', fraction: 1 },
    { dataset: 'visits', phase: 'read', fraction: 0.5 },
    { dataset: 'visits', phase: 'copy' },
  ])
  const send = async () => {
    await expect.poll(() => written.at(-1)).toContain('Reading the values')
    return 'answer'
  }
  const answer = await showingIngestion(client, 'visits', {}, send, terminal)
  expect(answer).toBe('answer')
  expect(written[0]).toContain('Sending the request')
  expect(written.join()).toContain(`Reading the values [${'#'.repeat(15)}${'.'.repeat(15)}] 50%`)
  expect(written.at(-1)).toBe('\r\u001b[K')
  expect(new Set(requests)).toEqual(new Set(['ingestions']))
})

test('a failure to read the progress does not matter, and the failure of the request does', async () => {
  const { terminal } = fakeTerminal()
  const client = { ingestions: () => Promise.reject(new Error('unreachable')) }
  expect(await showingIngestion(client, 'visits', {}, async () => 'answer', terminal)).toBe('answer')
  const refuse = () => Promise.reject(new Error('refused'))
  const refused = showingIngestion(client, 'visits', {}, refuse, terminal)
  await expect(refused).rejects.toThrow('refused')
})

test.each([
  { isTTY: true, json: true },
  { isTTY: false, json: false },
])('nothing is asked or shown with terminal $isTTY and JSON $json', async ({ isTTY, json }) => {
  const { written, terminal } = fakeTerminal(isTTY)
  const { requests, client } = fakeService(() => [{ dataset: 'visits', phase: 'read', fraction: 0.5 }])
  const send = async () => 'answer'
  expect(await showingIngestion(client, 'visits', { json }, send, terminal)).toBe('answer')
  expect(written).toEqual([])
  expect(requests).toEqual([])
})
