import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pino } from 'pino'
import { readConfig } from '../config.ts'
import { startService } from '../server.ts'
import type { CommandDefinition } from './command.ts'

/** `npx sotto openapi` */
export const define: CommandDefinition = (command) => {
  command
    .description('Writes openapi.yaml, as a running service serves it, to the current folder.')
    .action(writeDocument)
}

async function writeDocument(): Promise<void> {
  const directory = await mkdtemp(path.join(tmpdir(), 'sotto-openapi-'))
  const config = readConfig({
    SOTTO_DATA_DIR: directory,
    SOTTO_PORT: '0',
    SOTTO_DEMO: 'false',
    SOTTO_DRAIN_MS: '0',
  })
  const service = await startService(config, pino({ level: 'warn' }))
  try {
    const response = await fetch(`${service.url}/openapi.yaml`)
    await writeFile('openapi.yaml', await response.text())
  } finally {
    await service.close()
    await rm(directory, { recursive: true })
  }
}
