import { Section } from '../../components/section.tsx'
import styles from './risk.module.css'

/** Sentences that record a choice of epsilon, for a privacy officer's files. */
export function Statement({ sentences }: { readonly sentences: readonly string[] }) {
  return (
    <Section
      title="Statement"
      lead="The assumptions and the result in words. The address of this page contains all of it."
    >
      <ol className={styles.statement}>
        {sentences.map((sentence) => (
          <li key={sentence}>{sentence}</li>
        ))}
      </ol>
    </Section>
  )
}
