import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readdir, stat, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { pipeline } from 'node:stream/promises'
import { PYTHON_BUILDER } from './pack.ts'
import { ROOT, run } from './programs.ts'

const SUMS = 'SHA256SUMS'

async function sha256(file: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(file), hash)
  return hash.digest('hex')
}

/** Writes which packages the service needs, at which versions, as CycloneDX. @returns the name of the file */
export async function writeSbom(folder: string, version: string): Promise<string> {
  const chosen = ['--omit', 'dev', '--package-lock-only', '--workspaces=false']
  const text = await run('npm', ['sbom', '--sbom-format', 'cyclonedx', ...chosen])
  const name = `sotto-${version}.cdx.json`
  // npm names the component after its folder.
  const document = JSON.parse(text)
  document.metadata.component.name = 'sotto'
  await writeFile(path.join(folder, name), `${JSON.stringify(document, undefined, 2)}\n`)
  return name
}

/**
 * Writes how the files of a folder were made: the commit, the programs with their versions, and the digests, as a statement of
 * in-toto with SLSA's provenance. It is not signed.
 */
export async function writeProvenance(
  folder: string,
  {
    version,
    commit,
    startedAt,
  }: { readonly version: string; readonly commit: string; readonly startedAt: Date },
): Promise<void> {
  const names = (await readdir(folder)).sort()
  const statement = {
    _type: 'https://in-toto.io/Statement/v1',
    subject: await Promise.all(
      names.map(async (name) => ({ name, digest: { sha256: await sha256(path.join(folder, name)) } })),
    ),
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: 'urn:sotto:npm-run-release',
        externalParameters: { version },
        resolvedDependencies: [
          { name: 'sotto', digest: { gitCommit: commit } },
          {
            name: 'package-lock.json',
            digest: { sha256: await sha256(path.join(ROOT, 'package-lock.json')) },
          },
        ],
      },
      runDetails: {
        builder: { id: 'urn:sotto:machine-of-the-owner', version: await builderVersions() },
        metadata: { startedOn: startedAt.toISOString(), finishedOn: new Date().toISOString() },
      },
    },
  }
  await writeFile(path.join(folder, 'provenance.json'), `${JSON.stringify(statement, undefined, 2)}\n`)
}

async function builderVersions(): Promise<Readonly<Record<string, string>>> {
  const stated = async (program: string) => {
    const [first = ''] = (await run(program, ['--version']).catch(() => 'absent')).split('\n')
    return first
  }
  const [, hatchling = ''] = PYTHON_BUILDER.split('==')
  return {
    system: `${process.platform}-${process.arch}`,
    node: process.version,
    npm: await stated('npm'),
    python: await stated('python3'),
    hatchling,
    r: await stated('R'),
    buildah: await stated('buildah'),
  }
}

/** Writes the SHA-256 of each file of a folder, to check with `sha256sum --check`. */
export async function writeChecksums(folder: string): Promise<void> {
  const names = (await readdir(folder)).filter((name) => name !== SUMS).sort()
  const lines = await Promise.all(
    names.map(async (name) => `${await sha256(path.join(folder, name))}  ${name}\n`),
  )
  await writeFile(path.join(folder, SUMS), lines.join(''))
}

/** Lists the files of a folder with their sizes. */
export async function listFiles(folder: string): Promise<string> {
  const names = (await readdir(folder)).sort()
  const sizes = await Promise.all(names.map(async (name) => (await stat(path.join(folder, name))).size))
  return names.map((name, index) => `${String(sizes[index]).padStart(12)} ${name}`).join('\n')
}
