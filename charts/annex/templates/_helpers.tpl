{{- define "annex.name" -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- end -}}

{{- define "annex.selector" -}}
app.kubernetes.io/name: annex
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "annex.labels" -}}
{{ include "annex.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "annex.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (include "annex.name" .) -}}
{{- end -}}

{{- define "annex.check" -}}
{{- if eq .Values.storage.backend "embedded" -}}
{{- if gt (int .Values.replicas) 1 -}}
{{- fail "storage.backend=embedded keeps its store in one replica: set replicas=1, or use mongodb" -}}
{{- end -}}
{{- end -}}
{{- end -}}
