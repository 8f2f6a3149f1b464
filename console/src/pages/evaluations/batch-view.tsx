import { Facts } from '../../components/facts.tsx'
import { Section } from '../../components/section.tsx'
import { formatAmount } from '../../format/amount.ts'
import { formatExact } from '../../format/number.ts'
import { questionText } from '../answers/question-text.ts'
import type { BatchEvaluation } from './evaluation-stream.ts'
import { EvaluationView } from './evaluation-view.tsx'
import type { BatchBody } from './examples.ts'

interface BatchViewProps {
  readonly evaluation: BatchEvaluation
  readonly batch: BatchBody
}

/** Price of a batch, and the errors of the answers to each of its queries. */
export function BatchView({ evaluation, batch }: BatchViewProps) {
  const { evaluations, cost, sumOfPrices } = evaluation
  return (
    <>
      <Section title="Price of the batch" lead="It is not charged.">
        <Facts
          facts={[
            ['Queries', formatExact(evaluations.length)],
            ['As a batch', formatAmount(cost)],
            ['Asked separately', formatAmount(sumOfPrices)],
          ]}
        />
      </Section>
      {evaluations.map((each, place) => {
        const query = batch.queries[place]
        const text =
          query === undefined ? each.kind : questionText(query as Readonly<Record<string, unknown>>)
        // A batch may contain the same query twice.
        // biome-ignore lint/suspicious/noArrayIndexKey: the queries of a batch have no other identity
        return <EvaluationView key={place} evaluation={each} title={`${place + 1}. ${text}`} />
      })}
    </>
  )
}
