/*
 * Statements of the shapes that tools send, in words of our own, over the columns of the demo and two columns of time. They were
 * checked against the sources of the tools, as the comments name them, and otherwise against their documentation.
 */

/** The number of queries that a statement means, or what its refusal for privacy advises. */
type Outcome = number | string

export const STATEMENTS: Readonly<Record<string, readonly (readonly [sql: string, outcome: Outcome])[]>> = {
  // src/metabase/driver/postgres.clj and src/metabase/driver/sql/query_processor.clj (commits 008fd667 and 0041072d).
  Metabase: [
    // Weeks begin on Sunday, unless an administrator changes that.
    [
      `SELECT CAST(CAST(DATE_TRUNC('week', CAST("public"."census"."Joined" + INTERVAL '1 day' AS date)) AS date) + INTERVAL '-1 day' AS date) AS "Joined",
       COUNT(*) AS "count" FROM "public"."census" GROUP BY
       CAST(CAST(DATE_TRUNC('week', CAST("public"."census"."Joined" + INTERVAL '1 day' AS date)) AS date) + INTERVAL '-1 day' AS date)`,
      1,
    ],
    [
      `SELECT CAST("public"."census"."Seen" AS date) AS "Seen", AVG("public"."census"."Age") AS "avg" FROM "public"."census"
       WHERE CAST("public"."census"."Seen" AS date) BETWEEN DATE '2026-11-05' AND DATE '2026-11-12'
       GROUP BY CAST("public"."census"."Seen" AS date) ORDER BY CAST("public"."census"."Seen" AS date) ASC`,
      1,
    ],
    [
      `SELECT FLOOR(("public"."census"."Age" - 5.0) / 20.0) * 20.0 + 5.0 AS "Age", CAST(SUM("public"."census"."Earnings") AS DOUBLE PRECISION)
       / CASE WHEN COUNT(*) = 0 THEN NULL ELSE COUNT(*) END AS "each" FROM "public"."census"
       WHERE ("public"."census"."Sex" <> 'M' OR "public"."census"."Sex" IS NULL)
       GROUP BY FLOOR(("public"."census"."Age" - 5.0) / 20.0) * 20.0 + 5.0`,
      1,
    ],
    [
      `SELECT "public"."census"."Sex" AS "Sex", COUNT(*) AS "count" FROM "public"."census"
       GROUP BY "public"."census"."Sex" ORDER BY "public"."census"."Sex" ASC`,
      1,
    ],
    [
      `SELECT "source"."Sex" AS "Sex", AVG("source"."Earnings") AS "avg" FROM (
         SELECT "public"."census"."Sex" AS "Sex", "public"."census"."Earnings" AS "Earnings" FROM "public"."census"
         WHERE "public"."census"."Age" >= 18) AS "source"
       GROUP BY "source"."Sex" ORDER BY "source"."Sex" ASC LIMIT 2000`,
      1,
    ],
    [
      `SELECT CAST(DATE_TRUNC('month', "public"."census"."Joined") AS date) AS "Joined", COUNT(*) AS "count"
       FROM "public"."census" GROUP BY CAST(DATE_TRUNC('month', "public"."census"."Joined") AS date)
       ORDER BY CAST(DATE_TRUNC('month', "public"."census"."Joined") AS date) ASC`,
      1,
    ],
    [
      `SELECT FLOOR(("public"."census"."Age" / 10.0)) * 10.0 AS "Age", COUNT(*) AS "count" FROM "public"."census"
       GROUP BY FLOOR(("public"."census"."Age" / 10.0)) * 10.0 ORDER BY FLOOR(("public"."census"."Age" / 10.0)) * 10.0 ASC`,
      1,
    ],
    [
      `SELECT "public"."census"."Occupation" AS "Occupation", SUM(CASE WHEN "public"."census"."Married" = 'M' THEN 1 ELSE 0.0 END)
       AS "married", AVG(CASE WHEN "public"."census"."Age" >= 65 THEN 1 ELSE 0.0 END) AS "share" FROM "public"."census"
       GROUP BY "public"."census"."Occupation"`,
      2,
    ],
    [
      `SELECT COUNT(*) AS "count" FROM "public"."census" WHERE ("public"."census"."Joined" >=
       DATE_TRUNC('month', (NOW() + (INTERVAL '-1 month'))) AND "public"."census"."Joined" < DATE_TRUNC('month', NOW()))`,
      1,
    ],
    [
      `SELECT COUNT(distinct "public"."census"."Occupation") AS "count" FROM "public"."census"
       WHERE (LOWER("public"."census"."Occupation") LIKE '%ist%')`,
      1,
    ],
    [
      `SELECT "source"."Sex" AS "Sex", "source"."count" AS "count" FROM (
         SELECT "public"."census"."Sex" AS "Sex", COUNT(*) AS "count" FROM "public"."census"
         GROUP BY "public"."census"."Sex" ORDER BY "public"."census"."Sex" ASC) AS "source"
       WHERE "source"."count" > 100 LIMIT 1048575`,
      1,
    ],
    [
      `SELECT DATE_TRUNC('month', "public"."census"."Joined") AS "Joined",
       SUM(COUNT(*)) OVER (ORDER BY DATE_TRUNC('month', "public"."census"."Joined") ASC ROWS UNBOUNDED PRECEDING) AS "count"
       FROM "public"."census" GROUP BY DATE_TRUNC('month', "public"."census"."Joined")
       ORDER BY DATE_TRUNC('month', "public"."census"."Joined") ASC`,
      1,
    ],
    [
      `SELECT "source"."Joined" AS "Joined", "source"."sum" AS "sum", LAG("source"."sum", 1) OVER (ORDER BY "source"."Joined" ASC) AS "before"
       FROM (SELECT CAST(DATE_TRUNC('month', "public"."census"."Joined") AS date) AS "Joined", SUM("public"."census"."Earnings") AS "sum"
       FROM "public"."census" GROUP BY CAST(DATE_TRUNC('month', "public"."census"."Joined") AS date)) AS "source" ORDER BY 1`,
      1,
    ],
  ],
  // superset/db_engine_specs/postgres.py (commit 007e4f5f).
  Superset: [
    [
      `SELECT DATE_TRUNC('minute', "Seen") AS "Seen", COUNT(*) AS count FROM public.census
       WHERE "Seen" >= TO_TIMESTAMP('2026-11-05 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US')
       AND "Seen" < TO_TIMESTAMP('2026-11-05 06:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US')
       GROUP BY DATE_TRUNC('minute', "Seen") ORDER BY count DESC LIMIT 1000`,
      1,
    ],
    [
      `SELECT "Sex" AS "Sex", COUNT(*) AS count, AVG("Earnings") AS "AVG(Earnings)" FROM public.census
       GROUP BY "Sex" ORDER BY count DESC LIMIT 100`,
      1,
    ],
    [
      `SELECT "Sex" AS "Sex", SUM("Earnings") AS "SUM(Earnings)" FROM (SELECT * FROM census WHERE "Age" > 17) AS virtual_table
       WHERE "Married" IN ('M', 'S') GROUP BY "Sex" ORDER BY "SUM(Earnings)" DESC LIMIT 1000`,
      1,
    ],
    [
      `SELECT DATE_TRUNC('day', "Seen") AS "Seen", COUNT(*) AS count FROM public.census
       WHERE "Seen" >= TO_TIMESTAMP('2026-11-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US')
       AND "Seen" < TO_TIMESTAMP('2026-11-08 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US')
       GROUP BY DATE_TRUNC('day', "Seen") ORDER BY count DESC LIMIT 1000`,
      1,
    ],
    [
      `WITH adults AS (SELECT * FROM census WHERE "Age" >= 18)
       SELECT "Occupation", STDDEV("Earnings") AS sd, VARIANCE("Age") AS v FROM adults GROUP BY "Occupation"`,
      1,
    ],
    [
      `SELECT "Occupation" AS "Occupation", SUM(CASE WHEN "Sex" = 'F' THEN 1 ELSE 0 END) * 100.0 / COUNT(*) AS "women %"
       FROM public.census GROUP BY "Occupation" ORDER BY "women %" DESC LIMIT 50`,
      2,
    ],
    [`SELECT MIN("Age") AS "MIN(Age)", MAX("Age") AS "MAX(Age)", COUNT(*) AS count FROM public.census`, 3],
    [`SELECT DISTINCT "Occupation" AS "Occupation" FROM public.census LIMIT 1000`, 'GROUP BY'],
    [
      `SELECT "Occupation", "Sex", n FROM (SELECT "Occupation", "Sex", COUNT(*) AS n,
       ROW_NUMBER() OVER (PARTITION BY "Occupation" ORDER BY COUNT(*) DESC) AS place FROM census GROUP BY 1, 2) AS virtual_table
       WHERE place <= 1 ORDER BY n DESC`,
      1,
    ],
  ],
  // pkg/tsdb/grafana-postgresql-datasource/macros.go and packages/grafana-sql/src/utils/sql.utils.ts (commits 02ab314b and cc18e9a0).
  Grafana: [
    // The column has more than 1,000 minutes. Those of the time range are the groups.
    [
      `SELECT floor(extract(epoch from "Seen")/60)*60 AS "time", count(*) AS value FROM census
       WHERE "Seen" BETWEEN '2026-11-20T06:00:00.123Z' AND '2026-11-20T12:00:00.123Z' GROUP BY 1 ORDER BY 1`,
      1,
    ],
    [
      `SELECT AVG("Age") AS "age", "Sex" FROM census WHERE ("Sex" = 'M' AND "Age" >= 18) GROUP BY "Sex" LIMIT 50`,
      1,
    ],
    [
      `SELECT floor(extract(epoch from "Seen")/3600)*3600 AS "time", count(*) AS value FROM census
       WHERE "Seen" BETWEEN '2026-11-20T00:00:00Z' AND '2026-11-21T00:00:00Z' GROUP BY 1 ORDER BY 1`,
      1,
    ],
    [
      `SELECT date_trunc('hour', "Seen") AS time, "Sex" AS metric, avg("Earnings") AS value FROM census
       WHERE "Seen" >= now() - interval '24 hours' GROUP BY time, metric ORDER BY time`,
      1,
    ],
    [`SELECT now() AS time, count(*) AS value, 'people' AS metric FROM census WHERE "Age" > 30`, 1],
    [
      `SELECT date_trunc('month', "Joined") AS time, count(*) FILTER (WHERE "Sex" = 'F') AS women,
       count(*) FILTER (WHERE "Sex" = 'M') AS men FROM census GROUP BY 1 ORDER BY 1`,
      2,
    ],
    [
      `SELECT extract(dow from "Joined") AS day, count(*) FROM census WHERE extract(year from "Joined") = 2026
       AND date_trunc('month', "Joined") >= '2026-02-01' GROUP BY 1`,
      1,
    ],
    [`SELECT DISTINCT "Sex" AS __text, "Sex" AS __value FROM census`, 'GROUP BY'],
    [
      `SELECT date_trunc('day', "Seen") AS time, avg(count(*)) OVER (ORDER BY date_trunc('day', "Seen") ROWS BETWEEN 6 PRECEDING AND CURRENT ROW) AS week,
       100.0 * count(*) / sum(count(*)) OVER (PARTITION BY date_trunc('day', "Seen")) AS share, "Sex" AS metric
       FROM census GROUP BY 1, "Sex" ORDER BY 1`,
      1,
    ],
  ],
  // samples/plugins/postgres_jdbc/dialect.tdd of tableau/connector-plugin-sdk (commit cdf746b3).
  Tableau: [
    ['SELECT COUNT(1) AS "cnt:census:ok" FROM "public"."census" "census" HAVING (COUNT(1) > 0)', 1],
    [
      `SELECT "census"."Married" AS "Married", SUM(1) AS "n", AVG(CAST("census"."Earnings" AS DOUBLE PRECISION)) AS "mean"
       FROM "public"."census" "census" WHERE ("census"."Married" IN ('M', 'S')) GROUP BY 1`,
      1,
    ],
    [
      `SELECT DATE_TRUNC('MONTH', CAST("census"."Joined" AS TIMESTAMP)) AS "month", COUNT(DISTINCT "census"."Occupation") AS "kinds"
       FROM "public"."census" "census" WHERE ("census"."Joined" >= (DATE '2024-01-01')) AND ("census"."Joined" <= (DATE '2024-12-31'))
       GROUP BY 1`,
      1,
    ],
    [
      `SELECT CAST(DATE_TRUNC('DAY', CAST("census"."Joined" AS DATE)) + (-EXTRACT(DOW FROM "census"."Joined") * INTERVAL '1 DAY') AS DATE)
       AS "week", SUM("census"."Earnings") AS "sum" FROM "public"."census" "census" GROUP BY 1`,
      1,
    ],
    [
      `SELECT CAST(TRUNC(EXTRACT(YEAR FROM "census"."Joined")) AS INTEGER) AS "year", (1 + CAST(EXTRACT(DOW FROM "census"."Seen") AS INTEGER))
       AS "weekday", COUNT(1) AS "n" FROM "public"."census" "census" GROUP BY 1, 2`,
      1,
    ],
    [
      `SELECT (CASE WHEN ("census"."Age" >= 18) THEN 'adult' WHEN NOT ("census"."Age" >= 18) THEN 'child' ELSE NULL END) AS "who",
       COUNT(1) AS "n" FROM "public"."census" "census"
       WHERE ("census"."Seen" >= (TIMESTAMP '2026-11-10 00:00:00.000')) GROUP BY 1`,
      1,
    ],
    [
      `SELECT "Custom SQL Query"."Sex" AS "Sex", SUM("Custom SQL Query"."n") AS "n" FROM (SELECT "Sex", COUNT(*) AS n FROM census GROUP BY 1)
       "Custom SQL Query" GROUP BY 1`,
      'groups cannot be aggregated again',
    ],
  ],
  // Its views of data and its SQL editor, by its documentation.
  DBeaver: [
    ['SELECT count(*) FROM public.census', 1],
    ['SELECT t.* FROM public.census t LIMIT 200', 'COUNT(*)'],
    ['SELECT "Married", COUNT(*) AS count FROM public.census GROUP BY "Married" ORDER BY COUNT(*) DESC', 1],
    [
      'SELECT count(1), round(avg(c."Age"), 1) AS age, sum(c."Earnings")::numeric(16,2) FROM public.census c',
      1,
    ],
    [
      `SELECT t."Sex", t.n FROM (SELECT "Sex", count(*) AS n FROM census GROUP BY "Sex") t ORDER BY t.n DESC LIMIT 1`,
      1,
    ],
    [`SELECT count(*) FROM census WHERE "Occupation" LIKE 'Uni%' OR "Occupation" ILIKE '%ograph%'`, 1],
  ],
  Excel: [
    [`SELECT census.Sex, Count(*) AS "Count of Sex" FROM sotto.public.census census GROUP BY census.Sex`, 1],
    [
      `select "rows"."Sex" as "Sex", count(1) as "a0", sum(cast("rows"."Earnings" as decimal)) as "a1"
       from (select "_"."Sex", "_"."Earnings" from "public"."census" "_" where "_"."Age" >= 18) "rows"
       group by "rows"."Sex" limit 1000001`,
      1,
    ],
    [
      `SELECT "Occupation", "Sex", Avg("Earnings") AS "Average of Earnings" FROM census
       GROUP BY "Occupation", "Sex" ORDER BY "Occupation", "Sex"`,
      1,
    ],
    [`SELECT * FROM "sotto"."public"."census"`, 'COUNT(*)'],
    [
      `SELECT "Sex", SUM("Earnings") / COUNT(*) AS "per person" FROM census GROUP BY "Sex" HAVING COUNT(*) > 10`,
      1,
    ],
    [
      `SELECT CAST(EXTRACT(YEAR FROM "Joined") AS INTEGER) AS "Year", CAST(COUNT(*) AS BIGINT) AS "n" FROM census
       WHERE "Joined" >= CAST('2024-01-01' AS DATE) GROUP BY EXTRACT(YEAR FROM "Joined")`,
      1,
    ],
  ],
  pandas: [
    [
      'SELECT Occupation, COUNT(*) AS n, AVG(Earnings) AS mean, STDDEV(Earnings) AS std FROM census GROUP BY Occupation',
      1,
    ],
    [
      `SELECT COUNT(Earnings), AVG(Earnings), STDDEV(Earnings), MIN(Earnings),
       percentile_cont(0.25) WITHIN GROUP (ORDER BY Earnings) AS q1, MEDIAN(Earnings), MAX(Earnings) FROM census`,
      3,
    ],
    ['SELECT CORR(Age, Earnings) AS r, REGR_SLOPE(Earnings, Age) AS slope, COUNT(*) AS n FROM census', 3],
    [`SELECT Sex, COUNT(*)::float / SUM(COUNT(*)) OVER () AS share FROM census GROUP BY Sex`, 1],
    ['SELECT * FROM census', 'COUNT(*)'],
    ['SELECT Age, Earnings FROM census WHERE Age > 99 ORDER BY Earnings DESC LIMIT 10', 'GROUP BY'],
    [
      `SELECT Sex, AVG(Earnings) FILTER (WHERE Age < 30) AS young, COALESCE(AVG(CASE WHEN Age >= 30 THEN Earnings END), 0) AS old
       FROM census GROUP BY Sex`,
      2,
    ],
  ],
  // R/backend-postgres.R of dbplyr 2.6.0.
  R: [
    [
      `SELECT "Occupation", COUNT(*) AS "n", ROUND((AVG("Earnings"))::numeric, 2) AS "mean" FROM "census"
       WHERE ("Age" > 18.0) AND (NOT(("Occupation" IS NULL))) GROUP BY "Occupation" HAVING (COUNT(*) > 1.0)`,
      1,
    ],
    [
      `SELECT "year", COUNT(*) AS "n" FROM (SELECT "census".*, EXTRACT(YEAR FROM "Joined") AS "year" FROM "census") AS "q01"
       GROUP BY "year" ORDER BY "year"`,
      1,
    ],
    ['SELECT "Sex", COUNT(*) AS "n" FROM "census" GROUP BY "Sex"', 1],
    [
      `SELECT "Occupation", AVG("Earnings") AS "mean", COUNT(*) AS "n" FROM (SELECT "census".* FROM "census" WHERE ("Age" >= 18.0)) AS "q01"
       GROUP BY "Occupation"`,
      1,
    ],
    [`SELECT "Sex", "Married", COUNT(*) AS "n" FROM "census" GROUP BY "Sex", "Married" ORDER BY "n" DESC`, 1],
    [
      `SELECT "adult", COUNT(*) AS "n" FROM (SELECT "census".*, CASE WHEN ("Age" >= 18.0) THEN 'yes' WHEN NOT ("Age" >= 18.0) THEN 'no' END AS "adult"
       FROM "census") AS "q01" GROUP BY "adult"`,
      1,
    ],
    [
      `SELECT "Sex", STDDEV_SAMP("Earnings") AS "sd", PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY "Earnings") AS "median" FROM "census" GROUP BY "Sex"`,
      1,
    ],
    [`SELECT "census".* FROM "census" LIMIT 11`, 'COUNT(*)'],
  ],
}
