import { type Refusal, refusal } from "./refusal.ts";

/** How many requests may be under way at a replica. */
export interface LiveLimits {
  /** Requests with a short answer. */
  readonly answers: number;
  /** Streams and upgrades, of everybody, of a user and of a key. */
  readonly all: number;
  readonly user: number;
  readonly key: number;
}

/** The limits of a replica. */
export const liveLimits: LiveLimits = { answers: 1_128, all: 2_000, user: 512, key: 256 };

/** The refusal of one request more; undefined if there is room. */
export function limitProblem(
  live: LiveLimits,
  { kind, limits }: { readonly kind: "answer" | "stream" | "upgrade"; readonly limits: LiveLimits },
): Refusal | undefined {
  if (kind === "answer")
    return live.answers < limits.answers
      ? undefined
      : refusal(503, "limit", "too many concurrent requests; retry");
  const over = (["key", "user", "all"] as const).find((name) => live[name] >= limits[name]);
  return over === undefined
    ? undefined
    : refusal(429, "limit", `too many open streams (${sentences[over](limits[over])}); retry`);
}

const sentences = {
  key: (most: number) => `at most ${most} with one access key`,
  user: (most: number) => `at most ${most} of one user`,
  all: (most: number) => `at most ${most} at one replica of the gateway`,
} as const;
