import { forwardedHeaders } from "../domain/gateway/forwarded-headers.ts";
import { type Refusal, refusal } from "../domain/gateway/refusal.ts";
import type { ForwardFailure } from "../kube/forward/forwarder.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Exchange } from "../runtime/exchange.ts";
import type { Sharer } from "../runtime/fair-shares.ts";
import type { AdmittedRequest } from "./admit-request.ts";
import type { BodyShares } from "./own-body.ts";
import type { UpstreamServer } from "./upstreams.ts";

/** How a forwarded request ended: the status that the client got, and why. */
export interface ForwardResult {
  /** 0 if the client got none. */
  readonly status: number;
  readonly cause: "answered" | "client" | "cut" | "upstream" | "timeout";
}

/** Dependencies of a forwarded request. */
export interface ForwardDeps {
  readonly upstream: UpstreamServer;
  readonly clock: Pick<Clock, "now" | "monotonic" | "wakeAfter">;
  /** Bounds the bodies that are read as a whole. */
  readonly bodies: BodyShares;
  /** Called once. */
  readonly onEnd: (result: ForwardResult) => void;
}

/** Who takes its turn with an admitted request. */
export function sharerOf({
  user,
  credential,
}: Pick<AdmittedRequest, "user" | "credential">): Sharer {
  return { user: user.username, key: credential.id };
}

/** The headers of a forwarded request, with the gateway's credential. */
export function headersFor(
  { head }: Pick<Exchange, "head">,
  { user, subprotocols }: Pick<AdmittedRequest, "user" | "subprotocols">,
  {
    upstream,
    authorization,
  }: { readonly upstream: UpstreamServer; readonly authorization: string | undefined },
): readonly string[] {
  return forwardedHeaders(head, {
    user,
    subprotocols,
    authorization,
    host: upstream.forwarder.host,
  });
}

/** What a client gets when the API server gave no answer. */
export function refusalOfFailure(failure: ForwardFailure): Refusal {
  switch (failure) {
    case "busy":
      return refusal(503, "limit", "no connection to the API server became free in time; retry");
    case "timeout":
      return refusal(504, "timeout", "the API server did not answer in time");
    case "unreachable":
    case "aborted":
      return refusal(502, "upstream", "the API server could not be reached");
  }
}
