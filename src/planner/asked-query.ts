import type { Query } from '../../schemas/query.ts'
import { DEFAULT_CONFIDENCE } from '../privacy/loss.ts'

/**
 * Returns a query as it was asked, in its shortest form: without the fields that equal their defaults. The schema of
 * queries restores them, so that both forms are the same query.
 */
export function shortestQuery(query: Query): Partial<Query> {
  const { accuracy } = query
  const postprocess = 'postprocess' in query ? shortestPostprocess(query.postprocess) : undefined
  const shortest: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && !isDefault(query.kind, name, value)) shortest[name] = value
  }
  if (accuracy?.confidence === DEFAULT_CONFIDENCE) shortest.accuracy = { halfWidth: accuracy.halfWidth }
  if (postprocess !== undefined) shortest.postprocess = postprocess
  if (query.kind === 'groupBy') shortest.statistics = query.statistics.map(withoutRows)
  return shortest
}

function isDefault(kind: Query['kind'], name: string, value: unknown): boolean {
  switch (name) {
    case 'delta':
      return value === 0
    case 'postprocess':
      // Added again unless it is empty.
      return true
    case 'of':
      return value === 'rows'
    case 'k':
      return value === (kind === 'topGroups' ? 10 : 1)
    case 'gap':
    case 'counts':
      return value === false
    default:
      return false
  }
}

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
