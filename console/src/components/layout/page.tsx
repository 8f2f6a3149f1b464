import { type ReactNode, useEffect, useId } from 'react'
import { Link, useLocation } from 'wouter'
import { ButtonLink } from '../forms/button.tsx'
import { guidePageOf } from './guide-pages.ts'
import styles from './page.module.css'
import pagesStyles from './pages.module.css'
import sectionStyles from './section.module.css'
import tabsStyles from './tabs.module.css'

export interface PageProps {
  readonly title: string
  /** Text below the title. */
  readonly lead?: ReactNode
  /** Pages above this one, outermost first. */
  readonly path?: readonly { readonly title: string; readonly href: string }[]
  /** Buttons beside the title. */
  readonly actions?: ReactNode
  readonly children: ReactNode
}

/** Contents of a page, with its heading and a link to the guide. The title is that of the window as well. */
export function Page({ title, lead, path = [], actions, children }: PageProps) {
  const [location] = useLocation()
  useEffect(() => {
    document.title = `${title} · Sotto`
  }, [title])
  return (
    <>
      <header className={styles.header}>
        <div>
          {path.length > 0 && (
            <nav aria-label="Breadcrumb">
              <ol className={styles.path}>
                {path.map(({ title: each, href }) => (
                  <li key={href}>
                    <Link href={href}>{each}</Link>
                  </li>
                ))}
              </ol>
            </nav>
          )}
          <h1>{title}</h1>
          {lead !== undefined && <div className={styles.lead}>{lead}</div>}
        </div>
        <div className={styles.actions}>
          {actions}
          <a href={guidePageOf(location)} className={styles.help} target="_blank" rel="noreferrer">
            Help
          </a>
        </div>
      </header>
      {children}
    </>
  )
}

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
    <section className={sectionStyles.section} aria-labelledby={id}>
      <header className={sectionStyles.header}>
        <h2 id={id}>{title}</h2>
        {aside}
      </header>
      {lead !== undefined && <p className={sectionStyles.lead}>{lead}</p>}
      {children}
    </section>
  )
}

export interface TabsProps {
  readonly label: string
  readonly tabs: readonly { readonly href: string; readonly title: string }[]
}

/** Links between the parts of a subject, each with an address of its own. */
export function Tabs({ label, tabs }: TabsProps) {
  const [location] = useLocation()
  return (
    <nav aria-label={label} className={tabsStyles.tabs}>
      {tabs.map(({ href, title }) => (
        <Link key={href} href={href} aria-current={location === href ? 'page' : undefined}>
          {title}
        </Link>
      ))}
    </nav>
  )
}

export interface PagesProps {
  /** Name of the listed things, for screen readers. */
  readonly label: string
  /** Address of the first page, if another is shown. */
  readonly newest: string | undefined
  /** Address of the page after this one, if there is one. */
  readonly older: string | undefined
}

/** Links between the pages of a list that begins with the newest. */
export function Pages({ label, newest, older }: PagesProps) {
  return (
    <nav className={pagesStyles.pages} aria-label={label}>
      {newest !== undefined && <ButtonLink href={newest}>Newest</ButtonLink>}
      {older !== undefined && <ButtonLink href={older}>Older</ButtonLink>}
    </nav>
  )
}
