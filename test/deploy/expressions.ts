/** A metric in a PromQL expression, and the values that it compares labels with. */
export interface UsedMetric {
  readonly name: string
  readonly matchers: readonly { readonly label: string; readonly values: readonly string[] }[]
}

/** Names in a PromQL expression, as far as they concern metrics. */
export interface UsedNames {
  readonly metrics: readonly UsedMetric[]
  /** Labels of `by`, `on` and `group_left`. */
  readonly groupings: readonly string[]
}

/** Finds the metrics and labels of a PromQL expression. A name before a parenthesis is a function. */
export function namesIn(expression: string): UsedNames {
  const lists = /\b(?:by|on|group_left) \(([^)]*)\)/g
  const groupings = [...expression.matchAll(lists)].flatMap(([, labels = '']) =>
    labels.split(', ').filter(Boolean),
  )
  const rest = expression.replaceAll(lists, '').replaceAll(/\[[^\]]*\]/g, '')
  const metrics = [...rest.matchAll(/\b([a-z_]\w*)\s*(\{[^}]*\}|\()?/g)]
    .filter(([, name = '', after]) => !KEYWORDS.includes(name) && after !== '(')
    .map(([, name = '', matchers = '']) => ({ name, matchers: matchersIn(matchers) }))
  return { metrics, groupings }
}

const KEYWORDS = ['and', 'or', 'unless', 'offset', 'bool']

function matchersIn(text: string): UsedMetric['matchers'] {
  return [...text.matchAll(/(\w+)(?:=~|!=|!~|=)"([^"]*)"/g)].map(([, label = '', value = '']) => ({
    label,
    values: value.split('|'),
  }))
}
