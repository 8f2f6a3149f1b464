import type { Schemas } from '../../api/schemas.ts'
import { type AnswerPart, labelText } from './answer-text.ts'

export type MarginalsResult = Schemas['MarginalsResult']
/** A table of an answer of marginals. */
export type MarginalTable = MarginalsResult['tables'][number]

/** An answer with the cells of one table. */
export type CellsAnswer = AnswerPart & { readonly result: Pick<Schemas['TableResult'], 'cells'> }

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

/** Most labels that fit beside each other, and below each other. */
const MOST_ACROSS = 16
const MOST_DOWN = 60

/** Counts by two columns, as rows of a table. */
export interface Heat {
  readonly title: string
  /** Labels of the column across. */
  readonly across: readonly string[]
  readonly rows: readonly { readonly label: string; readonly values: readonly number[] }[]
  /** Half-width of each count, whose digits are shown. */
  readonly halfWidth: number | undefined
}

/** Returns the counts of a table of two columns, the one with fewer labels across; undefined for a table that does not fit. */
export function heatOf({ result: { cells }, accuracy }: CellsAnswer): Heat | undefined {
  const names = Object.keys(cells[0]?.key ?? {})
  if (names.length !== 2) return undefined
  const labelled = cells.map(({ key, value }) => ({ labels: Object.values(key).map(labelText), value }))
  const [one, other] = [0, 1].map((place) => [...new Set(labelled.map(({ labels }) => labels[place] ?? ''))])
  if (one === undefined || other === undefined || one.length * other.length !== cells.length) return undefined
  const isTurned = one.length < other.length
  const [down, across] = isTurned ? [other, one] : [one, other]
  if (across.length > MOST_ACROSS || down.length > MOST_DOWN) return undefined
  const counts = new Map(labelled.map(({ labels, value }) => [JSON.stringify(labels), value]))
  return {
    title: (isTurned ? names.toReversed() : names).join(' by '),
    across,
    halfWidth: accuracy.halfWidth ?? undefined,
    rows: down.map((label) => ({
      label,
      values: across.map((each) => counts.get(JSON.stringify(isTurned ? [each, label] : [label, each])) ?? 0),
    })),
  }
}
