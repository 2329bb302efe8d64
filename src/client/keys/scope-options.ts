import { labels } from "../../api/names.ts";
import type { ScopeLimit } from "../../api/scope.ts";
import { type ParseValue, ConfigError } from "../../runtime/config-values.ts";
import type { CommandOptions } from "../../cli/command.ts";
import type { ConfigOf } from "../../runtime/options.ts";

/** A name as the values of labels are, which may also be a whole DNS subdomain, or `*` for all. */
const nameForm = /^(?:\*|[A-Za-z0-9](?:[-\w.]{0,251}[A-Za-z0-9])?)$/;

const scopeName: ParseValue<string> = (value, option) => {
  if (nameForm.test(value)) return value;
  throw new ConfigError(option, value, "must be a name of letters, digits, -, _ and ., or *");
};

/** Two names with a slash between them. */
const pair: ParseValue<readonly [project: string, name: string]> = (value, option) => {
  const [project = "", second = "", ...others] = value.split("/");
  if (nameForm.test(project) && nameForm.test(second) && others.length === 0)
    return [project, second];
  throw new ConfigError(option, value, "must be a project and a name, such as web/dev");
};

/** The options of a scope. */
export const scopeOptions = {
  role: {
    many: true,
    value: "<name>",
    help: "role in the scope, such as serviceCLI; repeat it for several",
    parse: scopeName,
  },
  project: {
    many: true,
    value: "<name>",
    help: "project in the scope; repeat it for several",
    parse: scopeName,
  },
  space: { many: true, value: "<project/space>", help: "space in the scope", parse: pair },
  virtualCluster: {
    many: true,
    value: "<project/name>",
    help: "virtual cluster in the scope",
    parse: pair,
  },
  cluster: {
    many: true,
    value: "<name>",
    help: "connected cluster in the scope",
    completes: "clusters",
    parse: scopeName,
  },
} as const satisfies CommandOptions;

/** `spec.scope` of these flags; undefined without any, which does not narrow. */
export function scopeOf({
  role,
  project,
  space,
  virtualCluster,
  cluster,
}: ConfigOf<typeof scopeOptions>): Readonly<Record<string, unknown>> | undefined {
  const lists = Object.entries({
    roles: role.map((name) => ({ role: name })),
    projects: project.map((name) => ({ project: name })),
    spaces: space.map(([owner, name]) => ({ project: owner, space: name })),
    virtualClusters: virtualCluster.map(([owner, name]) => ({
      project: owner,
      virtualCluster: name,
    })),
    clusters: cluster.map((name) => ({ cluster: name })),
  }).filter(([, entries]) => entries.length > 0);
  return lists.length === 0 ? undefined : Object.fromEntries(lists);
}

/** What makes a namespace a space, given its labels for that, of which one is empty. */
export function spaceFix(
  namespace: string,
  given: Readonly<Record<"project" | "space", string>>,
): string {
  const missing = [
    ...(given.project === "" ? [`${labels.project}=PROJECT`] : []),
    ...(given.space === "" ? [`${labels.space}=${namespace}`] : []),
  ].map((label) => `kubectl label namespace ${namespace} ${label}`);
  return (
    `namespace "${namespace}" is no space of a project, so no scope covers it alone; ` +
    `set its labels with: ${missing.join("; ")}`
  );
}

const mostWords = 3;

/**
 * A scope in the words of its flags, in the width of a column; `unscoped` is what a key without one
 * may do.
 */
export function scopeText(scope: ScopeLimit, unscoped: string): string {
  if (scope === "none") return unscoped;
  if (scope === "unreadable") return "invalid";
  const words = [
    ...scope.roles.map(({ role }) => `role=${role}`),
    ...scope.projects.map((project) => `project=${project}`),
    ...scope.spaces.map(({ project, space }) => `space=${project}/${space}`),
    ...scope.virtualClusters.map((one) => `virtual-cluster=${one.project}/${one.virtualCluster}`),
    ...scope.clusters.map((cluster) => `cluster=${cluster}`),
    ...(scope.rules.length === 0 ? [] : [`rules=${scope.rules.length}`]),
  ];
  if (words.length === 0) return "nothing";
  const more = words.length - mostWords;
  return [...words.slice(0, mostWords), ...(more > 0 ? [`+${more}`] : [])].join(",");
}
