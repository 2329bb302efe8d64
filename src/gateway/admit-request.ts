import type { ReviewedRequest } from "../api/access-review.ts";
import {
  authorizeKey,
  authorizeNow,
  type AuthorizeKeyDeps,
  type KeyDecision,
  notSyncedMessage,
} from "../authn/authorize-key.ts";
import { identifyKey, type IdentifyKeyDeps } from "../authn/identify-key.ts";
import { authenticate, type UserInfo } from "../domain/access-key/authentication.ts";
import { identityOf } from "../domain/access-key/key-identity.ts";
import type { ResolvedKey } from "../domain/access-key/key-state.ts";
import { bearerOf } from "../domain/gateway/bearer.ts";
import { asksForImpersonation, unforwardableName } from "../domain/gateway/forwarded-headers.ts";
import { type Refusal, refusal, unauthorized } from "../domain/gateway/refusal.ts";
import { withDefaultNamespace } from "../domain/gateway/own-object.ts";
import { checkHead, type Framing, type RequestHead } from "../domain/gateway/request-head.ts";
import { type Method, requestInfo } from "../domain/gateway/request-info.ts";
import { readTarget, type RequestTarget, type Upstream } from "../domain/gateway/request-target.ts";
import { spaceProblem } from "../domain/gateway/space-limit.ts";
import { requiredAccess } from "../domain/gateway/required-access.ts";

import { authorizeDeps, findUpstream, type GatewayUpstream, type Upstreams } from "./upstreams.ts";

/** What decides about requests to the gateway. */
export interface AdmitRequestDeps extends IdentifyKeyDeps, Omit<AuthorizeKeyDeps, "discovery"> {
  readonly accessKeys: IdentifyKeyDeps["accessKeys"] & AuthorizeKeyDeps["accessKeys"];
  readonly clock: IdentifyKeyDeps["clock"] & AuthorizeKeyDeps["clock"];
  readonly upstreams: Upstreams;
}

/** A request that may be forwarded. */
export interface AdmittedRequest {
  readonly kind: "admitted";
  readonly method: Method;
  readonly framing: Framing;
  readonly target: RequestTarget;
  readonly upstream: Upstream;
  /** The API server of the upstream. */
  readonly server: GatewayUpstream;
  readonly request: ReviewedRequest;
  /** Everything that the key's scope has to allow. */
  readonly required: readonly ReviewedRequest[];
  readonly user: UserInfo;
  readonly resolved: ResolvedKey;
  readonly subprotocols: string | undefined;
}

interface UnderstoodRequest extends Pick<
  AdmittedRequest,
  "method" | "framing" | "target" | "request"
> {
  readonly kind: "understood";
}

/**
 * Decides about a request by its head alone: 400 for what could be read in two ways, then 401, 403
 * and 404, so that a client without a key learns nothing about names.
 */
export async function admitRequest(
  head: RequestHead,
  deps: AdmitRequestDeps,
): Promise<AdmittedRequest | Refusal> {
  const understood = understand(head);
  if (understood.kind === "refusal") return understood;
  const { token, subprotocols } = bearerOf(head.rawHeaders);
  if (token === undefined) return unauthorized;
  const identification = await identifyKey(token, deps);
  if (identification.kind === "not-ready") return notReady(notSyncedMessage);
  // The time of the answer must not tell a key that was valid from one that never was.
  if (identification.kind === "refused") await deps.secondLooks.wait(deps.clock);
  if (identification.kind !== "authenticated") return unauthorized;
  const { user, resolved } = identification;
  const forbidden = identityProblem(head, user);
  if (forbidden !== undefined) return forbidden;
  const { upstream } = understood.target;
  if (upstream === undefined)
    return refusal(404, "not-found", "the gateway serves nothing at this path");
  const server = findUpstream(deps.upstreams, upstream);
  const required = requiredAccess(understood.request, head.isUpgrade);
  for (const request of required) {
    const decision = await authorizeUpstream(resolved.key.metadata.uid, request, {
      ...{ deps, upstream, server },
    });
    if (decision.kind !== "no-opinion") return refusalOf(decision, deps.clock.now());
  }
  if (server === undefined)
    return refusal(404, "not-found", "no cluster of this name is connected");
  return {
    ...{ ...understood, upstream, server, required, user, resolved, subprotocols },
    kind: "admitted",
  };
}

/** Authorizes a request to an upstream; below a space, only its namespaces are there. */
async function authorizeUpstream(
  keyId: string,
  request: ReviewedRequest,
  { deps, upstream, server }: UpstreamTerms,
): Promise<KeyDecision> {
  const scoped = authorizeDeps(deps, upstream, server);
  const decision = await authorizeKey(keyId, request, scoped);
  return decision.kind === "no-opinion"
    ? withinSpace(decision, request, { deps, upstream })
    : decision;
}

/** Decides about an admitted request once more, by what is known at this moment. */
export function authorizeAgain(admitted: AdmittedRequest, deps: AdmitRequestDeps): KeyDecision {
  const { resolved, required, upstream, server } = admitted;
  if (findUpstream(deps.upstreams, upstream) !== server)
    return { kind: "not-ready", reason: "the connection of this cluster has changed; retry" };
  if (!isSameCredential(admitted, deps))
    return { kind: "denied", reason: "the key was replaced, or acts as another user" };
  const scoped = authorizeDeps(deps, upstream, server);
  for (const request of required) {
    const decision = authorizeNow(resolved.key.metadata.uid, request, scoped);
    const limited =
      decision.kind === "no-opinion"
        ? withinSpace(decision, request, { deps, upstream })
        : decision;
    if (limited.kind !== "no-opinion") return limited;
  }
  return { kind: "no-opinion" };
}

/** Whether the object has the key that was presented, and acts as the user that was sent. */
function isSameCredential(
  { resolved, user }: AdmittedRequest,
  { accessKeys }: AdmitRequestDeps,
): boolean {
  const now = accessKeys.byId(resolved.key.metadata.uid);
  if (now === resolved || now === undefined) return true;
  if (now.key.keyDigest !== resolved.key.keyDigest) return false;
  const identity = identityOf(now.key.spec, now.config.prefixes);
  return (
    identity.kind !== "nobody" &&
    identity.username === user.username &&
    identity.groups.length === user.groups.length &&
    identity.groups.every((group, at) => group === user.groups[at])
  );
}

interface UpstreamTerms {
  readonly deps: AdmitRequestDeps;
  readonly upstream: Upstream;
  readonly server: GatewayUpstream | undefined;
}

function withinSpace(
  decision: KeyDecision,
  request: ReviewedRequest,
  { deps, upstream }: Omit<UpstreamTerms, "server">,
): KeyDecision {
  if (upstream.kind !== "space") return decision;
  const problem = spaceProblem(request, upstream, (namespace) =>
    deps.accessKeys.locationOf(namespace),
  );
  return problem === undefined ? decision : { ...decision, kind: "denied", reason: problem };
}

/** A decision that is not to forward, as a response: 401 if the key is not valid at `now`. */
export function refusalOf(decision: KeyDecision, now: number): Refusal {
  switch (decision.kind) {
    case "not-ready":
      return notReady(decision.reason);
    case "denied":
      if (!isValid(decision.resolved, now)) return unauthorized;
      return refusal(403, "scope", `forbidden: ${decision.reason}`);
    case "no-opinion":
      return refusal(500, "upstream", "internal error");
  }
}

function isValid(resolved: ResolvedKey | undefined, now: number): boolean {
  return resolved !== undefined && authenticate(resolved, now).kind === "authenticated";
}

function understand(head: RequestHead): UnderstoodRequest | Refusal {
  const checked = checkHead(head);
  if (checked.kind === "refused")
    return refusal(checked.status, checked.status === 405 ? "method" : "malformed", checked.reason);
  const target = readTarget(withDefaultNamespace(checked.method, head.target));
  if (target.kind === "malformed") return refusal(400, "malformed", target.reason);
  const request = requestInfo(checked.method, target);
  if (request.kind === "malformed") return refusal(400, "malformed", request.reason);
  return { ...checked, kind: "understood", target, request };
}

function identityProblem(head: RequestHead, user: UserInfo): Refusal | undefined {
  if (asksForImpersonation(head.rawHeaders))
    return refusal(
      403,
      "impersonation",
      "forbidden: impersonation headers are not supported with an access key, which acts as one user; remove --as and --as-group",
    );
  const name = unforwardableName(user);
  return name === undefined
    ? undefined
    : refusal(
        403,
        "identity",
        `forbidden: the key acts as ${JSON.stringify(name)}, which cannot be sent in a header; user and groups must not be empty, begin or end with a blank, or contain control characters`,
      );
}

function notReady(reason: string): Refusal {
  return refusal(503, "not-ready", reason);
}
