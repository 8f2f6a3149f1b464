import { spawnSync } from 'node:child_process'

/** Whether a program that an example is written for is on this machine. */
export function installed(program: string): boolean {
  return spawnSync(program, ['--version']).status === 0
}
