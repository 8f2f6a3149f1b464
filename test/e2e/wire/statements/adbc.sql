-- In words of our own, checked against c/driver/postgresql of apache/arrow-adbc (commit 223664fe). Session
SHOW server_version_num

SELECT CURRENT_SCHEMA()

SET search_path TO 'public'

SELECT current_setting('TIMEZONE')

SET TIME ZONE 'UTC'

BEGIN TRANSACTION;ROLLBACK

-- Types, with the functions that read them
SELECT typname, oid, typreceive, typbasetype, typrelid, typarray FROM pg_catalog.pg_type WHERE (typreceive != 0 OR typsend != 0) AND typtype != 'r' AND typreceive::TEXT != 'array_recv'

SELECT attrelid, attname, atttypid FROM pg_catalog.pg_attribute ORDER BY attrelid, attnum

-- GetObjects $ ["sotto"]
SELECT datname FROM pg_catalog.pg_database WHERE datname = $1

-- Schemas $ ["public"]
SELECT nspname FROM pg_catalog.pg_namespace WHERE nspname <> 'information_schema' AND nspname !~ '^pg_' AND nspname = $1

-- Tables $ ["public", "{\"v\", \"r\"}", "cen%"]
SELECT CASE tab.relkind WHEN 'v' THEN 'view' WHEN 'r' THEN 'table' END AS kind, tab.relname FROM pg_catalog.pg_namespace sch
RIGHT JOIN pg_catalog.pg_class tab ON tab.relnamespace = sch.oid WHERE tab.relkind = ANY($2) AND sch.nspname = $1 AND tab.relname LIKE $3

-- Columns $ ["publ%", "cen%", "%"]
SELECT a.attnum, a.attname, t.typname, pg_catalog.col_description(tab.oid, a.attnum) FROM pg_catalog.pg_class AS tab INNER JOIN pg_catalog.pg_attribute AS a ON tab.oid = a.attrelid
INNER JOIN pg_catalog.pg_type AS t ON t.oid = a.atttypid INNER JOIN pg_catalog.pg_namespace AS sch ON tab.relnamespace = sch.oid
WHERE NOT a.attisdropped AND a.attnum > 0 AND sch.nspname LIKE $1 AND tab.relname LIKE $2 AND a.attname LIKE $3

-- Constraints $ ["census"]
WITH parts AS (SELECT con.conname, conrelid, UNNEST(con.conkey) AS own, confrelid, UNNEST(con.confkey) AS other FROM pg_catalog.pg_constraint AS con
    INNER JOIN pg_catalog.pg_class AS tab ON conrelid = tab.oid WHERE con.contype = 'f' AND tab.relname = $1),
  fks AS (SELECT conname, ARRAY_AGG(a.attname ORDER BY own) AS names FROM parts INNER JOIN pg_catalog.pg_attribute AS a ON a.attrelid = parts.conrelid AND a.attnum = parts.own GROUP BY conname),
  others AS (SELECT con.conname, ARRAY_AGG(a.attname) AS names FROM pg_catalog.pg_constraint AS con CROSS JOIN UNNEST(conkey) AS key INNER JOIN pg_catalog.pg_attribute AS a ON a.attnum = key AND a.attrelid = con.conrelid GROUP BY conname)
SELECT conname, names FROM fks UNION ALL SELECT conname, names FROM others

-- The columns of a table $ ["public.census"]
SELECT a.attname, a.atttypid FROM pg_catalog.pg_attribute AS a INNER JOIN pg_catalog.pg_class AS tab ON tab.oid = a.attrelid WHERE tab.oid = $1::regclass::oid AND a.attnum >= 0 ORDER BY a.attnum

-- Statistics $ ["public", "%"]
WITH class AS (SELECT reltuples, relname FROM pg_class INNER JOIN pg_namespace ON pg_namespace.oid = pg_class.relnamespace)
SELECT attname, n_distinct, null_frac, avg_width, reltuples FROM pg_stats INNER JOIN class ON class.relname = pg_stats.tablename WHERE pg_stats.schemaname = $1 AND tablename LIKE $2 ORDER BY attname
