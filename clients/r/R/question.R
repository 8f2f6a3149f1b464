# Questions as values, in the form of the service.

question <- function(kind, fields, ...) {
  options <- list(...)
  if (length(options) > 0 && (is.null(names(options)) || any(names(options) == "")))
    stop("options must be named, such as epsilon = 0.1")
  accuracy <- options[names(options) %in% c("half_width", "confidence")]
  options <- options[!names(options) %in% names(accuracy)]
  if (length(accuracy) > 0) options$accuracy <- accuracy
  new_question(wire(c(list(kind = kind), fields, options)))
}

new_question <- function(body, names = NULL, path = "/queries") {
  structure(list(body = body, names = names, path = path), class = "sotto_question")
}

as_question <- function(question) {
  if (inherits(question, "sotto_question")) return(question)
  if (is.list(question)) return(new_question(wire(question)))
  stop("a question is made by sotto_count() and the like, sotto_sql(), or is a list in the form of the service")
}

print.sotto_question <- function(x, ...) cat(json_text(x$body), "\n")

sotto_sql <- function(statement, ...) {
  made <- question("sql", list(sql = statement), ...)
  new_question(made$body[names(made$body) != "kind"], path = "/sql")
}

sotto_by <- function(column, period, from = NULL, to = NULL) {
  structure(list(column = column, by = period, from = from, to = to), class = "sotto_cells")
}

sotto_bins <- function(column, edges) structure(list(column = column, edges = as.list(edges)), class = "sotto_cells")

groupings <- function(keys) if (inherits(keys, "sotto_cells")) list(keys) else as.list(keys)

candidates_of <- function(candidates) {
  if (!is.list(candidates) || inherits(candidates, "sotto_cells")) return(list(column = candidates))
  list(predicates = lapply(names(candidates), function(name) list(name = name, where = candidates[[name]])))
}

sotto_group_by <- function(keys, statistics, ...) {
  if (!is.list(statistics) || is.null(names(statistics)) || !all(vapply(statistics, inherits, NA, "sotto_question")))
    stop("statistics must be a named list, such as list(n = sotto_count())")
  asked <- lapply(unname(statistics), function(statistic) statistic$body)
  sent <- unique(asked)
  # The names on the wire do not depend on those here, so that a renamed statistic is still the same question.
  places <- match(asked, sent)
  shares <- which(vapply(sent, function(body) body$kind == "proportion", NA))
  if (length(shares) > 1)
    for (place in seq_along(shares)) sent[[shares[place]]]$name <- paste0("proportion", place)
  made <- question("groupBy", list(keys = groupings(keys), statistics = sent), ...)
  new_question(made$body, names = setNames(vapply(sent, name_in_answer, "")[places], names(statistics)))
}

# Returns the name that the service gives a statistic of groups.
name_in_answer <- function(body) {
  column <- if (is.list(body[["column"]])) body$column$column else body[["column"]]
  switch(body$kind,
    count = if (identical(body[["of"]], "people")) "count_people" else "count",
    proportion = if (is.null(body[["name"]])) "proportion" else body$name,
    percentile = paste("percentile", body$p, column, sep = "_"),
    mean = paste(c("mean", if (!is.null(body[["perPerson"]])) c("perPerson", body$perPerson), column), collapse = "_"),
    paste(body$kind, column, sep = "_")
  )
}

FRACTION_DIGITS <- 9
DELTA_DIGITS <- 18

# Returns a value in the form of the service: names in its spelling, numbers rounded to the digits that it takes, times
# in UTC. Without the rounding, 0.1 + 0.2 would be refused.
wire <- function(value, name = "") {
  if (inherits(value, "formula")) return(wire(condition(value)))
  if (is.list(value) && !inherits(value, "POSIXlt")) {
    given <- Filter(Negate(is.null), unclass(value))
    parts <- if (is.null(names(given))) rep("", length(given)) else names(given)
    sent <- unname(Map(wire, given, parts))
    return(if (is.null(names(given))) sent else setNames(sent, camel(parts)))
  }
  if (length(value) != 1) return(lapply(value, wire, name))
  if (is.na(value)) stop("a missing value cannot be sent; is.na(column) tests for one")
  if (is.factor(value)) return(as.character(value))
  if (inherits(value, "Date")) return(format(value, "%Y-%m-%d"))
  if (inherits(value, "POSIXt")) return(wire_time(value))
  if (is.numeric(value) && !is.finite(value)) stop(value, " is not a finite number")
  if (is.numeric(value)) return(round(as.numeric(value), if (name == "delta") DELTA_DIGITS else FRACTION_DIGITS))
  value
}

wire_time <- function(time) {
  if (as.numeric(time) %% 1 != 0) stop("a time is sent in whole seconds; write finer ones as text, such as 2024-01-10T05:30:00.5Z")
  # Columns of dates need a date, and columns of timestamps accept it.
  format(time, if (as.numeric(time) %% 86400 == 0) "%Y-%m-%d" else "%Y-%m-%dT%H:%M:%SZ", tz = "UTC")
}

camel <- function(name) gsub("_([a-z])", "\\U\\1", name, perl = TRUE)

json_text <- function(body) {
  texts <- rapply(body, function(number) structure(number_text(number), class = "json"), classes = "numeric", how = "replace")
  as.character(toJSON(texts, auto_unbox = TRUE, json_verbatim = TRUE))
}

# Returns the shortest decimal of a number that is not rounded.
number_text <- function(number) {
  texts <- sprintf(c("%.15g", "%.16g", "%.17g"), number)
  texts[as.numeric(texts) == number][1]
}

# Returns the condition in a formula, such as ~ Age >= 65 & Sex == "F". The left side of a comparison names a column, the
# right side is a value, which is computed where the formula was written.
condition <- function(formula) {
  read <- function(term) {
    name <- if (is.call(term)) deparse1(term[[1]]) else ""
    value <- function(place = 3) eval(term[[place]], environment(formula))
    switch(name,
      "(" = read(term[[2]]),
      "&" = joined("and", read(term[[2]]), read(term[[3]])),
      "|" = joined("or", read(term[[2]]), read(term[[3]])),
      "!" = list(op = "not", predicate = read(term[[2]])),
      "==" = list(column = column_in(term), op = "=", value = value()),
      "!=" = , "<" = , "<=" = , ">" = , ">=" = list(column = column_in(term), op = name, value = value()),
      "%in%" = list(column = column_in(term), op = "in", values = as.list(value())),
      "between" = list(column = column_in(term), op = "between", lower = value(3), upper = value(4)),
      "is.na" = list(column = column_in(term), op = "isNull"),
      stop("not a condition on a column: ", deparse1(term), call. = FALSE)
    )
  }
  read(formula[[length(formula)]])
}

column_in <- function(term) {
  column <- term[[2]]
  if (is.name(column) || is.character(column)) return(as.character(column))
  stop("the left side must be the name of a column: ", deparse1(term), call. = FALSE)
}

# One list for a chain of the same operator, because the service limits the nesting.
joined <- function(op, ...) {
  parts <- lapply(list(...), function(part) if (part$op == op) part$predicates else list(part))
  list(op = op, predicates = do.call(c, parts))
}
