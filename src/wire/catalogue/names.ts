/** PostgreSQL's version whose catalogue and protocol the service imitates. */
export const SERVER_VERSION = '15.18'

/** The database of answers from data, and that of answers from made-up rows. */
export const DATABASE = 'sotto'
export const DUMMY_DATABASE = 'sotto_dummy'

/** Schemas of the evaluator. PostgreSQL's own names belong to DuckDB's catalogue. Tables of `public` have no rows. */
export const SCHEMAS = {
  pg_catalog: 'catalogue',
  information_schema: 'information',
  public: 'datasets',
} as const

/** The relation of the catalogue with the declared values of columns, which PostgreSQL does not have. */
export const DECLARED_VALUES = 'declared_values'

/** Prefix of the macros that stand for functions of PostgreSQL. */
export const MACRO_PREFIX = 'pgf_'

/** The OID of the principal who asks, as a role. */
export const OID_OF_PRINCIPAL = 11

/** The OID of pg_class, in which tables are rows. */
export const OID_OF_PG_CLASS = 1_259
