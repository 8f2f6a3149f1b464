import type { OpenTableEngine } from './open.ts'

/** Opens the engine that a connection names. */
export const openTableEngine: OpenTableEngine = ({ engine }) => {
  throw new Error(`the engine ${engine} is not available`)
}
