-- RPostgres
SELECT oid, typname FROM pg_type

SELECT table_schema, table_name FROM INFORMATION_SCHEMA.tables WHERE (table_schema = ANY(current_schemas(true))) AND (table_schema <> 'pg_catalog')

SELECT COUNT(*) FROM INFORMATION_SCHEMA.tables WHERE (table_schema = ANY(current_schemas(true)) OR table_type = 'LOCAL TEMPORARY') AND table_name = 'census'

SELECT column_name FROM INFORMATION_SCHEMA.columns WHERE table_schema = ANY(current_schemas(true)) AND table_name = 'census' ORDER BY ordinal_position

SELECT set_config('application_name', 'R', false)

SELECT pg_catalog.obj_description('public.census'::regclass, 'pg_class')
