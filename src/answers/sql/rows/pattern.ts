/** A character, any character, or any number of characters. */
type Token = { readonly character: string } | 'one' | 'any'

/**
 * Compiles a pattern of LIKE. Matching takes at most the product of both lengths: only the last `%` is tried again.
 * @returns a function that tells whether a text matches
 */
export function patternOf(pattern: string): (text: string) => boolean {
  const tokens = tokensOf(pattern)
  return (text) => {
    const characters = [...text]
    let [at, token] = [0, 0]
    let retry: { readonly token: number; at: number } | undefined
    while (at < characters.length) {
      const next = tokens[token]
      if (next === 'any') {
        retry = { token: token + 1, at }
        token += 1
      } else if (next !== undefined && (next === 'one' || next.character === characters[at])) {
        at += 1
        token += 1
      } else if (retry !== undefined) {
        retry.at += 1
        at = retry.at
        token = retry.token
      } else return false
    }
    return tokens.slice(token).every((each) => each === 'any')
  }
}

function tokensOf(pattern: string): readonly Token[] {
  const tokens: Token[] = []
  const characters = [...pattern]
  for (let place = 0; place < characters.length; place += 1) {
    const character = characters[place] ?? ''
    if (character === '%') tokens.push('any')
    else if (character === '_') tokens.push('one')
    else if (character === '\\' && place + 1 < characters.length) {
      place += 1
      tokens.push({ character: characters[place] ?? '' })
    } else tokens.push({ character })
  }
  return tokens
}
