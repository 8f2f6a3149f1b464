import { useCallback, useState } from 'react'
import { api, bodyOf, requests } from '../../api/api.ts'
import { saveFile } from '../../api/save-file.ts'
import { Button } from '../../components/button.tsx'
import { Chart } from '../../components/chart.tsx'
import { Picture } from '../../components/picture.tsx'
import { ProblemNotice } from '../../components/problem-notice.tsx'
import { useTheme } from '../../components/use-theme.ts'
import styles from './answers.module.css'

interface ReleasePictureProps {
  readonly id: string
  readonly label: string
}

/** Charts of a release in the colours of the page, with tooltips; a picture if the browser cannot draw them. */
export function ReleasePicture({ id, label }: ReleasePictureProps) {
  const theme = useTheme()
  const [failed, setFailed] = useState(false)
  const onFailure = useCallback(() => setFailed(true), [])
  const { data, error, refetch } = api.useQuery(
    'get',
    '/v1/releases/{id}/plot',
    { params: { path: { id }, query: { theme, format: 'vega' } } },
    { staleTime: Number.POSITIVE_INFINITY, enabled: !failed },
  )
  if (failed) return <DrawnPicture id={id} label={label} />
  if (error !== null) return <ProblemNotice error={error} onRetry={refetch} />
  if (typeof data !== 'object') return <div className={styles.awaited} />
  return (
    <>
      {data.panels.map(({ title, description, specification }) => (
        <Chart
          key={title}
          specification={specification}
          label={`Chart: ${title}. ${description}`}
          onFailure={onFailure}
        />
      ))}
      <DownloadPicture id={id} />
    </>
  )
}

/** Picture that the service draws. */
function DrawnPicture({ id, label }: ReleasePictureProps) {
  const theme = useTheme()
  const { data, error, refetch } = api.useQuery(
    'get',
    '/v1/releases/{id}/plot',
    { params: { path: { id }, query: { theme } }, parseAs: 'text' },
    { staleTime: Number.POSITIVE_INFINITY },
  )
  if (error !== null) return <ProblemNotice error={error} onRetry={refetch} />
  if (typeof data !== 'string') return <div className={styles.awaited} />
  return (
    <>
      <Picture svg={data} label={`Chart: ${label}`} />
      <DownloadPicture id={id} />
    </>
  )
}

/** Saves the picture of a release, on a light background. */
function DownloadPicture({ id }: { readonly id: string }) {
  const [attempt, setAttempt] = useState<{ readonly busy: boolean; readonly error?: unknown }>({
    busy: false,
  })
  const download = async () => {
    setAttempt({ busy: true })
    try {
      const svg = await bodyOf(
        requests.GET('/v1/releases/{id}/plot', { params: { path: { id } }, parseAs: 'text' }),
      )
      saveFile(`release-${id}.svg`, new Blob([svg], { type: 'image/svg+xml' }))
      setAttempt({ busy: false })
    } catch (error) {
      setAttempt({ busy: false, error })
    }
  }
  return (
    <div className={styles.downloads}>
      <Button look="quiet" onClick={download} busy={attempt.busy}>
        Download SVG
      </Button>
      {attempt.error !== undefined && <ProblemNotice error={attempt.error} onRetry={download} />}
    </div>
  )
}
