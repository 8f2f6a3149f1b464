import type { Schemas } from '../../api/schemas.ts'
import type { AnswerPart } from './answer-text.ts'

type MarginalsResult = Schemas['MarginalsResult']
/** A table of an answer of marginals. */
type MarginalTable = MarginalsResult['tables'][number]

/**
 * Returns a table of marginals as an answer of its own, with a cell for each combination of the labels of its columns;
 * undefined without its values.
 */
export function tableAnswer<Part extends Pick<AnswerPart, 'accuracy'>>(
  part: Part,
  { columns }: MarginalsResult,
  { columns: names, halfWidth }: MarginalTable,
  values: readonly number[] | undefined,
) {
  if (values === undefined) return undefined
  const keys = names.reduce<readonly Schemas['TableResult']['cells'][number]['key'][]>(
    (rows, name) => {
      const labels = columns.find(({ column }) => column === name)?.labels ?? []
      return rows.flatMap((row) => labels.map((label) => ({ ...row, [name]: label })))
    },
    [{}],
  )
  const cells = values.flatMap((value, cell) => {
    const key = keys[cell]
    return key === undefined ? [] : [{ key, value }]
  })
  return { ...part, result: { cells }, accuracy: { ...part.accuracy, halfWidth } }
}
