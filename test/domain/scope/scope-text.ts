import type { ScopedRequest } from "../../../src/domain/scope/scoped-request.ts";
import { cellsOf } from "../text-table.ts";
import { pathRequest, resourceRequest } from "./requests.ts";

/** Rows `name | scope | request`. */
export function requestRows(table: string): readonly [string, unknown, ScopedRequest][] {
  return cellsOf(table).map(([name = "", scope = "", request = ""]) => [
    name,
    scopeOf(scope),
    requestOf(request),
  ]);
}

/** Rows `name | scope | scope`. */
export function scopePairRows(table: string): readonly [string, unknown, unknown][] {
  return cellsOf(table).map(([name = "", one = "", other = ""]) => [
    name,
    scopeOf(one),
    scopeOf(other),
  ]);
}

/**
 * A request: a verb, a path or `resource[/subresource][.group]`, a name, `in` its namespace, and
 * `field=value` for each other field. `pod` is `get pods p in ns`.
 */
export function requestOf(text: string): ScopedRequest {
  const words = text.replace(/^pod\b/, "get pods p in ns").split(" ");
  const changes = Object.fromEntries(
    words.filter((word) => word.includes("=")).map((word) => word.split("=")),
  );
  const [verb = "", object = "", ...rest] = words.filter((word) => !word.includes("="));
  // A typo must not become another request: most of these say what is not allowed.
  for (const field of Object.keys(changes)) known(field, locations, text);
  if (!/^(\S+ )?(in \S+ )?$|^\S+ $/.test(rest.map((word) => `${word} `).join("")))
    throw new Error(`not a request: ${text}`);
  if (object.startsWith("/")) return pathRequest(object, { verb, ...changes });
  const [resource = "", subresource = ""] = before(object, ".").split("/");
  const at = rest.indexOf("in");
  const [name = "", namespace = ""] = at === 0 ? ["", rest[1]] : [rest[0], rest[at + 1]];
  return resourceRequest({
    verb,
    resource,
    subresource,
    group: after(object, "."),
    name,
    namespace: at === -1 ? "" : namespace,
    ...changes,
  });
}

/**
 * A scope as written in a spec: entries with `+` between them, e.g. `space web/blue + rule
 * verbs=get,list resources=pods,pods/log;deployments.apps virtualClusters=namespace/name`. A
 * resource `.group` is all of a group, and `rule namespaces=` lists the empty namespace.
 */
export function scopeOf(text: string): Readonly<Record<string, unknown>> {
  if (text === "empty") return {};
  if (text.startsWith("allowServiceCli ")) return { allowServiceCli: text.endsWith(" true") };
  const scope: Record<string, unknown[]> = {};
  for (const entry of text.split(" + ")) {
    const [kind = "", ...words] = entry.split(" ");
    (scope[`${kind}s`] ??= []).push(entryOf(kind, words));
  }
  return scope;
}

function entryOf(kind: string, words: readonly string[]): Readonly<Record<string, unknown>> {
  const [named = ""] = words;
  const [project, name] = named.split("/");
  switch (kind) {
    case "rule":
      return Object.fromEntries(words.map(fieldOf));
    case "role":
      return { role: named, ...Object.fromEntries(words.slice(1).map(listOf)) };
    case "space":
    case "virtualCluster":
      return { project, [kind]: name };
    default:
      return { [known(kind, ["project", "cluster"], words.join(" "))]: named };
  }
}

/** The fields of a request that a text sets by name. */
const locations = [
  ...["target", "cluster", "project", "space", "virtualCluster", "virtualClusterNamespace"],
  "resourceScope",
];
/** The fields of a rule. */
const ruleFields = [
  ...["verbs", "resources", "resourceNames", "namespaces", "nonResourceURLs", "requestTargets"],
  ...["cluster", "virtualClusters"],
];

function known(field: string, fields: readonly string[], text: string): string {
  if (!fields.includes(field)) throw new Error(`not a field: ${field} in ${text}`);
  return field;
}

function fieldOf(word: string): readonly [string, unknown] {
  const [field, values] = listOf(word);
  switch (known(field, ruleFields, word)) {
    case "cluster":
      return [field, values[0]];
    case "resources":
      return [field, after(word, "=").split(";").map(groupOf)];
    case "virtualClusters":
      return [field, values.map(virtualClusterOf)];
    default:
      return [field, values];
  }
}

const listOf = (word: string): readonly [string, readonly string[]] => [
  before(word, "="),
  after(word, "=").split(","),
];

function groupOf(text: string): object {
  const group = after(text, ".");
  if (text.startsWith(".")) return { group };
  return {
    group,
    resources: before(text, ".")
      .split(",")
      .filter((name) => name !== ""),
  };
}

function virtualClusterOf(text: string): object {
  const [name = "", namespace = ""] = text.split("/").toReversed();
  return { ...(name === "" ? {} : { name }), ...(namespace === "" ? {} : { namespace }) };
}

function before(text: string, mark: string): string {
  return text.split(mark, 1)[0] ?? "";
}

function after(text: string, mark: string): string {
  return text.slice(before(text, mark).length + 1);
}
