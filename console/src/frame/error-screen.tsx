import { Component, type ReactNode } from 'react'
import { Page } from '../components/layout/page.tsx'
import { ProblemNotice } from '../components/notices/notices.tsx'

interface State {
  readonly error?: unknown
}

/** Shows what went wrong if drawing a page fails. React offers this to classes only. */
export class ErrorScreen extends Component<{ readonly children: ReactNode }, State> {
  override state: State = {}

  static getDerivedStateFromError(error: unknown): State {
    return { error }
  }

  override render() {
    if (!('error' in this.state)) return this.props.children
    return (
      <Page title="Sotto">
        <ProblemNotice error={this.state.error} onRetry={() => location.reload()} />
      </Page>
    )
  }
}
