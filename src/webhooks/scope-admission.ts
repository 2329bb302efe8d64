import { type ReviewedResource, soleExtra } from "../api/access-review.ts";
import type { AdmissionUser, AdmissionRequest } from "../api/admission-review.ts";
import { annotations, extras } from "../api/names.ts";
import { recordAt, stringAt, stringMapAt } from "../api/parse.ts";
import { resources } from "../api/resources.ts";
import { parseScopeLimit } from "../api/scope.ts";
import { notSyncedMessage } from "../authn/authorize-request.ts";
import type { UnknownKeyRetries } from "../authn/identify-key.ts";
import { tokenProblem } from "../domain/access-key/authenticate.ts";
import { authorizeWithKey } from "../domain/access-key/key-authorization.ts";
import { keyWriteProblem } from "../domain/access-key/key-target.ts";
import { neededVerbs } from "../domain/access-key/needed-verbs.ts";
import { isSame } from "../domain/plan/merge-patch.ts";
import { scopeWarnings } from "../domain/scope/scope-warnings.ts";
import type { AdmissionContext } from "./admission-context.ts";
import { type AdmissionStep, admitted, refused } from "./admission.ts";

/**
 * Waits 100 ms for the key of a request if it is not in the cache: the process that authenticated
 * it may have observed the creation of the key earlier.
 */
export function awaitNewKey(retries: UnknownKeyRetries): AdmissionStep {
  return async (request, { accessKeys, clock }) => {
    const keyId = soleExtra(request.user, extras.keyId);
    if (keyId !== undefined && accessKeys.byId(keyId) === undefined) await retries.wait("", clock);
    return admitted(request);
  };
}

/**
 * Refuses a change that requires a verb outside the scope of the key of the request: without
 * Latchkey's authorizer, policies check such verbs only for the user.
 */
export const enforceScope: AdmissionStep = (request, context) => {
  const denied = neededVerbs(request)
    .map((needed) => scopeProblem(request.user, needed, context))
    .find((problem) => problem !== undefined);
  return denied === undefined ? admitted(request) : refused(403, denied);
};

/**
 * Why the key of the user's request does not allow another request, for one named object; undefined
 * if it does, or if there is no key.
 */
export function scopeProblem(
  user: AdmissionUser,
  request: ReviewedResource,
  { accessKeys, clock }: AdmissionContext,
): string | undefined {
  if (user.extra[extras.keyId] === undefined) return undefined;
  if (!accessKeys.isFresh()) return notSyncedMessage;
  const resolved = accessKeys.byId(soleExtra(user, extras.keyId) ?? "");
  const resourceScope = request.namespace === "" ? "Cluster" : "Namespaced";
  const verdict = authorizeWithKey(
    resolved,
    {
      request: { ...request, ...accessKeys.locationOf(request.namespace), resourceScope },
      roles: accessKeys.roles(),
    },
    clock.now(),
  );
  if (verdict.kind === "denied" || resolved === undefined)
    return verdict.kind === "denied" ? verdict.reason : undefined;
  return tokenProblem(resolved, user.extra, clock.now());
}

/**
 * Refuses a change of an access key, or its deletion, that the key of the request must not ask for.
 * Of keys that are neither that key nor made with it, the scope also has to cover `update`, as the
 * policy `latchkey-mint-guard` asks of the user.
 */
export const guardKeys: AdmissionStep = (request, context) => {
  const { accessKeys, clock } = context;
  const { user, object, oldObject } = request;
  const isKey = stringAt(oldObject, "kind") === resources.ownedAccessKeys.kind;
  if (!isKey || user.extra[extras.keyId] === undefined) return admitted(request);
  if (!accessKeys.isFresh()) return refused(503, notSyncedMessage);
  const by = accessKeys.byId(soleExtra(user, extras.keyId) ?? "");
  if (by === undefined) return refused(403, "the access key of this request was deleted");
  const metadata = recordAt(oldObject, "metadata");
  const [uid = "", name = ""] = [stringAt(metadata, "uid"), stringAt(metadata, "name")];
  const target = accessKeys.byId(uid);
  const ownUid = by.key.metadata.uid;
  const isChild = stringMapAt(metadata, "annotations")[annotations.requesterKeyId] === ownUid;
  const [before, after] = [oldObject, object].map((state) => recordAt(state, "spec")["scope"]);
  const isDelete = Object.keys(object).length === 0;
  const write = { target, uid, isChild, isDelete, scopes: [before, after] } as const;
  const problem =
    keyWriteProblem(by, write, clock.now()) ??
    (isChild || uid === ownUid ? undefined : scopeProblem(user, updateOf(name), context));
  return problem === undefined ? admitted(request) : refused(403, problem);
};

function updateOf(name: string): ReviewedResource {
  const { group, plural: resource } = resources.ownedAccessKeys;
  return {
    kind: "resource",
    verb: "update",
    group,
    resource,
    subresource: "",
    name,
    namespace: "",
  };
}

/**
 * Returns warnings about the entries of a new scope that cover nothing. Sends no requests: there
 * are no warnings before the cache is fresh and discovery is loaded.
 */
export function newScopeWarnings(
  { object, oldObject }: Pick<AdmissionRequest, "object" | "oldObject">,
  { accessKeys, discovery }: AdmissionContext,
): readonly string[] {
  const { scope } = recordAt(object, "spec");
  if (isSame(scope, recordAt(oldObject, "spec")["scope"])) return [];
  if (!accessKeys.isFresh() || discovery.known("", "namespaces") === undefined) return [];
  return scopeWarnings(parseScopeLimit(scope), {
    isDefined: (role) => accessKeys.roles().has(role),
    scopeOf: (group, resource) => discovery.known(group, resource),
  });
}
