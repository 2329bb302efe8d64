{{/* The version of Kubernetes that the objects are for. */}}
{{- define "latchkey.kubernetesVersion" -}}
{{- .Values.kubernetesVersion | default .Capabilities.KubeVersion.Version -}}
{{- end -}}

{{/* Whether the API server has MutatingAdmissionPolicy v1 and constrained impersonation: also v1.36.1-gke.100. */}}
{{- define "latchkey.since136" -}}
{{- if semverCompare ">=1.36.0-0" (include "latchkey.kubernetesVersion" .) -}}true{{- end -}}
{{- end -}}

{{/* The reference of the image. */}}
{{- define "latchkey.image" -}}
{{- with .Values.image -}}
{{- .repository -}}
{{- if .digest -}}@{{- .digest -}}{{- else -}}:{{- .tag | default $.Chart.AppVersion -}}{{- end -}}
{{- end -}}
{{- end -}}

{{/* Labels of every object beside those that selectors use. Argument: list of the context, labels that come first. */}}
{{- define "latchkey.labels" -}}
{{- $root := index . 0 -}}
{{- $own := dict
  "helm.sh/chart" (printf "%s-%s" $root.Chart.Name $root.Chart.Version)
  "app.kubernetes.io/instance" $root.Release.Name
  "app.kubernetes.io/version" $root.Chart.AppVersion
  "app.kubernetes.io/managed-by" $root.Release.Service
  "app.kubernetes.io/part-of" "latchkey" -}}
{{- toYaml (merge (dict) (index . 1 | default dict) ($root.Values.commonLabels | default dict) $own) -}}
{{- end -}}

{{/* Options as arguments, in the order of their names. A number in values.yaml is a float here, and toJson prints it as it was written. */}}
{{- define "latchkey.options" -}}
{{- range $name, $value := . }}
- {{ printf "--%s=%s" $name (kindIs "string" $value | ternary $value (toJson $value)) | quote }}
{{- end -}}
{{- end -}}

{{/* Peers of a NetworkPolicy, from a list of address ranges. */}}
{{- define "latchkey.addresses" -}}
{{- range . }}
- ipBlock:
    cidr: {{ . | quote }}
{{- end -}}
{{- end -}}

{{/* A ClusterRoleBinding to users, groups and ServiceAccounts; nothing without any. Argument: list of name, subjects, context. */}}
{{- define "latchkey.binding" -}}
{{- $subjects := index . 1 -}}
{{- if concat $subjects.users $subjects.groups $subjects.serviceAccounts }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ index . 0 }}
  labels:
    app.kubernetes.io/name: latchkey
    {{- include "latchkey.labels" (list (index . 2) dict) | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {{ index . 0 }}
subjects:
  {{- range $subjects.users }}
  - apiGroup: rbac.authorization.k8s.io
    kind: User
    name: {{ . | quote }}
  {{- end }}
  {{- range $subjects.groups }}
  - apiGroup: rbac.authorization.k8s.io
    kind: Group
    name: {{ . | quote }}
  {{- end }}
  {{- range $subjects.serviceAccounts }}
  - kind: ServiceAccount
    name: {{ .name | quote }}
    namespace: {{ .namespace | quote }}
  {{- end }}
{{- end }}
{{- end -}}
