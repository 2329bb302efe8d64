import type { ReviewedRequest } from "../../api/access-review.ts";
import type { ServedResource } from "../../api/discovery.ts";
import { parseConditions, recordAt, parseLatchkeyMetadata } from "../../api/parse.ts";
import type { ReportItem } from "../../api/report.ts";
import { resources } from "../../api/resources.ts";
import {
  explainKey,
  explainReportedKey,
  explainUnknownRoles,
} from "../../domain/access-key/explain-key.ts";
import { explainRequest } from "../../domain/access-key/explain-request.ts";
import { identityOf } from "../../domain/access-key/key-identity.ts";
import { effectiveScopes } from "../../domain/access-key/key-state.ts";
import { isObserved, notObserved, readyOf } from "../../domain/object-state.ts";
import { requestText } from "../../domain/scope/allows.ts";
import { locatedRequest } from "../../domain/scope/authorization-only.ts";
import { unknownRoles } from "../../domain/scope/scope-roles.ts";
import {
  locationOf,
  managementLocation,
  type ScopedRequest,
} from "../../domain/scope/scoped-request.ts";
import type { Cluster } from "../connection/cluster.ts";
import { type Readable, readObject, readWith } from "../missing-right.ts";
import type { LiveKey } from "./live-keys.ts";
import { plainItem } from "../report.ts";
import { namedResource, servedResources } from "./served-resources.ts";

/**
 * Answers for a key: whether it authenticates, and whether its scope names roles that exist. What
 * the user may not read, and options that only the controller knows, come from its conditions.
 */
export function keyItem(raw: unknown, live: LiveKey, now: number): ReportItem {
  const own = explainKey(live.resolved, now);
  if (own.state === "problem") return own;
  const problem =
    reportedRefusal(raw, live, now) ?? rolesProblem(live, now) ?? reportedProblem(raw, live, now);
  if (problem !== undefined) return problem;
  const isUnknown = readyOf(raw) === undefined && live.missing.length > 0;
  return isUnknown ? { object: own.object, ...notObserved } : own;
}

/** The condition Active, if it is of the current generation and says that the key is refused. */
function reportedRefusal(raw: unknown, { resolved }: LiveKey, now: number): ReportItem | undefined {
  const active = parseConditions(recordAt(raw, "status")).find(({ type }) => type === "Active");
  return isObserved(raw) && active?.status === "False"
    ? explainReportedKey(resolved, active, now)
    : undefined;
}

function rolesProblem(
  { resolved, roles, areRolesKnown }: LiveKey,
  now: number,
): ReportItem | undefined {
  if (!areRolesKnown) return undefined;
  const missing = unknownRoles(resolved.key.spec.scope, (role) => roles.has(role));
  return explainUnknownRoles(resolved, missing, now);
}

/** The condition Ready, for what no object explains, such as a write that fails. */
function reportedProblem(raw: unknown, { resolved }: LiveKey, now: number): ReportItem | undefined {
  const ready = readyOf(raw);
  return ready === undefined || ready.status === "True"
    ? undefined
    : explainReportedKey(resolved, ready, now);
}

/** The words of a request: a verb, and a resource or a path. */
interface AskedRequest {
  readonly verb: string;
  readonly resource: string;
  readonly name?: string | undefined;
  /** Of a namespaced resource; undefined for all namespaces. */
  readonly namespace: string | undefined;
}

/** Answers for a request with a key: what its scopes say, entry by entry, and then RBAC. */
export async function requestItems(
  asked: AskedRequest,
  live: LiveKey,
  { cluster, now }: { readonly cluster: Cluster; readonly now: number },
): Promise<Readable<readonly ReportItem[]>> {
  if (explainKey(live.resolved, now).state === "problem") return { found: [], missing: [] };
  const served = asked.resource.startsWith("/") ? [] : await servedResources(cluster);
  const reviewed = reviewedRequest(asked, served);
  const namespace = reviewed.kind === "resource" ? reviewed.namespace : "";
  const place = await namespaceLabels(namespace, cluster);
  const request = scopedBy(reviewed, served, place.found);
  const scope = scopeItem(request, live, { now, isPlaceKnown: place.missing.length === 0 });
  const rbac = await rbacItem(request, live, cluster);
  return { found: [scope, rbac.found], missing: [...place.missing, ...rbac.missing] };
}

function reviewedRequest(
  { verb, resource, name = "", namespace = "" }: AskedRequest,
  served: readonly ServedResource[],
): ReviewedRequest {
  if (resource.startsWith("/")) return { kind: "path", verb, path: resource };
  const found = namedResource(resource, served);
  const scope = scopeIn(served, found.group, found.resource);
  return {
    kind: "resource",
    verb,
    ...found,
    name,
    namespace: scope === "Cluster" ? "" : namespace,
  };
}

function scopeIn(
  served: readonly ServedResource[],
  group: string,
  plural: string,
): ServedResource["scope"] | undefined {
  return served.find((one) => one.group === group && one.plural === plural)?.scope;
}

async function namespaceLabels(
  name: string,
  { getMetadata }: Cluster,
): Promise<Readable<Readonly<Record<string, string>>>> {
  if (name === "") return { found: {}, missing: [] };
  const resource = resources.namespaces;
  const { found, missing } = await readObject(resource, { name }, getMetadata);
  return { found: found === undefined ? {} : parseLatchkeyMetadata(found).labels, missing };
}

/** The request as the authorizer sees it, with what was read once instead of caches. */
function scopedBy(
  reviewed: ReviewedRequest,
  served: readonly ServedResource[],
  labels: Readonly<Record<string, string>>,
): ScopedRequest {
  const known =
    reviewed.kind === "path" ? undefined : scopeIn(served, reviewed.group, reviewed.resource);
  return locatedRequest(reviewed, locationOf(managementLocation, labels), known);
}

/**
 * What the scopes say, as far as the user may read them: a denial may be wrong without a role or
 * the labels of the namespace, and what the scopes allow without a parent key.
 */
function scopeItem(
  request: ScopedRequest,
  live: LiveKey,
  { now, isPlaceKnown }: { readonly now: number; readonly isPlaceKnown: boolean },
): ReportItem {
  const { resolved, roles } = live;
  const item = explainRequest(resolved, { request, roles }, now);
  const hidden =
    item.state === "problem" ? hiddenFromDenial(live, isPlaceKnown) : hiddenFromConsent(live);
  if (hidden.length === 0) return item;
  return plainItem(
    item.object,
    ["unknown", "ScopeUnknown"],
    `it is not known whether the scope allows ${requestText(request)}, ` +
      `because you may not read ${hidden.join(" and ")}.`,
  );
}

function hiddenFromDenial(
  { resolved, roles, areRolesKnown }: LiveKey,
  isPlaceKnown: boolean,
): readonly string[] {
  const namesRole = effectiveScopes(resolved).some(
    (scope) => unknownRoles(scope, (role) => roles.has(role)).length > 0,
  );
  return [
    ...(areRolesKnown || !namesRole ? [] : ["the ClusterRoles of the roles that it names"]),
    ...(isPlaceKnown ? [] : ["the namespace"]),
  ];
}

function hiddenFromConsent({ isParentHidden }: LiveKey): readonly string[] {
  return isParentHidden ? ["the access key that it was created with, whose scope counts, too"] : [];
}

/** Whether RBAC allows the request to the identity of the key, which decides after the scope. */
async function rbacItem(
  request: ScopedRequest,
  { resolved }: LiveKey,
  { review }: Cluster,
): Promise<Readable<ReportItem>> {
  const identity = identityOf(resolved.key.spec, resolved.config.prefixes);
  if (identity.kind === "invalid") throw new TypeError("an accepted key has an identity");
  const { username, groups } = identity;
  const spec = {
    user: username,
    groups: [...groups, "system:authenticated"],
    ...attributes(request),
  };
  const { found: status, missing } = await readWith(
    { verb: "create", resource: resources.accessReviews },
    () => review(resources.accessReviews, spec),
    undefined,
  );
  return { found: rbacAnswer(requestText(request), username, status), missing };
}

function rbacAnswer(
  what: string,
  username: string,
  status: Readonly<Record<string, unknown>> | undefined,
): ReportItem {
  const object = { kind: "User", name: username };
  if (status === undefined)
    return plainItem(
      object,
      ["unknown", "RBACUnknown"],
      `RBAC of user "${username}" decides after the scope; ` +
        "an administrator can ask kubectl auth can-i with --as.",
    );
  if (status["allowed"] === true)
    return plainItem(object, ["ok", "RBACAllows"], `RBAC allows ${what} to user "${username}".`);
  const reason = "RBACDenies";
  const message =
    `RBAC does not allow ${what} to user "${username}", ` +
    "and a key has no more rights than its user.";
  const fix = "Bind the user, or a group of the key, to a Role that allows it.";
  const value = `no rule allows ${what}`;
  const causes = [{ object, field: "RBAC", value, reason, message: fix }];
  return { object, state: "problem", reason, message, causes };
}

function attributes(request: ScopedRequest): Readonly<Record<string, unknown>> {
  if (request.kind === "path")
    return { nonResourceAttributes: { verb: request.verb, path: request.path } };
  const { verb, group, resource, subresource, name, namespace } = request;
  return { resourceAttributes: { verb, group, resource, subresource, name, namespace } };
}
