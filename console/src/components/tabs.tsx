import { Link, useLocation } from 'wouter'
import styles from './tabs.module.css'

export interface TabsProps {
  readonly label: string
  readonly tabs: readonly { readonly href: string; readonly title: string }[]
}

/** Links between the parts of a subject, each with an address of its own. */
export function Tabs({ label, tabs }: TabsProps) {
  const [location] = useLocation()
  return (
    <nav aria-label={label} className={styles.tabs}>
      {tabs.map(({ href, title }) => (
        <Link key={href} href={href} aria-current={location === href ? 'page' : undefined}>
          {title}
        </Link>
      ))}
    </nav>
  )
}
