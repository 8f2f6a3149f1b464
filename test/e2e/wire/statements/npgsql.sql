-- Types are loaded in one text.
SELECT version();
SELECT ns.nspname, t.oid, t.typname, t.typtype, t.typnotnull, t.elemtypoid
FROM (
    -- Arrays have typtype=b - this subquery identifies them by their typreceive
    SELECT
        typ.oid, typ.typnamespace, typ.typname, typ.typtype, typ.typrelid, typ.typnotnull, typ.relkind,
        elemtyp.oid AS elemtypoid, elemtyp.typname AS elemtypname, elemcls.relkind AS elemrelkind,
        CASE WHEN elemproc.proname='array_recv' THEN 'a' ELSE elemtyp.typtype END AS elemtyptype
        , typ.typcategory
    FROM (
        SELECT typ.oid, typnamespace, typname, typrelid, typnotnull, relkind, typelem AS elemoid,
            CASE WHEN proc.proname='array_recv' THEN 'a' ELSE typ.typtype END AS typtype,
            CASE
                WHEN proc.proname='array_recv' THEN typ.typelem
                WHEN typ.typtype='r' THEN rngsubtype
                WHEN typ.typtype='m' THEN (SELECT rngtypid FROM pg_range WHERE rngmultitypid = typ.oid)
                WHEN typ.typtype='d' THEN typ.typbasetype
            END AS elemtypoid
            , typ.typcategory
        FROM pg_type AS typ
        LEFT JOIN pg_class AS cls ON (cls.oid = typ.typrelid)
        LEFT JOIN pg_proc AS proc ON proc.oid = typ.typreceive
        LEFT JOIN pg_range ON (pg_range.rngtypid = typ.oid)
    ) AS typ
    LEFT JOIN pg_type AS elemtyp ON elemtyp.oid = elemtypoid
    LEFT JOIN pg_class AS elemcls ON (elemcls.oid = elemtyp.typrelid)
    LEFT JOIN pg_proc AS elemproc ON elemproc.oid = elemtyp.typreceive
) AS t
JOIN pg_namespace AS ns ON (ns.oid = typnamespace)
WHERE
    (typtype IN ('b', 'r', 'm', 'e', 'd') OR -- Base, range, multirange, enum, domain
    (typtype = 'c' AND relkind='c') OR
    (typtype = 'p' AND typname IN ('record', 'void', 'unknown')) OR
    (typtype = 'a' AND (
        elemtyptype IN ('b', 'r', 'm', 'e', 'd') OR
        (elemtyptype = 'p' AND elemtypname IN ('record', 'void')) OR
        (elemtyptype = 'c' AND elemrelkind='c')
    )))
ORDER BY CASE
       WHEN typtype IN ('b', 'e', 'p') THEN 0
       WHEN typtype = 'c' THEN 1
       WHEN typtype = 'r' THEN 2
       WHEN typtype = 'm' THEN 3
       WHEN typtype = 'd' AND elemtyptype <> 'a' THEN 4
       WHEN typtype = 'a' THEN 5
       WHEN typtype = 'd' AND elemtyptype = 'a' THEN 6
END;
-- Fields of composite types
SELECT typ.oid, att.attname, att.atttypid
FROM pg_type AS typ
JOIN pg_namespace AS ns ON (ns.oid = typ.typnamespace)
JOIN pg_class AS cls ON (cls.oid = typ.typrelid)
JOIN pg_attribute AS att ON (att.attrelid = typ.typrelid)
WHERE
  (typ.typtype = 'c' AND cls.relkind='c') AND
  attnum > 0 AND     -- No system attributes
  NOT attisdropped
ORDER BY typ.oid, att.attnum;
-- Enums
SELECT typ.oid, enumlabel
FROM pg_enum
JOIN pg_type AS typ ON typ.oid = enumtypid
JOIN pg_namespace AS ns ON ns.oid = typ.typnamespace
ORDER BY oid, enumsortorder;

-- Session
select pg_is_in_recovery()

SHOW default_transaction_read_only

DISCARD ALL

SET SESSION AUTHORIZATION DEFAULT;RESET ALL;CLOSE ALL;UNLISTEN *;SELECT pg_advisory_unlock_all();DISCARD SEQUENCES;DISCARD TEMP

-- Columns of a result
SELECT
    typ.oid AS typoid, nspname, relname, attname, attrelid, attnum, attnotnull, attidentity != '' AS isidentity,
    CASE WHEN typ.typtype = 'd' THEN typ.typtypmod ELSE atttypmod END AS typmod,
    CASE WHEN atthasdef THEN (SELECT pg_get_expr(adbin, cls.oid) FROM pg_attrdef WHERE adrelid = cls.oid AND adnum = attr.attnum) ELSE NULL END AS default,
    ((cls.relkind = ANY (ARRAY['r'::"char", 'p'::"char"]))
        OR ((cls.relkind = ANY (ARRAY['v'::"char", 'f'::"char"])) AND pg_column_is_updatable((cls.oid)::regclass, attr.attnum, false)))
        AND attr.attidentity NOT IN ('a') AS is_updatable,
    EXISTS (SELECT * FROM pg_index WHERE pg_index.indrelid = cls.oid AND pg_index.indisprimary AND attnum = ANY (indkey)) AS isprimarykey,
    EXISTS (SELECT * FROM pg_index WHERE pg_index.indrelid = cls.oid AND pg_index.indisunique AND pg_index.indnkeyatts = 1 AND attnum = pg_index.indkey[0]) AS isunique
FROM pg_attribute AS attr
JOIN pg_type AS typ ON attr.atttypid = typ.oid
JOIN pg_class AS cls ON cls.oid = attr.attrelid
JOIN pg_namespace AS ns ON ns.oid = cls.relnamespace
WHERE atttypid <> 0 AND relkind IN ('r', 'v', 'm', 'p') AND NOT attisdropped AND nspname NOT IN ('pg_catalog', 'information_schema') AND attnum > 0
AND ((attr.attrelid=:census AND attr.attnum=1) OR (attr.attrelid=:census AND attr.attnum=2))
ORDER BY attnum

-- GetSchema
SELECT d.datname, u.usename, pg_catalog.pg_encoding_to_char(d.encoding) FROM pg_catalog.pg_database d LEFT JOIN pg_catalog.pg_user u ON d.datdba = u.usesysid

SELECT * FROM (SELECT current_database(), nspname, r.rolname FROM pg_catalog.pg_namespace LEFT JOIN pg_catalog.pg_roles r ON r.oid = nspowner) tmp

SELECT table_catalog, table_schema, table_name, table_type FROM information_schema.tables
WHERE table_type IN ('BASE TABLE', 'FOREIGN', 'FOREIGN TABLE') AND table_schema NOT IN ('pg_catalog', 'information_schema')

-- GetSchema, columns $ ["sotto", "public", "census"]
SELECT table_catalog, table_schema, table_name, column_name, ordinal_position, column_default, is_nullable,
    CASE WHEN udt_schema is NULL THEN udt_name ELSE format_type(typ.oid, NULL) END,
    character_maximum_length, character_octet_length, numeric_precision, numeric_precision_radix, numeric_scale, datetime_precision,
    character_set_catalog, character_set_schema, character_set_name, collation_catalog
FROM information_schema.columns JOIN pg_namespace AS ns ON ns.nspname = udt_schema JOIN pg_type AS typ ON typnamespace = ns.oid AND typname = udt_name
WHERE table_catalog = $1 AND table_schema = $2 AND table_name = $3

SELECT table_catalog, table_schema, table_name, check_option, is_updatable FROM information_schema.views WHERE table_schema NOT IN ('pg_catalog', 'information_schema')

SELECT current_database(), schemaname, matviewname, matviewowner, hasindexes, ispopulated FROM pg_catalog.pg_matviews

SELECT usename, usesysid FROM pg_catalog.pg_user

SELECT current_database(), n.nspname, t.relname, i.relname, '' FROM pg_catalog.pg_class i
JOIN pg_catalog.pg_index ix ON ix.indexrelid = i.oid JOIN pg_catalog.pg_class t ON ix.indrelid = t.oid
LEFT JOIN pg_catalog.pg_user u ON u.usesysid = i.relowner LEFT JOIN pg_catalog.pg_namespace n ON n.oid = i.relnamespace
WHERE i.relkind = 'i' AND n.nspname NOT IN ('pg_catalog', 'pg_toast') AND t.relkind = 'r'

SELECT current_database(), t_ns.nspname, ix_cls.relname, current_database(), ix_ns.nspname, t.relname, a.attname, ix_cls.relname
FROM pg_class t JOIN pg_index ix ON t.oid = ix.indrelid JOIN pg_class ix_cls ON ix.indexrelid = ix_cls.oid JOIN pg_attribute a ON t.oid = a.attrelid
LEFT JOIN pg_namespace t_ns ON t.relnamespace = t_ns.oid LEFT JOIN pg_namespace ix_ns ON ix_cls.relnamespace = ix_ns.oid
WHERE ix_cls.relkind = 'i' AND t_ns.nspname NOT IN ('pg_catalog', 'pg_toast') AND a.attnum = ANY(ix.indkey) AND t.relkind = 'r'

SELECT current_database(), pgn.nspname, pgc.conname, current_database(), pgtn.nspname, pgt.relname, constraint_type, pgc.condeferrable, pgc.condeferred
FROM pg_catalog.pg_constraint pgc JOIN pg_catalog.pg_namespace pgn ON pgc.connamespace = pgn.oid
JOIN pg_catalog.pg_class pgt ON pgc.conrelid = pgt.oid JOIN pg_catalog.pg_namespace pgtn ON pgt.relnamespace = pgtn.oid
JOIN (SELECT 'PRIMARY KEY' AS constraint_type, 'p' AS contype UNION ALL SELECT 'FOREIGN KEY' AS constraint_type, 'f' AS contype
  UNION ALL SELECT 'UNIQUE KEY' AS constraint_type, 'u' AS contype) mapping_table ON mapping_table.contype = pgc.contype and pgc.contype='f'

SELECT current_database(), n.nspname, c.conname, current_database(), n.nspname, t.relname, a.attname, a.attnum, mapping_table.constraint_type
FROM pg_constraint c JOIN pg_namespace n on n.oid = c.connamespace JOIN pg_class t on t.oid = c.conrelid AND t.relkind = 'r'
JOIN pg_attribute a on t.oid = a.attrelid AND a.attnum = ANY(c.conkey)
JOIN (SELECT 'PRIMARY KEY' AS constraint_type, 'p' AS contype UNION ALL SELECT 'FOREIGN KEY' AS constraint_type, 'f' AS contype
  UNION ALL SELECT 'UNIQUE KEY' AS constraint_type, 'u' AS contype) mapping_table
ON mapping_table.contype = c.contype AND n.nspname NOT IN ('pg_catalog', 'pg_toast')
