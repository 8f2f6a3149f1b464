import { api } from '../../api/api.ts'
import { useAddressState } from '../../components/address/use-address-state.ts'
import { Button } from '../../components/forms/button.tsx'
import { DeltaField, Radios, SelectField } from '../../components/forms/fields.tsx'
import { Slider } from '../../components/forms/slider.tsx'
import { Page, Section } from '../../components/layout/page.tsx'
import { formatExact } from '../../format/number.ts'
import type { Dataset } from '../datasets/dataset.ts'
import { OneOfManyRisk } from './one-of-many/one-of-many-risk.tsx'
import styles from './risk.module.css'
import { CHOICES, INITIAL_STATE, type RiskPart, type RiskState } from './risk-state.ts'
import { UniverseFields } from './universe/universe-fields.tsx'
import { UniverseRisk } from './universe/universe-risk.tsx'

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

/** Assumptions about the adversary, and the accepted risk. */
function AdversaryForm({ state, change, datasets }: RiskPart & { readonly datasets: readonly Dataset[] }) {
  return (
    <Section title="Adversary">
      <Radios
        legend="What the adversary knows"
        value={state.adversary}
        choices={[
          {
            value: 'one',
            label: 'Everyone but one person',
            hint: 'A number of people are equally likely to be that person.',
          },
          {
            value: 'universe',
            label: 'All values of a known group',
            hint: 'The adversary does not know who of the group is in the data.',
          },
        ]}
        onChange={(adversary) => change({ adversary, epsilon: 0 })}
      />
      <div className={styles.fields}>
        {state.adversary === 'one' ? (
          <OneFields state={state} change={change} datasets={datasets} />
        ) : (
          <UniverseFields state={state} change={change} />
        )}
        <SelectField
          label="Dataset"
          hint="Its typical questions show what the epsilon means for accuracy."
          value={state.dataset}
          options={[['', 'none'], ...datasets.map(({ id, title }) => [id, title] as const)]}
          onChange={(dataset) => change({ dataset })}
        />
      </div>
    </Section>
  )
}

function OneFields({ state, change, datasets }: RiskPart & { readonly datasets: readonly Dataset[] }) {
  const chosen = datasets.find(({ id }) => id === state.dataset)
  const neighbours = chosen?.neighbours ?? state.neighbours
  return (
    <>
      <Slider
        label="Candidates"
        hint="People whom the adversary considers equally likely. With 2, a guess succeeds most often."
        value={state.candidates}
        scale={{ kind: 'log', lower: 2, upper: 1_000_000 }}
        range={{ lower: 2, upper: 1_000_000_000_000 }}
        whole
        format={formatExact}
        onChange={(candidates) => change({ candidates, epsilon: 0 })}
      />
      <SelectField
        label="Neighbouring datasets"
        hint={
          neighbours === 'add-remove'
            ? 'Replacing a person is one step out and one step in, which costs up to twice the epsilon.'
            : 'Replacing a person is one step. The number of people is public.'
        }
        value={neighbours}
        disabled={chosen !== undefined}
        options={[
          ['add-remove', 'differ by one person added or removed'],
          ['change-one', 'differ by one person replaced'],
        ]}
        onChange={(next) => change({ neighbours: next, epsilon: 0 })}
      />
      <DeltaField
        hint="0 for Laplace and geometric noise."
        value={state.delta}
        onChange={(delta) => change({ delta, epsilon: 0 })}
      />
    </>
  )
}
