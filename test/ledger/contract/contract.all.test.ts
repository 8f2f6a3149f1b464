import { describeOnPostgres } from '../stores.ts'
import { describeContract } from './contract.ts'

describeOnPostgres('the contract of the ledger', describeContract)
