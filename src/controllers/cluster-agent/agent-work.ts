import {
  agentProblem,
  type AgentState,
  agentState,
  agentWrites,
  type AgentFacts,
} from "../../domain/outbox/agent-state.ts";
import type { TargetWrites } from "../../domain/sync/target-writes.ts";
import { type Clock, sleep } from "../../runtime/clock.ts";
import type { Logger } from "../../runtime/log.ts";
import type { Metrics } from "../../runtime/metrics.ts";

/** What decides what an agent does, and what does it. */
interface AgentWorkDeps {
  readonly clock: Clock;
  readonly log: Pick<Logger, "info" | "warn">;
  readonly metrics: Metrics;
  /** What is known of both clusters now. */
  readonly facts: () => AgentFacts;
  /** Reconciles until the signal aborts. */
  readonly reconcile: (signal: AbortSignal) => Promise<void>;
}

const lookMs = 1_000;
/** A central cluster that answers is heard at least every 40 s. */
const silentAfterMs = 60_000;
const states = ["working", "waiting", "policies-missing", "disconnected", "duplicate"] as const;

/**
 * Starts and ends the reconciles of an agent with its state, so that each state begins with all
 * targets.
 */
export class AgentWork {
  readonly #deps: AgentWorkDeps;
  #state: AgentState;
  #isSilent = false;

  constructor(deps: AgentWorkDeps) {
    this.#deps = deps;
    this.#state = agentState(deps.facts());
    const { metrics } = deps;
    metrics.onScrape("cluster agent", () => {
      const { silentMs } = deps.facts();
      metrics
        .gauge("latchkey_cluster_agent_heard_age_seconds", {})
        .set(Math.floor(silentMs / 1000));
      for (const state of states)
        metrics
          .gauge("latchkey_cluster_agent_state", { state })
          .set(state === this.#state.kind ? 1 : 0);
    });
  }

  get state(): AgentState {
    return this.#state;
  }

  /** What may be written at targets now; the reconciles run only while something may. */
  writes(): TargetWrites {
    return agentWrites(this.#state) ?? { kind: "removals", why: "" };
  }

  /** What the agent reports of itself. */
  problem(): ReturnType<typeof agentProblem> {
    return agentProblem(this.#state);
  }

  /** Why the process cannot work, one sentence each. */
  problems(): readonly string[] {
    const { state } = this;
    return state.kind === "waiting" || state.kind === "duplicate" ? [state.why] : [];
  }

  /** What keeps the copies from being current, one sentence each. */
  warnings(): readonly string[] {
    const { state } = this;
    const { silentMs } = this.#deps.facts();
    const stopped =
      state.kind === "policies-missing"
        ? [`nothing is created or replaced: ${state.why}`]
        : state.kind === "disconnected"
          ? [`copies are deleted: ${state.why}`]
          : [];
    return silentMs < silentAfterMs
      ? stopped
      : [
          ...stopped,
          `the central cluster was not heard for ${Math.floor(silentMs / 1000)} s; ` +
            "check the connection and the credential in --central-kubeconfig",
        ];
  }

  /** Observes the state until the signal aborts; every replica does. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#look();
      await sleep(lookMs, { clock: this.#deps.clock, signal });
    }
  }

  /** Reconciles as the state demands, until the signal aborts. */
  async lead(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const began = this.#look();
      const stop = new AbortController();
      const both = AbortSignal.any([signal, stop.signal]);
      const work =
        agentWrites(began) === undefined ? Promise.resolve() : this.#deps.reconcile(both);
      const changed = this.#untilOther(began, both);
      // Reconciles only end early by a bug, which ends the process.
      await Promise.race([changed, work.then(() => changed)]);
      stop.abort();
      await work;
    }
  }

  async #untilOther(began: AgentState, signal: AbortSignal): Promise<void> {
    while (!signal.aborted && this.#look().kind === began.kind)
      await sleep(lookMs, { clock: this.#deps.clock, signal });
  }

  #look(): AgentState {
    const { facts, log } = this.#deps;
    const known = facts();
    const [before, after] = [this.#state, agentState(known)];
    this.#state = after;
    if (after.kind !== before.kind) {
      if (after.kind === "working") log.info({}, "the agent works");
      else {
        const { reason = after.kind } = agentProblem(after) ?? {};
        log.warn({ reason, why: after.why }, "the agent does not work as usual");
      }
    }
    const isSilent = known.silentMs >= silentAfterMs;
    if (isSilent !== this.#isSilent) {
      if (isSilent) log.warn({}, "the central cluster is not heard; copies stay as they are");
      else log.info({}, "the central cluster is heard again");
    }
    this.#isSilent = isSilent;
    return after;
  }
}
