# What a service and a dataset can do.

sotto_datasets <- function(service) {
  found <- list()
  cursor <- NULL
  repeat {
    page <- exchange(service, "/v1/datasets", list(limit = 500, cursor = cursor))$document
    found <- c(found, page$datasets)
    cursor <- page[["next"]]
    if (is.null(cursor)) break
  }
  data.frame(id = vapply(found, `[[`, "", "id"), title = vapply(found, `[[`, "", "title"))
}

sotto_dataset <- function(service, id, on = c("data", "dummy"), rows = NULL, seed = NULL) {
  on <- match.arg(on)
  if (on == "data" && !(is.null(rows) && is.null(seed))) stop('rows and seed are for on = "dummy"')
  practice <- if (on == "dummy") list(on = "dummy", rows = rows, seed = seed) else list()
  path <- paste0("/v1/datasets/", URLencode(id, reserved = TRUE))
  structure(list(service = service, id = id, path = path, practice = practice), class = "sotto_dataset")
}

print.sotto_dataset <- function(x, ...) cat("<sotto_dataset>", x$id, if (length(x$practice) > 0) "(made-up rows)", "\n")

# Returns the declared columns and the derived ones; the whole document of the dataset is an attribute.
sotto_describe <- function(dataset) {
  document <- exchange(dataset$service, dataset$path)$document
  all <- c(document$columns, document[["derived"]])
  facts <- c("name", "type", "lower", "upper", "step", "nullable", "expression")
  columns <- sapply(facts, function(fact) read_column(lapply(all, `[[`, fact)), simplify = FALSE)
  columns <- structure(as.data.frame(columns), document = document)
  columns$categories <- lapply(all, function(column) unlist(column[["categories"]]))
  columns
}

sotto_budget <- function(dataset) {
  document <- exchange(dataset$service, paste0(dataset$path, "/budget"))$document
  balance_of <- function(part) lapply(part[c("cap", "spent", "remaining")], amount)
  own <- if (!is.null(document[["allotment"]])) balance_of(document$allotment)
  structure(c(balance_of(document), list(allotment = own, document = document)), class = "sotto_budget")
}

print.sotto_budget <- function(x, ...) {
  cat(format(x$remaining), "left of", format(x$cap), "\n")
  if (!is.null(x$allotment)) cat("your allotment:", format(x$allotment$remaining), "left of", format(x$allotment$cap), "\n")
}

sotto_ask <- function(dataset, question, idempotency_key = NULL) {
  question <- as_question(question)
  path <- paste0(dataset$path, question$path)
  reply <- exchange(dataset$service, path, dataset$practice, question$body, idempotency_key)
  read_answer(reply$document, question$names, reply$replayed)
}

sotto_preview <- function(dataset, question) {
  question <- as_question(question)
  document <- exchange(dataset$service, paste0(dataset$path, question$path, "/preview"), body = question$body)$document
  read_preview(if (is.null(document[["preview"]])) document else document$preview, question$names)
}
