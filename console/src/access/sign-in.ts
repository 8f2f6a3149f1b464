import { requests } from '../api/api.ts'

/**
 * Asks the service if a key is valid.
 * @throws Problem, ConnectionFailed or UnexpectedResponse
 */
export async function checkKey(key: string): Promise<void> {
  // A header must not contain other characters, and no key has them.
  if (!/^[\x21-\x7e]+$/.test(key))
    throw new TypeError('a key consists of letters, digits and signs, without spaces')
  await requests.GET('/v1/me', { headers: { authorization: `Bearer ${key}` } })
}
