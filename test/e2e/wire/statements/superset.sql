-- Written by SQLAlchemy 2.1 (lib/sqlalchemy/dialects/postgresql/base.py), and in words of our own after superset/db_engine_specs/postgres.py (commit 007e4f5f). Session
select pg_catalog.version()

select current_schema()

show standard_conforming_strings

SHOW transaction isolation level

set search_path = "public"

SELECT pg_backend_pid()

-- What the inspector asks for is in the test of the drivers; this is the shape of it
SELECT pg_catalog.pg_class.relname FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_catalog.pg_class.relnamespace = pg_catalog.pg_namespace.oid
WHERE pg_catalog.pg_class.relpersistence != 't' AND pg_catalog.pg_class.relkind = ANY (ARRAY['r', 'p', 'f']) AND pg_catalog.pg_namespace.nspname NOT LIKE 'pg\_%' AND pg_catalog.pg_table_is_visible(pg_catalog.pg_class.oid)

SELECT datname FROM pg_database WHERE NOT datistemplate

-- The columns of a virtual dataset
SELECT * FROM (SELECT "Sex", COUNT(*) AS n FROM census GROUP BY "Sex") AS virtual LIMIT 0

-- The values to filter by, and those found by a part of them.
SELECT "Occupation" AS "Occupation" FROM public.census GROUP BY "Occupation" ORDER BY "Occupation" ASC LIMIT 1000

SELECT "Occupation" AS "Occupation" FROM public.census WHERE "Occupation" ILIKE '%ist%' GROUP BY "Occupation" LIMIT 1000

SELECT DISTINCT "Sex" AS column_values FROM public.census LIMIT 10000
