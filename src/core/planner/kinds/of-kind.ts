/** The member of a union for one of its kinds, also where members stand for several kinds. */
export type OfKind<Union, Kind> = Union extends { readonly kind: infer Named }
  ? Kind extends Named
    ? Union & { readonly kind: Kind }
    : never
  : never
