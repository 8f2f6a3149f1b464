-- In words of our own, after what its connector was seen to send over Npgsql, which begins with the types of npgsql.sql. Navigator
select TABLE_NAME, TABLE_TYPE, TABLE_SCHEMA from INFORMATION_SCHEMA.tables where TABLE_SCHEMA not in ('pg_catalog', 'information_schema') order by TABLE_NAME, TABLE_SCHEMA

select ORDINAL_POSITION, COLUMN_NAME, case when (data_type like '%unsigned%') then DATA_TYPE || '!' else DATA_TYPE end as DATA_TYPE, IS_NULLABLE
from INFORMATION_SCHEMA.columns where TABLE_NAME = 'census' and TABLE_SCHEMA = 'public' order by ORDINAL_POSITION

select character_set_name from INFORMATION_SCHEMA.character_sets

-- Relationships
select there.COLUMN_NAME as OTHER, here.COLUMN_NAME as OWN, here.ORDINAL_POSITION as PLACE, con.CONSTRAINT_SCHEMA || '_' || 'census' || '_' || con.CONSTRAINT_NAME as NAME
from (select distinct constraint_schema, constraint_name, unique_constraint_schema, unique_constraint_name from INFORMATION_SCHEMA.REFERENTIAL_CONSTRAINTS) con
inner join INFORMATION_SCHEMA.KEY_COLUMN_USAGE there on there.CONSTRAINT_NAME = con.UNIQUE_CONSTRAINT_NAME and there.CONSTRAINT_SCHEMA = con.UNIQUE_CONSTRAINT_SCHEMA
inner join INFORMATION_SCHEMA.KEY_COLUMN_USAGE here on here.CONSTRAINT_NAME = con.CONSTRAINT_NAME and here.CONSTRAINT_SCHEMA = con.CONSTRAINT_SCHEMA
where here.TABLE_NAME = 'census' and here.ORDINAL_POSITION = there.ORDINAL_POSITION order by NAME, here.ORDINAL_POSITION

-- Keys
select used.COLUMN_NAME, con.CONSTRAINT_SCHEMA || '_' || con.CONSTRAINT_NAME as NAME, case when con.CONSTRAINT_TYPE = 'PRIMARY KEY' then 'Y' else 'N' end as IS_KEY
from INFORMATION_SCHEMA.key_column_usage used inner join INFORMATION_SCHEMA.table_constraints con on con.CONSTRAINT_NAME = used.CONSTRAINT_NAME and con.TABLE_NAME = used.TABLE_NAME
where con.CONSTRAINT_TYPE in ('UNIQUE', 'PRIMARY KEY') and con.TABLE_NAME = 'census' order by con.CONSTRAINT_SCHEMA || '_' || con.CONSTRAINT_NAME, used.ORDINAL_POSITION

-- The columns of a question of its own
select "_"."Sex", "_"."n" from (select "rows"."Sex" as "Sex", count(1) as "n" from "public"."census" "rows" group by "Sex") "_" limit 0
