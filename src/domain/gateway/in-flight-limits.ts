import type { ReviewedRequest } from "../../api/access-review.ts";
import { parseQuery, parameterValues } from "./query.ts";
import { type Refusal, refusal } from "./refusal.ts";

/** What a request that is forwarded is, for limits and metrics. */
export type InFlightKind = "answer" | "stream" | "upgrade";

/**
 * Numbers of requests in progress: all of them, those of a user and those with a key, which is an
 * access key or a direct token.
 */
export interface InFlightCounts {
  readonly all: number;
  readonly user: number;
  readonly key: number;
}

/** Numbers of requests in progress, and that of the user who has the most. */
export interface InFlightLoad extends InFlightCounts {
  readonly mostOfUser: number;
}

/** Requests that share a limit: those with a short answer, and those that last. */
export type InFlightGroup = "answers" | "streams";

/** How many requests may be in progress at a replica. */
export type InFlightLimits = Readonly<Record<InFlightGroup, InFlightCounts>>;

/** The limits of a replica. */
export const inFlightLimits: InFlightLimits = {
  answers: { all: 1_128, user: 512, key: 256 },
  streams: { all: 2_000, user: 512, key: 256 },
};

/** The requests that this kind shares a limit with. */
export function inFlightGroup(kind: InFlightKind): InFlightGroup {
  return kind === "answer" ? "answers" : "streams";
}

/** What decides whether there is room for another request. */
export interface LimitOptions {
  readonly group: InFlightGroup;
  readonly limits: InFlightLimits;
  /** What is presented, for the message. */
  readonly noun: "an access key" | "a direct token";
}

/**
 * Whether there is room for another request: `displace` if a request of the user who has the most
 * must end first, which a user who would then have as many cannot demand.
 */
export function roomFor(
  live: InFlightLoad,
  { group, limits, noun }: LimitOptions,
): "free" | "displace" | Refusal {
  const most = limits[group];
  const over = (["key", "user", "all"] as const).find((name) => live[name] >= most[name]);
  if (over === undefined) return "free";
  if (over === "all" && live.mostOfUser > live.user + 1) return "displace";
  return fullRefusal(over, { group, limits, noun });
}

/** The refusal of another request beside as many as a limit allows. */
export function fullRefusal(
  over: keyof InFlightCounts,
  { group, limits, noun }: LimitOptions,
): Refusal {
  // A full replica is no fault of the client; another replica may have room.
  const status = group === "answers" && over === "all" ? 503 : 429;
  return refusal(
    status,
    "limit",
    `too many ${words[group]} (at most ${limits[group][over]} ${sharers(noun)[over]}); retry`,
  );
}

/** What a request gets that ends because another user has less than its user. */
export const displaced = refusal(
  429,
  "limit",
  "too many concurrent requests at this replica, and this user has the most of them; retry",
);

const words = { answers: "concurrent requests", streams: "open streams" } as const;
const sharers = (noun: LimitOptions["noun"]) => ({
  key: `with one ${noun.replace(/^an? /, "")}`,
  user: "of one user",
  all: "at one replica",
});

/** Whether a request reaches a backend through the API server (pods, services and nodes proxy). */
export function isProxied(request: ReviewedRequest): boolean {
  return (
    request.kind === "resource" && (request.subresource === "proxy" || request.verb === "proxy")
  );
}

/**
 * Whether the answer may be open for as long as the client likes: a watch, a log that is followed,
 * or the answer of a backend.
 */
export function isStream(request: ReviewedRequest, query: string): boolean {
  if (request.kind === "path") return false;
  if (request.verb === "watch" || isProxied(request)) return true;
  return request.subresource === "log" && parameterValues(parseQuery(query), "follow").length > 0;
}
