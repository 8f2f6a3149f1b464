import type { Schema } from '../ledger/postgres/migration.ts'

/**
 * The schema of the documents. A released migration is never edited; new ones are appended. Revisions come from a sequence,
 * so that a document that is removed and written again never has an earlier revision.
 */
export const SCHEMA: Schema = {
  name: 'sotto_catalog',
  store: 'catalog',
  // `Stc1`.
  lock: 0x53746331,
  migrations: [
    `
    CREATE SEQUENCE sotto_catalog.revisions AS bigint;
    CREATE TABLE sotto_catalog.documents (
      name text COLLATE "C" PRIMARY KEY CHECK (name <> ''),
      revision bigint NOT NULL,
      contents text NOT NULL CHECK (contents <> '')
    );
    `,
  ],
}
