import { openTrinoEngine } from '../engines/trino/engine.ts'
import type { OpenTableEngine } from './open.ts'

/** Opens the engine that a connection names. */
export const openTableEngine: OpenTableEngine = (connection) => {
  switch (connection.engine) {
    case 'trino':
      return openTrinoEngine(connection)
    case 'postgres':
      throw new Error(`the engine ${connection.engine} is not available`)
  }
}
