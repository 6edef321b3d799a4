{{- define "gjallar.selector" -}}
app.kubernetes.io/name: gjallar
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "gjallar.labels" -}}
{{ include "gjallar.selector" . }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "gjallar.secret" -}}
{{ .Values.secret.name | default .Release.Name }}
{{- end }}
