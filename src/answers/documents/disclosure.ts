import type { Dataset } from '../../core/dataset/dataset.ts'
import type { AccuracyUnit } from '../../core/planner/report-kinds.ts'
import { informedAdversaryRisk } from '../../privacy/informed-adversary.ts'
import { lossNumbers, lossOfReplacement, type PrivacyLoss } from '../../privacy/loss.ts'

/** Parameters of an informed adversary's guess: the dataset, its budget and the number of candidates. */
export interface AdversaryKnowledge {
  readonly dataset: Dataset
  /** Total privacy loss that the dataset's budget allows. */
  readonly granted: PrivacyLoss
  /** Number of candidates for the person. Default: the public number of people, or 2 if that is private. */
  readonly candidates?: number | undefined
}

/** Public facts about a release before it is paid for. */
export interface PreviewedRelease {
  /** Its price in epsilon and delta. */
  readonly loss: PrivacyLoss
  /** Privacy loss between datasets that differ by one replaced privacy unit. */
  readonly replacementLoss: PrivacyLoss
  readonly accuracy?: {
    readonly confidence: number
    readonly halfWidth: number | null
    readonly unit?: AccuracyUnit
  }
}

/**
 * Describes the disclosure risk of a dataset's whole budget: the largest probability that an adversary who knows
 * everyone but one person guesses that person correctly. Closed form; no data is read.
 */
export function describeBudgetRisk(disclosed: AdversaryKnowledge) {
  const { candidates, blindGuess, ...whole } = riskOfBudget(disclosed)
  const statement =
    `An adversary who knows everyone but one person, with ${candidates} candidates for that person, guesses correctly ` +
    `${afterBudget(whole.dataset)} (blind guess: ${percent(blindGuess, Math.round)}).`
  return { candidates, blindGuess, ...whole, statement }
}

/** Describes the disclosure risk of one release next to the risk of the whole budget and the release's accuracy. */
export function describeReleaseRisk(disclosed: AdversaryKnowledge, release: PreviewedRelease) {
  const { candidates, blindGuess, ...whole } = riskOfBudget(disclosed)
  const query = describeLoss(release.loss, informedAdversaryRisk(release.replacementLoss, candidates))
  const statement =
    `At epsilon ${query.epsilon}, an adversary who knows everyone but one person, with ${candidates} candidates for that ` +
    `person, guesses correctly ${atMost(query.risk)} (blind guess: ${percent(blindGuess, Math.round)}), and ` +
    `${afterBudget(whole.dataset)}.` +
    describeHalfWidth(release)
  return { candidates, blindGuess, query, ...whole, statement }
}

/** The smallest number of candidates is the worst case: a blind guess is right most often. */
const FEWEST_CANDIDATES = 2

function riskOfBudget({ dataset, granted, candidates: supposed }: AdversaryKnowledge) {
  const candidates = supposed ?? Math.max(1, dataset.people ?? dataset.rows ?? FEWEST_CANDIDATES)
  const risk = informedAdversaryRisk(lossOfReplacement(granted, dataset.neighbours), candidates)
  return { candidates, blindGuess: 1 / candidates, dataset: describeLoss(granted, risk) }
}

function describeLoss(loss: PrivacyLoss, risk: number) {
  return { ...lossNumbers(loss), risk }
}

function describeHalfWidth({ accuracy }: PreviewedRelease): string {
  if (accuracy === undefined || accuracy.halfWidth === null) return ''
  const { confidence, halfWidth, unit } = accuracy
  const rows = unit === undefined ? '' : ` ${unit}`
  return ` The ${Number((100 * confidence).toPrecision(10))}% half-width is ${shown(halfWidth, 4, roundedUp)}${rows}.`
}

function afterBudget({ epsilon, risk }: { readonly epsilon: number; readonly risk: number }): string {
  return `${atMost(risk)} once the dataset's whole budget of epsilon ${epsilon} is spent`
}

function atMost(risk: number): string {
  return `at most ${percent(risk, roundedUp)} of the time`
}

/** Rounds up, ignoring the rounding error of a double. */
const roundedUp = (value: number) => Math.ceil(value - 1e-9)

function percent(share: number, rounded: (value: number) => number): string {
  return `${Math.min(100, shown(100 * share, 3, rounded))}%`
}

/** Rounds to `digits` significant digits. */
function shown(value: number, digits: number, rounded: (value: number) => number): number {
  if (value === 0) return 0
  const unit = 10 ** (Math.floor(Math.log10(value)) + 1 - digits)
  return Number((rounded(value / unit) * unit).toPrecision(digits))
}
