import { describeContract } from './describe-contract.ts'
import { describeOnSqlite } from './stores.ts'

describeOnSqlite('the contract of the ledger', describeContract)
