import { spawnSync } from 'node:child_process'

/** The reason why system calls cannot be traced and made to fail here; `undefined` if they can. */
export function reasonNotTraced(): string | undefined {
  if (process.platform !== 'linux') return 'strace is for Linux'
  if (spawnSync('strace', ['-V']).status !== 0) return 'strace is not installed'
  return spawnSync('strace', ['-f', '-o', '/dev/null', 'true']).status === 0
    ? undefined
    : 'processes may not be traced'
}

/** The title of tests that are skipped for a reason. */
export function titled(title: string, reason: string | undefined): string {
  return reason === undefined ? title : `${title} (skipped: ${reason})`
}

/** System calls of a process to trace. */
export interface Tracing {
  /** The file that the calls are written to. */
  readonly trace: string
  /** System calls, by name. */
  readonly calls: readonly string[]
  /** Default: calls on any file. */
  readonly paths?: readonly string[]
  /** A fault, as strace spells it, such as `fsync:error=EIO:when=3`: each thread counts its own calls. */
  readonly inject?: string
  /** True to record all bytes that are written. */
  readonly withBytes?: boolean
}

/** The command that starts a process so that its system calls are traced. */
export function tracedUnder(tracing: Tracing): readonly string[] {
  // Much faster, but calls that are let through then never get their signal.
  const quick = tracing.inject?.includes('signal=') ? [] : ['--seccomp-bpf']
  return ['strace', ...quick, ...straceArguments(tracing)]
}

export function straceArguments({ trace, calls, paths = [], inject, withBytes = false }: Tracing) {
  return [
    ...['-f', '-y', '-qq', '-o', trace, '-e', `trace=${calls.join(',')}`],
    ...(inject === undefined ? [] : ['-e', `inject=${inject}`]),
    ...(withBytes ? ['-xx', '-s', '1048576'] : []),
    ...paths.flatMap((each) => ['-P', each]),
  ]
}
