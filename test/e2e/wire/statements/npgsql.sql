-- In words of our own, checked against src/Npgsql/PostgresDatabaseInfo.cs of npgsql 10 (commit 3cb5804b), which loads types in one text.
SELECT version();
WITH kinds AS (
  SELECT t.oid, t.typname, t.typnamespace, t.typrelid, t.typnotnull, t.typcategory, CASE WHEN f.proname = 'array_recv' THEN 'a' ELSE t.typtype END AS kind,
    CASE WHEN f.proname = 'array_recv' THEN t.typelem WHEN t.typtype = 'r' THEN rngsubtype
      WHEN t.typtype = 'm' THEN (SELECT rngtypid FROM pg_range WHERE rngmultitypid = t.oid) WHEN t.typtype = 'd' THEN t.typbasetype END AS inner_oid
  FROM pg_type AS t LEFT JOIN pg_proc AS f ON f.oid = t.typreceive LEFT JOIN pg_range ON (pg_range.rngtypid = t.oid)
)
SELECT sch.nspname, k.oid, k.typname, k.kind, k.typnotnull, k.inner_oid -- A comment to the end of a line.
FROM (
  /* Elements are types too. */
  SELECT kinds.*, e.typname AS inner_name, ec.relkind AS inner_relkind, own.relkind, CASE WHEN ef.proname='array_recv' THEN 'a' ELSE e.typtype END AS inner_kind
  FROM kinds LEFT JOIN pg_class AS own ON (own.oid = kinds.typrelid) LEFT JOIN pg_type AS e ON e.oid = inner_oid
  LEFT JOIN pg_class AS ec ON ec.oid = e.typrelid LEFT JOIN pg_proc AS ef ON ef.oid = e.typreceive
) AS k JOIN pg_namespace AS sch ON (sch.oid = typnamespace)
WHERE (sch.nspname IN ('pg_catalog', 'public') OR typcategory = 'U') AND (kind IN ('b', 'r', 'm', 'e', 'd') OR (kind = 'c' AND relkind = 'c')
  OR (kind = 'p' AND typname IN ('record', 'void', 'unknown')) OR (kind = 'a' AND (inner_kind IN ('b', 'e') OR (inner_kind = 'p' AND inner_name = 'void') OR (inner_kind = 'c' AND inner_relkind = 'c'))))
ORDER BY CASE WHEN kind IN ('b', 'e', 'p') THEN 0 WHEN kind = 'd' AND inner_kind <> 'a' THEN 1 WHEN kind = 'a' THEN 2 END, k.oid;
-- Parts of composite types
SELECT c.reltype, part.attname, part.atttypid FROM pg_class AS c JOIN pg_type AS t ON (t.typrelid = c.oid) JOIN pg_attribute AS part ON (part.attrelid = t.typrelid)
WHERE (t.typtype = 'c' AND c.relkind = 'c') AND part.attnum > 0 AND NOT part.attisdropped ORDER BY t.oid, part.attnum;
SELECT t.oid, enumlabel FROM pg_type AS t JOIN pg_enum ON enumtypid = t.oid ORDER BY oid, enumsortorder;

-- Session: what a pool sends, and the states of a server
select pg_is_in_recovery()

SHOW default_transaction_read_only

DISCARD ALL

SET SESSION AUTHORIZATION DEFAULT;RESET ALL;CLOSE ALL;UNLISTEN *;SELECT pg_advisory_unlock_all();DISCARD SEQUENCES;DISCARD TEMP

-- Columns of a result: src/Npgsql/Schema/DbColumnSchemaGenerator.cs
SELECT a.attname, t.oid AS type, sch.nspname, c.relname, a.attidentity != '' AS counts, CASE WHEN t.typtype = 'd' THEN t.typtypmod ELSE a.atttypmod END AS modifier,
  CASE WHEN a.atthasdef THEN (SELECT pg_get_expr(adbin, c.oid) FROM pg_attrdef WHERE adrelid = c.oid AND adnum = a.attnum) ELSE NULL END AS default,
  (c.relkind = ANY (ARRAY['r'::"char", 'p'::"char"])) OR pg_column_is_updatable((c.oid)::regclass, a.attnum, false) AND a.attidentity NOT IN ('a') AS may_change,
  EXISTS (SELECT * FROM pg_index AS i WHERE i.indrelid = c.oid AND i.indisprimary AND attnum = ANY (indkey)) AS is_key,
  EXISTS (SELECT * FROM pg_index AS i WHERE i.indrelid = c.oid AND i.indisunique AND i.indnkeyatts = 1 AND attnum = i.indkey[0]) AS is_unique
FROM pg_class AS c JOIN pg_attribute AS a ON c.oid = a.attrelid JOIN pg_type AS t ON t.oid = a.atttypid JOIN pg_namespace AS sch ON sch.oid = c.relnamespace
WHERE a.atttypid <> 0 AND a.attnum > 0 AND ((a.attrelid=:census AND a.attnum=1) OR (a.attrelid=:census AND a.attnum=2)) ORDER BY attnum

-- Collections of GetSchema: src/Npgsql/NpgsqlSchema.cs
SELECT base.datname, pg_catalog.pg_encoding_to_char(base.encoding), owner.usename FROM pg_catalog.pg_database base LEFT JOIN pg_catalog.pg_user owner ON owner.usesysid = base.datdba

SELECT * FROM (SELECT nspname, current_database(), who.rolname FROM pg_catalog.pg_namespace LEFT JOIN pg_catalog.pg_roles who ON nspowner = who.oid) found WHERE nspname = 'public'

SELECT table_name, table_type FROM information_schema.tables WHERE table_schema NOT IN ('pg_catalog', 'information_schema') AND table_type IN ('BASE TABLE', 'FOREIGN TABLE')

-- Columns $ ["sotto", "census"]
SELECT column_name, ordinal_position, is_nullable, column_default, CASE WHEN udt_schema is NULL THEN udt_name ELSE format_type(t.oid, NULL) END, character_maximum_length,
  numeric_precision, numeric_precision_radix, numeric_scale, datetime_precision, character_set_name, collation_catalog
FROM information_schema.columns JOIN pg_namespace AS sch ON udt_schema = sch.nspname JOIN pg_type AS t ON t.typname = udt_name AND t.typnamespace = sch.oid
WHERE table_catalog = $1 AND table_name = $2

SELECT table_name, check_option, is_updatable FROM information_schema.views WHERE table_schema NOT IN ('pg_catalog', 'information_schema')

SELECT matviewname, matviewowner, ispopulated, hasindexes FROM pg_catalog.pg_matviews

SELECT current_database(), owner.usename, i.relname, '' FROM pg_catalog.pg_index x JOIN pg_catalog.pg_class i ON i.oid = x.indexrelid JOIN pg_catalog.pg_class t ON t.oid = x.indrelid
LEFT JOIN pg_catalog.pg_user owner ON owner.usesysid = i.relowner WHERE i.relkind = 'i' AND t.relkind = 'r'

SELECT t.relname, a.attname, con.condeferrable, con.condeferred, kind FROM pg_catalog.pg_constraint con JOIN pg_class t ON con.conrelid = t.oid
JOIN pg_attribute a ON t.oid = a.attrelid AND a.attnum = ANY(con.conkey)
JOIN (SELECT 'p' AS code, 'PRIMARY KEY' AS kind UNION ALL SELECT 'u' AS code, 'UNIQUE KEY' AS kind) named ON con.contype = named.code and con.contype = 'p'

SELECT word FROM pg_get_keywords() WHERE catcode = 'R'

SELECT typname, typlen FROM pg_type WHERE typtype IN ('b', 'e', 'r') ORDER BY typname
