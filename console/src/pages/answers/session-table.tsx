import type { Schemas } from '../../api/schemas.ts'
import { DateTime, Pill, Table } from '../../components/tables/tables.tsx'
import { formatEstimate } from '../../format/number.ts'
import { predicateText } from './question-text.ts'

/** Answers of a sparse vector session. Threshold plus gap estimates a count. */
export function SessionTable({ session }: { readonly session: Schemas['Session'] }) {
  const { answers, threshold, accuracy, of } = session
  const { halfWidth } = accuracy.gap
  const numberCell = (value: number | undefined) =>
    value === undefined ? '' : formatEstimate(value, halfWidth)
  return (
    <Table
      label="Answers of the session"
      rows={answers}
      keyOf={({ question }) => String(question)}
      empty="No question has been asked in this session."
      columns={[
        ['No.', ({ question }) => question, 'right'],
        [of === 'people' ? 'People with a row where' : 'Rows where', ({ where }) => predicateText(where)],
        ['Answer', ({ above }) => (above ? <Pill tone="accent">above</Pill> : <Pill>below</Pill>)],
        ['Gap', ({ gap }) => numberCell(gap), 'right'],
        ['Count, about', ({ gap }) => numberCell(gap === undefined ? undefined : threshold + gap), 'right'],
        ['Answered (UTC)', ({ answeredAt }) => <DateTime value={answeredAt} />],
      ]}
    />
  )
}
