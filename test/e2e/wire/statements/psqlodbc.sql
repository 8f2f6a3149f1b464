-- Session
SHOW DateStyle;

SET DateStyle = 'ISO';SET extra_float_digits = 2;show transaction_isolation

set client_encoding to 'UTF8'

show max_identifier_length

select oid, typbasetype from pg_type where typname = 'lo'

select current_schema()

SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED

BEGIN;SAVEPOINT _per_query_svp_;SELECT 1;RELEASE _per_query_svp_;ROLLBACK

-- Tables
select NULL, NULL, relkind from (select 'r' as relkind union select 'v' union select 'm' union select 'f' union select 'p') as a

select NULL, nspname, NULL from pg_catalog.pg_namespace n where true

select relname, nspname, relkind from pg_catalog.pg_class c, pg_catalog.pg_namespace n
where relkind in ('r', 'v', 'm', 'f', 'p') and nspname not in ('pg_catalog', 'information_schema', 'pg_toast', 'pg_temp_1')
and has_table_privilege(c.oid, 'select') and n.oid = relnamespace order by nspname, relname

-- Columns
select n.nspname, c.relname, a.attname, a.atttypid, t.typname, a.attnum, a.attlen, a.atttypmod, a.attnotnull, c.relhasrules, c.relkind, c.oid,
pg_get_expr(d.adbin, d.adrelid), case t.typtype when 'd' then t.typbasetype else 0 end, t.typtypmod, 0, attidentity, c.relhassubclass
from (((pg_catalog.pg_class c inner join pg_catalog.pg_namespace n on n.oid = c.relnamespace and c.relname like E'census' and n.nspname like E'public')
inner join pg_catalog.pg_attribute a on (not a.attisdropped) and a.attnum operator(pg_catalog.>) 0 and a.attrelid operator(pg_catalog.=) c.oid)
inner join pg_catalog.pg_type t on t.oid operator(pg_catalog.=) a.atttypid)
left outer join pg_attrdef d on a.atthasdef and d.adrelid operator(pg_catalog.=) a.attrelid and d.adnum operator(pg_catalog.=) a.attnum
order by n.nspname, c.relname, attnum

-- Special columns
select c.relhasrules, c.relkind, 0 as relhasoids from pg_catalog.pg_namespace u, pg_catalog.pg_class c
where u.oid operator(pg_catalog.=) c.relnamespace and c.relname = 'census' and u.nspname = 'public'

select NULL as "SCOPE",a.attname AS "COLUMN_NAME",t.typname AS "DATA_TYPE",t.typname AS "TYPE_NAME",t.typlen AS "COLUMN_SIZE",a.attlen AS "BUFFER_LENGTH",
case when t.typname = 'numeric' then case when a.atttypmod > -1 then 6 else a.atttypmod::int4 end else 0 end AS "DECIMAL_DIGITS",1 AS "PSEUDO_COLUMN"
FROM pg_class c INNER JOIN pg_namespace n ON n.oid = c.relnamespace INNER JOIN pg_attribute a ON a.attrelid = c.oid INNER JOIN pg_type t on a.atttypid = t.oid
LEFT JOIN pg_index i ON i.indrelid = c.oid AND a.attnum = ANY (i.indkey[0:(i.indnkeyatts - 1)])
WHERE i.indisprimary and a.attnum > 0 and c.relname='census' and n.nspname = 'public'

-- Statistics
select c.relname, i.indkey, i.indisunique, i.indisclustered, a.amname, c.relhasrules, n.nspname, c.oid, 0, i.indoption
from pg_catalog.pg_index i, pg_catalog.pg_class c, pg_catalog.pg_class d, pg_catalog.pg_am a, pg_catalog.pg_namespace n
where d.relname = 'census' and n.nspname = 'public' and n.oid operator(pg_catalog.=) d.relnamespace and d.oid operator(pg_catalog.=) i.indrelid
and i.indexrelid operator(pg_catalog.=) c.oid and c.relam operator(pg_catalog.=) a.oid order by i.indisprimary desc, i.indisunique, n.nspname, c.relname

-- Keys
select ta.attname, ia.attnum, ic.relname, n.nspname, tc.relname
from pg_catalog.pg_attribute ta, pg_catalog.pg_attribute ia, pg_catalog.pg_class tc, pg_catalog.pg_index i, pg_catalog.pg_namespace n, pg_catalog.pg_class ic
where tc.relname = 'census' AND n.nspname = 'public' AND tc.oid operator(pg_catalog.=) i.indrelid AND n.oid operator(pg_catalog.=) tc.relnamespace
AND i.indisprimary operator(pg_catalog.=) 't' AND ia.attrelid operator(pg_catalog.=) i.indexrelid AND ta.attrelid operator(pg_catalog.=) i.indrelid
AND ta.attnum operator(pg_catalog.=) i.indkey[ia.attnum-1] AND (NOT ta.attisdropped) AND (NOT ia.attisdropped) AND ic.oid operator(pg_catalog.=) i.indexrelid
AND ia.attnum operator(pg_catalog.<=) i.indnkeyatts order by ia.attnum

select ref.conname as "FK_NAME", cn.conname as "PK_NAME",
case ref.confdeltype when 'c' then 0::int2 when 'n' then 2::int2 else 3::int2 end as "DELETE_RULE"
from ((((((( (select cn.oid, conrelid, conkey, confrelid, confkey, generate_series(array_lower(conkey, 1), array_upper(conkey, 1)) as i, confupdtype, confdeltype, conname, condeferrable, condeferred
  from pg_catalog.pg_constraint cn, pg_catalog.pg_class c, pg_catalog.pg_namespace n
  where contype operator(pg_catalog.=) 'f' and conrelid operator(pg_catalog.=) c.oid and relname = 'census' and n.oid operator(pg_catalog.=) c.relnamespace and n.nspname = 'public') ref
 inner join pg_catalog.pg_class c1 on c1.oid operator(pg_catalog.=) ref.conrelid)
 inner join pg_catalog.pg_namespace n1 on n1.oid operator(pg_catalog.=) c1.relnamespace)
 inner join pg_catalog.pg_attribute a1 on a1.attrelid operator(pg_catalog.=) c1.oid and a1.attnum operator(pg_catalog.=) conkey[i])
 inner join pg_catalog.pg_class c2 on c2.oid operator(pg_catalog.=) ref.confrelid)
 inner join pg_catalog.pg_namespace n2 on n2.oid operator(pg_catalog.=) c2.relnamespace)
 inner join pg_catalog.pg_attribute a2 on a2.attrelid operator(pg_catalog.=) c2.oid and a2.attnum operator(pg_catalog.=) confkey[i])
 left outer join pg_catalog.pg_constraint cn on cn.conrelid operator(pg_catalog.=) ref.confrelid and cn.contype operator(pg_catalog.=) 'p')
 order by ref.oid, ref.i

-- Procedures
select proname, proretset, prorettype, pronargs, proargtypes, nspname, p.oid, atttypid, attname, proargnames, proargmodes, proallargtypes
from ((pg_catalog.pg_namespace n inner join pg_catalog.pg_proc p on p.pronamespace operator(pg_catalog.=) n.oid)
inner join pg_type t on t.oid operator(pg_catalog.=) p.prorettype) left outer join pg_attribute a on a.attrelid operator(pg_catalog.=) t.typrelid and attnum operator(pg_catalog.>) 0 and not attisdropped
where has_function_privilege(p.oid, 'EXECUTE') and nspname like 'public' order by nspname, proname, p.oid, attnum

select ''::varchar as PROCEDURE_CAT, nspname as PROCEDURE_SCHEM, proname as PROCEDURE_NAME, ''::varchar as NUM_INPUT_PARAMS, ''::varchar as NUM_OUTPUT_PARAMS, ''::varchar as NUM_RESULT_SETS, ''::varchar as REMARKS,
case when prorettype = 0 then 1::int2 else 2::int2 end as PROCEDURE_TYPE from pg_catalog.pg_namespace, pg_catalog.pg_proc where pg_proc.pronamespace = pg_namespace.oid and nspname like 'public'

-- Privileges
select relname, usename, relacl, nspname from pg_catalog.pg_namespace, pg_catalog.pg_class , pg_catalog.pg_user
where nspname = 'public' and relname = 'census' and pg_namespace.oid operator(pg_catalog.=) relnamespace and relkind in ('r', 'v', 'm', 'f', 'p') and pg_user.usesysid operator(pg_catalog.=) relowner

select usename, usesysid, usesuper from pg_user

select table_catalog as TABLE_CAT, table_schema as TABLE_SCHEM, table_name, column_name, grantor, grantee, privilege_type as PRIVILEGE, is_grantable
from information_schema.column_privileges where true and table_schema = 'public' and table_name = 'census' and column_name like '%'
