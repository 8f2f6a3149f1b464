import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { type Dataset, requireSynthetic } from '../catalog/dataset.ts'
import type { Budget } from '../ledger/ledger.ts'
import { openSqliteLedger } from '../ledger/sqlite/ledger.ts'
import { plan } from '../planner/plan.ts'
import {
  deltaAtto as brandDelta,
  epsilonNano as brandEpsilon,
  lossNumbers,
  MAX_BUDGET_EPSILON,
  ONE_DELTA_ATTO,
  ONE_EPSILON_NANO,
  type PrivacyLoss,
} from '../privacy/loss.ts'
import { refuseField, withinField } from '../privacy/refusal.ts'
import type { Registry } from '../registration/register.ts'
import { type AnswerDependencies, answer } from './answer.ts'

/*
 * For outside auditors who want to measure what a release reveals: two neighbouring datasets of made-up people that they
 * know in full, and raw releases of either, as many as they like. Each release takes the way of every answer, from the
 * plan through the charge and the engine to the stored text; only the ledger is another, made for the batch and thrown
 * away with it.
 */

type Query = Parameters<typeof plan>[0]

/** One made-up person of the audited datasets. */
type AuditedPerson = {
  readonly Age: number
  readonly Income: number
  readonly Sex: 'F' | 'M'
  readonly City: string
}

const EVERYBODY: readonly AuditedPerson[] = [
  { Age: 20, Income: 0, Sex: 'F', City: 'Northport' },
  { Age: 31, Income: 12.5, Sex: 'M', City: 'Northport' },
  { Age: 45, Income: 40, Sex: 'F', City: 'Eastfield' },
  { Age: 45, Income: 41.5, Sex: 'M', City: 'Eastfield' },
  { Age: 62, Income: 75, Sex: 'F', City: 'Northport' },
]
/** As far from everybody as the declaration allows, and in a city of his own: what one person can do to a release. */
const ONE_MORE: AuditedPerson = { Age: 100, Income: 100, Sex: 'M', City: 'Westhaven' }
/** Who takes the place of {@link ONE_MORE} where the number of people is public. */
const ANOTHER: AuditedPerson = { Age: 0, Income: 0, Sex: 'F', City: 'Southmere' }

const COLUMNS = [
  { name: 'Age', type: 'integer', lower: 0, upper: 100, step: 1, nullable: false },
  { name: 'Income', type: 'number', lower: 0, upper: 100, step: 0.5, nullable: false },
  { name: 'Sex', type: 'category', categories: ['F', 'M'], nullable: false },
  { name: 'City', type: 'string', nullable: false },
] as const

/** Two pairs of neighbouring datasets, one for each kind of neighbours. All their people are made up, and are shown. */
export const AUDITED_DATASETS = [
  { id: 'audit-without', neighbours: 'add-remove', neighbour: 'audit-with', people: EVERYBODY },
  {
    id: 'audit-with',
    neighbours: 'add-remove',
    neighbour: 'audit-without',
    people: [...EVERYBODY, ONE_MORE],
  },
  {
    id: 'audit-before',
    neighbours: 'change-one',
    neighbour: 'audit-after',
    people: [...EVERYBODY, ONE_MORE],
  },
  { id: 'audit-after', neighbours: 'change-one', neighbour: 'audit-before', people: [...EVERYBODY, ANOTHER] },
] as const

/** What registering the audited datasets needs to know about what there is already. */
interface Registered {
  readonly registry: Registry
  /** As the catalog tells. */
  readonly isRegistered: (id: string) => boolean
  readonly wasRemoved: (id: string) => boolean
  readonly budget: (id: string) => Promise<Budget | undefined>
  readonly dataDirectory: string
}

/**
 * Write the audited datasets into the data folder and register those that are not there yet, unless they were withdrawn.
 * A budget from before stays as it is.
 * @throws Error where the data folder has another file of that name: it is somebody's, and stays as it is.
 */
export async function registerAuditedDatasets(there: Registered): Promise<void> {
  for (const audited of AUDITED_DATASETS) {
    const { id, neighbours, people } = audited
    if (there.isRegistered(id) || there.wasRemoved(id)) continue
    const source = sourceOf(audited)
    const lines = people.map(({ Age, Income, Sex, City }) => [Age, Income, Sex, City].join(','))
    const text = ['Age,Income,Sex,City', ...lines, ''].join('\n')
    await writeUnlessThere(path.join(there.dataDirectory, source.path), text)
    const before = await there.budget(id)
    await there.registry.register(
      {
        id,
        title: TITLE,
        source,
        columns: COLUMNS,
        privacyUnit: { kind: 'row' },
        neighbours,
        budget: before === undefined ? { epsilon: 1, delta: 1e-6 } : lossNumbers(before.granted),
        synthetic: true,
        accounting: before?.cap.accounting ?? 'basic',
        sharing: false,
      },
      'sotto',
    )
  }
}

const TITLE = 'Made-up people for auditors'

function sourceOf({ id }: (typeof AUDITED_DATASETS)[number]) {
  return { kind: 'file', path: `${id}.csv`, format: 'csv' } as const
}

async function writeUnlessThere(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text, { flag: 'wx' })
  } catch (error) {
    if ((await readFile(file, 'utf8').catch(() => undefined)) === text) return
    throw new Error(
      `${path.basename(file)} in the data folder is not the file for auditors; move it elsewhere`,
      {
        cause: error,
      },
    )
  }
}

/** Those of the audited datasets that are registered as they were made, whose people are therefore known. */
export function auditedDatasets(find: (id: string) => Dataset | undefined) {
  return AUDITED_DATASETS.filter((audited) => {
    const dataset = find(audited.id)
    if (dataset?.title !== TITLE || dataset.source.kind !== 'file') return false
    return dataset.source.path === sourceOf(audited).path && dataset.synthetic
  })
}

/** Needs of an audit. Its answers are recorded in a temporary ledger, not in the one given here. */
export interface AuditDependencies extends AnswerDependencies {
  /** Folder in which the temporary ledgers are created. */
  readonly temporaryDirectory: string
}

/** How many characters the answers of a batch may have: it is one answer itself, put together in memory. */
const MOST_CHARACTERS = 20_000_000

/** The most releases that are under way together: enough for the ledger to group their commits. */
const RELEASES_TOGETHER = 64

/**
 * Answer one query afresh many times over a synthetic dataset. Nothing is charged to the dataset's budget and nothing
 * stays behind.
 *
 * @param releases how many; whole, at least 1.
 * @param givenUp whether nobody waits for them any more: then the rest is not drawn.
 * @returns the answers' results, in no particular order.
 * @throws Refusal `not-synthetic` for any dataset whose people are not made up, whoever asks; `invalid-request` for more
 * releases than a batch may hold.
 * @throws AnswerFailure as {@link answer} does.
 */
export async function auditReleases(
  dependencies: AuditDependencies,
  dataset: Dataset,
  query: Query,
  releases: number,
  givenUp: () => boolean,
): Promise<readonly unknown[]> {
  requireSynthetic(dataset)
  const { loss } = withinField('query', () => plan(query, dataset, dependencies.limits))
  requireAffordable(loss, releases)
  const folder = await mkdtemp(path.join(dependencies.temporaryDirectory, 'audit-'))
  try {
    const ledger = await openSqliteLedger({ path: path.join(folder, 'ledger.sqlite') })
    try {
      // Of this ledger, which nobody else sees and which has no bound that matters.
      const audited: Dataset = { ...dataset, accounting: 'basic', sharing: false }
      const { neighbours } = audited
      await ledger.openBudget(audited.id, { accounting: 'basic', granted: CAP, neighbours }, 'auditor')
      const results: unknown[] = []
      const releaseNext = async (number: number): Promise<number> => {
        const question = {
          principal: 'auditor',
          dataset: audited,
          query,
          idempotencyKey: `release-${number}`,
        }
        const { body } = await answer({ ...dependencies, ledger }, question)
        results.push(JSON.parse(body).result)
        return body.length
      }
      // The first tells how long they are, whatever the kind of query.
      requireBounded(await releaseNext(0), releases)
      let next = 1
      const releaseInTurn = async (): Promise<void> => {
        while (next < releases && !givenUp()) await releaseNext(next++)
      }
      await Promise.all(Array.from({ length: RELEASES_TOGETHER }, releaseInTurn))
      return results
    } finally {
      await ledger.close()
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function requireBounded(characters: number, releases: number): void {
  const most = Math.floor(MOST_CHARACTERS / characters)
  if (releases > most)
    throw refuseField('invalid-request', 'releases', `must be at most ${most} for this query`)
}

function requireAffordable({ epsilonNano, deltaAtto }: PrivacyLoss, releases: number): void {
  const affordable = (cap: bigint, price: bigint) => (price === 0n ? releases : Number(cap / price))
  const most = Math.min(affordable(CAP.epsilonNano, epsilonNano), affordable(CAP.deltaAtto, deltaAtto))
  if (releases > most)
    throw refuseField('invalid-request', 'releases', `must be at most ${most} at this price`)
}

/** The largest that a ledger holds. */
const CAP: PrivacyLoss = {
  epsilonNano: brandEpsilon(BigInt(MAX_BUDGET_EPSILON) * ONE_EPSILON_NANO),
  deltaAtto: brandDelta(ONE_DELTA_ATTO - 1n),
}
