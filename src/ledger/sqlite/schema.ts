import { chmodSync, closeSync, fsyncSync, openSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { DatabaseSync, type SQLOutputValue } from 'node:sqlite'
import { ONE_DELTA_ATTO } from '../../privacy/loss.ts'
import { ADMINISTRATION } from '../act.ts'
import { LedgerFault } from '../ledger.ts'
import {
  MAX_CAP_DELTA_ATTO,
  MAX_COUNT,
  MAX_EPSILON_NANO,
  MAX_RHO_PICO,
  MAX_THRESHOLD_NOISE,
  MAX_TIME_MS,
} from '../range.ts'

/** `Stt1`: marks a SQLite file as a Sotto ledger. */
const APPLICATION_ID = 0x53747431n
/** `Stt0`: marks a ledger that was copied to another store, where it continues. */
const COPIED_ID = 0x53747430n

/**
 * The schema as a list of migrations. A released migration is never edited; new ones are appended.
 *
 * SQLite converts an integer beyond 2^63 to a rounded REAL, so every column has a range far below that. The other
 * constraints and the triggers enforce what the store guarantees. A defect of the store, or a person with an SQL
 * prompt, then gets an error instead of overspending a budget or rewriting the history.
 */
export const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE budgets (
    dataset TEXT NOT NULL PRIMARY KEY CHECK (length(dataset) > 0),
    cap_epsilon_nano INTEGER NOT NULL CHECK (cap_epsilon_nano BETWEEN 0 AND ${MAX_EPSILON_NANO}),
    cap_delta_atto INTEGER NOT NULL CHECK (cap_delta_atto BETWEEN 0 AND ${MAX_CAP_DELTA_ATTO}),
    spent_epsilon_nano INTEGER NOT NULL CHECK (spent_epsilon_nano BETWEEN 0 AND cap_epsilon_nano),
    spent_delta_atto INTEGER NOT NULL CHECK (spent_delta_atto BETWEEN 0 AND cap_delta_atto),
    head_sequence INTEGER NOT NULL CHECK (head_sequence BETWEEN 0 AND ${MAX_COUNT}),
    head_hash TEXT NOT NULL CHECK (length(head_hash) = 64)
  ) STRICT, WITHOUT ROWID;

  CREATE TRIGGER budgets_are_never_replaced BEFORE INSERT ON budgets
  WHEN EXISTS (SELECT 1 FROM budgets WHERE dataset = NEW.dataset)
  BEGIN SELECT RAISE(ABORT, 'a budget is opened once'); END;

  CREATE TRIGGER budgets_are_never_deleted BEFORE DELETE ON budgets
  BEGIN SELECT RAISE(ABORT, 'a budget is never deleted'); END;

  CREATE TRIGGER budgets_never_shrink BEFORE UPDATE ON budgets
  WHEN NEW.dataset <> OLD.dataset
    OR NEW.cap_epsilon_nano < OLD.cap_epsilon_nano OR NEW.cap_delta_atto < OLD.cap_delta_atto
    OR NEW.spent_epsilon_nano < OLD.spent_epsilon_nano OR NEW.spent_delta_atto < OLD.spent_delta_atto
    OR NEW.head_sequence < OLD.head_sequence
  BEGIN SELECT RAISE(ABORT, 'what was spent stays spent'); END;

  -- An id is a hash of principal and idempotency key, so that one unique index serves both. A second one, over the two
  -- themselves, would cost each charge a page of its own in the log: a quarter of the rate.
  CREATE TABLE charges (
    number INTEGER NOT NULL PRIMARY KEY CHECK (number BETWEEN 1 AND ${MAX_COUNT}),
    id TEXT NOT NULL UNIQUE CHECK (length(id) = 32),
    principal TEXT NOT NULL CHECK (length(principal) > 0),
    idempotency_key TEXT NOT NULL CHECK (length(idempotency_key) > 0),
    dataset TEXT NOT NULL REFERENCES budgets (dataset),
    dataset_version TEXT NOT NULL,
    request_hash TEXT NOT NULL,
    request TEXT NOT NULL,
    loss_epsilon_nano INTEGER NOT NULL CHECK (loss_epsilon_nano BETWEEN 0 AND ${MAX_EPSILON_NANO}),
    loss_delta_atto INTEGER NOT NULL CHECK (loss_delta_atto BETWEEN 0 AND ${ONE_DELTA_ATTO}),
    state TEXT NOT NULL CHECK (state IN ('charged', 'answered', 'failed', 'denied')),
    attempt INTEGER NOT NULL CHECK (attempt BETWEEN 0 AND ${MAX_COUNT}),
    created_at_ms INTEGER NOT NULL CHECK (created_at_ms BETWEEN 0 AND ${MAX_TIME_MS}),
    leased_at_ms INTEGER NOT NULL CHECK (leased_at_ms BETWEEN 0 AND ${MAX_TIME_MS}),
    lease_expires_at_ms INTEGER NOT NULL CHECK (lease_expires_at_ms BETWEEN leased_at_ms AND ${MAX_TIME_MS}),
    CHECK ((attempt = 0) = (state = 'denied'))
  ) STRICT;

  -- Holds only what is under way, so that opening the ledger after a crash does not read every charge ever made.
  CREATE INDEX charges_under_way ON charges (number) WHERE state = 'charged';

  CREATE TRIGGER charges_are_never_deleted BEFORE DELETE ON charges
  BEGIN SELECT RAISE(ABORT, 'a charge is never deleted'); END;

  CREATE TRIGGER charges_keep_their_debit BEFORE UPDATE ON charges
  WHEN NEW.number <> OLD.number OR NEW.id <> OLD.id OR NEW.principal <> OLD.principal
    OR NEW.idempotency_key <> OLD.idempotency_key OR NEW.request_hash <> OLD.request_hash
    OR NEW.dataset <> OLD.dataset OR NEW.attempt < OLD.attempt OR OLD.state = 'answered'
    OR (NEW.state = 'denied' AND OLD.state <> 'denied')
    OR (OLD.state <> 'denied'
      AND (NEW.loss_epsilon_nano <> OLD.loss_epsilon_nano OR NEW.loss_delta_atto <> OLD.loss_delta_atto))
  BEGIN SELECT RAISE(ABORT, 'a debit is final'); END;

  CREATE TABLE releases (
    charge INTEGER NOT NULL PRIMARY KEY REFERENCES charges (number)
      CHECK (charge BETWEEN 1 AND ${MAX_COUNT}),
    answer TEXT NOT NULL
  ) STRICT;

  CREATE TRIGGER releases_are_never_changed BEFORE UPDATE ON releases
  BEGIN SELECT RAISE(ABORT, 'a release is never changed'); END;

  CREATE TRIGGER releases_are_never_deleted BEFORE DELETE ON releases
  BEGIN SELECT RAISE(ABORT, 'a release is never deleted'); END;

  -- The hashed text is the one record of an event; what is beside it serves to find it.
  CREATE TABLE events (
    dataset TEXT NOT NULL REFERENCES budgets (dataset),
    sequence INTEGER NOT NULL CHECK (sequence BETWEEN 1 AND ${MAX_COUNT}),
    principal TEXT NOT NULL,
    canonical TEXT NOT NULL,
    hash TEXT NOT NULL CHECK (length(hash) = 64),
    PRIMARY KEY (dataset, sequence)
  ) STRICT, WITHOUT ROWID;

  CREATE INDEX events_of_principal ON events (dataset, principal, sequence);

  CREATE TRIGGER events_follow_each_other BEFORE INSERT ON events
  WHEN NEW.sequence <> (SELECT head_sequence + 1 FROM budgets WHERE dataset = NEW.dataset)
  BEGIN SELECT RAISE(ABORT, 'an event follows the one before'); END;

  CREATE TRIGGER events_are_never_changed BEFORE UPDATE ON events
  BEGIN SELECT RAISE(ABORT, 'an event is never changed'); END;

  CREATE TRIGGER events_are_never_deleted BEFORE DELETE ON events
  BEGIN SELECT RAISE(ABORT, 'an event is never deleted'); END;
  `,
  `
  -- INSERT OR REPLACE deletes the row that is in its way without asking the triggers on deletion. A number that SQLite is
  -- yet to give is -1 here.
  CREATE TRIGGER charges_are_never_replaced BEFORE INSERT ON charges
  WHEN EXISTS (SELECT 1 FROM charges WHERE id = NEW.id)
    OR (NEW.number > 0 AND EXISTS (SELECT 1 FROM charges WHERE number = NEW.number))
  BEGIN SELECT RAISE(ABORT, 'a charge is never replaced'); END;

  CREATE TRIGGER releases_are_never_replaced BEFORE INSERT ON releases
  WHEN EXISTS (SELECT 1 FROM releases WHERE charge = NEW.charge)
  BEGIN SELECT RAISE(ABORT, 'a release is never replaced'); END;

  -- Sparse vector sessions. Neither a session nor an answer ever changes: how many were answered and how many positives
  -- are left follows from the answers that there are, so no counter can be set back.
  CREATE TABLE sparse_vector_sessions (
    charge INTEGER NOT NULL PRIMARY KEY REFERENCES charges (number)
      CHECK (charge BETWEEN 1 AND ${MAX_COUNT}),
    positives INTEGER NOT NULL CHECK (positives BETWEEN 1 AND ${MAX_COUNT}),
    terms TEXT NOT NULL CHECK (length(terms) > 0),
    -- A secret: who knows it learns more from the answers than was paid for.
    threshold_noise INTEGER NOT NULL CHECK (threshold_noise BETWEEN -${MAX_THRESHOLD_NOISE} AND ${MAX_THRESHOLD_NOISE})
  ) STRICT;

  CREATE TRIGGER sessions_are_paid_for_and_opened_once BEFORE INSERT ON sparse_vector_sessions
  WHEN NOT EXISTS (SELECT 1 FROM charges WHERE number = NEW.charge AND state = 'answered')
    OR EXISTS (SELECT 1 FROM sparse_vector_sessions WHERE charge = NEW.charge)
  BEGIN SELECT RAISE(ABORT, 'a session is paid for and opened once'); END;

  CREATE TRIGGER sessions_are_never_changed BEFORE UPDATE ON sparse_vector_sessions
  BEGIN SELECT RAISE(ABORT, 'a session is never changed'); END;

  CREATE TRIGGER sessions_are_never_deleted BEFORE DELETE ON sparse_vector_sessions
  BEGIN SELECT RAISE(ABORT, 'a session is never deleted'); END;

  CREATE TABLE sparse_vector_answers (
    session INTEGER NOT NULL REFERENCES sparse_vector_sessions (charge),
    question INTEGER NOT NULL CHECK (question BETWEEN 1 AND ${MAX_COUNT}),
    idempotency_key TEXT NOT NULL CHECK (length(idempotency_key) > 0),
    request_hash TEXT NOT NULL,
    request TEXT NOT NULL,
    above INTEGER NOT NULL CHECK (above IN (0, 1)),
    answer TEXT NOT NULL,
    PRIMARY KEY (session, question),
    UNIQUE (session, idempotency_key)
  ) STRICT;

  -- Counting a session's positives reads as many entries as there are, however many questions were answered.
  CREATE INDEX sparse_vector_positives ON sparse_vector_answers (session) WHERE above = 1;

  CREATE TRIGGER session_answers_follow_each_other BEFORE INSERT ON sparse_vector_answers
  WHEN NEW.question <> (
      SELECT coalesce(max(question), 0) + 1 FROM sparse_vector_answers WHERE session = NEW.session)
    OR EXISTS (
      SELECT 1 FROM sparse_vector_answers
      WHERE session = NEW.session AND idempotency_key = NEW.idempotency_key)
  BEGIN SELECT RAISE(ABORT, 'an answer of a session follows the one before'); END;

  CREATE TRIGGER session_answers_end_with_the_positives BEFORE INSERT ON sparse_vector_answers
  WHEN (SELECT count(*) FROM sparse_vector_answers WHERE session = NEW.session AND above = 1)
    >= (SELECT coalesce(max(positives), 0) FROM sparse_vector_sessions WHERE charge = NEW.session)
  BEGIN SELECT RAISE(ABORT, 'the session is used up'); END;

  CREATE TRIGGER session_answers_are_never_changed BEFORE UPDATE ON sparse_vector_answers
  BEGIN SELECT RAISE(ABORT, 'an answer of a session is never changed'); END;

  CREATE TRIGGER session_answers_are_never_deleted BEFORE DELETE ON sparse_vector_answers
  BEGIN SELECT RAISE(ABORT, 'an answer of a session is never deleted'); END;
  `,
  `
  -- What a budget is counted in. Under zcdp the caps of epsilon and delta are what was granted, and rho is what is spent.
  ALTER TABLE budgets ADD COLUMN accounting TEXT NOT NULL DEFAULT 'basic'
    CHECK (accounting IN ('basic', 'zcdp'));
  ALTER TABLE budgets ADD COLUMN cap_rho_pico INTEGER NOT NULL DEFAULT 0
    CHECK (cap_rho_pico BETWEEN 0 AND ${MAX_RHO_PICO} AND (accounting = 'zcdp' OR cap_rho_pico = 0));
  ALTER TABLE budgets ADD COLUMN spent_rho_pico INTEGER NOT NULL DEFAULT 0
    CHECK (spent_rho_pico BETWEEN 0 AND cap_rho_pico
      AND (accounting = 'basic' OR (spent_epsilon_nano = 0 AND spent_delta_atto = 0)));

  DROP TRIGGER budgets_never_shrink;
  CREATE TRIGGER budgets_never_shrink BEFORE UPDATE ON budgets
  WHEN NEW.dataset <> OLD.dataset OR NEW.accounting <> OLD.accounting
    OR NEW.cap_epsilon_nano < OLD.cap_epsilon_nano OR NEW.cap_delta_atto < OLD.cap_delta_atto
    OR NEW.cap_rho_pico < OLD.cap_rho_pico
    OR NEW.spent_epsilon_nano < OLD.spent_epsilon_nano OR NEW.spent_delta_atto < OLD.spent_delta_atto
    OR NEW.spent_rho_pico < OLD.spent_rho_pico
    OR NEW.head_sequence < OLD.head_sequence
  BEGIN SELECT RAISE(ABORT, 'what was spent stays spent'); END;

  -- A batch of events moves the head once.
  DROP TRIGGER events_follow_each_other;
  CREATE TRIGGER events_follow_each_other BEFORE INSERT ON events
  WHEN NEW.sequence <> 1 + (SELECT coalesce(max(sequence), 0) FROM events WHERE dataset = NEW.dataset)
  BEGIN SELECT RAISE(ABORT, 'an event follows the one before'); END;
  CREATE TRIGGER a_head_is_the_last_event BEFORE UPDATE ON budgets
  WHEN NEW.head_hash IS NOT (SELECT hash FROM events WHERE dataset = NEW.dataset AND sequence = NEW.head_sequence)
    OR NEW.head_sequence <> (SELECT coalesce(max(sequence), 0) FROM events WHERE dataset = NEW.dataset)
  BEGIN SELECT RAISE(ABORT, 'the head is the last event'); END;

  CREATE TABLE analysts (
    dataset TEXT NOT NULL REFERENCES budgets (dataset),
    principal TEXT NOT NULL CHECK (length(principal) > 0),
    -- The allotment: all NULL where there is none. Without zcdp its rho is 0.
    granted_epsilon_nano INTEGER CHECK (granted_epsilon_nano BETWEEN 0 AND ${MAX_EPSILON_NANO}),
    granted_delta_atto INTEGER CHECK (granted_delta_atto BETWEEN 0 AND ${MAX_CAP_DELTA_ATTO}),
    limit_rho_pico INTEGER CHECK (limit_rho_pico BETWEEN 0 AND ${MAX_RHO_PICO}),
    spent_epsilon_nano INTEGER NOT NULL
      CHECK (spent_epsilon_nano BETWEEN 0 AND coalesce(granted_epsilon_nano, ${MAX_EPSILON_NANO})),
    spent_delta_atto INTEGER NOT NULL
      CHECK (spent_delta_atto BETWEEN 0 AND coalesce(granted_delta_atto, ${MAX_CAP_DELTA_ATTO})),
    spent_rho_pico INTEGER NOT NULL CHECK (spent_rho_pico BETWEEN 0 AND coalesce(limit_rho_pico, ${MAX_RHO_PICO})),
    -- The part of it that the dataset was not charged again.
    shared_epsilon_nano INTEGER NOT NULL CHECK (shared_epsilon_nano BETWEEN 0 AND spent_epsilon_nano),
    shared_delta_atto INTEGER NOT NULL CHECK (shared_delta_atto BETWEEN 0 AND spent_delta_atto),
    shared_rho_pico INTEGER NOT NULL CHECK (shared_rho_pico BETWEEN 0 AND spent_rho_pico),
    PRIMARY KEY (dataset, principal),
    CHECK ((granted_epsilon_nano IS NULL) = (granted_delta_atto IS NULL)
      AND (granted_epsilon_nano IS NULL) = (limit_rho_pico IS NULL))
  ) STRICT, WITHOUT ROWID;

  INSERT INTO analysts
  SELECT dataset, principal, NULL, NULL, NULL, sum(loss_epsilon_nano), sum(loss_delta_atto), 0, 0, 0, 0
  FROM charges WHERE state <> 'denied' GROUP BY dataset, principal;

  CREATE TRIGGER analysts_are_never_replaced BEFORE INSERT ON analysts
  WHEN EXISTS (SELECT 1 FROM analysts WHERE dataset = NEW.dataset AND principal = NEW.principal)
  BEGIN SELECT RAISE(ABORT, 'an analyst has one account'); END;
  CREATE TRIGGER analysts_are_never_deleted BEFORE DELETE ON analysts
  BEGIN SELECT RAISE(ABORT, 'an account is never deleted'); END;
  CREATE TRIGGER analysts_never_unspend BEFORE UPDATE ON analysts
  WHEN NEW.dataset <> OLD.dataset OR NEW.principal <> OLD.principal
    OR NEW.spent_epsilon_nano < OLD.spent_epsilon_nano OR NEW.spent_delta_atto < OLD.spent_delta_atto
    OR NEW.spent_rho_pico < OLD.spent_rho_pico
    OR NEW.shared_epsilon_nano < OLD.shared_epsilon_nano OR NEW.shared_delta_atto < OLD.shared_delta_atto
    OR NEW.shared_rho_pico < OLD.shared_rho_pico
  BEGIN SELECT RAISE(ABORT, 'what was spent stays spent'); END;

  ALTER TABLE charges ADD COLUMN loss_rho_pico INTEGER NOT NULL DEFAULT 0
    CHECK (loss_rho_pico BETWEEN 0 AND ${MAX_RHO_PICO});
  ALTER TABLE charges ADD COLUMN sharing INTEGER NOT NULL DEFAULT 0 CHECK (sharing IN (0, 1));
  -- The charge whose release answers this one; the dataset was not debited for it.
  ALTER TABLE charges ADD COLUMN shared_from TEXT REFERENCES charges (id);

  DROP TRIGGER charges_keep_their_debit;
  CREATE TRIGGER charges_keep_their_debit BEFORE UPDATE ON charges
  WHEN NEW.number <> OLD.number OR NEW.id <> OLD.id OR NEW.principal <> OLD.principal
    OR NEW.idempotency_key <> OLD.idempotency_key OR NEW.request_hash <> OLD.request_hash
    OR NEW.dataset <> OLD.dataset OR NEW.attempt < OLD.attempt OR OLD.state = 'answered'
    OR (NEW.state = 'denied' AND OLD.state <> 'denied')
    OR (OLD.state <> 'denied'
      AND (NEW.loss_epsilon_nano <> OLD.loss_epsilon_nano OR NEW.loss_delta_atto <> OLD.loss_delta_atto
        OR NEW.loss_rho_pico <> OLD.loss_rho_pico OR NEW.shared_from IS NOT OLD.shared_from))
  BEGIN SELECT RAISE(ABORT, 'a debit is final'); END;

  -- Of each question on a dataset whose analysts share, the first release.
  CREATE TABLE shared_releases (
    dataset TEXT NOT NULL REFERENCES budgets (dataset),
    request_hash TEXT NOT NULL,
    charge INTEGER NOT NULL REFERENCES releases (charge),
    PRIMARY KEY (dataset, request_hash)
  ) STRICT, WITHOUT ROWID;

  CREATE TRIGGER shared_releases_are_never_replaced BEFORE INSERT ON shared_releases
  WHEN EXISTS (SELECT 1 FROM shared_releases WHERE dataset = NEW.dataset AND request_hash = NEW.request_hash)
  BEGIN SELECT RAISE(ABORT, 'the first release is the one that is shared'); END;
  CREATE TRIGGER shared_releases_are_never_changed BEFORE UPDATE ON shared_releases
  BEGIN SELECT RAISE(ABORT, 'the first release is the one that is shared'); END;
  CREATE TRIGGER shared_releases_are_never_deleted BEFORE DELETE ON shared_releases
  BEGIN SELECT RAISE(ABORT, 'the first release is the one that is shared'); END;
  `,
  `
  -- Failures that were counted since the last resumption, and whether they suspended the dataset.
  ALTER TABLE budgets ADD COLUMN failures INTEGER NOT NULL DEFAULT 0 CHECK (failures BETWEEN 0 AND ${MAX_COUNT});
  ALTER TABLE budgets ADD COLUMN suspended INTEGER NOT NULL DEFAULT 0
    CHECK (suspended IN (0, 1) AND (suspended = 0 OR failures > 0));

  CREATE TRIGGER suspensions_follow_the_events BEFORE UPDATE ON budgets
  WHEN (NEW.failures < OLD.failures AND OLD.suspended = 0)
    OR ((NEW.failures <> OLD.failures OR NEW.suspended <> OLD.suspended) AND NEW.head_sequence = OLD.head_sequence)
  BEGIN SELECT RAISE(ABORT, 'a suspension changes with an event'); END;

  -- Marks counted failures, which are few among many events.
  ALTER TABLE events ADD COLUMN counted INTEGER NOT NULL DEFAULT 0 CHECK (counted IN (0, 1));
  CREATE INDEX counted_failures ON events (dataset, sequence) WHERE counted = 1;
  `,
  `
  -- The digest of each source that was registered under an id. It would confirm a guess of the whole file, so it is in no
  -- event and no export. It outlives the dataset and the catalog.
  CREATE TABLE sources (
    digest TEXT NOT NULL CHECK (length(digest) = 64),
    dataset TEXT NOT NULL REFERENCES budgets (dataset),
    synthetic INTEGER NOT NULL CHECK (synthetic IN (0, 1)),
    PRIMARY KEY (digest, dataset, synthetic)
  ) STRICT, WITHOUT ROWID;

  CREATE INDEX sources_of_dataset ON sources (dataset);

  CREATE TRIGGER real_sources_are_never_synthetic BEFORE INSERT ON sources
  WHEN NEW.synthetic = 1
    AND EXISTS (SELECT 1 FROM sources WHERE synthetic = 0 AND (digest = NEW.digest OR dataset = NEW.dataset))
  BEGIN SELECT RAISE(ABORT, 'a source of real data is never synthetic'); END;

  CREATE TRIGGER sources_are_never_replaced BEFORE INSERT ON sources
  WHEN EXISTS (
    SELECT 1 FROM sources WHERE digest = NEW.digest AND dataset = NEW.dataset AND synthetic = NEW.synthetic)
  BEGIN SELECT RAISE(ABORT, 'a source is recorded once'); END;

  CREATE TRIGGER sources_are_never_changed BEFORE UPDATE ON sources
  BEGIN SELECT RAISE(ABORT, 'a source is never changed'); END;

  CREATE TRIGGER sources_are_never_deleted BEFORE DELETE ON sources
  BEGIN SELECT RAISE(ABORT, 'a source is never deleted'); END;
  `,
  `
  -- The chain of administrative acts has a row among the budgets, which can never pay for anything.
  CREATE TRIGGER administration_has_no_budget BEFORE INSERT ON budgets
  WHEN NEW.dataset = '${ADMINISTRATION}'
    AND (NEW.cap_epsilon_nano > 0 OR NEW.cap_delta_atto > 0 OR NEW.accounting <> 'basic')
  BEGIN SELECT RAISE(ABORT, 'the administration has no budget'); END;
  CREATE TRIGGER administration_gets_no_budget BEFORE UPDATE ON budgets
  WHEN NEW.dataset = '${ADMINISTRATION}' AND (NEW.cap_epsilon_nano > 0 OR NEW.cap_delta_atto > 0)
  BEGIN SELECT RAISE(ABORT, 'the administration has no budget'); END;
  CREATE TRIGGER administration_has_no_charges BEFORE INSERT ON charges WHEN NEW.dataset = '${ADMINISTRATION}'
  BEGIN SELECT RAISE(ABORT, 'the administration has no charges'); END;
  `,
  `
  -- Bytes and denials that are stored for an analyst since this version. Earlier ones do not count.
  ALTER TABLE analysts ADD COLUMN stored_bytes INTEGER NOT NULL DEFAULT 0
    CHECK (stored_bytes BETWEEN 0 AND ${MAX_COUNT});
  ALTER TABLE analysts ADD COLUMN denials INTEGER NOT NULL DEFAULT 0 CHECK (denials BETWEEN 0 AND ${MAX_COUNT});

  -- A denial creates the account in which it is counted.
  INSERT INTO analysts
  SELECT DISTINCT dataset, principal, NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0 FROM charges
  WHERE state = 'denied' AND NOT EXISTS (
    SELECT 1 FROM analysts WHERE dataset = charges.dataset AND principal = charges.principal);

  CREATE TRIGGER storage_never_shrinks BEFORE UPDATE ON analysts
  WHEN NEW.stored_bytes < OLD.stored_bytes OR NEW.denials < OLD.denials
  BEGIN SELECT RAISE(ABORT, 'what was stored stays stored'); END;

  -- A large answer, compressed in the zlib format; its text is then empty.
  ALTER TABLE releases ADD COLUMN deflated BLOB CHECK (deflated IS NULL OR answer = '');
  `,
  `
  -- A cap from which nothing was spent may be replaced by a smaller one, with an event that says so.
  DROP TRIGGER budgets_never_shrink;
  CREATE TRIGGER budgets_never_shrink BEFORE UPDATE ON budgets
  WHEN NEW.dataset <> OLD.dataset OR NEW.accounting <> OLD.accounting
    OR NEW.spent_epsilon_nano < OLD.spent_epsilon_nano OR NEW.spent_delta_atto < OLD.spent_delta_atto
    OR NEW.spent_rho_pico < OLD.spent_rho_pico
    OR NEW.head_sequence < OLD.head_sequence
    OR ((OLD.spent_epsilon_nano > 0 OR OLD.spent_delta_atto > 0 OR OLD.spent_rho_pico > 0
        OR NEW.head_sequence = OLD.head_sequence)
      AND (NEW.cap_epsilon_nano < OLD.cap_epsilon_nano OR NEW.cap_delta_atto < OLD.cap_delta_atto
        OR NEW.cap_rho_pico < OLD.cap_rho_pico))
  BEGIN SELECT RAISE(ABORT, 'what was spent stays spent'); END;
  `,
  `
  -- The facts by which releases are listed. The time of an earlier release is that of its last debit or retry, rounded
  -- down to two minutes: analysts see no times that are finer than a slot, and no slot is longer.
  ALTER TABLE releases ADD COLUMN dataset TEXT NOT NULL DEFAULT '';
  ALTER TABLE releases ADD COLUMN principal TEXT NOT NULL DEFAULT '';
  ALTER TABLE releases ADD COLUMN kind TEXT NOT NULL DEFAULT '';
  ALTER TABLE releases ADD COLUMN answered_at_ms INTEGER NOT NULL DEFAULT 0
    CHECK (answered_at_ms BETWEEN 0 AND ${MAX_TIME_MS});

  DROP TRIGGER releases_are_never_changed;
  UPDATE releases SET dataset = charges.dataset, principal = charges.principal,
    answered_at_ms = charges.leased_at_ms / 120000 * 120000,
    kind = CASE WHEN NOT json_valid(charges.request) THEN ''
      WHEN json_type(charges.request, '$.batch') IS NOT NULL THEN 'batch'
      WHEN json_type(charges.request, '$.sparseVector') IS NOT NULL THEN 'sparseVector'
      ELSE coalesce(json_extract(charges.request, '$.query.kind'), '') END
  FROM charges WHERE charges.number = releases.charge;
  CREATE TRIGGER releases_are_never_changed BEFORE UPDATE ON releases
  BEGIN SELECT RAISE(ABORT, 'a release is never changed'); END;

  -- The kind is in the index, so that a search for a rare one reads no answers.
  CREATE INDEX releases_of_dataset ON releases (dataset, answered_at_ms, kind);
  CREATE INDEX releases_of_principal ON releases (principal, answered_at_ms, dataset, kind);
  `,
]

export interface SqliteOptions {
  /** True to open a ledger that was copied to another store, too. */
  readonly copied?: boolean
}

/**
 * Opens a ledger's database, creating it (readable by its owner only) if it does not exist, durable and locked against
 * every other opener, at the newest schema version. The leases of attempts that an earlier process left are void.
 * @throws LedgerFault `in-use` or `unusable`.
 */
export function openSqliteDatabase(path: string, { copied = false }: SqliteOptions = {}): DatabaseSync {
  const file = resolve(path)
  let database: DatabaseSync | undefined
  try {
    makePrivate(file)
    database = new DatabaseSync(file, { readBigInts: true, timeout: 0, defensive: true })
    configure(database)
    const wasCopied = isMarkedAsCopied(database)
    if (wasCopied && !copied) throw new LedgerFault('unusable', `the ledger ${file} ${COPIED}`)
    migrate(database, file, wasCopied ? COPIED_ID : APPLICATION_ID)
    voidLeases(database)
    // After a crash, the log may exist only in the operating system's cache. Flushing it now ensures that nothing that
    // is acknowledged later depends on it.
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    flush(dirname(file))
    return database
  } catch (error) {
    if (database?.isOpen) database.close()
    throw openingFault(error, file)
  }
}

function makePrivate(file: string): void {
  try {
    // An existing file is not opened here. Closing any descriptor of a file releases all locks of this process on it,
    // including the one that keeps other processes out.
    closeSync(openSync(file, 'wx', 0o600))
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
    if ((statSync(file).mode & 0o077) !== 0) chmodSync(file, 0o600)
  }
}

/** Makes a file, or the directory entries of a folder, durable. SQLite does so too, but ignores failures. */
export function flush(fileOrFolder: string): void {
  const descriptor = openSync(fileOrFolder, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/**
 * Oldest supported version. Before it, and in the withdrawn 3.52.0, resetting the log during a write could corrupt the
 * file.
 */
const LEAST_SQLITE = [3, 51, 3] as const

/** True if a version of SQLite, such as `3.53.4`, has no known defect that loses data in WAL mode. */
export function isSoundSqlite(version: string): boolean {
  if (version === '3.52.0') return false
  const parts = version.split('.').map(Number)
  for (const [place, least] of LEAST_SQLITE.entries()) {
    const part = parts[place] ?? 0
    if (part !== least) return part > least
  }
  return true
}

function configure(database: DatabaseSync): void {
  const version = String(database.prepare('SELECT sqlite_version() AS version').get()?.version)
  if (!isSoundSqlite(version))
    throw new LedgerFault('unusable', `SQLite ${version} may corrupt a ledger: it must be 3.51.3 or newer`)
  // The lock is taken before the file is first read, so that SQLite never uses memory shared with another process.
  database.exec('PRAGMA locking_mode = EXCLUSIVE')
  expectPragma(database, 'journal_mode = WAL', 'wal')
  database.exec(`
    PRAGMA synchronous = FULL;
    PRAGMA fullfsync = ON;
    PRAGMA checkpoint_fullfsync = ON;
    PRAGMA foreign_keys = ON;
    PRAGMA trusted_schema = OFF;
    PRAGMA temp_store = MEMORY;
    PRAGMA cache_size = -16384;
    PRAGMA wal_autocheckpoint = 16000;
  `)
  expectPragma(database, 'synchronous', 2n)
  expectPragma(database, 'foreign_keys', 1n)
}

function expectPragma(database: DatabaseSync, pragma: string, expected: SQLOutputValue): void {
  const value = pragmaValue(database, pragma)
  if (value !== expected) throw new Error(`PRAGMA ${pragma} returned ${value}`)
}

function pragmaValue(database: DatabaseSync, pragma: string): SQLOutputValue | undefined {
  // All rows are read, because a pragma that changes something returns its row before it writes, which may fail.
  const [row] = database.prepare(`PRAGMA ${pragma}`).all()
  return row === undefined ? undefined : Object.values(row)[0]
}

const COPIED =
  'was copied to PostgreSQL, where it continues: set SOTTO_LEDGER_URL to that database. If the copy was interrupted, ' +
  'repeat "npx sotto ledger copy"'

/** True for a ledger that was copied to another store, where it continues. */
export function isMarkedAsCopied(database: DatabaseSync): boolean {
  return pragmaValue(database, 'application_id') === COPIED_ID
}

/** Marks a ledger as copied, so that no service opens it, or removes the mark. The change is durable. */
export function markAsCopied(database: DatabaseSync, copied: boolean): void {
  database.exec(`PRAGMA application_id = ${copied ? COPIED_ID : APPLICATION_ID}`)
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
}

function migrate(database: DatabaseSync, file: string, id: bigint): void {
  database.exec('BEGIN IMMEDIATE')
  try {
    const version = Number(pragmaValue(database, 'user_version'))
    const owner = pragmaValue(database, 'application_id')
    const empty = database.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() === undefined
    if (owner !== id && !(empty && owner === 0n && version === 0)) {
      throw new LedgerFault('unusable', `${file} is a SQLite database, but not a ledger`)
    }
    if (version > MIGRATIONS.length) {
      throw new LedgerFault(
        'unusable',
        `the ledger ${file} has schema version ${version}; this release supports up to ${MIGRATIONS.length}`,
      )
    }
    for (const step of MIGRATIONS.slice(version)) database.exec(step)
    database.exec(`PRAGMA application_id = ${id}; PRAGMA user_version = ${MIGRATIONS.length}; COMMIT`)
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK')
    throw error
  }
}

/** Expires all leases. Their holder has ended, because this process could take the lock of the file. */
function voidLeases(database: DatabaseSync): void {
  database.exec(`
    UPDATE charges SET lease_expires_at_ms = leased_at_ms
    WHERE state = 'charged' AND lease_expires_at_ms > leased_at_ms
  `)
}

const SQLITE_BUSY = 5
const SQLITE_FULL = 13
/** Errors about a value: too big, against a constraint, of the wrong type, at an unknown parameter. */
const SQLITE_REFUSALS: readonly number[] = [18, 19, 20, 25]

function openingFault(error: unknown, file: string): unknown {
  if (error instanceof LedgerFault) return error
  if (sqliteCode(error) === SQLITE_BUSY) {
    return new LedgerFault('in-use', `another process has the ledger ${file} open`, error)
  }
  const reason = error instanceof Error ? error.message : String(error)
  return new LedgerFault('unusable', `the ledger ${file} cannot be opened: ${reason}`, error)
}

/** True if the disk is full, which is the only failed write after which the store can safely continue. */
export function isDiskFull(error: unknown): boolean {
  return sqliteCode(error) === SQLITE_FULL
}

/** True if an error concerns the file, such as the disk or a corrupt page, and not a refused value. */
export function isStoreError(error: unknown): boolean {
  const code = sqliteCode(error)
  return code !== undefined && !SQLITE_REFUSALS.includes(code)
}

function sqliteCode(error: unknown): number | undefined {
  if (!(error instanceof Error && 'errcode' in error && typeof error.errcode === 'number')) return undefined
  // The lowest byte is the code. The rest has details.
  return error.errcode & 0xff
}
