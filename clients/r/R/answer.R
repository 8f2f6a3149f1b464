# Answers as values: what was released, how accurate it is, and what it cost.

read_answer <- function(document, names, replayed) {
  is_sql <- !is.null(document[["columns"]])
  released <- if (is_sql) document$answer else document
  accuracy <- released$accuracy
  value <- read_value(released$result[["value"]])
  answer <- list(
    value = value,
    half_width = read_half_width(accuracy[["halfWidth"]], accuracy[["unit"]], value),
    rank_unit = if (is_rank(accuracy[["unit"]])) accuracy$unit,
    interval = read_column(unname(accuracy[["interval"]][c("lower", "upper")])),
    confidence = accuracy$confidence,
    price = amount(if (is.null(released[["price"]])) released$cost else released$price),
    budget_left = amount(released$budget$remaining),
    coverage = released[["coverage"]][["statement"]],
    kind = if (is.null(released[["answers"]])) released$kind else "batch", dataset = released$dataset, dataset_version = released$datasetVersion,
    id = if (!isTRUE(released[["dummy"]])) released[["id"]],
    replayed = replayed, dummy = isTRUE(released[["dummy"]]),
    inference = released[["inference"]][["statement"]],
    question = released[["question"]], notes = unlist(document[["notes"]])
  )
  answer$ranges <- ranges_of(released$result[["ranges"]])
  answer$table <- if (is_sql) sql_table(document) else table_of(answer, released, names)
  answer$document <- document
  structure(answer, class = "sotto_answer")
}

# Returns the counts of ranges of cumulative counts as a data frame.
ranges_of <- function(ranges) {
  if (is.null(ranges)) return(NULL)
  ends <- function(name) read_column(lapply(ranges, function(part) part$range[[name]]))
  data.frame(lower = ends("lower"), upper = ends("upper"), estimates("count", ranges))
}

as.data.frame.sotto_answer <- function(x, row.names = NULL, optional = FALSE, ...) x$table

format.sotto_answer <- function(x, ...) {
  if (is.null(x[["value"]])) return(paste(x$kind, "with", nrow(x$table), "rows"))
  with_half_width(x$value, x[["half_width"]], x[["rank_unit"]])
}

print.sotto_answer <- function(x, ...) {
  if (is.null(x[["value"]])) print(x$table, ...) else cat(format(x), "\n", sep = "")
  writeLines(strwrap(paste0("(", c(x[["coverage"]], x[["inference"]], cost_line(x)), ")")))
  invisible(x)
}

cost_line <- function(answer) {
  confidence <- paste0(format(100 * answer$confidence), "% confidence")
  price <- format(answer$price)
  left <- format(answer$budget_left)
  if (answer$dummy) return(paste0(confidence, ", from made-up rows, free; over the data it costs ", price))
  if (answer$replayed) return(paste0(confidence, ", replayed at no cost, paid: ", price, ", left then: ", left))
  paste0(confidence, ", price: ", price, ", left: ", left)
}

# Returns the values of an answer as a data frame, with the half-width of each.
table_of <- function(answer, released, names) {
  result <- released$result
  accuracy <- released$accuracy
  if (!is.null(result[["value"]])) {
    ends <- if (is.null(answer$interval)) c(NA, NA) else answer$interval
    estimate <- estimates("value", list(accuracy_of(result$value, accuracy)), prefix = "")
    return(data.frame(estimate, lower = ends[1], upper = ends[2]))
  }
  if (!is.null(result[["cells"]])) {
    counts <- lapply(result$cells, function(cell) accuracy_of(cell$value, accuracy))
    return(cbind(keys_of(result$cells, answer$question), estimates("count", counts)))
  }
  if (!is.null(result[["groups"]])) {
    if (is.null(names)) names <- setNames(nm = names(result$groups[[1]]$values))
    columns <- lapply(names(names), function(name) {
      estimates(name, lapply(result$groups, function(group) group$values[[names[[name]]]]))
    })
    return(do.call(cbind, c(list(keys_of(result$groups, answer$question)), columns)))
  }
  if (!is.null(result[["percentiles"]])) {
    found <- lapply(result$percentiles, function(part) accuracy_of(part$value, accuracy))
    return(data.frame(p = read_column(lapply(result$percentiles, `[[`, "p")), estimates("value", found, prefix = "")))
  }
  if (!is.null(result[["intercept"]])) {
    terms <- c("intercept", vapply(result$coefficients, `[[`, "", "column"))
    return(data.frame(term = terms, estimates("value", c(list(result$intercept), result$coefficients), prefix = "")))
  }
  # What remains is a list of selected candidates or of frequent keys.
  parts <- c(result[["selected"]], result[["keys"]])
  fields <- intersect(c("candidate", "gap", "key", "count"), unlist(lapply(parts, base::names)))
  column <- function(field) read_column(lapply(parts, function(part) label_text(part[[field]])))
  frame <- as.data.frame(sapply(fields, column, simplify = FALSE))
  if ("gap" %in% fields) frame$gap_half_width <- read_column(list(accuracy[["gapHalfWidth"]]))
  if ("count" %in% fields) frame$count_half_width <- read_column(list(accuracy[["halfWidth"]]))
  frame
}

accuracy_of <- function(value, accuracy) list(value = value, halfWidth = accuracy[["halfWidth"]], unit = accuracy[["unit"]])

# Returns a column of values and one of their half-widths. The half-width of a quantile is a number of ranks.
estimates <- function(name, parts, prefix = paste0(name, "_")) {
  unit <- parts[[1]][["unit"]]
  values <- read_column(lapply(parts, `[[`, "value"))
  widths <- read_half_width(read_column(lapply(parts, `[[`, "halfWidth")), unit, values)
  setNames(data.frame(values, widths), c(name, paste0(prefix, if (is_rank(unit)) "rank_half_width" else "half_width")))
}

is_rank <- function(unit) !is.null(unit) && unit %in% c("rows", "people")

# Returns the columns of the keys of groups. The group of the rows without a value is NA.
keys_of <- function(rows, question) {
  asked <- c(question[["keys"]], question[["columns"]], list(question[["column"]]))
  divided <- Filter(is.list, asked)
  periods <- setNames(lapply(divided, `[[`, "by"), vapply(divided, `[[`, "", "column"))
  columns <- names(rows[[1]]$key)
  keys <- lapply(columns, function(column) key_column(lapply(rows, function(row) row$key[[column]]), periods[[column]]))
  as.data.frame(setNames(keys, columns), optional = TRUE)
}

# Bins and categories become factors in the order of the answer, which is that of the declaration, periods become dates.
key_column <- function(labels, period = NULL) {
  if (any(vapply(labels, is.list, NA))) {
    texts <- read_column(lapply(labels, label_text))
    return(factor(texts, levels = unique(texts[!is.na(texts)]), ordered = TRUE))
  }
  texts <- read_column(labels, as_time = FALSE)
  if (is.logical(texts)) return(texts)
  if (!is.null(period) && !period %in% c("dayOfWeek", "monthOfYear")) return(period_start(texts, period))
  factor(texts, levels = unique(texts[!is.na(texts)]))
}

# Returns a bin as text, and any other label as it is.
label_text <- function(label) {
  if (!is.list(label)) return(label)
  edge <- function(value) if (is.numeric(value)) number_text(value) else value
  paste0("[", edge(label$lower), ", ", edge(label$upper), if (isTRUE(label[["upperIncluded"]])) "]" else ")")
}

# Returns the first day, or hour in UTC, of periods of the calendar.
period_start <- function(labels, period) {
  date <- function(texts) as.Date(texts, format = "%Y-%m-%d")
  number <- function() as.integer(substring(labels, 7))
  # The fourth of January is in the first week.
  fourth <- date(sub("-.*", "-01-04", labels))
  switch(period,
    year = date(paste0(labels, "-01-01")),
    quarter = date(sprintf("%s-%02d-01", substr(labels, 1, 4), 3L * number() - 2L)),
    month = date(paste0(labels, "-01")),
    week = fourth - as.integer(format(fourth, "%u")) + 1 + 7 * (number() - 1),
    day = date(labels),
    hour = as.POSIXct(labels, tz = "UTC", format = "%Y-%m-%dT%HZ")
  )
}

sql_table <- function(document) {
  columns <- lapply(seq_along(document$columns), function(place) {
    column <- document$columns[[place]]
    values <- read_column(lapply(document$rows, `[[`, place), as_time = column$type %in% c("date", "timestamp"))
    if (column$type == "number") read_half_width(values, column[["unit"]], NULL) else values
  })
  as.data.frame(setNames(columns, vapply(document$columns, `[[`, "", "name")), optional = TRUE)
}

read_preview <- function(document, names) {
  accuracy <- document[["accuracy"]]
  parts <- accuracy[["estimates"]]
  if (!is.null(names) && !is.null(parts)) parts <- setNames(parts[names], names(names))
  preview <- list(
    price = amount(document$price), cost = amount(document$cost), paid = document$paid, affordable = document$affordable,
    half_width = read_half_width(accuracy[["halfWidth"]], accuracy[["unit"]], NULL),
    half_widths = lapply(parts, function(part) read_half_width(part[["halfWidth"]], part[["unit"]], NULL)),
    root_mean_squared_error = accuracy[["rootMeanSquaredError"]],
    reason = accuracy[["reason"]], coverage = document[["coverage"]][["statement"]], risk = document$disclosureRisk$statement,
    offers = document[["offers"]],
    budget_left = amount(document$budget$remaining), document = document
  )
  structure(preview, class = "sotto_preview")
}

print.sotto_preview <- function(x, ...) {
  width <- function(half_width) if (is.null(half_width)) "unknown" else paste("\u00b1", shown(half_width))
  margins <- if (length(x$half_widths) > 0) paste(names(x$half_widths), lapply(x$half_widths, width), collapse = ", ")
  else if (is.null(x[["half_width"]])) x$reason else width(x$half_width)
  can <- if (x$paid) "already paid" else if (x$affordable) "affordable" else "not affordable"
  cat(margins, "; price: ", format(x$price), ", ", can, "; left: ", format(x$budget_left), "\n", sep = "")
  if (!is.null(x$offers$free[["result"]])) cat("(", offers_line(x$offers), ")\n", sep = "")
  invisible(x)
}

# Returns what is known from paid answers, and the prices of the other ways.
offers_line <- function(offers) {
  free <- offers$free
  accuracy <- free$accuracy
  value <- read_value(free$result[["value"]])
  values <- if (is.null(value)) "its values"
  else with_half_width(value, read_half_width(accuracy[["halfWidth"]], accuracy[["unit"]], value), NULL)
  count <- length(free$releases)
  top_up <- offers$topUp
  lacks <- if (!is.null(top_up$reason)) top_up$reason
  else if (top_up$epsilon == 0) "nothing lacks" else format(amount(top_up$price))
  paste0("free: ", values, " from ", count, if (count == 1) " answer" else " answers", "; top up: ", lacks, "; fresh: ",
         format(amount(offers$fresh$price)))
}

amount <- function(document) structure(document, class = "sotto_amount")

format.sotto_amount <- function(x, ...) {
  given <- Filter(function(part) !identical(as.numeric(part), 0), unclass(x))
  if (length(given) == 0) given <- unclass(x)[1]
  paste(names(given), vapply(given, format, "", digits = 6), collapse = ", ")
}

print.sotto_amount <- function(x, ...) cat(format(x), "\n")

# Returns a list of values as a vector. A missing one becomes NA, and texts of times become dates or times in UTC.
read_column <- function(values, as_time = TRUE) {
  if (length(values) == 0) return(NULL)
  column <- unlist(lapply(values, function(value) if (is.null(value)) NA else value))
  if (!as_time || !is.character(column)) return(column)
  read_value(column)
}

read_value <- function(value) {
  present <- value[!is.na(value)]
  if (!is.character(value) || length(present) == 0) return(value)
  if (all(grepl("^\\d{4}-\\d\\d-\\d\\d$", present))) return(as.Date(value))
  is_time <- all(grepl("^\\d{4}-\\d\\d-\\d\\dT[0-9:.]+Z$", present))
  if (is_time) as.POSIXct(value, tz = "UTC", format = "%Y-%m-%dT%H:%M:%OSZ") else value
}

# Returns a half-width as a difference of times if its unit is days or seconds, or if the value is a date or a time.
read_half_width <- function(half_width, unit, value) {
  if (is.null(half_width) || is_rank(unit)) return(half_width)
  if (identical(unit, "days") || inherits(value, "Date")) return(as.difftime(as.numeric(half_width), units = "days"))
  if (identical(unit, "seconds") || inherits(value, "POSIXct")) return(as.difftime(as.numeric(half_width), units = "secs"))
  half_width
}

# Returns a value and its half-width, which has at least two significant digits, with the same digits for both.
with_half_width <- function(value, half_width, rank_unit) {
  if (is.null(half_width)) return(shown(value))
  if (!is.null(rank_unit)) return(paste0(shown(value), " (rank \u00b1 ", shown(half_width), " ", rank_unit, ")"))
  if (!is.numeric(value) || half_width <= 0 || (value %% 1 == 0 && half_width %% 1 == 0))
    return(paste(shown(value), "\u00b1", shown(half_width)))
  digits <- max(0, 1 - floor(log10(half_width)))
  paste(formatC(c(value, half_width), digits, format = "f", big.mark = ","), collapse = " \u00b1 ")
}

shown <- function(value) {
  if (is.numeric(value) && !inherits(value, "difftime")) format(value, big.mark = ",", digits = 6, scientific = 9)
  else if (inherits(value, "POSIXct")) format(value, "%Y-%m-%d %H:%M:%S UTC")
  else format(value, digits = 3)
}
