import { expect } from 'vitest'
import { canonicalJson, sha256 } from '../../../src/ledger/canonical.ts'
import { ADMINISTRATION } from '../../../src/ledger/contract/acts.ts'
import type { AnalystSpending } from '../../../src/ledger/contract/budgets.ts'
import type { ChargeRecord, LedgerHead, StoredEvent } from '../../../src/ledger/contract/chain.ts'
import type { StoredSessionAnswer } from '../../../src/ledger/contract/sessions.ts'
import type { EventAmount, LedgerEvent } from '../../../src/ledger/event.ts'
import { amountFromEvent, eventAmount, eventLoss, FIRST_PREVIOUS_HASH } from '../../../src/ledger/event.ts'
import { LedgerFault } from '../../../src/ledger/fault.ts'
import type { SoundVerification, Verification } from '../../../src/ledger/protocol/verifier/verifier.ts'
import type { verifyLedger } from '../../../src/ledger/verification.ts'
import {
  type Accounting,
  type Amount,
  addAmounts,
  amountBoughtBy,
  noAmount,
} from '../../../src/privacy/accounting.ts'
import { addLoss, NO_LOSS } from '../../../src/privacy/loss.ts'
import { basic, loss, rho } from '../support.ts'
import { POPULATION_TESTS } from './population-tampering.ts'
import { chain, type EventFacts, POPULATION, SESSION_ANSWER, sampleHistory } from './sample-history.ts'
import { type VerificationSource, type VerificationTest, verificationTest } from './verification-test.ts'

const ACCOUNTINGS: readonly Accounting[] = ['basic', 'zcdp']

function verify({ createVerifier }: VerificationSource, events: readonly StoredEvent[]): Verification {
  const verifier = createVerifier('census')
  for (const event of events) verifier.add(event, sha256(event.canonical))
  return verifier.result()
}

/** Index of the `nth` event of a kind, counted from 0. */
function placeOf(history: readonly EventFacts[], kind: EventFacts['kind'], nth = 0): number {
  const places = history.flatMap((facts, place) => (facts.kind === kind ? [place] : []))
  const place = places[nth]
  if (place === undefined) throw new Error(`the history has no such ${kind}`)
  return place
}

/** Changed fields of an event; `undefined` removes a field. */
type FactChanges = { readonly [Field in keyof LedgerEvent]?: LedgerEvent[Field] | undefined }

interface Tampering {
  readonly name: string
  /** Index of the impossible event. */
  readonly place: number
  readonly history: readonly EventFacts[]
}

const one = (accounting: Accounting): EventAmount =>
  accounting === 'zcdp' ? { rhoPico: '1' } : { epsilonNano: '1', deltaAtto: '0' }

/** Balances of a history with every kind of event: the cap, and the amount spent before its last event. */
function capOf(accounting: Accounting): Amount {
  // In rho, the grant of the history records less than it could buy. This is not a forgery.
  return accounting === 'zcdp'
    ? amountBoughtBy('zcdp', loss('5', '0.002'))
    : amountBoughtBy('basic', addLoss(loss('4', '0.001'), loss('5', '0.002')))
}

/** Histories with one impossible event and correct hashes, as an attacker with write access could produce. */
function tamperedHistories(accounting: Accounting): readonly Tampering[] {
  const history = sampleHistory(accounting)
  const changed = (name: string, kind: EventFacts['kind'], nth: number, changes: FactChanges): Tampering => {
    const place = placeOf(history, kind, nth)
    // JSON omits undefined fields.
    const facts = JSON.parse(JSON.stringify({ ...history[place], ...changes }))
    return { name, place, history: history.with(place, facts) }
  }
  const inserted = (name: string, place: number, facts: EventFacts): Tampering => ({
    name,
    place,
    history: history.toSpliced(place, 0, facts),
  })
  const at = (place: number): EventFacts => {
    const facts = history[place]
    if (facts === undefined) throw new Error('there is an event')
    return facts
  }
  const answeredA = at(placeOf(history, 'answered'))
  const lastCharge = at(history.length - 1)
  const late = { principal: 'ada', chargeId: 'late', attempt: 1 }
  const amount = (text: string): EventAmount =>
    accounting === 'zcdp' ? { rhoPico: text } : { epsilonNano: text, deltaAtto: '0' }
  const otherwise = one(accounting === 'zcdp' ? 'basic' : 'zcdp')
  const large = eventAmount(capOf(accounting))
  const price = amountBoughtBy(accounting, loss('0.1', '0.00001'))
  const nothing = eventLoss(NO_LOSS)
  /** An allotment at the end of the history, when ada has spent three prices, and ben two. */
  const lastly = (name: string, analyst: string, facts: Pick<EventFacts, 'loss' | 'limit'>): Tampering =>
    inserted(name, history.length - 1, {
      kind: 'allotted',
      principal: 'carol',
      analyst,
      reason: 'no more',
      ...facts,
    })
  const times = (count: number, more = noAmount(accounting)) =>
    eventAmount(Array.from({ length: count }, () => price).reduce(addAmounts, more))
  const least = accounting === 'zcdp' ? rho('0.000000000001') : basic('0.000000001')
  const zcdp: readonly Tampering[] = [
    changed('a cap of one unit more than the first grant buys', 'opened', 0, {
      limit: eventAmount(addAmounts(amountBoughtBy('zcdp', loss('4', '0.001')), rho('0.000000000001'))),
    }),
    changed('a cap of one unit more than all grants buy', 'granted', 0, {
      limit: eventAmount(addAmounts(amountBoughtBy('zcdp', loss('9', '0.003')), rho('0.000000000001'))),
    }),
    changed('a replaced cap of one unit more than its grant buys', 'cap-replaced', 0, {
      limit: eventAmount(addAmounts(amountBoughtBy('zcdp', loss('4', '0.001')), rho('0.000000000001'))),
    }),
    changed('a cap that is lowered', 'granted', 0, { limit: { rhoPico: '1' } }),
    changed('a grant without the amount that it buys', 'granted', 0, { limit: undefined }),
    changed('a cap in epsilon', 'granted', 0, { limit: { epsilonNano: '1', deltaAtto: '0' } }),
    changed('an allotment of one unit more than it buys', 'allotted', 0, {
      limit: eventAmount(addAmounts(amountBoughtBy('zcdp', loss('3', '0.001')), rho('0.000000000001'))),
    }),
    changed('an allotment without the amount that it buys', 'allotted', 0, { limit: undefined }),
    lastly('an allotment of 0 with a limit of one unit more than was spent', 'ben', {
      loss: nothing,
      limit: times(2, least),
    }),
    lastly('an allotment of 0 with a limit of less than was spent', 'ben', {
      loss: nothing,
      limit: times(1),
    }),
    lastly('an allotment of 0 with the spending of another analyst as its limit', 'ben', {
      loss: nothing,
      limit: times(3),
    }),
    lastly('an allotment of 0 with a limit above 0 for an analyst without spending', 'eve', {
      loss: nothing,
      limit: eventAmount(least),
    }),
    lastly('an allotment of 0 without a limit', 'ben', { loss: nothing }),
    lastly('an allotment of 0 with a limit in epsilon', 'ben', { loss: nothing, limit: nothing }),
    lastly('an allotment of an epsilon too small for its limit', 'ben', {
      loss: eventLoss(loss('0.000000001')),
      limit: times(2),
    }),
    lastly('an allotment of only a delta too small for its limit', 'ben', {
      loss: eventLoss(loss('0', '0.000000000000000001')),
      limit: times(2),
    }),
  ]
  const summed: readonly Tampering[] = [
    lastly('an allotment of 0 below the spending', 'ben', { loss: nothing }),
    lastly('an allotment of 0 with the spending in its limit field', 'ben', {
      loss: nothing,
      limit: times(2),
    }),
  ]
  return [
    changed('a debit beyond the remaining budget', 'charged', 3, { loss: large }),
    ...['-1', '01', '', ' 1', '0x1', '1e3', '1.0'].map((text) =>
      changed(`a debit of ${JSON.stringify(text)}`, 'charged', 0, { loss: amount(text) }),
    ),
    changed('a debit without an amount', 'charged', 0, { loss: undefined }),
    changed('a debit in the units of another accounting', 'charged', 0, { loss: otherwise }),
    changed('a debit without a charge', 'charged', 0, { chargeId: undefined }),
    changed('a charge that is debited twice', 'charged', 1, { chargeId: 'a' }),
    changed('an answer to a charge that was not made', 'answered', 0, { chargeId: 'never' }),
    changed('an answer to a charge that was denied', 'answered', 1, { chargeId: 'dear', principal: 'ben' }),
    changed('an answer by an attempt that was overtaken', 'answered', 1, { attempt: 1 }),
    changed('an answer by a later attempt', 'answered', 0, { attempt: 2 }),
    changed("an answer to another's charge", 'answered', 0, { principal: 'eve' }),
    inserted('a second answer', placeOf(history, 'answered') + 1, answeredA),
    inserted('a failure after the answer', placeOf(history, 'answered') + 1, {
      ...answeredA,
      kind: 'failed',
    }),
    inserted('a further attempt after the answer', placeOf(history, 'answered') + 1, {
      ...answeredA,
      kind: 'retried',
      attempt: 2,
    }),
    inserted('an answer after the failure', placeOf(history, 'failed') + 1, {
      ...answeredA,
      chargeId: 'b',
      attempt: 1,
    }),
    changed('a failure of another attempt', 'failed', 0, { attempt: 2 }),
    changed('a failure of a charge that was not made', 'failed', 0, { chargeId: 'never' }),
    changed('a skipped attempt', 'retried', 0, { attempt: 3 }),
    changed('a repeated attempt', 'retried', 0, { attempt: 1 }),
    changed('a skipped question', 'session-answered', 0, { question: 2 }),
    changed('a repeated question', 'session-answered', 1, { question: 1 }),
    changed('a question of another principal', 'session-answered', 1, { principal: 'ada' }),
    ...[0, 1].map((question) =>
      inserted(`question ${question} of a session that has not begun`, placeOf(history, 'charged', 2) + 1, {
        ...at(placeOf(history, 'session-answered')),
        question,
      }),
    ),
    changed('a budget opened again', 'granted', 0, {
      kind: 'opened',
      neighbours: 'add-remove',
      synthetic: false,
    }),
    changed('a budget that was not opened', 'opened', 0, { kind: 'granted' }),
    changed('an unknown accounting', 'opened', 0, { accounting: 'renyi' as 'zcdp' }),
    changed('unknown neighbours', 'opened', 0, { neighbours: 'next door' as 'add-remove' }),
    changed('no neighbours', 'opened', 0, { neighbours: undefined }),
    changed('no kind of data', 'opened', 0, { synthetic: undefined }),
    changed('an unknown privacy unit', 'opened', 0, {
      privacyUnit: { kind: 'visit' as 'person', column: 'id' },
    }),
    changed('an unknown kind of data', 'opened', 0, { synthetic: 'maybe' as unknown as boolean }),
    changed('a reused source without a reason', 'source-reused', 0, { reason: undefined }),
    changed('a cap that is replaced after something was spent', 'granted', 0, { kind: 'cap-replaced' }),
    changed('a cap that is replaced without a reason', 'cap-replaced', 0, { reason: undefined }),
    changed('a cap that is replaced by no amount', 'cap-replaced', 0, { loss: undefined }),
    changed('an unknown kind', 'granted', 0, { kind: 'refunded' as 'granted' }),
    changed('a kind within a list', 'charged', 0, { kind: ['charged'] as unknown as 'charged' }),
    changed('a grant without an amount', 'granted', 0, { loss: undefined }),
    changed('a grant in rho', 'granted', 0, { loss: { rhoPico: '1' } }),
    changed('a denial of a paid charge', 'denied', 0, { chargeId: 'a' }),
    changed('another dataset', 'granted', 0, { dataset: 'other' }),
    changed('another sequence number', 'granted', 0, { sequence: 1 }),
    changed('another event before it', 'granted', 0, { previousHash: FIRST_PREVIOUS_HASH }),
    changed('a later layout', 'granted', 0, { version: 2 as 1 }),
    changed('an allotment without an analyst', 'allotted', 0, { analyst: undefined }),
    changed('an allotment without an (epsilon, delta)', 'allotted', 0, { loss: { rhoPico: '1' } }),
    {
      name: 'an allotment below what was spent',
      ...(() => {
        const place = placeOf(history, 'allotted', 1)
        const limits = {
          loss: { epsilonNano: '199999999', deltaAtto: '999999999999999' },
          limit: { rhoPico: '1' },
        }
        return { place, history: history.with(place, { ...at(place), ...limits } as EventFacts) }
      })(),
    },
    inserted('a retry of a denied charge', placeOf(history, 'denied') + 1, {
      ...at(placeOf(history, 'retried')),
      ...{ principal: 'ben', chargeId: 'dear', attempt: 1 },
    }),
    changed('a denial without a charge', 'denied', 0, { chargeId: undefined }),
    changed('an answer without its hash', 'answered', 0, { answerHash: undefined }),
    changed("a session's answer without its hash", 'session-answered', 0, { answerHash: undefined }),
    changed('a debit beyond the allotment', 'charged', 2, {
      loss: eventAmount(amountBoughtBy(accounting, loss('3', '0.001'))),
    }),
    changed('a share beyond the allotment', 'shared', 0, { loss: large }),
    changed('a share without a source', 'shared', 0, { sharedFrom: undefined }),
    changed('a share of a charge that was not made', 'shared', 0, { sharedFrom: 'never' }),
    changed('a share of a denied charge', 'shared', 0, { sharedFrom: 'dear' }),
    changed('a share of the answer to another question', 'shared', 0, { sharedFrom: 'b' }),
    changed('a share that was paid already', 'shared', 0, { chargeId: 'a' }),
    changed('a share without an amount', 'shared', 0, { loss: undefined }),
    changed('an inferred answer that was charged', 'inferred', 0, { loss: eventAmount(price) }),
    changed('an inferred answer without parents', 'inferred', 0, { parents: [] }),
    changed('an inferred answer from a charge that was not made', 'inferred', 0, { parents: ['a', 'never'] }),
    changed('an inferred answer from a denied charge', 'inferred', 0, { parents: ['a', 'dear'] }),
    changed('an inferred answer from a release of another', 'inferred', 0, { parents: ['a', 'a of ben'] }),
    inserted('a share of a release that is not answered yet', placeOf(history, 'answered'), {
      ...at(placeOf(history, 'shared')),
    }),
    inserted('a share of a failed charge', placeOf(history, 'failed') + 1, {
      ...at(placeOf(history, 'shared')),
      sharedFrom: 'b',
      requestHash: sha256('b'),
    }),
    changed('a suspension with another number of failures', 'suspended', 0, { failures: 1 }),
    changed('a suspension without a number of failures', 'suspended', 0, { failures: undefined }),
    inserted('a suspension without failures', placeOf(history, 'failed'), {
      ...at(placeOf(history, 'suspended')),
      failures: 0,
    }),
    changed('a suspension by a failure of another charge', 'suspended', 0, { chargeId: 'b' }),
    changed('a suspension by a failure of another principal', 'suspended', 0, { principal: 'ada' }),
    inserted('a suspension some time after the failure', placeOf(history, 'retried') + 1, {
      ...{ kind: 'suspended', principal: 'ada', chargeId: 'b', failures: 1 },
    }),
    {
      name: 'a suspension by a failure that does not count',
      place: placeOf(history, 'suspended') + 2,
      history: history.toSpliced(
        placeOf(history, 'suspended'),
        1,
        { ...lastCharge, ...late },
        { kind: 'failed', ...late },
        { ...at(placeOf(history, 'suspended')), principal: 'ada', chargeId: 'late' },
      ),
    },
    inserted('a second suspension', placeOf(history, 'resumed'), at(placeOf(history, 'suspended'))),
    inserted('a second resumption', placeOf(history, 'resumed') + 1, at(placeOf(history, 'resumed'))),
    changed('a failure that is neither counted nor not counted', 'failed', 0, { counted: false as true }),
    changed('a failed question of a charge that was not made', 'session-failed', 0, { chargeId: 'never' }),
    changed('a failed question of a session that was not opened', 'session-failed', 0, {
      principal: 'ada',
      chargeId: 'dear',
    }),
    inserted('a debit during a suspension', placeOf(history, 'resumed'), { ...lastCharge, chargeId: 'more' }),
    inserted('a denial during a suspension', placeOf(history, 'resumed'), {
      ...at(placeOf(history, 'denied')),
      chargeId: 'more',
    }),
    inserted('a share during a suspension', placeOf(history, 'resumed'), {
      ...at(placeOf(history, 'shared')),
      chargeId: 'more',
      principal: 'eve',
    }),
    {
      name: 'a further attempt during a suspension',
      place: placeOf(history, 'resumed') + 2,
      history: history
        .toSpliced(placeOf(history, 'resumed'), 0, { kind: 'retried', ...late, attempt: 2 })
        .toSpliced(
          placeOf(history, 'session-failed'),
          0,
          { ...lastCharge, ...late },
          { kind: 'failed', ...late },
        ),
    },
    inserted('a debit of one unit beyond the cap', history.length, {
      ...lastCharge,
      chargeId: 'beyond',
      loss: beyond(accounting, history, 1n),
    }),
    ...(accounting === 'zcdp' ? zcdp : summed),
  ]
}

/**
 * The remaining amount in the first unit after a history in which the dataset was debited by `charged`, plus some
 * units.
 */
function beyond(accounting: Accounting, history: readonly EventFacts[], more: bigint): EventAmount {
  const debits = BigInt(history.filter(({ kind }) => kind === 'charged').length)
  const price = amountBoughtBy(accounting, loss('0.1', '0.00001'))
  const cap = capOf(accounting)
  if (cap.accounting === 'zcdp' && price.accounting === 'zcdp')
    return { rhoPico: String(cap.rhoPico - debits * price.rhoPico + more) }
  if (cap.accounting === 'basic' && price.accounting === 'basic')
    return { epsilonNano: String(cap.epsilonNano - debits * price.epsilonNano + more), deltaAtto: '0' }
  throw new Error('both are counted alike')
}

/** The stored charges after a history. */
function recordsOf(events: readonly StoredEvent[]): ReadonlyMap<string, ChargeRecord> {
  const records = new Map<string, ChargeRecord>()
  for (const { canonical } of events) {
    const event: LedgerEvent = JSON.parse(canonical)
    const { kind, dataset, principal, chargeId: id = '', requestHash = '', attempt = 0, sharedFrom } = event
    const record = records.get(id)
    if (kind === 'charged' || kind === 'shared' || kind === 'inferred' || kind === 'denied') {
      const state = kind === 'denied' ? 'denied' : 'charged'
      const facts = {
        id,
        dataset,
        principal,
        requestHash,
        price: amountFromEvent(event.loss),
        state,
        attempt,
      } as const
      records.set(id, { ...facts, ...(sharedFrom !== undefined && { sharedFrom }) })
    } else if (record !== undefined) {
      if (kind === 'retried') records.set(id, { ...record, attempt, state: 'charged' })
      if (kind === 'failed') records.set(id, { ...record, state: 'failed' })
      if (kind === 'answered')
        records.set(id, { ...record, state: 'answered', answerHash: event.answerHash ?? '' })
    }
  }
  return records
}

/** Answers to the questions of the history's session. */
const SESSION_ANSWERS = [SESSION_ANSWER, 'below'].map((answer, place) => ({
  question: place + 1,
  request: '{}',
  answer,
}))

/** A live ledger for verification, whose head and charges a test may alter. */
function live(
  source: VerificationSource,
  events: readonly StoredEvent[],
  alter: Partial<LedgerHead> = {},
  records: ReadonlyMap<string, ChargeRecord> = recordsOf(events),
  sessionAnswers: readonly StoredSessionAnswer[] = SESSION_ANSWERS,
) {
  const found = verify(source, events)
  if (found.kind !== 'sound') throw new Error(`the history is broken: ${found.reason}`)
  const { budget, spending, failures, suspended, headHash: hash } = found
  const head = { sequence: events.length, hash, budget, spending, failures, suspended }
  const ledger: Parameters<typeof verifyLedger>[0] = {
    head: async (dataset) => (dataset === 'census' ? { ...head, ...alter } : undefined),
    events: async (_, { limit, afterSequence }) => events.slice(afterSequence, afterSequence + limit),
    async chargeRecords(ids) {
      expect(ids.length).toBeLessThanOrEqual(100)
      return ids.flatMap((id) => records.get(id) ?? []).reverse()
    },
    async sessionAnswers(_, { limit, beforeQuestion = 0 }) {
      expect(limit).toBeLessThanOrEqual(1_000)
      // In pages of one.
      return sessionAnswers.filter(({ question }) => question < beforeQuestion).slice(-1)
    },
  }
  return { ledger, head }
}

const LIVE_TESTS: readonly VerificationTest[] = ACCOUNTINGS.flatMap((accounting) => [
  verificationTest(
    `a verification continues from an earlier one, after any event, in ${accounting}`,
    async (source) => {
      const events = chain('census', sampleHistory(accounting))
      const { ledger, head } = live(source, events)
      const whole = verify(source, events)
      for (let count = 1; count <= events.length; count += 1) {
        const earlier = verify(source, events.slice(0, count))
        if (earlier.kind !== 'sound') throw new Error('the history is broken')
        expect(await source.verifyTail(ledger, 'census', earlier)).toEqual(whole)
        // A balance that differs, an event of another history, and an earlier result of another history.
        const spent = addAmounts(head.budget.spent, head.budget.cap)
        const altered = live(source, events, { budget: { ...head.budget, spent } }).ledger
        const broken = { kind: 'broken' }
        expect(await source.verifyTail(altered, 'census', earlier)).toMatchObject(broken)
        const headHash = sha256('another history')
        expect(await source.verifyTail(ledger, 'census', { ...earlier, headHash })).toMatchObject(broken)
        const cheaper = { ...earlier, budget: { ...earlier.budget, spent: noAmount(accounting) } }
        if (
          canonicalJson(eventAmount(earlier.budget.spent)) ===
          canonicalJson(eventAmount(noAmount(accounting)))
        )
          continue
        expect(await source.verifyTail(ledger, 'census', cheaper)).toMatchObject(broken)
      }
      expect(await source.verifyTail(ledger, 'never', whole as SoundVerification)).toBeUndefined()
    },
  ),
  verificationTest(`balances that differ from the events are found, in ${accounting}`, async (source) => {
    const events = chain('census', sampleHistory(accounting))
    const { head } = live(source, events)
    const unit = accounting === 'zcdp' ? rho('0.000000000001') : basic('0.000000001')
    const { budget, spending } = head
    const [ada, ben] = spending
    if (ada === undefined || ben === undefined) throw new Error('both have spent')
    const wrongBudgets = [
      { ...budget, spent: addAmounts(budget.spent, unit) },
      { ...budget, cap: addAmounts(budget.cap, unit) },
      { ...budget, granted: addLoss(budget.granted, loss('0.000000001')) },
      { ...budget, granted: addLoss(budget.granted, loss('0', '0.000000000000000001')) },
    ]
    const allotment = { granted: loss('9'), limit: amountBoughtBy(accounting, loss('9')) }
    const wrongSpending: readonly AnalystSpending[][] = [
      [],
      [ada],
      [ben, ada],
      [{ ...ada, spent: addAmounts(ada.spent, unit) }, ben],
      [ada, { ...ben, spentOnShared: addAmounts(ben.spentOnShared, unit) }],
      [{ ...ada, allotment }, ben],
      [ada, ben, { ...ben, principal: 'eve' }],
    ]
    const wrong: Partial<LedgerHead>[] = [
      ...wrongBudgets.map((altered) => ({ budget: altered })),
      ...wrongSpending.map((altered) => ({ spending: altered })),
      { hash: FIRST_PREVIOUS_HASH },
      { failures: head.failures + 1 },
      { suspended: true },
      { sequence: events.length + 1 },
      { sequence: events.length - 1 },
    ]
    for (const alter of wrong) {
      const { ledger } = live(source, events, alter)
      expect(await source.verifyLedger(ledger, 'census')).toMatchObject({ kind: 'broken' })
    }
  }),
  verificationTest(
    `stored charges and answers that differ from the events are found, in ${accounting}`,
    async (source) => {
      const events = chain('census', sampleHistory(accounting))
      const records = recordsOf(events)
      const after = (id: string, change: Partial<ChargeRecord>, among = events) => {
        const record = recordsOf(among).get(id)
        if (record === undefined) throw new Error(`there is no charge ${id}`)
        const changed = new Map(recordsOf(among)).set(id, { ...record, ...change })
        return source.verifyLedger(live(source, among, {}, changed).ledger, 'census')
      }
      const lastOf = (id: string) =>
        1 + events.findLastIndex(({ canonical }) => JSON.parse(canonical).chargeId === id)
      const another = { answerHash: sha256('another') }
      for (const [id, { attempt, price, state, sharedFrom }] of records) {
        const unlike: Partial<ChargeRecord>[] = [
          { id: 'another' },
          { dataset: 'survey' },
          { principal: 'eve' },
          { requestHash: sha256('another') },
          { price: addAmounts(price, amountBoughtBy(accounting, loss('0.1', '0.00001'))) },
          { sharedFrom: sharedFrom === undefined ? 'b' : 'session' },
          { attempt: attempt - 1 },
          { attempt: attempt + 1, state: 'charged' },
          another,
        ]
        for (const other of ['charged', 'answered', 'failed', 'denied'] as const) {
          if (other === state) continue
          unlike.push(
            { state: other },
            { state: other, attempt: 0 },
            { state: other, attempt: 1, ...another },
          )
        }
        for (const change of unlike)
          expect(await after(id, change), JSON.stringify([id, Object.keys(change)])).toMatchObject({
            kind: 'broken',
            sequence: lastOf(id),
          })
      }
      const aCharge = records.get('last')
      if (aCharge === undefined) throw new Error('there is a last charge')
      const invented = new Map(records).set('invented', { ...aCharge, id: 'invented' })
      expect(
        await source.verifyLedger(
          live(source, events, {}, invented).ledger,
          'census',
          new Map([['census', records.size + 1]]),
        ),
      ).toMatchObject({
        kind: 'broken',
        sequence: events.length,
      })
      const [first, second] = SESSION_ANSWERS
      if (first === undefined || second === undefined) throw new Error('a session has two answers')
      for (const answers of [
        [first],
        [second],
        [],
        [first, { ...second, answer: 'above' }],
        [{ ...first, answer: '' }, second],
      ])
        expect(
          await source.verifyLedger(live(source, events, {}, records, answers).ledger, 'census'),
        ).toMatchObject({
          kind: 'broken',
          sequence: lastOf('session'),
        })
    },
  ),
  verificationTest(
    `changes of charges during verification are accepted, other changes are not, in ${accounting}`,
    async (source) => {
      const told = sampleHistory(accounting)
      const denied = told.find(({ kind }) => kind === 'denied')
      if (denied === undefined) throw new Error('something is denied')
      const nothing = accounting === 'zcdp' ? { rhoPico: '0' } : { epsilonNano: '0', deltaAtto: '0' }
      // A denied charge is paid later, at another price.
      const history: readonly EventFacts[] = [
        ...told,
        { ...denied, kind: 'charged', attempt: 1, loss: nothing },
      ]
      const events = chain('census', history)
      /** The head is read before an event, and the records after this number of further events. */
      const between = (
        head: number,
        recorded: number,
        now: number,
        change: Partial<ChargeRecord> = {},
        id = '',
      ) => {
        const records = new Map(recordsOf(events.slice(0, recorded)))
        const record = records.get(id)
        if (record !== undefined) records.set(id, { ...record, ...change })
        const counts = new Map([['census', recordsOf(events.slice(0, head)).size]])
        const sides = [live(source, events.slice(0, head)).head, live(source, events.slice(0, now)).head]
        const { ledger } = live(source, events.slice(0, now), {}, records)
        const moving = { ...ledger, head: async () => sides.shift() }
        return source.verifyLedger(moving, 'census', counts)
      }
      for (let head = 1; head <= events.length; head += 1)
        for (let recorded = head; recorded <= events.length; recorded += 1)
          for (const now of new Set([recorded, events.length]))
            expect(await between(head, recorded, now)).toMatchObject({ kind: 'sound', events: head })
      const made = placeOf(history, 'charged') + 1
      const ahead: Partial<ChargeRecord>[] = [
        { state: 'answered', answerHash: sha256('another') },
        { state: 'failed' },
        { attempt: 2 },
        { attempt: 3, state: 'charged' },
      ]
      for (const change of ahead)
        for (const now of [made, events.length])
          expect(await between(made, made, now, change, 'a')).toMatchObject({ kind: 'broken' })
    },
  ),
  verificationTest(`a charge that cannot be read is found among others, in ${accounting}`, async (source) => {
    const events = chain('census', sampleHistory(accounting))
    const { ledger } = live(source, events)
    const reading = (fault: Error) => ({
      ...ledger,
      chargeRecords: async (ids: readonly string[]) => {
        if (ids.includes('b')) throw fault
        return ledger.chargeRecords(ids)
      },
    })
    expect(await source.verifyLedger(reading(new TypeError('no state')), 'census')).toMatchObject({
      kind: 'broken',
      sequence: 11,
      reason: 'the stored charge cannot be read',
    })
    // A failure of the store does not show anything about the charge.
    const fault = new LedgerFault('stopped', 'the ledger has stopped')
    await expect(source.verifyLedger(reading(fault), 'census')).rejects.toThrow('has stopped')
  }),
  verificationTest(
    `the earliest of several differing charges is reported, in ${accounting}`,
    async (source) => {
      const nothing = accounting === 'zcdp' ? { rhoPico: '0' } : { epsilonNano: '0', deltaAtto: '0' }
      const history = sampleHistory(accounting)
      const free = { ...history.at(-1), kind: 'charged', principal: 'ada', loss: nothing } as const
      const ids = Array.from({ length: 2_100 }, (_, number) => `free ${number}`)
      const failed = { kind: 'failed', principal: 'ada', chargeId: 'free 0', attempt: 1 } as const
      const events = chain('census', [...history, ...ids.map((chargeId) => ({ ...free, chargeId })), failed])
      const records = new Map(recordsOf(events))
      for (const id of ['free 0', 'free 2050', 'free 1500', 'free 2099']) records.delete(id)
      expect(await source.verifyLedger(live(source, events, {}, records).ledger, 'census')).toEqual({
        kind: 'broken',
        sequence: history.length + 1_501,
        reason: 'the charge is not stored',
      })
    },
  ),
  verificationTest(`a live ledger is verified up to its head, in pages, in ${accounting}`, async (source) => {
    const history = sampleHistory(accounting)
    const free = history.at(-1)
    if (free === undefined) throw new Error('there is a last event')
    const many = Array.from({ length: 2_100 }, (_, number) => ({
      ...free,
      chargeId: `free ${number}`,
      loss: accounting === 'zcdp' ? { rhoPico: '0' } : { epsilonNano: '0', deltaAtto: '0' },
    }))
    const events = chain('census', [...history, ...many])
    const { ledger, head } = live(source, events)
    expect(await source.verifyLedger(ledger, 'census')).toEqual({
      kind: 'sound',
      events: head.sequence,
      headHash: head.hash,
      budget: head.budget,
      spending: head.spending,
      failures: head.failures,
      suspended: head.suspended,
    })
    expect(await source.verifyLedger(ledger, 'never')).toBeUndefined()
    // Events after the head that was read are ignored.
    const { events: all, chargeRecords } = ledger
    const later = { ...live(source, events.slice(0, 1_500)).ledger, events: all, chargeRecords }
    expect(await source.verifyLedger(later, 'census')).toMatchObject({ kind: 'sound', events: 1_500 })
    for (const cut of [1_000, 1_001, events.length - 1]) {
      const shortened = { ...ledger, events: live(source, events.slice(0, cut)).ledger.events }
      expect(await source.verifyLedger(shortened, 'census')).toMatchObject({
        kind: 'broken',
        sequence: cut + 1,
      })
    }
    const flipped = events.with(1_700, { canonical: events[1_700]?.canonical ?? '', hash: head.hash })
    const broken = {
      ...ledger,
      events: async (_: string, page: { limit: number; afterSequence: number }) =>
        flipped.slice(page.afterSequence, page.afterSequence + page.limit),
    }
    expect(await source.verifyLedger(broken, 'census')).toMatchObject({ kind: 'broken', sequence: 1_701 })
  }),
])

const ALTERED_TESTS: readonly VerificationTest[] = ACCOUNTINGS.map((accounting) => ({
  name: `every change of an export is found at the first event that it breaks, in ${accounting}`,
  async run(source) {
    const events = chain('census', sampleHistory(accounting))
    let tried = 0
    const broken = (changed: readonly StoredEvent[], sequence: number) => {
      tried += 1
      expect(verify(source, changed)).toMatchObject({ kind: 'broken', sequence })
    }
    for (const [place, event] of events.entries()) {
      const text = event.canonical
      const before = verify(source, events.slice(0, place))
      if (before.kind !== 'sound') throw new Error('the events before are sound')
      for (let position = 0; position < text.length; position += 1) {
        const flipped = String.fromCharCode(text.charCodeAt(position) ^ 1)
        const canonical = text.slice(0, position) + flipped + text.slice(position + 1)
        // Continues after the events before, which verifying anew for each character would take most of the time.
        const verifier = source.createVerifier('census', place === 0 ? undefined : before)
        for (const next of [{ ...event, canonical }, ...events.slice(place + 1, place + 2)])
          verifier.add(next, sha256(next.canonical))
        tried += 1
        expect(verifier.result()).toMatchObject({ kind: 'broken', sequence: place + 1 })
        // Once per event also from the beginning.
        if (position === 0) broken(events.with(place, { ...event, canonical }), place + 1)
      }
      broken(events.with(place, { ...event, hash: sha256(event.hash) }), place + 1)
      const next = events[place + 1]
      if (next !== undefined) {
        broken(events.toSpliced(place, 1), place + 1)
        for (let other = place + 1; other < events.length; other += 1)
          broken(events.with(place, events[other] ?? event).with(other, event), place + 1)
      }
      broken(events.toSpliced(place, 0, event), place + 2)
      for (const canonical of ['', '{}', 'null', canonicalJson({ version: 2 })])
        broken(events.toSpliced(place, 0, { canonical, hash: sha256(canonical) }), place + 1)
      // The same event with its fields in another order has another text.
      const reordered = JSON.stringify({ version: 1, ...JSON.parse(text) })
      broken(events.with(place, { canonical: reordered, hash: sha256(reordered) }), place + 1)
      // Removing the last events leaves a sound chain. The head that was recorded before shows it.
      const cut = verify(source, events.slice(0, place))
      if (cut.kind !== 'sound') throw new Error('the remaining events are sound')
      expect(cut.headHash).not.toBe(events.at(-1)?.hash)
      const { ledger } = live(source, events.slice(0, place), live(source, events).head)
      expect(await source.verifyLedger(ledger, 'census')).toMatchObject({
        kind: 'broken',
        sequence: place + 1,
      })
    }
    expect(tried).toBeGreaterThan(5_000)
  },
}))

const ACT: EventFacts = {
  kind: 'key-created',
  principal: 'carol',
  subject: 'key',
  facts: { role: 'analyst' },
}

/** Events that cannot be in the chain of administrative acts. */
const WRONG_ACTS: readonly (readonly [string, EventFacts])[] = [
  ['an event of a dataset', { kind: 'denied', principal: 'ada', chargeId: 'a' }],
  ['an unknown act', { ...ACT, kind: 'key-lost' as 'key-created' }],
  ['an act on nothing', { kind: 'key-created', principal: 'carol' }],
  ['an act with a nested fact', { ...ACT, facts: { role: { name: 'analyst' } as never } }],
  ['a grant without a reference', { ...ACT, kind: 'budget-granted' }],
  ['a grant with half a reference', { ...ACT, kind: 'budget-granted', facts: { sequence: 1 } }],
]

const ACT_TESTS: readonly VerificationTest[] = [
  verificationTest(
    'acts that cannot be are found even if all hashes are recomputed',
    async ({ createVerifier }) => {
      const after = (facts: readonly EventFacts[], name: string) => {
        const verifier = createVerifier(name)
        for (const event of chain(name, facts)) verifier.add(event, sha256(event.canonical))
        return verifier.result()
      }
      expect(after([ACT, ACT], ADMINISTRATION)).toMatchObject({ kind: 'sound', events: 2 })
      for (const [name, act] of WRONG_ACTS)
        expect(after([ACT, act], ADMINISTRATION), name).toMatchObject({ kind: 'broken', sequence: 2 })
      const [opened = ACT] = sampleHistory('basic')
      expect(after([opened, ACT], 'census')).toMatchObject({ kind: 'broken', sequence: 2 })
    },
  ),
]

const TEXT_TESTS: readonly VerificationTest[] = [
  verificationTest(
    'a lone surrogate, an unknown field and a repeated one are not canonical',
    async (source) => {
      const [opened = ACT] = sampleHistory('basic')
      const granted = (reason: string): EventFacts => ({
        ...{ kind: 'granted', principal: 'carol', reason },
        loss: { epsilonNano: '1', deltaAtto: '0' },
      })
      const after = (reason: string) => chain('census', [opened, granted(reason)])
      for (const reason of ['\\ud800', '\\\\ud800', '\u{1f4a7}', 'ud800'])
        expect(verify(source, after(reason)), reason).toMatchObject({ kind: 'sound' })
      const broken = { kind: 'broken', sequence: 2, reason: 'the text is not a canonical event' }
      for (const reason of ['\ud800', 'a\udfff', '\\\ud800', '\\\\\udbff b'])
        expect(verify(source, after(reason)), JSON.stringify(reason)).toEqual(broken)
      const [first, second] = after('more')
      for (const more of ['"zzz":1', '"version":1']) {
        const canonical = (second?.canonical ?? '').replace(/\}$/, `,${more}}`)
        const changed = { canonical, hash: sha256(canonical) }
        expect(verify(source, [first ?? changed, changed]), more).toEqual(broken)
      }
    },
  ),
]

/** All tests of verification, the slowest last. */
export const VERIFICATION_TESTS: readonly VerificationTest[] = [
  ...POPULATION_TESTS,
  ...ACCOUNTINGS.flatMap((accounting): VerificationTest[] => [
    verificationTest(
      `a history with every kind of event is sound, up to the last unit of its cap, in ${accounting}`,
      async (source) => {
        const history = sampleHistory(accounting)
        const price = amountBoughtBy(accounting, loss('0.1', '0.00001'))
        const debits = history.filter(({ kind }) => kind === 'charged').length
        const spent = Array.from({ length: debits - 1 }, () => price).reduce(addAmounts, price)
        const twice = addAmounts(price, price)
        const events = chain('census', history)
        expect(verify(source, events)).toEqual({
          kind: 'sound',
          events: history.length,
          headHash: events.at(-1)?.hash,
          budget: {
            granted: addLoss(loss('4', '0.001'), loss('5', '0.002')),
            cap: capOf(accounting),
            spent,
            population: POPULATION,
          },
          spending: [
            {
              principal: 'ada',
              spent: addAmounts(twice, price),
              spentOnShared: amountBoughtBy(accounting, loss('0')),
            },
            { principal: 'ben', spent: twice, spentOnShared: price },
          ],
          failures: 1,
          suspended: false,
        })
        const last = history.at(-1)
        if (last === undefined) throw new Error('there is a last event')
        // An analyst who has spent nothing uses the rest of the budget to the last unit. A share and a charge of 0 are
        // still possible.
        const rest: EventFacts = {
          ...last,
          chargeId: 'rest',
          principal: 'eve',
          loss: beyond(accounting, history, 0n),
        }
        const nothing = amountBoughtBy(accounting, loss('0'))
        const share = history[placeOf(history, 'shared')]
        if (share === undefined) throw new Error('there is a share')
        const after: readonly EventFacts[] = [
          rest,
          { ...last, chargeId: 'free', loss: eventAmount(nothing) },
          { ...share, chargeId: 'another share', principal: 'fay' },
        ]
        const whole = verify(source, chain('census', [...history, ...after]))
        expect(whole).toMatchObject({ kind: 'sound', events: history.length + 3 })
        const setToSpent: EventFacts = {
          kind: 'allotted',
          principal: 'carol',
          analyst: 'ben',
          loss: eventLoss(loss('0.2', '0.00002')),
          // Under zcdp (0.2, 0.00002) buys more than twice what (0.1, 0.00001) does.
          ...(accounting === 'zcdp' && { limit: eventAmount(twice) }),
        }
        expect(verify(source, chain('census', [...history, setToSpent])).kind).toBe('sound')
      },
    ),
    verificationTest(`an allotment of 0 equals the spending, in ${accounting}`, async (source) => {
      const history = sampleHistory(accounting)
      const spent = (count: number) => {
        const price = amountBoughtBy(accounting, loss('0.1', '0.00001'))
        return Array.from({ length: count }, () => price).reduce(addAmounts, noAmount(accounting))
      }
      const stops = (analyst: string, limit: Amount): EventFacts => ({
        kind: 'allotted',
        principal: 'carol',
        analyst,
        reason: 'no more',
        ...(limit.accounting === 'zcdp'
          ? { loss: eventLoss(NO_LOSS), limit: eventAmount(limit) }
          : { loss: eventLoss(limit) }),
      })
      const whole = [...history, stops('ben', spent(2)), stops('eve', spent(0)), stops('ada', spent(3))]
      const found = verify(source, chain('census', whole))
      if (found.kind !== 'sound') throw new Error(`event ${found.sequence}: ${found.reason}`)
      expect(found.spending.map(({ principal, allotment }) => [principal, allotment?.limit])).toEqual([
        ['ada', spent(3)],
        ['ben', spent(2)],
        ['eve', spent(0)],
      ])
      const last = history.at(-1)
      if (last === undefined) throw new Error('there is a last event')
      for (const principal of ['ada', 'ben', 'eve']) {
        const more: EventFacts = { ...last, chargeId: 'more', principal, loss: one(accounting) }
        const broken = { kind: 'broken', sequence: whole.length + 1, reason: 'the allotment is exceeded' }
        expect(verify(source, chain('census', [...whole, more]))).toEqual(broken)
        const free: EventFacts = { ...more, loss: eventAmount(spent(0)) }
        expect(verify(source, chain('census', [...whole, free])).kind).toBe('sound')
      }
    }),
    verificationTest(
      `an event without a salt, or with another one, is found, in ${accounting}`,
      async (source) => {
        const events = chain('census', sampleHistory(accounting))
        for (const [place, { canonical, hash }] of events.entries()) {
          const sequence = place + 1
          const without = canonical.replace(/"salt":"[^"]*",/, '')
          expect(verify(source, events.with(place, { canonical: without, hash: sha256(without) }))).toEqual({
            ...{ kind: 'broken', sequence },
            reason: 'the event has no salt',
          })
          const another = canonical.replace('"salt":"0', '"salt":"1')
          expect(verify(source, events.with(place, { canonical: another, hash }))).toMatchObject({
            ...{ kind: 'broken', sequence },
          })
        }
      },
    ),
    ...tamperedHistories(accounting).map(
      ({ name, place, history }): VerificationTest => ({
        name: `${name} is found even if all hashes are recomputed, in ${accounting}`,
        async run(source) {
          const events = chain('census', history)
          expect(verify(source, events)).toMatchObject({ kind: 'broken', sequence: place + 1 })
        },
      }),
    ),
  ]),
  ...ACT_TESTS,
  ...TEXT_TESTS,
  ...LIVE_TESTS,
  ...ALTERED_TESTS,
]
