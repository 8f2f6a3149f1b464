/**
 * Makes a release: `npm run release -- <version>`. Writes the version into all parts, runs the checks, commits, and writes
 * packages, image and evidence to `dist/<version>`. Publishes nothing; release/README.md says what comes next.
 */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { listFiles, writeChecksums, writeProvenance, writeSbom } from './evidence.ts'
import { pack } from './pack.ts'
import { ROOT, run } from './programs.ts'
import { closeChangelog, writeVersion } from './versions.ts'

const CHANGELOG = path.join(ROOT, 'CHANGELOG.md')

/** What the arguments ask for. */
interface Asked {
  readonly version: string
  readonly tests: boolean
  readonly image: boolean
}

function readArguments(): Asked {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { 'without-tests': { type: 'boolean' }, 'without-image': { type: 'boolean' } },
  })
  const [version = '', ...others] = positionals
  if (!/^\d+\.\d+\.\d+$/.test(version) || others.length > 0)
    throw new Error('usage: npm run release -- <version, such as 1.2.3> [--without-tests] [--without-image]')
  return { version, tests: values['without-tests'] !== true, image: values['without-image'] !== true }
}

/** Refuses what would not be a release of a known state with known terms. */
async function requireReady(version: string): Promise<void> {
  if (!existsSync(path.join(ROOT, 'LICENSE')))
    throw new Error(
      'a release needs a licence, which its owner chooses: put its text into a file LICENSE beside package.json, and commit it',
    )
  if ((await run('git', ['status', '--porcelain'])) !== '')
    throw new Error('the work tree has changes: commit them first')
  if ((await run('git', ['tag', '--list', `v${version}`])) !== '')
    throw new Error(`version ${version} exists already: git has the tag v${version}`)
  const { version: present }: { readonly version: string } = JSON.parse(
    await readFile(path.join(ROOT, 'package.json'), 'utf8'),
  )
  if (version.localeCompare(present, 'en', { numeric: true }) < 0)
    throw new Error(`version ${version} is older than the present one, ${present}`)
}

/**
 * Writes the version and the date into the work tree, checks it, and commits it. Restores it if a check fails. A commit of an
 * earlier attempt is kept.
 */
async function commitVersion({ version, tests }: Asked): Promise<string> {
  const message = `chore(release): ${version}`
  if ((await run('git', ['log', '-1', '--format=%s'])) === message) return run('git', ['rev-parse', 'HEAD'])
  const date = new Date().toISOString().slice(0, 10)
  try {
    await writeFile(CHANGELOG, closeChangelog(await readFile(CHANGELOG, 'utf8'), version, date))
    await writeVersion(version)
    if (tests) check()
    await run('git', ['commit', '--all', '--message', message])
  } catch (error) {
    await run('git', ['checkout', '--', '.'])
    throw error
  }
  return run('git', ['rev-parse', 'HEAD'])
}

function check(): void {
  console.log('Running npm test.')
  const { status } = spawnSync('npm', ['test'], { cwd: ROOT, stdio: 'inherit' })
  if (status !== 0) throw new Error('npm test failed; nothing was changed')
}

/** Builds the image with Buildah and writes it as an OCI archive. */
async function writeImage(folder: string, version: string, commit: string): Promise<void> {
  const tag = `sotto:${version}`
  const labels = ['--build-arg', `VERSION=${version}`, '--build-arg', `REVISION=${commit}`]
  await run('buildah', ['bud', '--format', 'oci', ...labels, '--tag', tag, '.'])
  await run('buildah', ['push', tag, `oci-archive:${path.join(folder, `sotto-${version}.oci.tar`)}:${tag}`])
}

async function release(): Promise<void> {
  const startedAt = new Date()
  const asked = readArguments()
  const { version } = asked
  await requireReady(version)
  const commit = await commitVersion(asked)
  const folder = path.join(ROOT, 'dist', version)
  console.log(`Packing commit ${commit}.`)
  await rm(folder, { recursive: true, force: true })
  await pack(folder)
  if (!asked.image) console.log('No image was built, as asked.')
  else if ((await run('buildah', ['--version']).catch(() => '')) === '')
    console.log('No image was built. On a machine with Buildah, one is.')
  else await writeImage(folder, version, commit)
  await writeSbom(folder, version)
  await writeProvenance(folder, { version, commit, startedAt })
  await writeChecksums(folder)
  console.log(
    `\n${folder}\n${await listFiles(folder)}\n\nNothing is published. release/README.md says what comes next.`,
  )
}

try {
  await release()
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
