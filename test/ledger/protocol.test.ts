import { describe, expect, it } from 'vitest'
import { chargeId } from '../../src/ledger/charge-id.ts'
import { eventHash, type LedgerEvent } from '../../src/ledger/event.ts'
import type { ChargeRequest } from '../../src/ledger/ledger.ts'
import {
  type Account,
  type AnalystAccount,
  beginWork,
  type Changes,
  type Rows,
  type StoredCharge,
  type Work,
} from '../../src/ledger/protocol.ts'
import { FIRST_MS } from './places.ts'
import { basic, loss, question, summed } from './support.ts'

/** Rows in memory, and a writer that refuses what does not follow what is there, as the stores' statements do. */
function memory() {
  const accounts = new Map<string, Account>()
  const analysts = new Map<string, AnalystAccount>()
  const charges = new Map<string, StoredCharge>()
  const answers = new Map<string, string>()
  const shared = new Map<string, string>()
  const rows: Rows = {
    account: (dataset) => accounts.get(dataset),
    analyst: (dataset, principal) => analysts.get(`${dataset} ${principal}`),
    charge: (id) => charges.get(id),
    answer: (id) => answers.get(id),
    sharedRelease: (dataset, requestHash) => shared.get(`${dataset} ${requestHash}`),
    session: () => undefined,
    sessionAnswer: () => undefined,
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
    for (const { charge, answer } of changes.releases) answers.set(charge, answer)
    for (const each of changes.sharedReleases) shared.set(`${each.dataset} ${each.requestHash}`, each.charge)
    return true
  }
  return { rows, write }
}

type Act = (work: Work) => unknown

const charge =
  (principal: string, changes: Partial<ChargeRequest> = {}): Act =>
  (work) =>
    work.charge(question('the question', { principal, sharing: true, price: basic('0.4'), ...changes }))
const id = (principal: string) => chargeId(principal, 'the question')

/** Calls on one dataset; where `ada` has a charge under way already, what comes of it. */
const ACTS: readonly { readonly name: string; readonly act: Act }[] = [
  { name: 'ada asks', act: charge('ada') },
  { name: 'bob asks', act: charge('bob') },
  { name: 'bob asks for a fresh draw', act: charge('bob', { idempotencyKey: 'his own', keyChosen: true }) },
  { name: 'eve asks for more than there is', act: charge('eve', { requestHash: 'dear', price: basic('9') }) },
  { name: 'ada is answered', act: (work) => work.recordAnswer(id('ada'), 1, 'the answer') },
  { name: 'ada fails', act: (work) => work.recordFailure(id('ada'), 1) },
  { name: 'carol grants more', act: (work) => work.grant('census', loss('0.3'), 'carol', 'more') },
  {
    name: 'carol sets a limit for bob',
    act: (work) =>
      work.allot({
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
  { name: 'a charge under way', acts: [charge('ada')] },
  {
    name: 'an answer',
    acts: [charge('ada'), (work) => work.recordAnswer(id('ada'), 1, 'the answer')],
  },
  { name: 'a denial', acts: [charge('bob', { price: basic('2') })] },
]

/** Where two runs are held against each other, down to their hashes. */
const sameSalt = () => 'salt'

function started(acts: readonly Act[]) {
  const store = memory()
  const work = beginWork(store.rows, FIRST_MS, sameSalt)
  work.openBudget('census', summed('1'), 'carol')
  for (const act of acts) act(work)
  store.write(work.changes())
  return store
}

const printed = (value: unknown) =>
  JSON.stringify(value, (_, each) => (typeof each === 'bigint' ? `${each}n` : each))

describe.each(STARTS)('after $name', ({ acts }) => {
  it('of two that have read the same rows, at most one can write what changes a dataset', () => {
    let refused = 0
    for (const one of ACTS) {
      for (const other of ACTS) {
        const { rows, write } = started(acts)
        const works = [beginWork(rows, FIRST_MS), beginWork(rows, FIRST_MS)] as const
        one.act(works[0])
        other.act(works[1])
        const changes = works.map((work) => work.changes())
        const changing = changes.filter(({ events }) => events.length > 0)
        // Whoever changes anything moves the head of the chain, which is what the stores ask for before they write.
        for (const each of changes)
          expect(each.accounts.length).toBe(each.events.length > 0 || each.changedCharges.length > 0 ? 1 : 0)
        expect(changing.map(write), `${one.name}, ${other.name}`).toEqual(
          [true, false].slice(0, changing.length),
        )
        refused += changing.length > 1 ? 1 : 0
      }
    }
    expect(refused).toBeGreaterThan(10)
  })

  it('three calls bring the same together as one by one, in whatever way they are split', () => {
    let tried = 0
    for (const first of ACTS) {
      for (const second of ACTS) {
        for (const third of ACTS) {
          const sequence = [first, second, third]
          const found = [[3], [1, 2], [2, 1], [1, 1, 1]].map((sizes) => {
            const { rows, write } = started(acts)
            let next = 0
            const results = sizes.flatMap((size) => {
              const work = beginWork(rows, FIRST_MS, sameSalt)
              const batch = sequence.slice(next, next + size).map(({ act }) => act(work))
              next += size
              expect(write(work.changes())).toBe(true)
              return batch
            })
            const ends = ['ada', 'bob', 'eve'].map((principal) => [
              rows.analyst('census', principal),
              rows.charge(id(principal)),
              rows.answer(id(principal)),
            ])
            const shares = ['hash of the question', 'dear'].map((hash) => rows.sharedRelease('census', hash))
            return printed([results, rows.account('census'), ends, shares])
          })
          tried += found.length
          expect(new Set(found).size, sequence.map(({ name }) => name).join(', ')).toBe(1)
        }
      }
    }
    expect(tried).toBe(ACTS.length ** 3 * 4)
  })

  it('a call that throws has changed nothing', () => {
    const { rows } = started(acts)
    const work = beginWork(rows, FIRST_MS)
    const wrong: readonly Act[] = [
      charge('ada', { leaseMs: 0 }),
      charge('fay', { price: { accounting: 'zcdp', rhoPico: 1n as never } }),
      (each) => each.grant('census', loss('1000000'), 'carol', 'more'),
      (each) => each.openBudget('other', summed('1', '1'), 'carol'),
      (each) => each.recordAnswer(id('ada'), 1, '\ud800'),
      (each) => each.recordAnswer(id('ada'), 0, 'x'),
    ]
    for (const act of wrong) expect(() => act(work)).toThrow(RangeError)
    expect(Object.values(work.changes()).flat()).toEqual([])
  })
})

describe('one history in two ledgers', () => {
  const historyWith = (drawSalt?: () => string) => {
    const work = beginWork(memory().rows, FIRST_MS, drawSalt)
    work.openBudget('census', summed('1'), 'carol')
    for (const { act } of ACTS) act(work)
    return work.changes().events.map(({ canonical, hash }) => {
      const event: LedgerEvent = JSON.parse(canonical)
      return { event, hash }
    })
  }

  it('has hashes that do not tell who guesses an event that they are right', () => {
    const others = historyWith()
    for (const [place, { event, hash }] of historyWith().entries()) {
      const { salt, ...known } = event
      const { salt: another = '', ...guessed } = { ...others[place]?.event, previousHash: event.previousHash }
      expect(guessed).toEqual(known)
      expect(eventHash({ ...known, salt: salt ?? '' })).toBe(hash)
      for (const wrong of [known, { ...known, salt: another }]) expect(eventHash(wrong)).not.toBe(hash)
    }
  })

  it('differs in nothing but salts and what comes of them', () => {
    expect(historyWith(sameSalt)).toEqual(historyWith(sameSalt))
  })

  it('draws one salt for each event', () => {
    let drawn = 0
    const history = historyWith(() => {
      drawn += 1
      return String(drawn)
    })
    expect(history.map(({ event }) => event.salt)).toEqual(history.map((_, place) => String(place + 1)))
    expect(history.length).toBeGreaterThan(5)
  })
})

it.each([Number.NaN, -1, 0.5, 8_640_000_000_000_000])('a clock that tells %d is none', (nowMs) => {
  expect(() => beginWork(memory().rows, nowMs)).toThrow(RangeError)
})
