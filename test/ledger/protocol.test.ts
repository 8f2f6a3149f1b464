import { describe, expect, it } from 'vitest'
import { chargeId, sha256 } from '../../src/ledger/canonical.ts'
import type { ChargeRequest } from '../../src/ledger/contract/charges.ts'
import { canonicalEvent, type LedgerEvent } from '../../src/ledger/event.ts'
import { type Batch, beginBatch, changesOf } from '../../src/ledger/protocol/batch.ts'
import { allot, grant, openBudget } from '../../src/ledger/protocol/budgets.ts'
import { charge, recordAnswer, recordFailure } from '../../src/ledger/protocol/charges.ts'
import type { Account, AnalystAccount, Changes, Rows, StoredCharge } from '../../src/ledger/protocol/rows.ts'
import { resume } from '../../src/ledger/protocol/suspension.ts'
import { unpackAnswer } from '../../src/ledger/stores/packed-answer.ts'
import { FIRST_MS } from './fixture.ts'
import { basic, loss, question, summed } from './support.ts'

/**
 * Rows in memory, with a writer that refuses changes to rows other than those stored, as the SQL statements of the
 * stores do.
 */
function memory() {
  const accounts = new Map<string, Account>()
  const analysts = new Map<string, AnalystAccount>()
  const charges = new Map<string, StoredCharge>()
  const answers = new Map<string, string>()
  const shared = new Map<string, string>()
  const rows: Rows = {
    account: (dataset) => accounts.get(dataset),
    analyst: (dataset, principal) => analysts.get(`${dataset} ${principal}`),
    analysts: (dataset) => [...analysts.values()].filter((each) => each.dataset === dataset),
    charge: (id) => charges.get(id),
    answer: (id) => answers.get(id),
    sharedRelease: (dataset, requestHash) => shared.get(`${dataset} ${requestHash}`),
    session: () => undefined,
    sessionAnswer: () => undefined,
    sources: () => [],
  }
  function write(changes: Changes): boolean {
    const fits = changes.accounts.every(
      ({ before, after }) => accounts.get(after.dataset)?.headHash === before?.headHash,
    )
    if (!fits) return false
    for (const { after } of changes.accounts) accounts.set(after.dataset, after)
    for (const { after } of changes.analysts) analysts.set(`${after.dataset} ${after.principal}`, after)
    for (const { request: _, ...charge } of changes.newCharges) charges.set(charge.id, charge)
    for (const { after } of changes.changedCharges) charges.set(after.id, after)
    for (const { charge, answer } of changes.releases) answers.set(charge, unpackAnswer(answer))
    for (const each of changes.sharedReleases) shared.set(`${each.dataset} ${each.requestHash}`, each.charge)
    return true
  }
  return { rows, write }
}

type Act = (batch: Batch) => unknown

const asks =
  (principal: string, changes: Partial<ChargeRequest> = {}): Act =>
  (batch) =>
    charge(batch, question('the question', { principal, sharing: true, price: basic('0.4'), ...changes }))
const id = (principal: string) => chargeId(principal, 'the question')

/** Commands on one dataset. Some refer to a charge of `ada` that may not exist. */
const ACTS: readonly { readonly name: string; readonly act: Act }[] = [
  { name: 'ada asks', act: asks('ada') },
  { name: 'bob asks', act: asks('bob') },
  { name: 'bob asks under a chosen key', act: asks('bob', { idempotencyKey: 'his own', keyChosen: true }) },
  { name: 'eve asks for more than the budget', act: asks('eve', { requestHash: 'dear', price: basic('9') }) },
  { name: 'ada is answered', act: (batch) => recordAnswer(batch, id('ada'), 1, 'the answer') },
  { name: 'ada fails', act: (batch) => recordFailure(batch, id('ada'), 1) },
  {
    name: "ada's failure suspends the dataset",
    act: (batch) => recordFailure(batch, id('ada'), 1, { counts: true, limit: 1 }),
  },
  { name: 'carol resumes the dataset', act: (batch) => resume(batch, 'census', 'carol', 'looked into') },
  { name: 'carol grants more', act: (batch) => grant(batch, 'census', loss('0.3'), 'carol', 'more') },
  {
    name: 'carol sets an allotment for bob',
    act: (batch) =>
      allot(batch, {
        dataset: 'census',
        analyst: 'bob',
        granted: loss('0.3'),
        principal: 'carol',
        reason: 'a share',
      }),
  },
]

const STARTS: readonly { readonly name: string; readonly acts: readonly Act[] }[] = [
  { name: 'an empty budget', acts: [] },
  { name: 'a charge under way', acts: [asks('ada')] },
  { name: 'an answer', acts: [asks('ada'), (batch) => recordAnswer(batch, id('ada'), 1, 'the answer')] },
  { name: 'a denial', acts: [asks('bob', { price: basic('2') })] },
]

/** A fixed salt, so that equal histories have equal hashes. */
const sameSalt = () => 'salt'

function storeAfter(acts: readonly Act[]) {
  const store = memory()
  const batch = beginBatch(store.rows, FIRST_MS, sameSalt)
  openBudget(batch, 'census', summed('1'), 'carol')
  for (const act of acts) act(batch)
  store.write(changesOf(batch))
  return store
}

const printed = (value: unknown) =>
  JSON.stringify(value, (_, each) => (typeof each === 'bigint' ? `${each}n` : each))

describe.each(STARTS)('after $name', ({ acts }) => {
  it('at most one of two batches that read the same rows can write its changes', () => {
    let refused = 0
    for (const one of ACTS) {
      for (const other of ACTS) {
        const { rows, write } = storeAfter(acts)
        const batches = [beginBatch(rows, FIRST_MS), beginBatch(rows, FIRST_MS)] as const
        one.act(batches[0])
        other.act(batches[1])
        const changes = batches.map(changesOf)
        const changing = changes.filter(({ events }) => events.length > 0)
        // Every change moves the head of a chain, which the stores compare before they write.
        for (const each of changes)
          expect(new Set(each.accounts.map(({ after }) => after.dataset))).toEqual(
            new Set(each.events.map(({ dataset }) => dataset)),
          )
        expect(changing.map(write), `${one.name}, ${other.name}`).toEqual(
          [true, false].slice(0, changing.length),
        )
        refused += changing.length > 1 ? 1 : 0
      }
    }
    expect(refused).toBeGreaterThan(10)
  })

  it('three commands have the same effect in one batch, in two and in three', () => {
    let tried = 0
    for (const first of ACTS) {
      for (const second of ACTS) {
        for (const third of ACTS) {
          const sequence = [first, second, third]
          const found = [[3], [1, 2], [2, 1], [1, 1, 1]].map((sizes) => {
            const { rows, write } = storeAfter(acts)
            let next = 0
            const results = sizes.flatMap((size) => {
              const batch = beginBatch(rows, FIRST_MS, sameSalt)
              const results = sequence.slice(next, next + size).map(({ act }) => act(batch))
              next += size
              expect(write(changesOf(batch))).toBe(true)
              return results
            })
            const ends = ['ada', 'bob', 'eve'].map((principal) => [
              rows.analyst('census', principal),
              rows.charge(id(principal)),
              rows.answer(id(principal)),
            ])
            const shares = [question('the question').requestHash, 'dear'].map((hash) =>
              rows.sharedRelease('census', hash),
            )
            return printed([results, rows.account('census'), ends, shares])
          })
          tried += found.length
          expect(new Set(found).size, sequence.map(({ name }) => name).join(', ')).toBe(1)
        }
      }
    }
    expect(tried).toBe(ACTS.length ** 3 * 4)
  })

  it('a command that throws has changed nothing', () => {
    const { rows } = storeAfter(acts)
    const batch = beginBatch(rows, FIRST_MS)
    const wrong: readonly Act[] = [
      asks('ada', { leaseMs: 0 }),
      asks('fay', { price: { accounting: 'zcdp', rhoPico: 1n as never } }),
      (each) => grant(each, 'census', loss('1000000'), 'carol', 'more'),
      (each) => openBudget(each, 'other', summed('1', '1'), 'carol'),
      (each) => recordAnswer(each, id('ada'), 1, '\ud800'),
      (each) => recordAnswer(each, id('ada'), 0, 'x'),
    ]
    for (const act of wrong) expect(() => act(batch)).toThrow(RangeError)
    expect(Object.values(changesOf(batch)).flat()).toEqual([])
  })
})

it('a shared release that cannot be read costs nothing', () => {
  const { rows } = storeAfter([asks('ada'), (batch) => recordAnswer(batch, id('ada'), 1, 'the answer')])
  const damaged = () => {
    throw new TypeError('a stored answer cannot be decompressed')
  }
  const batch = beginBatch({ ...rows, answer: damaged }, FIRST_MS)
  expect(() => asks('bob')(batch)).toThrow(TypeError)
  expect(Object.values(changesOf(batch)).flat()).toEqual([])
})

describe('the same history in two ledgers', () => {
  const historyWith = (drawSalt?: () => string) => {
    const batch = beginBatch(memory().rows, FIRST_MS, drawSalt)
    openBudget(batch, 'census', summed('1'), 'carol')
    for (const { act } of ACTS) act(batch)
    return changesOf(batch).events.map(({ canonical, hash }) => {
      const event: LedgerEvent = JSON.parse(canonical)
      return { event, hash }
    })
  }

  it('has hashes that do not confirm a guessed event', () => {
    const others = historyWith()
    for (const [index, { event, hash }] of historyWith().entries()) {
      const { salt, ...known } = event
      // An administrative act contains the salted hash of the event that it refers to.
      const facts = event.facts && { facts: event.facts }
      const other = { ...others[index]?.event, previousHash: event.previousHash, ...facts }
      const { salt: another = '', ...guessed } = other
      expect(guessed).toEqual(known)
      const hashOf = (fields: Partial<LedgerEvent>) => sha256(canonicalEvent(fields as LedgerEvent))
      expect(hashOf({ ...known, salt })).toBe(hash)
      for (const wrong of [known, { ...known, salt: another }]) expect(hashOf(wrong)).not.toBe(hash)
    }
  })

  it('is identical if the salts are', () => {
    expect(historyWith(sameSalt)).toEqual(historyWith(sameSalt))
  })

  it('has one salt per event', () => {
    let drawn = 0
    const history = historyWith(() => {
      drawn += 1
      return String(drawn)
    })
    expect(history.map(({ event }) => event.salt)).toEqual(history.map((_, index) => String(index + 1)))
    expect(history.length).toBeGreaterThan(5)
  })
})

it.each([Number.NaN, -1, 0.5, 8_640_000_000_000_000])('a clock that returns %d is refused', (nowMs) => {
  expect(() => beginBatch(memory().rows, nowMs)).toThrow(RangeError)
})
