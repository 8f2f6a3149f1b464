import { writeFileSync } from 'node:fs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { LedgerFault } from '../../../src/ledger/fault.ts'
import { openSqliteLedger } from '../../../src/ledger/sqlite/ledger.ts'
import { Refusal } from '../../../src/privacy/refusal.ts'
import { temporaryLedger } from '../../folders.ts'
import { basic, chargeOf, expectConsistentLedger, loss, question, summed } from '../support.ts'

async function openLedger(path = temporaryLedger()) {
  const ledger = await openSqliteLedger({ path })
  onTestFinished(() => ledger.close())
  return ledger
}

describe('a ledger in a worker thread', () => {
  it('supports every method of the ledger', async () => {
    const ledger = await openLedger()
    expect(await ledger.openBudget('census', summed('1'), 'carol')).toEqual({ kind: 'opened' })
    const charge = chargeOf(await ledger.charge(question('a', { sharing: true })))
    const granted = loss('1')
    expect(charge.budget).toEqual({ granted, cap: basic('1'), spent: basic('0.1') })
    expect(await ledger.charge(question('a'))).toMatchObject({ kind: 'in-flight' })
    await ledger.recordFailure(charge.id, 1)
    expect(await ledger.charge(question('a'))).toMatchObject({ kind: 'charged', charge: { attempt: 2 } })
    expect(await ledger.recordAnswer(charge.id, 1, 'late')).toBe(false)
    expect(await ledger.recordAnswer(charge.id, 2, 'the answer')).toBe(true)
    expect(await ledger.release(charge.id)).toMatchObject({ answer: 'the answer' })
    const share = {
      dataset: 'census',
      analyst: 'bob',
      granted: loss('0.1'),
      principal: 'carol',
      reason: 'a share',
    }
    expect(await ledger.allot(share)).toMatchObject({ kind: 'allotted', analyst: { principal: 'bob' } })
    const bobs = question('a', { principal: 'bob', sharing: true })
    expect(await ledger.charge(bobs)).toMatchObject({ kind: 'shared', shared: { answer: 'the answer' } })
    expect(await ledger.charge(question('b', { principal: 'bob' }))).toMatchObject({ kind: 'denied' })
    expect(await ledger.grant('census', loss('1'), 'carol', 'why')).toMatchObject({ cap: basic('2') })
    expect(await ledger.budget('census')).toMatchObject({ cap: basic('2'), spent: basic('0.1') })
    expect(await ledger.analystSpending('census', 'bob')).toMatchObject({ spentOnShared: basic('0.1') })
    const session = question('session')
    const { id } = chargeOf(await ledger.charge(session))
    const opening = { positives: 1, terms: '{}', thresholdNoise: -(2n ** 62n) }
    expect(await ledger.openSession(id, 1, 'opened', opening)).toBe(true)
    const asked = { session: id, idempotencyKey: 'q', requestHash: 'q' }
    expect(await ledger.sessionQuestion(asked)).toMatchObject({ kind: 'open', ...opening })
    const answer = { ...asked, question: 1, request: '{}', above: true, answer: 'above' }
    expect(await ledger.recordSessionAnswer(answer)).toBe(true)
    expect(await ledger.session(id)).toMatchObject({ answered: 1, positivesLeft: 0 })
    expect(await ledger.sessionAnswers(id, { limit: 1 })).toMatchObject([{ answer: 'above' }])
    const kinds = (await ledger.entries('census', { limit: 20 })).map(({ kind }) => kind)
    expect(kinds.reverse()).toEqual([
      'opened',
      'charged',
      'failed',
      'retried',
      'answered',
      'allotted',
      'shared',
      'denied',
      'granted',
      'charged',
      'answered',
      'session-answered',
    ])
    expect(await ledger.head('census')).toMatchObject({ sequence: 12, budget: { spent: basic('0.2') } })
    expect(await ledger.datasets()).toEqual(['census'])
    expect(await ledger.lastDatasetVersion('census')).toBe(1)
    expect(await ledger.healthy()).toBe(true)
    await expectConsistentLedger(ledger)
  })

  it('accepts exactly 100 of 400 concurrent charges of 10 under a cap of 1000', async () => {
    const path = temporaryLedger()
    const ledger = await openSqliteLedger({ path })
    await ledger.openBudget('census', summed('1000'), 'carol')
    const outcomes = await Promise.all(
      Array.from({ length: 400 }, (_, index) => ledger.charge(question(`q${index}`, { price: basic('10') }))),
    )
    expect(outcomes.filter(({ kind }) => kind === 'charged')).toHaveLength(100)
    expect(outcomes.filter(({ kind }) => kind === 'denied')).toHaveLength(300)
    const full = { granted: loss('1000'), cap: basic('1000'), spent: basic('1000') }
    expect(await ledger.budget('census')).toEqual(full)
    await ledger.close()
    const again = await openLedger(path)
    expect(await again.budget('census')).toEqual(full)
    await expectConsistentLedger(again)
  })

  it.each([
    [1, 1],
    [256, 1],
    [257, 2],
    [600, 3],
    [2_000, 8],
  ])('commits %d concurrent calls in %d batches', async (count, batches) => {
    const ledger = await openLedger()
    await ledger.openBudget('census', summed('1000'), 'carol')
    const before = ledger.statistics()
    const keys = Array.from({ length: count }, (_, index) => `q${index}`)
    const outcomes = await Promise.all(keys.map((key) => ledger.charge(question(key))))
    // Calls take effect in the order in which they were made, across batches too.
    expect(outcomes.map((outcome) => chargeOf(outcome).event.sequence)).toEqual(keys.map((_, at) => at + 2))
    const after = ledger.statistics()
    expect(after.calls - before.calls).toBe(count)
    expect(after.commits - before.commits).toBe(batches)
  })

  it('rejects a call whose arguments cannot be sent to a thread, and continues', async () => {
    const ledger = await openLedger()
    await ledger.openBudget('census', summed('1'), 'carol')
    const wrong = question('a', { principal: (() => 'ada') as never })
    const error = await ledger.charge(wrong).catch((reason: unknown) => reason)
    expect(error).toMatchObject({ name: 'DataCloneError' })
    // Calls of the same batch are not affected.
    const asked = [question('b'), question('c', { price: (() => 1) as never }), question('d')]
    const outcomes = await Promise.allSettled(asked.map((each) => ledger.charge(each)))
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect((await ledger.charge(question('a'))).kind).toBe('charged')
    expect(await ledger.head('census')).toMatchObject({ sequence: 4 })
  })

  it('runs an exclusive task at once, because no other process has the file open', async () => {
    const ledger = await openLedger()
    const done = ledger.exclusively(async (requireAlone) => {
      await requireAlone()
      return ledger.datasets()
    })
    expect(await done).toEqual([])
    const refusal = new Refusal('unknown-dataset', 'There is none.')
    const refused = ledger.exclusively(async () => {
      throw refusal
    })
    await expect(refused).rejects.toBe(refusal)
  })

  it('rejects a call with an argument out of range and carries out concurrent calls', async () => {
    const ledger = await openLedger()
    await ledger.openBudget('census', summed('1'), 'carol')
    const [first, second, third] = await Promise.allSettled([
      ledger.charge(question('a')),
      ledger.grant('census', loss('1000000'), 'carol', 'too much'),
      ledger.charge(question('b')),
    ])
    expect(first).toMatchObject({ status: 'fulfilled', value: { kind: 'charged' } })
    expect(second).toMatchObject({ status: 'rejected', reason: expect.any(RangeError) })
    expect(third).toMatchObject({ status: 'fulfilled', value: { kind: 'charged' } })
  })

  it('completes earlier calls before it closes, and rejects later ones', async () => {
    const path = temporaryLedger()
    const ledger = await openSqliteLedger({ path })
    await ledger.openBudget('census', summed('1000'), 'carol')
    const asked = Array.from({ length: 300 }, (_, index) => ledger.charge(question(`q${index}`)))
    const closed = ledger.close()
    const late = ledger.charge(question('late'))
    await expect(late).rejects.toThrow(new LedgerFault('closed', 'the ledger is closed'))
    expect((await Promise.all(asked)).every(({ kind }) => kind === 'charged')).toBe(true)
    await closed
    await ledger.close()
    expect(await ledger.healthy()).toBe(false)
    const again = await openLedger(path)
    expect(await again.budget('census')).toMatchObject({ cap: basic('1000'), spent: basic('30') })
  })

  it('refuses a second opener in the same process and continues to serve the first', async () => {
    const path = temporaryLedger()
    const ledger = await openLedger(path)
    await expect(openSqliteLedger({ path })).rejects.toMatchObject({
      name: 'LedgerFault',
      kind: 'in-use',
      message: `another process has the ledger ${path} open`,
    })
    expect(await ledger.openBudget('census', summed('1'), 'carol')).toEqual({ kind: 'opened' })
  })

  it('reports why a file cannot be a ledger', async () => {
    const path = temporaryLedger()
    writeFileSync(path, 'not a database, but long enough to be looked at '.repeat(100))
    await expect(openSqliteLedger({ path })).rejects.toMatchObject({
      name: 'LedgerFault',
      kind: 'unusable',
      message: expect.stringContaining('not a database'),
    })
  })
})
