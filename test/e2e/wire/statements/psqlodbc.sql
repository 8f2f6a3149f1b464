-- In words of our own, checked against connection.c and info.c of psqlODBC 18.00.0002. Session
SHOW DateStyle;

SET DateStyle = 'ISO';SET extra_float_digits = 2;show transaction_isolation

set client_encoding to 'UTF8'

show max_identifier_length

select typbasetype, oid from pg_type where typname = 'lo'

select current_schema()

SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE

SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED

BEGIN;SAVEPOINT _per_query_svp_;SELECT 1;RELEASE _per_query_svp_;ROLLBACK

-- SQLTables: kinds, schemas and tables
select kind, NULL from (select 'v' as kind union select 'r' union select 'm') as kinds

select nspname, NULL, NULL from pg_catalog.pg_namespace sch where true

select nspname, relname, relkind from pg_catalog.pg_namespace sch, pg_catalog.pg_class tab where sch.oid = relnamespace and relkind in ('r', 'v', 'm', 'f', 'p')
and has_table_privilege(tab.oid, 'select') and nspname not in ('pg_toast', 'pg_catalog', 'information_schema') and relname like E'cen%' order by relname, nspname

-- SQLColumns
select tab.relname, col.attname, col.attnum, col.attlen, col.atttypmod, col.attnotnull, attidentity, typ.typname, typ.typtypmod, pg_get_expr(def.adbin, def.adrelid), tab.relhasrules, tab.relhassubclass,
case typ.typtype when 'd' then typ.typbasetype else 0 end, 0
from ((pg_catalog.pg_attribute col inner join pg_catalog.pg_class tab on (not col.attisdropped) and tab.oid operator(pg_catalog.=) col.attrelid and col.attnum operator(pg_catalog.>) 0)
inner join (pg_catalog.pg_namespace sch inner join pg_catalog.pg_class named on named.relnamespace = sch.oid and named.relname like E'census' and sch.nspname like E'public') on named.oid operator(pg_catalog.=) tab.oid
inner join pg_catalog.pg_type typ on col.atttypid operator(pg_catalog.=) typ.oid)
left outer join pg_attrdef def on col.atthasdef and def.adnum operator(pg_catalog.=) col.attnum and def.adrelid operator(pg_catalog.=) col.attrelid order by tab.relname, attnum

-- SQLSpecialColumns
select tab.relkind, tab.relhasrules, 0 as relhasoids from pg_catalog.pg_class tab, pg_catalog.pg_namespace sch where tab.relname = 'census' and sch.nspname = 'public' and tab.relnamespace operator(pg_catalog.=) sch.oid

select col.attname AS "COLUMN_NAME", NULL as "SCOPE", typ.typlen AS "COLUMN_SIZE", case when typ.typname = 'numeric' then case when col.atttypmod > -1 then 6 else col.atttypmod::int4 end else 0 end AS "DECIMAL_DIGITS"
FROM pg_attribute col INNER JOIN pg_class tab ON tab.oid = col.attrelid INNER JOIN pg_type typ on typ.oid = col.atttypid
LEFT JOIN pg_index ind ON ind.indrelid = tab.oid AND col.attnum = ANY (ind.indkey[0:(ind.indnkeyatts - 1)]) WHERE ind.indisprimary and col.attnum > 0 and tab.relname='census'

-- SQLStatistics and SQLPrimaryKeys
select own.relname, ind.indkey, ind.indoption, ind.indisunique, ind.indisclustered, way.amname from pg_catalog.pg_am way, pg_catalog.pg_index ind, pg_catalog.pg_class own, pg_catalog.pg_class tab
where tab.relname = 'census' and tab.oid operator(pg_catalog.=) ind.indrelid and own.oid operator(pg_catalog.=) ind.indexrelid and own.relam operator(pg_catalog.=) way.oid
order by ind.indisprimary desc, ind.indisunique, own.relname

select col.attname, part.attnum from pg_catalog.pg_index ind, pg_catalog.pg_attribute part, pg_catalog.pg_attribute col, pg_catalog.pg_class tab
where tab.relname = 'census' AND tab.oid operator(pg_catalog.=) ind.indrelid AND part.attrelid operator(pg_catalog.=) ind.indexrelid AND col.attrelid operator(pg_catalog.=) ind.indrelid
AND col.attnum operator(pg_catalog.=) ind.indkey[part.attnum-1] AND ind.indisprimary operator(pg_catalog.=) 't' AND part.attnum operator(pg_catalog.<=) ind.indnkeyatts AND (NOT col.attisdropped) order by part.attnum

select attname from pg_attribute where attrelid operator(pg_catalog.=) :census and attnum operator(pg_catalog.=) 2

select pg_get_indexdef(1, 1, true)

-- SQLForeignKeys
select one.attname as "FKCOLUMN_NAME", place::int2 as "KEY_SEQ", 'sotto'::name as "FKTABLE_CAT", case fk.confupdtype when 'c' then 0::int2 else 3::int2 end as "UPDATE_RULE",
case when fk.condeferrable then case when fk.condeferred then 5::int2 else 6::int2 end else 7::int2 end as "DEFERRABILITY", pk.conname as "PK_NAME"
from ((( (select con.oid, conrelid, conkey, confrelid, confkey, confupdtype, condeferrable, condeferred, generate_series(array_lower(conkey, 1), array_upper(conkey, 1)) as place
    from pg_catalog.pg_class tab, pg_catalog.pg_constraint con where relname = 'census' and tab.oid operator(pg_catalog.=) conrelid and contype operator(pg_catalog.=) 'f') fk
  inner join pg_catalog.pg_class there on fk.confrelid operator(pg_catalog.=) there.oid)
  inner join pg_catalog.pg_attribute one on one.attrelid operator(pg_catalog.=) fk.conrelid and one.attnum operator(pg_catalog.=) conkey[place])
  left outer join pg_catalog.pg_constraint pk on pk.contype operator(pg_catalog.=) 'p' and pk.conrelid operator(pg_catalog.=) fk.confrelid)
where there.relname = 'census' order by fk.oid, fk.place

select act.tgargs, act.tgnargs, act.tgdeferrable, act.tginitdeferred, act.tgname, func.proname from pg_catalog.pg_trigger act, pg_catalog.pg_proc func, pg_catalog.pg_class tab
where act.tgrelid operator(pg_catalog.=) tab.oid and act.tgfoid operator(pg_catalog.=) func.oid and func.proname Like '%ins' and func.proname not like '%check%' and act.tgconstrrelid operator(pg_catalog.=) tab.oid order by act.tgname

-- SQLProcedures and SQLProcedureColumns
select func.oid, proname, proretset, prorettype, pronargs, proargtypes, proargnames, proargmodes, proallargtypes, attname
from ((pg_catalog.pg_proc func inner join pg_type typ on func.prorettype operator(pg_catalog.=) typ.oid) inner join pg_catalog.pg_namespace sch on sch.oid operator(pg_catalog.=) func.pronamespace)
left outer join pg_attribute col on attnum operator(pg_catalog.>) 0 and not attisdropped and col.attrelid operator(pg_catalog.=) typ.typrelid
where nspname like 'public' and has_function_privilege(func.oid, 'EXECUTE') order by proname, func.oid, attnum

select proname as PROCEDURE_NAME, ''::varchar as REMARKS, case when prorettype = 0 then 1::int2 else 2::int2 end as PROCEDURE_TYPE from pg_catalog.pg_proc, pg_catalog.pg_namespace
where pg_namespace.oid = pg_proc.pronamespace and nspname like 'public'

-- SQLTablePrivileges and SQLColumnPrivileges
select relacl, relname, usename from pg_catalog.pg_user, pg_catalog.pg_class where relname = 'census' and relkind in ('r', 'v') and relowner operator(pg_catalog.=) pg_user.usesysid

select usesuper, usename, usesysid from pg_user

select grolist from pg_group where groname = 'sotto'

select column_name, grantee, privilege_type as PRIVILEGE, table_catalog as TABLE_CAT, is_grantable from information_schema.column_privileges where true and table_name = 'census' and column_name like '%'
