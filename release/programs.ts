import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'

/** Folder of the repository. */
export const ROOT = path.resolve(import.meta.dirname, '..')

/**
 * Runs a program and returns what it prints.
 * @param cwd folder to run it in; that of the repository by default
 * @throws Error with the program's own message if it fails
 */
export async function run(program: string, args: readonly string[], cwd = ROOT): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(program, args, { cwd, maxBuffer: 1e9 })
    return stdout.trim()
  } catch (error) {
    const { stderr, stdout } = error as { readonly stderr?: string; readonly stdout?: string }
    const said = [stdout, stderr].filter(Boolean).join('\n') || String(error)
    throw new Error(`${program} ${args.join(' ')}: ${said}`)
  }
}
