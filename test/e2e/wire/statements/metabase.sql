-- In words of our own, checked against src/metabase/driver/postgres.clj (commit 008fd667) and sql_jdbc/execute.clj (0041072d). Session
SET extra_float_digits = 3

SET application_name = 'Metabase v0.56 [test]'

SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY

SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ UNCOMMITTED

SET SESSION TIMEZONE TO 'UTC';

SET ROLE NONE;

BEGIN READ ONLY

show timezone;

COMMIT

-- Schemas, as pgjdbc lists them
SELECT NULL AS TABLE_CATALOG, nspname AS TABLE_SCHEM FROM pg_catalog.pg_namespace WHERE nspname <> 'pg_toast'
AND (nspname = (pg_catalog.current_schemas(true))[1] OR nspname !~ '^pg_temp_') AND (nspname !~ '^pg_toast_temp_' OR nspname = replace((pg_catalog.current_schemas(true))[1], 'pg_temp_', 'x'))

-- Tables $ ["public", "census"]
SELECT "t"."relname" AS "name", "s"."nspname" AS "schema", CASE "t"."relkind" WHEN 'r' THEN 'TABLE' WHEN 'v' THEN 'VIEW' WHEN 'f' THEN 'FOREIGN TABLE' ELSE NULL END AS "kind",
  "seen"."n_live_tup" AS "rows", "note"."description" AS "note"
FROM "pg_catalog"."pg_class" AS "t" INNER JOIN "pg_catalog"."pg_namespace" AS "s" ON "s"."oid" = "t"."relnamespace"
LEFT JOIN "pg_stat_user_tables" AS "seen" ON ("t"."relname" = "seen"."relname") AND ("s"."nspname" = "seen"."schemaname")
LEFT JOIN "pg_catalog"."pg_description" AS "note" ON ("note"."objoid" = "t"."oid") AND ("note"."classoid" = 'pg_class'::regclass) AND ("note"."objsubid" = 0)
WHERE t.relkind in ('r', 'p', 'v', 'f', 'm') AND ("s"."nspname" !~ '^pg_') AND ("s"."nspname" IN ($1)) AND ("t"."relname" IN ($2)) ORDER BY "kind" ASC, "name" ASC

-- Privileges
WITH rights AS (SELECT found.sch AS schema, found.name AS table,
  pg_catalog.has_any_column_privilege(current_user, '"' || replace(found.sch, '"', '""') || '"' || '.' || '"' || replace(found.name, '"', '""') || '"', 'select') AS select,
  pg_catalog.has_any_column_privilege(current_user, '"' || found.sch || '"."' || found.name || '"', 'insert') AS insert,
  pg_catalog.has_table_privilege(current_user, '"' || found.sch || '"."' || found.name || '"', 'delete') AS delete
  FROM (SELECT schemaname AS sch, matviewname AS name FROM pg_catalog.pg_matviews UNION SELECT schemaname, viewname FROM pg_catalog.pg_views UNION SELECT schemaname, tablename FROM pg_catalog.pg_tables) AS found
  WHERE found.sch !~ '^pg_' AND found.sch <> 'information_schema' AND pg_catalog.has_schema_privilege(current_user, found.sch, 'usage'))
SELECT rights.* FROM rights

-- Whether a foreign table can be read
SELECT TRUE AS "_" FROM "public"."census" WHERE 1 <> 1 LIMIT 0

-- Fields $ ["public", "census", "public"]
SELECT "col"."column_name" AS "name", "col"."ordinal_position" - 1 AS "place",
  CASE WHEN "col"."udt_schema" IN ('pg_catalog', 'public') THEN FORMAT('%s', "col"."udt_name") ELSE FORMAT('"%s"."%s"', "col"."udt_schema", "col"."udt_name") END AS "database-type",
  "key"."column_name" IS NOT NULL AS "key?", (("column_default" IS NOT NULL) AND ("column_default" LIKE '%nextval(%')) OR ("is_identity" <> 'NO') AS "counts",
  (("column_default" IS NULL) OR (LOWER("column_default") = 'null')) AND ("is_nullable" = 'NO') AND NOT ("is_identity" <> 'NO') AS "required",
  COL_DESCRIPTION(CAST(CAST(FORMAT('%I.%I', CAST("col"."table_schema" AS TEXT), CAST("col"."table_name" AS TEXT)) AS REGCLASS) AS OID), "col"."ordinal_position") AS "note"
FROM "information_schema"."columns" AS "col" LEFT JOIN (SELECT "used"."table_name", "used"."column_name" FROM "information_schema"."key_column_usage" AS "used"
  INNER JOIN "information_schema"."table_constraints" AS "con" ON ("con"."constraint_name" = "used"."constraint_name") AND ("con"."table_schema" = "used"."table_schema")
  WHERE "con"."constraint_type" = 'PRIMARY KEY') AS "key" ON ("key"."table_name" = "col"."table_name") AND ("key"."column_name" = "col"."column_name")
WHERE col.table_schema !~ '^information_schema|pg_' AND ("col"."table_schema" IN ($1)) AND ("col"."table_name" IN ($2))
UNION ALL SELECT "a"."attname" AS "name", "a"."attnum" - 1 AS "place", FORMAT('%s', "t"."typname") AS "database-type", FALSE AS "key?", FALSE AS "counts", FALSE AS "required", NULL AS "note"
FROM "pg_catalog"."pg_class" AS "m" INNER JOIN "pg_catalog"."pg_attribute" AS "a" ON "a"."attrelid" = "m"."oid" INNER JOIN "pg_catalog"."pg_type" AS "t" ON "t"."oid" = "a"."atttypid"
INNER JOIN "pg_catalog"."pg_namespace" AS "s" ON "s"."oid" = "m"."relnamespace" WHERE ("m"."relkind" = 'm') AND ("a"."attnum" >= 1) AND ("s"."nspname" IN ($3))
ORDER BY "place" ASC

-- Enumerations
SELECT t.typname, s.nspname FROM pg_namespace s JOIN pg_type t ON t.typnamespace = s.oid WHERE t.oid IN (SELECT DISTINCT enumtypid FROM pg_enum e)

-- Foreign keys $ ["public", "census"]
SELECT "one"."attname" AS "from-column", "other"."attname" AS "to-column", "there"."relname" AS "to-table" FROM "pg_constraint" AS "con" INNER JOIN "pg_class" AS "here" ON "here"."oid" = "con"."conrelid"
INNER JOIN "pg_class" AS "there" ON "con"."confrelid" = "there"."oid" INNER JOIN "pg_namespace" AS "s" ON "con"."connamespace" = "s"."oid"
INNER JOIN "pg_attribute" AS "one" ON "one"."attrelid" = "con"."conrelid" INNER JOIN "pg_attribute" AS "other" ON "other"."attrelid" = "con"."confrelid"
WHERE s.nspname !~ '^information_schema|pg_' AND ("con"."contype" = 'f'::char) AND ("one"."attnum" = ANY(con.conkey)) AND ("other"."attnum" = ANY(con.confkey))
AND ("s"."nspname" IN ($1)) AND ("here"."relname" IN ($2)) ORDER BY "from-column" ASC

-- Indexes $ ["public"]
SELECT "each"."table", TRIM(BOTH '"' FROM PG_CATALOG.PG_GET_INDEXDEF("each"."index", "each"."place", FALSE)) AS "field"
FROM (SELECT "t"."relname" AS "table", "x"."indexrelid" AS "index", (INFORMATION_SCHEMA._PG_EXPANDARRAY("x"."indkey"))."n" AS "place" FROM "pg_catalog"."pg_index" AS "x"
  INNER JOIN "pg_catalog"."pg_class" AS "t" ON "x"."indrelid" = "t"."oid" INNER JOIN "pg_catalog"."pg_namespace" AS "s" ON "s"."oid" = "t"."relnamespace"
  WHERE (PG_CATALOG.PG_GET_EXPR("x"."indpred", "x"."indrelid") IS NULL) AND ("s"."nspname" IN ($1))) AS "each" WHERE "each"."place" = 1
