import { describeContract } from './describe-contract.ts'
import { describeOnPostgres } from './stores.ts'

describeOnPostgres('the contract of the ledger', describeContract)
