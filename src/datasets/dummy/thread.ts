import { computation } from '../../platform/threads/computation.ts'
import { writeDummyFile } from './text.ts'

/** Writes made-up rows to a file. */
export const dummyFile = computation(writeDummyFile)
