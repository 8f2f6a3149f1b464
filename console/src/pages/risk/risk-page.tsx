import { api } from '../../api/api.ts'
import { Button } from '../../components/button.tsx'
import { Page } from '../../components/page.tsx'
import { Section } from '../../components/section.tsx'
import { useAddressState } from '../../components/use-address-state.ts'
import type { Dataset } from '../datasets/dataset-kind.ts'
import { AccuracyEffect } from './accuracy-effect.tsx'
import { AdversaryForm } from './adversary-form.tsx'
import { OneOfManyRisk } from './one-of-many-risk.tsx'
import { CHOICES, INITIAL_STATE, type RiskState } from './risk-state.ts'
import { UniverseRisk } from './universe-risk.tsx'

/** Changes some fields of the state. */
export type Change = (changes: Partial<RiskState>) => void

/** Properties of the parts of this page. */
export interface RiskPart {
  readonly state: RiskState
  readonly change: Change
}

/** Page on which a privacy officer chooses an epsilon by the risk that it means for a person. */
export default function RiskPage() {
  const { state, change } = useAddressState(INITIAL_STATE, CHOICES)
  const { data } = api.useQuery('get', '/v1/datasets')
  const dataset = data?.datasets.find(({ id }) => id === state.dataset)
  return (
    <Page
      title="Choose epsilon"
      lead="Epsilon bounds how much an answer can teach about a person. This page states it as a risk: how often an adversary who knows almost everything guesses right."
      actions={<Button onClick={() => window.print()}>Print</Button>}
    >
      <AdversaryForm state={state} change={change} datasets={data?.datasets ?? []} />
      {state.adversary === 'one' ? (
        <OneOfManyRisk state={withFactsOf(dataset, state)} change={change} dataset={dataset} />
      ) : (
        <UniverseRisk state={state} change={change} dataset={dataset} />
      )}
    </Page>
  )
}

/** The neighbours of a dataset are public; they take the place of those that were chosen. */
function withFactsOf(dataset: Dataset | undefined, state: RiskState): RiskState {
  return dataset === undefined ? state : { ...state, neighbours: dataset.neighbours }
}

/** Effect of the epsilon on a dataset, or a hint that there is none. */
export function Effect({
  dataset,
  epsilon,
  state,
  change,
}: RiskPart & { readonly dataset: Dataset | undefined; readonly epsilon: number }) {
  if (dataset !== undefined && epsilon > 0)
    return <AccuracyEffect dataset={dataset} epsilon={epsilon} rows={state.rows} change={change} />
  return (
    <Section title="Accuracy at this epsilon">
      <p>
        {dataset === undefined
          ? 'Select a dataset above to see the accuracy of its typical questions.'
          : 'Accept a larger risk to see the accuracy of typical questions.'}
      </p>
    </Section>
  )
}
