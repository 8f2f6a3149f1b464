-- The ledger in a SQLite file. Raise its version in database.ts with every change of this file.
--
-- SQLite converts an integer beyond 2^63 to a rounded REAL, so every column has a range far below that, as in
-- ../range.ts. The other constraints and the triggers enforce what the store guarantees. A defect of the store, or a
-- person with an SQL prompt, then gets an error instead of overspending a budget or rewriting the history. INSERT OR
-- REPLACE deletes the row that is in its way without asking the triggers on deletion, so that triggers on insertion
-- refuse it.

-- A population, '@population:' and its id, has a row beside those of its datasets, which are debited with it. The chain of
-- administrative acts, '@administration', has one too, which can never pay for anything.
CREATE TABLE budgets (
  dataset TEXT NOT NULL PRIMARY KEY CHECK (length(dataset) > 0),
  -- What it is counted in. Under zcdp the caps of epsilon and delta are what was granted, and rho is what is spent.
  accounting TEXT NOT NULL CHECK (accounting IN ('basic', 'zcdp')),
  cap_epsilon_nano INTEGER NOT NULL CHECK (cap_epsilon_nano BETWEEN 0 AND 1000000000000000),
  cap_delta_atto INTEGER NOT NULL CHECK (cap_delta_atto BETWEEN 0 AND 999999999999999999),
  cap_rho_pico INTEGER NOT NULL
    CHECK (cap_rho_pico BETWEEN 0 AND 1000000000000000000 AND (accounting = 'zcdp' OR cap_rho_pico = 0)),
  spent_epsilon_nano INTEGER NOT NULL CHECK (spent_epsilon_nano BETWEEN 0 AND cap_epsilon_nano),
  spent_delta_atto INTEGER NOT NULL CHECK (spent_delta_atto BETWEEN 0 AND cap_delta_atto),
  spent_rho_pico INTEGER NOT NULL CHECK (spent_rho_pico BETWEEN 0 AND cap_rho_pico),
  head_sequence INTEGER NOT NULL CHECK (head_sequence BETWEEN 0 AND 9007199254740991),
  head_hash TEXT NOT NULL CHECK (length(head_hash) = 64),
  -- Failures that were counted since the last resumption, and whether they suspended the dataset.
  failures INTEGER NOT NULL DEFAULT 0 CHECK (failures BETWEEN 0 AND 9007199254740991),
  suspended INTEGER NOT NULL DEFAULT 0 CHECK (suspended IN (0, 1) AND (suspended = 0 OR failures > 0)),
  -- The population that the dataset belongs to for ever, if any.
  population TEXT REFERENCES budgets (dataset)
    CHECK (population IS NULL OR (population LIKE '@population:_%' AND dataset NOT LIKE '@%')),
  CHECK (accounting = 'basic' OR (spent_epsilon_nano = 0 AND spent_delta_atto = 0)),
  CHECK (dataset <> '@administration' OR (accounting = 'basic' AND cap_epsilon_nano = 0 AND cap_delta_atto = 0))
) STRICT, WITHOUT ROWID;

CREATE TRIGGER budgets_are_never_replaced BEFORE INSERT ON budgets
WHEN EXISTS (SELECT 1 FROM budgets WHERE dataset = NEW.dataset)
BEGIN SELECT RAISE(ABORT, 'a budget is opened once'); END;

CREATE TRIGGER budgets_are_never_deleted BEFORE DELETE ON budgets
BEGIN SELECT RAISE(ABORT, 'a budget is never deleted'); END;

-- A cap from which nothing was spent may be replaced by a smaller one, with an event that says so.
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

CREATE INDEX members_of_population ON budgets (population) WHERE population IS NOT NULL;

CREATE TRIGGER membership_is_for_ever BEFORE UPDATE ON budgets
WHEN NEW.population IS NOT OLD.population AND (OLD.population IS NOT NULL OR NEW.head_sequence = OLD.head_sequence
  OR NEW.accounting <> (SELECT accounting FROM budgets WHERE dataset = NEW.population))
BEGIN SELECT RAISE(ABORT, 'a dataset stays in its population'); END;

-- A batch updates the population before its datasets.
CREATE TRIGGER populations_pay_for_their_datasets AFTER UPDATE ON budgets
WHEN NEW.population IS NOT NULL
  AND (SELECT spent_epsilon_nano < sum_epsilon OR spent_delta_atto < sum_delta OR spent_rho_pico < sum_rho
    FROM budgets, (
      SELECT sum(spent_epsilon_nano) AS sum_epsilon, sum(spent_delta_atto) AS sum_delta, sum(spent_rho_pico) AS sum_rho
      FROM budgets WHERE population = NEW.population)
    WHERE dataset = NEW.population)
BEGIN SELECT RAISE(ABORT, 'a population has spent what its datasets have'); END;

CREATE TRIGGER suspensions_follow_the_events BEFORE UPDATE ON budgets
WHEN (NEW.failures < OLD.failures AND OLD.suspended = 0)
  OR ((NEW.failures <> OLD.failures OR NEW.suspended <> OLD.suspended) AND NEW.head_sequence = OLD.head_sequence)
BEGIN SELECT RAISE(ABORT, 'a suspension changes with an event'); END;

-- The hashed text is the one record of an event; what is beside it serves to find it.
CREATE TABLE events (
  dataset TEXT NOT NULL REFERENCES budgets (dataset),
  sequence INTEGER NOT NULL CHECK (sequence BETWEEN 1 AND 9007199254740991),
  principal TEXT NOT NULL,
  canonical TEXT NOT NULL,
  hash TEXT NOT NULL CHECK (length(hash) = 64),
  -- Marks counted failures, which are few among many events.
  counted INTEGER NOT NULL CHECK (counted IN (0, 1)),
  PRIMARY KEY (dataset, sequence)
) STRICT, WITHOUT ROWID;

CREATE INDEX events_of_principal ON events (dataset, principal, sequence);
CREATE INDEX counted_failures ON events (dataset, sequence) WHERE counted = 1;

CREATE TRIGGER events_follow_each_other BEFORE INSERT ON events
WHEN NEW.sequence <> 1 + (SELECT coalesce(max(sequence), 0) FROM events WHERE dataset = NEW.dataset)
BEGIN SELECT RAISE(ABORT, 'an event follows the one before'); END;

CREATE TRIGGER events_are_never_changed BEFORE UPDATE ON events
BEGIN SELECT RAISE(ABORT, 'an event is never changed'); END;

CREATE TRIGGER events_are_never_deleted BEFORE DELETE ON events
BEGIN SELECT RAISE(ABORT, 'an event is never deleted'); END;

-- A batch of events moves the head once.
CREATE TRIGGER a_head_is_the_last_event BEFORE UPDATE ON budgets
WHEN NEW.head_hash IS NOT (SELECT hash FROM events WHERE dataset = NEW.dataset AND sequence = NEW.head_sequence)
  OR NEW.head_sequence <> (SELECT coalesce(max(sequence), 0) FROM events WHERE dataset = NEW.dataset)
BEGIN SELECT RAISE(ABORT, 'the head is the last event'); END;

CREATE TABLE analysts (
  dataset TEXT NOT NULL REFERENCES budgets (dataset),
  principal TEXT NOT NULL CHECK (length(principal) > 0),
  -- The allotment: all NULL where there is none. Without zcdp its rho is 0.
  granted_epsilon_nano INTEGER CHECK (granted_epsilon_nano BETWEEN 0 AND 1000000000000000),
  granted_delta_atto INTEGER CHECK (granted_delta_atto BETWEEN 0 AND 999999999999999999),
  limit_rho_pico INTEGER CHECK (limit_rho_pico BETWEEN 0 AND 1000000000000000000),
  spent_epsilon_nano INTEGER NOT NULL
    CHECK (spent_epsilon_nano BETWEEN 0 AND coalesce(granted_epsilon_nano, 1000000000000000)),
  spent_delta_atto INTEGER NOT NULL
    CHECK (spent_delta_atto BETWEEN 0 AND coalesce(granted_delta_atto, 999999999999999999)),
  spent_rho_pico INTEGER NOT NULL CHECK (spent_rho_pico BETWEEN 0 AND coalesce(limit_rho_pico, 1000000000000000000)),
  -- The part of it that the dataset was not charged again.
  shared_epsilon_nano INTEGER NOT NULL CHECK (shared_epsilon_nano BETWEEN 0 AND spent_epsilon_nano),
  shared_delta_atto INTEGER NOT NULL CHECK (shared_delta_atto BETWEEN 0 AND spent_delta_atto),
  shared_rho_pico INTEGER NOT NULL CHECK (shared_rho_pico BETWEEN 0 AND spent_rho_pico),
  -- Bytes of requests and answers, and denials, that are stored for the analyst.
  stored_bytes INTEGER NOT NULL CHECK (stored_bytes BETWEEN 0 AND 9007199254740991),
  denials INTEGER NOT NULL CHECK (denials BETWEEN 0 AND 9007199254740991),
  PRIMARY KEY (dataset, principal),
  CHECK ((granted_epsilon_nano IS NULL) = (granted_delta_atto IS NULL)
    AND (granted_epsilon_nano IS NULL) = (limit_rho_pico IS NULL))
) STRICT, WITHOUT ROWID;

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

CREATE TRIGGER storage_never_shrinks BEFORE UPDATE ON analysts
WHEN NEW.stored_bytes < OLD.stored_bytes OR NEW.denials < OLD.denials
BEGIN SELECT RAISE(ABORT, 'what was stored stays stored'); END;

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

-- An id is a hash of principal and idempotency key, so that one unique index serves both. A second one, over the two
-- themselves, would cost each charge a page of its own in the log: a quarter of the rate.
CREATE TABLE charges (
  number INTEGER NOT NULL PRIMARY KEY CHECK (number BETWEEN 1 AND 9007199254740991),
  id TEXT NOT NULL UNIQUE CHECK (length(id) = 32),
  principal TEXT NOT NULL CHECK (length(principal) > 0),
  idempotency_key TEXT NOT NULL CHECK (length(idempotency_key) > 0),
  dataset TEXT NOT NULL REFERENCES budgets (dataset) CHECK (dataset NOT LIKE '@%'),
  dataset_version TEXT NOT NULL,
  request_hash TEXT NOT NULL,
  request TEXT NOT NULL,
  loss_epsilon_nano INTEGER NOT NULL CHECK (loss_epsilon_nano BETWEEN 0 AND 1000000000000000),
  loss_delta_atto INTEGER NOT NULL CHECK (loss_delta_atto BETWEEN 0 AND 1000000000000000000),
  loss_rho_pico INTEGER NOT NULL CHECK (loss_rho_pico BETWEEN 0 AND 1000000000000000000),
  state TEXT NOT NULL CHECK (state IN ('charged', 'answered', 'failed', 'denied')),
  attempt INTEGER NOT NULL CHECK (attempt BETWEEN 0 AND 9007199254740991),
  created_at_ms INTEGER NOT NULL CHECK (created_at_ms BETWEEN 0 AND 8640000000000000),
  leased_at_ms INTEGER NOT NULL CHECK (leased_at_ms BETWEEN 0 AND 8640000000000000),
  lease_expires_at_ms INTEGER NOT NULL CHECK (lease_expires_at_ms BETWEEN leased_at_ms AND 8640000000000000),
  sharing INTEGER NOT NULL CHECK (sharing IN (0, 1)),
  -- The charge whose release answers this one; the dataset was not debited for it.
  shared_from TEXT REFERENCES charges (id),
  CHECK ((attempt = 0) = (state = 'denied'))
) STRICT;

-- Holds only what is under way, so that opening the ledger after a crash does not read every charge ever made.
CREATE INDEX charges_under_way ON charges (number) WHERE state = 'charged';

-- A number that SQLite is yet to give is -1 here.
CREATE TRIGGER charges_are_never_replaced BEFORE INSERT ON charges
WHEN EXISTS (SELECT 1 FROM charges WHERE id = NEW.id)
  OR (NEW.number > 0 AND EXISTS (SELECT 1 FROM charges WHERE number = NEW.number))
BEGIN SELECT RAISE(ABORT, 'a charge is never replaced'); END;

CREATE TRIGGER charges_are_never_deleted BEFORE DELETE ON charges
BEGIN SELECT RAISE(ABORT, 'a charge is never deleted'); END;

CREATE TRIGGER charges_keep_their_debit BEFORE UPDATE ON charges
WHEN NEW.number <> OLD.number OR NEW.id <> OLD.id OR NEW.principal <> OLD.principal
  OR NEW.idempotency_key <> OLD.idempotency_key OR NEW.request_hash <> OLD.request_hash
  OR NEW.dataset <> OLD.dataset OR NEW.attempt < OLD.attempt OR OLD.state = 'answered'
  OR (NEW.state = 'denied' AND OLD.state <> 'denied')
  OR (OLD.state <> 'denied'
    AND (NEW.loss_epsilon_nano <> OLD.loss_epsilon_nano OR NEW.loss_delta_atto <> OLD.loss_delta_atto
      OR NEW.loss_rho_pico <> OLD.loss_rho_pico OR NEW.shared_from IS NOT OLD.shared_from))
BEGIN SELECT RAISE(ABORT, 'a debit is final'); END;

CREATE TABLE releases (
  charge INTEGER NOT NULL PRIMARY KEY REFERENCES charges (number) CHECK (charge BETWEEN 1 AND 9007199254740991),
  -- The answer: a text, or, if it is large, bytes in the zlib format.
  answer TEXT,
  deflated BLOB,
  -- The facts by which releases are listed.
  dataset TEXT NOT NULL,
  principal TEXT NOT NULL,
  kind TEXT NOT NULL,
  answered_at_ms INTEGER NOT NULL CHECK (answered_at_ms BETWEEN 0 AND 8640000000000000),
  CHECK ((answer IS NULL) <> (deflated IS NULL))
) STRICT;

-- The kind is in the index, so that a search for a rare one reads no answers.
CREATE INDEX releases_of_dataset ON releases (dataset, answered_at_ms, kind);
CREATE INDEX releases_of_principal ON releases (principal, answered_at_ms, dataset, kind);

CREATE TRIGGER releases_are_never_replaced BEFORE INSERT ON releases
WHEN EXISTS (SELECT 1 FROM releases WHERE charge = NEW.charge)
BEGIN SELECT RAISE(ABORT, 'a release is never replaced'); END;

CREATE TRIGGER releases_are_never_changed BEFORE UPDATE ON releases
BEGIN SELECT RAISE(ABORT, 'a release is never changed'); END;

CREATE TRIGGER releases_are_never_deleted BEFORE DELETE ON releases
BEGIN SELECT RAISE(ABORT, 'a release is never deleted'); END;

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

-- Sparse vector sessions. Neither a session nor an answer ever changes: how many were answered and how many positives
-- are left follows from the answers that there are, so no counter can be set back.
CREATE TABLE sparse_vector_sessions (
  charge INTEGER NOT NULL PRIMARY KEY REFERENCES charges (number) CHECK (charge BETWEEN 1 AND 9007199254740991),
  positives INTEGER NOT NULL CHECK (positives BETWEEN 1 AND 9007199254740991),
  terms TEXT NOT NULL CHECK (length(terms) > 0),
  -- A secret: who knows it learns more from the answers than was paid for.
  threshold_noise INTEGER NOT NULL CHECK (threshold_noise BETWEEN -4611686018427387904 AND 4611686018427387904)
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
  question INTEGER NOT NULL CHECK (question BETWEEN 1 AND 9007199254740991),
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
