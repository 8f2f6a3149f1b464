import { chargeId } from '../../../src/ledger/canonical.ts'
import { populationAccount } from '../../../src/ledger/contract/budgets.ts'
import type { Call } from '../../../src/ledger/stores/operation.ts'
import { answered, SESSION, SESSION_ID } from '../contract/operations/sessions.ts'
import { basic, loss, question, rho, summed } from '../support.ts'

const BOBS_SHARE = { dataset: 'census', analyst: 'bob', principal: 'carol', reason: 'a share' }
const IN_RHO = { accounting: 'zcdp', neighbours: 'add-remove', granted: loss('1', '0.000001') } as const
const PEOPLE = populationAccount('people')
const SOURCE = { digests: ['0a'.repeat(32)], synthetic: false }

/** Calls that leave rows in every table: a basic dataset whose analysts share, a session, a dataset under zCDP, and a population. */
export const FILLING: readonly Call[] = [
  { operation: 'openBudget', args: ['census', { ...summed('1'), source: SOURCE }, 'carol'] },
  { operation: 'charge', args: [question('a', { sharing: true })] },
  { operation: 'recordAnswer', args: [chargeId('ada', 'a'), 1, 'an answer'] },
  { operation: 'charge', args: [question('b')] },
  { operation: 'charge', args: [question('a', { principal: 'bob', sharing: true })] },
  { operation: 'allot', args: [{ ...BOBS_SHARE, granted: loss('0.5') }] },
  { operation: 'charge', args: [question('opening')] },
  { operation: 'openSession', args: [SESSION_ID, 1, '{"id":"opened"}', SESSION] },
  { operation: 'recordSessionAnswer', args: [answered('a', 1, true)] },
  { operation: 'recordSessionAnswer', args: [answered('b', 2, false)] },
  { operation: 'openBudget', args: ['in rho', IN_RHO, 'carol'] },
  { operation: 'charge', args: [question('in rho', { dataset: 'in rho', price: rho('0.01') })] },
  { operation: 'charge', args: [question('denied', { price: basic('9') })] },
  { operation: 'openBudget', args: [PEOPLE, summed('1'), 'carol'] },
  { operation: 'openBudget', args: ['visits', { ...summed('1'), population: PEOPLE }, 'carol'] },
  { operation: 'charge', args: [question('visits', { dataset: 'visits' })] },
]

/** Every table, with the number of its rows after {@link FILLING}. */
export const FILLED_TABLES = {
  budgets: 5,
  analysts: 5,
  charges: 7,
  releases: 2,
  shared_releases: 1,
  events: 22,
  sparse_vector_sessions: 1,
  sparse_vector_answers: 2,
  sources: 1,
}

/** An answer of the session, with these values after the id of the session. */
export const insertAnswer = (values: string, verb = 'INSERT') =>
  `${verb} INTO sparse_vector_answers
    (session, question, idempotency_key, request_hash, request, above, answer)
    SELECT charge, ${values} FROM sparse_vector_sessions`

const budget = (changes: string, dataset = 'census') =>
  `UPDATE budgets SET ${changes} WHERE dataset = '${dataset}'`
const bob = (changes: string) => `UPDATE analysts SET ${changes} WHERE principal = 'bob'`
const underWay = (changes: string) => `UPDATE charges SET ${changes} WHERE state = 'charged'`

/** Statements of a person with an SQL prompt that the tables of both stores refuse after {@link FILLING}. */
export const REFUSED: readonly [what: string, sql: string][] = [
  ['an overspent budget', budget('spent_epsilon_nano = cap_epsilon_nano + 1')],
  ['an overspent delta', budget('spent_delta_atto = cap_delta_atto + 1')],
  ['an overspent rho', budget('spent_rho_pico = cap_rho_pico + 1', 'in rho')],
  ['an integer beyond 64 bits', budget('spent_epsilon_nano = 9223372036854775807 + 1')],
  ['a cap beyond the largest', budget('cap_epsilon_nano = 1000000000000001')],
  ['a delta of one', budget('cap_delta_atto = 1000000000000000000')],
  ['a rho beyond the largest', budget('cap_rho_pico = 1000000000000000001', 'in rho')],
  ['rho where it is not counted', budget('cap_rho_pico = 1')],
  ['epsilon where it is not counted', budget('spent_epsilon_nano = 1', 'in rho')],
  ['another accounting', budget("accounting = 'zcdp'")],
  ['an unknown accounting', budget("accounting = 'renyi'")],
  ['another name', budget("dataset = 'other'", 'in rho')],
  ['a lowered cap', budget('cap_epsilon_nano = 999999999')],
  ['a lowered rho', budget('cap_rho_pico = cap_rho_pico - 1', 'in rho')],
  ['a refund', budget('spent_epsilon_nano = 0')],
  ['a refund of rho', budget('spent_rho_pico = 0', 'in rho')],
  ['a head that is no event', budget('head_hash = substr(head_hash, 2) || substr(head_hash, 1, 1)')],
  ['a head after the last event', budget('head_sequence = head_sequence + 1')],
  ['a head before the last event', budget('head_sequence = head_sequence - 1')],
  ['a budget of the administration', budget('cap_epsilon_nano = 1', '@administration')],
  ['a failure without an event', budget('failures = 1')],
  ['a suspension without an event', budget('failures = 1, suspended = true')],
  ['a suspension without failures', budget('suspended = true')],
  ['a dataset that spends alone', budget('spent_epsilon_nano = spent_epsilon_nano + 1', 'visits')],
  ['a dataset that leaves its population', budget('population = NULL', 'visits')],
  ['a dataset that joins without an event', budget(`population = '${PEOPLE}'`)],
  ['a dataset in another dataset', budget("population = 'visits'")],
  ['a population in a population', budget(`population = '${PEOPLE}'`, PEOPLE)],
  ['a deleted budget', 'DELETE FROM budgets'],
  [
    'a budget that is overspent when it is opened',
    "INSERT INTO budgets SELECT 'other', 'basic', 5, 0, 0, 6, 0, 0, 0, head_hash, 0, false, NULL FROM budgets LIMIT 1",
  ],
  ['an analyst beyond the allotment', bob('spent_epsilon_nano = 500000001')],
  ['an allotment below what was spent', bob('granted_epsilon_nano = 1')],
  ['half an allotment', bob('granted_delta_atto = NULL')],
  ['an allotment without a rho', bob('limit_rho_pico = NULL')],
  ['a share undone', bob('shared_epsilon_nano = 0')],
  ['more shared than spent', bob('shared_epsilon_nano = spent_epsilon_nano + 1')],
  ["another's account", bob("principal = 'eve'")],
  [
    'a refund of an analyst',
    'UPDATE analysts SET spent_epsilon_nano = spent_epsilon_nano - 1 WHERE spent_epsilon_nano > 0',
  ],
  [
    'a refund of rho to an analyst',
    'UPDATE analysts SET spent_rho_pico = spent_rho_pico - 1 WHERE spent_rho_pico > 0',
  ],
  ['forgotten bytes', 'UPDATE analysts SET stored_bytes = 0 WHERE stored_bytes > 0'],
  ['forgotten denials', 'UPDATE analysts SET denials = 0 WHERE denials > 0'],
  ['a deleted account', 'DELETE FROM analysts'],
  ['a negative charge', 'UPDATE charges SET loss_epsilon_nano = -1'],
  ['a changed price', underWay('loss_epsilon_nano = 1')],
  ['a changed price in rho', "UPDATE charges SET loss_rho_pico = 1 WHERE dataset = 'in rho'"],
  ['another key', underWay("idempotency_key = 'x'")],
  ['a charge made a share', `${underWay('shared_from = id')} AND shared_from IS NULL`],
  ['a share made a charge', 'UPDATE charges SET shared_from = NULL WHERE shared_from IS NOT NULL'],
  ['a charge of another dataset', "UPDATE charges SET dataset = 'other'"],
  ['an answered charge that is open again', "UPDATE charges SET state = 'charged'"],
  ['a paid charge that is denied', underWay("state = 'denied', attempt = 0")],
  ['a denied charge with an attempt', "UPDATE charges SET attempt = 1 WHERE state = 'denied'"],
  ['an attempt before', underWay('attempt = 0')],
  ['an unknown state', underWay("state = 'refunded'")],
  ['a lease that ends before it begins', 'UPDATE charges SET lease_expires_at_ms = leased_at_ms - 1'],
  ['a deleted charge', 'DELETE FROM charges'],
  ['a changed release', "UPDATE releases SET answer = 'another'"],
  ['a deleted release', 'DELETE FROM releases'],
  ['another release to share', 'UPDATE shared_releases SET charge = charge'],
  ['a deleted share', 'DELETE FROM shared_releases'],
  ['another source', "UPDATE sources SET digest = replace(digest, 'a', 'b')"],
  ['a real source that becomes synthetic', 'UPDATE sources SET synthetic = true'],
  ['a real source that is synthetic, too', 'INSERT INTO sources SELECT digest, dataset, true FROM sources'],
  [
    'a synthetic source of an id with real data',
    "INSERT INTO sources SELECT replace(digest, 'a', 'b'), dataset, true FROM sources",
  ],
  ['a deleted source', 'DELETE FROM sources'],
  ['an event marked as a failure', 'UPDATE events SET counted = true'],
  ['a changed event', "UPDATE events SET principal = 'eve'"],
  ['a deleted event', 'DELETE FROM events WHERE sequence = 1'],
  [
    'an event out of turn',
    'INSERT INTO events SELECT dataset, 99, principal, canonical, hash, false FROM events WHERE sequence = 1',
  ],
  ['another noise', 'UPDATE sparse_vector_sessions SET threshold_noise = 0'],
  ['more positives', 'UPDATE sparse_vector_sessions SET positives = 100'],
  ['other terms', "UPDATE sparse_vector_sessions SET terms = 'cheaper'"],
  ['a deleted session', 'DELETE FROM sparse_vector_sessions'],
  ['an answer turned below', 'UPDATE sparse_vector_answers SET above = false'],
  ['another text of an answer', "UPDATE sparse_vector_answers SET answer = 'another'"],
  ['a deleted answer', 'DELETE FROM sparse_vector_answers WHERE question = 2'],
  ['all answers deleted', 'DELETE FROM sparse_vector_answers'],
  ['an answer out of turn', insertAnswer("4, 'k', 'h', 'r', false, 'a'")],
  [
    'positives beyond the last',
    `${insertAnswer("3, 'k', 'h', 'r', true, 'a'")}; ${insertAnswer("4, 'l', 'h', 'r', true, 'a'")}`,
  ],
  [
    'answers below after the last positive',
    `${insertAnswer("3, 'k', 'h', 'r', true, 'a'")}; ${insertAnswer("4, 'l', 'h', 'r', false, 'a'")}`,
  ],
]
