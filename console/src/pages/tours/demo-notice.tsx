import { api } from '../../api/api.ts'
import { Notice } from '../../components/notices/notices.tsx'
import { DEMO } from './tours.ts'

/** Says that the demo dataset is missing, if it is. */
export function DemoNotice() {
  const { data } = api.useQuery('get', '/v1/datasets')
  if (data === undefined || data.datasets.some(({ id }) => id === DEMO)) return null
  return (
    <Notice tone="cost" title="The demo dataset is missing">
      The tours use the dataset <code>{DEMO}</code>. The service registers it at its start unless{' '}
      <code>SOTTO_DEMO</code> is <code>false</code>, or your key may not include it.
    </Notice>
  )
}
