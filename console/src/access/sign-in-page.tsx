import { type FormEvent, useState } from 'react'
import { useLocation } from 'wouter'
import { api, queryClient, requests } from '../api/api.ts'
import { keepCredential, type SignedOut } from '../api/credential.ts'
import { Button } from '../components/forms/button.tsx'
import { TextField } from '../components/forms/fields.tsx'
import { Notice, ProblemNotice } from '../components/notices/notices.tsx'
import Icon from '../icon.svg'
import { leaveForProvider } from './provider-sign-in.ts'
import styles from './sign-in-page.module.css'

/** Page on which a person signs in with a key, or at the OpenID provider. The page that they came for follows. */
export function SignInPage({ reason }: { readonly reason: SignedOut | 'provider' }) {
  const [key, setKey] = useState('')
  const [remember, setRemember] = useState(false)
  const [attempt, setAttempt] = useState<{ readonly busy: boolean; readonly error?: unknown }>({
    busy: false,
  })
  const signIn = async (event: FormEvent) => {
    event.preventDefault()
    setAttempt({ busy: true })
    try {
      const token = key.trim()
      await checkKey(token)
      // Nothing that another person was shown in this tab stays.
      queryClient.clear()
      keepCredential(token, remember)
    } catch (error) {
      setAttempt({ busy: false, error })
    }
  }
  return (
    <main className={styles.page}>
      <title>Sign in · Sotto</title>
      <form className={styles.card} onSubmit={signIn}>
        <div className={styles.brand}>
          <img src={Icon} alt="" width="40" height="40" />
          <h1>Sotto</h1>
        </div>
        <p className={styles.lead}>
          Statistics about people that protect each of them, with differential privacy.
        </p>
        <Reason reason={reason} />
        {attempt.error !== undefined && <ProblemNotice error={attempt.error} />}
        <TextField
          label="API key"
          hint={
            <>
              The first start writes keys to the data folder: <code>analyst.key</code> and{' '}
              <code>custodian.key</code>.
            </>
          }
          type="password"
          autoComplete="off"
          spellCheck={false}
          required
          autoFocus
          value={key}
          onChange={setKey}
        />
        <label className={styles.remember}>
          <input type="checkbox" checked={remember} onChange={(event) => setRemember(event.target.checked)} />
          Keep me signed in until this tab is closed
        </label>
        <Button type="submit" look="primary" busy={attempt.busy}>
          Sign in
        </Button>
        <ProviderButton remember={remember} onError={(error) => setAttempt({ busy: false, error })} />
        <p className={styles.links}>
          <a href="/guide/">Guide</a> · <a href="/docs">API documentation</a>
        </p>
      </form>
    </main>
  )
}

/** Why the person has to sign in, unless they know it. */
function Reason({ reason }: { readonly reason: SignedOut | 'provider' }) {
  return (
    <>
      {reason === 'provider' && (
        <Notice tone="danger" title="You are not signed in">
          The identity provider did not complete the sign-in. Try again, or sign in with a key.
        </Notice>
      )}
      {reason === 'refused' && (
        <Notice tone="cost" title="Sign in again">
          The service no longer accepts your key or token. It may have expired or been replaced or deleted:
          ask a custodian for a new one.
        </Notice>
      )}
    </>
  )
}

interface ProviderButtonProps {
  readonly remember: boolean
  readonly onError: (error: unknown) => void
}

/** Button that leads to the OpenID provider, if the service names one with which browsers can sign in. */
function ProviderButton({ remember, onError }: ProviderButtonProps) {
  const [address] = useLocation()
  const { data } = api.useQuery('get', '/v1/sign-in', {}, { retry: false })
  const { provider } = data ?? {}
  if (provider?.clientId === undefined) return undefined
  const { clientId } = provider
  const returnTo = address.startsWith('/sign-in') ? '/datasets' : `${address}${window.location.search}`
  return (
    <Button
      onClick={() => leaveForProvider({ ...provider, clientId }, { remember, returnTo }).catch(onError)}
    >
      Sign in at {new URL(provider.issuer).host}
    </Button>
  )
}

/**
 * Asks the service if a key is valid.
 * @throws Problem, ConnectionFailed or UnexpectedResponse
 */
async function checkKey(key: string): Promise<void> {
  // A header must not contain other characters, and no key has them.
  if (!/^[\x21-\x7e]+$/.test(key))
    throw new TypeError('a key consists of letters, digits and signs, without spaces')
  await requests.GET('/v1/me', { headers: { authorization: `Bearer ${key}` } })
}
