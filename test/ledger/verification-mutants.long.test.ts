import { describe, expect, it } from 'vitest'
import { type SourceChange, withChangedSource } from '../changed-source.ts'
import { selectMutants } from '../select-mutants.ts'
import { VERIFICATION_TESTS, type VerificationSource } from './tampering.ts'

interface Mutant extends SourceChange {
  readonly bug: string
}

const mutantsIn =
  (file: string) =>
  (bug: string, find: string, replace: string): Mutant => ({ bug, file: `ledger/${file}.ts`, find, replace })
const verification = mutantsIn('verification')
const replay = mutantsIn('replay')

const VERIFICATION_MUTANTS: readonly Mutant[] = [
  verification('hashes that are not looked at', 'if (sha256(canonical) !== hash)', 'if (false)'),
  verification(
    'texts that are not canonical',
    'return canonicalJson(event) === canonical && event',
    'return event',
  ),
  verification('later layouts', ' && event.version === 1 ?', ' ?'),
  verification('events of other datasets', 'if (event.dataset !== dataset)', 'if (false)'),
  verification('places that are not looked at', 'if (event.sequence !== state.events + 1)', 'if (false)'),
  verification('a chain that is not looked at', 'if (event.previousHash !== state.headHash)', 'if (false)'),
  replay('a budget opened again', 'if (opens !== (state.events === 0))', 'if (!opens && state.events === 0)'),
  replay(
    'a budget that is not opened',
    'if (opens !== (state.events === 0))',
    'if (opens && state.events > 0)',
  ),
  replay(
    'a denial of what was paid',
    "return known.state === 'denied' ? undefined : 'a paid",
    "return true ? undefined : 'a paid",
  ),
  replay('a cap that is lowered', 'if (!coversAmount(cap, budget.cap))', 'if (false)'),
  replay('a cap that was not granted', 'if (!bought) return', 'if (false) return'),
  replay(
    'a limit that was not granted',
    'if (!stops && !coversAmount(amountBoughtBy(limit.accounting, granted), limit))',
    'if (false)',
  ),
  replay(
    'an allotment of nothing refused',
    'if (!stops && !coversAmount(amountBoughtBy(limit',
    'if (!coversAmount(amountBoughtBy(limit',
  ),
  replay('an allotment of nothing for more than was spent', ' && isSameAmount(limit, before.spent)\n', '\n'),
  replay(
    'an allotment of a delta alone taken for one of nothing',
    'granted.epsilonNano === 0n && granted.deltaAtto === 0n && isSame',
    'granted.epsilonNano === 0n && isSame',
  ),
  replay(
    'an allotment of an epsilon taken for one of nothing',
    'granted.epsilonNano === 0n && granted.deltaAtto === 0n && isSame',
    'granted.deltaAtto === 0n && isSame',
  ),
  replay('a limit below what was spent', 'if (!coversAmount(limit, before.spent))', 'if (false)'),
  replay(
    'an allotment of nobody',
    "if (analyst === undefined) return 'the allotment names no analyst'",
    'if (analyst === undefined) return undefined',
  ),
  replay('an allotment that is not lifted', 'analysts.set(analyst, before)', ''),
  replay(
    'a cap that may be passed',
    'if (!coversAmount(subtractAmounts(budget.cap, budget.spent), price))',
    'if (!coversAmount(budget.cap, price))',
  ),
  replay(
    'an allotment that may be passed',
    'if (!coversAmount(analyst.allotment?.limit ?? budget.cap, spent))',
    'if (!coversAmount(budget.cap, spent))',
  ),
  replay(
    'a charge debited twice',
    "if (chargeId === undefined || (charges.get(chargeId)?.state ?? 'denied') !== 'denied')",
    'if (chargeId === undefined)',
  ),
  replay(
    'a debit of no charge',
    "if (chargeId === undefined || (charges.get(chargeId)?.state ?? 'denied') !== 'denied')",
    "if (chargeId !== undefined && (charges.get(chargeId)?.state ?? 'denied') !== 'denied')",
  ),
  replay(
    'what was denied is never paid',
    "(charges.get(chargeId)?.state ?? 'denied') !== 'denied'",
    'charges.has(chargeId)',
  ),
  replay(
    'a share of nothing',
    "if (source?.state !== 'answered' || source.requestHash !== requestHash)",
    'if (false)',
  ),
  replay(
    'a share of what is not answered',
    "if (source?.state !== 'answered' || source.requestHash !== requestHash)",
    'if (source?.requestHash !== requestHash)',
  ),
  replay('a share of the answer to another question', ' || source.requestHash !== requestHash)', ')'),
  replay(
    'a share that is debited from the dataset',
    'analysts.set(principal, { ...analyst, spent, spentOnShared: addAmounts(analyst.spentOnShared, price) })',
    'analysts.set(principal, { ...analyst, spent, spentOnShared: addAmounts(analyst.spentOnShared, price) })\n      state.budget = { ...budget, spent: addAmounts(budget.spent, price) }',
  ),
  replay("another's charge", 'if (known.principal !== principal)', 'if (false)'),
  replay(
    'a charge that was not made',
    "if (known === undefined || known.state === 'denied')\n    return 'the event refers to a charge that does not exist'",
    'if (known === undefined) return undefined',
  ),
  replay(
    'what was denied may be tried again',
    "if (known === undefined || known.state === 'denied')",
    'if (known === undefined)',
  ),
  replay(
    'a denial of nothing',
    "if (event.chargeId === undefined) return 'the denial names no charge'",
    'if (event.chargeId === undefined) return undefined',
  ),
  replay(
    'questions in any order',
    "if (known.state !== 'answered' || question !== known.sessionAnswerHashes.length + 1)",
    "if (known.state !== 'answered')",
  ),
  replay(
    'questions before the session',
    "if (known.state !== 'answered' || question !== known.sessionAnswerHashes.length + 1)",
    'if (question !== known.sessionAnswerHashes.length + 1)',
  ),
  replay(
    'a further attempt after the answer',
    "if (known.state === 'answered') return 'the charge is already answered'",
    "if (false) return 'the charge is already answered'",
  ),
  replay('attempts in any order', 'if (attempt !== known.attempt + 1)', 'if (attempt === undefined)'),
  replay(
    'ends of any attempt',
    "if (attempt !== known.attempt || known.state !== 'charged')",
    "if (known.state !== 'charged')",
  ),
  replay(
    'an answer after a failure',
    "if (attempt !== known.attempt || known.state !== 'charged')",
    'if (attempt !== known.attempt)',
  ),
  verification('one event more for every broken one', 'if (broken !== undefined) return\n', ''),
  verification(
    'a cut tail',
    'if (sequence !== head.sequence || result.headHash !== head.hash)',
    'if (false)',
  ),
  verification(
    'another head',
    'if (sequence !== head.sequence || result.headHash !== head.hash)',
    'if (sequence !== head.sequence)',
  ),
  verification(
    'balances that are not looked at',
    "if (!same) return 'the stored balances",
    "if (false) return 'the stored balances",
  ),
  verification('caps that are not looked at', 'isSameAmount(cap, store.budget.cap) &&', ''),
  verification(
    'grants that are not looked at',
    'coversLoss(granted, store.budget.granted) &&\n    coversLoss(store.budget.granted, granted) &&',
    '',
  ),
  verification(
    'spending that is not looked at',
    'return canonicalJson(store.spending.map(spelled)) === canonicalJson(events.spending.map(spelled))',
    'return store.spending.length === events.spending.length',
  ),
  verification(
    'allotments that are not looked at',
    'allotment === undefined ? null : [',
    'allotment !== null ? null : [',
  ),
  verification('spending on shares that is not looked at', '    eventAmount(spentOnShared),\n', ''),
  verification(
    'only the first page',
    'afterSequence += page.length\n',
    'afterSequence += page.length\n    break\n',
  ),
  verification(
    'charges that are not looked at',
    'return (await firstBrokenCharge(ledger, dataset, verifier, sequence)) ?? result',
    'return result',
  ),
  verification(
    'only the first page of charges',
    'start < ids.length; start += RECORDS_PAGE',
    'start < RECORDS_PAGE; start += RECORDS_PAGE',
  ),
  verification('the last broken charge', 'each.sequence < first.sequence', 'each.sequence > first.sequence'),
  verification('a charge that may be missing', "return 'the charge is not stored'", 'return undefined'),
  verification(
    'charges that nobody made',
    'if ((counts?.get(dataset) ?? 0) > verifier.charges.size)',
    'if (false)',
  ),
  verification('charges counted anew', '?? 0) > verifier.charges.size', '?? 0) >= verifier.charges.size'),
  replay('denials that are not kept', "  addCharge(state, event.chargeId, event, 'denied')\n", ''),
  ...['dataset === dataset', 'principal === now.principal', 'requestHash === now.requestHash'].map((same) =>
    verification(`a charge whose record need not have ${same}`, `record.${same} &&\n`, 'true &&\n'),
  ),
  verification('a charge that may have become a share', 'record.sharedFrom === now.sharedFrom &&', ''),
  verification('a stored price that is not looked at', 'isSameAmount(record.price, now.price)', 'true'),
  verification('a record that is behind the events', 'if (!follows || !precedes)', 'if (!precedes)'),
  verification('a record that is ahead of the events', 'if (!follows || !precedes)', 'if (!follows)'),
  verification(
    'nothing may have happened since',
    'await follow(ledger, dataset, verifier, { after: sequence, upTo })\n',
    '',
  ),
  verification(
    'answers that are not looked at',
    "return record.answerHash === (record.state === 'answered' ? now.answerHash : undefined)",
    'return true',
  ),
  verification('session answers that are not looked at', 'sha256(answer) !== hashes[question - 1]', 'false'),
  verification(
    'session answers that may be missing',
    'if (page.length === 0) return false',
    'if (page.length === 0) return true',
  ),
  verification(
    'a fault of the store taken for a broken charge',
    'if (!(error instanceof TypeError || error instanceof RangeError)) throw error',
    '',
  ),
  replay(
    'answers without a hash',
    "if (kind === 'answered' && answerHash === undefined) return 'the answer has no hash'",
    '',
  ),
  verification(
    'more than the head that was read',
    'const limit = Math.min(EVENTS_PAGE, upTo - afterSequence)',
    'const limit = EVENTS_PAGE',
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
  withChangedSource(changes, {}, async (load) => failedTest(await load('ledger/verification.ts')))

describe('every mutant of verification fails a test', () => {
  it('the unchanged source fails none', async () => {
    expect(await testFailedBy([])).toBeUndefined()
  })

  it.each(selectMutants(import.meta.dirname, VERIFICATION_MUTANTS, ({ file }) => [file]))(
    '$bug ($file)',
    async (mutant) => {
      expect(await testFailedBy([mutant])).toBeDefined()
    },
  )
})
