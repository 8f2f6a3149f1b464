import { type Amount, addAmounts, isSameAmount, noAmount } from '../../../privacy/accounting.ts'
import type { ChainHead } from '../../contract/chain.ts'
import { amountFromEvent, type EventAmount, type LedgerEvent } from '../../event.ts'
import type { BrokenVerification } from './verifier.ts'

/*
 * The comparison of the chains of a population and of its datasets in one export. Each event of a population about a dataset
 * names the event of the dataset that was appended with it, by its hash, and each charge of the dataset has such an event.
 */

/** Compares the chains of populations and datasets. */
export interface MembershipFollower {
  /** @param hash the hash stored with the event, which a `Verifier` compares with its text */
  add(event: LedgerEvent, hash: string): void
  /** The first event of each chain that the other chain does not confirm, by dataset or account. */
  result(): ReadonlyMap<string, BrokenVerification>
}

/** An event that a population and its dataset have in common. */
type Common = Pick<LedgerEvent, 'kind' | 'chargeId' | 'principal' | 'requestHash' | 'loss' | 'sharedFrom'>

/** The chain of a dataset, as far as its population refers to it. */
interface Followed {
  /** Its last event in the export. */
  last: number
  population?: string
  /** What its analysts had spent when it joined. */
  readonly spent: Map<string, Spent>
  /** Its events since it joined that the population has to refer to, by sequence. */
  readonly events: Map<number, { readonly hash: string; readonly event: Common }>
}

interface Spent {
  readonly all: Amount
  readonly shared: Amount
}

interface Reference extends Common, Pick<LedgerEvent, 'sequence' | 'analyst' | 'spentOnShared'> {
  readonly population: string
  readonly member: ChainHead
}

/** Creates a follower. A chain that is not in the export, and events after its end, are not compared. */
export function followMemberships(): MembershipFollower {
  const datasets = new Map<string, Followed>()
  const references: Reference[] = []
  return {
    add(event, hash) {
      const { member, dataset } = event
      if (member === undefined) follow(knownOf(datasets, dataset), event, hash)
      else references.push({ ...event, member, population: dataset })
    },
    result() {
      const broken = new Map<string, BrokenVerification>()
      for (const reference of references) {
        const { population, sequence, member } = reference
        if (broken.has(population) || isConfirmed(reference, datasets.get(member.dataset))) continue
        broken.set(population, brokenAt(sequence, 'the chain of the dataset does not confirm the event'))
      }
      for (const [dataset, own] of Map.groupBy(references, ({ member }) => member.dataset)) {
        const followed = datasets.get(dataset)
        const sequence = followed && firstUnpaid(followed, own)
        if (sequence !== undefined) broken.set(dataset, brokenAt(sequence, 'the population was not debited'))
      }
      return broken
    },
  }
}

function brokenAt(sequence: number, reason: string): BrokenVerification {
  return { kind: 'broken', sequence, reason }
}

function knownOf(datasets: Map<string, Followed>, dataset: string): Followed {
  const known = datasets.get(dataset)
  if (known !== undefined) return known
  const followed = { last: 0, spent: new Map(), events: new Map() }
  datasets.set(dataset, followed)
  return followed
}

function follow(followed: Followed, event: LedgerEvent, hash: string): void {
  const { kind, population, sequence } = event
  followed.last = sequence
  const isDebit = kind === 'charged' || kind === 'shared'
  if (kind === 'joined' && population !== undefined) followed.population = population
  if (followed.population === undefined) {
    if (isDebit) addSpending(followed.spent, event)
  } else if (kind === 'joined' || isDebit) followed.events.set(sequence, { hash, event })
}

function addSpending(spent: Map<string, Spent>, { kind, principal, loss }: LedgerEvent): void {
  const price = amountOf(loss)
  if (price === undefined) return
  const before = spent.get(principal)
  const shared = kind === 'shared' ? price : noAmount(price.accounting)
  spent.set(principal, {
    all: before === undefined ? price : addAmounts(before.all, price),
    shared: before === undefined ? shared : addAmounts(before.shared, shared),
  })
}

/** Reads an amount; `undefined` for an invalid one, which a `Verifier` refuses. */
function amountOf(loss: EventAmount | undefined): Amount | undefined {
  try {
    return amountFromEvent(loss)
  } catch {
    return undefined
  }
}

function isConfirmed(reference: Reference, followed: Followed | undefined): boolean {
  const { kind, member, population } = reference
  if (followed === undefined || member.sequence > followed.last) return true
  const confirmed = followed.events.get(member.sequence)
  if (confirmed?.hash !== member.hash || followed.population !== population) return false
  return kind === 'carried' ? isCarried(reference, followed) : textOf(confirmed.event) === textOf(reference)
}

function isCarried({ analyst, loss, spentOnShared }: Reference, { spent }: Followed): boolean {
  const found = analyst === undefined ? undefined : spent.get(analyst)
  const all = amountOf(loss)
  if (found === undefined || all === undefined) return false
  const shared = spentOnShared === undefined ? noAmount(all.accounting) : amountOf(spentOnShared)
  return shared !== undefined && isSameAmount(found.all, all) && isSameAmount(found.shared, shared)
}

function textOf({ kind, chargeId, principal, requestHash, loss, sharedFrom }: Common): string {
  // The events are canonical, so that equal amounts have equal texts.
  return JSON.stringify([kind, chargeId, principal, requestHash, loss, sharedFrom])
}

/**
 * The first event of a dataset to which its population does not refer, although it refers to a later one; or that of joining,
 * if an analyst's spending was not carried.
 */
function firstUnpaid({ spent, events }: Followed, references: readonly Reference[]): number | undefined {
  const named = new Set(references.map(({ member }) => member.sequence))
  const last = Math.max(...named)
  const carried = new Set(references.map(({ kind, analyst }) => (kind === 'carried' ? analyst : undefined)))
  const isMissing = ([analyst, { all }]: [string, Spent]) =>
    !carried.has(analyst) && !isSameAmount(all, noAmount(all.accounting))
  const isIncomplete = [...spent].some(isMissing)
  return [...events].find(([sequence, { event }]) =>
    event.kind === 'joined' && isIncomplete ? true : sequence <= last && !named.has(sequence),
  )?.[0]
}
