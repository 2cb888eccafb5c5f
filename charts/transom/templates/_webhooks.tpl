{{- /*
What the entries of both webhook configurations have in common.

Each configuration always has all of its entries. One that the values make superfluous keeps its place and has no
rules, since an entry cannot be taken out by server-side apply while another field manager owns its caBundle: it would
stay behind with nothing but a name and that bundle, and the API server would refuse the upgrade.
*/ -}}

{{- /* Whether namespaces with certain labels are asked about without conditions: "true" or nothing. */}}
{{- define "transom.asksByLabel" -}}
{{- if and .Values.watchNamespaces (eq .Values.webhook.matchConditions "evidence") }}true{{ end }}
{{- end }}

{{- /*
The whole entry of a webhook.
  root     the chart's root
  hook     .Values.webhook.mutating or .validating
  name     of the entry, without the domain
  path     of the program
  where    requirements on the namespace's labels
  active   whether anything is asked
  conditions  whether matchConditions of webhook.matchConditions apply
*/}}
{{- define "transom.webhook" -}}
{{- $root := .root }}
{{- $values := $root.Values }}
{{- $selector := .hook.namespaceSelector | default dict }}
- name: {{ .name }}.transom.dev
  admissionReviewVersions: [v1]
  clientConfig:
    service:
      namespace: {{ $root.Release.Namespace | quote }}
      name: {{ include "transom.fullname" $root | quote }}
      port: {{ $values.service.port }}
      path: {{ .path }}
    {{- with $values.webhook.caBundle }}
    caBundle: {{ b64enc . | quote }}
    {{- end }}
  # An object that is sent as another version of its kind is judged as well.
  matchPolicy: Equivalent
  {{- if eq .path "/mutate" }}
  reinvocationPolicy: {{ .hook.reinvocationPolicy | quote }}
  {{- end }}
  sideEffects: {{ ternary "NoneOnDryRun" "None" $values.events.enabled }}
  timeoutSeconds: {{ .hook.timeoutSeconds }}
  failurePolicy: {{ .hook.failurePolicy | quote }}
  namespaceSelector:
    {{- with $selector.matchLabels }}
    matchLabels:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    matchExpressions:
    {{- with $selector.matchExpressions }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    - key: kubernetes.io/metadata.name
      operator: NotIn
      values:
      {{- $exempt := ((($values.config | default dict).exemptions) | default dict).namespaces | default list }}
      {{- concat (list "kube-system" $root.Release.Namespace) $exempt | uniq | toYaml | nindent 6 }}
    - key: transom.dev/mode
      operator: NotIn
      values: ["off"]
    {{- with .where }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with .hook.objectSelector }}
  objectSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- $mode := ternary $values.webhook.matchConditions "none" .conditions }}
  {{- if or (ne $mode "none") .hook.matchConditions }}
  matchConditions:
  {{- $name := get (dict "evidence" "windows-evidence" "notLinux" "not-plainly-linux") $mode }}
  {{- if $name }}
  - name: {{ $name }}
    expression: |-
      {{ include (print "transom.conditions." $name) $root | trim }}
  {{- end }}
  {{- with .hook.matchConditions }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- end }}
  {{- if .active }}
  rules:
  - operations: [CREATE, UPDATE]
    apiGroups: [""]
    apiVersions: [v1]
    resources:
    - pods
    - pods/ephemeralcontainers
    - replicationcontrollers
    - podtemplates
    {{- if and (eq .path "/validate") (include "transom.judgesServices" $root) }}
    - services
    {{- end }}
    scope: Namespaced
  - operations: [CREATE, UPDATE]
    apiGroups: [apps]
    apiVersions: [v1]
    resources: [deployments, replicasets, statefulsets, daemonsets]
    scope: Namespaced
  - operations: [CREATE, UPDATE]
    apiGroups: [batch]
    apiVersions: [v1]
    resources: [jobs, cronjobs]
    scope: Namespaced
  {{- else }}
  rules: []
  {{- end }}
{{- end }}

{{- /* Whether a rule about Services is on: "true" or nothing. */}}
{{- define "transom.judgesServices" -}}
{{- $kep := eq ((.Values.config | default dict).profile | default "current") "kep-116" }}
{{- $rules := (.Values.config | default dict).rules | default dict }}
{{- $on := false }}
{{- range $code, $name := dict "WIN701" "session-affinity-timeout" "WIN702" "external-traffic-policy-local" "WIN703" "ipv6-single-stack" "WIN704" "sctp-service" }}
{{- $default := ternary "warn" "off" (and $kep (ne $code "WIN704")) }}
{{- $action := get $rules $code | default (get $rules $name) | default $default }}
{{- if ne $action "off" }}{{ $on = true }}{{ end }}
{{- end }}
{{- if $on }}true{{ end }}
{{- end }}

{{- define "transom.webhookAnnotations" -}}
{{- $annotations := deepCopy (.Values.webhook.annotations | default dict) }}
{{- if eq .Values.tls.mode "certManager" }}
{{- $_ := set $annotations "cert-manager.io/inject-ca-from" (printf "%s/%s" .Release.Namespace (include "transom.tlsSecretName" .)) }}
{{- end }}
{{- with $annotations }}{{ toYaml . }}{{ end }}
{{- end }}
