import { type ReactNode, useEffect, useId, useRef, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { queryClient, type Role, useMe } from '../api/api.ts'
import { forgetCredential } from '../api/credential.ts'
import { Button } from '../components/forms/button.tsx'
import Icon from '../icon.svg'
import styles from './shell.module.css'
import { ThemeChoice } from './theme-choice.tsx'

interface Destination {
  readonly href: string
  readonly title: string
  /** Roles that are offered the page; all if absent. */
  readonly roles?: readonly Role[]
}

/** Pages of daily work, and below a heading those of decisions, administration and study. */
const DESTINATIONS: readonly Destination[] = [
  { href: '/datasets', title: 'Datasets' },
  { href: '/history', title: 'History' },
]

const FURTHER: readonly Destination[] = [
  { href: '/register', title: 'Register data', roles: ['custodian'] },
  { href: '/populations', title: 'Populations', roles: ['custodian'] },
  { href: '/keys', title: 'Keys', roles: ['custodian'] },
  { href: '/audit', title: 'Audit', roles: ['custodian', 'auditor'] },
  { href: '/risk', title: 'Choose epsilon' },
  { href: '/mechanisms', title: 'Mechanisms' },
  { href: '/evaluations', title: 'Evaluations' },
  { href: '/tours', title: 'Tours' },
]

/** Frame of every page: navigation, who is signed in, and the page. */
export function Shell({ children }: { readonly children: ReactNode }) {
  const [location] = useLocation()
  const [open, setOpen] = useState(false)
  const main = useRef<HTMLElement>(null)
  const shown = useRef(location)
  useEffect(() => {
    if (shown.current === location) return
    shown.current = location
    setOpen(false)
    // As after the load of a document: the page begins at its top, and the keyboard continues there.
    window.scrollTo(0, 0)
    main.current?.focus({ preventScroll: true })
  }, [location])
  return (
    <div className={styles.shell}>
      <a className={styles.skip} href="#main">
        Skip to the page
      </a>
      <header className={styles.bar}>
        <Link href="/datasets" className={styles.brand}>
          <img src={Icon} alt="" width="26" height="26" />
          Sotto
        </Link>
        <button
          type="button"
          className={styles.menu}
          aria-expanded={open}
          aria-controls="navigation"
          onClick={() => setOpen(!open)}
        >
          Menu
        </button>
      </header>
      <div className={styles.side} id="navigation" data-open={open}>
        <Navigation />
        <Caller />
      </div>
      <main ref={main} id="main" className={styles.main} tabIndex={-1}>
        {children}
      </main>
    </div>
  )
}

function Navigation() {
  const heading = useId()
  return (
    <nav aria-label="Console">
      <Destinations of={DESTINATIONS} />
      <p id={heading} className={styles.heading}>
        More
      </p>
      <Destinations of={FURTHER} label={heading}>
        <li>
          <a href="/guide/" className={styles.destination}>
            Guide
          </a>
        </li>
        <li>
          <a href="/docs" className={styles.destination}>
            API
          </a>
        </li>
      </Destinations>
    </nav>
  )
}

interface DestinationsProps {
  readonly of: readonly Destination[]
  /** Id of the heading of the list. */
  readonly label?: string
  readonly children?: ReactNode
}

function Destinations({ of, label, children }: DestinationsProps) {
  const [location] = useLocation()
  const me = useMe()
  const offered = of.filter(
    ({ roles }) => roles === undefined || (me !== undefined && roles.includes(me.role)),
  )
  return (
    <ul className={styles.list} aria-labelledby={label}>
      {offered.map(({ href, title }) => (
        <li key={href}>
          <Link
            href={href}
            className={styles.destination}
            aria-current={location === href || location.startsWith(`${href}/`) ? 'page' : undefined}
          >
            {title}
          </Link>
        </li>
      ))}
      {children}
    </ul>
  )
}

function Caller() {
  const me = useMe()
  return (
    <div className={styles.caller}>
      <ThemeChoice />
      {me !== undefined && (
        <div>
          <strong>{me.name}</strong>
          <div className={styles.role}>{me.role}</div>
        </div>
      )}
      <Button
        look="quiet"
        onClick={() => {
          queryClient.clear()
          forgetCredential('left')
        }}
      >
        Sign out
      </Button>
    </div>
  )
}
