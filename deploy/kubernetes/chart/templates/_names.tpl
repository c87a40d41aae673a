{{- define "pinnace.name" -}}
{{- if contains "pinnace" .Release.Name -}}
{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-pinnace" .Release.Name | trunc 50 | trimSuffix "-" }}
{{- end -}}
{{- end }}

{{- define "pinnace.selector" -}}
app.kubernetes.io/name: pinnace
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "pinnace.metadata" -}}
name: {{ include "pinnace.name" . }}
namespace: {{ .Release.Namespace }}
labels:
  {{- include "pinnace.selector" . | nindent 2 }}
  app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
  app.kubernetes.io/managed-by: {{ .Release.Service }}
  helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "pinnace.models" -}}
model_config_list {
{{- range $name, $path := .Values.models }}
  config {
    name: {{ $name | quote }}
    base_path: {{ $path | quote }}
    model_platform: "tensorflow"
  }
{{- end }}
}
{{- end }}

{{- /* A probe of a path: by HTTPS where the server has a certificate, by the port where it asks for one. */ -}}
{{- define "pinnace.probe" -}}
{{- $values := (index . 0).Values -}}
{{- if and $values.tls.secret $values.tls.clientCa -}}
tcpSocket: {port: http}
{{- else if $values.tls.secret -}}
httpGet: {path: {{ index . 1 }}, port: http, scheme: HTTPS}
{{- else -}}
httpGet: {path: {{ index . 1 }}, port: http}
{{- end -}}
{{- end }}
