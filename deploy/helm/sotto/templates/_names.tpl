{{/* Name of the chart's objects: that of the release, with "sotto" unless it is in it. */}}
{{- define "sotto.name" -}}
{{- if contains "sotto" .Release.Name }}{{ .Release.Name | trunc 52 | trimSuffix "-" }}
{{- else }}{{ printf "%s-sotto" (.Release.Name | trunc 46 | trimSuffix "-") }}
{{- end }}
{{- end }}

{{/* Labels that select the pods. They never change, because a Deployment's selector is immutable. */}}
{{- define "sotto.selector" -}}
app.kubernetes.io/name: sotto
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "sotto.labels" -}}
{{ include "sotto.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "sotto.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (ternary (include "sotto.name" .) "default" .Values.serviceAccount.create) }}
{{- end }}

{{- define "sotto.claim" -}}
{{- .Values.persistence.existingClaim | default (include "sotto.name" .) }}
{{- end }}

{{/* True if the data folder outlives the pod. */}}
{{- define "sotto.hasClaim" -}}
{{- if or .Values.persistence.existingClaim (eq .Values.catalog.kind "volume") }}true{{ end }}
{{- end }}

{{/* True if tokens of an OpenID provider are accepted. */}}
{{- define "sotto.hasOidc" -}}
{{- if or .Values.oidc.secret .Values.oidc.issuer }}true{{ end }}
{{- end }}

{{/* Scheme of the probes, of the Service and of the metrics. */}}
{{- define "sotto.scheme" -}}
{{- ternary "HTTPS" "HTTP" (not (empty .Values.tls.secret)) }}
{{- end }}
