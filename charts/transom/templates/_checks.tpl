{{- /* Values that are fine one by one, and together are not. What a single value may be is in values.schema.json. */}}
{{- define "transom.checks" -}}
{{- if and .Values.hostNetwork (eq (int .Values.webhook.port) 10250) }}
{{- fail "hostNetwork: port 10250 of a node is the kubelet's; set webhook.port to another, such as 10260" }}
{{- end }}
{{- if eq (int .Values.webhook.port) (int .Values.admin.port) }}
{{- fail (printf "webhook.port and admin.port are both %d; set one of them to another" (int .Values.admin.port)) }}
{{- end }}
{{- if and .Values.rbac.create (not .Values.serviceAccount.create) (not .Values.serviceAccount.name) (include "transom.talksToAPIServer" .) }}
{{- fail "serviceAccount.create is false, and serviceAccount.name names none: the account `default` would get Transom's rights, and with it every pod of the namespace that names no account; set serviceAccount.name" }}
{{- end }}
{{- if and (.Values.config | default dict).linuxGuard (eq .Values.webhook.matchConditions "evidence") }}
{{- fail "config.linuxGuard is for pods without any evidence of Windows, and webhook.matchConditions: evidence never sends those; set webhook.matchConditions to notLinux, or guard single namespaces by the label transom.dev/linux-guard" }}
{{- end }}
{{- if and .Values.webhook.caBundle (ne .Values.tls.mode "existingSecret") }}
{{- fail (printf "webhook.caBundle is for tls.mode existingSecret; with %s it is filled in by itself" .Values.tls.mode) }}
{{- end }}
{{- if and .Values.tls.existingSecret (ne .Values.tls.mode "existingSecret") }}
{{- fail (printf "tls.existingSecret is set, but tls.mode is %s; set tls.mode to existingSecret" .Values.tls.mode) }}
{{- end }}
{{- end }}
