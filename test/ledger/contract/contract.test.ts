import { describeOnSqlite } from '../stores.ts'
import { describeContract } from './contract.ts'

describeOnSqlite('the contract of the ledger', describeContract)
