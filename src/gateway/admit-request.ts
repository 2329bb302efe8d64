import type { ReviewedRequest } from "../api/access-review.ts";
import type { UserInfo } from "../domain/access-key/authenticate.ts";
import { bearerOf } from "../domain/gateway/bearer.ts";
import { secretWriteRefusal, writesSecret } from "../domain/gateway/derived-credentials-policy.ts";
import { asksForImpersonation, unforwardableName } from "../domain/gateway/forwarded-headers.ts";
import { withDefaultNamespace } from "../domain/gateway/object-defaults.ts";
import { type Refusal, refusal, unauthorized } from "../domain/gateway/refusal.ts";
import { checkHead, type Framing, type RequestHead } from "../domain/gateway/request-head.ts";
import { type Method, requestInfo, requiredAccess } from "../domain/gateway/request-info.ts";
import {
  readTarget,
  type RequestTarget,
  type Routes,
  type Upstream,
} from "../domain/gateway/request-target.ts";
import type { Sharer } from "../runtime/fair-shares.ts";
import { type Authenticator, type Credential, type Decision, refusalOf } from "./credential.ts";
import type { FindUpstream, GatewayUpstream } from "./upstreams.ts";

/** What decides about requests to the gateway. */
export interface AdmitRequestDeps {
  readonly authenticator: Authenticator;
  /** The paths that are served. */
  readonly routes: Routes;
  readonly findUpstream: FindUpstream;
}

/** Called once a request has a valid credential, before the decision about it. */
export interface Entry {
  /** Records that a credential of this user was accepted, whatever becomes of the request. */
  accepted(username: string): void;
  /**
   * Returns the reason if there is no room for the request, else a signal that aborts when it is
   * over before it was admitted: then nothing waits for it any more.
   */
  enter(understood: UnderstoodRequest, credential: Credential): Refusal | AbortSignal;
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
  /** Everything that the scope of the credential has to allow. */
  readonly required: readonly ReviewedRequest[];
  readonly credential: Credential;
  readonly user: UserInfo;
  /** Whose turn it takes where requests wait. */
  readonly sharer: Sharer;
  readonly subprotocols: string | undefined;
}

/** A request whose head was understood. */
export interface UnderstoodRequest extends Pick<
  AdmittedRequest,
  "method" | "framing" | "target" | "request"
> {
  readonly kind: "understood";
}

/**
 * Decides about a request by its head alone: 400 for what could be read in two ways, then 401, 403
 * and 404, so that a client without a credential learns nothing about names.
 */
export async function admitRequest(
  head: RequestHead,
  { authenticator, routes, findUpstream }: AdmitRequestDeps,
  entry: Entry,
): Promise<AdmittedRequest | Refusal> {
  const understood = understand(head, routes);
  if (understood.kind === "refusal") return understood;
  const { token, subprotocols } = bearerOf(head.rawHeaders);
  if (token === undefined) return unauthorized;
  const credential = await authenticator.authenticate(token, head.peerAddress);
  if (credential.kind === "refusal") return credential;
  entry.accepted(credential.user.username);
  const forbidden = identityProblem(head, credential);
  if (forbidden !== undefined) return forbidden;
  const { upstream } = understood.target;
  if (upstream === undefined)
    return refusal(404, "not-found", "the gateway serves nothing at this path");
  const left = entry.enter(understood, credential);
  if (!(left instanceof AbortSignal)) return left;
  const server = findUpstream(upstream);
  const required = requiredAccess(understood.request, head.isUpgrade);
  for (const request of required) {
    const decision = await credential.authorize(request, { upstream, server }, left);
    if (decision.kind !== "no-opinion") return refusalOf(decision, credential);
  }
  if (server === undefined)
    return refusal(404, "not-found", "no cluster of this name is connected");
  if (credential.isScoped && writesSecret(understood.request)) {
    const problem = await server.secrets?.problem(left);
    if (problem !== undefined) return secretWriteRefusal(problem);
  }
  return {
    ...{ ...understood, upstream, server, required, credential, subprotocols },
    ...{ kind: "admitted", user: credential.user },
    sharer: { user: credential.user.username, key: credential.id },
  };
}

/** Decides about an admitted request once more, by what is known at this moment. */
export function authorizeAgain(
  { credential, required, upstream, server }: AdmittedRequest,
  { findUpstream }: Pick<AdmitRequestDeps, "findUpstream">,
): Decision {
  if (findUpstream(upstream) !== server)
    return { kind: "not-ready", reason: "the connection of this cluster has changed; retry" };
  for (const request of required) {
    const decision = credential.authorizeNow(request, { upstream, server });
    if (decision.kind !== "no-opinion") return decision;
  }
  return { kind: "no-opinion" };
}

function understand(head: RequestHead, routes: Routes): UnderstoodRequest | Refusal {
  const checked = checkHead(head);
  if (checked.kind === "refused")
    return refusal(checked.status, checked.status === 405 ? "method" : "malformed", checked.reason);
  const target = readTarget(withDefaultNamespace(checked.method, head.target), routes);
  if (target.kind === "malformed") return refusal(400, "malformed", target.reason);
  const request = requestInfo(checked.method, target);
  if (request.kind === "malformed") return refusal(400, "malformed", request.reason);
  return { ...checked, kind: "understood", target, request };
}

function identityProblem(
  head: RequestHead,
  { user, noun }: Pick<Credential, "user" | "noun">,
): Refusal | undefined {
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
