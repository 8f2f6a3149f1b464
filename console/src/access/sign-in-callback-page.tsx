import { useEffect, useState } from 'react'
import { useLocation } from 'wouter'
import { Loading } from '../components/notices/notices.tsx'
import { returnFromProvider } from './provider-sign-in.ts'
import { SignInPage } from './sign-in-page.tsx'

/** The sign-in that has been started. It must happen once, because a code can be used once. */
let ending: Promise<string> | undefined

/** Page to which the OpenID provider returns. */
export default function SignInCallbackPage() {
  const [, navigate] = useLocation()
  const [error, setError] = useState<unknown>()
  useEffect(() => {
    ending ??= returnFromProvider()
    ending.then((address) => navigate(address, { replace: true })).catch(setError)
  }, [navigate])
  return error === undefined ? <Loading what="your account" /> : <SignInPage reason="provider" />
}
