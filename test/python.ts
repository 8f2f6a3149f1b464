import { spawnSync } from 'node:child_process'

/** Names of Python, that of the machine's choice first. */
const PYTHONS = [
  'python3',
  'python3.14',
  'python3.13',
  'python3.12',
  'python3.11',
  'python3.10',
  '/usr/bin/python3',
]
const USABLE = 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))'

/** Returns a Python that can create virtual environments and run the client; `undefined` if there is none. */
export function findPython(): string | undefined {
  return PYTHONS.find((name) => spawnSync(name, ['-c', USABLE]).status === 0)
}
