-- In words of our own, checked against web/pgadmin/utils/driver/psycopg3 and the SQL templates of pgAdmin 9.17. Session
SET DateStyle=ISO; SET client_min_messages=notice; SELECT set_config('bytea_output','hex',false) FROM pg_show_all_settings() WHERE name = 'bytea_output'; SET client_encoding='UTF8';

SELECT version()

-- Database
SELECT base.datname, pg_encoding_to_char(base.encoding) AS encoding, has_database_privilege(base.oid, 'CREATE') as may_create, datistemplate, base.datallowconn
FROM pg_catalog.pg_database base WHERE current_database() = base.datname

SELECT encrypted, gss_authenticated FROM pg_catalog.pg_stat_gssapi WHERE pid = pg_backend_pid()

-- Role, and the roles that it has by others
SELECT who.rolname as name, who.rolsuper, CASE WHEN who.rolsuper THEN true ELSE who.rolcreatedb END as may_create,
  CASE WHEN 'pg_signal_backend'=ANY(ARRAY(WITH RECURSIVE has AS (SELECT pg_roles.oid,pg_roles.rolname FROM pg_roles WHERE who.oid = pg_roles.oid
    UNION ALL SELECT link.roleid,other.rolname FROM has upper_role JOIN pg_auth_members link ON upper_role.oid = link.member JOIN pg_roles other ON other.oid = link.roleid) SELECT rolname FROM has)) THEN True ELSE False END as may_signal
FROM pg_catalog.pg_roles as who WHERE who.rolname = current_user

-- What its browser asks for. Databases
SELECT datname, datdba, has_database_privilege(oid, 'CREATE') AS may_create FROM pg_catalog.pg_database WHERE oid > 16383::OID ORDER BY datname;

SELECT datname, pg_catalog.pg_database_size(datid) AS size, numbackends FROM pg_catalog.pg_stat_database WHERE datid > 16383::OID

SELECT usename, CASE WHEN usesuper THEN pg_catalog.pg_is_in_recovery() ELSE FALSE END AS recovers FROM pg_catalog.pg_user WHERE usename = current_user

SELECT (SELECT count(extname) FROM pg_catalog.pg_extension) AS extensions, (SELECT count(*) FROM pg_catalog.pg_replication_slots) AS slots

-- Schemas
SELECT nspname, nspname = ANY('{information_schema}') AS is_standard, pg_catalog.has_schema_privilege(oid, 'USAGE') AS usable
FROM pg_catalog.pg_namespace WHERE nspname NOT LIKE E'pg\\_%' ORDER BY nspname

-- A table: its settings, privileges and sizes
SELECT relname, (SELECT count(*) FROM pg_catalog.pg_trigger WHERE tgrelid = rel.oid AND tgisinternal = FALSE) AS triggers,
  (substring(pg_catalog.array_to_string(reloptions, ',') FROM 'autovacuum_enabled=([a-z]*)'))::BOOL AS autovacuum,
  (SELECT setting FROM pg_catalog.pg_show_all_settings() WHERE name = 'default_table_access_method') AS access_method,
  (SELECT pg_catalog.array_agg(provider || '=' || label) FROM pg_catalog.pg_seclabels WHERE objoid = rel.oid) AS labels
FROM pg_catalog.pg_class rel WHERE oid = :census::oid AND relkind IN ('r', 'p')

SELECT grantee.rolname, pg_catalog.array_agg(privilege) AS privileges
FROM (SELECT (entry).grantee AS id, (entry).privilege_type AS privilege FROM (SELECT aclexplode(relacl) AS entry FROM pg_catalog.pg_class WHERE oid = :census::oid) AS entries) AS granted
LEFT JOIN pg_catalog.pg_roles AS grantee ON granted.id = grantee.oid GROUP BY grantee.rolname

SELECT seq_scan, n_live_tup, heap_blks_read, pg_catalog.pg_relation_size(tables.relid) AS size
FROM pg_catalog.pg_stat_all_tables AS tables JOIN pg_catalog.pg_statio_all_tables AS io ON tables.relid = io.relid WHERE tables.relid = :census::oid

-- Its columns
SELECT DISTINCT ON (at.attnum) at.attname, at.attstorage, pg_catalog.format_type(at.atttypid, at.atttypmod) AS shown, key.indkey,
  EXISTS(SELECT 1 FROM pg_catalog.pg_constraint WHERE conrelid = at.attrelid AND contype = 'f' AND at.attnum = ANY(conkey)) AS refers
FROM pg_catalog.pg_attribute at LEFT JOIN pg_catalog.pg_index AS key ON key.indrelid = at.attrelid AND indisprimary
LEFT OUTER JOIN (pg_catalog.pg_depend JOIN pg_catalog.pg_class AS sequence ON objid = sequence.oid AND sequence.relkind = 'S') ON refobjid = at.attrelid AND refobjsubid = at.attnum
WHERE at.attrelid = ':census'::oid AND at.attnum > 0 AND at.attisdropped IS FALSE ORDER BY at.attnum

-- Keys and views
SELECT conname, NOT convalidated AS is_open, description FROM pg_catalog.pg_constraint AS con
LEFT OUTER JOIN pg_catalog.pg_description ON objoid = con.oid AND classoid = 'pg_constraint'::regclass WHERE conrelid = :census::oid

SELECT c.oid, c.xmin, pg_catalog.array_to_string(c.relacl::text[], ', ') AS acl, pg_catalog.pg_get_viewdef(c.oid, true) AS definition FROM pg_catalog.pg_class c
WHERE c.relhasrules AND c.relkind = 'v'::char AND EXISTS (SELECT rulename FROM pg_catalog.pg_rewrite WHERE ev_class = c.oid AND bpchar(ev_type) = '1'::bpchar)

-- Types of a result
SELECT oid, pg_catalog.format_type(oid, NULL) AS name FROM pg_catalog.pg_type WHERE oid = ANY('{20,25}'::oid[]) ORDER BY oid;

-- Activity
SELECT pid, pg_catalog.to_char(backend_start, 'YYYY-MM-DD HH24:MI:SS TZ') AS began, array_to_string(pg_catalog.pg_blocking_pids(pid), ', ') AS blocked_by,
  ROUND((extract(epoch from now() - query_start) / 60)::numeric, 2) AS minutes
FROM pg_catalog.pg_stat_activity ORDER BY pid

SELECT pg_catalog.row_to_json(counted) AS figures FROM (SELECT sum(xact_commit) + sum(xact_rollback) AS transactions FROM pg_catalog.pg_stat_database) AS counted
