# Address, key and HTTP of a connection to a service.

ATTEMPTS <- 5
LONGEST_WAIT_SECONDS <- 60
FIRST_PAUSE_SECONDS <- 0.25
LONGEST_PAUSE_SECONDS <- 8

sotto_connect <- function(url = Sys.getenv("SOTTO_URL"), key = Sys.getenv("SOTTO_KEY"), timeout_seconds = 120) {
  address <- sub("/+$", "", if (identical(url, "")) "http://127.0.0.1:8080" else url)
  if (grepl("^https?://[^/?#]*@", address))
    stop("the address of the service must not contain a user name; pass the key as key =")
  if (!grepl("^https?://[^/?#@]+(/[^?#]*)?$", address))
    stop("the address of the service must be like https://sotto.example.org")
  if (grepl("^http://(?!([^/]*\\.)?localhost[:/]|127\\.[0-9.]+[:/]|\\[::1\\])", paste0(address, "/"), perl = TRUE))
    warning("the key is sent to ", address, " without encryption; use an https address")
  key <- trimws(key)
  if (identical(key, "")) stop("no key: pass key =, or set SOTTO_KEY")
  # The message must not contain the key.
  if (length(key) != 1 || !grepl("^[!-~]+$", key))
    stop("the key contains characters that no key has; it is one line of a key file")
  # In a function, so that neither print() nor str() shows the key.
  structure(list(url = address, key = function() key, timeout_seconds = timeout_seconds), class = "sotto_service")
}

print.sotto_service <- function(x, ...) cat("<sotto_service>", x$url, "\n")

# Sends a request, repeats it while that can help, and returns the document of the response and whether it was stored.
# No Idempotency-Key is needed for that: see decision 48.
exchange <- function(service, path, parameters = list(), body = NULL, idempotency_key = NULL) {
  # No redirect is followed, so that the key reaches one address only.
  request <- request(paste0(service$url, path)) |>
    req_auth_bearer_token(service$key()) |>
    req_headers("Idempotency-Key" = idempotency_key) |>
    req_url_query(!!!lapply(parameters, function(value) if (is.numeric(value)) number_text(value) else value)) |>
    req_user_agent(paste0("sotto-r/", packageVersion("sotto"))) |>
    req_timeout(service$timeout_seconds) |>
    req_options(followlocation = FALSE) |>
    req_error(is_error = function(response) FALSE)
  if (!is.null(body)) request <- req_body_raw(request, json_text(body), type = "application/json")
  attempt <- 1
  waited_seconds <- 0
  repeat {
    reply <- tryCatch(req_perform(request), error = identity)
    if (!is_lost(reply) && resp_status(reply) < 300) break
    pause_seconds <- pause_after(reply, attempt)
    if (is.na(pause_seconds) || waited_seconds + pause_seconds > LONGEST_WAIT_SECONDS) fail(reply, attempt)
    Sys.sleep(pause_seconds)
    attempt <- attempt + 1
    waited_seconds <- waited_seconds + pause_seconds
  }
  document <- document_of(reply)
  if (is.null(document)) stop_as("sotto_unexpected_response", "the body of the response is not JSON")
  list(document = document, replayed = identical(resp_header(reply, "Idempotent-Replayed"), "true"))
}

is_lost <- function(reply) inherits(reply, "error")

# Returns the seconds to wait before the next attempt, or NA if the outcome is final.
pause_after <- function(reply, attempt) {
  # Jitter, so that many clients that were refused together do not return together.
  # It comes from the clock: a draw from R's generator would change the results of a script that set its seed.
  jitter <- 0.5 + (as.numeric(Sys.time()) * 1000) %% 1 / 2
  backoff <- min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2^(attempt - 1)) * jitter
  if (is_lost(reply)) return(if (attempt < ATTEMPTS) backoff else NA)
  retry_after <- suppressWarnings(as.numeric(resp_retry_after(reply)))
  code <- document_of(reply)[["code"]]
  may_pass <- switch(as.character(resp_status(reply)),
    "409" = identical(code, "query-in-flight"),
    # Waiting helps against a rate limit. Of other quotas, only a Retry-After tells that it does.
    "429" = !is.na(retry_after) || identical(code, "rate-limited"),
    "502" = , "503" = , "504" = TRUE,
    FALSE
  )
  if (may_pass) max(backoff, retry_after, na.rm = TRUE) else NA
}

document_of <- function(reply) {
  document <- tryCatch(fromJSON(resp_body_string(reply, "UTF-8"), simplifyVector = FALSE), error = function(error) NULL)
  if (is.list(document)) document
}

fail <- function(reply, attempts) {
  if (is_lost(reply))
    stop_as("sotto_connection_failed", sprintf("no response (%s; attempts: %d)", conditionMessage(reply), attempts))
  document <- document_of(reply)
  status <- resp_status(reply)
  if (status < 400)
    stop_as("sotto_unexpected_response", "redirects are not followed; connect to the final address")
  if (is.null(document[["code"]]))
    stop_as("sotto_unexpected_response", sprintf("the response (status %d) is not from a Sotto service", status))
  first <- c(document[["errors"]], list(list()))[[1]]
  stop_as(
    "sotto_problem", paste0(document$code, ": ", document$detail),
    code = document$code, status = document$status, title = document$title, detail = document$detail,
    errors = document[["errors"]], field = first[["field"]], rule = first[["rule"]],
    request_id = document[["requestId"]], document = document
  )
}

stop_as <- function(class, message, ...) {
  stop(structure(list(message = message, call = NULL, ...), class = c(class, "sotto_error", "error", "condition")))
}
