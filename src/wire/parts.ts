import type { SecureContextOptions } from 'node:tls'
import type { Logger } from 'pino'
import type { AnswerDependencies } from '../answers/answer.ts'
import type { DummyDependencies } from '../answers/practice.ts'
import type { Catalog } from '../datasets/catalog/catalog.ts'
import type { VersionUses } from '../datasets/catalog/version-uses.ts'
import type { Authenticator } from '../http/access/identity.ts'
import type { KeyStore } from '../http/access/keys/keys.ts'
import type { RequestLimits } from '../http/limits.ts'
import type { Metrics } from '../http/metrics.ts'
import type { CommandPool } from './statements/pool.ts'

/** Time limits of connections. */
export interface WireTimes {
  /** Time within which a client must sign in. */
  readonly signInMs: number
  /** Time within which a message must arrive, from its first byte on. */
  readonly messageMs: number
  /** Time within which a client must take what was sent. */
  readonly sendMs: number
  /** The same for the last bytes of a connection. */
  readonly lingerMs: number
}

/** Parts of the service that sessions use. */
export interface WireParts extends AnswerDependencies, Pick<DummyDependencies, 'dummies'> {
  readonly catalog: Catalog
  readonly versionUses: VersionUses
  readonly keys: Pick<KeyStore, 'authenticateDigest' | 'scramVerifiers'>
  readonly authenticator: Pick<Authenticator, 'countRefused'>
  readonly requestLimits: RequestLimits
  readonly metrics: Pick<Metrics, 'observe'>
  readonly logger: Logger
  readonly commandPool: CommandPool
  readonly times: WireTimes
  /** Certificate and key; absent if connections are not encrypted. */
  readonly tls?: SecureContextOptions
}
