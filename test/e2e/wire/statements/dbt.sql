-- In words of our own, checked against dbt/adapters/postgres/impl.py and dbt/include/postgres/macros of dbt-postgres 1.9. Session
/* {"app": "dbt"} */ select 1 as id

set role none

select distinct nspname from pg_namespace

select count(*) from pg_namespace where nspname = 'public'

-- Relations, with the database before names
select 'table' as type, schemaname as schema, tablename as name from pg_tables where schemaname ilike 'public'
union all select 'view' as type, schemaname as schema, viewname as name from pg_views where schemaname ilike 'public'
union all select 'materialized_view' as type, schemaname as schema, matviewname as name from pg_matviews where schemaname ilike 'public'

select data_type, column_name, numeric_scale from "sotto".INFORMATION_SCHEMA.columns where table_schema = 'public' and table_name = 'census' order by ordinal_position

select privilege_type, grantee from "sotto".information_schema.role_table_grants where table_name = 'census' and grantee != current_role and grantor = current_role

select own.relname as name, ind.indisunique as "unique", way.amname as method, array_to_string(array_agg(a.attname), ',') as column_names from pg_class own join pg_index ind on ind.indexrelid = own.oid
join pg_am way on own.relam=way.oid join pg_attribute a on a.attnum = ANY(ind.indkey) and a.attrelid = ind.indrelid where own.relkind in ('i') group by 1, 2, 3 order by 1, 2, 3

-- The catalogue of the documentation
select tab.relname, col.attname, pg_catalog.format_type(col.atttypid, col.atttypmod) as type, note.description as note, pg_get_userbyid(tab.relowner) as owner
from pg_catalog.pg_class tab join pg_catalog.pg_namespace sch on sch.oid = tab.relnamespace join pg_catalog.pg_attribute col on tab.oid = col.attrelid
left outer join pg_catalog.pg_description note on (note.objsubid = col.attnum and note.objoid = tab.oid)
where (upper(sch.nspname) = upper('public') and upper(tab.relname) = upper('CENSUS')) and not pg_is_other_temp_schema(sch.oid) -- those of other sessions
  and tab.relpersistence in ('p', 'u') and col.attnum > 0 and not col.attisdropped order by tab.relname, col.attnum

-- Which views read which tables. Groups have the names of what is joined
with rule as (select pg_rewrite.oid as id, pg_rewrite.ev_class as owner from pg_rewrite), class as (select relname as name, oid as id, relnamespace as place from pg_class),
  link as (select distinct pg_depend.refobjid as ref, pg_depend.objid as id from pg_depend), schema as (select nspname as name, oid as id from pg_namespace where nspname not like 'pg\_%')
select below.name as below, above.name as above_name, class.name as class_name from rule join class on rule.owner = class.id join link on link.id = rule.id
join class as reader on link.ref = reader.id join schema as below on below.id = class.place join schema as above on above.id = reader.place
group by below, above_name, class_name order by below, above_name, class_name;
