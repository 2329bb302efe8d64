import { isDeepStrictEqual } from "node:util";
import type { ReviewedRequest } from "../../src/api/access-review.ts";
import { withDefaultNamespace } from "../../src/domain/gateway/object-defaults.ts";
import { methods, requestInfo } from "../../src/domain/gateway/request-info.ts";
import { readTarget, upstreamTarget } from "../../src/domain/gateway/request-target.ts";
import type { RequestInfoOracle, SentRequest } from "../support/request-info-oracle.ts";

/** The result of a comparison between the gateway and kube-apiserver. */
export interface Comparison {
  /** The number of requests that the gateway rejects as malformed. */
  readonly refused: number;
  readonly compared: number;
  /** A description of each request that the two read differently. */
  readonly differences: readonly string[];
}

interface Understood {
  readonly asked: SentRequest;
  /** What is sent to kube-apiserver. */
  readonly sent: SentRequest;
  readonly request: ReviewedRequest;
}

/** What the gateway authorizes and sends; undefined if it rejects the request. */
export function understand(asked: SentRequest): Understood | undefined {
  const method = methods.find((known) => known === asked.method);
  if (method === undefined) return undefined;
  const target = readTarget(withDefaultNamespace(method, asked.target));
  if (target.kind === "malformed") return undefined;
  const request = requestInfo(method, target);
  if (request.kind === "malformed") return undefined;
  return { asked, sent: { method, target: upstreamTarget(target) }, request };
}

/** Compares what the gateway authorizes with what kube-apiserver reads in the sent request. */
export async function compare(
  requests: readonly SentRequest[],
  oracle: RequestInfoOracle,
): Promise<Comparison> {
  const understood = requests.map(understand).filter((found) => found !== undefined);
  const answers = await oracle.ask(understood.map(({ sent }) => sent));
  const differences = understood.flatMap(({ asked, request }, at) =>
    isDeepStrictEqual(request, answers[at]) ? [] : [differenceOf(asked, request, answers[at])],
  );
  const compared = understood.length;
  return { refused: requests.length - compared, compared, differences };
}

const longest = 400;

function differenceOf({ method, target }: SentRequest, ours: unknown, theirs: unknown): string {
  const rest = target.length > longest ? ` and ${target.length - longest} characters more` : "";
  return [
    `${method} ${JSON.stringify(target.slice(0, longest))}${rest}`,
    `  gateway        ${JSON.stringify(ours)}`,
    `  kube-apiserver ${JSON.stringify(theirs)}`,
  ].join("\n");
}
