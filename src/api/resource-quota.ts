import { recordAt, stringAt } from "./parse.ts";

/** The quota resources that limit the objects that Latchkey writes into a namespace. */
const countedResources = [
  "secrets",
  "count/secrets",
  "count/roles.rbac.authorization.k8s.io",
  "count/rolebindings.rbac.authorization.k8s.io",
] as const;

/**
 * A ResourceQuota that limits one of {@link countedResources}; the API server enforces its status,
 * not its spec.
 */
export interface ObservedResourceQuota {
  /** `status.hard` and `status.used` of each counted resource. */
  readonly hard: ReadonlyMap<string, string>;
  readonly used: ReadonlyMap<string, string>;
}

/**
 * Parses a ResourceQuota from the API server; undefined if it limits nothing that Latchkey writes.
 */
export function parseResourceQuota(raw: unknown): ObservedResourceQuota | undefined {
  const status = recordAt(raw, "status");
  const [hard, used] = [counted(recordAt(status, "hard")), counted(recordAt(status, "used"))];
  return hard.size === 0 ? undefined : { hard, used };
}

function counted(given: unknown): ReadonlyMap<string, string> {
  return new Map(
    countedResources.flatMap((name) =>
      stringAt(given, name) === undefined ? [] : [[name, stringAt(given, name) ?? ""]],
    ),
  );
}
