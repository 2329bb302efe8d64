import type { ReviewedRequest } from "../api/access-review.ts";
import type { SecretText } from "../api/secret-text.ts";
import type { NotReady } from "../authn/authorize-request.ts";
import type { UserInfo } from "../domain/access-key/authenticate.ts";
import type { KeyVerdict } from "../domain/access-key/key-authorization.ts";
import type { LimitOptions } from "../domain/gateway/in-flight-limits.ts";
import type { KeyEnd } from "../domain/gateway/key-end.ts";
import { internalError, type Refusal, refusal, unauthorized } from "../domain/gateway/refusal.ts";
import type { Leaving } from "../runtime/clock.ts";
import type { Destination } from "./upstreams.ts";

/** The decision about a request: RBAC decides about what is not denied. */
export type Decision = KeyVerdict | NotReady;

/** A valid credential that a client has presented. */
export interface Credential {
  readonly kind: "credential";
  /**
   * The uid of its object: of the access key, or of the direct token (`jti`); limits count by it.
   */
  readonly id: string;
  readonly user: UserInfo;
  /** The user whose shares and limits its requests count for. */
  readonly sharedAs: string;
  /** Whether a scope limits it. */
  readonly isScoped: boolean;
  /** The key that it is; absent for a direct token. */
  readonly ownKey?: OwnKey;
  /** Its name in messages. */
  readonly noun: LimitOptions["noun"];
  /**
   * Authorizes a request; a resource that discovery does not know waits for one refresh. Rejects
   * with the reason of `left` if the client leaves meanwhile.
   */
  authorize(request: ReviewedRequest, destination: Destination, left?: Leaving): Promise<Decision>;
  /** The same by what is known at this moment. */
  authorizeNow(request: ReviewedRequest, destination: Destination): Decision;
  /** Whether it is still accepted, as the same user. */
  isValid(): boolean;
  /** The end of its validity in milliseconds since the epoch, by what is known now. */
  endsAt(): number;
}

/** The object of a key that was presented. */
interface OwnKey {
  readonly name: string;
  readonly uid: string;
  /** Ends the key with the right of the gateway; resolves with the object as it is then. */
  end(by: KeyEnd): Promise<unknown>;
}

/** Finds out who presents a credential. */
export interface Authenticator {
  /**
   * The credential, or one and the same 401 for all that are not accepted. The client's IP address
   * decides which of too many unknown credentials waits no longer.
   */
  authenticate(presented: SecretText, peerAddress: string): Promise<Credential | Refusal>;
}

/** A decision that is not to forward, as a response: 401 if the credential is not valid now. */
export function refusalOf(decision: Decision, credential: Pick<Credential, "isValid">): Refusal {
  switch (decision.kind) {
    case "not-ready":
      return notReady(decision.reason);
    case "denied":
      return credential.isValid()
        ? refusal(403, "scope", `forbidden: ${decision.reason}`)
        : unauthorized;
    case "no-opinion":
      return internalError;
  }
}

/** The response while what decides is not known. */
export function notReady(reason: string): Refusal {
  return refusal(503, "not-ready", reason);
}
