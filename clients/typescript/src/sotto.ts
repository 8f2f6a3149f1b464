/** The package: a client for the browser and Node, queries, expressions over columns, and errors. */
export type {
  Amount,
  Answer,
  Batch,
  CellLabel,
  Estimate,
  GroupsAnswer,
  KeysAnswer,
  MarginalsAnswer,
  MarginalTable,
  PercentilesAnswer,
  RegressionAnswer,
  Row,
  SelectionAnswer,
  TableAnswer,
  ValueAnswer,
} from './answers.ts'
export { offersText, records } from './answers.ts'
export type {
  BatchTerms,
  Client,
  Dataset,
  Groups,
  HistoryFilter,
  OpenedSession,
  Practice,
  Release,
  Session,
  SessionTerms,
  SqlAnswer,
  SqlOptions,
} from './client.ts'
export { connect } from './client.ts'
export type { Cells, Column, ColumnName, Grouping, Period, Predicate, Value, Where } from './columns.ts'
export { col } from './columns.ts'
export type { Operand } from './computing.ts'
export { difference, ratio } from './computing.ts'
export type { ConnectionOptions, Key } from './connection.ts'
export type { Decimal } from './decimal.ts'
export type { ProblemCode, ProblemDocument } from './problem.ts'
export { ConnectionFailed, Problem, SottoError, UnexpectedResponse } from './problem.ts'
export { PROBLEM_CODES } from './problem-codes.ts'
export * from './queries.ts'
export type { CallOptions, Kind, NoisyOptions, Options, Query, SupposableOptions } from './query.ts'
export type { components, paths } from './schema.ts'
