import { describe, expect, it } from 'vitest'
import { type SourceChange, withSourceCopy } from '../source-copy.ts'
import { brokenLaw } from './broken-law.ts'
import { placeInMemory, type StoreSource } from './places.ts'

interface Mutant extends SourceChange {
  readonly bug: string
}

const protocol = (bug: string, find: string, replace: string): Mutant => ({
  bug,
  file: 'ledger/protocol.ts',
  find,
  replace,
})
const store = (bug: string, find: string, replace: string): Mutant => ({
  bug,
  file: 'ledger/sqlite/store.ts',
  find,
  replace,
})
const storedRow = (bug: string, find: string, replace: string): Mutant => ({
  bug,
  file: 'ledger/stored-row.ts',
  find,
  replace,
})
const LEDGER_MUTANTS: readonly Mutant[] = [
  protocol(
    'a debit without a look at the cap',
    "if (!shared && !coversAmount(subtractAmounts(cap, spent), price)) return 'dataset'",
    '',
  ),
  protocol(
    'the cap held against the price alone',
    'coversAmount(subtractAmounts(cap, spent), price)',
    'coversAmount(cap, price)',
  ),
  protocol(
    'the last unit of a cap cannot be spent',
    'if (!shared && !coversAmount(subtractAmounts(cap, spent), price))',
    'if (!shared && (!coversAmount(subtractAmounts(cap, spent), price) || isSameAmount(subtractAmounts(cap, spent), price)))',
  ),
  protocol('a share held against what is left of the dataset', 'if (!shared && !covers', 'if (!covers'),
  protocol('allotments ignored', 'const limit = analyst.allotment?.limit ?? cap', 'const limit = cap'),
  protocol(
    'no limit at all without an allotment',
    'return coversAmount(limit, addAmounts(analyst.spent, price)) ?',
    'return analyst.allotment === undefined || coversAmount(limit, addAmounts(analyst.spent, price)) ?',
  ),
  protocol(
    'an allotment held against the price alone',
    'coversAmount(limit, addAmounts(analyst.spent, price))',
    'coversAmount(limit, price)',
  ),
  protocol(
    'shares not held against the allotment',
    'coversAmount(limit, addAmounts(analyst.spent, price))',
    'coversAmount(limit, addAmounts(subtractAmounts(analyst.spent, analyst.spentOnShared), price))',
  ),
  protocol(
    'the dataset debited for a share',
    `if (sharedFrom === undefined) {
      accounts.set(dataset, {`,
    `{
      accounts.set(dataset, {`,
  ),
  protocol(
    'a share that costs its analyst nothing',
    'spent: addAmounts(analyst.spent, price),',
    'spent: sharedFrom === undefined ? addAmounts(analyst.spent, price) : analyst.spent,',
  ),
  protocol(
    'a share not counted as one',
    '...(sharedFrom !== undefined && { spentOnShared: addAmounts(analyst.spentOnShared, price) }),',
    '',
  ),
  protocol(
    'every spending counted as shared',
    '...(sharedFrom !== undefined && { spentOnShared',
    '...(true && { spentOnShared',
  ),
  protocol(
    'a release shared with whom it is of',
    'return source.principal === principal ? undefined : id',
    'return id',
  ),
  protocol(
    'a release shared with whom it is of, and with nobody else',
    'source.principal === principal ? undefined : id',
    'source.principal !== principal ? undefined : id',
  ),
  protocol(
    'a share under a key that was chosen',
    'request.sharing && !request.keyChosen ?',
    'request.sharing ?',
  ),
  protocol('a share where nobody shares', 'request.sharing && !request.keyChosen ?', '!request.keyChosen ?'),
  protocol(
    'releases shared from where nobody shares',
    'if (sharing && sharedFrom === undefined &&',
    'if (sharedFrom === undefined &&',
  ),
  protocol(
    'a share handed on as if it were the release',
    'if (sharing && sharedFrom === undefined && sharedReleaseOf(dataset, requestHash) === undefined)',
    'if (sharing)',
  ),
  protocol('the latest release shared', ' && sharedReleaseOf(dataset, requestHash) === undefined)', ')'),
  protocol(
    'releases shared between datasets',
    'sharedReleases.get(joinKey(dataset, requestHash)) ?? rows.sharedRelease(dataset, requestHash)',
    "[...['census', 'other'].map((each) => rows.sharedRelease(each, requestHash)), sharedReleases.get(joinKey(dataset, requestHash))].find((each) => each !== undefined)",
  ),
  protocol(
    'a share that lapsed goes on as a charge without a debit',
    "if (sharedFrom === undefined) return { kind: 'charged', charge } as const",
    "if (sharedFrom === undefined || attempt > 1) return { kind: 'charged', charge } as const",
  ),
  protocol(
    'a lease that ends one millisecond late',
    'nowMs < earlier.leaseExpiresAtMs',
    'nowMs <= earlier.leaseExpiresAtMs',
  ),
  protocol('a lease that never ends', ' && nowMs < earlier.leaseExpiresAtMs', ''),
  protocol('a lease that locks while the clock is behind', 'nowMs >= earlier.leasedAtMs && ', ''),
  protocol('no lease', 'return nowMs >= earlier.leasedAtMs && nowMs', 'return false && nowMs'),
  protocol(
    'a wait of the whole lease',
    'retryAfterMs: earlier.leaseExpiresAtMs - nowMs',
    'retryAfterMs: request.leaseMs',
  ),
  protocol(
    'no fence between attempts',
    "row?.state === 'charged' && row.attempt === attempt",
    "row?.state === 'charged'",
  ),
  protocol(
    'an answer after a failure',
    "row?.state === 'charged' && row.attempt === attempt",
    'row?.attempt === attempt',
  ),
  protocol(
    'further attempts that do not count',
    'const attempt = earlier.attempt + 1',
    'const attempt = earlier.attempt',
  ),
  protocol(
    'further attempts that are debited again',
    'charges.set(earlier.id, row)',
    `charges.set(earlier.id, row)
    const again = expectThere(accounts.get(earlier.dataset))
    accounts.set(earlier.dataset, { ...again, budget: { ...again.budget, spent: addAmounts(again.budget.spent, request.price) } })`,
  ),
  protocol(
    'a further attempt under the version that was',
    'attempt,\n      datasetVersion,\n      leasedAtMs',
    'attempt,\n      leasedAtMs',
  ),
  protocol(
    'a failure that gives the debit back',
    "charges.set(id, { ...row, state: 'failed' })",
    `charges.set(id, { ...row, state: 'failed' })
    const back = expectThere(accounts.get(row.dataset))
    accounts.set(row.dataset, { ...back, budget: { ...back.budget, spent: noAmount(row.price.accounting) } })`,
  ),
  protocol(
    'a key for any request',
    'if (earlier.requestHash !== request.requestHash || earlier.dataset',
    'if (earlier.dataset',
  ),
  protocol(
    'a key for any dataset',
    ' || earlier.dataset !== request.dataset) return false',
    ') return false',
  ),
  protocol('a key for any price', 'return isSameAmount(earlier.price, request.price)', 'return true'),
  protocol(
    'a key for its price though it is answered',
    "if (earlier.state === 'answered' || earlier.state === 'denied') return true",
    "if (earlier.state === 'denied') return true",
  ),
  protocol(
    'a denial that does not stick',
    'return request.keyChosen ? denial(earlier, request) : debit',
    'return debit',
  ),
  protocol(
    'a denial that sticks to whatever was asked',
    'return request.keyChosen ? denial(earlier, request) : debit(id, request, earlier)',
    'return denial(earlier, request)',
  ),
  protocol(
    'a denial recorded again and again',
    `charges.set(id, row)
        append(dataset, { kind: 'denied', ...facts })
      }`,
    `charges.set(id, row)
      }
      append(dataset, { kind: 'denied', ...facts })`,
  ),
  protocol('a denial that is not recorded', "append(dataset, { kind: 'denied', ...facts })", ''),
  protocol('a first denial said to stick', 'by: short, sticks: false,', 'by: short, sticks: true,'),
  protocol(
    'a sticking denial said not to',
    "by: by ?? 'dataset', sticks: true,",
    "by: by ?? 'dataset', sticks: false,",
  ),
  protocol('a sticking denial by the dataset, whatever it was', "by: by ?? 'dataset'", "by: 'dataset'"),
  protocol('an allotment below what was spent', 'if (!coversAmount(limit, before.spent)) {', 'if (false) {'),
  protocol(
    'an allotment that cannot be what was spent',
    'if (!coversAmount(limit, before.spent)) {',
    'if (!coversAmount(limit, before.spent) || (isSameAmount(limit, before.spent) && !isSameAmount(limit, noAmount(limit.accounting)))) {',
  ),
  protocol(
    'an allotment of nothing that buys nothing',
    'isNothing(granted) ? before.spent : amountBoughtBy',
    'amountBoughtBy',
  ),
  protocol(
    'an allotment of nothing that is no limit',
    'isNothing(granted) ? before.spent',
    'isNothing(granted) ? account.budget.cap',
  ),
  protocol(
    'an allotment of nothing that lets what was shared be spent again',
    'isNothing(granted) ? before.spent',
    'isNothing(granted) ? addAmounts(before.spent, before.spentOnShared)',
  ),
  protocol(
    'an allotment of a delta alone taken for one of nothing',
    'return epsilonNano === 0n && deltaAtto === 0n',
    'return epsilonNano === 0n',
  ),
  protocol(
    'an allotment of an epsilon alone taken for one of nothing',
    'return epsilonNano === 0n && deltaAtto === 0n',
    'return deltaAtto === 0n',
  ),
  protocol(
    'an allotment of nothing on record as nothing',
    "const recorded = limit.accounting === 'basic' ? lossOf(limit) : granted",
    'const recorded = granted',
  ),
  protocol(
    'an allotment that is not lifted',
    'analysts.set(joinKey(dataset, analyst), before)',
    'analysts.set(joinKey(dataset, analyst), analystOf(account, analyst))',
  ),
  protocol(
    'an allotment that forgets what was spent',
    'const after = { ...before, allotment',
    'const after = { ...newAnalyst(account, analyst), allotment',
  ),
  protocol(
    'an allotment that is not on record',
    "append(dataset, {\n      kind: 'allotted',\n      principal,\n      analyst,\n      loss",
    "void ({\n      kind: 'allotted',\n      principal,\n      analyst,\n      loss",
  ),
  protocol(
    'a grant that raises nothing',
    'const budget = { ...before.budget, granted, cap }',
    'const budget = { ...before.budget, granted }',
  ),
  protocol(
    'a grant whose own rho is added',
    'const bought = amountBoughtBy(before.budget.cap.accounting, granted)',
    'const bought = addAmounts(before.budget.cap, amountBoughtBy(before.budget.cap.accounting, amount))',
  ),
  protocol('a grant that is not on record', "append(dataset, { kind: 'granted'", "void ({ kind: 'granted'"),
  protocol('a cap beyond the largest by two grants', 'expectCap(granted)\n    const bought', 'const bought'),
  protocol(
    'a budget that can be opened again',
    "if (existing !== undefined) return { kind: 'exists', budget: existing.budget }",
    "if (existing !== undefined && existing.headSequence > 99) return { kind: 'exists', budget: existing.budget }",
  ),
  protocol(
    'a chain that does not follow',
    'const { headHash: previousHash } = account',
    'const previousHash = FIRST_PREVIOUS_HASH',
  ),
  protocol('events without a salt', ' salt: drawSalt(),', ''),
  protocol('a salt that everybody knows', 'salt: drawSalt(),', 'salt: sha256(previousHash),'),
  protocol(
    'one salt for all events',
    'salt: drawSalt(),',
    'salt: ((drawSalt as { drawn?: string }).drawn ??= drawSalt()),',
  ),
  protocol(
    'a head that stays',
    'accounts.set(dataset, { ...account, headSequence: sequence, headHash: hash })',
    '',
  ),
  protocol(
    'a hash over less than the event',
    'const hash = sha256(canonical)',
    'const hash = sha256(canonical.slice(1))',
  ),
  protocol(
    'an answer that is not in the chain',
    "append(dataset, { kind: 'answered'",
    "void ({ kind: 'answered'",
  ),
  protocol(
    'another hash in the receipt',
    'return { sequence, hash }',
    'return { sequence, hash: account.headHash }',
  ),
  protocol(
    'a session though its answer is discarded',
    'if (!endWithAnswer(id, attempt, answer)) return false',
    'endWithAnswer(id, attempt, answer)',
  ),
  protocol('a positive too many', 'if (positivesFound >= positives)', 'if (positivesFound > positives)'),
  protocol(
    'questions in any order',
    "if (outcome.kind !== 'open' || outcome.question !== question) return false",
    "if (outcome.kind !== 'open') return false",
  ),
  protocol('a question for any request', 'return stored.requestHash === requestHash', 'return true'),
  store(
    'changes of charges that are not written',
    'for (const { before, after } of changes.changedCharges) {',
    'for (const { before, after } of changes.changedCharges.slice(1)) {',
  ),
  store(
    'a debit that is not written',
    'spent_epsilon_nano = spent_epsilon_nano + :epsilonNano',
    'spent_epsilon_nano = spent_epsilon_nano',
  ),
  store(
    'a debit in rho that is not written',
    'spent_rho_pico = spent_rho_pico + :rhoPico',
    'spent_rho_pico = spent_rho_pico',
  ),
  store(
    'a delta lost from the budget',
    'spent_delta_atto = spent_delta_atto + :deltaAtto',
    'spent_delta_atto = spent_delta_atto',
  ),
  store(
    'what an analyst spent is not written',
    'expectOneChange((before === undefined ? insertAnalyst : updateAnalyst).run(analystValues(after)))',
    'if (before === undefined) insertAnalyst.run(analystValues(after))',
  ),
  store(
    'allotments forgotten',
    'grantedEpsilonNano: allotment?.granted.epsilonNano ?? null',
    'grantedEpsilonNano: null',
  ),
  storedRow(
    'an allotment read without its limit in rho',
    "rhoPico: rhoFromRow(row, 'limit_rho_pico')",
    "rhoPico: rhoFromRow(row, 'spent_rho_pico')",
  ),
  storedRow(
    'shares read as charges',
    "...(row.shared_from !== null && { sharedFrom: text(row, 'shared_from') }),",
    '',
  ),
  store(
    'another version is not kept',
    'state = :state, attempt = :attempt, dataset_version = :datasetVersion,',
    'state = :state, attempt = :attempt,',
  ),
  store(
    'whether it is shared is kept from the denial',
    'sharing = :sharing, shared_from = :sharedFrom\n    WHERE',
    'shared_from = :sharedFrom\n    WHERE',
  ),
  store(
    'versions of datasets in the order of their text',
    'max(CAST(dataset_version AS INTEGER))',
    'max(dataset_version)',
  ),
  store(
    'a share found by its question on whatever dataset',
    'WHERE shared_releases.dataset = :dataset AND shared_releases',
    'WHERE :dataset IS NOT NULL AND shared_releases',
  ),
  store(
    'the questions of all sessions counted together',
    'FROM sparse_vector_answers WHERE session = charges.number) AS answered',
    'FROM sparse_vector_answers) AS answered',
  ),
  store(
    'the positives of all sessions counted together',
    'FROM sparse_vector_answers WHERE session = charges.number AND above = 1)',
    'FROM sparse_vector_answers WHERE above = 1)',
  ),
  store(
    'answers of whatever session under a key',
    'WHERE session = (SELECT number FROM charges WHERE id = :session) AND idempotency_key',
    'WHERE :session IS NOT NULL AND idempotency_key',
  ),
  store(
    'records of answered charges only',
    '      LEFT JOIN releases ON releases.charge = charges.number\n',
    '      JOIN releases ON releases.charge = charges.number\n',
  ),
  store(
    'entries of everybody',
    'WHERE dataset = :dataset AND principal = :principal AND sequence < :before',
    "WHERE dataset = :dataset AND :principal <> '' AND sequence < :before",
  ),
]

const ledgerLawBrokenBy = (changes: readonly SourceChange[]) =>
  withSourceCopy(changes, {}, async (load) => {
    const source = await load<StoreSource>('ledger/sqlite/store.ts')
    return brokenLaw(async () => placeInMemory(source))
  })

describe('every mutant of the protocol or the store breaks a law of the ledger', () => {
  it('and the source as it is breaks none', async () => {
    expect(await ledgerLawBrokenBy([])).toBeUndefined()
  })

  it.each(LEDGER_MUTANTS)('$bug ($file)', async (mutant) => {
    expect(await ledgerLawBrokenBy([mutant])).toBeDefined()
  })
})
