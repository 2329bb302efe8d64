import type { ReviewedRequest } from "../../../api/access-review.ts";
import type { ServedResource } from "../../../api/discovery.ts";
import { parseLatchkeyMetadata } from "../../../api/parse.ts";
import { resources } from "../../../api/resources.ts";
import { scopedRequest } from "../../../authn/authorize-request.ts";
import { explainKey, objectOf } from "../../../domain/access-key/explain-key.ts";
import { explainKeyRequest, explainScopes } from "../../../domain/access-key/explain-request.ts";
import { effectiveScopes } from "../../../domain/access-key/key-state.ts";
import { identityOf } from "../../../domain/access-key/key-identity.ts";
import { locationOf } from "../../../domain/scope/request-location.ts";
import type { ScopedRequest } from "../../../domain/scope/request.ts";
import type { EntryVerdict } from "../../../domain/scope/scope-entries.ts";
import { unknownRoles } from "../../../domain/scope/roles.ts";
import { requestText } from "../../../domain/scope/allows.ts";
import type { Cluster } from "../connection/cluster.ts";
import type { LiveKey } from "./live-keys.ts";
import { type Readable, readObject, readWith } from "../missing-right.ts";
import { namedResource, servedResources } from "./served-resources.ts";
import type { DecidingField, Finding } from "./why-report.ts";

/** The words of a request: a verb, and a resource or a path. */
interface AskedRequest {
  readonly verb: string;
  readonly resource: string;
  readonly name?: string | undefined;
  /** Of a namespaced resource; undefined for all namespaces. */
  readonly namespace: string | undefined;
}

type RequestCluster = Pick<Cluster, "send" | "getMetadata" | "review">;

/** Answers for a request with a key: what its scopes say, entry by entry, and then RBAC. */
export async function requestFindings(
  asked: AskedRequest,
  live: LiveKey,
  { cluster, now }: { readonly cluster: RequestCluster; readonly now: number },
): Promise<Readable<readonly Finding[]>> {
  if (!explainKey(live.resolved, now).isAccepted) return { found: [], missing: [] };
  const served = asked.resource.startsWith("/") ? [] : await servedResources(cluster);
  const reviewed = reviewedRequest(asked, served);
  const namespace = reviewed.kind === "resource" ? reviewed.namespace : "";
  const place = await namespaceLabels(namespace, cluster);
  const request = scopedBy(reviewed, served, place.found);
  const scope = scopeFinding(request, live, { now, isPlaceKnown: place.missing.length === 0 });
  const rbac = await rbacFinding(request, live, cluster);
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
  { getMetadata }: RequestCluster,
): Promise<Readable<Readonly<Record<string, string>>>> {
  if (name === "") return { found: {}, missing: [] };
  const resource = resources.namespaces;
  const { found, missing } = await readObject(resource, { name }, () =>
    getMetadata(resource, { name }),
  );
  return { found: found === undefined ? {} : parseLatchkeyMetadata(found).labels, missing };
}

/** The request as the authorizer sees it, with what was read once instead of caches. */
function scopedBy(
  reviewed: ReviewedRequest,
  served: readonly ServedResource[],
  labels: Readonly<Record<string, string>>,
): ScopedRequest {
  const scoped = scopedRequest(reviewed, {
    locationOf: () => locationOf(labels),
    discovery: {
      known: (group, plural) => scopeIn(served, group, plural),
      find: () => Promise.resolve("Unknown"),
    },
    isScoped: false,
  });
  if (scoped instanceof Promise)
    throw new TypeError("a request without a scope needs no discovery");
  return scoped;
}

/**
 * What the scopes say, as far as the user may read them: a denial may be wrong without a role or the
 * labels of the namespace, and what the scopes allow without a parent key.
 */
function scopeFinding(
  request: ScopedRequest,
  live: LiveKey,
  { now, isPlaceKnown }: { readonly now: number; readonly isPlaceKnown: boolean },
): Finding {
  const { resolved, roles } = live;
  const object = objectOf(resolved);
  const explained = explainKeyRequest(resolved, { request, roles }, now);
  const details = explainScopes(resolved, { request, roles }).flatMap((scope) =>
    scope.entries.map((entry) => ({ object: scope.object, ...entryVerdict(entry) })),
  );
  const isDenied = explained.kind === "denied";
  const hidden = isDenied ? hiddenFromDenial(live, isPlaceKnown) : hiddenFromConsent(live);
  if (hidden.length > 0) {
    const sentence = `it is not known whether the scope allows ${requestText(request)}, because you may not read ${hidden.join(" and ")}.`;
    return { object, state: "unknown", reason: "ScopeUnknown", sentence, causes: [] };
  }
  if (isDenied)
    return {
      ...{ object, state: "problem", reason: "OutsideScope", details },
      ...{ sentence: `${explained.sentence}.`, causes: explained.causes },
    };
  const isLimited = explained.entries.length > 0;
  const sentence = isLimited
    ? `the scope allows ${requestText(request)}.`
    : `the key has no scope, so it is not limited to less than its user.`;
  return { object, state: "ok", reason: "WithinScope", sentence, causes: [], details };
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

function entryVerdict({
  field,
  isAllowed,
  mismatches,
}: EntryVerdict): Omit<DecidingField, "object"> {
  if (isAllowed) return { field, reason: "EntryAllows", message: "It allows the request." };
  const parts = mismatches.map((mismatch) => {
    const name = mismatch.field.slice(field.length + 1);
    const found = mismatch.found.length === 0 ? "lists nothing" : `is ${mismatch.found.join(", ")}`;
    const wanted = mismatch.wanted === undefined ? "" : ` and the request has ${mismatch.wanted}`;
    return `${name} ${found}${wanted}`;
  });
  const message =
    parts.length === 0
      ? "An entry of this kind cannot allow the request."
      : `It does not allow the request, because ${parts.join("; ")}.`;
  return { field, reason: "EntryDenies", message };
}

/** Whether RBAC allows the request to the identity of the key, which decides after the scope. */
async function rbacFinding(
  request: ScopedRequest,
  { resolved }: LiveKey,
  { review }: RequestCluster,
): Promise<Readable<Finding>> {
  const identity = identityOf(resolved.key.spec, resolved.config.prefixes);
  if (identity.kind === "nobody") throw new TypeError("an accepted key has an identity");
  const { username, groups } = identity;
  const object = { kind: "User", name: username };
  const right = { verb: "create", resource: resources.accessReviews } as const;
  const spec = {
    user: username,
    groups: [...groups, "system:authenticated"],
    ...attributes(request),
  };
  const { found: status, missing } = await readWith(
    right,
    () => review(resources.accessReviews, spec),
    undefined,
  );
  const what = requestText(request);
  if (status === undefined) {
    const sentence = `RBAC of user "${username}" decides after the scope; an administrator can ask kubectl auth can-i with --as.`;
    return {
      found: { object, state: "unknown", reason: "RBACUnknown", sentence, causes: [] },
      missing,
    };
  }
  if (status["allowed"] === true) {
    const sentence = `RBAC allows ${what} to user "${username}".`;
    return { found: { object, state: "ok", reason: "RBACAllows", sentence, causes: [] }, missing };
  }
  const sentence = `RBAC does not allow ${what} to user "${username}", and a key has no more rights than its user.`;
  const fix = "Bind the user, or a group of the key, to a Role that allows it";
  const reason = "RBACDenies";
  const causes = [{ object, field: "RBAC", found: `no rule allows ${what}`, reason, fix }];
  return { found: { object, state: "problem", reason, sentence, causes }, missing };
}

function attributes(request: ScopedRequest): Readonly<Record<string, unknown>> {
  if (request.kind === "path")
    return { nonResourceAttributes: { verb: request.verb, path: request.path } };
  const { verb, group, resource, subresource, name, namespace } = request;
  return { resourceAttributes: { verb, group, resource, subresource, name, namespace } };
}
