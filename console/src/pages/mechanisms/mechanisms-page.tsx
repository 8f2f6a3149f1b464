import { keepPreviousData } from '@tanstack/react-query'
import { api } from '../../api/api.ts'
import { useAddressState } from '../../components/address/use-address-state.ts'
import { DeltaField, SelectField } from '../../components/forms/fields.tsx'
import { fieldsOf } from '../../components/forms/fields-of.ts'
import { Slider } from '../../components/forms/slider.tsx'
import { useSettled } from '../../components/forms/use-debounced.ts'
import { Page, Section } from '../../components/layout/page.tsx'
import { Loading, ProblemNotice } from '../../components/notices/notices.tsx'
import { ComparedNoise } from './compared-noise.tsx'
import {
  COMPARISON_CHOICES,
  type ComparisonPart,
  INITIAL_COMPARISON,
  MEASURE_NAMES,
  MEASURES,
  requestOf,
} from './comparison.ts'
import styles from './mechanisms.module.css'

/** Page that compares the noise of the mechanisms by the number of statistics that one person influences. */
export default function MechanismsPage() {
  const { state, change } = useAddressState(INITIAL_COMPARISON, COMPARISON_CHOICES)
  const body = useSettled(requestOf(state))
  const { data, error } = api.useQuery(
    'post',
    '/v1/mechanisms/compare',
    { body },
    { placeholderData: keepPreviousData, staleTime: Number.POSITIVE_INFINITY },
  )
  return (
    <Page
      title="Mechanisms"
      lead="The noise that each mechanism adds at the same price. No dataset is read, and nothing is charged."
    >
      <Section title="Workload">
        <WorkloadFields state={state} change={change} />
      </Section>
      {error !== null && <ProblemNotice error={error} />}
      {error === null && data === undefined && <Loading what="the comparison" />}
      {error === null && data !== undefined && (
        <ComparedNoise comparison={data} state={state} change={change} />
      )}
    </Page>
  )
}

/** The price, the statistics that share it, and the measure of their error. */
function WorkloadFields({ state, change }: ComparisonPart) {
  const field = fieldsOf(state, change)
  return (
    <div className={styles.fields}>
      <Slider
        label="Epsilon for all statistics together"
        {...field('epsilon')}
        scale={{ kind: 'log', lower: 0.01, upper: 10 }}
        range={{ lower: 0.000000001, upper: 1000 }}
      />
      <Slider
        label="Statistics that one person influences, at most"
        value={state.statistics}
        scale={{ kind: 'log', lower: 2, upper: 1000 }}
        range={{ lower: 1, upper: 1000 }}
        whole
        onChange={(statistics) => change({ statistics, at: Math.min(state.at, statistics) })}
      />
      <DeltaField
        hint="Only Gaussian noise uses it. With 0, Gaussian noise does not apply."
        {...field('delta')}
      />
      <Slider
        label="Change of a statistic by one person"
        hint="1 for a count; for a sum, the largest value of a person."
        {...field('contribution')}
        scale={{ kind: 'log', lower: 1, upper: 1_000_000 }}
        range={{ lower: state.values === 'whole' ? 1 : 0.000000001, upper: 1_000_000_000_000 }}
        whole={state.values === 'whole'}
      />
      <SelectField
        label="Values"
        hint="Geometric noise applies only to whole numbers."
        value={state.values}
        options={[
          ['whole', 'whole numbers'],
          ['real', 'real numbers'],
        ]}
        onChange={(values) =>
          change({
            values,
            contribution: values === 'whole' ? Math.ceil(state.contribution) : state.contribution,
          })
        }
      />
      <SelectField
        label="Measure of error"
        hint="For each statistic. Half-widths have a confidence of 95%."
        {...field('measure')}
        options={MEASURES.map((measure) => [measure, MEASURE_NAMES[measure]])}
      />
    </div>
  )
}
