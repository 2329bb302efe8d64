import { expect, test } from "vitest";
import { type Hole, templateOf } from "../../release/chart/template.ts";

const manifest = {
  metadata: { name: "a", namespace: "own" },
  spec: {
    replicas: 2,
    items: [
      { name: "p", value: "1" },
      { name: "q", value: "2" },
    ],
    message: "accounts of own: {{x}}",
  },
};

const holes: readonly Hole[] = [
  { path: ["spec", "replicas"], text: "{{ .Values.replicas }}" },
  { path: ["spec", "items", "q", "value"], text: "{{ .Values.q }}" },
  { path: ["spec", "items", "+"], text: "{{- toYaml .Values.items | nindent @ }}" },
  { path: ["spec", "selector"], text: "{{- toYaml .Values.s | nindent @ }}", when: ".Values.s" },
  { path: ["spec", "none", "+"], text: "{{- toYaml .Values.n | nindent @ }}", when: ".Values.n" },
  { path: ["metadata", "+"], text: "labels:\n  a: b", when: "true" },
];

test("a template is the YAML with expressions in its holes, and with what stands for other texts", () => {
  expect(templateOf(manifest, holes, { own: ".Release.Namespace" })).toBe(`\
metadata:
  name: a
  namespace: {{ .Release.Namespace | quote }}
{{- if true }}
  labels:
    a: b
{{- end }}
spec:
  replicas: {{ .Values.replicas }}
  items:
    - name: p
      value: '1'
    - name: q
      value: {{ .Values.q }}
{{- toYaml .Values.items | nindent 4 }}
  message: 'accounts of {{ .Release.Namespace }}: {{ "{{" }}x}}'
{{- if .Values.s }}
  selector: {{- toYaml .Values.s | nindent 4 }}
{{- end }}
{{- if .Values.n }}
  none: {{- toYaml .Values.n | nindent 4 }}
{{- end }}
`);
});

test("a hole that the object does not have is refused", () => {
  const elsewhere = [{ path: ["spec", "items", "r", "value"], text: "{{ .Values.x }}" }];
  expect(() => templateOf({ kind: "A", ...manifest }, elsewhere, {})).toThrow(
    "spec.items.r.value is not in A",
  );
});

test("a hole for which there is no line of its own is refused", () => {
  const inText = [{ path: ["a\nb"], text: "{{ .Values.x }}" }];
  expect(() => templateOf({}, inText, {})).toThrow("is not a whole line");
});
