import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { installed } from '../installed.ts'
import { startServiceProcess } from './process.ts'

const run = promisify(execFile)

test.skipIf(!installed('curl'))('the printed command works when it is pasted into a shell', async () => {
  const directory = await mkdtemp(path.join(tmpdir(), 'sotto-first-'))
  const service = await startServiceProcess({ SOTTO_DATA_DIR: directory })
  onTestFinished(async () => {
    await service.stop('SIGKILL')
    await rm(directory, { recursive: true })
  })
  const line = service
    .output()
    .split('\n')
    .find((text) => text.trimStart().startsWith('curl '))
  const { stdout } = await run('sh', ['-c', line ?? 'exit 1'])
  expect(JSON.parse(stdout)).toMatchObject({ kind: 'count', dataset: 'census', cost: { epsilon: 0.1 } })
})
