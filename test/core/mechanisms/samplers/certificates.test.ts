import { beforeAll, describe, expect, it } from 'vitest'
import { CERTIFICATES, type CertifiedSamplers, importCertified, violationOf } from './certificates.ts'

// Those that take longer: certificates.all.test.ts. What they detect: certificate-mutants.long.test.ts.

describe('the probability of every outcome is within exact bounds', () => {
  let samplers: CertifiedSamplers
  beforeAll(async () => {
    samplers = await importCertified([])
  })

  it.each(CERTIFICATES.filter(({ quick }) => quick))('$name', (certificate) => {
    expect(violationOf(certificate, samplers)).toBeUndefined()
  })
})
