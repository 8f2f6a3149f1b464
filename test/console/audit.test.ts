import { generateKeyPairSync, sign } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import {
  chainOf,
  checksOf,
  type Findings,
  isSound,
  type StatedVerification,
} from '../../console/src/pages/audit/checks.ts'
import { factsText } from '../../console/src/pages/audit/event-text.ts'
import { keepHead, keptHead } from '../../console/src/pages/audit/kept-heads.ts'
import { receiptChecks } from '../../console/src/pages/audit/receipt-checks.ts'
import { checkSignature, sha256 } from '../../console/src/pages/audit/web-crypto.ts'
import { sha256 as hashOfService } from '../../src/ledger/canonical.ts'
import { exportLine } from '../../src/ledger/exported.ts'
import {
  type EventWithRequest,
  type ExportFindings,
  type ExportOptions,
  followExport,
} from '../../src/ledger/protocol/verifier/export.ts'
import { headStatement } from '../../src/ledger/protocol/verifier/noted-events.ts'
import { statedBalances } from '../../src/ledger/protocol/verifier/verifier.ts'
import { ANSWER, chain, SESSION_ANSWER, sampleHistory } from '../ledger/verification/sample-history.ts'

/** Verifies an export as the page does, with hashes by WebCrypto. */
function verify(
  bytes: string | Uint8Array<ArrayBuffer>,
  options: Partial<ExportOptions> = {},
): Promise<ExportFindings> {
  return followExport(new Blob([bytes]).stream(), { sha256, dataset: 'census', ...options })
}

/** The first line that does not fit. */
async function faultIn(bytes: string | Uint8Array<ArrayBuffer>) {
  const found = chainOf(await verify(bytes))
  return 'line' in found ? found : undefined
}

/** Returns the events of a history with their requests, whose texts the history determines. */
function withRequests(accounting: 'basic' | 'zcdp'): readonly EventWithRequest[] {
  return chain('census', sampleHistory(accounting)).map((stored) => {
    const { kind, chargeId, question } = JSON.parse(stored.canonical)
    if (kind === 'charged' || kind === 'shared' || kind === 'inferred')
      return { ...stored, request: chargeId[0] }
    return kind === 'session-answered' ? { ...stored, request: `question ${question}` } : stored
  })
}

const written = (events: readonly EventWithRequest[]) => events.map(exportLine).join('')

describe.each(['basic', 'zcdp'] as const)('an export of the ledger under %s accounting', (accounting) => {
  const events = withRequests(accounting)
  const bytes = Buffer.from(written(events))

  test('is sound, as with the hashes of the service', async () => {
    const found = await verify(bytes)
    expect(found).toEqual(await verify(bytes, { sha256: hashOfService }))
    expect(chainOf(found)).toMatchObject({
      dataset: 'census',
      verification: { events: events.length, headHash: events.at(-1)?.hash },
      requests: { referredTo: 8, verified: 8 },
    })
  })

  test('with any byte changed is not sound', async () => {
    // test/ledger/verification/exported.all.test.ts changes each.
    for (let place = 0; place < bytes.length; place += 29) {
      const changed = Buffer.from(bytes)
      changed[place] = bytes[place] === 0x31 ? 0x32 : 0x31
      expect(await faultIn(changed), `byte ${place}`).toBeDefined()
    }
  })

  test('with a missing, repeated or swapped line names the first line that does not fit', async () => {
    for (const [place, event] of events.entries()) {
      if (place < events.length - 1)
        expect(await faultIn(written(events.toSpliced(place, 1)))).toMatchObject({ line: place + 1 })
      expect(await faultIn(written(events.toSpliced(place, 0, event)))).toMatchObject({ line: place + 2 })
      const next = events[place + 1]
      if (next !== undefined)
        expect(await faultIn(written(events.with(place, next).with(place + 1, event)))).toMatchObject({
          line: place + 1,
        })
    }
  })

  test('without one of its requests is not sound, and without all of them it is', async () => {
    const place = events.findIndex(({ request }) => request !== undefined)
    const { request: _, ...lacking } = events[place] as EventWithRequest
    expect(await faultIn(written(events.with(place, lacking)))).toMatchObject({ line: place + 1 })
    const without = events.map(({ canonical, hash }) => ({ canonical, hash }))
    expect(chainOf(await verify(written(without)))).toMatchObject({
      requests: { referredTo: 8, verified: 0 },
    })
  })
})

describe('an export whose hashes all fit', () => {
  const facts = sampleHistory('basic')

  test('is not sound if a charge exceeds the cap or an allotment', async () => {
    const large = { epsilonNano: '9000000000', deltaAtto: '0' }
    for (const kind of ['charged', 'shared']) {
      const place = facts.findLastIndex((each) => each.kind === kind)
      const changed = facts.map((each, index) => (index === place ? { ...each, loss: large } : each))
      expect(await faultIn(written(chain('census', changed)))).toMatchObject({
        line: place + 1,
        reason: expect.stringContaining('is exceeded'),
      })
    }
  })

  test('is not sound if an answer has no charge, or a charge has two answers', async () => {
    const place = facts.findIndex(({ kind }) => kind === 'charged')
    expect(await faultIn(written(chain('census', facts.toSpliced(place, 1))))).toMatchObject({
      line: place + 1,
      reason: 'the event refers to a charge that does not exist',
    })
    const answer = facts[place + 1]
    if (answer === undefined) throw new Error('there is an answer')
    expect(await faultIn(written(chain('census', facts.toSpliced(place + 1, 0, answer))))).toMatchObject({
      line: place + 3,
    })
  })

  test('is not sound if it belongs to another dataset, is empty, or ends with another line', async () => {
    expect(await faultIn(written(chain('other', facts)))).toMatchObject({ line: 1 })
    expect(await faultIn('')).toEqual({ line: 1, reason: 'the export is empty' })
    const whole = written(chain('census', facts))
    expect(await faultIn(`${whole}{}\n`)).toMatchObject({ line: facts.length + 1 })
    expect(await faultIn(`{}\n${whole}`)).toMatchObject({ line: 1 })
  })

  test('reports progress, and stops once the progress is refused', async () => {
    const progress: number[] = []
    await verify(written(chain('census', facts)), { onProgress: (lines) => void progress.push(lines) })
    expect(progress.at(-1)).toBe(facts.length)
    const onProgress = () => AbortSignal.abort().throwIfAborted()
    await expect(verify(written(chain('census', facts)), { onProgress })).rejects.toThrow('aborted')
  })
})

describe('a pasted text', () => {
  // An answer is stored with its receipt, which is an event before that of the answer.
  const receiptIn = (place: number, options = {}) => ({
    sequence: place + 1,
    hash: chain('census', sampleHistory('basic', options))[place]?.hash,
  })
  const answer = JSON.stringify({ ...JSON.parse(ANSWER), receipt: receiptIn(2) })
  const sessionAnswer = JSON.stringify({ ...JSON.parse(SESSION_ANSWER), receipt: receiptIn(14, { answer }) })
  const events = chain('census', sampleHistory('basic', { answer, sessionAnswer }))
  const head = { dataset: 'census', sequence: events.length, hash: events.at(-1)?.hash ?? '' }
  const check = (text: string, key?: string, exported = events) =>
    receiptChecks({ dataset: 'census', bytes: new Blob([written(exported)]) }, text, key)
  const stateOf = async (document: object | string) =>
    (await check(typeof document === 'string' ? document : JSON.stringify(document)))[0]?.state

  test('of an answer is confirmed, with the hash of its text', async () => {
    for (const text of [answer, `${answer}\n`, sessionAnswer]) expect(await stateOf(text)).toBe('good')
    const changed = answer.replace('2531', '2532')
    expect(await check(changed)).toMatchObject([
      { state: 'unknown', title: '1. The ledger confirms the charge, not the text' },
    ])
    expect(await stateOf(sessionAnswer.replace('true', 'false'))).toBe('unknown')
    // The charge of another answer, and one without an answer.
    expect(await stateOf({ ...JSON.parse(answer), receipt: receiptIn(7, { answer, sessionAnswer }) })).toBe(
      'bad',
    )
    const { sequence, hash } = head
    expect(await stateOf({ id: 'last', dataset: 'census', receipt: { sequence, hash } })).toBe('unknown')
    expect(await stateOf({ ...JSON.parse(answer), id: 'b' })).toBe('bad')
  })

  test('of a head is confirmed if the export contains it', async () => {
    expect(await stateOf(head)).toBe('good')
    const cut = await check(JSON.stringify(head), undefined, events.slice(0, -1))
    expect(cut).toMatchObject([{ state: 'bad', text: `Event ${events.length} is missing.` }])
    const rewritten = await check(JSON.stringify({ ...head, hash: 'ab'.repeat(32) }))
    expect(rewritten).toMatchObject([{ state: 'bad', text: expect.stringContaining('another hash') }])
    expect(await check(JSON.stringify({ ...head, dataset: 'other' }))).toMatchObject([
      { state: 'bad', text: 'It belongs to other.' },
    ])
  })

  test('is one document or one on each line, and anything else is refused', async () => {
    const wrong = JSON.stringify({ ...head, hash: 'ab'.repeat(32) })
    expect(await stateOf(JSON.stringify(head, undefined, 2))).toBe('good')
    expect(await check(`${JSON.stringify(head)}\n\n${wrong}\n`)).toMatchObject([
      { state: 'good', title: expect.stringMatching(/^1\. /) },
      { state: 'bad', title: expect.stringMatching(/^2\. /) },
    ])
    for (const text of [
      '',
      'x',
      '[]',
      '{}',
      '{"sequence":1}',
      '{"id":"a","dataset":"census"}',
      `${wrong}\nx`,
    ])
      await expect(check(text), text).rejects.toThrow(SyntaxError)
  })

  test('of a receipt that was changed is told apart from one that is no receipt', async () => {
    const { id: _, ...withoutId } = JSON.parse(answer)
    const changed: readonly (readonly [document: object, text: string])[] = [
      [{ ...head, sequence: 0 }, '"sequence" must be the number of an event'],
      [{ ...head, sequence: `${head.sequence}` }, '"sequence" must be the number of an event'],
      [{ ...head, hash: head.hash.toUpperCase() }, '"hash" must be a SHA-256 in hexadecimal'],
      [{ ...JSON.parse(answer), receipt: { ...receiptIn(2), hash: '' } }, '"hash" must be a SHA-256'],
      [{ ...JSON.parse(answer), receipt: {} }, '"sequence" must be the number of an event'],
      [withoutId, 'the answer has no id'],
    ]
    for (const [document, text] of changed) {
      const lines = `${JSON.stringify(head)}\n${JSON.stringify(document)}`
      expect(await check(lines), lines).toMatchObject([
        { state: 'good' },
        { state: 'bad', title: '2. It was changed', text: expect.stringContaining(text.slice(1)) },
      ])
    }
  })

  test('with a signature is compared with the key', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519')
    const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString()
    const signature = sign(null, Buffer.from(headStatement(head)), privateKey).toString('base64')
    const signed = JSON.stringify({ ...head, signature })
    const states = async (key: string) => (await check(signed, key)).map(({ state }) => state)
    expect(await states(pem)).toEqual(['good', 'good'])
    expect(await states('not a key')).toEqual(['good', 'bad'])
    const other = generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' }).toString()
    expect(await states(other)).toEqual(['good', 'bad'])
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
  const other = 'ab'.repeat(32)
  type StatedBalances = Extract<StatedVerification, { readonly cap: unknown }>
  const newest = { dataset: 'census', sequence: events.length, hash: events.at(-1)?.hash ?? '' }

  /** The findings where the service stated a head, and the browser noted one. */
  async function findings(
    noted: { head?: object; kept?: object } = {},
  ): Promise<Findings & { readonly stated: StatedBalances }> {
    const kept = { ...newest, at: '2026-01-01T00:00:00.000Z', ...noted.kept }
    const own = await verify(written(events), { noted: [{ ...newest, ...noted.head }, kept] })
    const found = chainOf(own)
    if ('line' in found) throw new Error(found.reason)
    const { headHash, events: count } = found.verification
    const balances = statedBalances(found.verification)
    const stated = { sound: true, events: count, headHash, ...balances } as StatedBalances
    return { own, kept, signature: 'valid', stated }
  }

  const statesOf = (found: Findings) => checksOf(found).map(({ state }) => state)

  test('are all good for a sound chain that the service confirms', async () => {
    expect(statesOf(await findings())).toEqual(['good', 'good', 'good', 'good', 'good', 'good'])
  })

  test('are unknown, not bad, where there is nothing to compare with', async () => {
    const { own, stated } = await findings()
    const found = { own, stated: { ...stated, events: stated.events + 1, headHash: other } }
    expect(statesOf(found)).toEqual(['good', 'good', 'good', 'unknown', 'unknown', 'unknown'])
    expect(isSound(checksOf(found))).toBe(true)
  })

  test('are bad for each fault on its own', async () => {
    const sound = await findings()
    const { stated } = sound
    const [first, ...analysts] = stated.analysts
    if (first === undefined) throw new Error('an analyst has spent')
    const faults: readonly Findings[] = [
      { ...sound, own: await verify(written(events.toSpliced(2, 1))) },
      { ...sound, own: await verify('') },
      await findings({ head: { sequence: 1, hash: other } }),
      await findings({ head: { sequence: events.length + 1, hash: other } }),
      await findings({ kept: { sequence: 2, hash: other } }),
      await findings({ kept: { sequence: events.length + 1, hash: other } }),
      { ...sound, signature: 'invalid' },
      { ...sound, signature: 'no key' },
      { ...sound, stated: { sound: false, sequence: 2, reason: 'the hash does not match the event' } },
      { ...sound, stated: { ...stated, headHash: other } },
      { ...sound, stated: { ...stated, events: stated.events - 1 } },
      { ...sound, stated: { ...stated, spent: { rho: 0.5 } } },
      { ...sound, stated: { ...stated, cap: { rho: 0.5 } } },
      { ...sound, stated: { ...stated, analysts: [{ ...first, spent: { rho: 0.5 } }, ...analysts] } },
      { ...sound, stated: { ...stated, analysts } },
      { ...sound, stated: { ...stated, analysts: [{ ...first, analyst: 'eve' }, ...analysts] } },
    ]
    for (const fault of faults) expect(isSound(checksOf(fault)), JSON.stringify(fault.stated)).toBe(false)
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
