import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'

/** The table of an ingested file. */
export const ROWS_TABLE = 'rows'

/** The table beside it with the rows that `maxRows` leaves out; absent where rows are the privacy units. */
export const ROWS_BEYOND_TABLE = 'rows_beyond'

/** Limits for an instance. */
export interface InstanceLimits {
  readonly threads: number
  /** In DuckDB's notation, such as `512MB`. */
  readonly memoryLimit: string
  /** The folder to which DuckDB spills what exceeds the memory limit. */
  readonly temporaryDirectory: string
  readonly maxTemporaryDirectorySize: string
  /** DuckDB's names of optimisations that use more memory than the limit, separated by commas. */
  readonly disabledOptimizers?: string
}

/** A text as a string literal. */
export function quoteLiteral(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

/**
 * Opens a locked DuckDB instance over one database file. It can reach no other files than `reachablePaths`, its
 * write-ahead log and its temporary folder; it loads no extensions; its settings cannot be changed. DuckDB does not
 * distinguish reading from writing here: `reachablePaths` can be written as well.
 *
 * @param beforeLock sets up connections whose own settings must be set before settings are locked
 */
export async function openLockedInstance(
  databasePath: string,
  access: 'READ_ONLY' | 'READ_WRITE',
  limits: InstanceLimits,
  reachablePaths: readonly string[] = [],
  beforeLock: (instance: DuckDBInstance) => Promise<void> = async () => undefined,
): Promise<DuckDBInstance> {
  // The temporary directory cannot be set once external access is off.
  const instance = await DuckDBInstance.create(databasePath, {
    temp_directory: limits.temporaryDirectory,
    access_mode: access,
    memory_limit: limits.memoryLimit,
    threads: String(limits.threads),
    max_temp_directory_size: limits.maxTemporaryDirectorySize,
    disabled_optimizers: limits.disabledOptimizers ?? '',
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    allow_community_extensions: 'false',
  })
  try {
    await beforeLock(instance)
    const connection = await instance.connect()
    try {
      // A list cannot be given when the instance is created. The last statement makes the settings final.
      await connection.run(`SET allowed_paths = [${reachablePaths.map(quoteLiteral).join(', ')}]::VARCHAR[]`)
      await connection.run('SET enable_external_access = false')
      await connection.run('SET lock_configuration = true')
    } finally {
      connection.disconnectSync()
    }
  } catch (error) {
    instance.closeSync()
    throw error
  }
  return instance
}

/** Limits of an instance for one file. */
const SMALL_LIMITS = { threads: 1, memoryLimit: '256MB', maxTemporaryDirectorySize: '1GB' } as const

/** Runs work in a locked instance without a database, with small limits, which can reach only some files. */
export async function withSmallInstance<Result>(
  temporaryDirectory: string,
  reachablePaths: readonly string[],
  work: (connection: DuckDBConnection) => Promise<Result>,
): Promise<Result> {
  const limits = { ...SMALL_LIMITS, temporaryDirectory }
  const instance = await openLockedInstance(':memory:', 'READ_WRITE', limits, reachablePaths)
  try {
    const connection = await instance.connect()
    try {
      return await work(connection)
    } finally {
      connection.disconnectSync()
    }
  } finally {
    instance.closeSync()
  }
}

/** True for an error of DuckDB or the file system because the disk, or the quota of its user, is full. */
export function isDiskFull(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = 'code' in error ? error.code : undefined
  return (
    code === 'ENOSPC' ||
    code === 'EDQUOT' ||
    /No space left on device|Disk quota exceeded/.test(error.message)
  )
}

/** True for DuckDB's error for a statement that needs more memory or temporary space than its limits. */
export function isMemoryError(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('Out of Memory Error')
}
