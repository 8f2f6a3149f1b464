import { DuckDBInstance } from '@duckdb/node-api'

/** The one table of an ingested file. */
export const ROWS_TABLE = 'rows'

/** What an instance may use of the machine. */
export interface InstanceLimits {
  readonly threads: number
  /** As DuckDB writes it: `512MB`. */
  readonly memoryLimit: string
  /** Where DuckDB may spill what exceeds the memory limit. */
  readonly temporaryDirectory: string
  readonly maxTemporaryDirectorySize: string
}

/** A text as a string literal of DuckDB. */
export function quoteLiteral(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

/**
 * A DuckDB instance over one database file which reaches no other file but `reachablePaths` (and its own write-ahead log
 * and temporary folder), can load nothing, and whose settings cannot be changed any more. DuckDB knows no difference
 * between reading and writing here: `reachablePaths` can be written too.
 */
export async function openLockedInstance(
  databasePath: string,
  access: 'READ_ONLY' | 'READ_WRITE',
  limits: InstanceLimits,
  reachablePaths: readonly string[] = [],
): Promise<DuckDBInstance> {
  // The temporary directory comes first: it cannot be set any more once external access is off.
  const instance = await DuckDBInstance.create(databasePath, {
    temp_directory: limits.temporaryDirectory,
    access_mode: access,
    memory_limit: limits.memoryLimit,
    threads: String(limits.threads),
    max_temp_directory_size: limits.maxTemporaryDirectorySize,
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    allow_community_extensions: 'false',
  })
  try {
    const connection = await instance.connect()
    try {
      // A list cannot be given when the instance is created, and only the last statement makes this final.
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
