-- The ledger in PostgreSQL: the schema `sotto`. A database holds one ledger. Raise its
-- version in schema.ts with every change of this file.
--
-- The constraints and the triggers enforce what the store guarantees. A defect of the store, or a person with an SQL
-- prompt, then gets an error instead of overspending a budget or rewriting the history. The ranges are those of
-- ../range.ts. Names sort by code point, because the order of locks must not depend on a locale.

CREATE FUNCTION sotto.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION USING MESSAGE = TG_ARGV[0], ERRCODE = 'integrity_constraint_violation';
END $$;

-- A population, '@population:' and its id, has a row beside those of its datasets, which are debited with it. The chain of
-- administrative acts, '@administration', has one too, which can never pay for anything.
CREATE TABLE sotto.budgets (
  dataset text COLLATE "C" PRIMARY KEY CHECK (dataset <> ''),
  -- What it is counted in. Under zcdp the caps of epsilon and delta are what was granted, and rho is what is spent.
  accounting text NOT NULL CHECK (accounting IN ('basic', 'zcdp')),
  cap_epsilon_nano bigint NOT NULL CHECK (cap_epsilon_nano BETWEEN 0 AND 1000000000000000),
  cap_delta_atto bigint NOT NULL CHECK (cap_delta_atto BETWEEN 0 AND 999999999999999999),
  cap_rho_pico bigint NOT NULL
    CHECK (cap_rho_pico BETWEEN 0 AND 1000000000000000000 AND (accounting = 'zcdp' OR cap_rho_pico = 0)),
  spent_epsilon_nano bigint NOT NULL CHECK (spent_epsilon_nano BETWEEN 0 AND cap_epsilon_nano),
  spent_delta_atto bigint NOT NULL CHECK (spent_delta_atto BETWEEN 0 AND cap_delta_atto),
  spent_rho_pico bigint NOT NULL CHECK (spent_rho_pico BETWEEN 0 AND cap_rho_pico),
  head_sequence bigint NOT NULL CHECK (head_sequence BETWEEN 0 AND 9007199254740991),
  head_hash text COLLATE "C" NOT NULL CHECK (length(head_hash) = 64),
  -- Failures that were counted since the last resumption, and whether they suspended the dataset.
  failures bigint NOT NULL DEFAULT 0 CHECK (failures BETWEEN 0 AND 9007199254740991),
  suspended boolean NOT NULL DEFAULT false CHECK (NOT suspended OR failures > 0),
  -- The population that the dataset belongs to for ever, if any.
  population text COLLATE "C" REFERENCES sotto.budgets
    CHECK (population IS NULL OR (population LIKE '@population:_%' AND dataset NOT LIKE '@%')),
  CHECK (accounting = 'basic' OR (spent_epsilon_nano = 0 AND spent_delta_atto = 0)),
  CHECK (dataset <> '@administration' OR (accounting = 'basic' AND cap_epsilon_nano = 0 AND cap_delta_atto = 0))
) WITH (fillfactor = 50); -- Room beside each row for its next versions, so that no index grows with the debits.

CREATE TRIGGER budgets_are_never_deleted BEFORE DELETE OR TRUNCATE ON sotto.budgets
FOR EACH STATEMENT EXECUTE FUNCTION sotto.refuse('a budget is never deleted');

-- A cap from which nothing was spent may be replaced by a smaller one, with an event that says so.
CREATE TRIGGER budgets_never_shrink BEFORE UPDATE ON sotto.budgets FOR EACH ROW
WHEN (NEW.dataset <> OLD.dataset OR NEW.accounting <> OLD.accounting
  OR NEW.spent_epsilon_nano < OLD.spent_epsilon_nano OR NEW.spent_delta_atto < OLD.spent_delta_atto
  OR NEW.spent_rho_pico < OLD.spent_rho_pico
  OR NEW.head_sequence < OLD.head_sequence
  OR ((OLD.spent_epsilon_nano > 0 OR OLD.spent_delta_atto > 0 OR OLD.spent_rho_pico > 0
      OR NEW.head_sequence = OLD.head_sequence)
    AND (NEW.cap_epsilon_nano < OLD.cap_epsilon_nano OR NEW.cap_delta_atto < OLD.cap_delta_atto
      OR NEW.cap_rho_pico < OLD.cap_rho_pico)))
EXECUTE FUNCTION sotto.refuse('what was spent stays spent');

CREATE INDEX members_of_population ON sotto.budgets (population) WHERE population IS NOT NULL;

CREATE TRIGGER membership_is_for_ever BEFORE UPDATE ON sotto.budgets FOR EACH ROW
WHEN (NEW.population IS DISTINCT FROM OLD.population
  AND (OLD.population IS NOT NULL OR NEW.head_sequence = OLD.head_sequence))
EXECUTE FUNCTION sotto.refuse('a dataset stays in its population');

-- The statement that updates a dataset updates its population too; after it, the population has spent as much as all of its
-- datasets together.
CREATE FUNCTION sotto.expect_paid_by_population() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (SELECT payer.accounting <> NEW.accounting
      OR payer.spent_epsilon_nano < total.epsilon OR payer.spent_delta_atto < total.delta
      OR payer.spent_rho_pico < total.rho
    FROM sotto.budgets AS payer, (
      SELECT sum(spent_epsilon_nano) AS epsilon, sum(spent_delta_atto) AS delta, sum(spent_rho_pico) AS rho
      FROM sotto.budgets WHERE population = NEW.population) AS total
    WHERE payer.dataset = NEW.population)
  THEN
    RAISE EXCEPTION 'a population has spent what its datasets have' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER populations_pay_for_their_datasets AFTER UPDATE ON sotto.budgets
FOR EACH ROW WHEN (NEW.population IS NOT NULL) EXECUTE FUNCTION sotto.expect_paid_by_population();

CREATE TRIGGER suspensions_follow_the_events BEFORE UPDATE ON sotto.budgets FOR EACH ROW
WHEN ((NEW.failures < OLD.failures AND NOT OLD.suspended)
  OR ((NEW.failures <> OLD.failures OR NEW.suspended <> OLD.suspended) AND NEW.head_sequence = OLD.head_sequence))
EXECUTE FUNCTION sotto.refuse('a suspension changes with an event');

-- The hashed text is the one record of an event; what is beside it serves to find it.
CREATE TABLE sotto.events (
  dataset text COLLATE "C" NOT NULL REFERENCES sotto.budgets,
  sequence bigint NOT NULL CHECK (sequence BETWEEN 1 AND 9007199254740991),
  principal text COLLATE "C" NOT NULL,
  canonical text NOT NULL,
  hash text COLLATE "C" NOT NULL CHECK (hash = encode(sha256(convert_to(canonical, 'UTF8')), 'hex')),
  -- Marks counted failures, which are few among many events.
  counted boolean NOT NULL DEFAULT false,
  PRIMARY KEY (dataset, sequence)
);

CREATE INDEX events_of_principal ON sotto.events (dataset, principal, sequence);
CREATE INDEX counted_failures ON sotto.events (dataset, sequence) WHERE counted;

-- The new ones are without gaps and the first has its predecessor. As no event is ever taken away, that predecessor was
-- the last. PostgreSQL may look into an EXISTS once for all rows, through a hash of every event that there is, and keep to
-- that plan as the events grow. A scalar subquery it asks once per dataset, through the index.
CREATE FUNCTION sotto.expect_events_in_order() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (
    SELECT 1 FROM added GROUP BY dataset
    HAVING max(sequence) - min(sequence) + 1 <> count(*) OR (min(sequence) > 1 AND (
      SELECT count(*) FROM sotto.events AS earlier
      WHERE earlier.dataset = added.dataset AND earlier.sequence = min(added.sequence) - 1) = 0)
  ) THEN
    RAISE EXCEPTION 'an event follows the one before' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER events_follow_each_other AFTER INSERT ON sotto.events REFERENCING NEW TABLE AS added
FOR EACH STATEMENT EXECUTE FUNCTION sotto.expect_events_in_order();

CREATE TRIGGER events_are_never_changed BEFORE UPDATE OR DELETE OR TRUNCATE ON sotto.events
FOR EACH STATEMENT EXECUTE FUNCTION sotto.refuse('an event is never changed');

CREATE FUNCTION sotto.expect_head() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.head_hash IS DISTINCT FROM
      (SELECT hash FROM sotto.events WHERE dataset = NEW.dataset AND sequence = NEW.head_sequence)
    OR EXISTS (SELECT 1 FROM sotto.events WHERE dataset = NEW.dataset AND sequence = NEW.head_sequence + 1)
  THEN
    RAISE EXCEPTION 'the head is the last event' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;

CREATE TRIGGER a_head_is_the_last_event BEFORE UPDATE ON sotto.budgets
FOR EACH ROW EXECUTE FUNCTION sotto.expect_head();

CREATE TABLE sotto.analysts (
  dataset text COLLATE "C" NOT NULL REFERENCES sotto.budgets,
  principal text COLLATE "C" NOT NULL CHECK (principal <> ''),
  -- The allotment: all NULL where there is none. Without zcdp its rho is 0.
  granted_epsilon_nano bigint CHECK (granted_epsilon_nano BETWEEN 0 AND 1000000000000000),
  granted_delta_atto bigint CHECK (granted_delta_atto BETWEEN 0 AND 999999999999999999),
  limit_rho_pico bigint CHECK (limit_rho_pico BETWEEN 0 AND 1000000000000000000),
  spent_epsilon_nano bigint NOT NULL
    CHECK (spent_epsilon_nano BETWEEN 0 AND coalesce(granted_epsilon_nano, 1000000000000000)),
  spent_delta_atto bigint NOT NULL
    CHECK (spent_delta_atto BETWEEN 0 AND coalesce(granted_delta_atto, 999999999999999999)),
  spent_rho_pico bigint NOT NULL CHECK (spent_rho_pico BETWEEN 0 AND coalesce(limit_rho_pico, 1000000000000000000)),
  -- The part of it that the dataset was not charged again.
  shared_epsilon_nano bigint NOT NULL CHECK (shared_epsilon_nano BETWEEN 0 AND spent_epsilon_nano),
  shared_delta_atto bigint NOT NULL CHECK (shared_delta_atto BETWEEN 0 AND spent_delta_atto),
  shared_rho_pico bigint NOT NULL CHECK (shared_rho_pico BETWEEN 0 AND spent_rho_pico),
  -- Bytes of requests and answers, and denials, that are stored for the analyst.
  stored_bytes bigint NOT NULL CHECK (stored_bytes BETWEEN 0 AND 9007199254740991),
  denials bigint NOT NULL CHECK (denials BETWEEN 0 AND 9007199254740991),
  PRIMARY KEY (dataset, principal),
  CHECK ((granted_epsilon_nano IS NULL) = (granted_delta_atto IS NULL)
    AND (granted_epsilon_nano IS NULL) = (limit_rho_pico IS NULL))
) WITH (fillfactor = 70);

CREATE TRIGGER analysts_are_never_deleted BEFORE DELETE OR TRUNCATE ON sotto.analysts
FOR EACH STATEMENT EXECUTE FUNCTION sotto.refuse('an account is never deleted');

CREATE TRIGGER analysts_never_unspend BEFORE UPDATE ON sotto.analysts FOR EACH ROW
WHEN (NEW.dataset <> OLD.dataset OR NEW.principal <> OLD.principal
  OR NEW.spent_epsilon_nano < OLD.spent_epsilon_nano OR NEW.spent_delta_atto < OLD.spent_delta_atto
  OR NEW.spent_rho_pico < OLD.spent_rho_pico
  OR NEW.shared_epsilon_nano < OLD.shared_epsilon_nano OR NEW.shared_delta_atto < OLD.shared_delta_atto
  OR NEW.shared_rho_pico < OLD.shared_rho_pico)
EXECUTE FUNCTION sotto.refuse('what was spent stays spent');

CREATE TRIGGER storage_never_shrinks BEFORE UPDATE ON sotto.analysts FOR EACH ROW
WHEN (NEW.stored_bytes < OLD.stored_bytes OR NEW.denials < OLD.denials)
EXECUTE FUNCTION sotto.refuse('what was stored stays stored');

-- The digest of each source that was registered under an id. It would confirm a guess of the whole file, so it is in no
-- event and no export. It outlives the dataset and the catalog.
CREATE TABLE sotto.sources (
  digest text COLLATE "C" NOT NULL CHECK (length(digest) = 64),
  dataset text COLLATE "C" NOT NULL REFERENCES sotto.budgets,
  synthetic boolean NOT NULL,
  PRIMARY KEY (digest, dataset, synthetic)
);

CREATE INDEX sources_of_dataset ON sotto.sources (dataset);

CREATE FUNCTION sotto.expect_synthetic_source() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (SELECT count(*) FROM sotto.sources WHERE digest = NEW.digest AND NOT synthetic) > 0
    OR (SELECT count(*) FROM sotto.sources WHERE dataset = NEW.dataset AND NOT synthetic) > 0
  THEN
    RAISE EXCEPTION 'a source of real data is never synthetic' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;

CREATE TRIGGER real_sources_are_never_synthetic BEFORE INSERT ON sotto.sources
FOR EACH ROW WHEN (NEW.synthetic) EXECUTE FUNCTION sotto.expect_synthetic_source();

CREATE TRIGGER sources_are_never_changed BEFORE UPDATE OR DELETE OR TRUNCATE ON sotto.sources
FOR EACH STATEMENT EXECUTE FUNCTION sotto.refuse('a source is never changed');

-- An id is a hash of principal and idempotency key, so that one unique index serves both.
CREATE TABLE sotto.charges (
  id text COLLATE "C" PRIMARY KEY CHECK (length(id) = 32),
  principal text COLLATE "C" NOT NULL CHECK (principal <> ''),
  idempotency_key text COLLATE "C" NOT NULL CHECK (idempotency_key <> ''),
  dataset text COLLATE "C" NOT NULL REFERENCES sotto.budgets CHECK (dataset NOT LIKE '@%'),
  dataset_version text NOT NULL,
  request_hash text COLLATE "C" NOT NULL,
  request text NOT NULL,
  loss_epsilon_nano bigint NOT NULL CHECK (loss_epsilon_nano BETWEEN 0 AND 1000000000000000),
  loss_delta_atto bigint NOT NULL CHECK (loss_delta_atto BETWEEN 0 AND 1000000000000000000),
  loss_rho_pico bigint NOT NULL CHECK (loss_rho_pico BETWEEN 0 AND 1000000000000000000),
  state text NOT NULL CHECK (state IN ('charged', 'answered', 'failed', 'denied')),
  attempt bigint NOT NULL CHECK (attempt BETWEEN 0 AND 9007199254740991),
  created_at_ms bigint NOT NULL CHECK (created_at_ms BETWEEN 0 AND 8640000000000000),
  leased_at_ms bigint NOT NULL CHECK (leased_at_ms BETWEEN 0 AND 8640000000000000),
  lease_expires_at_ms bigint NOT NULL CHECK (lease_expires_at_ms BETWEEN leased_at_ms AND 8640000000000000),
  sharing boolean NOT NULL,
  -- The charge whose release answers this one; the dataset was not debited for it.
  shared_from text COLLATE "C" REFERENCES sotto.charges,
  CHECK ((attempt = 0) = (state = 'denied'))
) WITH (fillfactor = 85);

CREATE TRIGGER charges_are_never_deleted BEFORE DELETE OR TRUNCATE ON sotto.charges
FOR EACH STATEMENT EXECUTE FUNCTION sotto.refuse('a charge is never deleted');

CREATE TRIGGER charges_keep_their_debit BEFORE UPDATE ON sotto.charges FOR EACH ROW
WHEN (NEW.id <> OLD.id OR NEW.principal <> OLD.principal OR NEW.idempotency_key <> OLD.idempotency_key
  OR NEW.request_hash <> OLD.request_hash OR NEW.dataset <> OLD.dataset OR NEW.attempt < OLD.attempt
  OR OLD.state = 'answered' OR (NEW.state = 'denied' AND OLD.state <> 'denied')
  OR (OLD.state <> 'denied'
    AND (NEW.loss_epsilon_nano <> OLD.loss_epsilon_nano OR NEW.loss_delta_atto <> OLD.loss_delta_atto
      OR NEW.loss_rho_pico <> OLD.loss_rho_pico OR NEW.shared_from IS DISTINCT FROM OLD.shared_from)))
EXECUTE FUNCTION sotto.refuse('a debit is final');

CREATE TABLE sotto.releases (
  charge text COLLATE "C" PRIMARY KEY REFERENCES sotto.charges,
  -- The answer: a text, or, if it is large, bytes in the zlib format.
  answer text,
  deflated bytea,
  -- The facts by which releases are listed.
  dataset text COLLATE "C" NOT NULL,
  principal text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  answered_at_ms bigint NOT NULL CHECK (answered_at_ms BETWEEN 0 AND 8640000000000000),
  CHECK ((answer IS NULL) <> (deflated IS NULL))
);

-- It is compressed already.
ALTER TABLE sotto.releases ALTER COLUMN deflated SET STORAGE EXTERNAL;

-- The kind is in the index, so that a search for a rare one reads no answers.
CREATE INDEX releases_of_dataset ON sotto.releases (dataset, answered_at_ms, charge, kind);
CREATE INDEX releases_of_principal ON sotto.releases (principal, answered_at_ms, charge, dataset, kind);

CREATE TRIGGER releases_are_never_changed BEFORE UPDATE OR DELETE OR TRUNCATE ON sotto.releases
FOR EACH STATEMENT EXECUTE FUNCTION sotto.refuse('a release is never changed');

-- Of each question on a dataset whose analysts share, the first release.
CREATE TABLE sotto.shared_releases (
  dataset text COLLATE "C" NOT NULL REFERENCES sotto.budgets,
  request_hash text COLLATE "C" NOT NULL,
  charge text COLLATE "C" NOT NULL REFERENCES sotto.releases,
  PRIMARY KEY (dataset, request_hash)
);

CREATE TRIGGER shared_releases_are_never_changed BEFORE UPDATE OR DELETE OR TRUNCATE ON sotto.shared_releases
FOR EACH STATEMENT EXECUTE FUNCTION sotto.refuse('the first release is the one that is shared');

-- Sparse vector sessions. Neither a session nor an answer ever changes: how many were answered and how many positives
-- are left follows from the answers that there are, so no counter can be set back.
CREATE TABLE sotto.sparse_vector_sessions (
  charge text COLLATE "C" PRIMARY KEY REFERENCES sotto.charges,
  positives bigint NOT NULL CHECK (positives BETWEEN 1 AND 9007199254740991),
  terms text NOT NULL CHECK (terms <> ''),
  -- A secret: who knows it learns more from the answers than was paid for.
  threshold_noise bigint NOT NULL CHECK (threshold_noise BETWEEN -4611686018427387904 AND 4611686018427387904)
);

CREATE FUNCTION sotto.expect_paid_session() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT 1 FROM sotto.charges WHERE id = NEW.charge AND state = 'answered') THEN
    RAISE EXCEPTION 'a session is paid for' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;

CREATE TRIGGER sessions_are_paid_for BEFORE INSERT ON sotto.sparse_vector_sessions
FOR EACH ROW EXECUTE FUNCTION sotto.expect_paid_session();

CREATE TRIGGER sessions_are_never_changed BEFORE UPDATE OR DELETE OR TRUNCATE ON sotto.sparse_vector_sessions
FOR EACH STATEMENT EXECUTE FUNCTION sotto.refuse('a session is never changed');

CREATE TABLE sotto.sparse_vector_answers (
  session text COLLATE "C" NOT NULL REFERENCES sotto.sparse_vector_sessions,
  question bigint NOT NULL CHECK (question BETWEEN 1 AND 9007199254740991),
  idempotency_key text COLLATE "C" NOT NULL CHECK (idempotency_key <> ''),
  request_hash text COLLATE "C" NOT NULL,
  request text NOT NULL,
  above boolean NOT NULL,
  answer text NOT NULL,
  PRIMARY KEY (session, question),
  UNIQUE (session, idempotency_key)
);

-- Counting a session's positives reads as many entries as there are, however many questions were answered.
CREATE INDEX sparse_vector_positives ON sotto.sparse_vector_answers (session) WHERE above;

-- It sees the rows that the same statement has added before.
CREATE FUNCTION sotto.expect_next_answer() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.question <> 1 + coalesce(
    (SELECT max(question) FROM sotto.sparse_vector_answers WHERE session = NEW.session), 0)
  THEN
    RAISE EXCEPTION 'an answer of a session follows the one before' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  IF (SELECT count(*) FROM sotto.sparse_vector_answers WHERE session = NEW.session AND above)
    >= (SELECT positives FROM sotto.sparse_vector_sessions WHERE charge = NEW.session)
  THEN
    RAISE EXCEPTION 'the session is used up' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;

CREATE TRIGGER session_answers_follow_each_other BEFORE INSERT ON sotto.sparse_vector_answers
FOR EACH ROW EXECUTE FUNCTION sotto.expect_next_answer();

CREATE TRIGGER session_answers_are_never_changed
BEFORE UPDATE OR DELETE OR TRUNCATE ON sotto.sparse_vector_answers
FOR EACH STATEMENT EXECUTE FUNCTION sotto.refuse('an answer of a session is never changed');

CREATE FUNCTION sotto.write_analysts(new_analysts json, moved_analysts json) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  changed bigint;
BEGIN
  IF new_analysts IS NOT NULL THEN
    INSERT INTO sotto.analysts SELECT * FROM json_populate_recordset(NULL::sotto.analysts, new_analysts);
  END IF;
  IF moved_analysts IS NOT NULL THEN
    UPDATE sotto.analysts AS analyst
    SET granted_epsilon_nano = moved.granted_epsilon_nano, granted_delta_atto = moved.granted_delta_atto,
      limit_rho_pico = moved.limit_rho_pico, spent_epsilon_nano = moved.spent_epsilon_nano,
      spent_delta_atto = moved.spent_delta_atto, spent_rho_pico = moved.spent_rho_pico,
      shared_epsilon_nano = moved.shared_epsilon_nano, shared_delta_atto = moved.shared_delta_atto,
      shared_rho_pico = moved.shared_rho_pico, stored_bytes = moved.stored_bytes, denials = moved.denials
    FROM json_populate_recordset(NULL::sotto.analysts, moved_analysts) AS moved
    WHERE analyst.dataset = moved.dataset AND analyst.principal = moved.principal;
    GET DIAGNOSTICS changed = ROW_COUNT;
    IF changed <> json_array_length(moved_analysts) THEN
      RAISE EXCEPTION 'an account is not as it was read' USING ERRCODE = 'LG001';
    END IF;
  END IF;
END $$;

CREATE FUNCTION sotto.write_charges(new_charges json, moved_charges json) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  changed bigint;
BEGIN
  IF new_charges IS NOT NULL THEN
    INSERT INTO sotto.charges SELECT * FROM json_populate_recordset(NULL::sotto.charges, new_charges);
  END IF;
  IF moved_charges IS NOT NULL THEN
    UPDATE sotto.charges AS charge
    SET dataset_version = moved.dataset_version, loss_epsilon_nano = moved.loss_epsilon_nano,
      loss_delta_atto = moved.loss_delta_atto, loss_rho_pico = moved.loss_rho_pico, state = moved.state,
      attempt = moved.attempt, leased_at_ms = moved.leased_at_ms,
      created_at_ms = moved.created_at_ms, lease_expires_at_ms = moved.lease_expires_at_ms, sharing = moved.sharing,
      shared_from = moved.shared_from, request = coalesce(moved.request, charge.request)
    FROM json_to_recordset(moved_charges) AS moved (
      id text, dataset_version text, loss_epsilon_nano bigint, loss_delta_atto bigint, loss_rho_pico bigint,
      state text, attempt bigint, created_at_ms bigint, leased_at_ms bigint, lease_expires_at_ms bigint, sharing boolean,
      shared_from text, request text, state_before text, attempt_before bigint
    )
    WHERE charge.id = moved.id AND charge.state = moved.state_before AND charge.attempt = moved.attempt_before;
    GET DIAGNOSTICS changed = ROW_COUNT;
    IF changed <> json_array_length(moved_charges) THEN
      RAISE EXCEPTION 'a charge is not as it was read' USING ERRCODE = 'LG001';
    END IF;
  END IF;
END $$;

-- Writes all changes of a batch in one round trip. Each argument is an array of rows, or NULL for none. Rows to be
-- changed must still be as they were read, and a budget must cover its debit; otherwise nothing is written.
CREATE FUNCTION sotto.write_changes(
  new_budgets json, new_events json, moved_budgets json, new_analysts json, moved_analysts json, new_charges json,
  moved_charges json, new_releases json, new_shared json, new_sessions json, new_session_answers json
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  changed bigint;
BEGIN
  IF new_budgets IS NOT NULL THEN
    INSERT INTO sotto.budgets SELECT * FROM json_populate_recordset(NULL::sotto.budgets, new_budgets);
  END IF;
  INSERT INTO sotto.events SELECT * FROM json_populate_recordset(NULL::sotto.events, new_events);
  UPDATE sotto.budgets AS budget
  SET cap_epsilon_nano = moved.cap_epsilon_nano, cap_delta_atto = moved.cap_delta_atto,
    cap_rho_pico = moved.cap_rho_pico,
    spent_epsilon_nano = budget.spent_epsilon_nano + moved.debit_epsilon_nano,
    spent_delta_atto = budget.spent_delta_atto + moved.debit_delta_atto,
    spent_rho_pico = budget.spent_rho_pico + moved.debit_rho_pico,
    head_sequence = moved.head_sequence, head_hash = moved.head_hash,
    failures = moved.failures, suspended = moved.suspended, population = moved.population
  FROM json_to_recordset(moved_budgets) AS moved (
    dataset text, cap_epsilon_nano bigint, cap_delta_atto bigint, cap_rho_pico bigint,
    debit_epsilon_nano bigint, debit_delta_atto bigint, debit_rho_pico bigint,
    head_sequence bigint, head_hash text, head_hash_before text, failures bigint, suspended boolean, population text
  )
  WHERE budget.dataset = moved.dataset AND budget.head_hash = moved.head_hash_before
    AND CASE budget.accounting
      WHEN 'basic' THEN moved.cap_epsilon_nano - budget.spent_epsilon_nano >= moved.debit_epsilon_nano
        AND moved.cap_delta_atto - budget.spent_delta_atto >= moved.debit_delta_atto
      ELSE moved.cap_rho_pico - budget.spent_rho_pico >= moved.debit_rho_pico END;
  GET DIAGNOSTICS changed = ROW_COUNT;
  IF changed <> json_array_length(moved_budgets) THEN
    RAISE EXCEPTION 'a budget is not as it was read' USING ERRCODE = 'LG001';
  END IF;
  PERFORM sotto.write_analysts(new_analysts, moved_analysts);
  PERFORM sotto.write_charges(new_charges, moved_charges);
  IF new_releases IS NOT NULL THEN
    INSERT INTO sotto.releases SELECT * FROM json_populate_recordset(NULL::sotto.releases, new_releases);
  END IF;
  IF new_shared IS NOT NULL THEN
    INSERT INTO sotto.shared_releases
    SELECT * FROM json_populate_recordset(NULL::sotto.shared_releases, new_shared);
  END IF;
  IF new_sessions IS NOT NULL THEN
    INSERT INTO sotto.sparse_vector_sessions
    SELECT * FROM json_populate_recordset(NULL::sotto.sparse_vector_sessions, new_sessions);
  END IF;
  IF new_session_answers IS NOT NULL THEN
    INSERT INTO sotto.sparse_vector_answers
    SELECT * FROM json_populate_recordset(NULL::sotto.sparse_vector_answers, new_session_answers)
    ORDER BY session, question;
  END IF;
END $$;
