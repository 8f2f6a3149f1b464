-- The documents that replicas share: the schema `sotto_catalog`. Raise its version with every change of this file, in
-- documents.ts.

-- Revisions come from a sequence, so that a document that is removed and written again never has an earlier revision.
CREATE SEQUENCE sotto_catalog.revisions AS bigint;

CREATE TABLE sotto_catalog.documents (
  name text COLLATE "C" PRIMARY KEY CHECK (name <> ''),
  revision bigint NOT NULL,
  contents text NOT NULL CHECK (contents <> '')
);
