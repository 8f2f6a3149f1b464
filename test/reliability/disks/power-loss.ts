import type { Chance } from '../rounds.ts'

/*
 * A model of a disk that loses power. Data written to a file since its last flush may be present, absent or present in
 * part, in any order; so may files created or removed since the last flush of their folder. From the trace of a process
 * on an honest disk it computes the files that a loss of power could have left at any moment.
 */

/** A step of a process in one folder, in the order in which its effect could become visible. */
export type Step =
  | { readonly kind: 'opened'; readonly file: string }
  | { readonly kind: 'removed'; readonly file: string }
  | { readonly kind: 'written'; readonly file: string; readonly offset: number; readonly bytes: Buffer }
  | { readonly kind: 'truncated'; readonly file: string; readonly length: number }
  /** Everything written to the file before is durable; for the folder, the list of its files. */
  | { readonly kind: 'flushed'; readonly file: string }
  /** Lines of output: a reader relies on them. */
  | { readonly kind: 'said'; readonly lines: readonly string[] }

/** The system calls that {@link stepsOf} needs, on any file. */
export const STEP_CALLS = ['openat', 'pwrite64', 'fsync', 'fdatasync', 'ftruncate', 'unlink', 'write']

/** Calls that could write without being seen by {@link stepsOf}. */
const UNKNOWN_CALLS = /^(pwritev2?|writev|mmap|rename|renameat2?|fallocate|copy_file_range)\(/

/** The files of a folder, by their paths. */
export type Files = ReadonlyMap<string, Buffer>

/** Disks write sectors whole. */
const SECTOR_BYTES = 512

/**
 * The steps of a trace (`strace -f -y -xx`) that concern the files of a folder, and standard output.
 * @throws Error for a call of another kind on these files.
 */
export function stepsOf(trace: string, folder: string): readonly Step[] {
  const steps: Step[] = []
  const begun = new Map<string, string>()
  let said = ''
  function take(call: string): void {
    const [, name = '', args = ''] = /^(\w+)\((.*)$/.exec(call) ?? []
    const descriptor = decoded(/^\d+<([^>]*)>/.exec(args)?.[1])
    const inFolder =
      descriptor !== undefined && (descriptor === folder || descriptor.startsWith(`${folder}/`))
    if (inFolder && UNKNOWN_CALLS.test(call)) throw new Error(`cannot follow ${call.slice(0, 80)}`)
    switch (name) {
      case 'openat':
      case 'unlink': {
        const file = decoded(/"([^"]*)"/.exec(args)?.[1]) ?? ''
        if (!file.startsWith(`${folder}/`) || / = -1 /.test(args)) return
        if (name === 'unlink') steps.push({ kind: 'removed', file })
        else if (args.includes('O_CREAT')) steps.push({ kind: 'opened', file })
        return
      }
      case 'pwrite64': {
        if (!inFolder) return
        const [, bytes = '', offset, written] = /"([^"]*)", \d+, (\d+)\)\s+= (\d+)/.exec(args) ?? []
        const all = bytesOf(bytes)
        if (all.length !== Number(written))
          throw new Error(`cannot follow a part of a write: ${call.slice(0, 80)}`)
        steps.push({ kind: 'written', file: descriptor, offset: Number(offset), bytes: all })
        return
      }
      case 'ftruncate': {
        const length = Number(/, (\d+)\)/.exec(args)?.[1])
        if (inFolder) steps.push({ kind: 'truncated', file: descriptor, length })
        return
      }
      case 'fsync':
      case 'fdatasync':
        if (inFolder && / = 0$/.test(args)) steps.push({ kind: 'flushed', file: descriptor })
        return
    }
  }
  for (const line of trace.split('\n')) {
    const [, thread = '', rest = ''] = /^(\d+)\s+(.*)$/.exec(line) ?? []
    const saying = /^write\(1<[^>]*>, "([^"]*)"/.exec(rest)?.[1]
    if (saying !== undefined) {
      // Output counts from the beginning of its call. Any other call counts from its end: a flush takes effect no
      // sooner, and a write that may already be present is one of those that may be lost.
      const lines = (said + bytesOf(saying).toString()).split('\n')
      said = lines.pop() ?? ''
      steps.push({ kind: 'said', lines })
      continue
    }
    const unfinished = /^(.*) <unfinished \.\.\.>$/.exec(rest)?.[1]
    const resumed = /^<\.\.\. \w+ resumed>(.*)$/.exec(rest)?.[1]
    if (unfinished !== undefined) begun.set(thread, unfinished)
    else take(resumed === undefined ? rest : `${begun.get(thread) ?? ''}${resumed}`)
  }
  return steps
}

/** One file, even if it was renamed. */
interface Content {
  durable: Buffer
  pending: Extract<Step, { kind: 'written' | 'truncated' }>[]
}

/**
 * Files that a loss of power after this many steps could leave, and the lines written by then.
 * @param before the durable files before the first step
 */
export function afterPowerLoss(
  folder: string,
  before: Files,
  steps: readonly Step[],
  random: Chance,
): { readonly files: Files; readonly lines: readonly string[] } {
  const contents = new Map(
    [...before].map(([file, durable]): [string, Content] => [file, { durable, pending: [] }]),
  )
  let names = new Map(contents)
  let pendingNames: { readonly file: string; readonly content?: Content }[] = []
  const lines: string[] = []
  for (const step of steps) {
    switch (step.kind) {
      case 'said':
        lines.push(...step.lines)
        break
      case 'opened': {
        if (contents.has(step.file)) break
        const content = { durable: Buffer.alloc(0), pending: [] }
        contents.set(step.file, content)
        pendingNames.push({ file: step.file, content })
        break
      }
      case 'removed':
        contents.delete(step.file)
        pendingNames.push({ file: step.file })
        break
      case 'written':
      case 'truncated':
        contents.get(step.file)?.pending.push(step)
        break
      case 'flushed': {
        if (step.file === folder) {
          for (const each of pendingNames) rename(names, each)
          pendingNames = []
          break
        }
        const content = contents.get(step.file)
        if (content === undefined) break
        for (const write of content.pending) content.durable = applied(content.durable, write)
        content.pending = []
      }
    }
  }
  names = new Map(names)
  const fate = random.oneOf(['none', 'all', 'some', 'torn'] as const)
  for (const each of pendingNames) if (happens(fate, random)) rename(names, each)
  const files = new Map<string, Buffer>()
  for (const [file, { durable, pending }] of names) {
    let bytes = durable
    for (const write of pending) {
      if (fate === 'torn' && write.kind === 'written') bytes = torn(bytes, write, random)
      else if (happens(fate, random)) bytes = applied(bytes, write)
    }
    files.set(file, bytes)
  }
  return { files, lines }
}

function happens(fate: 'none' | 'all' | 'some' | 'torn', random: Chance): boolean {
  return fate === 'all' || (fate !== 'none' && random.below(2) === 0)
}

function rename(names: Map<string, Content>, { file, content }: { file: string; content?: Content }): void {
  if (content === undefined) names.delete(file)
  else names.set(file, content)
}

function applied(bytes: Buffer, write: Content['pending'][number]): Buffer {
  if (write.kind === 'truncated') {
    return Buffer.concat([bytes.subarray(0, write.length)], write.length)
  }
  const end = write.offset + write.bytes.length
  const after = Buffer.alloc(Math.max(bytes.length, end))
  bytes.copy(after)
  write.bytes.copy(after, write.offset)
  return after
}

/** A write of which only some sectors are present. */
function torn(
  bytes: Buffer,
  { file, offset, bytes: all }: Extract<Step, { kind: 'written' }>,
  random: Chance,
): Buffer {
  let after = bytes
  for (let start = 0; start < all.length; ) {
    const end = Math.min(all.length, start + SECTOR_BYTES - ((offset + start) % SECTOR_BYTES))
    if (random.below(2) === 0)
      after = applied(after, {
        kind: 'written',
        file,
        offset: offset + start,
        bytes: all.subarray(start, end),
      })
    start = end
  }
  return after
}

function decoded(hex: string | undefined): string | undefined {
  return hex === undefined ? undefined : bytesOf(hex).toString()
}

function bytesOf(hex: string): Buffer {
  return Buffer.from(hex.replaceAll('\\x', ''), 'hex')
}
