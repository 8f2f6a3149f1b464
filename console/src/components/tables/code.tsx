import { useState } from 'react'
import { Button } from '../forms/button.tsx'
import styles from './code.module.css'

export interface CodeProps {
  /** Subject of the code, for screen readers. */
  readonly label: string
  readonly code: string
}

/** Code with a button that copies it. */
export function Code({ label, code }: CodeProps) {
  const [copied, setCopied] = useState<'no' | 'yes' | 'failed'>('no')
  const copy = () =>
    navigator.clipboard
      .writeText(code)
      .then(() => setCopied('yes'))
      // Browsers permit it on https and on this machine only.
      .catch(() => setCopied('failed'))
  return (
    <div className={styles.code}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
      <section aria-label={label} tabIndex={0}>
        <pre>{code}</pre>
      </section>
      <Button look="quiet" onClick={copy}>
        {copied === 'yes' ? 'Copied' : copied === 'failed' ? 'Select the text to copy it' : 'Copy'}
      </Button>
    </div>
  )
}
