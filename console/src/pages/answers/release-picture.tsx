import { useCallback, useState } from 'react'
import { api, bodyOf, requests } from '../../api/api.ts'
import { saveFile } from '../../api/save-file.ts'
import { Button } from '../../components/button.tsx'
import { Chart } from '../../components/chart.tsx'
import { Picture } from '../../components/picture.tsx'
import { ProblemNotice } from '../../components/problem-notice.tsx'
import { useTheme } from '../../components/use-theme.ts'
import styles from './answers.module.css'
import type { Processing } from './processing.ts'

interface ReleasePictureProps {
  readonly id: string
  readonly label: string
  /** Draws values that are post-processed in this way, in place of the stored ones. */
  readonly processing?: Processing
}

/** Charts of a release in the colours of the page, with tooltips; a picture if the browser cannot draw them. */
export function ReleasePicture(props: ReleasePictureProps) {
  const { id, processing } = props
  const theme = useTheme()
  const [failed, setFailed] = useState(false)
  const onFailure = useCallback(() => setFailed(true), [])
  const { data, error, refetch } = api.useQuery(
    'get',
    '/v1/releases/{id}/plot',
    { params: { path: { id }, query: { theme, format: 'vega', ...flagsOf(processing) } } },
    { staleTime: Number.POSITIVE_INFINITY, enabled: !failed },
  )
  if (failed) return <DrawnPicture {...props} />
  if (error !== null) return <ProblemNotice error={error} onRetry={refetch} />
  if (typeof data !== 'object') return <div className={styles.awaited} />
  return (
    <>
      {data.panels.map(({ title, description, specification }, place) => (
        <Chart
          // biome-ignore lint/suspicious/noArrayIndexKey: panels of a batch can have the same title
          key={place}
          specification={specification}
          label={`Chart: ${title}. ${description}`}
          onFailure={onFailure}
        />
      ))}
      <DownloadPicture id={id} processing={processing} />
    </>
  )
}

/** Picture that the service draws. */
function DrawnPicture({ id, label, processing }: ReleasePictureProps) {
  const theme = useTheme()
  const { data, error, refetch } = api.useQuery(
    'get',
    '/v1/releases/{id}/plot',
    { params: { path: { id }, query: { theme, ...flagsOf(processing) } }, parseAs: 'text' },
    { staleTime: Number.POSITIVE_INFINITY },
  )
  if (error !== null) return <ProblemNotice error={error} onRetry={refetch} />
  if (typeof data !== 'string') return <div className={styles.awaited} />
  return (
    <>
      <Picture svg={data} label={`Chart: ${label}`} />
      <DownloadPicture id={id} processing={processing} />
    </>
  )
}

interface DownloadPictureProps {
  readonly id: string
  readonly processing: Processing | undefined
}

/** Saves the picture of a release, on a light background. */
function DownloadPicture({ id, processing }: DownloadPictureProps) {
  const [attempt, setAttempt] = useState<{ readonly busy: boolean; readonly error?: unknown }>({
    busy: false,
  })
  const download = async () => {
    setAttempt({ busy: true })
    try {
      const svg = await bodyOf(
        requests.GET('/v1/releases/{id}/plot', {
          params: { path: { id }, query: flagsOf(processing) },
          parseAs: 'text',
        }),
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

/** Returns a post-processing as parameters of an address; none for values as they are stored. */
function flagsOf(processing: Processing | undefined) {
  if (processing === undefined) return {}
  const flag = (isOn: boolean) => (isOn ? 'true' : 'false')
  return { round: flag(processing.round), nonNegative: flag(processing.nonNegative) } as const
}
