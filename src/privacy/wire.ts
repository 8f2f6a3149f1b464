import type { z } from 'zod'

/** Documents of a schema, read-only throughout. A field that is optional is absent, never `undefined`. */
export type Wire<Schema extends z.ZodType> = Plain<z.output<Schema>>

type Plain<T> = T extends readonly (infer Element)[]
  ? readonly Plain<Element>[]
  : T extends object
    ? { readonly [Key in keyof T]: Plain<Exclude<T[Key], undefined>> }
    : T
