import type { Dataset } from '../catalog/dataset.ts'
import { lossNumbers, lossOfReplacement, type PrivacyLoss } from '../privacy/loss.ts'
import { informedAdversaryRisk } from '../risk/informed-adversary.ts'

/** What an informed adversary is up against, and what they know. */
export interface AdversaryKnowledge {
  readonly dataset: Dataset
  /** All that the dataset's budget may reveal. */
  readonly granted: PrivacyLoss
  /** How many rows the adversary chooses among; left out: the public number of rows, or 2 where that is private. */
  readonly candidates?: number | undefined
}

/** A release that is about to be paid for. */
export interface ForeseenRelease {
  /** Its price in epsilon and delta. */
  readonly loss: PrivacyLoss
  /** Between datasets that differ by one row replaced. */
  readonly replacementLoss: PrivacyLoss
  readonly accuracy?: {
    readonly confidence: number
    readonly halfWidth: number | null
    readonly unit?: 'rows'
  }
}

/**
 * The disclosure risk of a dataset's whole budget, in a closed form that needs no data: how often an adversary is right
 * who knows all rows but one.
 */
export function describeBudgetRisk(disclosed: AdversaryKnowledge) {
  const { candidates, blindGuess, ...whole } = riskOfBudget(disclosed)
  const statement =
    `An adversary who knows all but one person, with ${candidates} candidates, is right ` +
    `${afterBudget(whole.dataset)} (a blind guess: ${percent(blindGuess, Math.round)}).`
  return { candidates, blindGuess, ...whole, statement }
}

/** The disclosure risk of a release, beside that of the whole budget and the release's accuracy. */
export function describeReleaseRisk(disclosed: AdversaryKnowledge, release: ForeseenRelease) {
  const { candidates, blindGuess, ...whole } = riskOfBudget(disclosed)
  const query = describeLoss(release.loss, informedAdversaryRisk(release.replacementLoss, candidates))
  const statement =
    `At epsilon ${query.epsilon} an adversary who knows all but one person, with ${candidates} candidates, is right ` +
    `${atMost(query.risk)} (a blind guess: ${percent(blindGuess, Math.round)}), and ${afterBudget(whole.dataset)}.` +
    describeHalfWidth(release)
  return { candidates, blindGuess, query, ...whole, statement }
}

/** With so few candidates a guess succeeds most often. */
const FEWEST_CANDIDATES = 2

function riskOfBudget({ dataset, granted, candidates: supposed }: AdversaryKnowledge) {
  const candidates = supposed ?? Math.max(1, dataset.rows ?? FEWEST_CANDIDATES)
  const risk = informedAdversaryRisk(lossOfReplacement(granted, dataset.neighbours), candidates)
  return { candidates, blindGuess: 1 / candidates, dataset: describeLoss(granted, risk) }
}

function describeLoss(loss: PrivacyLoss, risk: number) {
  return { ...lossNumbers(loss), risk }
}

function describeHalfWidth({ accuracy }: ForeseenRelease): string {
  if (accuracy === undefined || accuracy.halfWidth === null) return ''
  const { confidence, halfWidth, unit } = accuracy
  const rows = unit === undefined ? '' : ` ${unit}`
  return ` The ${Number((100 * confidence).toPrecision(10))} % half-width is ${shown(halfWidth, 4, roundedUp)}${rows}.`
}

function afterBudget({ epsilon, risk }: { readonly epsilon: number; readonly risk: number }): string {
  return `${atMost(risk)} once the dataset's whole budget of epsilon ${epsilon} is spent`
}

function atMost(risk: number): string {
  return `at most ${percent(risk, roundedUp)} of the time`
}

/** But for what lies below the last digits of a double. */
const roundedUp = (value: number) => Math.ceil(value - 1e-9)

function percent(share: number, rounded: (value: number) => number): string {
  return `${Math.min(100, shown(100 * share, 3, rounded))} %`
}

/** A number of so many significant digits. */
function shown(value: number, digits: number, rounded: (value: number) => number): number {
  if (value === 0) return 0
  const unit = 10 ** (Math.floor(Math.log10(value)) + 1 - digits)
  return Number((rounded(value / unit) * unit).toPrecision(digits))
}
