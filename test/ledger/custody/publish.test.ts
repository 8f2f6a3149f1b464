import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import type { ChainHead } from '../../../src/ledger/contract/chain.ts'
import { publishHeads } from '../../../src/ledger/custody/publish.ts'
import {
  createSigningKey,
  type HeadSigner,
  isSignatureOf,
  readHeadSigner,
} from '../../../src/ledger/signature.ts'
import { startTestService } from '../../e2e/service.ts'

let folder = ''
let signer: HeadSigner
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'sotto-publish-'))
  await createSigningKey(path.join(folder, 'key.pem'))
  signer = await readHeadSigner(path.join(folder, 'key.pem'))
})
afterAll(() => rm(folder, { recursive: true }))

const head = (dataset: string, sequence: number): ChainHead => ({
  dataset,
  sequence,
  hash: sequence.toString(16).padStart(64, '0'),
})

/** Publishes the heads of a ledger that the test sets, every 5 ms. */
async function publishing(target: string, heads: ChainHead[]) {
  const ledger = { current: heads }
  const warnings: object[] = []
  const logger = { info: () => undefined, warn: (facts: object) => warnings.push(facts) }
  const publication = { target, everyMs: 5, signer, logger: logger as never }
  const close = await publishHeads({ heads: async () => ledger.current }, publication)
  onTestFinished(close)
  return { ledger, warnings, close }
}

function expectSigned(lines: string): readonly ChainHead[] {
  return lines
    .trim()
    .split('\n')
    .map((line) => {
      const { signature, at, ...each } = JSON.parse(line)
      expect(at).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/)
      expect(isSignatureOf(each, signature, signer.publicKey)).toBe(true)
      return each
    })
}

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/secret-path`
}

test('a file is only appended to, and gets a line for each chain that has changed', async () => {
  const file = path.join(folder, 'published.jsonl')
  await writeFile(file, '{"kept":true}\n')
  const { ledger, close } = await publishing(file, [head('a', 1), head('b', 1)])
  await expect.poll(() => readFile(file, 'utf8')).toContain('"b"')
  ledger.current = [head('a', 1), head('b', 2)]
  await expect.poll(() => readFile(file, 'utf8')).toContain('"sequence":2')
  ledger.current = [head('a', 3), head('b', 2)]
  await close()
  const [kept, ...lines] = (await readFile(file, 'utf8')).trim().split('\n')
  expect(kept).toBe('{"kept":true}')
  expect(expectSigned(lines.join('\n'))).toEqual([head('a', 1), head('b', 1), head('b', 2), head('a', 3)])
})

test('a URL gets a POST, and a failed publication is tried again without its address in the log', async () => {
  const bodies: string[] = []
  const url = await serve(async (request, response) => {
    const body = await text(request)
    expect(request.headers['content-type']).toBe('application/x-ndjson')
    bodies.push(body)
    response
      .writeHead(bodies.length === 1 ? 500 : bodies.length === 2 ? 302 : 204, { location: '/elsewhere' })
      .end()
  })
  const { warnings, close } = await publishing(url, [head('a', 1)])
  await expect.poll(() => bodies.length).toBe(3)
  await close()
  for (const body of bodies) expect(expectSigned(body)).toEqual([head('a', 1)])
  // The end may cut off the third attempt, whose answer is under way.
  expect([2, 3]).toContain(warnings.length)
  expect(warnings[0]).toEqual({ reason: 'the answer has status 500' })
  expect(JSON.stringify(warnings)).not.toContain('secret-path')
})

test('a file that cannot be appended to stops the start', async () => {
  await expect(publishing(path.join(folder, 'missing', 'heads'), [])).rejects.toThrow(
    'SOTTO_HEADS_PUBLISH: must be a file that can be appended to (ENOENT)',
  )
})

test('queries do not wait for a URL that never answers, and a stop waits at most a few seconds', async () => {
  let asked = 0
  const url = await serve(() => {
    asked += 1
  })
  const keyFolder = await mkdtemp(path.join(tmpdir(), 'sotto-publish-'))
  onTestFinished(() => rm(keyFolder, { recursive: true }))
  await createSigningKey(path.join(keyFolder, 'key.pem'))
  const service = await startTestService(
    {
      SOTTO_LEDGER_SIGNING_KEY: path.join(keyFolder, 'key.pem'),
      SOTTO_HEADS_PUBLISH: url,
      SOTTO_HEADS_PUBLISH_SECONDS: '1',
    },
    { census: true },
  )
  try {
    await expect.poll(() => asked).toBe(1)
    await service.ask('census', { kind: 'count', epsilon: 0.1 }).expect(200)
    expect(asked).toBe(1)
  } finally {
    await service.close()
  }
})
