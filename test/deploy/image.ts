import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { installed } from '../installed.ts'

/*
 * Builds the image without a container engine: Buildah builds it in a chroot, over a base that is made here from Debian's
 * packages, this process's Node and the machine's npm. Programs of the image run in a mount namespace of their own.
 */

const run = promisify(execFile)
const REPOSITORY = path.resolve(import.meta.dirname, '../..')
const BASE = 'docker.io/library/node:24-bookworm-slim'

/** Identity of the user `node` in the image. */
const USER_ID = 1000

/** Returns why no image can be built; `undefined` if one can. */
export function imageObstacle(): string | undefined {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'it needs Linux and root'
  const missing = ['buildah', 'debootstrap', 'unshare'].filter((program) => !installed(program))
  return missing.length === 0 ? undefined : `it needs ${missing.join(' and ')}`
}

/** Facts that an image states about itself. */
export interface ImageConfig {
  readonly Labels: Readonly<Record<string, string>>
  readonly Env: readonly string[]
  readonly User: string
  readonly Cmd: readonly string[]
  readonly Volumes: Readonly<Record<string, unknown>>
}

/** A built image whose files are mounted. */
export interface BuiltImage {
  readonly config: ImageConfig
  /** Folder with the files of the image. */
  readonly root: string
  /** Folder with the files of its base. */
  readonly baseRoot: string
  remove(): Promise<void>
}

/** Builds the image from the files of the repository. */
export async function buildImage(revision: string): Promise<BuiltImage> {
  const folder = mkdtempSync(path.join(tmpdir(), 'sotto-image-'))
  const buildah = async (...options: readonly string[]) => {
    const storage = ['--storage-driver', 'vfs', '--root', `${folder}/storage`, '--runroot', `${folder}/run`]
    const { stdout } = await run('buildah', [...storage, ...options], { maxBuffer: 1e8, cwd: REPOSITORY })
    return stdout.trim()
  }
  const mount = async (image: string) => {
    const container = await buildah('from', '--pull-never', image)
    return buildah('mount', container)
  }
  await makeBase(path.join(folder, 'base'), buildah)
  const { stdout: cache } = await run('npm', ['config', 'get', 'cache'], { cwd: REPOSITORY })
  mkdirSync(cache.trim(), { recursive: true })
  await buildah(
    'bud',
    ...['--isolation', 'chroot', '--pull-never', '--format', 'docker'],
    ...['--volume', `${cache.trim()}:/root/.npm`],
    ...['--build-arg', `REVISION=${revision}`, '--tag', 'sotto', '.'],
  )
  const { Docker } = JSON.parse(await buildah('inspect', '--type', 'image', 'sotto'))
  return {
    config: Docker.config,
    root: await mount('sotto'),
    baseRoot: await mount(BASE),
    async remove() {
      await buildah('umount', '--all')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Makes the base that the Dockerfile names. Nothing of the machine but its certificates and npm's settings is in it. */
async function makeBase(
  folder: string,
  buildah: (...options: readonly string[]) => Promise<string>,
): Promise<void> {
  await run('debootstrap', ['--variant=minbase', 'bookworm', folder], { maxBuffer: 1e8 })
  const node = path.join(folder, 'usr/local/bin/node')
  cpSync(realpathSync(process.execPath), node)
  const modules = execFileSync('npm', ['root', '--global'], { cwd: tmpdir(), encoding: 'utf8' }).trim()
  cpSync(path.join(modules, 'npm'), path.join(folder, 'usr/local/lib/node_modules/npm'), { recursive: true })
  for (const program of ['npm', 'npx'])
    symlinkSync(`../lib/node_modules/npm/bin/${program}-cli.js`, path.join(folder, 'usr/local/bin', program))
  await run('chroot', [folder, 'useradd', '--uid', `${USER_ID}`, '--create-home', 'node'])
  const settings = ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin']
  const { NODE_EXTRA_CA_CERTS: certificates } = process.env
  if (certificates !== undefined && existsSync(certificates)) {
    mkdirSync(path.join(folder, 'etc/ssl'), { recursive: true })
    cpSync(certificates, path.join(folder, 'etc/ssl/machine.pem'))
    settings.push('NODE_EXTRA_CA_CERTS=/etc/ssl/machine.pem')
  }
  const { stdout: registry } = await run('npm', ['config', 'get', 'registry'], { cwd: REPOSITORY })
  settings.push(`npm_config_registry=${registry.trim()}`)
  const container = await buildah('from', 'scratch')
  await buildah('add', container, folder, '/')
  await buildah('config', ...settings.flatMap((setting) => ['--env', setting]), container)
  await buildah('commit', '--rm', '--format', 'docker', container, BASE)
  rmSync(folder, { recursive: true, force: true })
}

/** Size of all files below a folder, in bytes. */
export async function sizeOf(folder: string): Promise<number> {
  const { stdout } = await run('du', ['--summarize', '--bytes', folder])
  return Number.parseInt(stdout, 10)
}

/** Starts a program of the image as its user, with a read-only root and a volume at `/data`. */
export function startInImage(
  { root, config }: BuiltImage,
  {
    data,
    command,
    environment = {},
  }: {
    readonly data: string
    readonly command: readonly string[]
    readonly environment?: Readonly<Record<string, string>>
  },
): ChildProcess {
  const mounts = `
    mount --rbind "$0" "$0" && mount -o remount,bind,ro "$0" && mount --bind "$1" "$0/data" &&
    mount -t proc proc "$0/proc" && mount --bind /dev "$0/dev" &&
    shift && exec chroot --userspec=${USER_ID}:${USER_ID} "$0" /bin/sh -c 'cd /sotto && exec "$@"' sh "$@"`
  const given = Object.fromEntries(config.Env.map((each) => each.split(/=(.*)/s).slice(0, 2)))
  return spawn('unshare', ['--mount', 'sh', '-c', mounts, root, data, ...command], {
    env: { ...given, HOME: '/home/node', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

/** Runs a program of the image, and returns its exit code and output. */
export async function runInImage(image: BuiltImage, data: string, command: readonly string[]) {
  const child = startInImage(image, { data, command })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (part) => (output += part))
  const [code] = await once(child, 'close')
  return { code: code as number | null, output }
}
