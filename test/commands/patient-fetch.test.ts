import { openAsBlob } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { patientFetch } from '../../src/commands/patient-fetch.ts'

test('an upload that is refused before all of it was sent is answered, and nothing is thrown later', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'sotto-fetch-'))
  const server = createServer((_, answer) => answer.writeHead(403).end('refused'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    server.close()
    await rm(folder, { recursive: true })
  })
  const file = path.join(folder, 'large.csv')
  await writeFile(file, 'x'.repeat(300_000))
  const { port } = server.address() as AddressInfo
  // Vitest fails for errors that nothing caught.
  for (let i = 0; i < 10; i += 1) {
    const body = new FormData()
    body.append('file', await openAsBlob(file), 'large.csv')
    const refused = await patientFetch()(`http://127.0.0.1:${port}/`, { method: 'POST', body })
    expect([refused.status, await refused.text()]).toEqual([403, 'refused'])
  }
})
