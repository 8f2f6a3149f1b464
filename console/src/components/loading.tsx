import styles from './loading.module.css'

/** Placeholder while something loads. It appears after a moment, so that fast loads do not flicker. */
export function Loading({ what }: { readonly what: string }) {
  return (
    <div className={styles.loading} role="status" aria-label={`Loading ${what}`}>
      <span />
      <span />
      <span />
    </div>
  )
}
