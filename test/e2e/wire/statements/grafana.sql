-- In words of our own, checked against public/app/plugins/datasource/grafana-postgresql-datasource/postgresMetaQuery.ts (commit 12f912ab). A health check
SELECT 1

SELECT current_setting('server_version_num')::int/100 as version

SELECT extversion FROM pg_extension WHERE extname = 'timescaledb'

-- Schemas
SELECT schema_name AS "name" FROM information_schema.schemata WHERE schema_name NOT IN ('pg_catalog', 'information_schema', 'pg_toast', 'timescaledb_information') ORDER BY schema_name

-- Tables: those on the search path have no schema before them
SELECT CASE WHEN quote_ident(table_schema) IN (SELECT CASE WHEN trim(path[place]) = '"$user"' THEN user ELSE trim(path[place]) END
    FROM generate_series(array_lower(string_to_array(current_setting('search_path'),','),1), array_upper(string_to_array(current_setting('search_path'),','),1)) as place,
      string_to_array(current_setting('search_path'),',') path)
  THEN quote_ident(table_name) ELSE quote_ident(table_schema) || '.' || quote_ident(table_name) END AS "table"
FROM information_schema.tables WHERE quote_ident(table_schema) NOT IN ('pg_catalog', 'information_schema')
ORDER BY CASE WHEN quote_ident(table_schema) IN (SELECT trim(path[place]) FROM generate_series(1, 2) as place, string_to_array(current_setting('search_path'),',') path) THEN 0 ELSE 1 END, 1

-- Tables of a schema
SELECT quote_ident(table_name) AS "table" FROM information_schema.tables WHERE quote_ident(table_schema) = 'public' ORDER BY 1

-- Columns, of a name with or without a schema
SELECT data_type AS "type", quote_ident(column_name) AS "column" FROM information_schema.columns
WHERE CASE WHEN array_length(parse_ident('census'),1) = 2
  THEN quote_ident(table_schema) = (parse_ident('census'))[1] AND quote_ident(table_name) = (parse_ident('census'))[2]
  ELSE quote_ident(table_name) = 'census' AND quote_ident(table_schema) IN (SELECT CASE WHEN trim(path[place]) = '"$user"' THEN user ELSE trim(path[place]) END
    FROM generate_series(array_lower(string_to_array(current_setting('search_path'),','),1), array_upper(string_to_array(current_setting('search_path'),','),1)) as place,
      string_to_array(current_setting('search_path'),',') path) END

-- Values of a variable
SELECT DISTINCT "Sex" AS __text, "Sex" AS __value FROM census
