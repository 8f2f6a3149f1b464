import { DatabaseSync } from 'node:sqlite'
import fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { sha256 } from '../../src/ledger/canonical.ts'
import { chargeId } from '../../src/ledger/charge-id.ts'
import type { NewSession, SessionAnswer, SessionQuestion } from '../../src/ledger/ledger.ts'
import { openSqliteLedger } from '../../src/ledger/sqlite.ts'
import { MAX_THRESHOLD_NOISE, MIGRATIONS, openSqliteDatabase } from '../../src/ledger/sqlite-schema.ts'
import { type SqliteStore, sqliteStore } from '../../src/ledger/sqlite-store.ts'
import { balanceOfEvents, firstMisfit, loss, question, run, temporaryPath } from './support.ts'

const SECRET = -987_654_321_012_345n
const SESSION: NewSession = { positives: 2, terms: '{"threshold":"7"}', thresholdNoise: SECRET }
const ID = chargeId('ada', 'opening')

function openStore(path = temporaryPath()) {
  const database = openSqliteDatabase(path)
  // What survives a crash is tested elsewhere, with real flushes.
  database.exec('PRAGMA synchronous = OFF')
  onTestFinished(() => {
    if (database.isOpen) database.close()
  })
  return { path, database, store: sqliteStore(database, () => Date.UTC(2026, 0, 1)) }
}

/** A ledger with a session that has two positives. */
function withSession(session: Partial<NewSession> = {}) {
  const opened = openStore()
  const { store } = opened
  run(store, 'openBudget', 'census', loss('1'), 'carol')
  run(store, 'charge', question('opening', { datasetVersion: '3' }))
  expect(run(store, 'openSession', ID, 1, '{"id":"opened"}', { ...SESSION, ...session })).toBe(true)
  return opened
}

const asked = (key: string, hash = `hash of ${key}`): SessionQuestion => ({
  session: ID,
  idempotencyKey: key,
  requestHash: hash,
})
const answered = (key: string, number: number, above: boolean): SessionAnswer => ({
  ...asked(key),
  question: number,
  request: `{"where":"${key}"}`,
  above,
  answer: `{"answer to":"${key}"}`,
})

describe('opening', () => {
  it('stores the session with the answer of its charge, and what never changes of it', () => {
    const { store } = withSession()
    expect(run(store, 'session', ID)).toEqual({
      id: ID,
      dataset: 'census',
      datasetVersion: '3',
      principal: 'ada',
      opening: '{"id":"opened"}',
      answered: 0,
      positivesLeft: 2,
    })
    expect(run(store, 'release', ID)?.answer).toBe('{"id":"opened"}')
    expect(run(store, 'charge', question('opening'))).toMatchObject({ kind: 'answered' })
    expect(run(store, 'sessionQuestion', asked('a'))).toEqual({
      kind: 'open',
      question: 1,
      positivesFound: 0,
      ...SESSION,
    })
  })

  it('is fenced by the attempt: neither answer nor session of one that was overtaken', () => {
    const { store } = openStore()
    run(store, 'openBudget', 'census', loss('1'), 'carol')
    run(store, 'charge', question('opening'))
    run(store, 'recordFailure', ID, 1)
    run(store, 'charge', question('opening'))
    expect(run(store, 'openSession', ID, 1, 'late', SESSION)).toBe(false)
    expect(run(store, 'session', ID)).toBeUndefined()
    expect(run(store, 'sessionQuestion', asked('a'))).toEqual({ kind: 'no-session' })
    expect(run(store, 'openSession', ID, 2, 'in time', { ...SESSION, thresholdNoise: 5n })).toBe(true)
    expect(run(store, 'openSession', ID, 2, 'again', SESSION)).toBe(false)
    expect(run(store, 'sessionQuestion', asked('a'))).toMatchObject({ thresholdNoise: 5n })
  })

  it('a charge that paid for an answer is no session', () => {
    const { store } = openStore()
    run(store, 'openBudget', 'census', loss('1'), 'carol')
    run(store, 'charge', question('opening'))
    run(store, 'recordAnswer', ID, 1, 'an answer')
    expect(run(store, 'session', ID)).toBeUndefined()
    expect(run(store, 'recordSessionAnswer', answered('a', 1, false))).toBe(false)
    expect(run(store, 'sessionAnswers', ID, { limit: 10 })).toEqual([])
  })

  it.each([MAX_THRESHOLD_NOISE, -MAX_THRESHOLD_NOISE, 0n])(
    'keeps a noise of %d exactly',
    (thresholdNoise) => {
      const { store } = withSession({ thresholdNoise })
      expect(run(store, 'sessionQuestion', asked('a'))).toMatchObject({ thresholdNoise })
    },
  )

  it.each([
    ['no positives', { positives: 0 }],
    ['half a positive', { positives: 1.5 }],
    ['no terms', { terms: '' }],
    ['a noise beyond 64 bits', { thresholdNoise: 1n << 64n }],
    ['a noise beyond the largest', { thresholdNoise: -MAX_THRESHOLD_NOISE - 1n }],
  ])('with %s is refused and leaves the charge open', (_, changes) => {
    const { store } = openStore()
    run(store, 'openBudget', 'census', loss('1'), 'carol')
    run(store, 'charge', question('opening'))
    expect(() => run(store, 'openSession', ID, 1, 'x', { ...SESSION, ...changes })).toThrow(RangeError)
    expect(run(store, 'release', ID)).toBeUndefined()
    expect(run(store, 'openSession', ID, 1, 'x', SESSION)).toBe(true)
  })
})

describe('answers', () => {
  it('follow each other, are replayed, and end with the last positive', () => {
    const { store } = withSession()
    expect(run(store, 'recordSessionAnswer', answered('a', 1, true))).toBe(true)
    expect(run(store, 'recordSessionAnswer', answered('b', 2, false))).toBe(true)
    expect(run(store, 'sessionQuestion', asked('c'))).toMatchObject({
      kind: 'open',
      question: 3,
      positivesFound: 1,
    })
    expect(run(store, 'recordSessionAnswer', answered('c', 3, true))).toBe(true)
    expect(run(store, 'sessionQuestion', asked('d'))).toEqual({ kind: 'used-up' })
    for (const above of [true, false])
      expect(run(store, 'recordSessionAnswer', answered('d', 4, above))).toBe(false)
    for (const key of ['a', 'b', 'c']) {
      expect(run(store, 'sessionQuestion', asked(key))).toEqual({
        kind: 'answered',
        answer: `{"answer to":"${key}"}`,
      })
    }
    expect(run(store, 'sessionQuestion', asked('a', 'another'))).toEqual({ kind: 'key-reused' })
    expect(run(store, 'session', ID)).toMatchObject({ answered: 3, positivesLeft: 0 })
  })

  it('are fenced: not one under a number that was taken, left out, or under a key that was used', () => {
    const { store } = withSession()
    expect(run(store, 'recordSessionAnswer', answered('a', 2, true))).toBe(false)
    expect(run(store, 'recordSessionAnswer', answered('a', 1, true))).toBe(true)
    expect(run(store, 'recordSessionAnswer', answered('b', 1, true))).toBe(false)
    expect(run(store, 'recordSessionAnswer', answered('a', 2, true))).toBe(false)
    expect(run(store, 'recordSessionAnswer', { ...answered('a', 2, true), requestHash: 'x' })).toBe(false)
    expect(run(store, 'session', ID)).toMatchObject({ answered: 1, positivesLeft: 1 })
  })

  it('race for the last positive, and one wins', () => {
    const { store } = withSession({ positives: 1 })
    const settled = store.batch(
      ['a', 'b', 'c'].map((key) => ({ operation: 'recordSessionAnswer', args: [answered(key, 1, true)] })),
    )
    expect(settled.map((each) => each.kind === 'done' && each.result)).toEqual([true, false, false])
  })

  it('are events of the dataset, without the answer', () => {
    const { store, database } = withSession()
    run(store, 'recordSessionAnswer', answered('a', 1, true))
    const [entry] = run(store, 'entries', 'census', { limit: 1 })
    expect(entry).toMatchObject({ kind: 'session-answered', principal: 'ada', chargeId: ID, sequence: 4 })
    expect(entry).not.toHaveProperty('loss')
    const canonical = String(
      database.prepare('SELECT canonical FROM events WHERE sequence = 4').get()?.canonical,
    )
    expect(JSON.parse(canonical)).toEqual({
      version: 1,
      dataset: 'census',
      sequence: 4,
      previousHash: expect.stringMatching(/^[0-9a-f]{64}$/),
      kind: 'session-answered',
      at: '2026-01-01T00:00:00.000Z',
      principal: 'ada',
      chargeId: ID,
      question: 1,
      requestHash: 'hash of a',
      answerHash: sha256('{"answer to":"a"}'),
    })
    expect(firstMisfit(database, 'census')).toBeUndefined()
    expect(balanceOfEvents(database, 'census').spent).toEqual(loss('0.1'))
  })

  it('are shown newest first, page by page, with what was asked', () => {
    const { store } = withSession()
    for (const [index, key] of ['a', 'b', 'c', 'd'].entries())
      run(store, 'recordSessionAnswer', answered(key, index + 1, false))
    const pageOf = (page: { limit: number; beforeQuestion?: number }) =>
      run(store, 'sessionAnswers', ID, page)
    expect(pageOf({ limit: 3 }).map((each) => each.question)).toEqual([4, 3, 2])
    expect(pageOf({ limit: 3, beforeQuestion: 2 })).toEqual([
      { question: 1, request: '{"where":"a"}', answer: '{"answer to":"a"}' },
    ])
    expect(run(store, 'sessionAnswers', 'nobody', { limit: 3 })).toEqual([])
    expect(() => pageOf({ limit: 0 })).toThrow(RangeError)
  })

  it.each([
    ['an empty key', { idempotencyKey: '' }],
    ['an empty request', { request: '' }],
    ['a lone surrogate', { answer: '\ud800' }],
    ['no number', { question: 0 }],
  ])('with %s are refused', (_, changes) => {
    const { store } = withSession()
    expect(() => run(store, 'recordSessionAnswer', { ...answered('a', 1, true), ...changes })).toThrow(
      RangeError,
    )
    expect(run(store, 'session', ID)).toMatchObject({ answered: 0 })
  })
})

describe('the secret', () => {
  it('stands in one place of the database, and in nothing that the ledger shows but to whoever answers', async () => {
    const { store, database, path } = withSession()
    run(store, 'recordSessionAnswer', answered('a', 1, true))
    const digits = String(SECRET).slice(1)
    for (const { name } of database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all()) {
      const rows = database.prepare(`SELECT * FROM ${name}`).all()
      const text = JSON.stringify(rows, (_, value) => (typeof value === 'bigint' ? String(value) : value))
      expect(text.includes(digits), String(name)).toBe(name === 'sparse_vector_sessions')
    }
    store.close()
    const ledger = await openSqliteLedger({ path })
    onTestFinished(() => ledger.close())
    const shown = [
      await ledger.session(ID),
      await ledger.sessionAnswers(ID, { limit: 10 }),
      await ledger.entries('census', { limit: 10 }),
      await ledger.release(ID),
      await ledger.sessionQuestion(asked('a')),
      await ledger.charge(question('opening')),
    ]
    const text = JSON.stringify(shown, (_, value) => (typeof value === 'bigint' ? String(value) : value))
    expect(text).toContain('opened')
    expect(text).not.toContain(digits)
    // Across the thread and a restart it is what it was.
    expect(await ledger.sessionQuestion(asked('b'))).toMatchObject({ thresholdNoise: SECRET, question: 2 })
    expect(await ledger.recordSessionAnswer(answered('b', 2, true))).toBe(true)
    expect(await ledger.sessionQuestion(asked('c'))).toEqual({ kind: 'used-up' })
  })
})

describe('the tables refuse', () => {
  // A hand at a SQL prompt: another connection, none of the store's own statements, foreign keys not asked for.
  function prompt(): DatabaseSync {
    const { store, path } = withSession()
    run(store, 'recordSessionAnswer', answered('a', 1, true))
    run(store, 'recordSessionAnswer', answered('b', 2, false))
    run(store, 'charge', question('unanswered'))
    store.close()
    const database = new DatabaseSync(path, { readBigInts: true, enableForeignKeyConstraints: false })
    onTestFinished(() => database.close())
    return database
  }
  const insertAnswer = (values: string, verb = 'INSERT') =>
    `${verb} INTO sparse_vector_answers
      (session, question, idempotency_key, request_hash, request, above, answer) VALUES (${values})`

  it.each([
    ['another noise', 'UPDATE sparse_vector_sessions SET threshold_noise = 0'],
    ['more positives', 'UPDATE sparse_vector_sessions SET positives = 100'],
    ['other terms', "UPDATE sparse_vector_sessions SET terms = 'cheaper'"],
    ['a deleted session', 'DELETE FROM sparse_vector_sessions'],
    [
      'a replaced session',
      'INSERT OR REPLACE INTO sparse_vector_sessions SELECT charge, 100, terms, 0 FROM sparse_vector_sessions',
    ],
    ['a session of no charge', "INSERT INTO sparse_vector_sessions VALUES (77, 1, 'terms', 0)"],
    [
      'a session of a charge without an answer',
      "INSERT INTO sparse_vector_sessions SELECT number, 1, 'terms', 0 FROM charges WHERE state = 'charged'",
    ],
    ['an answer turned below', 'UPDATE sparse_vector_answers SET above = 0'],
    ['another text of an answer', "UPDATE sparse_vector_answers SET answer = 'another'"],
    ['a deleted answer', 'DELETE FROM sparse_vector_answers WHERE question = 2'],
    ['all answers deleted', 'DELETE FROM sparse_vector_answers'],
    ['an answer out of turn', insertAnswer("1, 4, 'k', 'h', 'r', 0, 'a'")],
    ['an answer in the place of another', insertAnswer("1, 1, 'k', 'h', 'r', 0, 'a'", 'INSERT OR REPLACE')],
    ['another answer to a key', insertAnswer("1, 3, 'a', 'h', 'r', 0, 'a'", 'INSERT OR REPLACE')],
    ['half an answer', insertAnswer("1, 3, 'k', 'h', 'r', 2, 'a'")],
    ['an answer of no session', insertAnswer("77, 1, 'k', 'h', 'r', 0, 'a'")],
    [
      'positives beyond the last',
      `${insertAnswer("1, 3, 'k', 'h', 'r', 1, 'a'")}; ${insertAnswer("1, 4, 'l', 'h', 'r', 1, 'a'")}`,
    ],
    [
      'answers below after the last positive',
      `${insertAnswer("1, 3, 'k', 'h', 'r', 1, 'a'")}; ${insertAnswer("1, 4, 'l', 'h', 'r', 0, 'a'")}`,
    ],
    [
      'a replaced charge',
      `INSERT OR REPLACE INTO charges SELECT number, id, principal, idempotency_key, dataset, dataset_version,
        request_hash, request, 0, 0, state, attempt, created_at_ms, leased_at_ms, lease_expires_at_ms FROM charges`,
    ],
    [
      'a charge in the place of another',
      `INSERT OR REPLACE INTO charges SELECT number, replace(id, 'a', 'b'), principal, idempotency_key, dataset,
        dataset_version, request_hash, request, 0, 0, state, attempt, created_at_ms, leased_at_ms, lease_expires_at_ms
        FROM charges`,
    ],
    ['a replaced opening', "INSERT OR REPLACE INTO releases SELECT charge, 'another' FROM releases"],
  ])('%s', (_, sql) => {
    const database = prompt()
    const everything = () =>
      ['sparse_vector_sessions', 'charges', 'releases'].map((table) =>
        database.prepare(`SELECT * FROM ${table}`).all(),
      )
    const before = everything()
    expect(() => database.exec(sql)).toThrow()
    expect(everything()).toEqual(before)
    const positives = database.prepare(
      'SELECT sum(above) AS n, max(question) AS last FROM sparse_vector_answers',
    )
    expect(Number(positives.get()?.n)).toBeLessThanOrEqual(2)
    expect(Number(positives.get()?.last)).toBeLessThanOrEqual(3)
  })
})

it('a ledger of the release before gets its sessions and keeps all it has', () => {
  const path = temporaryPath()
  const [first = ''] = MIGRATIONS
  const before = new DatabaseSync(path)
  before.exec(
    `PRAGMA journal_mode = WAL; ${first}; PRAGMA application_id = ${0x53747431}; PRAGMA user_version = 1`,
  )
  before.exec(`
    INSERT INTO budgets VALUES ('census', 1000000000, 0, 100000000, 0, 0, '${'0'.repeat(64)}');
    INSERT INTO charges VALUES (1, '${chargeId('ada', 'old')}', 'ada', 'old', 'census', '1', 'hash of old',
      '{}', 100000000, 0, 'answered', 1, 0, 0, 0);
    INSERT INTO releases VALUES (1, 'an old answer');
  `)
  before.close()
  const { store, database } = openStore(path)
  expect(database.prepare('PRAGMA user_version').get()).toEqual({ user_version: BigInt(MIGRATIONS.length) })
  expect(run(store, 'release', chargeId('ada', 'old'))?.answer).toBe('an old answer')
  run(store, 'charge', question('opening'))
  expect(run(store, 'openSession', ID, 1, 'opened', SESSION)).toBe(true)
  expect(run(store, 'recordSessionAnswer', answered('a', 1, true))).toBe(true)
})

describe('any course of events', () => {
  interface Model {
    positives: number
    readonly answers: { key: string; hash: string; above: boolean }[]
  }
  interface Real {
    readonly path: string
    store: SqliteStore
    database: DatabaseSync
  }

  it('goes as a simple model of a session does, across restarts', { timeout: 120_000 }, () => {
    const seen = new Set<string>()
    const command = (name: string, act: (model: Model, real: Real) => void): fc.Command<Model, Real> => ({
      check: () => true,
      run(model, real) {
        act(model, real)
        const found = model.answers.filter(({ above }) => above).length
        expect(run(real.store, 'session', ID)).toMatchObject({
          answered: model.answers.length,
          positivesLeft: model.positives - found,
        })
        expect(found).toBeLessThanOrEqual(model.positives)
      },
      toString: () => name,
    })
    const keyAndHash = fc.record({
      key: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'),
      hash: fc.constantFrom('usual', 'usual', 'usual', 'other'),
    })
    const expectedKind = ({ positives, answers }: Model, key: string, hash: string) => {
      const earlier = answers.find((answer) => answer.key === key)
      if (earlier !== undefined) return earlier.hash === hash ? 'answered' : 'key-reused'
      return answers.filter(({ above }) => above).length >= positives ? 'used-up' : 'open'
    }
    const ask = keyAndHash.map(({ key, hash }) =>
      command(`ask ${key} ${hash}`, (model, real) => {
        const outcome = run(real.store, 'sessionQuestion', asked(key, hash))
        const kind = expectedKind(model, key, hash)
        seen.add(`ask ${kind}`)
        expect(outcome.kind).toBe(kind)
        if (outcome.kind === 'open') expect(outcome.question).toBe(model.answers.length + 1)
        if (outcome.kind === 'answered') expect(outcome.answer).toBe(`{"answer to":"${key}"}`)
      }),
    )
    const record = fc
      .record({ who: keyAndHash, above: fc.boolean(), shift: fc.constantFrom(0, 0, 0, 0, -1, 1) })
      .map(({ who: { key, hash }, above, shift }) =>
        command(`record ${key} ${hash} ${above} ${shift}`, (model, real) => {
          const number = Math.max(1, model.answers.length + 1 + shift)
          const valid = number === model.answers.length + 1 && expectedKind(model, key, hash) === 'open'
          seen.add(valid ? `record ${above}` : 'record refused')
          const given = { ...answered(key, number, above), requestHash: hash }
          expect(run(real.store, 'recordSessionAnswer', given)).toBe(valid)
          if (valid) model.answers.push({ key, hash, above })
        }),
      )
    const reopen = fc.constant(
      command('reopen', (_, real) => {
        seen.add('reopened')
        real.store.close()
        Object.assign(real, openStore(real.path))
      }),
    )
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 3 }),
        fc.commands([ask, record, record, record, reopen], { maxCommands: 30, size: 'max' }),
        (positives, commands) => {
          const real: Real = withSession({ positives })
          try {
            fc.modelRun(() => ({ model: { positives, answers: [] }, real }), commands)
            expect(firstMisfit(real.database, 'census')).toBeUndefined()
            expect(run(real.store, 'budget', 'census')?.spent).toEqual(loss('0.1'))
            expect(run(real.store, 'sessionQuestion', asked('never'))).not.toMatchObject({ kind: 'answered' })
          } finally {
            real.store.close()
          }
        },
      ),
      { numRuns: 60 },
    )
    expect([...seen].sort()).toEqual([
      'ask answered',
      'ask key-reused',
      'ask open',
      'ask used-up',
      'record false',
      'record refused',
      'record true',
      'reopened',
    ])
  })
})
