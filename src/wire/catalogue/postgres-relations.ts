/*
 * Relations and types of PostgreSQL 15, as `pg_class`, `pg_attribute` and `pg_type` of a new database list them. A relation is a
 * line: its name, OID and kind, and its columns with their types.
 */

/** Relations of the schemas pg_catalog and information_schema. */
export const RELATIONS = `
pg_catalog.pg_aggregate 2600 r: aggfnoid regproc, aggkind char, aggnumdirectargs int2, aggtransfn regproc, aggfinalfn regproc, aggcombinefn regproc, aggserialfn regproc, aggdeserialfn regproc, aggmtransfn regproc, aggminvtransfn regproc, aggmfinalfn regproc, aggfinalextra bool, aggmfinalextra bool, aggfinalmodify char, aggmfinalmodify char, aggsortop oid, aggtranstype oid, aggtransspace int4, aggmtranstype oid, aggmtransspace int4, agginitval text, aggminitval text
pg_catalog.pg_am 2601 r: oid oid, amname name, amhandler regproc, amtype char
pg_catalog.pg_amop 2602 r: oid oid, amopfamily oid, amoplefttype oid, amoprighttype oid, amopstrategy int2, amoppurpose char, amopopr oid, amopmethod oid, amopsortfamily oid
pg_catalog.pg_amproc 2603 r: oid oid, amprocfamily oid, amproclefttype oid, amprocrighttype oid, amprocnum int2, amproc regproc
pg_catalog.pg_attrdef 2604 r: oid oid, adrelid oid, adnum int2, adbin pg_node_tree
pg_catalog.pg_attribute 1249 r: attrelid oid, attname name, atttypid oid, attstattarget int4, attlen int2, attnum int2, attndims int4, attcacheoff int4, atttypmod int4, attbyval bool, attalign char, attstorage char, attcompression char, attnotnull bool, atthasdef bool, atthasmissing bool, attidentity char, attgenerated char, attisdropped bool, attislocal bool, attinhcount int4, attcollation oid, attacl _aclitem, attoptions _text, attfdwoptions _text, attmissingval anyarray
pg_catalog.pg_auth_members 1261 r: roleid oid, member oid, grantor oid, admin_option bool
pg_catalog.pg_authid 1260 r: oid oid, rolname name, rolsuper bool, rolinherit bool, rolcreaterole bool, rolcreatedb bool, rolcanlogin bool, rolreplication bool, rolbypassrls bool, rolconnlimit int4, rolpassword text, rolvaliduntil timestamptz
pg_catalog.pg_available_extension_versions 12085 v: name name, version text, installed bool, superuser bool, trusted bool, relocatable bool, schema name, requires _name, comment text
pg_catalog.pg_available_extensions 12081 v: name name, default_version text, installed_version text, comment text
pg_catalog.pg_backend_memory_contexts 12138 v: name text, ident text, parent text, level int4, total_bytes int8, total_nblocks int8, free_bytes int8, free_chunks int8, used_bytes int8
pg_catalog.pg_cast 2605 r: oid oid, castsource oid, casttarget oid, castfunc oid, castcontext char, castmethod char
pg_catalog.pg_class 1259 r: oid oid, relname name, relnamespace oid, reltype oid, reloftype oid, relowner oid, relam oid, relfilenode oid, reltablespace oid, relpages int4, reltuples float4, relallvisible int4, reltoastrelid oid, relhasindex bool, relisshared bool, relpersistence char, relkind char, relnatts int2, relchecks int2, relhasrules bool, relhastriggers bool, relhassubclass bool, relrowsecurity bool, relforcerowsecurity bool, relispopulated bool, relreplident char, relispartition bool, relrewrite oid, relfrozenxid xid, relminmxid xid, relacl _aclitem, reloptions _text, relpartbound pg_node_tree
pg_catalog.pg_collation 3456 r: oid oid, collname name, collnamespace oid, collowner oid, collprovider char, collisdeterministic bool, collencoding int4, collcollate text, collctype text, colliculocale text, collversion text
pg_catalog.pg_constraint 2606 r: oid oid, conname name, connamespace oid, contype char, condeferrable bool, condeferred bool, convalidated bool, conrelid oid, contypid oid, conindid oid, conparentid oid, confrelid oid, confupdtype char, confdeltype char, confmatchtype char, conislocal bool, coninhcount int4, connoinherit bool, conkey _int2, confkey _int2, conpfeqop _oid, conppeqop _oid, conffeqop _oid, confdelsetcols _int2, conexclop _oid, conbin pg_node_tree
pg_catalog.pg_conversion 2607 r: oid oid, conname name, connamespace oid, conowner oid, conforencoding int4, contoencoding int4, conproc regproc, condefault bool
pg_catalog.pg_cursors 12077 v: name text, statement text, is_holdable bool, is_binary bool, is_scrollable bool, creation_time timestamptz
pg_catalog.pg_database 1262 r: oid oid, datname name, datdba oid, encoding int4, datlocprovider char, datistemplate bool, datallowconn bool, datconnlimit int4, datfrozenxid xid, datminmxid xid, dattablespace oid, datcollate text, datctype text, daticulocale text, datcollversion text, datacl _aclitem
pg_catalog.pg_db_role_setting 2964 r: setdatabase oid, setrole oid, setconfig _text
pg_catalog.pg_default_acl 826 r: oid oid, defaclrole oid, defaclnamespace oid, defaclobjtype char, defaclacl _aclitem
pg_catalog.pg_depend 2608 r: classid oid, objid oid, objsubid int4, refclassid oid, refobjid oid, refobjsubid int4, deptype char
pg_catalog.pg_description 2609 r: objoid oid, classoid oid, objsubid int4, description text
pg_catalog.pg_enum 3501 r: oid oid, enumtypid oid, enumsortorder float4, enumlabel name
pg_catalog.pg_event_trigger 3466 r: oid oid, evtname name, evtevent name, evtowner oid, evtfoid oid, evtenabled char, evttags _text
pg_catalog.pg_extension 3079 r: oid oid, extname name, extowner oid, extnamespace oid, extrelocatable bool, extversion text, extconfig _oid, extcondition _text
pg_catalog.pg_foreign_data_wrapper 2328 r: oid oid, fdwname name, fdwowner oid, fdwhandler oid, fdwvalidator oid, fdwacl _aclitem, fdwoptions _text
pg_catalog.pg_foreign_server 1417 r: oid oid, srvname name, srvowner oid, srvfdw oid, srvtype text, srvversion text, srvacl _aclitem, srvoptions _text
pg_catalog.pg_foreign_table 3118 r: ftrelid oid, ftserver oid, ftoptions _text
pg_catalog.pg_group 12010 v: groname name, grosysid oid, grolist _oid
pg_catalog.pg_index 2610 r: indexrelid oid, indrelid oid, indnatts int2, indnkeyatts int2, indisunique bool, indnullsnotdistinct bool, indisprimary bool, indisexclusion bool, indimmediate bool, indisclustered bool, indisvalid bool, indcheckxmin bool, indisready bool, indislive bool, indisreplident bool, indkey int2vector, indcollation oidvector, indclass oidvector, indoption int2vector, indexprs pg_node_tree, indpred pg_node_tree
pg_catalog.pg_indexes 12043 v: schemaname name, tablename name, indexname name, tablespace name, indexdef text
pg_catalog.pg_inherits 2611 r: inhrelid oid, inhparent oid, inhseqno int4, inhdetachpending bool
pg_catalog.pg_language 2612 r: oid oid, lanname name, lanowner oid, lanispl bool, lanpltrusted bool, lanplcallfoid oid, laninline oid, lanvalidator oid, lanacl _aclitem
pg_catalog.pg_largeobject_metadata 2995 r: oid oid, lomowner oid, lomacl _aclitem
pg_catalog.pg_locks 12073 v: locktype text, database oid, relation oid, page int4, tuple int2, virtualxid text, transactionid xid, classid oid, objid oid, objsubid int2, virtualtransaction text, pid int4, mode text, granted bool, fastpath bool, waitstart timestamptz
pg_catalog.pg_matviews 12038 v: schemaname name, matviewname name, matviewowner name, tablespace name, hasindexes bool, ispopulated bool, definition text
pg_catalog.pg_namespace 2615 r: oid oid, nspname name, nspowner oid, nspacl _aclitem
pg_catalog.pg_opclass 2616 r: oid oid, opcmethod oid, opcname name, opcnamespace oid, opcowner oid, opcfamily oid, opcintype oid, opcdefault bool, opckeytype oid
pg_catalog.pg_operator 2617 r: oid oid, oprname name, oprnamespace oid, oprowner oid, oprkind char, oprcanmerge bool, oprcanhash bool, oprleft oid, oprright oid, oprresult oid, oprcom oid, oprnegate oid, oprcode regproc, oprrest regproc, oprjoin regproc
pg_catalog.pg_opfamily 2753 r: oid oid, opfmethod oid, opfname name, opfnamespace oid, opfowner oid
pg_catalog.pg_parameter_acl 6243 r: oid oid, parname text, paracl _aclitem
pg_catalog.pg_partitioned_table 3350 r: partrelid oid, partstrat char, partnatts int2, partdefid oid, partattrs int2vector, partclass oidvector, partcollation oidvector, partexprs pg_node_tree
pg_catalog.pg_policies 12018 v: schemaname name, tablename name, policyname name, permissive text, roles _name, cmd text, qual text, with_check text
pg_catalog.pg_policy 3256 r: oid oid, polname name, polrelid oid, polcmd char, polpermissive bool, polroles _oid, polqual pg_node_tree, polwithcheck pg_node_tree
pg_catalog.pg_prepared_statements 12095 v: name text, statement text, prepare_time timestamptz, parameter_types _regtype, from_sql bool, generic_plans int8, custom_plans int8
pg_catalog.pg_prepared_xacts 12090 v: transaction xid, gid text, prepared timestamptz, owner name, database name
pg_catalog.pg_proc 1255 r: oid oid, proname name, pronamespace oid, proowner oid, prolang oid, procost float4, prorows float4, provariadic oid, prosupport regproc, prokind char, prosecdef bool, proleakproof bool, proisstrict bool, proretset bool, provolatile char, proparallel char, pronargs int2, pronargdefaults int2, prorettype oid, proargtypes oidvector, proallargtypes _oid, proargmodes _char, proargnames _text, proargdefaults pg_node_tree, protrftypes _oid, prosrc text, probin text, prosqlbody pg_node_tree, proconfig _text, proacl _aclitem
pg_catalog.pg_publication 6104 r: oid oid, pubname name, pubowner oid, puballtables bool, pubinsert bool, pubupdate bool, pubdelete bool, pubtruncate bool, pubviaroot bool
pg_catalog.pg_publication_namespace 6237 r: oid oid, pnpubid oid, pnnspid oid
pg_catalog.pg_publication_rel 6106 r: oid oid, prpubid oid, prrelid oid, prqual pg_node_tree, prattrs int2vector
pg_catalog.pg_publication_tables 12068 v: pubname name, schemaname name, tablename name, attnames _name, rowfilter text
pg_catalog.pg_range 3541 r: rngtypid oid, rngsubtype oid, rngmultitypid oid, rngcollation oid, rngsubopc oid, rngcanonical regproc, rngsubdiff regproc
pg_catalog.pg_replication_slots 12257 v: slot_name name, plugin name, slot_type text, datoid oid, database name, temporary bool, active bool, active_pid int4, xmin xid, catalog_xmin xid, restart_lsn pg_lsn, confirmed_flush_lsn pg_lsn, wal_status text, safe_wal_size int8, two_phase bool
pg_catalog.pg_rewrite 2618 r: oid oid, rulename name, ev_class oid, ev_type char, ev_enabled char, is_instead bool, ev_qual pg_node_tree, ev_action pg_node_tree
pg_catalog.pg_roles 12000 v: rolname name, rolsuper bool, rolinherit bool, rolcreaterole bool, rolcreatedb bool, rolcanlogin bool, rolreplication bool, rolconnlimit int4, rolpassword text, rolvaliduntil timestamptz, rolbypassrls bool, rolconfig _text, oid oid
pg_catalog.pg_rules 12023 v: schemaname name, tablename name, rulename name, definition text
pg_catalog.pg_seclabel 3596 r: objoid oid, classoid oid, objsubid int4, provider text, label text
pg_catalog.pg_seclabels 12099 v: objoid oid, classoid oid, objsubid int4, objtype text, objnamespace oid, objname text, provider text, label text
pg_catalog.pg_sequence 2224 r: seqrelid oid, seqtypid oid, seqstart int8, seqincrement int8, seqmax int8, seqmin int8, seqcache int8, seqcycle bool
pg_catalog.pg_sequences 12048 v: schemaname name, sequencename name, sequenceowner name, data_type regtype, start_value int8, min_value int8, max_value int8, increment_by int8, cycle bool, cache_size int8, last_value int8
pg_catalog.pg_settings 12104 v: name text, setting text, unit text, category text, short_desc text, extra_desc text, context text, vartype text, source text, min_val text, max_val text, enumvals _text, boot_val text, reset_val text, sourcefile text, sourceline int4, pending_restart bool
pg_catalog.pg_shadow 12005 v: usename name, usesysid oid, usecreatedb bool, usesuper bool, userepl bool, usebypassrls bool, passwd text, valuntil timestamptz, useconfig _text
pg_catalog.pg_shdepend 1214 r: dbid oid, classid oid, objid oid, objsubid int4, refclassid oid, refobjid oid, deptype char
pg_catalog.pg_shdescription 2396 r: objoid oid, classoid oid, description text
pg_catalog.pg_shseclabel 3592 r: objoid oid, classoid oid, provider text, label text
pg_catalog.pg_stat_activity 12222 v: datid oid, datname name, pid int4, leader_pid int4, usesysid oid, usename name, application_name text, client_addr inet, client_hostname text, client_port int4, backend_start timestamptz, xact_start timestamptz, query_start timestamptz, state_change timestamptz, wait_event_type text, wait_event text, state text, backend_xid xid, backend_xmin xid, query_id int8, query text, backend_type text
pg_catalog.pg_stat_all_indexes 12183 v: relid oid, indexrelid oid, schemaname name, relname name, indexrelname name, idx_scan int8, idx_tup_read int8, idx_tup_fetch int8
pg_catalog.pg_stat_all_tables 12142 v: relid oid, schemaname name, relname name, seq_scan int8, seq_tup_read int8, idx_scan int8, idx_tup_fetch int8, n_tup_ins int8, n_tup_upd int8, n_tup_del int8, n_tup_hot_upd int8, n_live_tup int8, n_dead_tup int8, n_mod_since_analyze int8, n_ins_since_vacuum int8, last_vacuum timestamptz, last_autovacuum timestamptz, last_analyze timestamptz, last_autoanalyze timestamptz, vacuum_count int8, autovacuum_count int8, analyze_count int8, autoanalyze_count int8
pg_catalog.pg_stat_database 12266 v: datid oid, datname name, numbackends int4, xact_commit int8, xact_rollback int8, blks_read int8, blks_hit int8, tup_returned int8, tup_fetched int8, tup_inserted int8, tup_updated int8, tup_deleted int8, conflicts int8, temp_files int8, temp_bytes int8, deadlocks int8, checksum_failures int8, checksum_last_failure timestamptz, blk_read_time float8, blk_write_time float8, session_time float8, active_time float8, idle_in_transaction_time float8, sessions int8, sessions_abandoned int8, sessions_fatal int8, sessions_killed int8, stats_reset timestamptz
pg_catalog.pg_stat_database_conflicts 12271 v: datid oid, datname name, confl_tablespace int8, confl_lock int8, confl_snapshot int8, confl_bufferpin int8, confl_deadlock int8
pg_catalog.pg_stat_gssapi 12253 v: pid int4, gss_authenticated bool, principal text, encrypted bool
pg_catalog.pg_stat_replication 12227 v: pid int4, usesysid oid, usename name, application_name text, client_addr inet, client_hostname text, client_port int4, backend_start timestamptz, backend_xmin xid, state text, sent_lsn pg_lsn, write_lsn pg_lsn, flush_lsn pg_lsn, replay_lsn pg_lsn, write_lag interval, flush_lag interval, replay_lag interval, sync_priority int4, sync_state text, reply_time timestamptz
pg_catalog.pg_stat_ssl 12249 v: pid int4, ssl bool, version text, cipher text, bits int4, client_dn text, client_serial numeric, issuer_dn text
pg_catalog.pg_stat_subscription 12244 v: subid oid, subname name, pid int4, relid oid, received_lsn pg_lsn, last_msg_send_time timestamptz, last_msg_receipt_time timestamptz, latest_end_lsn pg_lsn, latest_end_time timestamptz
pg_catalog.pg_stat_user_functions 12275 v: funcid oid, schemaname name, funcname name, calls int8, total_time float8, self_time float8
pg_catalog.pg_stat_user_indexes 12192 v: relid oid, indexrelid oid, schemaname name, relname name, indexrelname name, idx_scan int8, idx_tup_read int8, idx_tup_fetch int8
pg_catalog.pg_stat_user_tables 12161 v: relid oid, schemaname name, relname name, seq_scan int8, seq_tup_read int8, idx_scan int8, idx_tup_fetch int8, n_tup_ins int8, n_tup_upd int8, n_tup_del int8, n_tup_hot_upd int8, n_live_tup int8, n_dead_tup int8, n_mod_since_analyze int8, n_ins_since_vacuum int8, last_vacuum timestamptz, last_autovacuum timestamptz, last_analyze timestamptz, last_autoanalyze timestamptz, vacuum_count int8, autovacuum_count int8, analyze_count int8, autoanalyze_count int8
pg_catalog.pg_statio_all_indexes 12196 v: relid oid, indexrelid oid, schemaname name, relname name, indexrelname name, idx_blks_read int8, idx_blks_hit int8
pg_catalog.pg_statio_all_sequences 12209 v: relid oid, schemaname name, relname name, blks_read int8, blks_hit int8
pg_catalog.pg_statio_all_tables 12170 v: relid oid, schemaname name, relname name, heap_blks_read int8, heap_blks_hit int8, idx_blks_read int8, idx_blks_hit int8, toast_blks_read int8, toast_blks_hit int8, tidx_blks_read int8, tidx_blks_hit int8
pg_catalog.pg_statio_user_indexes 12205 v: relid oid, indexrelid oid, schemaname name, relname name, indexrelname name, idx_blks_read int8, idx_blks_hit int8
pg_catalog.pg_statio_user_sequences 12218 v: relid oid, schemaname name, relname name, blks_read int8, blks_hit int8
pg_catalog.pg_statio_user_tables 12179 v: relid oid, schemaname name, relname name, heap_blks_read int8, heap_blks_hit int8, idx_blks_read int8, idx_blks_hit int8, toast_blks_read int8, toast_blks_hit int8, tidx_blks_read int8, tidx_blks_hit int8
pg_catalog.pg_statistic 2619 r: starelid oid, staattnum int2, stainherit bool, stanullfrac float4, stawidth int4, stadistinct float4, stakind1 int2, stakind2 int2, stakind3 int2, stakind4 int2, stakind5 int2, staop1 oid, staop2 oid, staop3 oid, staop4 oid, staop5 oid, stacoll1 oid, stacoll2 oid, stacoll3 oid, stacoll4 oid, stacoll5 oid, stanumbers1 _float4, stanumbers2 _float4, stanumbers3 _float4, stanumbers4 _float4, stanumbers5 _float4, stavalues1 anyarray, stavalues2 anyarray, stavalues3 anyarray, stavalues4 anyarray, stavalues5 anyarray
pg_catalog.pg_statistic_ext 3381 r: oid oid, stxrelid oid, stxname name, stxnamespace oid, stxowner oid, stxstattarget int4, stxkeys int2vector, stxkind _char, stxexprs pg_node_tree
pg_catalog.pg_statistic_ext_data 3429 r: stxoid oid, stxdinherit bool, stxdndistinct pg_ndistinct, stxddependencies pg_dependencies, stxdmcv pg_mcv_list, stxdexpr _pg_statistic
pg_catalog.pg_stats 12053 v: schemaname name, tablename name, attname name, inherited bool, null_frac float4, avg_width int4, n_distinct float4, most_common_vals anyarray, most_common_freqs _float4, histogram_bounds anyarray, correlation float4, most_common_elems anyarray, most_common_elem_freqs _float4, elem_count_histogram _float4
pg_catalog.pg_stats_ext 12058 v: schemaname name, tablename name, statistics_schemaname name, statistics_name name, statistics_owner name, attnames _name, exprs _text, kinds _char, inherited bool, n_distinct pg_ndistinct, dependencies pg_dependencies, most_common_vals _text, most_common_val_nulls _bool, most_common_freqs _float8, most_common_base_freqs _float8
pg_catalog.pg_stats_ext_exprs 12063 v: schemaname name, tablename name, statistics_schemaname name, statistics_name name, statistics_owner name, expr text, inherited bool, null_frac float4, avg_width int4, n_distinct float4, most_common_vals anyarray, most_common_freqs _float4, histogram_bounds anyarray, correlation float4, most_common_elems anyarray, most_common_elem_freqs _float4, elem_count_histogram _float4
pg_catalog.pg_subscription 6100 r: oid oid, subdbid oid, subskiplsn pg_lsn, subname name, subowner oid, subenabled bool, subbinary bool, substream bool, subtwophasestate char, subdisableonerr bool, subconninfo text, subslotname name, subsynccommit text, subpublications _text
pg_catalog.pg_tables 12033 v: schemaname name, tablename name, tableowner name, tablespace name, hasindexes bool, hasrules bool, hastriggers bool, rowsecurity bool
pg_catalog.pg_tablespace 1213 r: oid oid, spcname name, spcowner oid, spcacl _aclitem, spcoptions _text
pg_catalog.pg_timezone_abbrevs 12122 v: abbrev text, utc_offset interval, is_dst bool
pg_catalog.pg_timezone_names 12126 v: name text, abbrev text, utc_offset interval, is_dst bool
pg_catalog.pg_transform 3576 r: oid oid, trftype oid, trflang oid, trffromsql regproc, trftosql regproc
pg_catalog.pg_trigger 2620 r: oid oid, tgrelid oid, tgparentid oid, tgname name, tgfoid oid, tgtype int2, tgenabled char, tgisinternal bool, tgconstrrelid oid, tgconstrindid oid, tgconstraint oid, tgdeferrable bool, tginitdeferred bool, tgnargs int2, tgattr int2vector, tgargs bytea, tgqual pg_node_tree, tgoldtable name, tgnewtable name
pg_catalog.pg_ts_config 3602 r: oid oid, cfgname name, cfgnamespace oid, cfgowner oid, cfgparser oid
pg_catalog.pg_ts_dict 3600 r: oid oid, dictname name, dictnamespace oid, dictowner oid, dicttemplate oid, dictinitoption text
pg_catalog.pg_ts_parser 3601 r: oid oid, prsname name, prsnamespace oid, prsstart regproc, prstoken regproc, prsend regproc, prsheadline regproc, prslextype regproc
pg_catalog.pg_ts_template 3764 r: oid oid, tmplname name, tmplnamespace oid, tmplinit regproc, tmpllexize regproc
pg_catalog.pg_type 1247 r: oid oid, typname name, typnamespace oid, typowner oid, typlen int2, typbyval bool, typtype char, typcategory char, typispreferred bool, typisdefined bool, typdelim char, typrelid oid, typsubscript regproc, typelem oid, typarray oid, typinput regproc, typoutput regproc, typreceive regproc, typsend regproc, typmodin regproc, typmodout regproc, typanalyze regproc, typalign char, typstorage char, typnotnull bool, typbasetype oid, typtypmod int4, typndims int4, typcollation oid, typdefaultbin pg_node_tree, typdefault text, typacl _aclitem
pg_catalog.pg_user 12014 v: usename name, usesysid oid, usecreatedb bool, usesuper bool, userepl bool, usebypassrls bool, passwd text, valuntil timestamptz, useconfig _text
pg_catalog.pg_user_mapping 1418 r: oid oid, umuser oid, umserver oid, umoptions _text
pg_catalog.pg_user_mappings 12327 v: umid oid, srvid oid, srvname name, umuser oid, usename name, umoptions _text
pg_catalog.pg_views 12028 v: schemaname name, viewname name, viewowner name, definition text
information_schema.administrable_role_authorizations 13241 v: grantee name, role_name name, is_grantable text
information_schema.applicable_roles 13236 v: grantee name, role_name name, is_grantable text
information_schema.attributes 13245 v: udt_catalog name, udt_schema name, udt_name name, attribute_name name, ordinal_position int4, attribute_default text, is_nullable text, data_type text, character_maximum_length int4, character_octet_length int4, character_set_catalog name, character_set_schema name, character_set_name name, collation_catalog name, collation_schema name, collation_name name, numeric_precision int4, numeric_precision_radix int4, numeric_scale int4, datetime_precision int4, interval_type text, interval_precision int4, attribute_udt_catalog name, attribute_udt_schema name, attribute_udt_name name, scope_catalog name, scope_schema name, scope_name name, maximum_cardinality int4, dtd_identifier name, is_derived_reference_attribute text
information_schema.character_sets 13250 v: character_set_catalog name, character_set_schema name, character_set_name name, character_repertoire name, form_of_use name, default_collate_catalog name, default_collate_schema name, default_collate_name name
information_schema.check_constraints 13260 v: constraint_catalog name, constraint_schema name, constraint_name name, check_clause text
information_schema.collations 13265 v: collation_catalog name, collation_schema name, collation_name name, pad_attribute text
information_schema.column_privileges 13285 v: grantor name, grantee name, table_catalog name, table_schema name, table_name name, column_name name, privilege_type text, is_grantable text
information_schema.columns 13295 v: table_catalog name, table_schema name, table_name name, column_name name, ordinal_position int4, column_default text, is_nullable text, data_type text, character_maximum_length int4, character_octet_length int4, numeric_precision int4, numeric_precision_radix int4, numeric_scale int4, datetime_precision int4, interval_type text, interval_precision int4, character_set_catalog name, character_set_schema name, character_set_name name, collation_catalog name, collation_schema name, collation_name name, domain_catalog name, domain_schema name, domain_name name, udt_catalog name, udt_schema name, udt_name name, scope_catalog name, scope_schema name, scope_name name, maximum_cardinality int4, dtd_identifier name, is_self_referencing text, is_identity text, identity_generation text, identity_start text, identity_increment text, identity_maximum text, identity_minimum text, identity_cycle text, is_generated text, generation_expression text, is_updatable text
information_schema.constraint_column_usage 13300 v: table_catalog name, table_schema name, table_name name, column_name name, constraint_catalog name, constraint_schema name, constraint_name name
information_schema.constraint_table_usage 13305 v: table_catalog name, table_schema name, table_name name, constraint_catalog name, constraint_schema name, constraint_name name
information_schema.domain_constraints 13310 v: constraint_catalog name, constraint_schema name, constraint_name name, domain_catalog name, domain_schema name, domain_name name, is_deferrable text, initially_deferred text
information_schema.domains 13320 v: domain_catalog name, domain_schema name, domain_name name, data_type text, character_maximum_length int4, character_octet_length int4, character_set_catalog name, character_set_schema name, character_set_name name, collation_catalog name, collation_schema name, collation_name name, numeric_precision int4, numeric_precision_radix int4, numeric_scale int4, datetime_precision int4, interval_type text, interval_precision int4, domain_default text, udt_catalog name, udt_schema name, udt_name name, scope_catalog name, scope_schema name, scope_name name, maximum_cardinality int4, dtd_identifier name
information_schema.element_types 13493 v: object_catalog name, object_schema name, object_name name, object_type text, collection_type_identifier name, data_type text, character_maximum_length int4, character_octet_length int4, character_set_catalog name, character_set_schema name, character_set_name name, collation_catalog name, collation_schema name, collation_name name, numeric_precision int4, numeric_precision_radix int4, numeric_scale int4, datetime_precision int4, interval_type text, interval_precision int4, domain_default text, udt_catalog name, udt_schema name, udt_name name, scope_catalog name, scope_schema name, scope_name name, maximum_cardinality int4, dtd_identifier name
information_schema.enabled_roles 13325 v: role_name name
information_schema.foreign_tables 13541 v: foreign_table_catalog name, foreign_table_schema name, foreign_table_name name, foreign_server_catalog name, foreign_server_name name
information_schema.information_schema_catalog_name 13227 v: catalog_name name
information_schema.key_column_usage 13329 v: constraint_catalog name, constraint_schema name, constraint_name name, table_catalog name, table_schema name, table_name name, column_name name, ordinal_position int4, position_in_unique_constraint int4
information_schema.parameters 13334 v: specific_catalog name, specific_schema name, specific_name name, ordinal_position int4, parameter_mode text, is_result text, as_locator text, parameter_name name, data_type text, character_maximum_length int4, character_octet_length int4, character_set_catalog name, character_set_schema name, character_set_name name, collation_catalog name, collation_schema name, collation_name name, numeric_precision int4, numeric_precision_radix int4, numeric_scale int4, datetime_precision int4, interval_type text, interval_precision int4, udt_catalog name, udt_schema name, udt_name name, scope_catalog name, scope_schema name, scope_name name, maximum_cardinality int4, dtd_identifier name, parameter_default text
information_schema.referential_constraints 13339 v: constraint_catalog name, constraint_schema name, constraint_name name, unique_constraint_catalog name, unique_constraint_schema name, unique_constraint_name name, match_option text, update_rule text, delete_rule text
information_schema.role_column_grants 13344 v: grantor name, grantee name, table_catalog name, table_schema name, table_name name, column_name name, privilege_type text, is_grantable text
information_schema.role_routine_grants 13358 v: grantor name, grantee name, specific_catalog name, specific_schema name, specific_name name, routine_catalog name, routine_schema name, routine_name name, privilege_type text, is_grantable text
information_schema.role_table_grants 13421 v: grantor name, grantee name, table_catalog name, table_schema name, table_name name, privilege_type text, is_grantable text, with_hierarchy text
information_schema.routine_column_usage 13348 v: specific_catalog name, specific_schema name, specific_name name, routine_catalog name, routine_schema name, routine_name name, table_catalog name, table_schema name, table_name name, column_name name
information_schema.routine_privileges 13353 v: grantor name, grantee name, specific_catalog name, specific_schema name, specific_name name, routine_catalog name, routine_schema name, routine_name name, privilege_type text, is_grantable text
information_schema.routine_routine_usage 13362 v: specific_catalog name, specific_schema name, specific_name name, routine_catalog name, routine_schema name, routine_name name
information_schema.routine_sequence_usage 13367 v: specific_catalog name, specific_schema name, specific_name name, routine_catalog name, routine_schema name, routine_name name, sequence_catalog name, sequence_schema name, sequence_name name
information_schema.routine_table_usage 13372 v: specific_catalog name, specific_schema name, specific_name name, routine_catalog name, routine_schema name, routine_name name, table_catalog name, table_schema name, table_name name
information_schema.routines 13377 v: specific_catalog name, specific_schema name, specific_name name, routine_catalog name, routine_schema name, routine_name name, routine_type text, module_catalog name, module_schema name, module_name name, udt_catalog name, udt_schema name, udt_name name, data_type text, character_maximum_length int4, character_octet_length int4, character_set_catalog name, character_set_schema name, character_set_name name, collation_catalog name, collation_schema name, collation_name name, numeric_precision int4, numeric_precision_radix int4, numeric_scale int4, datetime_precision int4, interval_type text, interval_precision int4, type_udt_catalog name, type_udt_schema name, type_udt_name name, scope_catalog name, scope_schema name, scope_name name, maximum_cardinality int4, dtd_identifier name, routine_body text, routine_definition text, external_name text, external_language text, parameter_style text, is_deterministic text, sql_data_access text, is_null_call text, sql_path text, schema_level_routine text, max_dynamic_result_sets int4, is_user_defined_cast text, is_implicitly_invocable text, security_type text, to_sql_specific_catalog name, to_sql_specific_schema name, to_sql_specific_name name, as_locator text, created timestamptz, last_altered timestamptz, new_savepoint_level text, is_udt_dependent text, result_cast_from_data_type text, result_cast_as_locator text, result_cast_char_max_length int4, result_cast_char_octet_length int4, result_cast_char_set_catalog name, result_cast_char_set_schema name, result_cast_char_set_name name, result_cast_collation_catalog name, result_cast_collation_schema name, result_cast_collation_name name, result_cast_numeric_precision int4, result_cast_numeric_precision_radix int4, result_cast_numeric_scale int4, result_cast_datetime_precision int4, result_cast_interval_type text, result_cast_interval_precision int4, result_cast_type_udt_catalog name, result_cast_type_udt_schema name, result_cast_type_udt_name name, result_cast_scope_catalog name, result_cast_scope_schema name, result_cast_scope_name name, result_cast_maximum_cardinality int4, result_cast_dtd_identifier name
information_schema.schemata 13382 v: catalog_name name, schema_name name, schema_owner name, default_character_set_catalog name, default_character_set_schema name, default_character_set_name name, sql_path text
information_schema.sequences 13386 v: sequence_catalog name, sequence_schema name, sequence_name name, data_type text, numeric_precision int4, numeric_precision_radix int4, numeric_scale int4, start_value text, minimum_value text, maximum_value text, increment text, cycle_option text
information_schema.table_constraints 13411 v: constraint_catalog name, constraint_schema name, constraint_name name, table_catalog name, table_schema name, table_name name, constraint_type text, is_deferrable text, initially_deferred text, enforced text, nulls_distinct text
information_schema.table_privileges 13416 v: grantor name, grantee name, table_catalog name, table_schema name, table_name name, privilege_type text, is_grantable text, with_hierarchy text
information_schema.tables 13425 v: table_catalog name, table_schema name, table_name name, table_type text, self_referencing_column_name name, reference_generation text, user_defined_type_catalog name, user_defined_type_schema name, user_defined_type_name name, is_insertable_into text, is_typed text, commit_action text
information_schema.triggered_update_columns 13435 v: trigger_catalog name, trigger_schema name, trigger_name name, event_object_catalog name, event_object_schema name, event_object_table name, event_object_column name
information_schema.triggers 13440 v: trigger_catalog name, trigger_schema name, trigger_name name, event_manipulation text, event_object_catalog name, event_object_schema name, event_object_table name, action_order int4, action_condition text, action_statement text, action_orientation text, action_timing text, action_reference_old_table name, action_reference_new_table name, action_reference_old_row name, action_reference_new_row name, created timestamptz
information_schema.udt_privileges 13445 v: grantor name, grantee name, udt_catalog name, udt_schema name, udt_name name, privilege_type text, is_grantable text
information_schema.usage_privileges 13454 v: grantor name, grantee name, object_catalog name, object_schema name, object_name name, object_type text, privilege_type text, is_grantable text
information_schema.user_defined_types 13463 v: user_defined_type_catalog name, user_defined_type_schema name, user_defined_type_name name, user_defined_type_category text, is_instantiable text, is_final text, ordering_form text, ordering_category text, ordering_routine_catalog name, ordering_routine_schema name, ordering_routine_name name, reference_type text, data_type text, character_maximum_length int4, character_octet_length int4, character_set_catalog name, character_set_schema name, character_set_name name, collation_catalog name, collation_schema name, collation_name name, numeric_precision int4, numeric_precision_radix int4, numeric_scale int4, datetime_precision int4, interval_type text, interval_precision int4, source_dtd_identifier name, ref_dtd_identifier name
information_schema.view_column_usage 13468 v: view_catalog name, view_schema name, view_name name, table_catalog name, table_schema name, table_name name, column_name name
information_schema.view_table_usage 13478 v: view_catalog name, view_schema name, view_name name, table_catalog name, table_schema name, table_name name
information_schema.views 13483 v: table_catalog name, table_schema name, table_name name, view_definition text, check_option text, is_updatable text, is_insertable_into text, is_trigger_updatable text, is_trigger_deletable text, is_trigger_insertable_into text
`

/**
 * Types: OID, name, size, passed by value, kind, category, preferred, delimiter, element, array, input and receive functions,
 * alignment, storage.
 */
export const TYPES = `
16 bool 1 t b B t , 0 1000 boolin boolrecv c p
17 bytea -1 f b U f , 0 1001 byteain bytearecv i x
18 char 1 t b Z f , 0 1002 charin charrecv c p
19 name 64 f b S f , 18 1003 namein namerecv c p
20 int8 8 t b N f , 0 1016 int8in int8recv d p
21 int2 2 t b N f , 0 1005 int2in int2recv s p
22 int2vector -1 f b A f , 21 1006 int2vectorin int2vectorrecv i p
23 int4 4 t b N f , 0 1007 int4in int4recv i p
24 regproc 4 t b N f , 0 1008 regprocin regprocrecv i p
25 text -1 f b S t , 0 1009 textin textrecv i x
26 oid 4 t b N t , 0 1028 oidin oidrecv i p
27 tid 6 f b U f , 0 1010 tidin tidrecv s p
28 xid 4 t b U f , 0 1011 xidin xidrecv i p
29 cid 4 t b U f , 0 1012 cidin cidrecv i p
30 oidvector -1 f b A f , 26 1013 oidvectorin oidvectorrecv i p
114 json -1 f b U f , 0 199 json_in json_recv i x
199 _json -1 f b A f , 114 0 array_in array_recv i x
700 float4 4 t b N f , 0 1021 float4in float4recv i p
701 float8 8 t b N t , 0 1022 float8in float8recv d p
705 unknown -2 f p X f , 0 0 unknownin unknownrecv c p
1000 _bool -1 f b A f , 16 0 array_in array_recv i x
1001 _bytea -1 f b A f , 17 0 array_in array_recv i x
1002 _char -1 f b A f , 18 0 array_in array_recv i x
1003 _name -1 f b A f , 19 0 array_in array_recv i x
1005 _int2 -1 f b A f , 21 0 array_in array_recv i x
1007 _int4 -1 f b A f , 23 0 array_in array_recv i x
1009 _text -1 f b A f , 25 0 array_in array_recv i x
1014 _bpchar -1 f b A f , 1042 0 array_in array_recv i x
1015 _varchar -1 f b A f , 1043 0 array_in array_recv i x
1016 _int8 -1 f b A f , 20 0 array_in array_recv d x
1021 _float4 -1 f b A f , 700 0 array_in array_recv i x
1022 _float8 -1 f b A f , 701 0 array_in array_recv d x
1028 _oid -1 f b A f , 26 0 array_in array_recv i x
1042 bpchar -1 f b S f , 0 1014 bpcharin bpcharrecv i x
1043 varchar -1 f b S f , 0 1015 varcharin varcharrecv i x
1082 date 4 t b D f , 0 1182 date_in date_recv i p
1083 time 8 t b D f , 0 1183 time_in time_recv d p
1114 timestamp 8 t b D f , 0 1115 timestamp_in timestamp_recv d p
1115 _timestamp -1 f b A f , 1114 0 array_in array_recv d x
1182 _date -1 f b A f , 1082 0 array_in array_recv i x
1183 _time -1 f b A f , 1083 0 array_in array_recv d x
1184 timestamptz 8 t b D t , 0 1185 timestamptz_in timestamptz_recv d p
1185 _timestamptz -1 f b A f , 1184 0 array_in array_recv d x
1186 interval 16 f b T t , 0 1187 interval_in interval_recv d p
1187 _interval -1 f b A f , 1186 0 array_in array_recv d x
1231 _numeric -1 f b A f , 1700 0 array_in array_recv i x
1266 timetz 12 f b D f , 0 1270 timetz_in timetz_recv d p
1700 numeric -1 f b N f , 0 1231 numeric_in numeric_recv i m
2205 regclass 4 t b N f , 0 2210 regclassin regclassrecv i p
2206 regtype 4 t b N f , 0 2211 regtypein regtyperecv i p
2210 _regclass -1 f b A f , 2205 0 array_in array_recv i x
2211 _regtype -1 f b A f , 2206 0 array_in array_recv i x
2277 anyarray -1 f p P f , 0 0 anyarray_in anyarray_recv d x
2950 uuid 16 f b U f , 0 2951 uuid_in uuid_recv c p
2951 _uuid -1 f b A f , 2950 0 array_in array_recv i x
3802 jsonb -1 f b U f , 0 3807 jsonb_in jsonb_recv i x
3807 _jsonb -1 f b A f , 3802 0 array_in array_recv i x
4089 regnamespace 4 t b N f , 0 4090 regnamespacein regnamespacerecv i p
`

/** Words that must be quoted as names, by their kind. */
export const KEYWORDS = `
reserved: all analyse analyze and any array as asc asymmetric both case cast check collate column constraint create current_catalog current_date current_role current_time current_timestamp current_user default deferrable desc distinct do else end except false fetch for foreign from grant group having in initially intersect into lateral leading limit localtime localtimestamp not null offset on only or order placing primary references returning select session_user some symmetric table then to trailing true union unique user using variadic when where window with
reserved (can be function or type name): authorization binary collation concurrently cross current_schema freeze full ilike inner is isnull join left like natural notnull outer overlaps right similar tablesample verbose
unreserved (cannot be function or type name): between bigint bit boolean char character coalesce dec decimal exists extract float greatest grouping inout int integer interval least national nchar none normalize nullif numeric out overlay position precision real row setof smallint substring time timestamp treat trim values varchar xmlattributes xmlconcat xmlelement xmlexists xmlforest xmlnamespaces xmlparse xmlpi xmlroot xmlserialize xmltable
`
