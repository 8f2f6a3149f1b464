select pg_catalog.version()

select current_schema()

show standard_conforming_strings

SHOW transaction isolation level

SELECT nspname FROM pg_namespace ORDER BY nspname

SELECT pg_catalog.pg_namespace.nspname FROM pg_catalog.pg_namespace WHERE pg_catalog.pg_namespace.nspname NOT LIKE 'pg\_%' ORDER BY pg_catalog.pg_namespace.nspname

SELECT pg_catalog.pg_class.relname FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_catalog.pg_namespace.oid = pg_catalog.pg_class.relnamespace
WHERE pg_catalog.pg_class.relkind = ANY (ARRAY['r', 'p']) AND pg_catalog.pg_class.relpersistence != 't' AND pg_catalog.pg_table_is_visible(pg_catalog.pg_class.oid) AND pg_catalog.pg_namespace.nspname != 'pg_catalog'

SELECT datname FROM pg_database WHERE datistemplate = false

-- The values to filter by, and those found by a part of them.
SELECT "Occupation" AS "Occupation" FROM public.census GROUP BY "Occupation" ORDER BY "Occupation" ASC LIMIT 1000

SELECT "Occupation" AS "Occupation" FROM public.census WHERE "Occupation" ILIKE '%ist%' GROUP BY "Occupation" LIMIT 1000

SELECT DISTINCT "Sex" AS column_values FROM public.census LIMIT 10000
