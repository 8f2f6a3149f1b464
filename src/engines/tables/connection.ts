/**
 * A database that the operator has named, with everything that an engine needs to reach it. It contains secrets: never
 * log it.
 */
export type Connection = PostgresConnection | TrinoConnection

interface ConnectionFacts {
  /** The name by which custodians select it. */
  readonly name: string
  readonly host: string
  readonly port: number
  readonly user: string
  /** Reads the present password, for each login. It may change while the service runs. */
  readonly password?: Secret
  /** Absent for a connection without encryption. */
  readonly tls?: ConnectionTls
  readonly limits: ConnectionLimits
}

/** Reads a secret. A secret in a file is read again at each call. */
export type Secret = () => Promise<string>

/** A PostgreSQL database. */
export interface PostgresConnection extends ConnectionFacts {
  readonly engine: 'postgres'
  readonly database: string
  /** Schema of tables that are named without one. */
  readonly schema: string
  /** True if a role that may change the tables is accepted. */
  readonly allowWritableRole: boolean
}

/** A catalog of a Trino cluster. */
export interface TrinoConnection extends ConnectionFacts {
  readonly engine: 'trino'
  /** Reads the present bearer token, for each request. Never together with a password. */
  readonly token?: Secret
  readonly catalog: string
  /** Schema of tables that are named without one. */
  readonly schema: string
}

/** PEM texts of a connection with TLS. The server's certificate is always checked. */
export interface ConnectionTls {
  /** Certificates of the authorities to trust; absent for those that Node trusts. */
  readonly ca?: string
  /** Certificate of the client, together with its key. */
  readonly cert?: string
  readonly key?: string
  /** Name that the server's certificate must have; absent for the host. */
  readonly servername?: string
}

/** Limits on the use of a connection by one process. */
export interface ConnectionLimits {
  /** Number of statements that may run at the same time. */
  readonly connections: number
  /** Time limit for a query over the data. */
  readonly statementTimeoutMs: number
  /** Time limit for each statement that checks or copies a table at a registration. */
  readonly registrationTimeoutMs: number
}
