{{- define "transom.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- /* Everything is named after this; 8 characters are left for suffixes such as -config. */}}
{{- define "transom.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 55 | trimSuffix "-" }}
{{- else }}
{{- $name := include "transom.name" . }}
{{- if contains $name .Release.Name }}
{{- .Release.Name | trunc 55 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 55 | trimSuffix "-" }}
{{- end }}
{{- end }}
{{- end }}

{{- define "transom.selectorLabels" -}}
app.kubernetes.io/name: {{ include "transom.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{- /* Helm deletes only what carries its own label: these win over those of users. */}}
{{- define "transom.ownLabels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service | quote }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{ include "transom.selectorLabels" . }}
{{- end }}

{{- define "transom.labels" -}}
{{- include "transom.labelsWith" (list . dict) }}
{{- end }}

{{- /* The labels of an object that has more of its own, in a list behind the chart's root. Each key stands there once. */}}
{{- define "transom.labelsWith" -}}
{{- $root := first . }}
{{- $more := last . | default dict }}
{{- toYaml (merge (fromYaml (include "transom.ownLabels" $root)) $more ($root.Values.commonLabels | default dict)) }}
{{- end }}

{{- define "transom.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}
{{- end }}

{{- define "transom.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- .Values.serviceAccount.name | default (include "transom.fullname" .) }}
{{- else }}
{{- .Values.serviceAccount.name | default "default" }}
{{- end }}
{{- end }}

{{- define "transom.tlsSecretName" -}}
{{- if eq .Values.tls.mode "existingSecret" }}
{{- required "tls.mode is existingSecret: set tls.existingSecret to the name of a Secret with tls.crt and tls.key" .Values.tls.existingSecret }}
{{- else }}
{{- include "transom.fullname" . }}-tls
{{- end }}
{{- end }}

{{- /* Whether the program talks to the API server: "true" or nothing. */}}
{{- define "transom.talksToAPIServer" -}}
{{- if or (eq .Values.tls.mode "selfManaged") .Values.watchNamespaces .Values.watchRuntimeClasses .Values.watchNodes .Values.events.enabled }}true{{ end }}
{{- end }}

{{- /* The file that the program reads. Format and kind are not for the user to know; taints are learnt where nodes are. */}}
{{- define "transom.config" -}}
{{- $head := dict "apiVersion" "transom.dev/v1alpha1" "kind" "Config" }}
{{- $config := merge $head (deepCopy (.Values.config | default dict)) }}
{{- $placement := default dict $config.placement }}
{{- if and .Values.watchNodes (not (hasKey $placement "learnTaints")) }}
{{- $config = set $config "placement" (set $placement "learnTaints" true) }}
{{- end }}
{{- toYaml $config }}
{{- end }}

{{- /* The name of a pod that the Service must not choose: it has our labels, but not those of the selector. */}}
{{- define "transom.testLabels" -}}
{{- $labels := fromYaml (include "transom.labelsWith" (list . (dict "app.kubernetes.io/component" "test"))) }}
{{- toYaml (merge (fromYaml (include "transom.testSelectorLabels" .)) $labels) }}
{{- end }}

{{- define "transom.testSelectorLabels" -}}
app.kubernetes.io/name: {{ printf "%s-test" (include "transom.name" .) | trunc 63 | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}
