import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { canonicalJson, chargeId, sha256 } from '../../../src/ledger/canonical.ts'
import { exportLines, verifyDataset, verifyDocuments } from '../../../src/ledger/exported.ts'
import type { Ledger } from '../../../src/ledger/ledger.ts'
import { type ExportFindings, followExport, isSound } from '../../../src/ledger/protocol/verifier/export.ts'
import { openSqliteDatabase } from '../../../src/ledger/sqlite/database.ts'
import { sqliteStore } from '../../../src/ledger/sqlite/store.ts'
import { temporaryLedger } from '../../folders.ts'
import { FIRST_MS, ledgerOver } from '../fixture.ts'
import { basic, chargeOf, question, requestOf, summed } from '../support.ts'

/** A ledger with every kind of event that refers to a request: charged, shared, asked in a session, and denied. */
async function withRequests(): Promise<{ ledger: Ledger; path: string }> {
  const path = temporaryLedger()
  const ledger = ledgerOver(sqliteStore(openSqliteDatabase(path), () => FIRST_MS))
  await ledger.openBudget('census', summed('1'), 'carol')
  const paid = chargeOf(await ledger.charge(question('paid', { sharing: true })))
  await ledger.recordAnswer(paid.id, 1, 'an answer')
  await ledger.charge(question('paid', { principal: 'bob', sharing: true }))
  const session = chargeOf(await ledger.charge(question('session')))
  await ledger.openSession(session.id, 1, 'opened', { positives: 2, terms: '{}', thresholdNoise: 1n })
  for (const [place, key] of ['first "ü"', 'second'].entries()) {
    const request = canonicalJson({ session: session.id, where: key })
    const identity = { session: session.id, idempotencyKey: key, requestHash: sha256(request) }
    await ledger.recordSessionAnswer({
      ...identity,
      ...{ question: place + 1, request, above: false, answer: `answer to ${key}` },
    })
  }
  await ledger.charge(question('denied', { price: basic('5') }))
  // Denied first, and paid later.
  await ledger.charge(question('later', { price: basic('5') }))
  await ledger.charge(question('later'))
  return { ledger, path }
}

async function exportOf(ledger: Ledger): Promise<string[]> {
  let text = ''
  for await (const lines of exportLines(ledger, 'census')) text += lines
  return text.trimEnd().split('\n')
}

async function follow(lines: readonly string[]): Promise<ExportFindings> {
  return followExport(
    (async function* () {
      yield Buffer.from(`${lines.join('\n')}\n`)
    })(),
    { sha256 },
  )
}

test('an export contains the requests beside their hashes, and none of a denied request', async () => {
  const { ledger } = await withRequests()
  const lines = (await exportOf(ledger)).map((line) => JSON.parse(line))
  const requests = lines.map(({ event, request }) => [event.kind, request])
  const session = chargeId('ada', 'session')
  expect(requests).toEqual([
    ['opened', undefined],
    ['charged', requestOf('paid')],
    ['answered', undefined],
    ['shared', requestOf('paid')],
    ['charged', requestOf('session')],
    ['answered', undefined],
    ['session-answered', canonicalJson({ session, where: 'first "ü"' })],
    ['session-answered', canonicalJson({ session, where: 'second' })],
    ['denied', undefined],
    ['denied', undefined],
    ['charged', requestOf('later')],
  ])
  for (const { event, request } of lines)
    if (request !== undefined) expect(sha256(request)).toBe(event.requestHash)
  const found = await follow(await exportOf(ledger))
  expect(isSound(found)).toBe(true)
  expect(found.datasets[0]?.requests).toEqual({ referredTo: 6, verified: 6 })
  expect(await verifyDocuments(ledger, 'census')).toEqual({
    requests: { referredTo: 6, verified: 6 },
    inferred: 0,
  })
  await ledger.close()
})

test('an export from which all requests were removed is sound', async () => {
  const { ledger } = await withRequests()
  const lines = (await exportOf(ledger)).map((line) => line.replace(/,"request":".*"\}$/, '}'))
  const found = await follow(lines)
  expect(isSound(found)).toBe(true)
  expect(found.datasets[0]?.requests).toEqual({ referredTo: 6, verified: 0 })
  await ledger.close()
})

test('a request that is missing from an export with others is found', async () => {
  const { ledger } = await withRequests()
  const lines = await exportOf(ledger)
  for (const [place, line] of lines.entries()) {
    const shorter = line.replace(/,"request":".*"\}$/, '}')
    if (shorter === line) continue
    const { datasets } = await follow(lines.with(place, shorter))
    expect(datasets[0]?.verification).toEqual({
      ...{ kind: 'broken', sequence: place + 1 },
      reason: 'the request is missing',
    })
  }
  await ledger.close()
})

test('a changed request is found, wherever it is changed', async () => {
  const { ledger } = await withRequests()
  const lines = await exportOf(ledger)
  for (const [place, line] of lines.entries()) {
    const { event, request } = JSON.parse(line)
    if (request === undefined) continue
    const start = line.indexOf(',"request":') + ',"request":"'.length
    for (let index = start; index < line.length - 2; index += 1) {
      const changed = `${line.slice(0, index)}${line[index] === 'x' ? 'y' : 'x'}${line.slice(index + 1)}`
      const found = await follow(lines.with(place, changed))
      expect(isSound(found), changed).toBe(false)
      if (found.badLine === undefined)
        expect(found.datasets[0]?.verification).toEqual({
          ...{ kind: 'broken', sequence: event.sequence },
          reason: 'the request does not match its hash',
        })
    }
  }
  await ledger.close()
})

test('the request of another event, one where none belongs, and a text that is no string are found', async () => {
  const { ledger } = await withRequests()
  const lines = await exportOf(ledger)
  const withRequest = (place: number, request: string) =>
    lines.with(place, (lines[place] ?? '').replace(/(,"request":".*")?\}$/, `,"request":${request}}`))
  const reasonOf = async (changed: readonly string[]) => {
    const { datasets, badLine } = await follow(changed)
    const verification = datasets[0]?.verification
    return badLine?.reason ?? (verification?.kind === 'broken' ? verification.reason : 'sound')
  }
  expect(await reasonOf(withRequest(1, JSON.stringify(requestOf('session'))))).toMatch(/does not match/)
  for (const place of [0, 2, 8])
    expect(await reasonOf(withRequest(place, JSON.stringify(requestOf('paid'))))).toMatch(
      /refers to no request/,
    )
  expect(await reasonOf(withRequest(1, '"\\u"'))).toMatch(/not a JSON string/)
  // Hashing would replace a lone surrogate.
  const replaced = JSON.stringify(`${requestOf('paid')}`).replace('paid', '\\ud800')
  expect(await reasonOf(withRequest(1, replaced))).toMatch(/not a JSON string/)
  expect(await reasonOf(withRequest(1, '{}'))).toMatch(/the line is not|the event is not/)
  await ledger.close()
})

test.each([
  [
    'the request of a charge',
    "UPDATE charges SET request = '{}' WHERE idempotency_key = 'paid' AND principal = 'bob'",
    4,
  ],
  [
    'the request of a session',
    "DROP TRIGGER charges_keep_their_debit; UPDATE charges SET request = request || ' ' WHERE idempotency_key = 'session'",
    5,
  ],
  [
    'a question of a session',
    "DROP TRIGGER session_answers_are_never_changed; UPDATE sparse_vector_answers SET request = '{}' WHERE question = 2",
    8,
  ],
])('a store in which someone changed %s is not sound', async (_, sql, sequence) => {
  const { ledger, path } = await withRequests()
  await ledger.close()
  const database = new DatabaseSync(path)
  database.exec(sql)
  database.close()
  const changed = ledgerOver(sqliteStore(openSqliteDatabase(path), () => FIRST_MS))
  const { broken } = await verifyDocuments(changed, 'census')
  expect(broken).toEqual({ kind: 'broken', sequence, reason: 'the request does not match its hash' })
  await changed.close()
})

test('an altered event is told as such, whatever request it refers to', async () => {
  const { ledger, path } = await withRequests()
  await ledger.close()
  const database = new DatabaseSync(path)
  const triggers = database.prepare("SELECT name FROM sqlite_master WHERE type = 'trigger'").all()
  for (const { name } of triggers) database.exec(`DROP TRIGGER ${name}`)
  const hashes = [sha256(requestOf('paid')), sha256('not JSON')] as const
  database.prepare('UPDATE events SET canonical = replace(canonical, ?, ?)').run(...hashes)
  database
    .prepare("UPDATE charges SET request = 'not JSON', request_hash = ? WHERE idempotency_key = 'paid'")
    .run(hashes[1])
  database.close()
  const changed = ledgerOver(sqliteStore(openSqliteDatabase(path), () => FIRST_MS))
  const found = await verifyDataset(changed, 'census')
  expect(found?.verification).toMatchObject({ kind: 'broken', sequence: 2 })
  await changed.close()
})
