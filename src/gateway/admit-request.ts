import type { ReviewedRequest } from "../api/access-review.ts";
import type { UserInfo } from "../domain/access-key/authenticate.ts";
import { bearerOf } from "../domain/gateway/bearer.ts";
import { secretWriteRefusal, writesSecret } from "../domain/gateway/derived-credentials-policy.ts";
import { asksForImpersonation, unforwardableName } from "../domain/gateway/forwarded-headers.ts";
import { mayEndKey } from "../domain/gateway/key-end.ts";
import { withDefaultNamespace } from "../domain/gateway/object-defaults.ts";
import { type Refusal, refusal, unauthorized } from "../domain/gateway/refusal.ts";
import { checkHead, type Framing, type RequestHead } from "../domain/gateway/request-head.ts";
import { type Method, requestInfo, requiredAccess } from "../domain/gateway/request-info.ts";
import {
  type MalformedTarget,
  readTarget,
  type RequestTarget,
  type Routes,
  unservedText,
  type Upstream,
} from "../domain/gateway/request-target.ts";
import type { Leaving } from "../runtime/clock.ts";
import type { Sharer } from "../runtime/fair-shares.ts";
import { type Authenticator, type Credential, type Decision, refusalOf } from "./credential.ts";
import type { FindUpstream, GatewayUpstream } from "./upstreams.ts";

/** What differs between the fronts: who may ask, at which paths, and for which API server. */
export interface GatewayFront {
  readonly authenticator: Authenticator;
  /** The paths that are served. */
  readonly routes: Routes;
  readonly findUpstream: FindUpstream;
}

/** A request with a valid credential, before the decision about it. */
export interface IdentifiedRequest {
  readonly kind: "identified" | "admitted";
  readonly method: Method;
  readonly framing: Framing;
  readonly target: RequestTarget;
  readonly upstream: Upstream;
  readonly request: ReviewedRequest;
  /** Everything that the scope of the credential has to allow. */
  readonly required: readonly ReviewedRequest[];
  readonly credential: Credential;
  /** Whether its body may end its own key: then the body is read before the decision. */
  readonly mayEndKey: boolean;
  readonly user: UserInfo;
  /** Whose turn it takes where requests wait, and whose limits it counts for. */
  readonly sharer: Sharer;
  readonly subprotocols: string | undefined;
}

/** A request that may be forwarded. */
export interface AdmittedRequest extends IdentifiedRequest {
  readonly kind: "admitted";
  /** The API server of the upstream. */
  readonly server: GatewayUpstream;
}

/**
 * Finds out by its head alone who sends a request, and what it asks for: 400 for a form that could
 * be read in two ways, then 401. Only with a valid credential, the target is understood, with 400,
 * 403 and 404: no other client learns about names, or makes the gateway read them. `accepted` is
 * called with the user whose share a valid credential counts for, whatever becomes of the request.
 */
export async function identifyRequest(
  head: RequestHead,
  { authenticator, routes }: GatewayFront,
  accepted: (sharedAs: string) => void,
): Promise<IdentifiedRequest | Refusal> {
  const checked = checkHead(head);
  if (checked.kind === "refused")
    return refusal(checked.status, checked.status === 405 ? "method" : "malformed", checked.reason);
  const { token, subprotocols } = bearerOf(head.rawHeaders);
  if (token === undefined) return unauthorized;
  const credential = await authenticator.authenticate(token, head.peerAddress);
  if (credential.kind === "refusal") return credential;
  const { user, id, sharedAs } = credential;
  accepted(sharedAs);
  const understood = understand(checked.method, head.target, routes);
  if (understood.kind === "malformed") return refusal(400, "malformed", understood.reason);
  const forbidden = identityProblem(head, credential);
  if (forbidden !== undefined) return forbidden;
  const { request, target } = understood;
  const { upstream } = target;
  if (upstream === undefined) return refusal(404, "not-found", unservedText(target.path, routes));
  const asked = { request, upstream, framing: checked.framing, query: target.query };
  return {
    kind: "identified",
    method: checked.method,
    framing: checked.framing,
    target,
    upstream,
    request,
    credential,
    mayEndKey: credential.ownKey !== undefined && mayEndKey(asked, credential.ownKey),
    user,
    subprotocols,
    required: requiredAccess(request, head.isUpgrade),
    sharer: { user: sharedAs, key: id },
  };
}

/** Decides about a request; rejects with the reason of `left` once nobody waits for it. */
export async function authorizeRequest(
  identified: IdentifiedRequest,
  { findUpstream }: GatewayFront,
  left: Leaving,
): Promise<AdmittedRequest | Refusal> {
  const server = findUpstream(identified.upstream);
  const refused = identified.mayEndKey
    ? undefined
    : await accessRefusal({ ...identified, server }, left);
  if (refused !== undefined) return refused;
  if (server === undefined)
    return refusal(404, "not-found", "no cluster of this name is connected");
  return { ...identified, kind: "admitted", server };
}

/** A request, or what a review asks about, and what decides about it. */
interface AskedAccess extends Pick<
  IdentifiedRequest,
  "credential" | "request" | "required" | "upstream"
> {
  readonly server: GatewayUpstream | undefined;
}

/** Why a request is not forwarded; rejects with the reason of `left` once nobody waits for it. */
export async function accessRefusal(
  { credential, request, required, upstream, server }: AskedAccess,
  left: Leaving,
): Promise<Refusal | undefined> {
  for (const access of required) {
    const decision = await credential.authorize(access, { upstream, server }, left);
    if (decision.kind !== "no-opinion") return refusalOf(decision, credential);
  }
  if (!credential.isScoped || !writesSecret(request)) return undefined;
  const problem = await server?.secrets?.problem(left);
  return problem && secretWriteRefusal(problem);
}

/** Decides about an admitted request once more, by what is known at this moment. */
export function authorizeAgain(
  { credential, required, upstream, server, mayEndKey: isDecidedLater }: AdmittedRequest,
  { findUpstream }: GatewayFront,
): Decision {
  if (findUpstream(upstream) !== server)
    return { kind: "not-ready", reason: "the connection of this cluster has changed; retry" };
  if (isDecidedLater) return { kind: "no-opinion" };
  for (const request of required) {
    const decision = credential.authorizeNow(request, { upstream, server });
    if (decision.kind !== "no-opinion") return decision;
  }
  return { kind: "no-opinion" };
}

/** A target that was understood. */
interface Understood {
  readonly kind: "understood";
  readonly target: RequestTarget;
  readonly request: ReviewedRequest;
}

function understand(method: Method, text: string, routes: Routes): Understood | MalformedTarget {
  const target = readTarget(withDefaultNamespace(method, text), routes);
  if (target.kind === "malformed") return target;
  const request = requestInfo(method, target);
  return request.kind === "malformed" ? request : { kind: "understood", target, request };
}

function identityProblem(head: RequestHead, { user, noun }: Credential): Refusal | undefined {
  if (asksForImpersonation(head.rawHeaders))
    return refusal(
      403,
      "impersonation",
      `forbidden: impersonation headers are not supported with ${noun}, ` +
        "which acts as one user; remove --as and --as-group",
    );
  const name = unforwardableName(user);
  return name === undefined
    ? undefined
    : refusal(
        403,
        "identity",
        `forbidden: the name ${JSON.stringify(name)} cannot be sent in a header; ` +
          "user and groups must not be empty, begin or end with a blank, " +
          "or contain control characters",
      );
}
