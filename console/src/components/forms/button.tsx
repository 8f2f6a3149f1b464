import type { ButtonHTMLAttributes, ReactNode } from 'react'
import { Link } from 'wouter'
import styles from './button.module.css'

export type ButtonLook = 'primary' | 'plain' | 'quiet' | 'danger'

export interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly look?: ButtonLook
  /** True while the action runs. The button keeps the focus and ignores clicks. */
  readonly busy?: boolean
}

/** Button that starts an action. */
export function Button({ look = 'plain', busy = false, type = 'button', onClick, ...rest }: ButtonProps) {
  return (
    <button
      {...rest}
      type={type}
      className={`${styles.button} ${styles[look]}`}
      aria-busy={busy}
      aria-disabled={busy || undefined}
      onClick={busy ? (event) => event.preventDefault() : onClick}
    />
  )
}

export interface ButtonLinkProps {
  readonly href: string
  readonly look?: ButtonLook
  /** Runs before the page changes. */
  readonly onClick?: () => void
  readonly children: ReactNode
}

/** Link to a page of the console that looks like a button. */
export function ButtonLink({ href, look = 'plain', onClick, children }: ButtonLinkProps) {
  return (
    <Link href={href} className={`${styles.button} ${styles[look]}`} onClick={onClick}>
      {children}
    </Link>
  )
}
