import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { bareCharges } from './bare-charge.ts'

/** Rate of SQLite with the bare transaction of a charge. */
export interface SqliteBaselineFigure {
  /** Charges per commit. */
  readonly callers: number
  readonly chargesPerSecond: number
  /** Time of a commit and its writes; 99% took less. */
  readonly p99Ms: number
}

/** A bare store that grows with each round, as a ledger does. */
export interface SqliteBaseline {
  /** Each commit contains one charge of every caller. */
  measure(callers: number, measureMs: number): SqliteBaselineFigure
  close(): void
}

/**
 * The bare transaction of a charge: the conditional debit, the charge and the event, as wide as the ledger's, in a
 * file with the ledger's settings. It has no checks, triggers, hashes, savepoints or indexes beyond the keys.
 *
 * The calling thread does the work. A thread in between would only add its messages.
 */
export function openSqliteBaseline(): SqliteBaseline {
  const folder = mkdtempSync(join(tmpdir(), 'sotto-bench-sqlite-'))
  const database = new DatabaseSync(join(folder, 'bare.sqlite'))
  database.exec(`
    PRAGMA locking_mode = EXCLUSIVE;
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    PRAGMA fullfsync = ON;
    PRAGMA checkpoint_fullfsync = ON;
    PRAGMA temp_store = MEMORY;
    PRAGMA cache_size = -16384;
    PRAGMA wal_autocheckpoint = 16000;
    CREATE TABLE budgets (
      dataset TEXT NOT NULL PRIMARY KEY,
      cap_epsilon_nano INTEGER NOT NULL,
      cap_delta_atto INTEGER NOT NULL,
      spent_epsilon_nano INTEGER NOT NULL,
      spent_delta_atto INTEGER NOT NULL,
      head_sequence INTEGER NOT NULL,
      head_hash TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE charges (
      number INTEGER NOT NULL PRIMARY KEY,
      id TEXT NOT NULL UNIQUE,
      principal TEXT NOT NULL,
      idempotency_key TEXT NOT NULL,
      dataset TEXT NOT NULL,
      dataset_version TEXT NOT NULL,
      request_hash TEXT NOT NULL,
      request TEXT NOT NULL,
      loss_epsilon_nano INTEGER NOT NULL,
      loss_delta_atto INTEGER NOT NULL,
      state TEXT NOT NULL,
      attempt INTEGER NOT NULL,
      created_at_ms INTEGER NOT NULL,
      leased_at_ms INTEGER NOT NULL,
      lease_expires_at_ms INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE events (
      dataset TEXT NOT NULL,
      sequence INTEGER NOT NULL,
      principal TEXT NOT NULL,
      canonical TEXT NOT NULL,
      hash TEXT NOT NULL,
      PRIMARY KEY (dataset, sequence)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO budgets VALUES ('census', 1000000000000000, 0, 0, 0, 0, '');
  `)
  const begin = database.prepare('BEGIN IMMEDIATE')
  const commit = database.prepare('COMMIT')
  const debit = database.prepare(`
    UPDATE budgets
    SET spent_epsilon_nano = spent_epsilon_nano + 1, head_sequence = head_sequence + 1, head_hash = ?
    WHERE dataset = ? AND cap_epsilon_nano - spent_epsilon_nano >= 1 AND cap_delta_atto - spent_delta_atto >= 0
  `)
  const insertCharge = database.prepare(`
    INSERT INTO charges (id, principal, idempotency_key, dataset, dataset_version, request_hash, request,
      loss_epsilon_nano, loss_delta_atto, state, attempt, created_at_ms, leased_at_ms, lease_expires_at_ms)
    VALUES (?, ?, ?, ?, '1', ?, ?, 1, 0, 'charged', 1, ?, ?, ?)
  `)
  const insertEvent = database.prepare(`
    INSERT INTO events (dataset, sequence, principal, canonical, hash) VALUES (?, ?, ?, ?, ?)
  `)

  const nextCharge = bareCharges('census')
  let sequence = 0

  function measure(callers: number, measureMs: number): SqliteBaselineFigure {
    const tookMs: number[] = []
    const before = sequence
    const startMs = performance.now()
    for (let beganMs = startMs; beganMs < startMs + measureMs; ) {
      begin.run()
      for (let caller = 0; caller < callers; caller += 1) {
        const charge = nextCharge()
        const { id, principal, idempotencyKey, dataset, requestHash, request, nowMs, leaseExpiresAtMs } =
          charge
        sequence += 1
        if (debit.run(charge.hash, dataset).changes !== 1) throw new Error('the budget is used up')
        insertCharge.run(
          ...[id, principal, idempotencyKey, dataset, requestHash, request],
          ...[nowMs, nowMs, leaseExpiresAtMs],
        )
        insertEvent.run(dataset, sequence, principal, charge.canonical, charge.hash)
      }
      commit.run()
      const nowMs = performance.now()
      tookMs.push(nowMs - beganMs)
      beganMs = nowMs
    }
    const elapsedMs = performance.now() - startMs
    const sorted = tookMs.toSorted((a, b) => a - b)
    return {
      callers,
      chargesPerSecond: ((sequence - before) / elapsedMs) * 1_000,
      p99Ms: sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN,
    }
  }

  return {
    measure,
    close() {
      database.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

if (import.meta.main) {
  const baseline = openSqliteBaseline()
  console.table([1, 16, 64, 256].map((callers) => baseline.measure(callers, 800)))
  baseline.close()
}
