-- In words of our own, checked against plugins/org.jkiss.dbeaver.ext.postgresql of DBeaver 24.2.3. Session
SET extra_float_digits = 3

SET application_name = 'DBeaver 24.2.3 - Metadata'

SELECT version()

SELECT current_schema(),session_user

SHOW search_path

SET search_path = public,"$user"

-- Databases $ ["sotto"]
SELECT base.datname,base.* FROM pg_catalog.pg_database base WHERE datallowconn AND NOT datistemplate OR base.datname =$1 ORDER BY base.datname

SELECT datname,pg_database_size(oid) FROM pg_catalog.pg_database WHERE datistemplate

-- Description of a database $ ["sotto"]
select description from pg_database join pg_shdescription on pg_database.oid = objoid where datname = $1

-- Whether the server has a relation or a column
SELECT * FROM pg_catalog.pg_enum WHERE 1<>1 LIMIT 1

SELECT reltype FROM pg_catalog.pg_class WHERE 1<>1 LIMIT 1

-- Settings and words $ ["standard_conforming_strings"]
select * from pg_catalog.pg_settings where name=$1

select string_agg(word, ',') from pg_catalog.pg_get_keywords() where word <> ALL ('{abs,any}'::text[])

-- Objects of the server
SELECT pd.description,who.oid,who.* FROM pg_catalog.pg_roles who left join pg_catalog.pg_shdescription pd on pd.objoid = who.oid ORDER BY who.rolname

SELECT way.oid,way.* FROM pg_catalog.pg_am way ORDER BY way.oid

SELECT pg_catalog.pg_encoding_to_char(con.contoencoding) as name,con.contoencoding as id FROM pg_catalog.pg_conversion con GROUP BY con.contoencoding ORDER BY 1

SELECT * FROM pg_catalog.pg_collation ORDER BY oid

SELECT * FROM pg_catalog.pg_language ORDER BY oid

SELECT w.oid,w.*,p.pronamespace as place FROM pg_catalog.pg_foreign_data_wrapper w LEFT OUTER JOIN pg_catalog.pg_proc p ON w.fdwhandler=p.oid ORDER BY w.fdwname

SELECT s.oid,s.* FROM pg_catalog.pg_foreign_server s ORDER BY s.srvname

SELECT pg_tablespace_location(t.oid) loc,t.* FROM pg_catalog.pg_tablespace t ORDER BY t.oid

SELECT comment,name,installed_version FROM pg_catalog.pg_available_extensions ORDER BY name

SELECT act.*, d.description FROM pg_catalog.pg_event_trigger act LEFT OUTER JOIN pg_catalog.pg_description d ON act."oid" = d.objoid

SELECT ext.oid, own.tables, ext.* FROM pg_catalog.pg_extension ext left join (select part.ext_oid, ARRAY_AGG(sch.nspname || '.' || tab.relname) tables
  from (select unnest(each.extconfig) oid, each.oid ext_oid from pg_catalog.pg_extension each) part join pg_class tab on part.oid = tab.oid join pg_namespace sch on tab.relnamespace = sch.oid group by ext_oid) own
on own.ext_oid = ext.oid ORDER BY ext.oid

-- Schemas
SELECT sch.*,d.description FROM pg_catalog.pg_namespace sch LEFT OUTER JOIN pg_catalog.pg_description d ON d.classoid='pg_namespace'::regclass AND d.objoid=sch.oid AND d.objsubid=0 ORDER BY nspname

-- Types $ [11]
SELECT t.*,tab.relkind,format_type(nullif(t.typbasetype, 0), t.typtypmod) as base, d.description FROM pg_catalog.pg_type t
LEFT OUTER JOIN pg_class tab ON t.typrelid=tab.oid LEFT OUTER JOIN pg_catalog.pg_type el ON t.typelem=el.oid LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid=t.oid
WHERE t.typnamespace=$1 AND t.typname IS NOT NULL AND (el.typcategory IS NULL OR el.typcategory <> 'C') AND (tab.relkind IS NULL OR tab.relkind = 'c')

SELECT e.enumlabel FROM pg_catalog.pg_enum e WHERE e.enumtypid=25 ORDER BY e.enumsortorder

SELECT concat(con.conname, ' ', pg_catalog.pg_get_constraintdef(oid, true)) FROM pg_catalog.pg_constraint con WHERE contypid = 25

-- Tables $ [2200, "census"]
SELECT tab.oid,tab.*,pg_catalog.pg_get_expr(tab.relpartbound, tab.oid) as part, pg_catalog.pg_get_partkeydef(tab.oid) as key,note.description FROM pg_catalog.pg_class tab
LEFT OUTER JOIN pg_catalog.pg_description note ON note.classoid='pg_class'::regclass AND note.objoid=tab.oid AND note.objsubid=0 WHERE tab.relkind not in ('I','c','i') AND tab.relnamespace=$1 AND relname=$2

-- Columns $ [":census"]
SELECT a.*,pg_catalog.pg_get_expr(def.adbin, def.adrelid, true) as standard,note.description,dep.objid FROM pg_catalog.pg_class tab INNER JOIN pg_catalog.pg_attribute a ON (tab.oid=a.attrelid)
LEFT OUTER JOIN pg_depend dep on dep.classid = dep.refclassid and dep.deptype = 'i' and dep.refobjid = a.attrelid AND dep.refobjsubid = a.attnum
LEFT OUTER JOIN pg_catalog.pg_attrdef def ON (a.attnum = def.adnum AND a.attrelid=def.adrelid) LEFT OUTER JOIN pg_catalog.pg_description note ON (a.attnum = note.objsubid AND tab.oid=note.objoid)
WHERE tab.oid=$1 AND tab.relkind not in ('I','c','i') AND NOT a.attisdropped ORDER BY a.attnum

-- Columns of a type $ [0]
SELECT row_number() OVER (ORDER BY a.attnum) as place,a.* FROM pg_catalog.pg_attribute a WHERE a.attrelid=$1 AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum

-- Constraints $ [":census"]
SELECT con.*,case when con.contype='c' then "substring"(pg_get_constraintdef(con.oid), 7) else null end rule,there.relnamespace as place FROM pg_catalog.pg_constraint con
INNER JOIN pg_catalog.pg_class here ON con.conrelid=here.oid LEFT OUTER JOIN pg_catalog.pg_class there ON con.confrelid=there.oid WHERE here.oid=$1 ORDER BY con.oid

-- Indexes $ [":census"]
SELECT ind.*,ind.indkey as columns,own.relam,pg_catalog.pg_get_expr(ind.indexprs, ind.indrelid, true) as written,pg_catalog.pg_relation_size(ind.indexrelid) as size,
pg_catalog.pg_stat_get_numscans(ind.indexrelid) as uses FROM pg_catalog.pg_class own INNER JOIN pg_catalog.pg_index ind ON own.oid=ind.indexrelid WHERE ind.indrelid=$1 ORDER BY own.relname

-- References $ [":census"]
SELECT DISTINCT connamespace FROM pg_catalog.pg_constraint WHERE confrelid=$1

-- Parents $ [2200]
SELECT h.inhseqno,parent.oid parent,parent.relnamespace FROM pg_class child, pg_catalog.pg_inherits h, pg_class parent WHERE child.relnamespace=$1 AND h.inhrelid=child.oid AND h.inhparent=parent.oid ORDER BY h.inhseqno

-- Sizes $ [2200]
select tab.oid,pg_catalog.pg_relation_size(tab.oid) as own,pg_catalog.pg_total_relation_size(tab.oid) as whole FROM pg_class tab WHERE tab.relnamespace=$1

-- The size of a table $ [":census", ":census"]
select pg_catalog.pg_relation_size($1) as own,pg_catalog.pg_total_relation_size($2) as whole

-- Triggers $ [":census"]
SELECT act.*,func.pronamespace as place FROM pg_catalog.pg_trigger act LEFT OUTER JOIN pg_catalog.pg_proc func ON act.tgfoid=func.oid WHERE NOT act.tgisinternal AND act.tgrelid = $1

SELECT pg_get_ruledef(rule.oid) AS text, rule.* FROM pg_rewrite rule WHERE rule.rulename <> '_RETURN'::name AND rule.ev_class=:census

-- Policies $ ["public", "census"]
select * from pg_catalog.pg_policies where tablename=$2 and schemaname=$1

-- Sequences $ ["public", "none"]
SELECT * from pg_catalog.pg_sequences WHERE schemaname=$1 AND sequencename=$2

-- Aggregates and functions $ [2200]
SELECT func.proname,agg.* FROM pg_catalog.pg_proc func,pg_catalog.pg_aggregate agg WHERE agg.aggfnoid=func.oid AND func.pronamespace=$1 ORDER BY func.proname

-- Functions $ [2200]
SELECT func.oid as id,func.*,pg_catalog.pg_get_expr(func.proargdefaults, 0) as standards,note.description FROM pg_catalog.pg_proc func
LEFT OUTER JOIN pg_catalog.pg_description note ON note.classoid='pg_proc'::regclass AND note.objoid=func.oid and note.objsubid = 0 WHERE func.pronamespace=$1 ORDER BY func.proname

-- A search of tables: PostgreStructureAssistant.java $ ["%cen%", "%cen%", "%cen%", 2200]
SELECT tab.relkind,tab.relname,tab.oid FROM pg_catalog.pg_class tab WHERE tab.relkind in('r','v','m','f','p') AND (tab.relname ILIKE $1 OR obj_description(tab.oid, 'pg_class') ILIKE $2
OR (tab.relkind = 'v' AND pg_get_viewdef(tab."oid") ILIKE $3)) AND tab.relnamespace IN ($4) ORDER BY tab.relname LIMIT 100

-- A search of functions $ ["%cen%", "%cen%", 2200]
SELECT func.proname,func.* FROM pg_catalog.pg_proc func WHERE (func.proname LIKE $1 OR (func.prokind <> 'a' AND func.prokind <> 'm' AND pg_get_functiondef(func."oid") LIKE $2)) AND func.pronamespace IN ($3) ORDER BY func.proname LIMIT 10

-- A search of columns $ ["%ex%", "%ex%", 2200]
SELECT a.attname,a.attrelid,tab.relnamespace FROM pg_catalog.pg_class tab, pg_catalog.pg_attribute a WHERE a.attrelid=tab.oid AND (a.attname ILIKE $1 OR col_description(tab.oid, a.attnum) ILIKE $2) AND tab.relnamespace IN ($3) ORDER BY a.attname LIMIT 100

-- What depends on a table: PostgreDependency.java $ [":census"]
SELECT DISTINCT link.deptype, link.objid, pg_get_expr(def.adbin, def.adrelid) written, CASE WHEN tab.relkind IS NOT NULL THEN tab.relkind::text || COALESCE(link.objsubid::text, '')::text
  WHEN con.oid IS NOT NULL THEN 'C'::text || contype::text WHEN rule.oid IS NOT NULL THEN 'R'::text ELSE '' END AS kind, COALESCE(owner.relname, act.tgname, lang.lanname) AS name
FROM pg_depend link LEFT JOIN pg_class tab ON tab.oid=link.objid LEFT JOIN pg_constraint con ON con.oid=link.objid LEFT JOIN pg_class owner ON owner.oid=con.conrelid LEFT JOIN pg_rewrite rule ON rule.oid=link.objid
LEFT JOIN pg_trigger act ON act.oid=link.objid LEFT JOIN pg_language lang ON lang.oid=link.objid LEFT JOIN pg_attrdef def ON def.oid=link.objid WHERE link.refobjid=$1 ORDER BY kind

-- Settings and rights of a role $ [10]
select base.datname, own.setconfig from pg_catalog.pg_db_role_setting own left join pg_catalog.pg_database base on base.oid = own.setdatabase where own.setrole = $1

-- Rights $ ["sotto", "PUBLIC"]
SELECT * FROM information_schema.table_privileges WHERE grantee=$2 AND table_catalog=$1

-- Rights to call $ ["sotto"]
SELECT * FROM information_schema.routine_privileges WHERE specific_catalog=$1

-- Other rights $ [10]
SELECT * FROM (SELECT DISTINCT relname, relkind, (aclexplode(relacl)).grantee as whom FROM pg_class WHERE relnamespace IN (SELECT oid FROM pg_namespace WHERE nspname NOT LIKE 'pg_%') AND relacl IS NOT NULL
  UNION ALL SELECT DISTINCT sch.nspname AS relname, cast('C' as "char") AS relkind, (aclexplode(nspacl)).grantee as whom FROM pg_catalog.pg_namespace sch WHERE sch.nspacl IS NOT NULL) AS rights
WHERE rights.relkind IN('m', 'S', 'C') AND rights.whom=$1

-- Default rights $ [10]
SELECT DISTINCT own.* FROM (SELECT *, (aclexplode(defaclacl)).grantee as whom FROM pg_default_acl WHERE defaclnamespace <> 0) as own where own.whom = $1

-- Sessions and locks: PostgreLockManager.java $ [1]
select coalesce(base.datname,'') as base, coalesce(held.relation::regclass::varchar,'') as relation, coalesce(held.transactionid::varchar,'') as tid, held.granted
from pg_catalog.pg_locks held left join pg_catalog.pg_database base on held.database = base.oid where held.pid = $1

with held as (select pid, mode, granted, locktype, transactionid as tid from pg_locks), clash as (select * from (values ('ShareLock','ExclusiveLock',1), ('ExclusiveLock','ShareLock',2)) as t (one,other,rank))
, waits as (select h.pid as waiting, h2.pid as blocking, act.usename, row_number() over(partition by h.pid order by c.rank) place from held h join clash c on c.one = h.mode
  join held h2 on h2.mode = c.other and h2.granted and h2.pid != h.pid and coalesce(h2.tid::text,'*') = coalesce(h.tid::text,'*') join pg_catalog.pg_stat_activity act ON act.pid = h.pid where not h.granted)
, roots as (select blocking from waits except select waiting from waits)
select waiting, usename from waits union select waits.blocking, null::text from waits, roots where roots.blocking = waits.blocking

SELECT act.* FROM pg_catalog.pg_stat_activity act

-- Schema exists
SELECT 1 FROM INFORMATION_SCHEMA.SCHEMATA WHERE SCHEMA_NAME = 'public'
