#!/bin/sh
# Creates the database of the ledger, and a role that can use this database and nothing else. PostgreSQL's image runs it
# once, when the volume is empty. The role may create schemas, because the service creates `sotto`.
set -eu
export LEDGER_PASSWORD_FILE="${LEDGER_PASSWORD_FILE:-/run/secrets/ledger-password}"

psql --no-psqlrc --quiet --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname postgres <<'SQL'
\set password `cat "$LEDGER_PASSWORD_FILE"`
SET password_encryption = 'scram-sha-256';
CREATE ROLE sotto LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS PASSWORD :'password';
CREATE DATABASE sotto ENCODING 'UTF8' TEMPLATE template0;
REVOKE ALL ON DATABASE sotto FROM PUBLIC;
REVOKE CONNECT ON DATABASE postgres, template1 FROM PUBLIC;
GRANT CONNECT, CREATE ON DATABASE sotto TO sotto;
\connect sotto
REVOKE ALL ON SCHEMA public FROM PUBLIC;
SQL
