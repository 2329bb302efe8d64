{{- if .Values.issuers }}
apiVersion: v1
kind: ConfigMap
metadata:
  name: latchkey-issuers
  namespace: {{ .Release.Namespace }}
  labels:
    app.kubernetes.io/name: latchkey
    {{- include "latchkey.labels" (list . dict) | nindent 4 }}
data:
  issuers.yaml: {{ .Values.issuers | toJson }}
{{- end }}
