import { describe, expect, it } from 'vitest'
import { CERTIFICATES, importCertified, violationOf } from './certificates.ts'

describe('the probability of every outcome is within exact bounds', async () => {
  const samplers = await importCertified([])

  it.each(CERTIFICATES.filter(({ quick }) => !quick))('$name', (certificate) => {
    expect(violationOf(certificate, samplers)).toBeUndefined()
  })
})
