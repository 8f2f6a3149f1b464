import { openPostgresTables } from '../engines/postgres/engine.ts'
import { openTrinoEngine } from '../engines/trino/engine.ts'
import type { OpenTableEngine } from './open.ts'

/** Opens the engine that a connection names. */
export const openTableEngine: OpenTableEngine = (connection, onWritable) => {
  switch (connection.engine) {
    case 'postgres':
      return openPostgresTables(connection, onWritable)
    case 'trino':
      return openTrinoEngine(connection)
  }
}
