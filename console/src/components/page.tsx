import { type ReactNode, useEffect } from 'react'
import { Link } from 'wouter'
import styles from './page.module.css'

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

/** Contents of a page, with its heading. The title is that of the window as well. */
export function Page({ title, lead, path = [], actions, children }: PageProps) {
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
        {actions !== undefined && <div className={styles.actions}>{actions}</div>}
      </header>
      {children}
    </>
  )
}
