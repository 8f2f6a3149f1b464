-- Session
SET extra_float_digits = 3

SET application_name = 'DBeaver 25.1.0 - Metadata'

SELECT current_database()

SELECT version()

SELECT current_schema(),session_user

SHOW search_path

SET search_path = public,"$user"

-- Databases $ ["sotto"]
SELECT db.oid,db.* FROM pg_catalog.pg_database db WHERE 1 = 1 AND datallowconn AND NOT datistemplate OR db.datname =$1 ORDER BY db.datname

-- One database $ ["sotto"]
SELECT db.oid,db.* FROM pg_catalog.pg_database db WHERE datname=$1

SELECT db.datname FROM pg_catalog.pg_database db WHERE datistemplate

SELECT db.datname,pg_database_size(db.oid) FROM pg_catalog.pg_database db

-- Description of a database $ ["sotto"]
select description from pg_shdescription join pg_database on objoid = pg_database.oid where datname = $1

-- What the server has
SELECT * FROM pg_catalog.pg_enum WHERE 1<>1 LIMIT 1

SELECT reltype FROM pg_catalog.pg_class WHERE 1<>1 LIMIT 1

SELECT typcategory FROM pg_catalog.pg_type WHERE 1<>1 LIMIT 1

-- A setting $ ["standard_conforming_strings"]
select * from pg_catalog.pg_settings where name=$1

select * from pg_catalog.pg_settings

select string_agg(word, ',') from pg_catalog.pg_get_keywords() where word <> ALL ('{a,abs,absolute}'::text[])

-- Global objects
SELECT a.oid,a.*,pd.description FROM pg_catalog.pg_roles a left join pg_catalog.pg_shdescription pd on a.oid = pd.objoid ORDER BY a.rolname

SELECT am.oid,am.* FROM pg_catalog.pg_am am ORDER BY am.oid

SELECT c.contoencoding as encid,pg_catalog.pg_encoding_to_char(c.contoencoding) as encname FROM pg_catalog.pg_conversion c GROUP BY c.contoencoding ORDER BY 2

SELECT c.oid,c.* FROM pg_catalog.pg_collation c ORDER BY c.oid

SELECT l.oid,l.* FROM pg_catalog.pg_language l ORDER BY l.oid

SELECT l.oid,l.*,p.pronamespace as handler_schema_id FROM pg_catalog.pg_foreign_data_wrapper l LEFT OUTER JOIN pg_catalog.pg_proc p ON p.oid=l.fdwhandler ORDER BY l.fdwname

SELECT l.oid,l.* FROM pg_catalog.pg_foreign_server l ORDER BY l.srvname

SELECT t.oid,t.*,pg_tablespace_location(t.oid) loc FROM pg_catalog.pg_tablespace t ORDER BY t.oid

SELECT name,default_version,installed_version,comment FROM pg_catalog.pg_available_extensions ORDER BY name

SELECT pet.*, d.description FROM pg_catalog.pg_event_trigger pet LEFT OUTER JOIN pg_catalog.pg_description d ON pet."oid" = d.objoid

SELECT e.oid, cfg.tbls, n.nspname as schema_name, e.* FROM pg_catalog.pg_extension e join pg_namespace n on n.oid =e.extnamespace
left join (select ARRAY_AGG(ns.nspname || '.' || cls.relname) tbls, oid_ext
  from (select unnest(e1.extconfig) oid , e1.oid oid_ext from pg_catalog.pg_extension e1 ) c
  join pg_class cls on cls.oid = c.oid join pg_namespace ns on ns.oid = cls.relnamespace group by oid_ext) cfg on cfg.oid_ext = e.oid
ORDER BY e.oid

-- Schemas
SELECT n.oid,n.*,d.description FROM pg_catalog.pg_namespace n LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid=n.oid AND d.objsubid=0 AND d.classoid='pg_namespace'::regclass ORDER BY nspname

-- Types $ [11]
SELECT t.oid,t.*,c.relkind,format_type(nullif(t.typbasetype, 0), t.typtypmod) as base_type_name, d.description
FROM pg_catalog.pg_type t LEFT OUTER JOIN pg_catalog.pg_type et ON et.oid=t.typelem
LEFT OUTER JOIN pg_catalog.pg_class c ON c.oid=t.typrelid LEFT OUTER JOIN pg_catalog.pg_description d ON t.oid=d.objoid
WHERE t.typname IS NOT NULL AND (c.relkind IS NULL OR c.relkind = 'c') AND (et.typcategory IS NULL OR et.typcategory <> 'C') AND t.typnamespace=$1

-- A type $ [25]
SELECT t.oid,t.*,c.relkind,format_type(nullif(t.typbasetype, 0), t.typtypmod) as base_type_name FROM pg_catalog.pg_type t
LEFT OUTER JOIN pg_class c ON c.oid=t.typrelid LEFT OUTER JOIN pg_catalog.pg_description d ON t.oid=d.objoid WHERE t.oid=$1

-- Tables $ [2200]
SELECT c.oid,c.*,d.description,pg_catalog.pg_get_expr(c.relpartbound, c.oid) as partition_expr, pg_catalog.pg_get_partkeydef(c.oid) as partition_key
FROM pg_catalog.pg_class c LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid=c.oid AND d.objsubid=0 AND d.classoid='pg_class'::regclass
WHERE c.relnamespace=$1 AND c.relkind not in ('i','I','c')

-- Columns $ [":census"]
SELECT c.relname,a.*,pg_catalog.pg_get_expr(ad.adbin, ad.adrelid, true) as def_value,dsc.description,dep.objid
FROM pg_catalog.pg_attribute a INNER JOIN pg_catalog.pg_class c ON (a.attrelid=c.oid)
LEFT OUTER JOIN pg_catalog.pg_attrdef ad ON (a.attrelid=ad.adrelid AND a.attnum = ad.adnum)
LEFT OUTER JOIN pg_catalog.pg_description dsc ON (c.oid=dsc.objoid AND a.attnum = dsc.objsubid)
LEFT OUTER JOIN pg_depend dep on dep.refobjid = a.attrelid AND dep.deptype = 'i' and dep.refobjsubid = a.attnum and dep.classid = dep.refclassid
WHERE NOT a.attisdropped AND c.relkind not in ('i','I','c') AND c.oid=$1 ORDER BY a.attnum

-- Columns of a type $ [0]
SELECT c.relname,row_number() OVER (ORDER BY a.attnum) as attnum,a.*,pg_catalog.pg_get_expr(ad.adbin, ad.adrelid, true) as def_value,dsc.description
FROM pg_catalog.pg_attribute a INNER JOIN pg_catalog.pg_class c ON (a.attrelid=c.oid)
LEFT OUTER JOIN pg_catalog.pg_attrdef ad ON (a.attrelid=ad.adrelid AND a.attnum = ad.adnum)
LEFT OUTER JOIN pg_catalog.pg_description dsc ON (c.oid=dsc.objoid AND a.attnum = dsc.objsubid)
WHERE a.attnum > 0 AND NOT a.attisdropped AND c.oid=$1 ORDER BY a.attnum

-- Constraints $ [":census"]
SELECT c.oid,c.*,t.relname as tabrelname,rt.relnamespace as refnamespace,d.description, case when c.contype='c' then "substring"(pg_get_constraintdef(c.oid), 7) else null end consrc_copy
FROM pg_catalog.pg_constraint c INNER JOIN pg_catalog.pg_class t ON t.oid=c.conrelid LEFT OUTER JOIN pg_catalog.pg_class rt ON rt.oid=c.confrelid
LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid=c.oid AND d.objsubid=0 AND d.classoid='pg_constraint'::regclass
WHERE c.conrelid=$1 ORDER BY c.oid

-- Indexes $ [":census"]
SELECT i.*,i.indkey as keys,c.relname,c.relnamespace,c.relam,c.reltablespace,tc.relname as tabrelname,dsc.description,
pg_catalog.pg_get_expr(i.indpred, i.indrelid) as pred_expr,pg_catalog.pg_get_expr(i.indexprs, i.indrelid, true) as expr,
pg_catalog.pg_relation_size(i.indexrelid) as index_rel_size,pg_catalog.pg_stat_get_numscans(i.indexrelid) as index_num_scans
FROM pg_catalog.pg_index i INNER JOIN pg_catalog.pg_class c ON c.oid=i.indexrelid INNER JOIN pg_catalog.pg_class tc ON tc.oid=i.indrelid
LEFT OUTER JOIN pg_catalog.pg_description dsc ON i.indexrelid=dsc.objoid WHERE i.indrelid=$1 ORDER BY c.relname

-- References $ [":census"]
SELECT DISTINCT connamespace FROM pg_catalog.pg_constraint WHERE confrelid=$1

-- Inheritance $ [2200]
SELECT i.inhrelid relid, pc.relnamespace parent_ns, pc.oid parent_oid, i.inhseqno FROM pg_catalog.pg_inherits i, pg_class rc, pg_class pc
WHERE rc.oid=i.inhrelid AND rc.relnamespace=$1 AND pc.oid=i.inhparent

-- Parents $ [":census"]
SELECT i.*,c.relnamespace FROM pg_catalog.pg_inherits i,pg_catalog.pg_class c WHERE i.inhrelid=$1 AND c.oid=i.inhparent ORDER BY i.inhseqno

-- Partition $ ["census", 2200]
select pg_get_expr(c.relpartbound, c.oid, true) as partition_range from "pg_catalog".pg_class c where relname = $1 and relnamespace = $2;

-- Sizes $ [2200]
select c.oid,pg_catalog.pg_total_relation_size(c.oid) as total_rel_size,pg_catalog.pg_relation_size(c.oid) as rel_size FROM pg_class c WHERE c.relnamespace=$1

-- Size of a table $ [":census", ":census"]
select pg_catalog.pg_total_relation_size($1) as total_rel_size,pg_catalog.pg_relation_size($2) as rel_size

-- Triggers $ [":census"]
SELECT x.oid,x.*,p.pronamespace as func_schema_id,d.description FROM pg_catalog.pg_trigger x
LEFT OUTER JOIN pg_catalog.pg_proc p ON p.oid=x.tgfoid LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid=x.oid AND d.objsubid=0
WHERE x.tgrelid = $1 AND NOT x.tgisinternal

SELECT r.oid,r.*, pg_get_ruledef(r.oid) AS definition FROM pg_rewrite r WHERE r.ev_class=:census AND r.rulename <> '_RETURN'::name

-- Policies $ ["public", "census"]
select * from pg_catalog.pg_policies where schemaname=$1 and tablename=$2

-- Default privileges $ [2200]
SELECT * FROM pg_default_acl WHERE defaclnamespace = $1

-- Aggregates $ [2200]
SELECT p.oid AS proc_oid,p.proname AS proc_name,a.* FROM pg_catalog.pg_aggregate a,pg_catalog.pg_proc p WHERE p.oid=a.aggfnoid AND p.pronamespace=$1 ORDER BY p.proname

-- Procedures $ [2200]
SELECT p.oid as poid,p.*,pg_catalog.pg_get_expr(p.proargdefaults, 0) as arg_defaults,d.description FROM pg_catalog.pg_proc p
LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid=p.oid and d.classoid='pg_proc'::regclass AND d.objsubid = 0
WHERE p.pronamespace=$1 ORDER BY p.proname

-- Names $ [2200, "census", 2200, "census"]
SELECT oid,relkind,reltype FROM pg_catalog.pg_class WHERE relnamespace=$1 AND relname=$2 UNION ALL SELECT oid,'c',oid FROM pg_catalog.pg_type WHERE typnamespace=$3 AND typname=$4

-- Search $ ["%cen%", "%cen%", 2200]
SELECT x.oid,x.relname,x.relnamespace,x.relkind FROM pg_catalog.pg_class x LEFT JOIN pg_catalog.pg_description d ON d.objoid = x.oid
WHERE x.relkind in('r','v','m','p') AND (x.relname ILIKE $1 OR d.description ILIKE $2) AND x.relnamespace IN ($3) ORDER BY x.relname LIMIT 100

-- Roles' privileges $ [10]
SELECT * FROM (SELECT DISTINCT relnamespace, relacl, relname, relkind, (aclexplode(relacl)).grantee as granteeI FROM pg_class
  WHERE relacl IS NOT NULL AND relnamespace IN (SELECT oid FROM pg_namespace WHERE nspname NOT LIKE 'pg_%' AND nspname != 'information_schema')
  UNION ALL SELECT DISTINCT n.oid AS relnamespace, nspacl AS relacl, n.nspname AS relname, cast('C' as "char") AS relkind, (aclexplode(nspacl)).grantee as granteeI
  FROM pg_catalog.pg_namespace n WHERE n.nspacl IS NOT NULL) AS tr
WHERE tr.granteeI=$1 AND tr.relkind IN('S', 'm', 'C')

SELECT sa.* FROM pg_catalog.pg_stat_activity sa

-- Schema exists
SELECT 1 FROM INFORMATION_SCHEMA.SCHEMATA WHERE SCHEMA_NAME = 'public'
