import { keepPreviousData } from '@tanstack/react-query'
import { api } from '../../api/api.ts'
import { Loading } from '../../components/loading.tsx'
import { Page } from '../../components/page.tsx'
import { ProblemNotice } from '../../components/problem-notice.tsx'
import { Section } from '../../components/section.tsx'
import { useAddressState } from '../../components/use-address-state.ts'
import { useDebounced } from '../../components/use-debounced.ts'
import { ComparedNoise } from './compared-noise.tsx'
import { COMPARISON_CHOICES, type ComparisonRequest, INITIAL_COMPARISON, requestOf } from './comparison.ts'
import { WorkloadFields } from './workload-fields.tsx'

/** Page that compares the noise of the mechanisms by the number of statistics that one person influences. */
export default function MechanismsPage() {
  const { state, change } = useAddressState(INITIAL_COMPARISON, COMPARISON_CHOICES)
  const body = JSON.parse(useDebounced(JSON.stringify(requestOf(state)))) as ComparisonRequest
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
