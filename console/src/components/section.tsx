import { type ReactNode, useId } from 'react'
import styles from './section.module.css'

export interface SectionProps {
  readonly title: string
  /** Element beside the title, such as a button. */
  readonly aside?: ReactNode
  /** Sentence below the title. */
  readonly lead?: ReactNode
  readonly children: ReactNode
}

/** Bordered part of a page with a heading. */
export function Section({ title, aside, lead, children }: SectionProps) {
  const id = useId()
  return (
    <section className={styles.section} aria-labelledby={id}>
      <header className={styles.header}>
        <h2 id={id}>{title}</h2>
        {aside}
      </header>
      {lead !== undefined && <p className={styles.lead}>{lead}</p>}
      {children}
    </section>
  )
}
