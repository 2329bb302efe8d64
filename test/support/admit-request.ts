import {
  type AdmittedRequest,
  authorizeRequest,
  type GatewayFront,
  identifyRequest,
} from "../../src/gateway/admit-request.ts";
import type { RequestHead } from "../../src/domain/gateway/request-head.ts";
import type { Refusal } from "../../src/domain/gateway/refusal.ts";

/** Decides about a request whose client stays; none is refused because there are too many. */
export async function admitRequest(
  head: RequestHead,
  front: GatewayFront,
): Promise<AdmittedRequest | Refusal> {
  const identified = await identifyRequest(head, front, () => {});
  return identified.kind === "refusal"
    ? identified
    : authorizeRequest(identified, front, new AbortController());
}
