# The ten questions of examples/clinic.md, with the R package. The page says why each is asked as it is.
#
# usage: SOTTO_KEY="$(cat data/analyst.key)" Rscript examples/clinic.R

library(sotto)

clinic <- sotto_connect() |> sotto_dataset("clinic")

questions <- list(
  visits_by_month = sotto_histogram(sotto_by("visited", "month"), contribution = list(rows = 10), epsilon = 0.5),
  visits_and_patients = sotto_group_by(
    list(sotto_by("visited", "quarter"), "region"),
    list(visits = sotto_count(), patients = sotto_count(of = "people")),
    contribution = list(groups = 4, rows_per_group = 2), epsilon = 1
  ),
  cost_of_a_visit = sotto_mean("cost", contribution = list(rows = 5), epsilon = 0.5),
  quartiles_of_cost = sotto_group_by(
    "region",
    list(low = sotto_percentile("cost", 25), middle = sotto_median("cost"), high = sotto_percentile("cost", 75)),
    contribution = list(groups = 1, rows_per_group = 5), epsilon = 1
  ),
  frequent_diagnoses = sotto_top_groups("diagnosis", k = 3, of = "people", epsilon = 0.5),
  visits_of_a_patient = sotto_mean("visited", per_person = "count", epsilon = 0.5),
  visits_of_the_busiest_tenth = sotto_percentile("visited", 90, per_person = "count", epsilon = 0.1),
  patients_with_an_emergency = sotto_count(of = "people", where = ~ emergency == TRUE, epsilon = 0.1),
  trend_of_costs = sotto_linear_regression("cost", c("visited", "age"), contribution = list(rows = 2), epsilon = 2),
  age_and_cost = sotto_correlation("age", "cost", contribution = list(rows = 2), epsilon = 1)
)

answers <- lapply(questions, function(question) sotto_ask(clinic, question))
for (name in names(answers)) {
  cat("\n", name, "\n", sep = "")
  print(answers[[name]])
}
cat("\n")
print(sotto_budget(clinic))
