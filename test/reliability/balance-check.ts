import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { chargeId, sha256 } from '../../src/ledger/canonical.ts'
import type { LedgerEvent } from '../../src/ledger/event.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { eventPages, verifyLedger } from '../../src/ledger/verification.ts'
import type { Messages } from './children.ts'
import { costOf, questionOf } from './questions.ts'

/** Counts of a check of the balances. */
export interface Counts {
  readonly asked: number
  /** Debits in the ledger once every question is settled. */
  readonly charges: number
  /** Debits and stored answers that had been acknowledged. */
  readonly acknowledged: number
  /** Questions that were neither answered nor denied. */
  readonly interrupted: number
  readonly denied: number
}

/**
 * Checks that nothing acknowledged is lost and nothing is stored in part. Then asks every question again: each must be
 * settled under one charge, within the cap, and earlier answers must be replayed byte for byte.
 */
export async function expectNothingLost(
  ledger: Ledger,
  dataset: string,
  heard: ReadonlyMap<string, Messages>,
  capacity = 1_000_000,
): Promise<Counts> {
  const before = await eventsByKey(ledger, dataset, heard)
  for (const [key, each] of heard) {
    const { charged, denied, answered } = before.get(key) ?? { charged: 0, denied: 0, answered: [] }
    const release = await ledger.release(chargeId('ada', key))
    expect(charged + denied, `events of ${key}`).toBeLessThanOrEqual(1)
    if (each.charged) expect(charged, `the debit of ${key}, which was acknowledged`).toBe(1)
    if (each.denied) expect(denied, `the denial of ${key}, which was acknowledged`).toBe(1)
    if (each.answer !== undefined)
      expect(release?.answer, `the acknowledged answer of ${key}`).toBe(each.answer)
    const stored = release === undefined ? [] : [sha256(release.answer)]
    expect(answered, `the answers of ${key} by the events`).toEqual(stored)
    if (release === undefined) continue
    expect(charged, `the debit of ${key}, which is answered`).toBe(1)
    expect(each.computed, `the answers that were computed for ${key}`).toContain(release.answer)
  }

  const settled = await Promise.all(
    [...heard].map(async ([key, each]) => {
      const answer = await settle(ledger, dataset, key)
      if (each.answer !== undefined) expect(answer, `the answer of ${key}, again`).toBe(each.answer)
      if (each.denied) expect(answer, `${key}, which was denied`).toBeUndefined()
      return { key, answer }
    }),
  )
  const charges = settled.filter(({ answer }) => answer !== undefined).length
  const possible = Math.min(capacity, heard.size)
  expect(charges, 'questions that are paid for').toBe(possible)
  if ((await ledger.budget(dataset)) === undefined) {
    expect(charges).toBe(0)
  } else {
    // A further repeat of everything costs nothing and changes nothing.
    const head = await ledger.head(dataset)
    for (const { key, answer } of settled) expect(await settle(ledger, dataset, key), key).toBe(answer)
    expect(await ledger.head(dataset)).toEqual(head)
    expect(head?.budget.spent).toEqual(costOf(charges))
    await expectPopulationDebited(ledger, head?.budget.population, charges)
    await eventsByKey(ledger, dataset, heard)
  }
  const all = [...heard.values()]
  return {
    asked: heard.size,
    charges,
    acknowledged: all.filter((each) => each.charged).length + all.filter((each) => each.answer).length,
    interrupted: all.filter((each) => each.answer === undefined && !each.denied).length,
    denied: settled.length - charges,
  }
}

/** Checks that the population of a dataset, if it has one, has paid for the same charges. */
async function expectPopulationDebited(
  ledger: Ledger,
  population: string | undefined,
  charges: number,
): Promise<void> {
  if (population === undefined) return
  expect((await ledger.budget(population))?.spent, population).toEqual(costOf(charges))
  expect(await verifyLedger(ledger, population), population).toMatchObject({ kind: 'sound' })
}

/**
 * Asks until there is an answer, and stores one if there is none; `undefined` if the question is denied or the budget
 * was never opened.
 */
async function settle(ledger: Ledger, dataset: string, key: string): Promise<string | undefined> {
  for (;;) {
    const outcome = await ledger.charge(questionOf(dataset, key, 60_000))
    switch (outcome.kind) {
      case 'answered':
        return outcome.answer
      case 'denied':
      case 'no-budget':
        return undefined
      case 'in-flight':
        await sleep(Math.min(20, outcome.retryAfterMs))
        break
      case 'charged':
        await ledger.recordAnswer(
          outcome.charge.id,
          outcome.charge.attempt,
          `answer to ${key}, after the interruption`,
        )
        break
      default:
        throw new Error(`${key} is ${outcome.kind}`)
    }
  }
}

interface KeyEvents {
  charged: number
  denied: number
  /** Hashes of the recorded answers. */
  readonly answered: string[]
}

/**
 * Facts about each key from the events, after checking that they are sound, match the balances, and concern these keys
 * only.
 */
async function eventsByKey(
  ledger: Ledger,
  dataset: string,
  heard: ReadonlyMap<string, Messages>,
): Promise<Map<string, KeyEvents>> {
  const found = await verifyLedger(ledger, dataset)
  const byKey = new Map<string, KeyEvents>()
  if (found === undefined) return byKey
  expect(found, `the verification of ${dataset}`).toMatchObject({ kind: 'sound' })
  const keys = new Map([...heard.keys()].map((key) => [chargeId('ada', key), key]))
  for await (const page of eventPages(ledger, dataset)) {
    for (const { canonical } of page) {
      const { chargeId: id, kind, answerHash = '' }: LedgerEvent = JSON.parse(canonical)
      if (id === undefined) continue
      const key = keys.get(id)
      if (key === undefined) throw new Error(`event ${canonical} belongs to a question that was not asked`)
      const events = byKey.get(key) ?? { charged: 0, denied: 0, answered: [] }
      byKey.set(key, events)
      if (kind === 'charged') events.charged += 1
      if (kind === 'denied') events.denied += 1
      if (kind === 'answered') events.answered.push(answerHash)
    }
  }
  return byKey
}
