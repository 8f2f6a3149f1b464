import { useEffect, useRef } from 'react'
import styles from './picture.module.css'

export interface ChartProps {
  /** Vega specification of the service, with all data. */
  readonly specification: Readonly<Record<string, unknown>>
  /** What the chart shows, for screen readers. */
  readonly label: string
  /** Called if the chart cannot be drawn. */
  readonly onFailure: () => void
}

/** Chart that the browser draws, with tooltips. Vega is loaded with the first one. */
export function Chart({ specification, label, onFailure }: ChartProps) {
  const frame = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const drawing = document.createElement('div')
    // The label of the chart says what its parts show.
    drawing.ariaHidden = 'true'
    let remove: (() => void) | undefined
    let isGone = false
    frame.current?.replaceChildren(drawing)
    const draw = async () => {
      const { drawSpecification } = await import('./vega-drawing.ts')
      // The chart may have been replaced while Vega was loaded or while it was drawn.
      if (isGone) return
      const done = await drawSpecification(drawing, specification)
      if (isGone) done()
      else remove = done
    }
    draw().catch(() => {
      if (!isGone) onFailure()
    })
    return () => {
      isGone = true
      remove?.()
    }
  }, [specification, onFailure])
  return <div role="img" aria-label={label} className={styles.picture} ref={frame} />
}
