# Counts people by occupation and sex, with the half-width and the cost. Uses httr2.
#
# usage: Rscript examples/r/first-query.R [url] [key file]

library(httr2)

arguments <- commandArgs(trailingOnly = TRUE)
url <- if (length(arguments) >= 1) arguments[1] else "http://127.0.0.1:8080"
key_file <- if (length(arguments) >= 2) arguments[2] else "data/analyst.key"

# A repeat of the same request is never charged twice: the service finds the stored answer.
answer <- request(url) |>
  req_url_path("/v1/datasets/census/queries") |>
  req_auth_bearer_token(readLines(key_file, n = 1)) |>
  req_body_json(list(
    kind = "contingency",
    columns = list("Occupation", "Sex"),
    where = list(column = "Age", op = ">=", value = 30),
    epsilon = 0.2
  )) |>
  req_error(body = function(response) {
    problem <- resp_body_json(response, check_type = FALSE)
    paste0(problem$code, ": ", problem$detail)
  }) |>
  req_retry(max_tries = 5, is_transient = function(response) resp_status(response) %in% c(429, 503)) |>
  req_perform() |>
  resp_body_json()

table <- do.call(rbind, lapply(answer$result$cells, function(cell) {
  data.frame(occupation = cell$key$Occupation, sex = cell$key$Sex, people = cell$value)
}))
print(table)
cat(sprintf("each cell is within %g with probability %g\n", answer$accuracy$halfWidth, answer$accuracy$confidence))
cat(sprintf("cost: epsilon %g; left: epsilon %g\n", answer$cost$epsilon, answer$budget$remaining$epsilon))
