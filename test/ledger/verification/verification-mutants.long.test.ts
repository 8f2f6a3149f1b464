import { type SourceChange, withChangedSource } from '../../mutants/changed-source.ts'
import { describeMutants, type Mutant, mutantsIn } from '../../mutants/select-mutants.ts'
import { VERIFICATION_TESTS } from './tampering.ts'
import type { VerificationSource } from './verification-test.ts'

const verification = mutantsIn('ledger/verification.ts')
const verifier = mutantsIn('ledger/protocol/verifier/verifier.ts')
const replay = mutantsIn('ledger/protocol/verifier/replay.ts')

const VERIFICATION_MUTANTS: readonly Mutant[] = [
  verifier('hashes are not checked', 'if (digest !== hash)', 'if (false)'),
  verifier('texts need not be canonical', 'canonicalEvent(event) === canonical && !LONE', '!LONE'),
  verifier('lone surrogates are canonical', ' && !LONE_SURROGATE.test(canonical)', ''),
  verification('the recorded hash is believed', 'sha256(event.canonical)', 'event.hash'),
  verifier(
    'an event needs no salt',
    "if (typeof event.salt !== 'string') return 'the event has no salt'",
    '',
  ),
  replay(
    'a budget needs no neighbours',
    "if (event.neighbours !== 'add-remove' && event.neighbours",
    'if (event.neighbours !== undefined && event.neighbours !== "add-remove" && event.neighbours',
  ),
  replay(
    'a budget needs no kind of data',
    "typeof event.synthetic !== 'boolean'",
    '![undefined, true, false].includes(event.synthetic)',
  ),
  verifier('any layout version is accepted', ' && event.version === 1 ?', ' ?'),
  verifier('events of other datasets are accepted', 'if (event.dataset !== dataset)', 'if (false)'),
  verifier('sequences are not checked', 'if (event.sequence !== state.events + 1)', 'if (false)'),
  verifier('previous hashes are not checked', 'if (event.previousHash !== state.headHash)', 'if (false)'),
  replay(
    'a budget may be opened twice',
    'if (opens !== (state.events === 0))',
    'if (!opens && state.events === 0)',
  ),
  replay(
    'a budget need not be opened',
    'if (opens !== (state.events === 0))',
    'if (opens && state.events > 0)',
  ),
  replay(
    'a paid charge may be denied',
    "return known.state === 'denied' ? undefined : 'a paid",
    "return true ? undefined : 'a paid",
  ),
  replay('a cap may be lowered', 'if (!coversAmount(cap, budget.cap))', 'if (false)'),
  replay(
    'a cap may be replaced after something was spent',
    'if (!isSameAmount(budget.spent, noAmount(budget.cap.accounting)))',
    'if (false)',
  ),
  replay(
    'a replaced cap need not be granted',
    'if (!coversAmount(amountBoughtBy(cap.accounting, granted), cap))',
    'if (false)',
  ),
  replay('a cap need not be granted', 'if (!bought) return', 'if (false) return'),
  replay(
    'a limit need not be granted',
    'if (!stops && !coversAmount(amountBoughtBy(limit.accounting, granted), limit))',
    'if (false)',
  ),
  replay(
    'an allotment of 0 is refused',
    'if (!stops && !coversAmount(amountBoughtBy(limit',
    'if (!coversAmount(amountBoughtBy(limit',
  ),
  replay('an allotment of 0 may exceed the spending', ' && isSameAmount(limit, before.spent)\n', '\n'),
  replay(
    'an allotment of delta alone is treated as 0',
    'granted.epsilonNano === 0n && granted.deltaAtto === 0n && isSame',
    'granted.epsilonNano === 0n && isSame',
  ),
  replay(
    'an allotment of epsilon alone is treated as 0',
    'granted.epsilonNano === 0n && granted.deltaAtto === 0n && isSame',
    'granted.deltaAtto === 0n && isSame',
  ),
  replay('a limit may be below the spending', 'if (!coversAmount(limit, before.spent))', 'if (false)'),
  replay(
    'an allotment need not name an analyst',
    "if (analyst === undefined) return 'the allotment names no analyst'",
    'if (analyst === undefined) return undefined',
  ),
  replay('an allotment is not removed', 'analysts.set(analyst, before)', ''),
  replay(
    'a cap may be exceeded',
    'if (!coversAmount(subtractAmounts(budget.cap, budget.spent), price))',
    'if (!coversAmount(budget.cap, price))',
  ),
  replay(
    'an allotment may be exceeded',
    'if (!coversAmount(analyst.allotment?.limit ?? budget.cap, spent))',
    'if (!coversAmount(budget.cap, spent))',
  ),
  replay(
    'a charge may be debited twice',
    "if (chargeId === undefined || (charges.get(chargeId)?.state ?? 'denied') !== 'denied')",
    'if (chargeId === undefined)',
  ),
  replay(
    'a debit need not name a charge',
    "if (chargeId === undefined || (charges.get(chargeId)?.state ?? 'denied') !== 'denied')",
    "if (chargeId !== undefined && (charges.get(chargeId)?.state ?? 'denied') !== 'denied')",
  ),
  replay(
    'a denied charge can never be paid',
    "(charges.get(chargeId)?.state ?? 'denied') !== 'denied'",
    'charges.has(chargeId)',
  ),
  replay(
    'a share need not name a release',
    "if (!isEarlier && (source?.state !== 'answered' || source.requestHash !== requestHash))",
    'if (false)',
  ),
  replay(
    'a share may name a charge without an answer',
    "if (!isEarlier && (source?.state !== 'answered' || source.requestHash !== requestHash))",
    'if (!isEarlier && source?.requestHash !== requestHash)',
  ),
  replay('a share may name the release of another request', ' || source.requestHash !== requestHash))', '))'),
  replay(
    'a share is debited from the dataset',
    'analysts.set(principal, { ...analyst, spent, spentOnShared: addAmounts(analyst.spentOnShared, price) })',
    'analysts.set(principal, { ...analyst, spent, spentOnShared: addAmounts(analyst.spentOnShared, price) })\n      state.budget = { ...budget, spent: addAmounts(budget.spent, price) }',
  ),
  replay(
    'an event may refer to a charge of another principal',
    'if (known.principal !== principal)',
    'if (false)',
  ),
  replay(
    'an event may refer to a missing charge',
    "if (known === undefined || known.state === 'denied')\n    return 'the event refers to a charge that does not exist'",
    'if (known === undefined) return undefined',
  ),
  replay(
    'a denied charge may be retried',
    "if (known === undefined || known.state === 'denied')",
    'if (known === undefined)',
  ),
  replay(
    'a denial need not name a charge',
    "if (event.chargeId === undefined) return 'the denial names no charge'",
    'if (event.chargeId === undefined) return undefined',
  ),
  replay(
    'questions may come in any order',
    "if (known.state !== 'answered' || question !== known.sessionAnswerHashes.length + 1)",
    "if (known.state !== 'answered')",
  ),
  replay(
    'questions may come before the session',
    "if (known.state !== 'answered' || question !== known.sessionAnswerHashes.length + 1)",
    'if (question !== known.sessionAnswerHashes.length + 1)',
  ),
  replay(
    'a charge may be retried after its answer',
    "if (known.state === 'answered') return 'the charge is already answered'",
    "if (false) return 'the charge is already answered'",
  ),
  replay(
    'attempts may come in any order',
    'if (attempt !== known.attempt + 1)',
    'if (attempt === undefined)',
  ),
  replay(
    'any attempt may end',
    "if (attempt !== known.attempt || known.state !== 'charged')",
    "if (known.state !== 'charged')",
  ),
  replay(
    'a failed attempt may be answered',
    "if (attempt !== known.attempt || known.state !== 'charged')",
    'if (attempt !== known.attempt)',
  ),
  verifier('events after a broken one are verified', 'if (broken !== undefined) return\n', ''),
  verification(
    'missing last events are not found',
    'if (sequence !== head.sequence || result.headHash !== head.hash)',
    'if (false)',
  ),
  verification(
    'the hash of the head is not checked',
    'if (sequence !== head.sequence || result.headHash !== head.hash)',
    'if (sequence !== head.sequence)',
  ),
  verification(
    'balances are not checked',
    "if (!same) return 'the stored balances",
    "if (false) return 'the stored balances",
  ),
  verification('caps are not checked', 'isSameAmount(cap, store.budget.cap) &&', ''),
  verification('grants are not checked', 'isSameLoss(granted, store.budget.granted) &&', ''),
  verification(
    'spending is not checked',
    'return JSON.stringify(store.spending.map(spelled)) === JSON.stringify(events.spending.map(spelled))',
    'return store.spending.length === events.spending.length',
  ),
  verification(
    'allotments are not checked',
    'allotment === undefined ? null : [',
    'allotment !== null ? null : [',
  ),
  verification('shared spending is not checked', '    eventAmount(spentOnShared),\n', ''),
  verification(
    'only the first page of events is read',
    'afterSequence += page.length await',
    'afterSequence += page.length\n    break\n    await',
  ),
  verification(
    'charges are not checked',
    'return (await firstBrokenCharge(ledger, dataset, verifier, sequence, pace)) ?? result',
    'return result',
  ),
  verification(
    'only the first page of charges is read',
    'start < ids.length; start += RECORDS_PAGE',
    'start < RECORDS_PAGE; start += RECORDS_PAGE',
  ),
  verification(
    'the last broken charge is reported',
    'each.sequence < first.sequence',
    'each.sequence > first.sequence',
  ),
  verification('a missing charge is not found', "return 'the charge is not stored'", 'return undefined'),
  verification(
    'charges without events are not found',
    'if (counted !== undefined && counted > verifier.charges.size)',
    'if (false)',
  ),
  verification(
    'the count of charges is off by one',
    'counted > verifier.charges.size',
    'counted >= verifier.charges.size',
  ),
  replay('denials are not remembered', "  addCharge(state, event.chargeId, event, 'denied')\n", ''),
  ...[
    'dataset === (now.member ?? dataset)',
    'principal === now.principal',
    'requestHash === now.requestHash',
  ].map((same) =>
    verification(`a charge whose record need not have ${same}`, `record.${same} &&\n`, 'true &&\n'),
  ),
  verification(
    'a population may have spent otherwise than its datasets',
    'reasonAgainstBalances(result, head) ?? reasonAgainstMembers(head)',
    'reasonAgainstBalances(result, head)',
  ),
  verification(
    'an analyst may have spent otherwise on a population than on its datasets',
    "return same ? undefined : 'an analyst has",
    "return true ? undefined : 'an analyst has",
  ),
  replay(
    'a dataset may join a population twice',
    "if (kind === 'joined' && last !== undefined)",
    'if (false)',
  ),
  replay(
    'a population may be charged for a dataset that has not joined',
    "if (kind !== 'joined' && last === undefined && verifiedEvents === 0)",
    'if (false)',
  ),
  replay(
    'a dataset may change its population',
    'if (budget.population !== undefined) return',
    'if (false) return',
  ),
  replay(
    'what is carried may exceed the cap',
    "paid)) return 'the cap is exceeded'",
    "paid) && false) return ''",
  ),
  replay('the delta of a population may change', 'return isFixed && granted', 'return false && granted'),
  verification('a charge may have become a share', 'record.sharedFrom === now.sharedFrom &&', ''),
  verification('stored prices are not checked', 'isSameAmount(record.price, now.price)', 'true'),
  verification('a record may be behind the events', 'if (!follows || !precedes)', 'if (!precedes)'),
  verification('a record may be ahead of the events', 'if (!follows || !precedes)', 'if (!follows)'),
  verification(
    'later events are not read',
    'await follow(ledger, dataset, verifier, { after: sequence, upTo, pace })\n',
    '',
  ),
  verification(
    'answers are not checked',
    "return record.answerHash === (record.state === 'answered' ? now.answerHash : undefined)",
    'return true',
  ),
  verification('session answers are not checked', 'sha256(answer) !== hashes[question - 1]', 'false'),
  verification(
    'missing session answers are not found',
    'if (page.length === 0) return false',
    'if (page.length === 0) return true',
  ),
  verification(
    'a fault of the store is reported as a broken charge',
    'if (!(error instanceof TypeError || error instanceof RangeError)) throw error',
    '',
  ),
  replay(
    'answers need no hash',
    "if (kind === 'answered' && answerHash === undefined) return 'the answer has no hash'",
    '',
  ),
  verification(
    'events after the head are read',
    'const limit = Math.min(pace.eventsPage, upTo - afterSequence)',
    'const limit = pace.eventsPage',
  ),
  verification(
    'balances are not compared after a tail',
    'return reason === undefined ? result : { kind: ',
    'return true ? result : { kind: ',
  ),
  replay(
    'a suspension need not follow the failure that it names',
    'if (!isCausedBy(lastFailure, event, state))',
    'if (false)',
  ),
  replay(
    'a suspension may name another charge',
    'lastFailure?.chargeId === chargeId && lastFailure',
    'lastFailure',
  ),
  replay('a suspension may name another principal', ' && lastFailure?.principal === principal', ''),
  replay('a suspension may follow its failure later', 'state.lastFailure = undefined\n', '\n'),
  verifier(
    'a tail continues from another hash',
    'const { events, headHash, budget, failures, suspended } = verified',
    'const { events, budget, failures, suspended } = verified\n  const headHash = "0".repeat(64)',
  ),
  verifier('a tail forgets the analysts', 'verified.spending.map(', 'verified.spending.slice(1).map('),
  verification(
    'a tail starts at the first event',
    '{ verifier, pace, after: verified.events }',
    '{ verifier, pace, after: 0 }',
  ),
]

/** Runs the tests of verification until one fails, and returns its name. */
async function failedTest(source: VerificationSource): Promise<string | undefined> {
  for (const each of VERIFICATION_TESTS) {
    try {
      await each.run(source)
    } catch (error) {
      // A mutant must fail a test, not crash: an undefined name would fail every test.
      if (error instanceof ReferenceError) throw error
      return each.name
    }
  }
  return undefined
}

const testFailedBy = (changes: readonly SourceChange[]) =>
  withChangedSource(changes, {}, async (load) =>
    failedTest({
      ...(await load<VerificationSource>('ledger/protocol/verifier/verifier.ts')),
      ...(await load<VerificationSource>('ledger/verification.ts')),
    }),
  )

describeMutants(
  'every mutant of verification fails a test',
  import.meta.dirname,
  VERIFICATION_MUTANTS,
  testFailedBy,
)
