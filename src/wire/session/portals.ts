import type { Dataset } from '../../core/dataset/dataset.ts'
import { WireError } from '../errors.ts'
import type { Format, FrontendMessage } from '../protocol/frontend.ts'
import { formatAt } from '../protocol/frontend.ts'
import type { ReadCommand } from '../statements/command.ts'
import type { Literal } from '../statements/parameters.ts'
import { decodeParameter, isParameterType } from '../values/decode.ts'
import { OID, typeOfCompared } from '../values/oids.ts'
import type { Result } from './execute.ts'

/** A prepared statement. An empty one has no command. */
export interface PreparedStatement {
  readonly text: string
  /** Without parameters: the command. With parameters: the command with placeholders in their place. */
  readonly read: ReadCommand | undefined
  /** OIDs of the types of its parameters. */
  readonly parameterTypes: readonly number[]
}

/** A prepared statement with values of its parameters, and the part of its result that is not sent yet. */
export interface Portal {
  readonly text: string
  readonly read: ReadCommand | undefined
  readonly formats: readonly Format[]
  /** Absent before it is executed. */
  result?: Result
  /** Number of rows that were sent. */
  sent: number
}

const CASTS: Readonly<Record<string, number>> = {
  ...{ int2: OID.int2, int4: OID.int4, int8: OID.int8, oid: OID.oid },
  ...{ float4: OID.float4, float8: OID.float8, numeric: OID.numeric, bool: OID.bool },
  ...{ date: OID.date, timestamp: OID.timestamp, timestamptz: OID.timestamptz },
  ...{ text: OID.text, varchar: OID.varchar, bpchar: OID.bpchar, name: OID.name },
}

/**
 * Returns the types of the parameters of a statement: those that the client states, and otherwise those that follow from
 * casts and from the columns of a dataset.
 * @throws WireError for a type that parameters cannot have
 */
export function parameterTypesOf(
  { parameters }: ReadCommand,
  stated: readonly number[],
  dataset: Dataset | undefined,
): readonly number[] {
  const count = Math.max(parameters.length, stated.length)
  return Array.from({ length: count }, (_, index) => {
    const own = stated[index] ?? 0
    if (own !== 0 && !isParameterType(own))
      throw new WireError('0A000', `Parameters of the type with the OID ${own} are not supported.`)
    if (own !== 0) return own
    const { cast, column, isCount } = parameters[index] ?? {}
    if (cast !== undefined) return CASTS[cast] ?? OID.text
    if (isCount) return OID.int8
    return column === undefined ? OID.text : typeOfColumn(dataset, column)
  })
}

function typeOfColumn(dataset: Dataset | undefined, name: string): number {
  const columns = dataset?.columns ?? []
  const found =
    columns.find((each) => each.name === name) ??
    columns.find((each) => each.name.toLowerCase() === name.toLowerCase()) ??
    columns.find((each) => each.name.toLowerCase().endsWith(`.${name.toLowerCase()}`))
  return found === undefined ? OID.text : typeOfCompared(found.type)
}

/** Constants of the right types, with which a statement is described before it is bound. */
export function placeholders(types: readonly number[]): readonly Literal[] {
  return types.map((type): Literal => {
    switch (type) {
      case OID.bool:
        return { kind: 'boolean', value: true }
      case OID.date:
      case OID.timestamp:
      case OID.timestamptz:
        return { kind: 'text', value: '2000-01-01' }
      default:
        return NUMERIC.some((each) => each === type)
          ? { kind: 'number', text: '1' }
          : { kind: 'text', value: '' }
    }
  })
}

const NUMERIC = [OID.int2, OID.int4, OID.int8, OID.oid, OID.float4, OID.float8, OID.numeric]

/** Decodes the parameters of a message as constants. */
export function boundValues(
  { parameterTypes }: PreparedStatement,
  { parameters, parameterFormats }: Extract<FrontendMessage, { kind: 'bind' }>,
): readonly Literal[] {
  if (parameters.length !== parameterTypes.length)
    throw new WireError(
      '08P01',
      `The statement has ${parameterTypes.length} parameters, and ${parameters.length} values were bound.`,
    )
  return parameters.map((bytes, index) =>
    decodeParameter(index + 1, parameterTypes[index] ?? OID.text, bytes, formatAt(parameterFormats, index)),
  )
}
