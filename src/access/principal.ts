/** Role of a key; it decides which calls the key may make. */
export type Role = 'analyst' | 'custodian' | 'auditor'

export const ROLES = ['analyst', 'custodian', 'auditor'] as const satisfies readonly Role[]

/** Authenticated caller. Charges and releases belong to the name. */
export interface Principal {
  readonly name: string
  readonly role: Role
}
