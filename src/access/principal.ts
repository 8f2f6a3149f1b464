/** What a key may be used for. */
export type Role = 'analyst' | 'custodian' | 'auditor'

export const ROLES = ['analyst', 'custodian', 'auditor'] as const satisfies readonly Role[]

/** Who asks: the name is what charges and releases belong to. */
export interface Principal {
  readonly name: string
  readonly role: Role
}
