import { requesterPolicies } from "../../src/api/names.ts";
import { recordAt, stringAt } from "../../src/api/parse.ts";
import { registry } from "../registry.ts";
import { type Chart, isOf } from "./chart.ts";
import { moreLabels } from "./labels.ts";
import type { Process } from "./process-values.ts";
import type { Hole, Manifest, Path } from "./template.ts";
import type { Schema, Value } from "./value.ts";

const text: Schema = { type: "string" };
const inPod: Path = ["spec", "template", "spec"];

/** A value that is true or false, false by default. */
export function switchOf(name: string, help: string, initial = false): Value {
  return { name, initial, schema: { type: "boolean" }, help };
}

/** The user and the group of the image, which OpenShift does not allow. */
const imageUser = 65_532;

/** Values of every chart: the image, the user, labels, the version of Kubernetes, what is kept. */
export function commonValues(processes: readonly Process[]): readonly Value[] {
  const ofEach = (...holes: readonly Hole[]) =>
    Object.fromEntries(processes.map(({ name }) => [`Deployment ${name}`, holes]));
  return [
    {
      name: "image.repository",
      initial: `${registry}/latchkey`,
      schema: { ...text, pattern: "^[A-Za-z0-9[][A-Za-z0-9._:/[\\]-]*$" },
      help: "Image without tag and digest",
      holes: ofEach({
        path: [...inPod, "containers", 0, "image"],
        text: '{{ include "latchkey.image" . | quote }}',
      }),
    },
    {
      name: "image.tag",
      initial: "",
      schema: { ...text, pattern: "^([A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?$" },
      help: "Tag of the image; if empty, the version of the chart",
    },
    {
      name: "image.digest",
      initial: "",
      schema: { ...text, pattern: "^(sha256:[0-9a-f]{64})?$" },
      help: "Digest of the image, `sha256:` and 64 hexadecimal digits, in place of the tag",
    },
    {
      name: "image.pullPolicy",
      initial: "",
      schema: { enum: ["", "Always", "IfNotPresent", "Never"] },
      help: "When nodes pull the image; if empty, what Kubernetes decides by the tag",
      holes: ofEach({
        path: [...inPod, "containers", 0, "imagePullPolicy"],
        text: "{{ VALUE }}",
        when: "VALUE",
      }),
    },
    {
      name: "imagePullSecrets",
      initial: [],
      schema: { type: "array", items: { type: "object" } },
      help: "Secrets with which nodes pull the image, such as `[{name: registry}]`",
      holes: ofEach({
        path: [...inPod, "imagePullSecrets"],
        text: "{{- toYaml VALUE | nindent @ }}",
        when: "VALUE",
      }),
    },
    {
      name: "platformUser",
      initial: false,
      schema: { type: "boolean" },
      help: "Leave user and group of the pods to the platform, as `restricted-v2` of OpenShift demands; the image runs as any user",
      holes: ofEach(
        ...["runAsUser", "runAsGroup"].map((field) => ({
          path: [...inPod, "securityContext", field],
          text: String(imageUser),
          when: "not VALUE",
        })),
      ),
    },
    {
      name: "commonLabels",
      initial: {},
      schema: moreLabels,
      help: "Labels of all objects and pods, also in place of `app.kubernetes.io/part-of` and other recommended labels; selectors never have them",
    },
    {
      name: "kubernetesVersion",
      initial: "",
      schema: { ...text, pattern: "^(v?1\\.[0-9]+[0-9A-Za-z.+-]*)?$" },
      help: "Version of Kubernetes, such as 1.35, if it is not the one that Helm or Argo CD finds; it decides between the objects for 1.36 and newer, and those for older versions",
    },
    switchOf(
      "policies.keep",
      "Keep the policies at `helm uninstall`; without them, keys and tokens that exist never work again after the next install (`UnknownRequester`)",
      true,
    ),
    switchOf("networkPolicy.enabled", "Limit who can connect to the pods", true),
    {
      name: "enabled",
      initial: true,
      schema: { type: "boolean", const: true },
      help: "The condition of this chart as a dependency of another one: Helm leaves it out where that says `false`; true in any other place",
    },
  ];
}

/** The value with the addresses of `who`, which may connect to the port of a NetworkPolicy. */
export function addressesOf(name: string, who: string, policy: string): Value {
  return {
    name: `networkPolicy.${name}`,
    initial: ["0.0.0.0/0", "::/0"],
    schema: { type: "array", minItems: 1, items: { ...text, pattern: "^[0-9A-Fa-f.:]+/[0-9]+$" } },
    help: `Address ranges of ${who}`,
    holes: {
      [`NetworkPolicy ${policy}`]: [
        {
          path: ["spec", "ingress", 0, "from"],
          text: '{{- include "latchkey.addresses" VALUE | trim | nindent @ }}',
        },
      ],
    },
  };
}

/** The ClusterRoles that values bind to subjects, by ClusterRoleBindings of the same names. */
export const boundRoles = {
  requesters: "latchkey-requester",
  projectSharers: "latchkey-project-sharer",
} as const;

/** The template of these bindings. */
export const bindings = Object.entries(boundRoles)
  .map(([value, role]) => `{{- include "latchkey.binding" (list "${role}" .Values.${value} .) }}\n`)
  .join("");

/** Values of CRDs, of the roles to bind, and of cert-manager: in the central cluster. */
export const managementValues: readonly Value[] = [
  switchOf("crds.enabled", "Install the CustomResourceDefinitions", true),
  switchOf(
    "crds.keep",
    "Keep the CustomResourceDefinitions at `helm uninstall`; without them, Kubernetes deletes all objects of these kinds",
    true,
  ),
  ...subjectValues("requesters", "may create keys and tokens for themselves"),
  ...subjectValues("projectSharers", "may share SharedSecrets with every project"),
  {
    name: "issuers",
    initial: "",
    schema: { ...text, maxLength: 262_144 },
    help: "Issuers whose tokens stand for access keys, as the text of an AuthenticationConfiguration of kube-apiserver; if empty, the ConfigMap `latchkey-issuers` is yours",
  },
  switchOf(
    "webhook.certManager.enabled",
    "cert-manager issues the certificates, and the webhook has no permission to write webhook configurations; set `webhook.admissionPath`",
  ),
  {
    name: "webhook.admissionPath",
    initial: "",
    schema: { ...text, pattern: "^([A-Za-z0-9_-]{32,128})?$" },
    help: "With cert-manager: the secret first segment of admission paths, 32 to 128 of `A-Za-z0-9_-`, such as from `openssl rand -hex 20`",
  },
];

/** What the schema requires of a value if a switch is on, as `then` of JSON Schema. */
export function requiredIf(enabled: readonly string[], then: Schema): Schema {
  const isOn = enabled.reduceRight<Schema>((schema, field) => at(field, schema), { const: true });
  return Object.fromEntries([
    ["if", isOn],
    ["then", then],
  ]);
}

/** With cert-manager, the segment of admission paths is required. */
export const managementRequirements: readonly Schema[] = [
  requiredIf(
    ["webhook", "certManager", "enabled"],
    at("webhook", at("admissionPath", { minLength: 32 })),
  ),
];

/** A process that accepts direct tokens needs the name of its cluster, and their issuer. */
export const connectedRequirements: readonly Schema[] = ["directEndpoint", "directAuthorizer"].map(
  (key) =>
    requiredIf([key, "enabled"], at(key, at("options", { required: ["cluster-name", "issuer"] }))),
);

/** The conditions of objects that values leave out, or keep at `helm uninstall`. */
export function rulesOf(processes: readonly Process[]): Pick<Chart, "conditionOf" | "keptIf"> {
  const keyOf = (manifest: Manifest): string | undefined => {
    const name = stringAt(recordAt(manifest, "metadata"), "name");
    return processes.find((process) => process.name === name)?.key;
  };
  return {
    conditionOf: (manifest) => {
      if (isOf(manifest, "CustomResourceDefinition")) return ".Values.crds.enabled";
      if (isOf(manifest, "NetworkPolicy")) return ".Values.networkPolicy.enabled";
      if (isOf(manifest, "PodDisruptionBudget"))
        return `.Values.${keyOf(manifest)}.podDisruptionBudget.enabled`;
      return undefined;
    },
    keptIf,
  };
}

/**
 * CRDs, and all policies: a requester counts only if they are older than the key. Also what holds
 * data that Latchkey's processes or administrators write.
 */
function keptIf(manifest: Manifest): string | undefined {
  const name = stringAt(recordAt(manifest, "metadata"), "name") ?? "";
  if (isOf(manifest, "CustomResourceDefinition")) return ".Values.crds.keep";
  if (/AdmissionPolicy(?:Binding)?$/.test(stringAt(manifest, "kind") ?? ""))
    return ".Values.policies.keep";
  if (isOf(manifest, "MutatingWebhookConfiguration") && name === requesterPolicies.annotations)
    return ".Values.policies.keep";
  if (name === "latchkey-dashboard") return undefined;
  return isOf(manifest, "Namespace", "Secret", "ConfigMap") ? "true" : undefined;
}

function subjectValues(name: keyof typeof boundRoles, purpose: string): readonly Value[] {
  const may = `${purpose} (ClusterRole \`${boundRoles[name]}\`)`;
  const names: Schema = { type: "array", items: { ...text, minLength: 1 } };
  const account: Schema = {
    type: "object",
    additionalProperties: false,
    required: ["namespace", "name"],
    properties: { namespace: text, name: text },
  };
  return [
    { name: `${name}.users`, initial: [], schema: names, help: `Users who ${may}` },
    { name: `${name}.groups`, initial: [], schema: names, help: `Groups whose members ${may}` },
    {
      name: `${name}.serviceAccounts`,
      initial: [],
      schema: { type: "array", items: account },
      help: `ServiceAccounts that ${may}, each with \`namespace\` and \`name\``,
    },
  ];
}

/** A schema of objects with this field. */
export function at(field: string, schema: Schema): Schema {
  return { properties: { [field]: schema }, required: [field] };
}
