# Generated from schemas/answers/query.ts and src/core/planner/kinds by `npm run generate`. Do not edit.

sotto_count <- function(of = NULL, ...) {
  question("count", list(of = of), ...)
}

sotto_histogram <- function(column, of = NULL, ...) {
  question("histogram", list(column = column, of = of), ...)
}

sotto_bounds <- function(column, next_epsilon = NULL, ...) {
  question("bounds", list(column = column, next_epsilon = next_epsilon), ...)
}

sotto_contingency <- function(columns, of = NULL, ...) {
  question("contingency", list(columns = groupings(columns), of = of), ...)
}

sotto_marginals <- function(columns, ways, weights = NULL, rho = NULL, delta = NULL, objective = NULL, ...) {
  question("marginals", list(columns = groupings(columns), ways = ways, weights = weights, rho = rho, delta = delta, objective = objective), ...)
}

sotto_cumulative_counts <- function(column, of = NULL, p = NULL, ranges = NULL, delta = NULL, ...) {
  question("cumulativeCounts", list(column = column, of = of, p = p, ranges = ranges, delta = delta), ...)
}

sotto_mean <- function(column, per_person = NULL, clamp = NULL, ...) {
  question("mean", list(column = column, per_person = per_person, clamp = clamp), ...)
}

sotto_sum <- function(column, clamp = NULL, ...) {
  question("sum", list(column = column, clamp = clamp), ...)
}

sotto_median <- function(column, per_person = NULL, clamp = NULL, ...) {
  question("median", list(column = column, per_person = per_person, clamp = clamp), ...)
}

sotto_percentile <- function(column, p, per_person = NULL, clamp = NULL, ...) {
  question("percentile", list(column = column, p = p, per_person = per_person, clamp = clamp), ...)
}

sotto_minimum <- function(column, per_person = NULL, clamp = NULL, ...) {
  question("minimum", list(column = column, per_person = per_person, clamp = clamp), ...)
}

sotto_maximum <- function(column, per_person = NULL, clamp = NULL, ...) {
  question("maximum", list(column = column, per_person = per_person, clamp = clamp), ...)
}

sotto_proportion <- function(of, ...) {
  question("proportion", list(of = of), ...)
}

sotto_variance <- function(column, clamp = NULL, ...) {
  question("variance", list(column = column, clamp = clamp), ...)
}

sotto_standard_deviation <- function(column, clamp = NULL, ...) {
  question("standardDeviation", list(column = column, clamp = clamp), ...)
}

sotto_covariance <- function(column, other, clamp = NULL, ...) {
  question("covariance", list(columns = list(column, other), clamp = clamp), ...)
}

sotto_correlation <- function(column, other, clamp = NULL, ...) {
  question("correlation", list(columns = list(column, other), clamp = clamp), ...)
}

sotto_linear_regression <- function(outcome, predictors, ridge = NULL, clamp = NULL, ...) {
  question("linearRegression", list(outcome = outcome, predictors = as.list(predictors), ridge = ridge, clamp = clamp), ...)
}

sotto_top_groups <- function(keys, k = NULL, of = NULL, ...) {
  question("topGroups", list(keys = groupings(keys), k = k, of = of), ...)
}

sotto_noisy_max <- function(candidates, k = NULL, of = NULL, gap = NULL, noise = NULL, ...) {
  question("noisyMax", list(candidates = candidates_of(candidates), k = k, of = of, gap = gap, noise = noise), ...)
}

sotto_count_distinct <- function(column, ...) {
  question("countDistinct", list(column = column), ...)
}

sotto_key_selection <- function(column, delta, counts = NULL, ...) {
  question("keySelection", list(column = column, delta = delta, counts = counts), ...)
}

sotto_contribution_profile <- function(next_epsilon = NULL, ...) {
  question("contributionProfile", list(next_epsilon = next_epsilon), ...)
}
