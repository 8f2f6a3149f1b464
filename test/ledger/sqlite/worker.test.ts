import { EventEmitter } from 'node:events'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openSqliteStore, type SqliteStore } from '../../../src/ledger/sqlite/store.ts'
import { type Reply, type Request, serve } from '../../../src/ledger/sqlite/worker.ts'
import { temporaryLedger } from '../../folders.ts'
import { basic, loss, summed } from '../support.ts'

/** A port whose messages the test reads and writes. */
class TestPort extends EventEmitter {
  readonly replies: Reply[] = []
  canSend = (_: Reply) => true

  postMessage(message: Reply): void {
    if (!this.canSend(message)) throw new DOMException('out of memory', 'DataCloneError')
    this.replies.push(message)
  }

  close(): void {}

  /** Sends a request and returns the replies to it. */
  request(request: Request): readonly Reply[] {
    const before = this.replies.length
    this.emit('message', request)
    return this.replies.slice(before)
  }
}

describe('the worker of a SQLite ledger', () => {
  it('reports a committed batch whose results cannot be sent as a fault, so that it is not carried out again', () => {
    const store = openSqliteStore(temporaryLedger(), () => 1)
    onTestFinished(() => store.close())
    const port = new TestPort()
    serve(port, () => store)
    port.request([{ operation: 'openBudget', args: ['census', summed('1'), 'carol'] }])

    port.canSend = ({ kind }) => kind !== 'committed'
    const granted = port.request([{ operation: 'grant', args: ['census', loss('1'), 'carol', 'why'] }])
    expect(granted).toMatchObject([{ kind: 'fault', fault: { kind: 'unknown' } }])

    port.canSend = () => true
    expect(port.request([{ operation: 'budget', args: ['census'] }])).toMatchObject([
      { kind: 'committed', settled: [{ kind: 'done', result: { cap: basic('2') } }] },
    ])
  })

  it('carries out batches between the steps of a backup, never during one, and closes after it', async () => {
    const store = openSqliteStore(temporaryLedger(), () => 1)
    const order: string[] = []
    const copied = Promise.withResolvers<void>()
    let between = () => {}
    const observed: SqliteStore = {
      batch(calls) {
        order.push('batch')
        return store.batch(calls)
      },
      backup(_file, betweenSteps) {
        between = betweenSteps
        return copied.promise
      },
      close() {
        order.push('close')
        store.close()
      },
    }
    const port = new TestPort()
    serve(port, () => observed)
    port.request([{ operation: 'openBudget', args: ['census', summed('1'), 'carol'] }])
    port.request({ backupFile: 'copy' })
    const read: Request = [{ operation: 'budget', args: ['census'] }]
    expect(port.request(read)).toEqual([])
    order.push('step')
    between()
    expect(port.request(read)).toEqual([])
    port.request('close')
    order.push('last step')
    copied.resolve()
    await expect.poll(() => order.length).toBe(6)
    expect(order).toEqual(['batch', 'step', 'batch', 'last step', 'batch', 'close'])
    expect(port.replies.map(({ kind }) => kind)).toEqual([
      'opened',
      'committed',
      'committed',
      'backed-up',
      'committed',
    ])
  })
})
