{{- define "sotto.image" -}}
{{- with .Values.image }}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{/* Names of the mounted Secrets by folder below /etc/sotto. */}}
{{- define "sotto.secrets" -}}
{{- if eq .Values.ledger.kind "postgres" }}
ledger: {{ .Values.ledger.postgres.secret }}
{{- end }}
{{- if eq .Values.catalog.kind "postgres" }}
{{- with .Values.catalog.postgres.secret }}
catalog: {{ . }}
{{- end }}
{{- end }}
{{- with .Values.ledger.signingSecret }}
signing: {{ . }}
{{- end }}
{{- with .Values.connections.secret }}
connections: {{ . }}
{{- end }}
{{- with .Values.tls.secret }}
tls: {{ . }}
{{- end }}
{{- if .Values.metrics.enabled }}
{{- with .Values.metrics.keySecret }}
metrics: {{ . }}
{{- end }}
{{- end }}
{{- end }}

{{/* Time that a pod may take to stop. The service waits for open requests, and for twice the longest slot. */}}
{{- define "sotto.graceSeconds" -}}
{{- with .Values.shutdown }}
{{- add .drainSeconds .limitSeconds (mul 2 .longestSlotSeconds) 5 }}
{{- end }}
{{- end }}

{{/* Variables of the service, sorted by name. */}}
{{- define "sotto.environment" -}}
{{- $values := .Values }}
{{- $all := dict "SOTTO_HOST" "0.0.0.0" "SOTTO_PORT" "8080" "SOTTO_DATA_DIR" "/data" }}
{{- $_ := set $all "SOTTO_DEMO" (toString $values.demo) }}
{{- $_ := set $all "SOTTO_DRAIN_MS" (toString (mul 1000 $values.shutdown.drainSeconds)) }}
{{- $_ := set $all "SOTTO_SHUTDOWN_MS" (toString (mul 1000 $values.shutdown.limitSeconds)) }}
{{- if eq $values.ledger.kind "postgres" }}
{{- $_ := set $all "SOTTO_LEDGER_URL_FILE" "/etc/sotto/ledger/url" }}
{{- end }}
{{- if eq $values.catalog.kind "postgres" }}
{{- $folder := ternary "ledger" "catalog" (empty $values.catalog.postgres.secret) }}
{{- $_ := set $all "SOTTO_CATALOG_URL_FILE" (printf "/etc/sotto/%s/url" $folder) }}
{{- end }}
{{- if $values.ledger.signingSecret }}
{{- $_ := set $all "SOTTO_LEDGER_SIGNING_KEY" "/etc/sotto/signing/signing.pem" }}
{{- end }}
{{- if $values.connections.secret }}
{{- $_ := set $all "SOTTO_CONNECTIONS" "/etc/sotto/connections/connections.yaml" }}
{{- end }}
{{- if $values.tls.secret }}
{{- $_ := set $all "SOTTO_TLS_CERT" "/etc/sotto/tls/tls.crt" }}
{{- $_ := set $all "SOTTO_TLS_KEY" "/etc/sotto/tls/tls.key" }}
{{- end }}
{{- with $values.trustedProxies }}
{{- $_ := set $all "SOTTO_TRUST_PROXY" (join "," .) }}
{{- end }}
{{- if $values.metrics.enabled }}
{{- $_ := set $all "SOTTO_METRICS_PORT" (toString $values.metrics.port) }}
{{- if $values.metrics.keySecret }}
{{- $_ := set $all "SOTTO_METRICS_KEY_FILE" "/etc/sotto/metrics/key" }}
{{- end }}
{{- end }}
{{- if $values.postgresqlProtocol.enabled }}
{{- $_ := set $all "SOTTO_PG_PORT" "5433" }}
{{- end }}
{{- with $values.oidc.issuer }}
{{- $_ := set $all "SOTTO_OIDC_ISSUER" . }}
{{- $_ := set $all "SOTTO_OIDC_AUDIENCE" $values.oidc.audience }}
{{- end }}
{{- with $values.oidc.clientId }}
{{- $_ := set $all "SOTTO_OIDC_CLIENT_ID" . }}
{{- end }}
{{- range $name, $value := merge (dict) $values.settings $all }}
- name: {{ $name }}
  value: {{ toString $value | quote }}
{{- end }}
{{- end }}
