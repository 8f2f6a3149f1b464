import { describe, expect, it, onTestFinished } from 'vitest'
import { chargeId } from '../../src/ledger/charge-id.ts'
import { LedgerFault } from '../../src/ledger/fault.ts'
import type { ChargeOutcome } from '../../src/ledger/ledger.ts'
import type { Call } from '../../src/ledger/operation.ts'
import { openSqliteDatabase } from '../../src/ledger/sqlite-schema.ts'
import { sqliteStore } from '../../src/ledger/sqlite-store.ts'
import { MAX_BUDGET_EPSILON, NO_LOSS } from '../../src/privacy/loss.ts'
import { balanceOfEvents, firstMisfit, loss, question, run, temporaryPath } from './support.ts'

function openStore(cap = loss('1', '0.000001')) {
  const clock = { ms: Date.UTC(2026, 0, 1) }
  const database = openSqliteDatabase(temporaryPath())
  onTestFinished(() => {
    if (database.isOpen) database.close()
  })
  const store = sqliteStore(database, () => clock.ms)
  run(store, 'openBudget', 'census', cap, 'carol')
  return { clock, database, store }
}

function chargeOf(outcome: ChargeOutcome) {
  if (outcome.kind !== 'charged') throw new Error(`expected a charge, not ${outcome.kind}`)
  return outcome.charge
}

describe('a budget', () => {
  it('is opened once and stays as it is', () => {
    const { store } = openStore()
    expect(run(store, 'openBudget', 'other', loss('2'), 'carol')).toEqual({ kind: 'opened' })
    run(store, 'charge', question('a'))
    expect(run(store, 'openBudget', 'census', loss('9'), 'carol')).toEqual({
      kind: 'exists',
      budget: { cap: loss('1', '0.000001'), spent: loss('0.1') },
    })
    expect(run(store, 'budget', 'census')?.cap).toEqual(loss('1', '0.000001'))
    expect(run(store, 'budget', 'nowhere')).toBeUndefined()
  })

  it('adds decimals exactly: 0.1 and 0.2 leave 0.7 of 1', () => {
    const { store } = openStore()
    run(store, 'charge', question('a', { loss: loss('0.1') }))
    const { budget } = chargeOf(run(store, 'charge', question('b', { loss: loss('0.2') })))
    expect(budget.cap.epsilonNano - budget.spent.epsilonNano).toBe(loss('0.7').epsilonNano)
    expect(run(store, 'charge', question('c', { loss: loss('0.700000001') })).kind).toBe('denied')
    expect(run(store, 'charge', question('d', { loss: loss('0.7') })).kind).toBe('charged')
    expect(run(store, 'charge', question('e', { loss: loss('0.000000001') })).kind).toBe('denied')
  })

  it('is bound by delta as much as by epsilon', () => {
    const { store } = openStore()
    expect(run(store, 'charge', question('a', { loss: loss('0.1', '0.000001') })).kind).toBe('charged')
    const denied = run(store, 'charge', question('b', { loss: loss('0.1', '0.000000000000000001') }))
    expect(denied).toEqual({
      kind: 'denied',
      budget: { cap: loss('1', '0.000001'), spent: loss('0.1', '0.000001') },
    })
    expect(run(store, 'charge', question('c', { loss: loss('0.1') })).kind).toBe('charged')
  })

  it('holds the largest amounts exactly, and no more', () => {
    const largest = loss(String(MAX_BUDGET_EPSILON), '0.999999999999999999')
    const { store } = openStore(largest)
    expect(run(store, 'charge', question('a', { loss: largest })).kind).toBe('charged')
    expect(run(store, 'budget', 'census')).toEqual({ cap: largest, spent: largest })
    expect(run(store, 'charge', question('b', { loss: largest })).kind).toBe('denied')
    expect(() => run(store, 'grant', 'census', loss('0.000000001'), 'carol', 'more')).toThrow(RangeError)
    expect(() => run(store, 'grant', 'census', loss('0', '0.000000000000000001'), 'carol', 'more')).toThrow(
      RangeError,
    )
    expect(() => run(store, 'openBudget', 'b', loss('1000000.000000001'), 'carol')).toThrow(RangeError)
    expect(() => run(store, 'openBudget', 'b', loss('1', '1'), 'carol')).toThrow(RangeError)
    expect(() => run(store, 'charge', question('c', { loss: loss('1000000.000000001') }))).toThrow(RangeError)
    expect(run(store, 'budget', 'census')).toEqual({ cap: largest, spent: largest })
    expect(run(store, 'budget', 'b')).toBeUndefined()
  })

  it('grows by grants, which are on record', () => {
    const { store } = openStore()
    run(store, 'charge', question('a', { loss: loss('1') }))
    expect(run(store, 'charge', question('b')).kind).toBe('denied')
    expect(run(store, 'grant', 'census', loss('0.1', '0.5'), 'carol', 'a second survey')).toEqual({
      cap: loss('1.1', '0.500001'),
      spent: loss('1'),
    })
    expect(run(store, 'charge', question('b')).kind).toBe('charged')
    expect(run(store, 'grant', 'nowhere', loss('1'), 'carol', 'why not')).toBeUndefined()
    const [, granted] = run(store, 'entries', 'census', { limit: 10 })
    expect(granted).toMatchObject({
      kind: 'granted',
      principal: 'carol',
      reason: 'a second survey',
      loss: loss('0.1', '0.5'),
    })
  })
})

describe('a charge', () => {
  it('is known by its principal and key', () => {
    const { store } = openStore()
    const charge = chargeOf(run(store, 'charge', question('a')))
    expect(charge).toEqual({
      id: chargeId('ada', 'a'),
      attempt: 1,
      budget: { cap: loss('1', '0.000001'), spent: loss('0.1') },
    })
    expect(charge.id).toMatch(/^[0-9a-f]{32}$/)
    expect(chargeOf(run(store, 'charge', question('a', { principal: 'bob' }))).id).not.toBe(charge.id)
    expect(run(store, 'budget', 'census')?.spent).toEqual(loss('0.2'))
  })

  it('is in flight until its lease runs out, then belongs to the next attempt at no cost', () => {
    const { clock, store } = openStore()
    const first = chargeOf(run(store, 'charge', question('a')))
    clock.ms += 400
    expect(run(store, 'charge', question('a'))).toEqual({ kind: 'in-flight', retryAfterMs: 600 })
    clock.ms += 600
    const second = chargeOf(run(store, 'charge', question('a', { datasetVersion: 'v2' })))
    expect(second).toEqual({ ...first, attempt: 2 })
    expect(run(store, 'charge', question('a'))).toEqual({ kind: 'in-flight', retryAfterMs: 1_000 })
    expect(run(store, 'recordAnswer', first.id, 1, 'late')).toBe(false)
    expect(run(store, 'release', first.id)).toBeUndefined()
    expect(run(store, 'recordAnswer', first.id, 2, 'in time')).toBe(true)
    expect(run(store, 'charge', question('a'))).toEqual({
      kind: 'answered',
      id: first.id,
      answer: 'in time',
    })
  })

  it('is not locked for longer by a clock that was set back', () => {
    const { clock, store } = openStore()
    run(store, 'charge', question('a'))
    clock.ms -= 3_600_000
    expect(chargeOf(run(store, 'charge', question('a'))).attempt).toBe(2)
  })

  it('replays its answer byte for byte, whatever the price is by then', () => {
    const { store } = openStore()
    const answer = '{"value":1,"text":"\u0000 ü 💧 \\u2028"}'
    const { id } = chargeOf(run(store, 'charge', question('a')))
    expect(run(store, 'recordAnswer', id, 1, answer)).toBe(true)
    expect(run(store, 'recordAnswer', id, 1, 'another')).toBe(false)
    expect(run(store, 'charge', question('a', { loss: loss('0.5') }))).toEqual({
      kind: 'answered',
      id,
      answer,
    })
    expect(run(store, 'release', id)).toEqual({ id, dataset: 'census', principal: 'ada', answer })
    expect(run(store, 'release', chargeId('ada', 'b'))).toBeUndefined()
    expect(run(store, 'budget', 'census')?.spent).toEqual(loss('0.1'))
  })

  it('refuses its key for another request, another dataset, or another price before the answer', () => {
    const { store } = openStore()
    run(store, 'openBudget', 'other', loss('1'), 'carol')
    const { id } = chargeOf(run(store, 'charge', question('a')))
    const reused = { kind: 'key-reused' }
    expect(run(store, 'charge', question('a', { requestHash: 'another' }))).toEqual(reused)
    expect(run(store, 'charge', question('a', { dataset: 'other' }))).toEqual(reused)
    expect(run(store, 'charge', question('a', { loss: loss('0.2') }))).toEqual(reused)
    run(store, 'recordFailure', id, 1)
    expect(run(store, 'charge', question('a', { loss: loss('0.2') }))).toEqual(reused)
    expect(run(store, 'charge', question('a')).kind).toBe('charged')
    run(store, 'recordAnswer', id, 2, 'x')
    expect(run(store, 'charge', question('a', { requestHash: 'another' }))).toEqual(reused)
    expect(run(store, 'charge', question('a', { dataset: 'other' }))).toEqual(reused)
    expect(run(store, 'budget', 'census')?.spent).toEqual(loss('0.1'))
  })

  it('may be tried again at once after a failure, and the debit stays', () => {
    const { store } = openStore()
    const { id } = chargeOf(run(store, 'charge', question('a')))
    run(store, 'recordFailure', id, 7)
    expect(run(store, 'charge', question('a')).kind).toBe('in-flight')
    run(store, 'recordFailure', id, 1)
    expect(run(store, 'recordAnswer', id, 1, 'x')).toBe(false)
    expect(run(store, 'budget', 'census')?.spent).toEqual(loss('0.1'))
    expect(chargeOf(run(store, 'charge', question('a'))).attempt).toBe(2)
    run(store, 'recordFailure', id, 1)
    expect(run(store, 'recordAnswer', id, 2, 'x')).toBe(true)
    run(store, 'recordFailure', id, 2)
    expect(run(store, 'release', id)?.answer).toBe('x')
  })

  it('that was denied keeps its key, and pays as soon as the budget allows', () => {
    const { store } = openStore()
    const costly = question('a', { loss: loss('1.5') })
    expect(run(store, 'charge', costly).kind).toBe('denied')
    expect(run(store, 'charge', costly).kind).toBe('denied')
    expect(run(store, 'charge', { ...costly, requestHash: 'another' }).kind).toBe('key-reused')
    expect(run(store, 'recordAnswer', chargeId('ada', 'a'), 1, 'x')).toBe(false)
    run(store, 'recordFailure', chargeId('ada', 'a'), 1)
    run(store, 'grant', 'census', loss('1'), 'carol', 'asked for')
    expect(chargeOf(run(store, 'charge', costly))).toMatchObject({
      attempt: 1,
      budget: { spent: loss('1.5') },
    })
    expect(run(store, 'entries', 'census', { limit: 10 }).map(({ kind }) => kind)).toEqual([
      'charged',
      'granted',
      'denied',
      'denied',
      'opened',
    ])
  })

  it('needs a budget, and leaves no trace without one', () => {
    const { store, database } = openStore()
    expect(run(store, 'charge', question('a', { dataset: 'nowhere' }))).toEqual({ kind: 'no-budget' })
    expect(database.prepare('SELECT count(*) AS n FROM charges').get()).toEqual({ n: 0n })
    expect(run(store, 'charge', question('a')).kind).toBe('charged')
  })

  it('of nothing is a charge too', () => {
    const { store } = openStore(NO_LOSS)
    expect(run(store, 'charge', question('a', { loss: NO_LOSS })).kind).toBe('charged')
    expect(run(store, 'charge', question('b')).kind).toBe('denied')
  })

  it.each([
    ['an empty key', { idempotencyKey: '' }],
    ['an empty principal', { principal: '' }],
    ['a lone surrogate', { request: '\ud800' }],
    ['no lease', { leaseMs: 0 }],
    ['an endless lease', { leaseMs: Number.POSITIVE_INFINITY }],
    ['a fraction of a lease', { leaseMs: 0.5 }],
    ['a negative epsilon', { loss: { ...NO_LOSS, epsilonNano: -1n as never } }],
    ['a negative delta', { loss: { ...NO_LOSS, deltaAtto: -1n as never } }],
    ['an epsilon beyond 64 bits', { loss: { ...NO_LOSS, epsilonNano: (1n << 64n) as never } }],
  ])('with %s is refused and leaves no trace', (_, changes) => {
    const { store } = openStore()
    expect(() => run(store, 'charge', question('a', changes))).toThrow(RangeError)
    expect(run(store, 'entries', 'census', { limit: 10 })).toHaveLength(1)
    expect(run(store, 'budget', 'census')?.spent).toEqual(NO_LOSS)
  })
})

describe('the history', () => {
  it('tells every event, newest first, page by page', () => {
    const { clock, store } = openStore()
    const { id } = chargeOf(run(store, 'charge', question('a')))
    clock.ms += 5_000
    run(store, 'charge', question('a'))
    run(store, 'recordFailure', id, 2)
    run(store, 'charge', question('a'))
    run(store, 'recordAnswer', id, 3, 'x')
    run(store, 'charge', question('b', { principal: 'bob', loss: loss('5') }))
    const all = run(store, 'entries', 'census', { limit: 100 })
    expect(all.map(({ sequence, kind, principal }) => [sequence, kind, principal])).toEqual([
      [7, 'denied', 'bob'],
      [6, 'answered', 'ada'],
      [5, 'retried', 'ada'],
      [4, 'failed', 'ada'],
      [3, 'retried', 'ada'],
      [2, 'charged', 'ada'],
      [1, 'opened', 'carol'],
    ])
    expect(all.filter((entry) => entry.loss !== undefined).map(({ kind }) => kind)).toEqual([
      'denied',
      'charged',
      'opened',
    ])
    expect(all[5]).toEqual({
      sequence: 2,
      dataset: 'census',
      kind: 'charged',
      at: '2026-01-01T00:00:00.000Z',
      principal: 'ada',
      chargeId: id,
      loss: loss('0.1'),
      hash: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
    const paged = []
    let beforeSequence: number | undefined
    for (;;) {
      const page = run(store, 'entries', 'census', {
        limit: 2,
        ...(beforeSequence !== undefined && { beforeSequence }),
      })
      paged.push(...page)
      beforeSequence = page.at(-1)?.sequence
      if (beforeSequence === undefined) break
    }
    expect(paged).toEqual(all)
    const sequences = (page: Parameters<typeof run<'entries'>>[3]) =>
      run(store, 'entries', 'census', page).map(({ sequence }) => sequence)
    expect(sequences({ limit: 100, principal: 'bob' })).toEqual([7])
    expect(sequences({ limit: 2, principal: 'ada', beforeSequence: 6 })).toEqual([5, 4])
    expect(sequences({ limit: 2, principal: 'nobody' })).toEqual([])
    expect(run(store, 'entries', 'nowhere', { limit: 1 })).toEqual([])
    expect(() => run(store, 'entries', 'census', { limit: 0 })).toThrow(RangeError)
    expect(() => run(store, 'entries', 'census', { limit: 1.5 })).toThrow(RangeError)
    expect(() => run(store, 'entries', 'census', { limit: 1, beforeSequence: Number.NaN })).toThrow(
      RangeError,
    )
  })

  it('is a chain that can be recomputed, dataset by dataset, and adds up to the balances', () => {
    const { store, database } = openStore()
    run(store, 'openBudget', 'other', loss('3'), 'carol')
    for (const key of ['a', 'b', 'c']) {
      const { id } = chargeOf(run(store, 'charge', question(key)))
      run(store, 'charge', question(key, { principal: 'bob', dataset: 'other' }))
      run(store, 'recordAnswer', id, 1, key)
    }
    for (const dataset of ['census', 'other']) {
      expect(firstMisfit(database, dataset)).toBeUndefined()
      expect(balanceOfEvents(database, dataset)).toEqual(run(store, 'budget', dataset))
    }
  })

  it('shows a flipped byte, wherever it is', () => {
    const { store, database } = openStore()
    for (const key of ['a', 'b', 'c']) run(store, 'charge', question(key))
    database.exec('DROP TRIGGER events_are_never_changed')
    const change = database.prepare('UPDATE events SET canonical = ? WHERE dataset = ? AND sequence = 3')
    const stored = database
      .prepare('SELECT canonical FROM events WHERE dataset = ? AND sequence = 3')
      .get('census')
    const original = String(stored?.canonical)
    for (let index = 0; index < original.length; index += 1) {
      const flipped = String.fromCharCode(original.charCodeAt(index) ^ 1)
      change.run(original.slice(0, index) + flipped + original.slice(index + 1), 'census')
      expect(firstMisfit(database, 'census'), `byte ${index}`).toBe(3)
    }
    change.run(original, 'census')
    expect(firstMisfit(database, 'census')).toBeUndefined()
    database.exec('DROP TRIGGER events_are_never_deleted')
    database.exec("DELETE FROM events WHERE dataset = 'census' AND sequence = 4")
    expect(firstMisfit(database, 'census')).toBe(4)
  })
})

describe('a batch', () => {
  const charge = (key: string, changes = {}): Call => ({
    operation: 'charge',
    args: [question(key, changes)],
  })

  it('is one commit, in which one failing call does not harm its neighbours', () => {
    const { store, database } = openStore()
    const exec = database.exec.bind(database)
    const commits: string[] = []
    database.exec = (sql) => {
      if (sql === 'COMMIT') commits.push(sql)
      exec(sql)
    }
    database.exec(`
      CREATE TEMP TRIGGER failing_after_the_debit BEFORE INSERT ON events WHEN NEW.principal = 'eve'
      BEGIN SELECT RAISE(ABORT, 'no room for eve'); END
    `)
    const settled = store.batch([
      charge('a'),
      charge('b', { leaseMs: -1 }),
      charge('c', { principal: 'eve' }),
      charge('a'),
      charge('d'),
    ])
    expect(settled.map((each) => (each.kind === 'done' ? each.result : each.error.message))).toEqual([
      expect.objectContaining({ kind: 'charged' }),
      expect.stringContaining('leaseMs'),
      'no room for eve',
      expect.objectContaining({ kind: 'in-flight' }),
      expect.objectContaining({ kind: 'charged' }),
    ])
    expect(commits).toHaveLength(1)
    expect(run(store, 'budget', 'census')?.spent).toEqual(loss('0.2'))
    expect(balanceOfEvents(database, 'census').spent).toEqual(loss('0.2'))
    expect(firstMisfit(database, 'census')).toBeUndefined()
    expect(database.prepare("SELECT 1 FROM charges WHERE principal = 'eve'").get()).toBeUndefined()
  })

  it('that meets a full disk is undone as a whole, and the store goes on once there is room', () => {
    const { store, database } = openStore()
    const spent = run(store, 'budget', 'census')?.spent
    database.exec('PRAGMA max_page_count = 1')
    const large = { request: 'x'.repeat(1_000_000) }
    expect(() => store.batch([charge('a'), charge('b', large), charge('c')])).toThrow(
      expect.objectContaining({ name: 'LedgerFault', kind: 'unknown' }),
    )
    database.exec('PRAGMA max_page_count = 1000000')
    expect(run(store, 'budget', 'census')?.spent).toEqual(spent)
    expect(store.batch([charge('a'), charge('b', large), charge('c')]).map(({ kind }) => kind)).toEqual([
      'done',
      'done',
      'done',
    ])
    expect(firstMisfit(database, 'census')).toBeUndefined()
  })

  it('in which the store itself fails is undone as a whole, and stops the store', () => {
    const { store, database } = openStore()
    database.exec('DROP TABLE releases')
    const answer: Call = { operation: 'recordAnswer', args: [chargeId('ada', 'a'), 1, 'x'] }
    const stopped = expect.objectContaining({ name: 'LedgerFault', kind: 'stopped' })
    expect(() => store.batch([charge('a'), answer])).toThrow(stopped)
    expect(() => run(store, 'budget', 'census')).toThrow(stopped)
    expect(database.isTransaction).toBe(false)
    expect(balanceOfEvents(database, 'census').spent).toEqual(NO_LOSS)
  })

  it('that cannot be committed stops the store', () => {
    const { store, database } = openStore()
    const exec = database.exec.bind(database)
    database.exec = (sql) => {
      if (sql === 'COMMIT') throw Object.assign(new Error('disk I/O error'), { errcode: 1034 })
      exec(sql)
    }
    const stopped = expect.objectContaining({ name: 'LedgerFault', kind: 'stopped' })
    expect(() => store.batch([charge('a')])).toThrow(stopped)
    database.exec = exec
    expect(() => store.batch([charge('a')])).toThrow(stopped)
    expect(() => store.batch([])).toThrow(LedgerFault)
    store.close()
  })
})
