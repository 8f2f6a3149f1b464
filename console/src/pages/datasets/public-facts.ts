import { formatCount, formatExact } from '../../format/number.ts'
import { formatTime } from '../../format/time.ts'
import type { Dataset } from './dataset.ts'

/** Returns the public facts of a dataset that are not about its columns, as names and sentences. */
export function publicFactsOf(
  dataset: Dataset,
): readonly (readonly [name: string, value: string | undefined])[] {
  const { privacyUnit, neighbours, accounting, sharing, rows, people, failureLimit, registeredAt } = dataset
  const { coverageStatement } = dataset
  return [
    [
      'A person contributes',
      privacyUnit.kind === 'row'
        ? 'one row'
        : `up to ${formatCount(privacyUnit.maxRows, 'row')}, those with the same ${privacyUnit.column}`,
    ],
    ['Left out', coverageStatement],
    [
      'Answers hide',
      neighbours === 'add-remove'
        ? 'that a person is in the data'
        : 'the values of a person; their number is public',
    ],
    ['Number of rows', rows === undefined ? 'private' : formatExact(rows)],
    ['Number of people', people === undefined ? undefined : formatExact(people)],
    [
      'Accounting',
      accounting === 'basic'
        ? 'epsilon and delta add up'
        : 'rho adds up (zero-concentrated differential privacy)',
    ],
    ['A paid answer serves other analysts', sharing ? 'yes, charged to their allotment only' : 'no'],
    ['Limits on a question', limitsOf(dataset)],
    ['Answers leave', timingOf(dataset)],
    ['Failures that suspend it', formatExact(failureLimit)],
    ['Registered', formatTime(registeredAt.slice(0, 10))],
  ]
}

function limitsOf({ queryLimits: { minEpsilon, maxEpsilon, minHalfWidth } }: Dataset): string {
  const limits = [
    minEpsilon !== undefined && `epsilon at least ${formatExact(minEpsilon)}`,
    maxEpsilon !== undefined && `epsilon at most ${formatExact(maxEpsilon)}`,
    minHalfWidth !== undefined && `half-width at least ${formatExact(minHalfWidth)}`,
  ].filter((limit) => limit !== false)
  return limits.length === 0 ? 'none' : limits.join(', ')
}

function timingOf({ timing }: Dataset): string {
  if (timing === 'off') return 'at once'
  return 'slotMs' in timing
    ? `at the end of a slot of ${formatExact(timing.slotMs)} ms`
    : `${formatExact(timing.deadlineMs)} ms after the question`
}
