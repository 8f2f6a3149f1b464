import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import type { TestService } from '../e2e/service.ts'

const execute = promisify(execFile)

/** The text of a documentation page. @param name its path in the repository */
export function readPage(name: string): string {
  return readFileSync(path.resolve(import.meta.dirname, '../..', name), 'utf8')
}

/** The shell blocks of a page, in order. */
export function commandsOf(page: string): readonly string[] {
  return [...page.matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(([, text = '']) => text)
}

/** A folder that looks like the one in which a service was started, to run a page's commands in. */
export interface Shell {
  readonly folder: string
  /** Runs a script and returns the lines it prints. Fails when a command fails. */
  run(script: string): Promise<readonly string[]>
  close(): Promise<void>
}

/** Opens a shell whose `data/` folder is the service's, with the key files of a first start. */
export async function openShell(service: TestService): Promise<Shell> {
  const folder = await mkdtemp(path.join(tmpdir(), 'sotto-page-'))
  await symlink(service.dataDirectory, path.join(folder, 'data'))
  for (const role of ['analyst', 'custodian'] as const)
    await writeFile(path.join(service.dataDirectory, `${role}.key`), `${service.keyOf(role)}\n`)
  return {
    folder,
    async run(script) {
      const located = script.replaceAll('http://127.0.0.1:8080', service.url)
      const { stdout } = await execute('sh', ['-ec', located], { cwd: folder, maxBuffer: 10_000_000 })
      return stdout.replace(/\n$/, '').split('\n')
    },
    close: () => rm(folder, { recursive: true, force: true }),
  }
}
