import { type SourceChange, withChangedSource } from '../mutants/changed-source.ts'
import { describeMutants, type Mutant, mutantsIn } from '../mutants/select-mutants.ts'
import { failedContractTest } from './contract/contract.ts'
import { fixtureInMemory, type StoreSource } from './fixture.ts'

const batch = mutantsIn('ledger/protocol/batch.ts')
const budgets = mutantsIn('ledger/protocol/budgets.ts')
const charges = mutantsIn('ledger/protocol/charges.ts')
const populations = mutantsIn('ledger/protocol/populations.ts')
const sessions = mutantsIn('ledger/protocol/sessions.ts')
const suspension = mutantsIn('ledger/protocol/suspension.ts')
const acts = mutantsIn('ledger/protocol/acts.ts')
const storage = mutantsIn('ledger/protocol/storage.ts')
const rows = mutantsIn('ledger/sqlite/rows.ts')
const reads = mutantsIn('ledger/sqlite/reads.ts')
const writer = mutantsIn('ledger/sqlite/writer.ts')
const storedRow = mutantsIn('ledger/stores/stored-row.ts')
const writtenRows = mutantsIn('ledger/stores/written-rows.ts')
const LEDGER_MUTANTS: readonly Mutant[] = [
  charges(
    'the cap is not checked',
    "if (!shared && !coversAmount(subtractAmounts(cap, spent), price)) return 'cap'",
    '',
  ),
  charges(
    'the cap is compared with the price alone',
    'coversAmount(subtractAmounts(cap, spent), price)',
    'coversAmount(cap, price)',
  ),
  charges(
    'the last unit of a cap cannot be spent',
    'if (!shared && !coversAmount(subtractAmounts(cap, spent), price))',
    'if (!shared && (!coversAmount(subtractAmounts(cap, spent), price) || isSameAmount(subtractAmounts(cap, spent), price)))',
  ),
  charges("a share is limited by the dataset's remaining budget", 'if (!shared && !covers', 'if (!covers'),
  charges('allotments are ignored', 'const limit = analyst.allotment?.limit ?? cap', 'const limit = cap'),
  charges(
    'an analyst without an allotment has no limit',
    'return coversAmount(limit, addAmounts(analyst.spent, price)) ?',
    'return analyst.allotment === undefined || coversAmount(limit, addAmounts(analyst.spent, price)) ?',
  ),
  charges(
    'the allotment is compared with the price alone',
    'coversAmount(limit, addAmounts(analyst.spent, price))',
    'coversAmount(limit, price)',
  ),
  charges(
    'shares are not counted against the allotment',
    'coversAmount(limit, addAmounts(analyst.spent, price))',
    'coversAmount(limit, addAmounts(subtractAmounts(analyst.spent, analyst.spentOnShared), price))',
  ),
  populations(
    'the dataset is debited for a share',
    'const paid = subtractAmounts(spent, spentOnShared)',
    'const paid = spent',
  ),
  populations(
    'a share does not debit its analyst',
    'spent: addAmounts(analyst.spent, spent),',
    'spent: addAmounts(analyst.spent, subtractAmounts(spent, spentOnShared)),',
  ),
  populations(
    'a share is not counted as shared spending',
    'spentOnShared: addAmounts(analyst.spentOnShared, spentOnShared),',
    'spentOnShared: analyst.spentOnShared,',
  ),
  charges(
    'all spending is counted as shared',
    'sharedFrom === undefined ? noAmount(price.accounting) : price',
    'price',
  ),
  charges('the population is not debited', 'debit(batch, found.account, found.analyst, row)', ''),
  charges(
    'the cap of a population is not checked',
    "return ofPopulation === 'cap' ? 'population' : 'population-allotment'",
    "return ofPopulation === 'cap' ? undefined : 'population-allotment'",
  ),
  charges(
    'allotments on a population are not checked',
    "return ofPopulation === 'cap' ? 'population' : 'population-allotment'",
    "return ofPopulation === 'cap' ? 'population' : undefined",
  ),
  populations(
    'what a dataset has spent is not carried to its population',
    'for (const each of analystsOf(batch, dataset)) carry(',
    'for (const each of analystsOf(batch, dataset).slice(1)) carry(',
  ),
  populations(
    'a dataset may leave its population for another one',
    "if (budget.population !== undefined) return refuse('other-population', { budget })",
    '',
  ),
  populations(
    'a dataset joins a population that cannot pay for what it has spent',
    "if (!coversAmount(subtractAmounts(cap, spent), budget.spent)) return refuse('budget', facts)",
    '',
  ),
  budgets('the delta of a population may change', 'if (isFixed && granted', 'if (!isFixed && granted'),
  charges(
    'a release is shared with its own analyst',
    'return source.principal === principal ? undefined : id',
    'return id',
  ),
  charges(
    'a release is shared only with its own analyst',
    'source.principal === principal ? undefined : id',
    'source.principal !== principal ? undefined : id',
  ),
  charges(
    'a chosen key gets a shared release',
    'request.sharing && !request.keyChosen ?',
    'request.sharing ?',
  ),
  charges(
    'a release is shared although the request has sharing disabled',
    'request.sharing && !request.keyChosen ?',
    '!request.keyChosen ?',
  ),
  charges(
    'a release without sharing is shared',
    'if (sharing && sharedFrom === undefined &&',
    'if (sharedFrom === undefined &&',
  ),
  charges(
    'a share is shared in turn',
    'if (sharing && sharedFrom === undefined && sharedReleaseOf(batch, dataset, requestHash) === undefined)',
    'if (sharing)',
  ),
  charges(
    'the latest release is shared instead of the first',
    ' && sharedReleaseOf(batch, dataset, requestHash) === undefined)',
    ')',
  ),
  batch(
    'releases are shared between datasets',
    'batch.sharedReleases.get(joinKey(dataset, requestHash)) ?? batch.rows.sharedRelease(dataset, requestHash)',
    "[...['census', 'other'].map((each) => batch.rows.sharedRelease(each, requestHash)), batch.sharedReleases.get(joinKey(dataset, requestHash))].find((each) => each !== undefined)",
  ),
  charges(
    'a further attempt of a share reads the data',
    "return shared === undefined ? { kind: 'charged', charge }",
    "return shared === undefined || attempt > 1 ? { kind: 'charged', charge }",
  ),
  charges('a lease ends one millisecond late', 'nowMs < leaseExpiresAtMs', 'nowMs <= leaseExpiresAtMs'),
  charges('a lease never ends', ' && nowMs < leaseExpiresAtMs', ''),
  charges('a lease holds while the clock is behind', 'nowMs >= leasedAtMs && ', ''),
  charges('a lease is ignored', 'return nowMs >= leasedAtMs && nowMs', 'return false && nowMs'),
  charges(
    'the wait is the whole lease',
    'retryAfterMs: earlier.leaseExpiresAtMs - batch.nowMs',
    'retryAfterMs: request.leaseMs',
  ),
  charges(
    'an overtaken attempt can record its answer',
    "row?.state === 'charged' && row.attempt === attempt",
    "row?.state === 'charged'",
  ),
  charges(
    'an answer is recorded after a failure',
    "row?.state === 'charged' && row.attempt === attempt",
    'row?.attempt === attempt',
  ),
  charges(
    'further attempts are not counted',
    'const attempt = earlier.attempt + 1',
    'const attempt = earlier.attempt',
  ),
  charges(
    'further attempts are debited again',
    'batch.charges.set(earlier.id, row)',
    `batch.charges.set(earlier.id, row)
  const again = expectRow(batch.accounts.get(earlier.dataset))
  batch.accounts.set(earlier.dataset, { ...again, budget: { ...again.budget, spent: addAmounts(again.budget.spent, request.price) } })`,
  ),
  charges(
    'a further attempt keeps the earlier version',
    'attempt,\n    datasetVersion,\n    leasedAtMs',
    'attempt,\n    leasedAtMs',
  ),
  charges(
    'a failure refunds the debit',
    "batch.charges.set(id, { ...row, state: 'failed' })",
    `batch.charges.set(id, { ...row, state: 'failed' })
  const back = expectRow(batch.accounts.get(row.dataset))
  batch.accounts.set(row.dataset, { ...back, budget: { ...back.budget, spent: subtractAmounts(back.budget.spent, row.price) } })`,
  ),
  charges(
    'a key is accepted for another request',
    'if (earlier.requestHash !== request.requestHash || earlier.dataset',
    'if (earlier.dataset',
  ),
  charges(
    'a key is accepted for another dataset',
    ' || earlier.dataset !== request.dataset) return false',
    ') return false',
  ),
  charges(
    'a key is accepted for another price',
    'return isSameAmount(earlier.price, request.price)',
    'return true',
  ),
  charges(
    'an answered key is refused for another price',
    "if (earlier.state === 'answered' || earlier.state === 'denied') return true",
    "if (earlier.state === 'denied') return true",
  ),
  charges(
    'a denial does not stick to a chosen key',
    'return request.keyChosen\n        ? repeatedDenial(batch, earlier, request)\n        : firstAttempt',
    'return firstAttempt',
  ),
  charges(
    'a denial sticks to a key that was not chosen',
    'return request.keyChosen\n        ? repeatedDenial(batch, earlier, request)\n        : firstAttempt(batch, id, request, earlier)',
    'return repeatedDenial(batch, earlier, request)',
  ),
  charges(
    'a repeated denial has another event',
    'const recorded = denied !== undefined || recordDenial(batch, row, analyst)',
    'const recorded = recordDenial(batch, row, analyst)',
  ),
  charges('a denial has no event', "appendEvent(batch, dataset, { kind: 'denied', ...eventFacts(row) })", ''),
  charges(
    'a first denial sticks',
    'by: exceeded,\n      sticks: false,',
    'by: exceeded,\n      sticks: true,',
  ),
  charges(
    'a repeated denial is not reported as permanent',
    "by: by ?? 'dataset', sticks: true,",
    "by: by ?? 'dataset', sticks: false,",
  ),
  charges('a repeated denial always names the dataset', "by: by ?? 'dataset'", "by: 'dataset'"),
  budgets('an allotment is below the spending', 'if (!coversAmount(limit, before.spent)) ', 'if (false) '),
  budgets(
    'an allotment cannot equal the spending',
    'if (!coversAmount(limit, before.spent)) ',
    'if (!coversAmount(limit, before.spent) || (coversAmount(before.spent, limit) && !coversAmount(noAmount(limit.accounting), limit))) ',
  ),
  budgets(
    'an allotment of 0 has the limit 0',
    'isSameLoss(granted, NO_LOSS) ? before.spent : amountBoughtBy',
    'amountBoughtBy',
  ),
  budgets(
    'an allotment of 0 has the limit of the cap',
    'isSameLoss(granted, NO_LOSS) ? before.spent',
    'isSameLoss(granted, NO_LOSS) ? account.budget.cap',
  ),
  budgets(
    'an allotment of 0 counts shared spending twice',
    'isSameLoss(granted, NO_LOSS) ? before.spent',
    'isSameLoss(granted, NO_LOSS) ? { ...before.spent, epsilonNano: before.spent.epsilonNano + before.spentOnShared.epsilonNano }',
  ),
  budgets(
    'an allotment of delta alone is treated as 0',
    'isSameLoss(granted, NO_LOSS) ?',
    'granted.epsilonNano === 0n ?',
  ),
  budgets(
    'an allotment of epsilon alone is treated as 0',
    'isSameLoss(granted, NO_LOSS) ?',
    'granted.deltaAtto === 0n ?',
  ),
  budgets(
    'the event of an allotment of 0 records 0',
    "const recorded = limit.accounting === 'basic' ? lossOf(limit) : granted",
    'const recorded = granted',
  ),
  budgets('an allotment is not lifted', 'setAnalyst(batch, unlimited)', 'setAnalyst(batch, before)'),
  budgets(
    'an allotment resets the spending',
    'const after = { ...unlimited, allotment',
    'const after = { ...unlimited, spent: noAmount(limit.accounting), spentOnShared: noAmount(limit.accounting), allotment',
  ),
  budgets(
    'an allotment has no event',
    "appendWithAct(batch, dataset, { kind: 'allotted', ...facts }, 'allotment-set')",
    'void facts',
  ),
  budgets(
    'a grant does not raise the cap',
    ': before.budget.cap\n  const budget = { ...before.budget, granted, cap }',
    ': before.budget.cap\n  const budget = { ...before.budget, granted }',
  ),
  budgets(
    'a replaced cap is not stored',
    'const cap = amountBoughtBy(accounting, granted)\n  const budget = { ...before.budget, granted, cap }',
    'const cap = amountBoughtBy(accounting, granted)\n  const budget = { ...before.budget, granted }',
  ),
  budgets(
    'a replaced cap keeps the earlier grant',
    'const cap = amountBoughtBy(accounting, granted)\n  const budget = { ...before.budget, granted, cap }',
    'const cap = amountBoughtBy(accounting, granted)\n  const budget = { ...before.budget, cap }',
  ),
  budgets(
    'a cap is replaced after something was spent',
    'if (!isSameAmount(before.budget.spent, noAmount(accounting)))',
    'if (false)',
  ),
  budgets(
    'the same cap again is recorded',
    'if (isSameLoss(before.budget.granted, granted)) return',
    'if (false) return',
  ),
  budgets(
    'caps with the same epsilon are the same',
    'return one.epsilonNano === other.epsilonNano && one.deltaAtto === other.deltaAtto',
    'return one.epsilonNano === other.epsilonNano',
  ),
  budgets(
    'caps with the same delta are the same',
    'return one.epsilonNano === other.epsilonNano && one.deltaAtto === other.deltaAtto',
    'return one.deltaAtto === other.deltaAtto',
  ),
  budgets(
    'any cap may replace another one',
    "expectCap(granted)\n  const before = batch.accounts.get(dataset)\n  if (before === undefined) return { kind: 'no-budget' }",
    "const before = batch.accounts.get(dataset)\n  if (before === undefined) return { kind: 'no-budget' }",
  ),
  budgets(
    'a replacement has no event',
    "appendWithAct(batch, dataset, event, 'budget-replaced')",
    'void event',
  ),
  budgets(
    'a replacement is no administrative act',
    "appendWithAct(batch, dataset, event, 'budget-replaced')",
    'appendEvent(batch, dataset, event)',
  ),
  budgets(
    'a grant adds the rho that it buys alone',
    'const bought = amountBoughtBy(before.budget.cap.accounting, granted)',
    `const { cap: earlier } = before.budget
  const bought = earlier.accounting === 'basic' ? amountBoughtBy('basic', granted) : { ...earlier, rhoPico: earlier.rhoPico + amountBoughtBy('zcdp', amount).rhoPico }`,
  ),
  budgets('a grant has no event', "appendWithAct(batch, dataset, event, 'budget-granted')", 'void event'),
  budgets(
    'two grants exceed the largest cap',
    'expectCap(granted)\n  expectFixedDelta(before, granted)\n  const bought',
    'const bought',
  ),
  budgets(
    'a budget can be opened twice',
    'if (existing === undefined)\n',
    'if (existing === undefined || existing.headSequence <= 99)\n',
  ),
  budgets(
    'a real source may become synthetic',
    'if (source.synthetic && known.some((each) => !each.synthetic))',
    'if (source.synthetic && known.some((each) => !each.synthetic && each.dataset !== dataset))',
  ),
  budgets(
    'a real source may be synthetic under another id',
    'if (source.synthetic && known.some((each) => !each.synthetic))',
    'if (source.synthetic && known.some((each) => !each.synthetic && each.dataset === dataset))',
  ),
  budgets(
    'a source may have two budgets without a reason',
    'return others.length === 0 ? undefined',
    'return others.length < 9 ? undefined',
  ),
  budgets(
    'only the first table of a source is recognised',
    'source.digests.flatMap((digest) =>\n    isRecorded',
    'source.digests.slice(0, 1).flatMap((digest) =>\n    isRecorded',
  ),
  budgets(
    'only the first table of a source is recorded',
    '[...new Set(digests)].filter',
    'digests.slice(0, 1).filter',
  ),
  budgets(
    'the reason for a second budget is not recorded',
    'if (reason === undefined || otherDatasets.length === 0) return',
    'if (reason === undefined || otherDatasets.length < 9) return',
  ),
  budgets(
    'the kind of data is not recorded',
    '    synthetic,\n    ...limitField(budget.cap),',
    '    ...limitField(budget.cap),',
  ),
  budgets(
    'a source is not recorded',
    'batch.newSources.push(...added.map((digest) => ({ digest, dataset, synthetic })))',
    '',
  ),
  budgets(
    'registrations of a batch do not see each other',
    '...digests.flatMap((digest) => rows.sources(digest, dataset)), ...added',
    '...digests.flatMap((digest) => rows.sources(digest, dataset))',
  ),
  batch(
    'events do not contain the previous hash',
    'const { headHash: previousHash } = account',
    'const previousHash = FIRST_PREVIOUS_HASH',
  ),
  batch('events have no salt', ' salt: batch.drawSalt(),', ''),
  batch('the salt can be computed', 'salt: batch.drawSalt(),', 'salt: sha256(previousHash),'),
  batch(
    'all events have the same salt',
    'salt: batch.drawSalt(),',
    'salt: ((batch.drawSalt as { drawn?: string }).drawn ??= batch.drawSalt()),',
  ),
  batch(
    'the head does not move',
    'batch.accounts.set(dataset, { ...account, headSequence: sequence, headHash: hash })',
    '',
  ),
  batch(
    'the hash does not cover the whole event',
    'const hash = sha256(canonical)',
    'const hash = sha256(canonical.slice(1))',
  ),
  charges(
    'an answer has no event',
    "appendEvent(batch, dataset, {\n    kind: 'answered'",
    "void ({\n    kind: 'answered'",
  ),
  batch(
    'the receipt has another hash',
    'return { sequence, hash }',
    'return { sequence, hash: account.headHash }',
  ),
  sessions(
    'a session is opened although its answer is discarded',
    'if (!recordAnswer(batch, id, attempt, answer, facts)) return false',
    'recordAnswer(batch, id, attempt, answer, facts)',
  ),
  sessions(
    'a session allows one positive too many',
    'if (positivesFound >= positives)',
    'if (positivesFound > positives)',
  ),
  sessions(
    'answers of a session are accepted in any order',
    'if (question !== found.answered + 1) return false',
    '',
  ),
  sessions(
    'a key of a session is accepted for another request',
    'return stored.requestHash === requestHash',
    'return true',
  ),
  writer(
    'changes of charges are not written',
    'movedCharges: rowUpdater(database, UPDATE_CHARGE)',
    'movedCharges: () => {}',
  ),
  writer(
    'a debit is not written',
    'spent_epsilon_nano = spent_epsilon_nano + :debit_epsilon_nano',
    'spent_epsilon_nano = spent_epsilon_nano',
  ),
  writer(
    'a debit in rho is not written',
    'spent_rho_pico = spent_rho_pico + :debit_rho_pico',
    'spent_rho_pico = spent_rho_pico',
  ),
  writer(
    'a debit of delta is not written',
    'spent_delta_atto = spent_delta_atto + :debit_delta_atto',
    'spent_delta_atto = spent_delta_atto',
  ),
  writer(
    'the spending of an analyst is not written',
    'movedAnalysts: rowUpdater(database, UPDATE_ANALYST)',
    'movedAnalysts: () => {}',
  ),
  writtenRows(
    'allotments are not written',
    'granted_epsilon_nano: allotment?.granted.epsilonNano ?? null',
    'granted_epsilon_nano: null',
  ),
  storedRow(
    'the limit of an allotment in rho is not read',
    "rhoFromRow(row, 'limit_rho_pico')",
    "rhoFromRow(row, 'spent_rho_pico')",
  ),
  storedRow(
    'shares are read as charges',
    "...(row.shared_from !== null && { sharedFrom: text(row, 'shared_from') }),",
    '',
  ),
  writer(
    'the version of a further attempt is not written',
    'attempt = :attempt, dataset_version = :dataset_version,',
    'attempt = :attempt, dataset_version = coalesce(dataset_version, :dataset_version),',
  ),
  writer(
    'sharing is not updated after a denial',
    'sharing = :sharing,',
    'sharing = coalesce(sharing, :sharing),',
  ),
  reads(
    'dataset versions are compared as texts',
    'max(CAST(dataset_version AS INTEGER))',
    'max(dataset_version)',
  ),
  rows(
    'a shared release is found on any dataset',
    'WHERE shared_releases.dataset = :dataset AND shared_releases',
    'WHERE :dataset IS NOT NULL AND shared_releases',
  ),
  rows(
    'the questions of all sessions are counted together',
    'FROM sparse_vector_answers WHERE session = charges.number) AS answered',
    'FROM sparse_vector_answers) AS answered',
  ),
  rows(
    'the positives of all sessions are counted together',
    'FROM sparse_vector_answers WHERE session = charges.number AND above = 1)',
    'FROM sparse_vector_answers WHERE above = 1)',
  ),
  rows(
    'the answer of a key is found in any session',
    'WHERE session = (SELECT number FROM charges WHERE id = :session) AND idempotency_key',
    'WHERE :session IS NOT NULL AND idempotency_key',
  ),
  suspension('a dataset is never suspended', 'failures >= limit', 'false'),
  suspension('a dataset is suspended one failure late', 'failures >= limit', 'failures > limit'),
  suspension('a suspended dataset is suspended again', '!account.suspended && failures', 'failures'),
  suspension(
    'failures of questions are not counted',
    'countFailure(batch, dataset, { principal, chargeId: session',
    'void ({ principal, chargeId: session',
  ),
  suspension('failures of questions count always', '|| !failure.counts', ''),
  suspension('a resumption keeps the failures', 'failures: 0, suspended: false', 'suspended: false'),
  suspension('a resumption has no effect', 'failures: 0, suspended: false', 'failures: 0'),
  suspension(
    'any text is recorded as the class of an error',
    'ERROR_CLASS.test(errorClass)',
    'errorClass.length < 99',
  ),
  charges('failures count always', 'if (failure.counts) countFailure', 'countFailure'),
  charges('a suspended dataset is charged', "if (account.suspended) return { kind: 'suspended' }", ''),
  charges(
    'a charge of a suspended dataset is retried',
    "if (expectRow(batch.accounts.get(earlier.dataset)).suspended) return { kind: 'suspended' }",
    '',
  ),
  sessions('a session of a suspended dataset is open', "if (suspended) return { kind: 'suspended' }", ''),
  sessions('a question under way is lost to a suspension', " && kind !== 'suspended'", ''),
  acts('acts have no facts', ', ...defined({ facts })', ''),
  acts('wrong acts are recorded', 'if (reason !== undefined) throw new RangeError(reason)', ''),
  budgets(
    'a grant is no administrative act',
    "appendWithAct(batch, dataset, event, 'budget-granted')",
    'appendEvent(batch, dataset, event)',
  ),
  storage(
    'the quota is exceeded by one byte',
    'storedBytes >= maxStoredBytes',
    'storedBytes > maxStoredBytes',
  ),
  storage('stored bytes are not added', 'analyst.storedBytes + bytes', 'analyst.storedBytes'),
  charges('denials are recorded without limit', 'if (analyst.denials >= MAX_DENIALS) return false', ''),
  charges('denials are not counted', 'denials: analyst.denials + 1', 'denials: 0'),
  charges(
    'an unrecorded denial of a chosen key is not permanent',
    "if (!recorded && request.keyChosen) return { kind: 'storage-exceeded', by: 'denials', storedBytes }",
    '',
  ),
  charges(
    'answers do not count as stored',
    'addStoredBytes(batch, dataset, principal, packedBytes(packed))',
    '',
  ),
  charges(
    'requests do not count as stored',
    'CHARGE_BYTES + Buffer.byteLength(request.request)',
    'CHARGE_BYTES',
  ),
  sessions(
    'answers of sessions do not count as stored',
    'addStoredBytes(batch, found.dataset, found.principal, bytes)',
    'void bytes',
  ),
  writer(
    'suspensions are not written',
    'failures = :failures, suspended = :suspended',
    'failures = max(:failures, :suspended)',
  ),
  reads('all failures are listed', 'limit: Math.min(failures, MAX_PAGE)', 'limit: MAX_PAGE'),
  reads(
    'charge records omit charges without an answer',
    'LEFT JOIN releases ON releases.charge = charges.number',
    'JOIN releases ON releases.charge = charges.number',
  ),
  reads(
    'the history is not filtered by principal',
    'WHERE dataset = :dataset AND principal = :principal AND sequence < :before',
    "WHERE dataset = :dataset AND :principal <> '' AND sequence < :before",
  ),
]

const contractTestFailedBy = (changes: readonly SourceChange[]) =>
  withChangedSource(changes, {}, async (load) => {
    const source = await load<StoreSource>('ledger/sqlite/store.ts')
    return failedContractTest(async () => fixtureInMemory(source))
  })

describeMutants(
  'every mutant of the protocol or the SQLite store fails a test of the contract',
  import.meta.dirname,
  LEDGER_MUTANTS,
  contractTestFailedBy,
)
