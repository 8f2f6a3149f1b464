-- In words of our own, checked against R/dbConnect_PqDriver.R, R/tables.R and R/dbListObjects_PqConnection_ANY.R of RPostgres 1.4.10. Session
SET datestyle to 'iso, mdy'

SET TIMEZONE = 'UTC'

SHOW timezone

SELECT oid, typname FROM pg_type

SELECT set_config('application_name', 'R', false)

-- Tables
SELECT table_name, table_schema FROM information_schema.tables WHERE TRUE AND (table_schema <> 'pg_catalog') AND (table_schema = ANY(current_schemas(true)))

SELECT EXISTS (SELECT table_name FROM information_schema.tables WHERE TRUE AND (table_schema = ANY(current_schemas(true))) AND table_name = 'census')

SELECT NULL::text AS schema, table_name AS table FROM (SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY table_type, table_name) as tables
UNION ALL SELECT DISTINCT table_schema AS schema, NULL::text AS table FROM (SELECT table_schema FROM information_schema.tables WHERE TRUE AND true) as schemas;

-- Fields, in the first schema of the search path that has the table
SELECT column_name FROM (SELECT *, rank() OVER (ORDER BY place) AS best FROM (SELECT * FROM unnest(current_schemas(true)) WITH ORDINALITY AS path(table_schema, place) WHERE table_schema != 'pg_catalog') on_path
  INNER JOIN INFORMATION_SCHEMA.COLUMNS USING (table_schema) WHERE table_name = 'census') found WHERE best = 1 ORDER BY ordinal_position

SELECT column_name FROM (SELECT 'public'::varchar AS table_schema, 1 AS place) path INNER JOIN INFORMATION_SCHEMA.COLUMNS USING (table_schema) WHERE table_name = 'census' ORDER BY ordinal_position

-- dbplyr 2.6.0 (R/db-sql.R) asks for the columns of a table, and of a query
SELECT * FROM "census" AS "q01" WHERE (0 = 1)

SELECT * FROM (SELECT "Sex", COUNT(*) AS "n" FROM "census" GROUP BY "Sex") AS "q01" WHERE (0 = 1)
