import { useEffect, useRef } from 'react'
import styles from './picture.module.css'

export interface PictureProps {
  /** SVG document of the service. */
  readonly svg: string
  /** What the picture shows, for screen readers. */
  readonly label: string
}

/** Picture that the service drew. It is parsed as XML, so that no text in it becomes HTML or runs. */
export function Picture({ svg, label }: PictureProps) {
  const frame = useRef<HTMLElement>(null)
  useEffect(() => {
    const drawing = new DOMParser().parseFromString(svg, 'image/svg+xml').documentElement
    drawing.setAttribute('role', 'img')
    drawing.setAttribute('aria-label', label)
    // The parts of the drawing have labels of their own, which would be read one by one.
    for (const part of drawing.querySelectorAll('[role], [aria-label]')) {
      part.removeAttribute('role')
      part.removeAttribute('aria-label')
      part.removeAttribute('aria-roledescription')
    }
    frame.current?.replaceChildren(drawing)
  }, [svg, label])
  return <figure className={styles.picture} ref={frame} />
}
