import { spawnSync } from 'node:child_process'

/** Returns true if a program that an example needs is installed. */
export function installed(program: string): boolean {
  return spawnSync(program, ['--version']).status === 0
}
