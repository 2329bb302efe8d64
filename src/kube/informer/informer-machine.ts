import type { KubeErrorCode } from "../client/kube-error.ts";

/**
 * What an informer is doing, one request at a time:
 *
 *     listing ──listed──> watching ──ended in doubt──> doubting ──nothing is lost──> watching
 *        ^                   │                            │
 *        └── history is gone, or the store is in doubt ───┘
 *
 * A request that fails is sent again after a pause; `Gone` and `NotFound` lead to `listing` (410:
 * Kubernetes API concepts, "410 Gone responses").
 */
export type InformerPhase =
  /** The store is filled, or replaced: nothing is known yet, or history is lost. */
  | "listing"
  /** Changes are followed from the last resourceVersion. */
  | "watching"
  /**
   * The last watch was silent to its end, or ended early: a restored etcd looks like that. Asks for
   * the resourceVersion of the collection, or lists if the last list is old.
   */
  | "doubting";

/** How the request of a phase ended. */
export type InformerEvent =
  | { readonly event: "listed" }
  /** `isDoubtful`: as in the phase `doubting`. `isProgress`: as in {@link Failed}. */
  | { readonly event: "watch-ended"; readonly isDoubtful: boolean; readonly isProgress: boolean }
  /** Whether the store lacks changes, or is to be listed again for its age. */
  | { readonly event: "asked"; readonly isListDue: boolean }
  | Failed;

interface Failed {
  readonly event: "failed";
  /** Undefined for an error that is none of the API server's. */
  readonly code: KubeErrorCode | undefined;
  /** Whether events arrived before, or the watch was open for longer than {@link shortWatchMs}. */
  readonly isProgress: boolean;
  /** Retry-After of the API server, in milliseconds. */
  readonly leastMs: number;
}

/** An informer between two requests; durations and monotonic instants in milliseconds. */
export interface InformerMachine {
  readonly phase: InformerPhase;
  /** The pause before the request. */
  readonly pauseMs: number;
  /** The next pause after a failure, before jitter. */
  readonly backoffMs: number;
  /** When `Gone` last led to a list without a pause. */
  readonly forgottenAt: number;
}

/** What else a step depends on. */
export interface StepFacts {
  /** Whether only a list proves the store: the API server may have been restarted. */
  readonly needsList: boolean;
  /** Whether another informer has found, since the last step, that the API server answers again. */
  readonly isRecovered: boolean;
  /** Monotonic milliseconds. */
  readonly now: number;
  /** In [0, 1). */
  readonly random: number;
  /** Maximum pause before jitter, in milliseconds. */
  readonly longestMs: number;
}

const firstMs = 800;
/** A watch without events that ends earlier counts as a failure (client-go, Reflector). */
export const shortWatchMs = 1_000;
/** A watch that failed with `Gone` is followed by a list at once, but not more often than this. */
const forgottenMs = 5_000;

/** An informer that has sent nothing. */
export const newInformer: InformerMachine = {
  phase: "listing",
  pauseMs: 0,
  backoffMs: firstMs,
  forgottenAt: -Infinity,
};

/** The informer after the request of its phase has ended so. */
export function step(
  machine: InformerMachine,
  event: InformerEvent,
  facts: StepFacts,
): InformerMachine {
  // A restarted API server rejects some requests until its caches are filled.
  const before = facts.isRecovered ? { ...machine, backoffMs: firstMs } : machine;
  const phase = facts.needsList ? "listing" : phaseAfter(machine.phase, event);
  switch (event.event) {
    case "listed":
    case "asked":
      return { ...before, phase, pauseMs: 0 };
    case "watch-ended":
      return facts.needsList
        ? { ...before, phase, pauseMs: 0 }
        : { ...before, phase, ...pause(before, { ...event, leastMs: 0 }, facts) };
    case "failed":
      return { ...before, phase, ...pause(before, event, facts) };
  }
}

function phaseAfter(phase: InformerPhase, event: InformerEvent): InformerPhase {
  switch (event.event) {
    case "listed":
      return "watching";
    case "watch-ended":
      return event.isDoubtful ? "doubting" : "watching";
    case "asked":
      return event.isListDue ? "listing" : "watching";
    case "failed":
      if (event.code === "Gone" || event.code === "NotFound") return "listing";
      return phase;
  }
}

/** The pause: none after progress, else an exponential back-off with jitter of ±50%. */
function pause(
  { phase, backoffMs, forgottenAt }: InformerMachine,
  end: Pick<Failed, "isProgress" | "leastMs"> & Partial<Pick<Failed, "code">>,
  { now, random, longestMs }: StepFacts,
): Omit<InformerMachine, "phase"> {
  const isForgotten = end.code === "Gone" && phase !== "listing";
  const isListedAtOnce = isForgotten && now - forgottenAt >= forgottenMs;
  const least = end.isProgress || isListedAtOnce ? firstMs : backoffMs;
  if (isListedAtOnce) return { pauseMs: 0, backoffMs: least, forgottenAt: now };
  if (end.isProgress && !isForgotten) return { pauseMs: 0, backoffMs: least, forgottenAt };
  return {
    pauseMs: Math.max(Math.min(least, longestMs) * (0.5 + random), end.leastMs),
    backoffMs: Math.min(least * 2, longestMs),
    forgottenAt,
  };
}
