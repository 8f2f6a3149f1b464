import type { Query } from '../../../schemas/answers/query.ts'
import type { Fields } from '../../core/planner/identity/normal-fields.ts'
import { questionKinds } from '../../core/planner/kinds/question-kinds.ts'
import { DEFAULT_CONFIDENCE } from '../../privacy/loss.ts'

/**
 * Returns a query as it was asked, in its shortest form: without the fields that equal their defaults. The schema of
 * queries restores them, so that both forms are the same query.
 */
export function shortestQuery(query: Query): Partial<Query> {
  const { accuracy } = query
  const postprocess = 'postprocess' in query ? shortestPostprocess(query.postprocess) : undefined
  const defaults: Fields = { ...DEFAULTS, ...questionKinds[query.kind].defaults }
  const shortest: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(query)) {
    if (name !== 'postprocess' && value !== undefined && value !== defaults[name]) shortest[name] = value
  }
  if (accuracy?.confidence === DEFAULT_CONFIDENCE) shortest.accuracy = { halfWidth: accuracy.halfWidth }
  if (postprocess !== undefined) shortest.postprocess = postprocess
  if ('statistics' in query) shortest.statistics = query.statistics.map(withoutRows)
  return shortest
}

/** Values of fields that mean the same for every kind. */
const DEFAULTS: Fields = { delta: 0, of: 'rows', gap: false, counts: false }

function shortestPostprocess({
  round,
  nonNegative,
}: {
  readonly round: boolean
  readonly nonNegative: boolean
}) {
  if (!round && !nonNegative) return undefined
  return { ...(round && { round }), ...(nonNegative && { nonNegative }) }
}

function withoutRows<Counted extends object>(counted: Counted): Partial<Counted> {
  if (!('of' in counted) || counted.of !== 'rows') return counted
  const { of: _, ...rest } = counted
  return rest as Partial<Counted>
}
