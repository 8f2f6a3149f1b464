-- In words of our own, checked against src/storage of duckdb/duckdb-postgres (commit 8422ea3). Session
SELECT version(), (SELECT COUNT(*) FROM pg_settings WHERE name LIKE 'rds%')

BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY;COMMIT

SET statement_timeout=3000

SET idle_in_transaction_session_timeout=0

-- Schemas, tables, enumerations, composite types and indexes, in one text
SELECT nspname, oid FROM pg_namespace WHERE pg_namespace.nspname IN ('public') ORDER BY oid;
SELECT sch.oid AS place, relname, relpages, attname, kind.typname type, atttypmod modifier, attndims dimensions, attnum, attnotnull AS required, NULL con_id, NULL con_key, own.description AS note, type_sch.nspname AS type_place
FROM pg_class AS tab JOIN pg_namespace sch ON relnamespace = sch.oid JOIN pg_attribute ON attrelid = tab.oid JOIN pg_type kind ON kind.oid = atttypid JOIN pg_namespace type_sch ON type_sch.oid = kind.typnamespace
LEFT JOIN pg_description own ON own.objsubid = attnum AND own.objoid = tab.oid WHERE relkind IN ('r', 'v', 'p') AND attnum > 0 AND sch.nspname IN ('public')
UNION ALL SELECT sch.oid AS place, relname, NULL relpages, NULL attname, NULL type, NULL modifier, NULL dimensions, NULL attnum, NULL AS required, con.oid con_id, conkey con_key, NULL AS note, NULL AS type_place
FROM pg_class AS tab JOIN pg_namespace sch ON relnamespace = sch.oid JOIN pg_constraint con ON (con.conrelid = tab.oid) WHERE contype IN ('p', 'u') ORDER BY place, relname, attnum, con_id;
SELECT typname, enumlabel, enumtypid FROM pg_enum one JOIN pg_type kind ON kind.oid = one.enumtypid ORDER BY enumtypid, enumsortorder;
SELECT kind.typname, attname FROM pg_type kind JOIN pg_class ON pg_class.oid = kind.typrelid JOIN pg_attribute ON attrelid=kind.typrelid WHERE kind.typtype='c' AND NOT attisdropped ORDER BY kind.oid, attnum;
SELECT indexname, tablename, pg_namespace.oid FROM pg_indexes JOIN pg_namespace ON (nspname=schemaname) ORDER BY pg_namespace.oid;

-- Without pg_catalog
SELECT column_name, -1 AS modifier, CASE WHEN is_nullable = 'NO' THEN 't' ELSE 'f' END AS required, NULL AS note FROM information_schema.columns WHERE table_schema NOT IN ('pg_toast', 'pg_catalog', 'information_schema')
ORDER BY table_name, ordinal_position

SELECT NULL, NULL LIMIT 0

-- Whether tables have changed
SELECT relname, pg_class.xmin FROM pg_class JOIN pg_namespace ON relnamespace = pg_namespace.oid WHERE pg_namespace.nspname = 'public' ORDER BY pg_class.oid

SELECT pg_database_size(current_database()), to_regclass('public.nothing')

SELECT nspname FROM pg_namespace WHERE oid = pg_my_temp_schema()
