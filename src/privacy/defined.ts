type OptionalKeys<Fields> = {
  [Key in keyof Fields]: undefined extends Fields[Key] ? Key : never
}[keyof Fields]

/** Fields of which those that may be `undefined` may be absent instead. */
export type Defined<Fields> = Omit<Fields, OptionalKeys<Fields>> & {
  [Key in OptionalKeys<Fields>]?: Exclude<Fields[Key], undefined>
}

/** Leaves out the fields that are `undefined`, for objects whose optional fields are absent instead. */
export function defined<const Fields extends object>(fields: Fields): Defined<Fields> {
  // A loop, because every answer passes here several times.
  const present: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) present[name] = value
  return present as Defined<Fields>
}
