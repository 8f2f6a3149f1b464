import type { Dataset } from '../../core/dataset/dataset.ts'
import type { Principal } from '../../http/access/principal.ts'
import type { SessionCursor } from '../catalogue/evaluator.ts'
import { WireError } from '../errors.ts'
import type { Format, FrontendMessage } from '../protocol/frontend.ts'
import { formatAt } from '../protocol/frontend.ts'
import type { ReadCommand } from '../statements/command.ts'
import type { Literal } from '../statements/parameters.ts'
import { decodeParameter, isNumeric, isParameterType } from '../values/decode.ts'
import { OID, typeOfCompared } from '../values/oids.ts'
import type { Result } from './execute.ts'

/** A prepared statement. An empty one has no command. */
export interface PreparedStatement {
  readonly text: string
  /** Its place in the text. */
  readonly place: number
  /** Without parameters: the command. With parameters: the command with placeholders in their place. */
  readonly read: ReadCommand | undefined
  /** OIDs of the types of its parameters. */
  readonly parameterTypes: readonly number[]
}

/** A prepared statement with values of its parameters, or a cursor, and its result. */
export interface Portal {
  readonly text: string
  readonly read: ReadCommand | undefined
  readonly formats: readonly Format[]
  /** Length of its name and of its parameters. */
  readonly characters: number
  readonly createdAtMs: number
  /** Absent before it is executed. */
  result?: Result
  /** Who has executed it, with the rights of then. */
  openedBy?: Principal
  /** Number of rows that were sent. */
  sent: number
  /** True for a cursor that can go back. */
  readonly scrolls?: boolean
  /** When it ends: with its transaction; with its transaction, unless that is committed; or with the session. */
  ends?: 'on-end' | 'on-rollback' | 'never'
}

/** Things of a session by their name: at most one without a name, which the next without a name replaces. */
interface Named<Item> {
  /** @throws WireError if the name is taken, or there are too many */
  makeRoomFor(name: string): void
  set(name: string, item: Item): void
  get(name: string): Item | undefined
  /** @throws WireError if there is none of this name */
  require(name: string): Item
  delete(name: string): void
  /**
   * Removes one, or all of them.
   * @throws WireError if there is none of this name
   */
  remove(name: string | undefined): void
  entries(): readonly (readonly [string, Item])[]
}

/** Creates the prepared statements, or the portals, of a session. */
function createNamed<Item>(
  what: string,
  most: number,
  sqlStates: { readonly taken: string; readonly absent: string },
): Named<Item> {
  const items = new Map<string, Item>()
  const require = (name: string): Item => {
    const found = items.get(name)
    if (found === undefined) throw new WireError(sqlStates.absent, `There is no ${what} "${name}".`)
    return found
  }
  return {
    makeRoomFor(name) {
      if (name === '') items.delete(name)
      if (items.has(name)) throw new WireError(sqlStates.taken, `There is a ${what} "${name}" already.`)
      if (items.size >= most) throw new WireError('54000', `A session has at most ${most} ${what}s.`)
    },
    set: (name, item) => void items.set(name, item),
    get: (name) => items.get(name),
    require,
    delete: (name) => void items.delete(name),
    remove(name) {
      if (name === undefined) return items.clear()
      require(name)
      items.delete(name)
    },
    entries: () => [...items],
  }
}

/** The prepared statements and the portals of a session. */
export interface Prepared {
  readonly statements: Named<PreparedStatement>
  readonly portals: Named<Portal>
  /** @throws WireError if the session has no space for so many characters more */
  requireSpace(characters: number): void
  /** Ends the portals that end with their transaction. */
  endPortals(isRolledBack: boolean): void
}

const MOST_STATEMENTS = 500
const MOST_PORTALS = 32
/** Characters of the prepared statements and portals of a session. The trees of statements take many times as much. */
const MOST_CHARACTERS = 256 * 1024

/** Creates what a session prepares, without any. */
export function createPrepared(): Prepared {
  const ofStatements = { taken: '42P05', absent: '26000' }
  const statements = createNamed<PreparedStatement>('prepared statement', MOST_STATEMENTS, ofStatements)
  const portals = createNamed<Portal>('portal', MOST_PORTALS, { taken: '42P03', absent: '34000' })
  return {
    statements,
    portals,
    requireSpace(characters) {
      const ofStatements = statements.entries().map(([name, { text }]) => name.length + text.length)
      const ofPortals = portals.entries().map(([, portal]) => portal.characters)
      if ([...ofStatements, ...ofPortals].reduce((sum, each) => sum + each, characters) > MOST_CHARACTERS)
        throw new WireError(
          '54000',
          `Prepared statements and portals have at most ${MOST_CHARACTERS} characters.`,
        )
    },
    endPortals(isRolledBack) {
      for (const [name, portal] of portals.entries()) {
        if (portal.ends === 'never') continue
        if (portal.ends === 'on-rollback' && !isRolledBack) portal.ends = 'never'
        else portals.delete(name)
      }
    },
  }
}

/** The cursors of a session. The portal without a name is that of the statement which asks for them. */
export function cursorsOf({ portals }: Prepared): readonly SessionCursor[] {
  const named = portals.entries().filter(([name]) => name !== '')
  return named.map(([name, { text, ends, scrolls = false, createdAtMs }]) => ({
    ...{ name, statement: text, createdAtMs },
    ...{ isHoldable: ends !== undefined && ends !== 'on-end', isScrollable: scrolls },
  }))
}

/** The number of values of a portal that the client has not fetched. Rows that were fetched stay with those after them. */
export function waitingValuesOf(portal: Portal | undefined): number {
  return portal?.result !== undefined && hasRowsLeft(portal) ? valuesIn(portal.result) : 0
}

export function valuesIn(result: Result): number {
  return result.kind === 'rows' ? result.rows.length * result.columns.length : 0
}

export function hasRowsLeft({ result, sent, scrolls }: Portal): boolean {
  return result?.kind === 'rows' && (scrolls ? result.rows.length > 0 : sent < result.rows.length)
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
  const columns = [...(dataset?.columns ?? []), ...(dataset?.derived ?? [])]
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
        return isNumeric(type) ? { kind: 'number', text: '1' } : { kind: 'text', value: '' }
    }
  })
}

/**
 * Returns the OID of a type of PREPARE; 0 for one that follows from the statement.
 * @throws WireError for a type that parameters cannot have
 */
export function typeNamed(name: string): number {
  const found = name === 'unknown' ? 0 : CASTS[name]
  if (found === undefined) throw new WireError('0A000', `Parameters of the type ${name} are not supported.`)
  return found
}

/** Decodes the parameters of a message as constants. */
export function boundValues(
  { parameterTypes }: PreparedStatement,
  {
    parameters,
    parameterFormats,
  }: Pick<Extract<FrontendMessage, { kind: 'bind' }>, 'parameters' | 'parameterFormats'>,
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
