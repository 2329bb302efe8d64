import { type Refusal, refusal } from "./refusal.ts";

/** What a request that is forwarded is, for limits and metrics. */
export type LiveKind = "answer" | "stream" | "upgrade";

/**
 * Numbers of requests under way: all of them, those of a user and those with a key, which is an
 * access key or a direct token.
 */
export interface LiveCounts {
  readonly all: number;
  readonly user: number;
  readonly key: number;
}

/** Requests that share a limit: those with a short answer, and those that last. */
export type LiveGroup = "answers" | "streams";

/** How many requests may be under way at a replica. */
export type LiveLimits = Readonly<Record<LiveGroup, LiveCounts>>;

/** The limits of a replica. */
export const liveLimits: LiveLimits = {
  answers: { all: 1_128, user: 512, key: 256 },
  streams: { all: 2_000, user: 512, key: 256 },
};

/** The requests that this kind shares a limit with. */
export function liveGroup(kind: LiveKind): LiveGroup {
  return kind === "answer" ? "answers" : "streams";
}

/** What decides whether there is room for another request. */
export interface LimitTerms {
  readonly group: LiveGroup;
  readonly limits: LiveLimits;
  /** What is presented, for the message. */
  readonly noun: "an access key" | "a direct token";
}

/** The refusal of another request beside these of its group; undefined if there is room. */
export function limitProblem(
  live: LiveCounts,
  { group, limits, noun }: LimitTerms,
): Refusal | undefined {
  const most = limits[group];
  const over = (["key", "user", "all"] as const).find((name) => live[name] >= most[name]);
  if (over === undefined) return undefined;
  // A full replica is no fault of the client; another replica may have room.
  const status = group === "answers" && over === "all" ? 503 : 429;
  return refusal(
    status,
    "limit",
    `too many ${words[group]} (at most ${most[over]} ${sharers(noun)[over]}); retry`,
  );
}

const words = { answers: "concurrent requests", streams: "open streams" } as const;
const sharers = (noun: LimitTerms["noun"]) => ({
  key: `with one ${noun.replace(/^an? /, "")}`,
  user: "of one user",
  all: "at one replica",
});
