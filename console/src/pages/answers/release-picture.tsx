import { useEffect, useRef, useSyncExternalStore } from 'react'
import { api, bodyOf, requests } from '../../api/api.ts'
import { saveFile } from '../../api/save-file.ts'
import { ActionButton } from '../../components/forms/action-button.tsx'
import { ProblemNotice } from '../../components/notices/notices.tsx'
import styles from './answers.module.css'
import type { Processing } from './processing.ts'

interface ReleasePictureProps {
  readonly id: string
  /** Draws values that are post-processed in this way, in place of the stored ones. */
  readonly processing?: Processing | undefined
  /** Columns of the one table of marginals to draw. */
  readonly columns?: readonly string[]
}

/** The picture of a release that the service draws, in the colours of the page. */
export function ReleasePicture({ id, ...drawn }: ReleasePictureProps) {
  const theme = useTheme()
  const { data, error, refetch } = api.useQuery(
    'get',
    '/v1/releases/{id}/plot',
    { params: { path: { id }, query: { theme, ...parametersOf(drawn) } }, parseAs: 'text' },
    { staleTime: Number.POSITIVE_INFINITY },
  )
  if (error !== null) return <ProblemNotice error={error} onRetry={refetch} />
  if (typeof data !== 'string') return <div className={styles.awaited} />
  return (
    <>
      <Picture svg={data} />
      <div className={styles.downloads}>
        <DownloadPicture id={id} {...drawn} />
      </div>
    </>
  )
}

/** Button that saves the picture of a release that the service draws. It has a light background. */
export function DownloadPicture({ id, ...drawn }: ReleasePictureProps) {
  const download = async () => {
    const picture = requests.GET('/v1/releases/{id}/plot', {
      params: { path: { id }, query: parametersOf(drawn) },
      parseAs: 'text',
    })
    saveFile(`release-${id}.svg`, new Blob([await bodyOf(picture)], { type: 'image/svg+xml' }))
  }
  return (
    <ActionButton look="quiet" action={download}>
      Download SVG
    </ActionButton>
  )
}

/**
 * A picture of the service. It is parsed as XML, so that no text in it becomes HTML or runs. Its title and description are
 * what screen readers say.
 */
function Picture({ svg }: { readonly svg: string }) {
  const frame = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const drawing = new DOMParser().parseFromString(svg, 'image/svg+xml').documentElement
    const texts = [...drawing.children].filter(({ tagName }) => tagName === 'title' || tagName === 'desc')
    const label = `Chart: ${texts.map(({ textContent }) => textContent).join('. ')}`
    // Browsers would show the title wherever the pointer is.
    for (const text of texts) text.remove()
    drawing.ariaHidden = 'true'
    frame.current?.setAttribute('aria-label', label)
    frame.current?.replaceChildren(drawing)
  }, [svg])
  // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls sideways must be reachable by keyboard
  return <div role="img" className={styles.picture} tabIndex={0} ref={frame} />
}

/** Returns what is drawn as parameters of an address; no post-processing for values as they are stored. */
function parametersOf({ processing, columns }: Omit<ReleasePictureProps, 'id'>) {
  const table = columns === undefined ? {} : { columns: columns.join(',') }
  if (processing === undefined) return table
  const flag = (isOn: boolean) => (isOn ? 'true' : 'false')
  return { ...table, round: flag(processing.round), nonNegative: flag(processing.nonNegative) } as const
}

const dark = matchMedia('(prefers-color-scheme: dark)')

function subscribe(listener: () => void): () => void {
  dark.addEventListener('change', listener)
  const chosen = new MutationObserver(listener)
  chosen.observe(document.documentElement, { attributeFilter: ['data-theme'] })
  return () => {
    dark.removeEventListener('change', listener)
    chosen.disconnect()
  }
}

function currentTheme(): 'light' | 'dark' {
  const { theme } = document.documentElement.dataset
  if (theme === 'light' || theme === 'dark') return theme
  return dark.matches ? 'dark' : 'light'
}

/** Returns the theme of the page: that which the person chose, or else that of the system. */
function useTheme(): 'light' | 'dark' {
  return useSyncExternalStore(subscribe, currentTheme)
}
