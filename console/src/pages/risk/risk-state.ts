import type { AddressState, Choices } from '../../components/address/address-state.ts'
import type { Neighbours } from './one-of-many/one-of-many.ts'
import { type EpsilonRequest, SCHOOL } from './universe/universe.ts'

type Kind = EpsilonRequest['query']['kind']

/** Statistics that the universe's risk can be computed for. Counts compare values with `than`. */
export const KINDS = [
  'mean',
  'median',
  'sum',
  'count',
  'variance',
  'standardDeviation',
  'minimum',
  'maximum',
  'percentile',
] as const satisfies readonly Kind[]

/** Comparisons of a count. */
export const OPERATORS = ['=', '!=', '<', '<=', '>', '>='] as const

/** State of the page for choosing an epsilon. The address contains all of it. */
export interface RiskState extends AddressState {
  readonly adversary: 'one' | 'universe'
  /** Id of a dataset, or nothing. */
  readonly dataset: string
  readonly neighbours: Neighbours
  readonly candidates: number
  readonly delta: number
  /** Accepted risk. */
  readonly risk: number
  /** Epsilon that is looked at; 0 stands for the largest one for the accepted risk. */
  readonly epsilon: number
  readonly people: string
  readonly released: number
  readonly kind: (typeof KINDS)[number]
  readonly operator: (typeof OPERATORS)[number]
  readonly than: number
  readonly percentile: number
  readonly changed: number
  /** Largest epsilon in the charts of a universe. */
  readonly to: number
  /** Noisy answer after which the beliefs are shown; a number as text, or nothing. */
  readonly response: string
  /** Number of people that the typical questions of a dataset are supposed to cover. */
  readonly rows: number
}

export const INITIAL_STATE: RiskState = {
  adversary: 'one',
  dataset: '',
  neighbours: 'add-remove',
  candidates: 10,
  delta: 0,
  risk: 0.25,
  epsilon: 0,
  people: SCHOOL,
  released: 3,
  kind: 'mean',
  operator: '>=',
  than: 3,
  percentile: 50,
  changed: 1,
  to: 5,
  response: '',
  rows: 1_000,
}

/** Allowed texts of the fields that are chosen from a list. */
export const CHOICES: Choices<RiskState> = {
  adversary: ['one', 'universe'],
  neighbours: ['add-remove', 'change-one'],
  kind: KINDS,
  operator: OPERATORS,
}

/** Returns the statistic of a state, as the service takes it. */
export function statisticOf({ kind, operator, than, percentile }: RiskState): EpsilonRequest['query'] {
  switch (kind) {
    case 'count':
      return { kind, satisfying: { op: operator, value: than } }
    case 'percentile':
      return { kind, p: percentile }
    default:
      return { kind }
  }
}

/** Changes some fields of the state. */
export type Change = (changes: Partial<RiskState>) => void

/** Properties of the parts of this page. */
export interface RiskPart {
  readonly state: RiskState
  readonly change: Change
}
