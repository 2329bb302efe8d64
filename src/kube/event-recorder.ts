import { createHash } from "node:crypto";
import { keyOf, type Manifest } from "../api/object.ts";
import type { Event } from "../api/event.ts";
import { apiVersionOf, resources } from "../api/resources.ts";
import { withoutMiddle } from "../api/text-end.ts";
import type { Wire } from "../api/wire.ts";

import type { Clock } from "../runtime/clock.ts";
import type { Logger } from "../runtime/log.ts";
import type { Client } from "./client/client.ts";
import { isKubeError } from "./client/kube-error.ts";
import { EventBudget } from "./event-budget.ts";
import { microTime } from "./micro-time.ts";

/**
 * Dependencies of an {@link EventRecorder}; `reporter` becomes reportingController, `identity`
 * reportingInstance.
 */
interface EventRecorderOptions {
  readonly client: Pick<Client, "create">;
  readonly clock: Clock;
  readonly log: Logger;
  readonly reporter: string;
  readonly identity: string;
}

/** Limits of the API server (Kubernetes API reference, Event v1). */
const longest = { note: 1024, instance: 128, name: 253 } as const;

/** The limits of optional Events: 100,000 new keys must not cost 100,000 more writes. */
const optionalLimits = {
  object: { burst: 3, refillMs: 3_600_000, objects: 4096 },
  all: { burst: 100, refillMs: 100, objects: 1 },
} as const;

/** The limits of the hints of a namespace: one with many mistakes leaves those of others alone. */
const hintLimits = { burst: 20, refillMs: 60_000, objects: 4096 } as const;

/** Records events.k8s.io/v1 Events on a best-effort basis: a failure is logged and never thrown. */
export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #budget: EventBudget;
  readonly #optional: EventBudget;
  readonly #allOptional: EventBudget;
  readonly #hints: EventBudget;
  /** The names of the hints that exist, the oldest first. */
  readonly #recordedHints = new Set<string>();

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#budget = new EventBudget(options.clock);
    this.#optional = new EventBudget(options.clock, optionalLimits.object);
    this.#allOptional = new EventBudget(options.clock, optionalLimits.all);
    this.#hints = new EventBudget(options.clock, hintLimits);
  }

  /**
   * Creates the Event unless it was recorded before or the budget of its object (25, then 1 in 5
   * minutes) is used up. An optional Event has budgets of its own: of its object (3, then 1 an
   * hour) and of the process (100, then 10 per second), and hints that of their namespace (20, then
   * 1 a minute).
   */
  async record(event: Event<string>): Promise<void> {
    const manifest = this.#event(event);
    const { name } = manifest.metadata;
    if (this.#recordedHints.has(name) || !this.#tryTake(event)) return;
    const about = { kind: event.resource.kind, object: keyOf(event.subject), reason: event.reason };
    const { client, log } = this.#options;
    try {
      await client.create(resources.events, manifest);
      log.info({ ...about, why: event.note }, "Event recorded");
    } catch (error) {
      if (!isKubeError(error, "AlreadyExists")) {
        const cause = isKubeError(error) ? { code: error.code } : { error };
        log.warn({ ...about, ...cause }, "recording the Event failed");
        return;
      }
    }
    if (event.limit === "hints") this.#recordedHints.add(name);
    const [oldest = ""] = this.#recordedHints.size > hintLimits.objects ? this.#recordedHints : [];
    this.#recordedHints.delete(oldest);
  }

  #tryTake({ subject: { uid, namespace = "" }, limit }: Event<string>): boolean {
    switch (limit) {
      case undefined:
        return this.#budget.tryTake(uid);
      case "optional":
        return this.#optional.tryTake(uid) && this.#allOptional.tryTake("");
      case "hints":
        return this.#hints.tryTake(namespace);
    }
  }

  #event({ resource, subject, type, reason, note, deduplicationKey }: Event<string>): Manifest {
    const { clock, reporter, identity } = this.#options;
    return {
      apiVersion: apiVersionOf(resources.events),
      kind: resources.events.kind,
      metadata: {
        namespace: subject.namespace ?? "default",
        name: eventName(subject, [reason, deduplicationKey]),
      },
      eventTime: microTime(clock.now()),
      reportingController: reporter,
      reportingInstance: identity.slice(0, longest.instance),
      action: "Reconcile",
      type,
      reason,
      regarding: {
        apiVersion: apiVersionOf(resource),
        kind: resource.kind,
        ...referenceTo(subject),
      },
      note: cut(withoutMiddle(note, longest.note), longest.note),
    } satisfies Wire<"Event">;
  }
}

/**
 * Copies only these three fields: a subject may be whole metadata, and the API server rejects other
 * fields.
 */
function referenceTo({ namespace, name, uid }: Event["subject"]): Event["subject"] {
  return { ...(namespace === undefined ? {} : { namespace }), name, uid };
}

/**
 * The object's name and 128 bits of a hash of its uid and the parts; recording an Event again after
 * a crash gets AlreadyExists.
 */
function eventName({ name, uid }: Event["subject"], parts: readonly string[]): string {
  const hash = createHash("sha256")
    .update(JSON.stringify([uid, ...parts]))
    .digest("hex")
    .slice(0, 32);
  const [prefix = ""] = /^[^]*[a-z0-9]/.exec(name.slice(0, longest.name - hash.length - 1)) ?? [];
  return `${prefix}.${hash}`;
}

/** Truncates a text to `bytes` of UTF-8, at a character boundary and with an ellipsis. */
function cut(text: string, bytes: number): string {
  if (Buffer.byteLength(text) <= bytes) return text;
  const room = new Uint8Array(bytes - Buffer.byteLength("…"));
  const { read } = new TextEncoder().encodeInto(text, room);
  return `${text.slice(0, read)}…`;
}
