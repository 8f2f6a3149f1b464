import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'

interface LockedPackage {
  readonly dev?: boolean
  readonly devOptional?: boolean
  readonly hasInstallScript?: boolean
  readonly os?: readonly string[]
  readonly cpu?: readonly string[]
  readonly libc?: readonly string[]
}

const { packages }: { packages: Record<string, LockedPackage> } = JSON.parse(
  readFileSync(path.resolve(import.meta.dirname, '../../package-lock.json'), 'utf8'),
)
const production = Object.entries(packages).filter(([, { dev, devOptional }]) => !dev && !devOptional)

test('no package of production is compiled when it is installed, so that images need no compiler', () => {
  expect(production.filter(([, { hasInstallScript }]) => hasInstallScript).map(([name]) => name)).toEqual([])
})

test('packages of production with binaries have them for the architectures of images', () => {
  const binaries = production.filter(([, { cpu }]) => cpu !== undefined)
  const families = new Set(
    binaries.map(([name]) => name.replace(/-(linux|darwin|win32|android|freebsd|openharmony).*$/, '')),
  )
  expect([...families]).toContain('node_modules/@duckdb/node-bindings')
  const missing = [...families].flatMap((family) =>
    ['x64', 'arm64'].filter(
      (architecture) =>
        !binaries.some(
          ([name, { os, cpu, libc }]) =>
            name.startsWith(`${family}-`) &&
            os?.includes('linux') &&
            cpu?.includes(architecture) &&
            (libc?.includes('glibc') ?? true),
        ),
    ),
  )
  expect(missing).toEqual([])
})
