import { describe, expect, it } from 'vitest'
import type { openPostgresLedger } from '../../../src/ledger/postgres/ledger.ts'
import { type SourceChange, withChangedSource } from '../../mutants/changed-source.ts'
import { selectMutants } from '../../mutants/select-mutants.ts'
import { describePostgres } from '../../servers/postgres.ts'
import { failedContractTest } from '../contract/contract.ts'
import { openRaceRunner, RACES } from '../model/races.ts'
import { fixtureOnPostgres } from '../stores.ts'

interface Mutant {
  readonly bug: string
  /** Name of the contract test or race that must fail. */
  readonly fails: string
  readonly changes: readonly SourceChange[]
}

type Change = (find: string, replace: string) => SourceChange

const changeIn =
  (file: string): Change =>
  (find, replace) => ({ file: `ledger/${file}`, find, replace })
const schema = changeIn('postgres/schema.sql')
const store = changeIn('postgres/store.ts')
const rows = changeIn('postgres/rows.ts')
const writtenRows = changeIn('stores/written-rows.ts')
const reads = changeIn('postgres/reads.ts')
const service = changeIn('postgres/ledger.ts')
const groupCommit = changeIn('group-commit.ts')
const mutant = (bug: string, fails: string, ...changes: readonly SourceChange[]): Mutant => ({
  bug,
  fails,
  changes,
})

/** Mistakes in the work of a single replica. */
const MUTANTS: readonly Mutant[] = [
  mutant(
    'counted failures are not written',
    'counted failures suspend a dataset at their limit, until it is resumed',
    schema('failures = moved.failures, suspended = moved.suspended', 'failures = moved.failures'),
  ),
  mutant(
    'stored bytes are not written',
    'a request is refused before the debit once the stored bytes reach its limit',
    schema('stored_bytes = moved.stored_bytes, ', ''),
  ),
  mutant(
    'denials are not written',
    'at most 250 denials of an analyst are recorded, and an unrecorded one is not permanent',
    schema(', denials = moved.denials', ''),
  ),
  mutant(
    'a debit of epsilon is not written',
    'the first event records the neighbours of a budget, which never change',
    schema('budget.spent_epsilon_nano + moved.debit_epsilon_nano', 'budget.spent_epsilon_nano'),
  ),
  mutant(
    'a debit of delta is not written',
    'a budget limits delta as well as epsilon',
    schema('budget.spent_delta_atto + moved.debit_delta_atto', 'budget.spent_delta_atto'),
  ),
  mutant(
    'a debit of rho is not written',
    'a budget in rho holds the largest amounts exactly and refuses larger ones',
    schema('budget.spent_rho_pico + moved.debit_rho_pico', 'budget.spent_rho_pico'),
  ),
  mutant(
    'a grant of epsilon is not written',
    'a grant raises a budget and is recorded',
    schema('SET cap_epsilon_nano = moved.cap_epsilon_nano, ', 'SET '),
  ),
  mutant(
    'a grant of rho is not written',
    'a cap in rho is what all grants buy together, exact to the last unit',
    schema('cap_rho_pico = moved.cap_rho_pico,', 'cap_rho_pico = budget.cap_rho_pico,'),
  ),
  mutant(
    'the total spending is debited instead of the difference',
    'decimals add up exactly: 0.1 and 0.2 leave 0.7 of 1',
    writtenRows(
      "amountColumns('debit', subtractAmounts(spent, before?.budget.spent ?? noAmount(cap.accounting)))",
      "amountColumns('debit', spent)",
    ),
  ),
  mutant(
    'the spending of an analyst is not written',
    'decimals add up exactly: 0.1 and 0.2 leave 0.7 of 1',
    schema(
      'spent_epsilon_nano = moved.spent_epsilon_nano,',
      'spent_epsilon_nano = analyst.spent_epsilon_nano,',
    ),
  ),
  mutant(
    'the spending of an analyst in rho is not written',
    'a cap in rho is what all grants buy together, exact to the last unit',
    schema('spent_rho_pico = moved.spent_rho_pico,', 'spent_rho_pico = analyst.spent_rho_pico,'),
  ),
  mutant(
    'the shared spending of an analyst is not written',
    "a share is limited by the allotment and not by the dataset's remaining budget",
    schema(
      'shared_epsilon_nano = moved.shared_epsilon_nano,',
      'shared_epsilon_nano = analyst.shared_epsilon_nano,',
    ),
  ),
  mutant(
    'an allotment is not written',
    'an allotment cannot be below the spending, may equal it, and can be lifted',
    schema(
      'granted_epsilon_nano = moved.granted_epsilon_nano,',
      'granted_epsilon_nano = analyst.granted_epsilon_nano,',
    ),
  ),
  mutant(
    'an allotment in rho is not written',
    'an allotment cannot be below the spending, may equal it, and can be lifted',
    schema('limit_rho_pico = moved.limit_rho_pico,', 'limit_rho_pico = analyst.limit_rho_pico,'),
  ),
  mutant(
    'the spending of one analyst is written to all',
    "the dataset's cap limits all analysts together, even if their allotments are larger",
    schema(
      'WHERE analyst.dataset = moved.dataset AND analyst.principal = moved.principal',
      'WHERE analyst.dataset = moved.dataset',
    ),
  ),
  mutant(
    'shared spending is written as 0',
    'a request denied before sharing was enabled is shared once it is paid',
    writtenRows(
      "...amountColumns('shared', spentOnShared)",
      "...amountColumns('shared', noAmount(spent.accounting))",
    ),
  ),
  mutant(
    'the state of a charge is not written',
    'a grant raises a budget and is recorded',
    schema(
      'loss_rho_pico = moved.loss_rho_pico, state = moved.state,',
      'loss_rho_pico = moved.loss_rho_pico, state = charge.state,',
    ),
  ),
  mutant(
    'the attempt of a charge is not written',
    'a grant raises a budget and is recorded',
    schema('attempt = moved.attempt, leased', 'attempt = charge.attempt, leased'),
  ),
  mutant(
    'the lease of a further attempt is not written',
    'a charge is in flight until its lease expires, then belongs to the next attempt',
    schema(
      'lease_expires_at_ms = moved.lease_expires_at_ms,',
      'lease_expires_at_ms = charge.lease_expires_at_ms,',
    ),
  ),
  mutant(
    'the version of a further attempt is not written',
    'a charge is in flight until its lease expires, then belongs to the next attempt',
    schema('SET dataset_version = moved.dataset_version, ', 'SET '),
  ),
  mutant(
    'the price of a charge denied before is not written',
    'a denial without a chosen key is decided again on every request and is recorded once',
    schema('loss_epsilon_nano = moved.loss_epsilon_nano,', 'loss_epsilon_nano = charge.loss_epsilon_nano,'),
  ),
  mutant(
    'sharing is not updated after a denial',
    'a request denied before sharing was enabled is shared once it is paid',
    schema('sharing = moved.sharing,', 'sharing = charge.sharing,'),
  ),
  mutant(
    'the source of a share is not updated after a denial',
    "a share is limited by the allotment and not by the dataset's remaining budget",
    schema('shared_from = moved.shared_from, request', 'shared_from = charge.shared_from, request'),
  ),
  mutant(
    'the source of a share is not written',
    'a request denied before sharing was enabled is shared once it is paid',
    writtenRows('shared_from: charge.sharedFrom ?? null', 'shared_from: null'),
  ),
  mutant(
    'sharing is not written',
    'a request denied before sharing was enabled is shared once it is paid',
    writtenRows('{ id, state, attempt, sharing },\n', '{ id, state, attempt, sharing: false },\n'),
  ),
  mutant(
    'shares are read as charges',
    'a request denied before sharing was enabled is shared once it is paid',
    rows("'shared_from', shared_from)`", "'shared_from', NULL)`"),
  ),
  mutant(
    'leases are read as expired',
    'a charge is in flight until its lease expires, then belongs to the next attempt',
    rows("'lease_expires_at_ms', lease_expires_at_ms,", "'lease_expires_at_ms', leased_at_ms,"),
  ),
  mutant(
    'positives are not counted',
    'answers are numbered, are replayed, and end with the last positive',
    rows(
      '(SELECT count(*) FROM sotto.sparse_vector_answers WHERE session = sessions.charge AND above),',
      '0,',
    ),
  ),
  mutant(
    'the questions of all sessions are counted together',
    'each session counts its own questions and positives, for any keys',
    rows(
      '(SELECT coalesce(max(question), 0) FROM sotto.sparse_vector_answers WHERE session = sessions.charge),',
      '(SELECT coalesce(max(question), 0) FROM sotto.sparse_vector_answers),',
    ),
  ),
  mutant(
    'the sign of a threshold noise is lost',
    'a session is stored with the answer of its charge',
    writtenRows(
      'threshold_noise: thresholdNoise,',
      'threshold_noise: thresholdNoise < 0n ? -thresholdNoise : thresholdNoise,',
    ),
  ),
  mutant(
    'releases are shared between datasets',
    'a release is not shared across dataset versions or datasets',
    store(
      'JOIN sotto.shared_releases USING (dataset, request_hash)',
      'JOIN (SELECT request_hash, charge FROM sotto.shared_releases) AS every USING (request_hash)',
    ),
  ),
  mutant(
    'shared releases are not looked for',
    'a denial without a chosen key is decided again on every request and is recorded once',
    store('if (sharing && !keyChosen) keys.questions.add(dataset, requestHash)', ''),
  ),
  mutant(
    'answers are not looked for',
    'a charge is in flight until its lease expires, then belongs to the next attempt',
    store('keys.answers.add(id)', ''),
  ),
  mutant(
    'analysts are not looked for and count as new',
    'decimals add up exactly: 0.1 and 0.2 leave 0.7 of 1',
    store(
      `known(
          analysts.get(joined(dataset, principal)),
          keys.analysts.has(dataset, principal) || keys.allAnalysts.has(dataset),
        )`,
      'analysts.get(joined(dataset, principal))',
    ),
    store('keys.analysts.add(dataset, principal)', ''),
  ),
  mutant(
    'a failing call fails its batch',
    'a refused call does not affect concurrent calls',
    store(
      'settled = calls.map((call) => settle(batch, call))',
      "settled = calls.map((call) => ({ kind: 'done', result: applyCommand(batch, call) }))",
    ),
    groupCommit(
      '  return [batch.slice(0, middle), batch.slice(middle)].filter((part) => part.length > 0)',
      '  return middle > 0 ? [batch] : []',
    ),
  ),
  mutant(
    'changes are not committed',
    'the first event records the neighbours of a budget, which never change',
    store('else await commit(client)', "else await ask(client, 'ROLLBACK')"),
  ),
  mutant(
    'results reach the wrong callers',
    'a refused call does not affect concurrent calls',
    groupCommit('const each = settled[index]', 'const each = settled.at(-1 - index)'),
  ),
  mutant(
    'the hash does not cover the whole answer',
    'a charge is in flight until its lease expires, then belongs to the next attempt',
    reads(
      "encode(sha256(convert_to(answer, 'UTF8')), 'hex')",
      "encode(sha256(convert_to(left(answer, 1), 'UTF8')), 'hex')",
    ),
  ),
  mutant(
    'charge records omit charges without an answer',
    'the first event records the neighbours of a budget, which never change',
    reads('LEFT JOIN sotto.releases ON', 'JOIN sotto.releases ON'),
  ),
  mutant(
    'charges of all datasets are counted together',
    'a release is not shared across dataset versions or datasets',
    reads(
      'SELECT dataset, count(*) AS charges, max(id) AS last',
      'SELECT dataset, (SELECT count(*) FROM sotto.charges) AS charges, max(id) AS last',
    ),
  ),
  mutant(
    'the history is not filtered by principal',
    'the history lists every event, newest first, in pages',
    reads('WHERE dataset = $1 AND principal = $4 AND', "WHERE dataset = $1 AND $4 <> '' AND"),
  ),
  mutant(
    'the history starts with the oldest event',
    'a budget is opened once, and a second attempt does not change it',
    reads(
      'WHERE dataset = $1 AND sequence < $2 ORDER BY sequence DESC',
      'WHERE dataset = $1 AND sequence < $2 ORDER BY sequence',
    ),
  ),
  mutant(
    'a page of events includes the event before it',
    'the history lists every event, newest first, in pages',
    reads('sequence > $2 ORDER BY sequence LIMIT', 'sequence >= $2 ORDER BY sequence LIMIT'),
  ),
  mutant(
    'a page of answers includes the answer after it',
    'answers are listed newest first, in pages, with their requests',
    reads('question < $2 ORDER BY', 'question <= $2 ORDER BY'),
  ),
  mutant(
    'dataset versions are compared as texts',
    'the last charged version of a dataset is known',
    reads('max(dataset_version::bigint)', 'max(dataset_version)::bigint'),
  ),
  mutant(
    'a head has the spending on all datasets',
    'a budget is opened once, and a second attempt does not change it',
    reads(
      "ORDER BY principal), '[]') FROM sotto.analysts\n      WHERE analysts.dataset = budgets.dataset",
      "ORDER BY principal), '[]') FROM sotto.analysts\n      WHERE true",
    ),
  ),
]

/**
 * Mistakes in the mechanisms that keep two replicas apart. If one guard compensates for another, the mutant removes
 * both.
 */
const RACE_MUTANTS: readonly Mutant[] = [
  mutant(
    'no lock and no second attempt',
    'one key is charged twice',
    store('ORDER BY dataset FOR UPDATE', 'ORDER BY dataset'),
    service('const MAX_ATTEMPTS = 4', 'const MAX_ATTEMPTS = 1'),
  ),
]

const selected = (mutants: readonly Mutant[]) =>
  selectMutants(import.meta.dirname, mutants, ({ changes }) => changes)

describePostgres('every mutant of the store in PostgreSQL', (databases) => {
  const withMutant = <Result>(
    changes: readonly SourceChange[],
    use: (open: typeof openPostgresLedger, url: string) => Promise<Result>,
  ) =>
    withChangedSource(changes, {}, async (load) => {
      const source = await load<{ readonly openPostgresLedger: typeof openPostgresLedger }>(
        'ledger/postgres/ledger.ts',
      )
      return use(source.openPostgresLedger, await databases.createDatabase())
    })

  const failedBy = (changes: readonly SourceChange[], tests: readonly string[]) =>
    withMutant(changes, (open, url) => failedContractTest(() => fixtureOnPostgres(url, open), tests))

  describe('fails its test of the contract', () => {
    it('the unchanged source fails none', async () => {
      expect(
        await failedBy(
          [],
          MUTANTS.map(({ fails }) => fails),
        ),
      ).toBeUndefined()
    })

    it.each(selected(MUTANTS))('$bug', async ({ changes, fails }) => {
      expect(await failedBy(changes, [fails])).toBe(fails)
    })
  })

  it.each(selected(RACE_MUTANTS))(
    'changes the outcome of a race of two replicas: $bug',
    async ({ changes, fails }) => {
      const race = RACES.find(({ name }) => name === fails)
      if (race === undefined) throw new Error(`there is no race "${fails}"`)
      await withMutant(changes, async (open, url) => {
        const runner = await openRaceRunner(url, open)
        try {
          const expectOutcomes = async () =>
            expect((await runner.outcomesOf(race)).outcomes).toEqual(race.outcomes)
          await expect(expectOutcomes()).rejects.toThrow()
        } finally {
          await runner.close()
        }
      })
    },
  )
})
