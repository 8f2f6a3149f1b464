/** State of a page that its address contains: one parameter for each field that differs from its initial value. */
export type AddressState = Readonly<Record<string, string | number>>

/** Allowed texts of the fields that are chosen from a list. */
export type Choices<State> = { readonly [Name in keyof State]?: readonly string[] }

/**
 * Reads a state from the parameters of an address. Unknown parameters, numbers below 0 and texts outside the choices are
 * ignored.
 */
export function readState<State extends AddressState>(
  initial: State,
  choices: Choices<State>,
  parameters: URLSearchParams,
): State {
  const read = Object.entries(initial).map(([name, value]) => {
    const text = parameters.get(name)
    if (text === null) return [name, value]
    if (typeof value === 'number') {
      const number = Number(text)
      return [name, text.trim() !== '' && Number.isFinite(number) && number >= 0 ? number : value]
    }
    const allowed = choices[name]
    return [name, allowed === undefined || allowed.includes(text) ? text : value]
  })
  return Object.fromEntries(read) as State
}

/** Returns the parameters of an address: the fields that differ from their initial values. */
export function stateParameters<State extends AddressState>(initial: State, state: State): URLSearchParams {
  return new URLSearchParams(
    Object.entries(state)
      .filter(([name, value]) => value !== initial[name])
      .map(([name, value]): [string, string] => [name, String(value)]),
  )
}
