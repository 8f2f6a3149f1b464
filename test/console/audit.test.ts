import { generateKeyPairSync, sign } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { type Chain, type ExportVerification, verifyExport } from '../../console/src/pages/audit/chain.ts'
import { checksOf, type Findings, isSound } from '../../console/src/pages/audit/checks.ts'
import { factsText } from '../../console/src/pages/audit/event-text.ts'
import { keepHead, keptHead } from '../../console/src/pages/audit/kept-heads.ts'
import { findNoted, readNoted } from '../../console/src/pages/audit/receipt.ts'
import { receiptChecks } from '../../console/src/pages/audit/receipt-checks.ts'
import { checkSignature } from '../../console/src/pages/audit/signature.ts'
import { amountOf } from '../../console/src/pages/audit/units.ts'
import { sha256 } from '../../src/ledger/canonical.ts'
import { exportLine } from '../../src/ledger/exported.ts'
import type { EventWithRequest } from '../../src/ledger/requests.ts'
import { headStatement } from '../../src/ledger/signature.ts'
import { createVerifier } from '../../src/ledger/verification.ts'
import { amountNumbers } from '../../src/privacy/accounting.ts'
import { ANSWER, chain, SESSION_ANSWER, sampleHistory } from '../ledger/sample-history.ts'

async function* chunksOf(bytes: Uint8Array, length = 4096): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += length) yield bytes.subarray(start, start + length)
}

function verify(
  bytes: string | Uint8Array,
  dataset = 'census',
  length?: number,
): Promise<ExportVerification> {
  return verifyExport(chunksOf(Buffer.from(bytes), length), { dataset })
}

async function soundChain(bytes: string): Promise<Chain> {
  const found = await verify(bytes)
  if (found.kind === 'broken') throw new Error(`line ${found.line}: ${found.reason}`)
  return found.chain
}

/** Returns the events of a history with their requests, whose texts the history determines. */
function withRequests(accounting: 'basic' | 'zcdp'): readonly EventWithRequest[] {
  return chain('census', sampleHistory(accounting)).map((stored) => {
    const { kind, chargeId, question } = JSON.parse(stored.canonical)
    if (kind === 'charged' || kind === 'shared') return { ...stored, request: chargeId[0] }
    return kind === 'session-answered' ? { ...stored, request: `question ${question}` } : stored
  })
}

const written = (events: readonly EventWithRequest[]) => events.map(exportLine).join('')

describe.each(['basic', 'zcdp'] as const)('an export of the ledger under %s accounting', (accounting) => {
  const events = withRequests(accounting)
  const bytes = Buffer.from(written(events))

  test('is sound, with the head and the balances that the service computes', async () => {
    const verifier = createVerifier('census')
    for (const event of events) verifier.add(event)
    const expected = verifier.result()
    if (expected.kind === 'broken') throw new Error(expected.reason)
    for (const length of [1, 7, bytes.length]) {
      const found = await verify(bytes, 'census', length)
      expect(found).toMatchObject({
        kind: 'sound',
        chain: { dataset: 'census', headHash: expected.headHash, requests: { referredTo: 7, verified: 7 } },
      })
    }
    const { spent, cap, analysts, events: verified } = await soundChain(bytes.toString())
    expect(verified).toHaveLength(expected.events)
    expect(amountOf(spent)).toEqual(amountNumbers(expected.budget.spent))
    expect(amountOf(cap)).toEqual(amountNumbers(expected.budget.cap))
    for (const { principal, spent: paid } of expected.spending)
      expect(amountOf(analysts.get(principal) ?? {})).toEqual(amountNumbers(paid))
  })

  test('with any byte changed is not sound', async () => {
    const expectFound = async (original: Uint8Array, place: number) => {
      const changed = Buffer.from(original)
      changed[place] = original[place] === 0x31 ? 0x32 : 0x31
      expect((await verify(changed)).kind, `byte ${place}`).toBe('broken')
    }
    const start = Buffer.from(written(events.slice(0, 4)))
    for (let place = 0; place < start.length; place += 1) await expectFound(start, place)
    for (let place = start.length; place < bytes.length; place += 29) await expectFound(bytes, place)
  })

  test('with a missing, repeated or swapped line names the first line that does not fit', async () => {
    for (const [place, event] of events.entries()) {
      if (place < events.length - 1)
        expect(await verify(written(events.toSpliced(place, 1)))).toMatchObject({ line: place + 1 })
      expect(await verify(written(events.toSpliced(place, 0, event)))).toMatchObject({ line: place + 2 })
      const next = events[place + 1]
      if (next !== undefined)
        expect(await verify(written(events.with(place, next).with(place + 1, event)))).toMatchObject({
          line: place + 1,
        })
    }
  })

  test('without its last lines is sound, but does not contain a head that was noted', async () => {
    const last = events.at(-1)
    const [head] = readNoted(JSON.stringify({ dataset: 'census', sequence: events.length, hash: last?.hash }))
    if (head === undefined) throw new Error('there is a head')
    const whole = await soundChain(written(events))
    expect(await findNoted(whole, head)).toMatchObject({ confirmed: true })
    const cut = await soundChain(written(events.slice(0, -1)))
    expect((await findNoted(cut, head)).text).toContain(`Event ${events.length} is missing`)
    const rewritten = await findNoted(whole, { ...head, hash: 'ab'.repeat(32) })
    expect(rewritten).toMatchObject({ confirmed: false, text: expect.stringContaining('another hash') })
  })

  test('without one of its requests is not sound, and without all of them it is', async () => {
    const place = events.findIndex(({ request }) => request !== undefined)
    const { request: _, ...lacking } = events[place] as EventWithRequest
    expect(await verify(written(events.with(place, lacking)))).toMatchObject({ line: place + 1 })
    const without = events.map(({ canonical, hash }) => ({ canonical, hash }))
    expect((await soundChain(written(without))).requests).toEqual({ referredTo: 7, verified: 0 })
  })
})

describe('an export whose hashes all fit', () => {
  const facts = sampleHistory('basic')

  test('is not sound if a charge exceeds the cap', async () => {
    const large = { epsilonNano: '9000000000', deltaAtto: '0' }
    const changed = facts.map((each) => (each.chargeId === 'last' ? { ...each, loss: large } : each))
    expect(await verify(written(chain('census', changed)))).toEqual({
      kind: 'broken',
      line: changed.length,
      reason: 'the charge exceeds the cap',
    })
  })

  test('is not sound if an answer has no charge, or a charge has two answers', async () => {
    const place = facts.findIndex(({ kind }) => kind === 'charged')
    expect(await verify(written(chain('census', facts.toSpliced(place, 1))))).toMatchObject({
      line: place + 1,
      reason: 'the answer has no open charge',
    })
    const answer = facts[place + 1]
    if (answer === undefined) throw new Error('there is an answer')
    expect(await verify(written(chain('census', facts.toSpliced(place + 1, 0, answer))))).toMatchObject({
      line: place + 3,
    })
  })

  test('is not sound if it belongs to another dataset, or is empty', async () => {
    expect(await verify(written(chain('other', facts)))).toMatchObject({ line: 1 })
    expect(await verify('')).toEqual({ kind: 'broken', line: 1, reason: 'the export is empty' })
  })

  test('reports progress, and stops once it is aborted', async () => {
    const many = chain('census', [
      ...facts,
      ...Array.from({ length: 300 }, () => ({
        kind: 'granted' as const,
        principal: 'carol',
        loss: { epsilonNano: '1', deltaAtto: '0' },
      })),
    ])
    const progress: number[] = []
    const bytes = Buffer.from(written(many))
    await verifyExport(chunksOf(bytes), { dataset: 'census', onProgress: (count) => progress.push(count) })
    expect(progress).toEqual([256])
    const signal = AbortSignal.abort()
    await expect(verifyExport(chunksOf(bytes), { dataset: 'census', signal })).rejects.toThrow()
  })
})

describe('receipts', () => {
  const events = withRequests('basic')
  const receiptOf = (chargeId: string) => {
    const place = events.findIndex(({ canonical }) => JSON.parse(canonical).chargeId === chargeId)
    return { sequence: place + 1, hash: events[place]?.hash }
  }

  test('of an answer are confirmed, with the hash of its text', async () => {
    const verified = await soundChain(written(events))
    const answer = JSON.stringify({ ...JSON.parse(ANSWER), receipt: receiptOf('a') })
    const [noted] = readNoted(answer)
    if (noted?.answer === undefined) throw new Error('there is an answer')
    expect(noted).toMatchObject({ dataset: 'census', answer: { chargeId: 'a' } })
    // The recorded hash is that of the answer without its receipt.
    expect(await findNoted(verified, noted)).toMatchObject({ confirmed: true, answer: 'other' })
    const same = { ...noted, answer: { ...noted.answer, text: `${ANSWER}\n` } }
    expect(await findNoted(verified, same)).toMatchObject({ confirmed: true, answer: 'same' })
    const another = { ...noted, ...(receiptOf('b') as { sequence: number; hash: string }) }
    expect(await findNoted(verified, another)).toMatchObject({ confirmed: false })
    const unanswered = { chargeId: 'last', text: '' }
    const last = {
      ...noted,
      ...(receiptOf('last') as { sequence: number; hash: string }),
      answer: unanswered,
    }
    expect(await findNoted(verified, last)).toMatchObject({ confirmed: true, answer: 'missing' })
  })

  test('of a question of a session are confirmed', async () => {
    const place = events.findIndex(({ canonical }) => JSON.parse(canonical).kind === 'session-answered')
    const head = { sequence: place, hash: events[place - 1]?.hash }
    const [noted] = readNoted(JSON.stringify({ ...JSON.parse(SESSION_ANSWER), receipt: head }))
    if (noted?.answer === undefined) throw new Error('there is an answer')
    const found = await findNoted(await soundChain(written(events)), {
      ...noted,
      answer: { ...noted.answer, text: SESSION_ANSWER },
    })
    expect(found).toMatchObject({ confirmed: true, answer: 'same' })
  })

  test('are read from one document or one on each line, and anything else is refused', () => {
    const head = { dataset: 'census', sequence: 3, hash: sha256('x'), signature: 's', publicKey: 'p' }
    const read = { dataset: 'census', sequence: 3, hash: sha256('x'), signature: 's' }
    expect(readNoted(JSON.stringify(head, undefined, 2))).toEqual([read])
    expect(readNoted(`${JSON.stringify(head)}\n\n${JSON.stringify(head)}\n`)).toEqual([read, read])
    for (const text of ['', 'x', '[]', '{}', '{"sequence":0,"hash":""}', '{"sequence":1,"hash":"AB"}'])
      expect(() => readNoted(text), text).toThrow(SyntaxError)
  })

  test('of another dataset are not confirmed', async () => {
    const [noted] = readNoted(JSON.stringify({ dataset: 'other', sequence: 1, hash: events[0]?.hash }))
    if (noted === undefined) throw new Error('there is a head')
    expect(await findNoted(await soundChain(written(events)), noted)).toMatchObject({ confirmed: false })
  })
})

test('signatures of heads are valid for the signed head and key only', async () => {
  const head = { dataset: 'census', sequence: 9, hash: 'ab'.repeat(32) }
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString()
  const signature = sign(null, Buffer.from(headStatement(head)), privateKey).toString('base64')
  expect(await checkSignature(head, signature, pem)).toBe('valid')
  expect(await checkSignature({ ...head, sequence: 10 }, signature, pem)).toBe('invalid')
  // One signature in 64 begins with any given character.
  const otherStart = signature.startsWith('A') ? 'B' : 'A'
  expect(await checkSignature(head, otherStart + signature.slice(1), pem)).toBe('invalid')
  expect(await checkSignature(head, signature.slice(0, -4), pem)).toBe('invalid')
  expect(await checkSignature(head, signature, 'not a key')).toBe('no key')
  const other = generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' }).toString()
  expect(await checkSignature(head, signature, other)).toBe('invalid')
})

describe('the findings of a verification', () => {
  const events = withRequests('zcdp')

  async function findings(changes: Partial<Findings> = {}): Promise<Findings> {
    const verified = await soundChain(written(events))
    const head = { sequence: verified.events.length, hash: verified.headHash }
    return {
      own: { kind: 'sound', chain: verified },
      head,
      kept: { ...head, dataset: 'census', at: '2026-01-01T00:00:00.000Z' },
      signature: 'valid',
      stated: {
        sound: true,
        events: verified.events.length,
        headHash: verified.headHash,
        spent: amountOf(verified.spent),
        cap: amountOf(verified.cap),
        analysts: [...verified.analysts].map(([analyst, spent]) => ({ analyst, spent: amountOf(spent) })),
      },
      ...changes,
    }
  }

  const statesOf = (found: Findings) => checksOf(found).map(({ state }) => state)

  test('are all good for a sound chain that the service confirms', async () => {
    expect(statesOf(await findings())).toEqual(['good', 'good', 'good', 'good', 'good', 'good'])
  })

  test('are unknown, not bad, where there is nothing to compare with', async () => {
    const { kept, signature, stated, ...rest } = await findings()
    if (!stated.sound) throw new Error('the service finds it sound')
    const found = { ...rest, stated: { ...stated, events: stated.events + 1, headHash: 'ab'.repeat(32) } }
    expect(statesOf(found)).toEqual(['good', 'good', 'good', 'unknown', 'unknown', 'unknown'])
    expect(isSound(checksOf(found))).toBe(true)
  })

  test('are bad for each fault on its own', async () => {
    const sound = await findings()
    const { stated } = sound
    if (!stated.sound || stated.analysts === undefined) throw new Error('the service finds it sound')
    const other = 'ab'.repeat(32)
    const faults: readonly Partial<Findings>[] = [
      { own: { kind: 'broken', line: 3, reason: 'the hash does not match the event' } },
      { head: { sequence: 1, hash: other } },
      { head: { sequence: events.length + 1, hash: other } },
      { kept: { dataset: 'census', at: '', sequence: 2, hash: other } },
      { kept: { dataset: 'census', at: '', sequence: events.length + 1, hash: other } },
      { signature: 'invalid' },
      { signature: 'no key' },
      { stated: { sound: false, sequence: 2, reason: 'the hash does not match the event' } },
      { stated: { ...stated, headHash: other } },
      { stated: { ...stated, events: stated.events - 1 } },
      { stated: { ...stated, spent: { rho: 0.5 } } },
      { stated: { ...stated, cap: { rho: 0.5 } } },
      { stated: { ...stated, analysts: [{ analyst: 'ada', spent: { rho: 0.5 } }] } },
    ]
    for (const fault of faults) {
      const checks = checksOf({ ...sound, ...fault })
      expect(isSound(checks), JSON.stringify(fault)).toBe(false)
    }
  })

  test('of a pasted receipt say what the ledger confirms', async () => {
    const verified = await soundChain(written(events))
    const head = { dataset: 'census', sequence: 2, hash: events[1]?.hash }
    expect(await receiptChecks(verified, JSON.stringify(head), undefined)).toMatchObject([{ state: 'good' }])
    const wrong = JSON.stringify({ ...head, hash: 'ab'.repeat(32) })
    expect(await receiptChecks(verified, `${JSON.stringify(head)}\n${wrong}`, undefined)).toMatchObject([
      { state: 'good' },
      { state: 'bad' },
    ])
  })
})

test('a browser notes one head of each chain', () => {
  const stored = new Map<string, string>()
  const storage = {
    getItem: (name: string) => stored.get(name) ?? null,
    setItem: (name: string, value: string) => {
      stored.set(name, value)
    },
  }
  const head = { dataset: 'census', sequence: 1, hash: 'ab', at: '2026-01-01T00:00:00.000Z' }
  expect(keptHead('census', storage)).toBeUndefined()
  keepHead(head, storage)
  keepHead({ ...head, dataset: 'other' }, storage)
  keepHead({ ...head, sequence: 2 }, storage)
  expect(keptHead('census', storage)).toEqual({ ...head, sequence: 2 })
  expect(keptHead('other', storage)?.sequence).toBe(1)
  storage.setItem('sotto.heads', 'not JSON')
  expect(keptHead('census', storage)).toBeUndefined()
})

test('the facts of an act are written as words and times', () => {
  const facts = {
    changedAt: '2026-01-31T12:00:05.000Z',
    datasets: ['a', 'b'],
    synthetic: true,
    sequence: 3,
    hash: 'x',
  }
  expect(factsText({ facts })).toBe('changed at: 31 Jan 2026, 12:00:05 UTC · datasets: a, b · synthetic: yes')
})
