import { conditionTypes, reasons } from "../../src/api/conditions.ts";
import { annotations, labels } from "../../src/api/names.ts";
import { listAt, numberAt, recordAt, stringAt, stringsAt } from "../../src/api/parse.ts";
import { markdownTable } from "./markdown-table.ts";
import { fieldsOf, schemaOf, versionOf } from "../support/crd-schema.ts";

/** Who writes a label or annotation, on which object, and what it means. */
type Mark = readonly [writer: "you" | "Latchkey", on: string, meaning: string];

/** Every annotation: one without a meaning is a type error. */
const annotationMarks: Readonly<Record<keyof typeof annotations, Mark>> = {
  syncToProjects: [
    "you",
    "SharedSecret",
    "Projects whose namespaces get copies: a list of names and globs",
  ],
  syncToClusters: [
    "you",
    "SharedSecret",
    "Connected clusters that get copies, too: a list of names, or `*`",
  ],
  syncSecretName: ["you", "SharedSecret", "Name of the copies; the default is the object's own"],
  syncSecretType: ["you", "SharedSecret", "Type of the copies; the default is `Opaque`"],
  syncFormat: [
    "you",
    "SharedSecret",
    "Copies have one text: `dotenv`, `json` or `dockerconfigjson`",
  ],
  syncFormatFrom: ["you", "SharedSecret", "Data keys in that text, as `<name>=<data key>`"],
  syncFormatKey: ["you", "SharedSecret", "Data key of that text"],
  copyLabels: ["you", "SharedSecret", "Labels of the copies, as `key=value`"],
  copyAnnotations: ["you", "SharedSecret", "Annotations of the copies, as `key=value`"],
  dataFrom: ["you", "SharedSecret", "Name of the Secret beside it that has the data"],
  dataFromKeys: ["you", "SharedSecret", "Data keys to take from that Secret, and their new names"],
  refreshNow: ["you", "SharedSecret", "A new value compares every copy with the API server"],
  disableSync: ["you", "SharedSecret, copy", "`true` pauses the sync"],
  dataFor: ["you", "Secret", "SharedSecrets that may have its data: a list of at most 16 names"],
  syncKeys: ["you", "placeholder", "Data keys that it gets, and their new names"],
  sync: ["you", "Namespace", "`enabled` asks for copies of all SharedSecrets of its project"],
  syncFrom: ["you", "Namespace", "Namespaces whose SharedSecrets it accepts"],
  allowCopyKeys: ["you", "Namespace", "Label and annotation keys that copies may have"],
  projects: ["you", "Secret of a cluster", "Projects that the connected cluster lets in"],
  virtualClusterNamespace: ["you", "Secret of a cluster", "Namespace of the virtual cluster"],
  audienceCluster: ["you", "DirectClusterEndpointToken", "The only cluster that accepts the token"],
  issuer: ["you", "OwnedAccessKey", "The URL of the issuer whose tokens stand for the key"],
  claims: ["you", "OwnedAccessKey", "What a token has to say: a line `name=value` for each claim"],
  rotateSigningKey: ["you", "Secret of the signing keys", "Asks for a new signing key"],
  formerCa: [
    "Latchkey",
    "Secret of certificates",
    "The CA before it was replaced, until you take the annotation out",
  ],
  copyOf: ["Latchkey", "copy, placeholder", "Namespace and name of its SharedSecret"],
  copiedLabels: ["Latchkey", "copy", "Label keys that Latchkey set"],
  copiedAnnotations: ["Latchkey", "copy", "Annotation keys that Latchkey set"],
  filled: ["Latchkey", "placeholder", "It has data of a SharedSecret"],
  syncError: ["Latchkey", "placeholder", "Why it is not filled"],
  clusterSyncError: ["Latchkey", "copy in a connected cluster", "Why it is not current"],
  source: ["Latchkey", "Role, RoleBinding, Secret of an outbox", "Its SharedSecret"],
  rules: ["Latchkey", "Role", "Names of the access rules that it is for"],
  requester: ["Latchkey", "key, token", "Username of the requester"],
  requesterUid: ["Latchkey", "key, token", "UID of the requester"],
  requesterGroups: ["Latchkey", "key, token", "Groups of the requester"],
  requesterKeyId: ["Latchkey", "key, token", "UID of the access key that it was created with"],
  formerRequester: ["Latchkey", "key", "The requester before the key was taken over"],
  connectorData: ["Latchkey", "key", "Secret with its `connectorData`"],
  credentialEnds: ["Latchkey", "key, token", "When the token ended that it was made with"],
  createdAt: ["Latchkey", "key, token", "Begin of the lifetime, which a restore keeps"],
  expiredAt: ["Latchkey", "key, token", "When the lifetime ended, which a restore keeps"],
  clusterUid: ["Latchkey", "Namespace of an outbox", "UID of the Secret of the cluster"],
  outboxFormat: ["Latchkey", "Secret of an outbox", "Version of the form"],
  revision: ["Latchkey", "Secret of an outbox", "UID and generation of the SharedSecret"],
  revisedAt: ["Latchkey", "Secret of an outbox", "When it was written"],
  withdrawn: ["Latchkey", "Secret of an outbox", "UID of the SharedSecret that was withdrawn"],
  unheardSeconds: ["Latchkey", "Lease of an agent", "Seconds without an answer of the center"],
};

/** Every label: one without a meaning is a type error. */
const labelMarks: Readonly<Record<keyof typeof labels, Mark>> = {
  project: ["you", "Namespace", "Project of the namespace"],
  space: ["you", "Namespace", "Space of the namespace, for scopes"],
  virtualCluster: ["you", "Namespace", "Virtual cluster of the namespace, for scopes"],
  sharedSecretName: ["you", "placeholder", "Name of the SharedSecret that it asks for"],
  sharedSecretNamespace: ["you", "placeholder", "Namespace of that SharedSecret"],
  cluster: ["you", "Secret in `latchkey-clusters`", "Name of the connected cluster"],
  scopeRole: ["you", "ClusterRole", "Name of a role that scopes may name"],
  sourceUid: ["Latchkey", "copy, Role, RoleBinding", "UID of its SharedSecret"],
  outboxUid: ["Latchkey", "Secret of an outbox, copy of an agent", "UID of its SharedSecret"],
  component: ["Latchkey", "Secret, ConfigMap, Namespace", "What Latchkey uses it for"],
  requesterHash: ["Latchkey", "ClusterRole, ClusterRoleBinding", "Requester whose grant it is"],
};

const pluralOf = {
  SharedSecret: "sharedsecrets",
  OwnedAccessKey: "ownedaccesskeys",
  DirectClusterEndpointToken: "directclusterendpointtokens",
};

/** The page with every field, label, annotation, condition and reason, as the code has them. */
export async function kindsPage(): Promise<string> {
  const kinds = await Promise.all(Object.entries(pluralOf).map(kindSection));
  const marks = (writer: Mark[0]) =>
    [marked("annotation", annotations, annotationMarks), marked("label", labels, labelMarks)]
      .flat()
      .filter(([, , found]) => found[0] === writer)
      .map(([what, key, [, on, meaning]]) => [`\`${key}\``, what, on, meaning]);
  return `# Fields, labels, annotations, conditions and reasons

Go to [labels and annotations that you set](#labels-and-annotations-that-you-set),
[conditions](#conditions) or [reasons](#reasons). The pages of the kinds say how they work together:
[SharedSecret](shared-secret.md), [OwnedAccessKey](owned-access-key.md),
[DirectClusterEndpointToken](direct-cluster-endpoint-token.md), [Scope](scope.md).

${kinds.join("\n")}
## Labels and annotations that you set

${markdownTable([["key", "is", "on", "meaning"], ...marks("you")])}
## Labels and annotations that Latchkey sets

${markdownTable([["key", "is", "on", "meaning"], ...marks("Latchkey")])}
## Conditions

${markdownTable([["type", "meaning"], ...namedRows(conditionTypes)])}
## Reasons

${markdownTable([["reason", "meaning"], ...namedRows(reasons)])}`;
}

async function kindSection([kind, plural]: readonly [string, string]): Promise<string> {
  const [version, schema] = [await versionOf(plural), await schemaOf(plural)];
  const rows = fieldsOf(schema)
    .filter(
      ({ path }) => /^(?:spec|status)\./.test(path) && !path.startsWith("status.conditions[]."),
    )
    .map(({ path, schema: field }) => [
      `\`${path}\``,
      typeOf(field),
      oneLine(stringAt(field, "description") ?? ""),
    ]);
  const shown = listAt(version, "additionalPrinterColumns")
    .map((column) => stringAt(column, "name"))
    .join("  ")
    .toUpperCase();
  return `## ${kind}\n\n\`kubectl get ${plural} -o wide\` has these columns behind the name:\n\n\`\`\`text\n${shown}\n\`\`\`\n\n${markdownTable([["field", "type", "meaning"], ...rows])}`;
}

function typeOf(field: Readonly<Record<string, unknown>>): string {
  const items = recordAt(field, "items");
  const type = stringAt(field, "type") ?? "any";
  const limits = [
    [
      "most",
      numberAt(field, "maxLength") ??
        numberAt(field, "maxItems") ??
        numberAt(field, "maxProperties"),
    ],
    ["from", numberAt(field, "minimum")],
    ["to", numberAt(field, "maximum")],
  ].flatMap(([word, limit]) => (limit === undefined ? [] : [`${word} ${limit}`]));
  const named = type === "array" ? `list of ${stringAt(items, "type") ?? "any"}` : type;
  const values = stringsAt(field, "enum");
  const among = values.length > 0 ? [values.map((value) => `\`${value}\``).join(", ")] : [];
  return [named, ...among, ...limits].join(", ");
}

function marked<K extends string>(
  what: string,
  keys: Readonly<Record<K, string>>,
  marks: Readonly<Record<K, Mark>>,
): readonly (readonly [what: string, key: string, mark: Mark])[] {
  return (Object.keys(keys) as K[]).map((name) => [what, keys[name], marks[name]] as const);
}

const namedRows = (meanings: Readonly<Record<string, string>>) =>
  Object.entries(meanings).map(([name, meaning]) => [`\`${name}\``, meaning]);

const oneLine = (text: string) => text.replaceAll(/\s+/g, " ").trim();
