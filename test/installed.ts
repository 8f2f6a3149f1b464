import { spawnSync } from 'node:child_process'

/** Returns true if a program is installed, which states its version when asked. */
export function installed(program: string, asked = '--version'): boolean {
  return spawnSync(program, [asked]).status === 0
}
