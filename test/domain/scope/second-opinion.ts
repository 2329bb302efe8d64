import {
  isRecord,
  isTrueAt,
  listAt,
  recordAt,
  stringAt,
  stringsAt,
} from "../../../src/api/parse.ts";
import type { ScopedRequest } from "../../../src/domain/scope/scoped-request.ts";
import { roles } from "./verdict-of.ts";

/*
 * The semantics of docs/scope.md, implemented independently from that page and in another way: a
 * request becomes a few lines of text, a scope becomes regular expressions over them. Shares only
 * names with the engine.
 */

const escape = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\/]/g, "\\$&");
const any = ".*";
const name = (pattern: string | undefined): string =>
  pattern === "*" ? "[^|]+" : pattern === undefined || pattern === "" ? "(?!)" : escape(pattern);
const oneOf = (patterns: readonly string[]): string =>
  patterns.length === 0 ? "(?!)" : `(?:${patterns.join("|")})`;
const orAny = (patterns: readonly string[]): string =>
  patterns.length === 0 ? "[^|]*" : oneOf(patterns);

const placeOf = ({
  target,
  cluster = "",
  project = "",
  space = "",
  virtualCluster = "",
  virtualClusterNamespace = "",
}: ScopedRequest): string =>
  [target, cluster, project, space, virtualCluster, virtualClusterNamespace].join("|");

const actionOf = (request: ScopedRequest): string => {
  if (request.kind === "path")
    return `path|${request.verb}|${/(?:^|\/)\.\.?(?:\/|$)/.test(request.path) ? "" : request.path}`;
  const resource =
    request.subresource === ""
      ? `${request.resource}$`
      : `${request.resource}/${request.subresource}$`;
  return `resource|${request.verb}|${request.group}|${resource}|${request.name}|${request.namespace}|${request.resourceScope}`;
};

const lineOf = (request: ScopedRequest): string => `${placeOf(request)}||${actionOf(request)}`;

/** What `*` in a question stands for is in no list of names, and `*` in a pattern is no name. */
const literal = (text: string): string => (text.includes("*") ? "(?!)" : escape(text));

const resourcePattern = (pattern: string): string => {
  const [resource = "", subresource] = pattern.split("/");
  if (pattern === "*/*") return "(?!)";
  if (pattern === "*") return "[^|]+";
  if (subresource === undefined) return `${escape(resource)}\\$`;
  return `${resource === "*" ? "[^|/]+" : escape(resource)}\\/${subresource === "*" ? "[^|$]+" : escape(subresource)}\\$`;
};

const pathPattern = (pattern: string): string =>
  pattern === "*"
    ? "\\/[^|]*"
    : pattern.endsWith("/*")
      ? `${escape(pattern.slice(0, -1))}[^|]*`
      : literal(pattern);

function linesOfRule(rule: unknown): readonly string[] {
  const strings = (field: string) => stringsAt(rule, field);
  const targets = orAny(strings("requestTargets").map(escape));
  const cluster = stringAt(rule, "cluster") ?? "";
  const virtualClusters = listAt(rule, "virtualClusters").map((entry) => {
    const [own = "", home = ""] = [stringAt(entry, "name"), stringAt(entry, "namespace")];
    return `${own === "" ? "[^|]*" : escape(own)}\\|${home === "" ? "[^|]*" : escape(home)}`;
  });
  const places = [
    `(?=${targets}\\|)`,
    ...(cluster === "" ? [] : [`(?=Cluster\\|${escape(cluster)}\\|)`]),
    ...(virtualClusters.length === 0
      ? []
      : [`(?=ProjectVirtualCluster\\|[^|]*\\|[^|]*\\|[^|]*\\|${oneOf(virtualClusters)}\\|\\|)`]),
  ].join("");
  const verbs = orAny(strings("verbs").map(literal));
  const groups = listAt(rule, "resources").map(
    (entry) =>
      `${escape(stringAt(entry, "group") ?? "")}\\|${orAny(stringsAt(entry, "resources").map(resourcePattern))}`,
  );
  const [urls, names, namespaces] = [
    strings("nonResourceURLs"),
    strings("resourceNames"),
    strings("namespaces"),
  ];
  const aboutResources = groups.length + names.length + namespaces.length > 0;
  const resource = `resource\\|${verbs}\\|${groups.length === 0 ? "[^|]*\\|[^|]*" : oneOf(groups)}\\|${orAny(names.map(escape))}\\|${namespaces.length === 0 ? any : oneOf(namespaces.map((listed) => (listed === "" ? "[^|]*\\|Cluster" : `${escape(listed)}\\|.*`)))}`;
  const path = `path\\|${verbs}\\|${urls.length === 0 ? "[^|]*" : oneOf(urls.map(pathPattern))}`;
  const namesAlone = names.length > 0 && groups.length === 0;
  return [
    ...((urls.length > 0 && !aboutResources) || namesAlone
      ? []
      : [`${places}${any}\\|\\|${resource}`]),
    ...(urls.length === 0 && aboutResources ? [] : [`${places}${any}\\|\\|${path}`]),
  ];
}

function linesOfPlaces(scope: unknown): readonly string[] {
  const entries = (field: string, line: (entry: unknown) => string) =>
    listAt(scope, field).map((entry) => `${line(entry)}${any}`);
  return [
    ...entries("projects", (entry) => `[^|]*\\|[^|]*\\|${name(stringAt(entry, "project"))}\\|`),
    ...entries(
      "spaces",
      (entry) =>
        `[^|]*\\|[^|]*\\|${name(stringAt(entry, "project"))}\\|${name(stringAt(entry, "space"))}\\|`,
    ),
    ...entries(
      "virtualClusters",
      (entry) =>
        `[^|]*\\|[^|]*\\|${name(stringAt(entry, "project"))}\\|[^|]*\\|${name(stringAt(entry, "virtualCluster"))}\\|`,
    ),
    ...entries(
      "clusters",
      (entry) => `(?!Management)[^|]*\\|${name(stringAt(entry, "cluster"))}\\|`,
    ),
  ];
}

const client = [
  {
    apiGroups: ["management.service"],
    resources: ["sharedsecrets", "sharedsecrets/status"],
    verbs: ["get", "list", "watch"],
  },
  { apiGroups: [""], resources: ["namespaces"], verbs: ["get", "list", "watch"] },
];

function linesOfRole(entry: unknown): readonly string[] {
  const role = stringAt(entry, "role") ?? "";
  const bundle: readonly unknown[] = role === "serviceCLI" ? client : (roles.get(role) ?? []);
  const narrowed = (field: string) => orAny(stringsAt(entry, field).map(name));
  const where = "(?=Management\\||[^|]*\\|[^|]*\\|[^|])";
  const place = `${where}[^|]*\\|[^|]*\\|${narrowed("projects")}\\|[^|]*\\|${narrowed("virtualClusters")}\\|[^|]*\\|\\|`;
  const wild = (patterns: readonly string[], one: (pattern: string) => string) =>
    patterns.includes("*") ? "[^|]*" : oneOf(patterns.map(one));
  return bundle.flatMap((rule) => {
    const listed = stringsAt(rule, "resources");
    const unlessSecrets = listed.includes("secrets") ? "" : "(?![^|]*\\|\\|secrets\\$)";
    const verbs = wild(stringsAt(rule, "verbs"), escape);
    const resources = wild(stringsAt(rule, "resources"), (pattern) =>
      pattern.startsWith("*/") ? resourcePattern(pattern) : `${escape(pattern)}\\$`,
    );
    return [
      `${place}resource\\|${unlessSecrets}${verbs}\\|${wild(stringsAt(rule, "apiGroups"), escape)}\\|${resources}\\|${orAny(stringsAt(rule, "resourceNames").map(escape))}\\|.*`,
      `${place}path\\|${verbs}\\|${oneOf(stringsAt(rule, "nonResourceURLs").map(pathPattern))}`,
    ];
  });
}

/** A small vocabulary has few lines: each becomes a regular expression once. */
const compiled = new Map<string, RegExp>();

function isFit(lines: readonly string[], request: ScopedRequest): boolean {
  const text = lineOf(request);
  return lines.some((line) => {
    const pattern = compiled.get(line) ?? new RegExp(`^${line}$`);
    if (compiled.size < 50_000) compiled.set(line, pattern);
    return pattern.test(text);
  });
}

const always = [
  `${any}\\|\\|path\\|get\\|(?:\\/api(?:\\/[^|]*)?|\\/apis(?:\\/[^|]*)?|\\/openapi(?:\\/[^|]*)?|\\/healthz|\\/livez|\\/readyz|\\/version\\/?)`,
  `${any}\\|\\|resource\\|create\\|authentication\\.k8s\\.io\\|selfsubjectreviews\\$\\|.*`,
  `${any}\\|\\|resource\\|create\\|authorization\\.k8s\\.io\\|selfsubject(?:access|rules)reviews\\$\\|.*`,
];

const reading = "(?!get\\||list\\||watch\\|)[^|]*";
const escapes = [
  `${any}\\|\\|resource\\|impersonate[^|]*\\|${any}`,
  `${any}\\|\\|resource\\|(?!create\\|)[^|]*\\|management\\.service\\|(?:ownedaccesskeys|directclusterendpointtokens)(?:\\/[^|]*)?\\$\\|${any}`,
  `(?:Cluster|ProjectVirtualCluster)\\|${any}\\|\\|resource\\|create\\|management\\.service\\|(?:ownedaccesskeys|directclusterendpointtokens)(?:\\/[^|]*)?\\$\\|${any}`,
  `${any}\\|\\|resource\\|[^|]*\\|\\|(?:serviceaccounts\\/token|nodes\\/proxy|secrets\\/[^|]*)\\$\\|${any}`,
  `${any}\\|\\|resource\\|${reading}\\|\\|namespaces(?:\\/[^|]*)?\\$\\|${any}`,
  `${any}\\|\\|resource\\|[^|]*\\|certificates\\.k8s\\.io\\|signers(?:\\/[^|]*)?\\$\\|${any}`,
  `${any}\\|\\|resource\\|${reading}\\|(?:certificates|rbac\\.authorization|admissionregistration|apiregistration|apiextensions)\\.k8s\\.io\\|${any}`,
];

/** Questions about several requests, some of which need a rule with their names. */
const several = [
  `${any}\\|\\|resource\\|[^|]*\\|\\*\\|${any}`,
  `${any}\\|\\|resource\\|[^|]*\\|[^|]*\\|\\*(?:\\/[^|]*)?\\$\\|${any}`,
  `${any}\\|\\|resource\\|[^|]*\\|\\|(?:serviceaccounts|nodes|secrets)\\/\\*\\$\\|${any}`,
  `${any}\\|\\|resource\\|\\*\\|\\|(?:users|groups|serviceaccounts)(?:\\/[^|]*)?\\$\\|${any}`,
  `${any}\\|\\|resource\\|\\*\\|authentication\\.k8s\\.io\\|${any}`,
  `${any}\\|\\|resource\\|(?!list\\||watch\\||create\\||deletecollection\\|)[^|]*\\|\\|namespaces(?:\\/[^|]*)?\\$\\|\\|${any}`,
  `${any}\\|\\|resource\\|(?!list\\||watch\\||deletecollection\\|)[^|]*\\|(?!\\|namespaces(?:\\/[^|]*)?\\$)[^|]*\\|[^|]*\\|[^|]*\\|\\|Namespaced`,
];

/**
 * The rules, reduced to the resources that they name without wildcards, and to the verbs that they
 * list where verbs must be listed.
 */
function plainRules(scope: unknown, request: ScopedRequest): readonly unknown[] {
  return listAt(scope, "rules").flatMap((rule) => {
    const resources = listAt(rule, "resources").map((entry) => ({
      ...recordAt({ entry }, "entry"),
      resources: stringsAt(entry, "resources").filter((pattern) => !pattern.includes("*")),
    }));
    const plain = resources.filter(({ resources: left }) => left.length > 0);
    const lacksVerb =
      request.verb.startsWith("impersonate") && stringsAt(rule, "verbs").length === 0;
    return plain.length === 0 || lacksVerb || !isRecord(rule)
      ? []
      : [{ ...rule, resources: plain }];
  });
}

function entriesOf(scope: unknown): readonly unknown[] {
  return [
    ...listAt(scope, "roles"),
    ...(isTrueAt(scope, "allowServiceCli") ? [{ role: "serviceCLI" }] : []),
  ];
}

/** Whether a valid scope, as written in a spec, allows a request. */
export function secondOpinion(scope: unknown, request: ScopedRequest): boolean {
  if (scope === undefined || isFit(always, request)) return true;
  if (request.kind === "resource") {
    const plain = plainRules(scope, request);
    const { group, resource, namespace, resourceScope } = request;
    if (resourceScope === "Unknown" || isFit(several, request)) return false;
    const isElsewhere = (names: typeof request.latchkeyNamespaces): boolean =>
      namespace !== "" && (names === "unknown" || names?.has(namespace) === true);
    const isGuarded =
      /^(?:kube-system|latchkey-(?:clusters|system|cluster-.*))$/.test(namespace) ||
      isElsewhere(request.latchkeyNamespaces);
    if (request.subresource === "*" && (isGuarded || isFit(escapes, request))) return false;
    if (isGuarded)
      return isFit(
        plain
          .filter((rule) => stringsAt(rule, "namespaces").includes(namespace))
          .flatMap(linesOfRule),
        request,
      );
    if (isFit(escapes, request)) return isFit(plain.flatMap(linesOfRule), request);
    if (`${group}/${resource}` === "/secrets")
      return (
        namespace !== "" &&
        isFit(
          [
            ...plain.flatMap(linesOfRule),
            ...linesOfPlaces(scope),
            ...entriesOf(scope).flatMap(linesOfRole),
          ],
          request,
        )
      );
  }
  return isFit(
    [
      ...linesOfPlaces(scope),
      ...entriesOf(scope).flatMap(linesOfRole),
      ...listAt(scope, "rules").flatMap(linesOfRule),
    ],
    request,
  );
}
