import { describe, expect, it } from 'vitest'
import { LedgerFault } from '../../../src/ledger/fault.ts'
import { createGroupCommit } from '../../../src/ledger/stores/group-commit.ts'
import type { Call, Settled } from '../../../src/ledger/stores/operation.ts'

type Release = Call<'release'>

/** A group commit of `release` calls whose commits the test settles. */
function openBatches(maxBatchSize = 100) {
  const started: { readonly ids: readonly string[]; done(): void; fail(error: unknown): void }[] = []
  const batches = createGroupCommit<'release'>({
    maxBatchSize,
    commit(calls: readonly Release[]) {
      const { promise, resolve, reject } = Promise.withResolvers<readonly Settled[]>()
      const ids = calls.map(({ args: [id] }) => id)
      const settled = ids.map((id) => ({
        kind: 'done' as const,
        result: { id, dataset: 'd', principal: 'p', answer: `answer of ${id}` },
      }))
      started.push({ ids, done: () => resolve(settled), fail: reject })
      return promise
    },
  })
  function submit(id: string) {
    const submitted = batches.submit('release', [id])
    // A test looks at the rejection later.
    submitted.catch(() => undefined)
    return submitted
  }
  /** Waits for the next batch to start. */
  async function next() {
    for (;;) {
      const batch = started.shift()
      if (batch !== undefined) return batch
      await new Promise(setImmediate)
    }
  }
  return { batches, submit, next, started }
}

const outcomesOf = async (calls: readonly Promise<unknown>[]) =>
  (await Promise.allSettled(calls)).map((each) =>
    each.status === 'fulfilled' ? each.value : each.reason.message,
  )
const answer = (id: string) => expect.objectContaining({ answer: `answer of ${id}` })

describe('a group commit', () => {
  it('commits concurrent calls together, and those that arrive meanwhile in the next batch', async () => {
    const { submit, next, started, batches } = openBatches()
    const calls = [submit('a'), submit('b')]
    const first = await next()
    expect(first.ids).toEqual(['a', 'b'])
    calls.push(submit('c'))
    await new Promise(setImmediate)
    expect(started).toEqual([])
    first.done()
    const second = await next()
    expect(second.ids).toEqual(['c'])
    second.done()
    expect(await outcomesOf(calls)).toEqual([answer('a'), answer('b'), answer('c')])
    expect(batches.statistics()).toEqual({ calls: 3, commits: 2 })
  })

  it('limits the size of a batch and keeps the order of the calls', async () => {
    const { submit, next } = openBatches(2)
    const calls = ['a', 'b', 'c', 'd', 'e'].map(submit)
    for (const ids of [['a', 'b'], ['c', 'd'], ['e']]) {
      const batch = await next()
      expect(batch.ids).toEqual(ids)
      batch.done()
    }
    expect(await outcomesOf(calls)).toEqual(['a', 'b', 'c', 'd', 'e'].map(answer))
  })

  it('finds the call that the store refuses, and commits the others in order', async () => {
    const { submit, next } = openBatches()
    const calls = ['a', 'b', 'wrong', 'd', 'e'].map(submit)
    const tried: string[] = []
    for (let left = 5; left > 0; ) {
      const batch = await next()
      tried.push(batch.ids.join())
      if (!batch.ids.includes('wrong')) batch.done()
      else batch.fail(new Error('refused'))
      if (!batch.ids.includes('wrong') || batch.ids.length === 1) left -= batch.ids.length
    }
    expect(tried).toEqual(['a,b,wrong,d,e', 'a,b,wrong', 'a,b', 'wrong', 'd,e'])
    expect(await outcomesOf(calls)).toEqual([answer('a'), answer('b'), 'refused', answer('d'), answer('e')])
  })

  it('rejects all calls of a batch after a fault of the store, and continues', async () => {
    const { submit, next } = openBatches()
    const calls = [submit('a'), submit('b')]
    const first = await next()
    calls.push(submit('c'))
    first.fail(new LedgerFault('unknown', 'the disk is full'))
    const second = await next()
    second.done()
    expect(await outcomesOf(calls)).toEqual(['the disk is full', 'the disk is full', answer('c')])
  })

  it('rejects queued and later calls once it is stopped', async () => {
    const { submit, next, batches } = openBatches(1)
    const calls = [submit('a'), submit('b')]
    const first = await next()
    batches.stop(new LedgerFault('stopped', 'the ledger has stopped'))
    calls.push(submit('c'))
    first.done()
    expect(await outcomesOf(calls)).toEqual([answer('a'), 'the ledger has stopped', 'the ledger has stopped'])
    await batches.close()
  })

  it('commits no further part of a divided batch once it is stopped', async () => {
    const { submit, next, started, batches } = openBatches()
    const calls = ['a', 'b', 'c', 'd'].map(submit)
    ;(await next()).fail(new Error('refused'))
    const part = await next()
    expect(part.ids).toEqual(['a', 'b'])
    const fault = new LedgerFault('stopped', 'the ledger has stopped')
    batches.stop(fault)
    part.fail(fault)
    expect(await outcomesOf(calls)).toEqual(calls.map(() => 'the ledger has stopped'))
    await batches.close()
    expect(started).toEqual([])
  })

  it('completes queued calls before it closes, and rejects later ones', async () => {
    const { submit, next, batches } = openBatches(1)
    const calls = [submit('a'), submit('b')]
    let isClosed = false
    const closed = batches.close().then(() => {
      isClosed = true
    })
    calls.push(submit('c'))
    for (const id of ['a', 'b']) {
      const batch = await next()
      expect(isClosed).toBe(false)
      expect(batch.ids).toEqual([id])
      batch.done()
    }
    await closed
    expect(await outcomesOf(calls)).toEqual([answer('a'), answer('b'), 'the ledger is closed'])
  })

  it('refuses calls while too many are waiting', async () => {
    const { submit, next, batches } = openBatches(20_000)
    const calls = Array.from({ length: 20_000 }, (_, index) => submit(`q${index}`))
    await expect(submit('late')).rejects.toMatchObject({ name: 'LedgerFault', kind: 'unknown' })
    ;(await next()).done()
    await Promise.all(calls)
    expect(batches.statistics()).toEqual({ calls: 20_000, commits: 1 })
  })
})
