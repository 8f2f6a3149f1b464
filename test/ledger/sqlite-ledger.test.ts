import { writeFileSync } from 'node:fs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { LedgerFault } from '../../src/ledger/fault.ts'
import { openSqliteLedger } from '../../src/ledger/sqlite.ts'
import { openSqliteDatabase } from '../../src/ledger/sqlite-schema.ts'
import { balanceOfEvents, firstMisfit, loss, question, temporaryPath } from './support.ts'

async function openLedger(path = temporaryPath()) {
  const ledger = await openSqliteLedger({ path })
  onTestFinished(() => ledger.close())
  return ledger
}

describe('a ledger in a thread of its own', () => {
  it('offers the whole life of a charge', async () => {
    const ledger = await openLedger()
    expect(await ledger.openBudget('census', loss('1'), 'carol')).toEqual({ kind: 'opened' })
    const outcome = await ledger.charge(question('a'))
    if (outcome.kind !== 'charged') throw new Error('the charge must succeed')
    expect(outcome.charge.budget).toEqual({ cap: loss('1'), spent: loss('0.1') })
    expect(await ledger.charge(question('a'))).toMatchObject({ kind: 'in-flight' })
    await ledger.recordFailure(outcome.charge.id, 1)
    expect(await ledger.charge(question('a'))).toMatchObject({ kind: 'charged', charge: { attempt: 2 } })
    expect(await ledger.recordAnswer(outcome.charge.id, 1, 'late')).toBe(false)
    expect(await ledger.recordAnswer(outcome.charge.id, 2, 'the answer')).toBe(true)
    expect(await ledger.release(outcome.charge.id)).toMatchObject({ answer: 'the answer' })
    expect(await ledger.grant('census', loss('1'), 'carol', 'why')).toMatchObject({ cap: loss('2') })
    expect(await ledger.budget('census')).toEqual({ cap: loss('2'), spent: loss('0.1') })
    expect((await ledger.entries('census', { limit: 10 })).map(({ kind }) => kind)).toEqual([
      'granted',
      'answered',
      'retried',
      'failed',
      'charged',
      'opened',
    ])
    expect(await ledger.healthy()).toBe(true)
  })

  it('lets exactly 100 of 400 concurrent charges of 10 into a cap of 1000', async () => {
    const path = temporaryPath()
    const ledger = await openSqliteLedger({ path })
    await ledger.openBudget('census', loss('1000'), 'carol')
    const outcomes = await Promise.all(
      Array.from({ length: 400 }, (_, index) => ledger.charge(question(`q${index}`, { loss: loss('10') }))),
    )
    expect(outcomes.filter(({ kind }) => kind === 'charged')).toHaveLength(100)
    expect(outcomes.filter(({ kind }) => kind === 'denied')).toHaveLength(300)
    expect(await ledger.budget('census')).toEqual({ cap: loss('1000'), spent: loss('1000') })
    await ledger.close()
    const database = openSqliteDatabase(path)
    onTestFinished(() => database.close())
    expect(firstMisfit(database, 'census')).toBeUndefined()
    expect(balanceOfEvents(database, 'census')).toEqual({ cap: loss('1000'), spent: loss('1000') })
  })

  it('makes what is asked together durable together', async () => {
    const ledger = await openLedger()
    await ledger.openBudget('census', loss('1000'), 'carol')
    const before = ledger.statistics()
    await Promise.all(Array.from({ length: 500 }, (_, index) => ledger.charge(question(`q${index}`))))
    const after = ledger.statistics()
    expect(after.calls - before.calls).toBe(500)
    expect(after.commits - before.commits).toBeLessThan(50)
  })

  it('rejects a call that is out of range and carries out its neighbours', async () => {
    const ledger = await openLedger()
    await ledger.openBudget('census', loss('1'), 'carol')
    const [first, second, third] = await Promise.allSettled([
      ledger.charge(question('a')),
      ledger.grant('census', loss('1000000'), 'carol', 'too much'),
      ledger.charge(question('b')),
    ])
    expect(first).toMatchObject({ status: 'fulfilled', value: { kind: 'charged' } })
    expect(second).toMatchObject({ status: 'rejected', reason: expect.any(RangeError) })
    expect(third).toMatchObject({ status: 'fulfilled', value: { kind: 'charged' } })
  })

  it('finishes what was asked before it closes, and nothing after', async () => {
    const path = temporaryPath()
    const ledger = await openSqliteLedger({ path })
    await ledger.openBudget('census', loss('1000'), 'carol')
    const asked = Array.from({ length: 300 }, (_, index) => ledger.charge(question(`q${index}`)))
    const closed = ledger.close()
    const late = ledger.charge(question('late'))
    await expect(late).rejects.toThrow(new LedgerFault('closed', 'the ledger is closed'))
    expect((await Promise.all(asked)).every(({ kind }) => kind === 'charged')).toBe(true)
    await closed
    await ledger.close()
    expect(await ledger.healthy()).toBe(false)
    const again = await openLedger(path)
    expect(await again.budget('census')).toEqual({ cap: loss('1000'), spent: loss('30') })
  })

  it('fails loudly where this process has it open, and serves the first opener on', async () => {
    const path = temporaryPath()
    const ledger = await openLedger(path)
    await expect(openSqliteLedger({ path })).rejects.toMatchObject({
      name: 'LedgerFault',
      kind: 'in-use',
      message: `another process has the ledger ${path} open`,
    })
    expect(await ledger.openBudget('census', loss('1'), 'carol')).toEqual({ kind: 'opened' })
  })

  it('says why a file cannot be a ledger', async () => {
    const path = temporaryPath()
    writeFileSync(path, 'not a database, but long enough to be looked at '.repeat(100))
    await expect(openSqliteLedger({ path })).rejects.toMatchObject({
      name: 'LedgerFault',
      kind: 'unusable',
      message: expect.stringContaining('not a database'),
    })
  })
})
