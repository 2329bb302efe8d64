import { createHash } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import type { Instance } from "./instance.ts";
import { leaseTimes } from "./lease-times.ts";
import { type OpenWatch, subjectOf } from "../support/open-watch.ts";
import type { NoAnswer, ProxyAnswer } from "../support/fault-proxy.ts";
import type { Call, Run, ActiveFault } from "./run.ts";

/**
 * How many more or fewer writes of one object a fault may cause than the undisturbed runs.
 * `statuses` are more status writes: a status tells of progress by the clock, and fewer may come,
 * down to one, where a fault brings changes together.
 */
export interface Allowance {
  readonly creates: number;
  readonly updates: number;
  readonly deletes: number;
  readonly statuses: number;
}

/**
 * When a fault is injected: at the k-th write of a run (`of` counts only some), or before one of the
 * scenario's changes; both from 1.
 */
export type Moment =
  | { readonly at: "call"; readonly number: number; readonly of?: RegExp }
  | { readonly at: "change"; readonly number: number };

/** A kind of failure. */
export interface Fault {
  readonly name: string;
  readonly moments: readonly Moment["at"][];
  readonly allowance: Allowance;
  /** What is injected when the moment is a write. */
  readonly call?: (call: Call, run: Run) => Promise<ProxyAnswer | NoAnswer>;
  /** What is injected beside a write, or before a change; what it answers goes on from then on. */
  readonly begin?: (instance: Instance, run: Run) => ActiveFault | Promise<ActiveFault>;
  /** Lists of an earlier time are kept for it. */
  readonly needsLists?: boolean;
  /** An Event that is refused is not told again: the API server may have no room for it. */
  readonly losesEvents?: boolean;
}

/** What all faults may cause unless one says otherwise. */
const usual: Allowance = { creates: 0, updates: 0, deletes: 0, statuses: 3 };

/**
 * A watch brings what came after an old list, one of copies perhaps before one of SharedSecrets:
 * then a copy is written back to what the old list said, and on again. The API server's own lists
 * are never old (they are asked for without a resourceVersion).
 */
const backAndForth: Allowance = { ...usual, updates: 2 };

const atCalls: Fault["moments"] = ["call"];
const anywhere: Fault["moments"] = ["call", "change"];

function refused(status: number, reason: string, retryAfter?: number): ProxyAnswer {
  const text = JSON.stringify({
    kind: "Status",
    apiVersion: "v1",
    status: "Failure",
    message: "a fault of the test",
    reason,
    code: status,
  });
  return { status, text, ...(retryAfter === undefined ? {} : { retryAfter }) };
}

/** The API server answers a write with a refusal instead of doing it. */
function refusal(status: number, reason: string, retryAfter?: number): Fault {
  return {
    name: `answer-${status}`,
    moments: atCalls,
    allowance: usual,
    call: async () => refused(status, reason, retryAfter),
  };
}

/** Everybody's requests fail, and their watches break, for so many milliseconds of the clock. */
function outage(name: string, ms: number): Fault {
  return {
    name,
    moments: anywhere,
    allowance: usual,
    losesEvents: true,
    begin(_, run) {
      const end = run.now() + ms;
      for (const watch of run.watches) watch.cut();
      return { steering: { refuses: () => run.now() < end } };
    },
  };
}

/** All faults. */
export const faults: readonly Fault[] = [
  {
    name: "crash-before",
    moments: atCalls,
    allowance: usual,
    async call({ instance }, run) {
      await run.restart(instance);
      return "drop";
    },
  },
  {
    name: "crash-after",
    moments: atCalls,
    allowance: usual,
    async call({ instance, forward }, run) {
      await forward();
      await run.restart(instance);
      return "drop";
    },
  },
  {
    name: "lost-answer",
    moments: atCalls,
    allowance: usual,
    async call({ forward }) {
      await forward();
      return "drop";
    },
  },
  {
    name: "swallowed-request",
    moments: atCalls,
    allowance: usual,
    call: async () => "swallow",
  },
  {
    name: "swallowed-answer",
    moments: atCalls,
    allowance: usual,
    async call({ forward }) {
      await forward();
      return "swallow";
    },
  },
  {
    name: "delayed-request",
    moments: atCalls,
    allowance: usual,
    async call({ forward, instance }) {
      await instance.proxy.aside(() => pause(80));
      return forward();
    },
  },
  {
    name: "late-commit",
    moments: atCalls,
    allowance: usual,
    call({ forward, instance }, run) {
      const settled = Promise.withResolvers<void>();
      const sent = settled.promise.then(() => forward());
      const arrived = sent.then(
        () => {},
        () => {},
      );
      run.activate({
        finish: once(async () => {
          settled.resolve();
          await arrived;
        }),
      });
      // The client gives up long before; nobody hears this answer.
      return instance.proxy.aside(() => arrived.then(() => "drop" as const));
    },
  },
  refusal(409, "Conflict"),
  refusal(410, "Expired"),
  refusal(429, "TooManyRequests", 1),
  refusal(500, "InternalError"),
  refusal(503, "ServiceUnavailable"),
  {
    name: "overload",
    moments: anywhere,
    allowance: usual,
    losesEvents: true,
    begin(_, run) {
      const end = run.now() + leaseTimes.renewDeadline / 4;
      const tooMany = refused(429, "TooManyRequests", 1);
      return {
        steering: { write: async (_request, forward) => (run.now() < end ? tooMany : forward()) },
      };
    },
  },
  {
    name: "foreign-webhook",
    moments: ["change"],
    // What fails for 30 s is said, and that it ended.
    allowance: { ...usual, statuses: 6 },
    losesEvents: true,
    begin(_, run) {
      const end = run.now() + 40_000;
      const failing = refused(500, "InternalError");
      const write: NonNullable<ActiveFault["steering"]>["write"] = async (request, forward) =>
        run.now() < end && request.plural.endsWith("bindings") ? failing : forward();
      // The longest wait after a failure is a minute.
      return { steering: { write }, finish: once(() => run.pass(100_000)) };
    },
  },
  {
    name: "cut-watches",
    moments: anywhere,
    allowance: usual,
    begin(_, run) {
      for (const watch of run.watches) watch.cut();
      return {};
    },
  },
  {
    name: "half-open-watches",
    moments: anywhere,
    allowance: usual,
    begin(_, run) {
      for (const watch of run.watches) watch.silence();
      return { finish: once(() => run.pass(160_000)) };
    },
  },
  {
    name: "duplicate-events",
    moments: anywhere,
    allowance: usual,
    begin() {
      const event = (_watch: OpenWatch, _line: unknown, deliver: () => void) => {
        deliver();
        deliver();
      };
      return { steering: { event } };
    },
  },
  {
    name: "delay-events",
    moments: anywhere,
    allowance: usual,
    begin: (_, run) => delayEvents(run),
  },
  {
    name: "swallow-event",
    moments: anywhere,
    allowance: usual,
    begin: (_, run) => swallowEvent(run),
  },
  {
    name: "expire-watches",
    moments: anywhere,
    allowance: usual,
    begin(_, run) {
      for (const watch of run.watches) watch.expire();
      return {};
    },
  },
  {
    name: "stale-start",
    moments: anywhere,
    allowance: backAndForth,
    needsLists: true,
    async begin(instance, run) {
      await run.restart(instance);
      return staleLists(run);
    },
  },
  {
    name: "stale-relist",
    moments: anywhere,
    allowance: backAndForth,
    needsLists: true,
    begin(_, run) {
      for (const watch of run.watches) watch.expire();
      return staleLists(run);
    },
  },
  outage("outage", leaseTimes.renewDeadline / 4),
  outage("long-outage", leaseTimes.renewDeadline * 1.5),
  {
    name: "down",
    moments: ["change"],
    allowance: usual,
    begin(instance, run) {
      run.kill(instance);
      return { finish: async () => false };
    },
  },
  {
    name: "pause",
    moments: anywhere,
    allowance: usual,
    async begin(instance, run) {
      instance.stand();
      await run.start(instance.name, "b");
      return { finish: once(async () => instance.goOn()) };
    },
  },
];

function once(work: () => Promise<void>): () => Promise<boolean> {
  let isDone = false;
  return async () => {
    if (isDone) return false;
    isDone = true;
    await work();
    return true;
  };
}

function staleLists(run: Run): ActiveFault {
  const list: NonNullable<ActiveFault["steering"]>["list"] = (request) => {
    const earlier = run.earlierList(request);
    run.forgetEarlierList(request);
    return earlier;
  };
  return { steering: { list } };
}

/** Every other object's events come late; those of one object stay in order. */
function delayEvents(run: Run): ActiveFault {
  const last = new Map<string, Promise<void>>();
  const event: NonNullable<ActiveFault["steering"]>["event"] = (watch, line, deliver) => {
    const subject = subjectOf(watch, line);
    if (!isChosen(subject, run.seed)) return deliver();
    run.pendingEvents += 1;
    const turn = Promise.all([last.get(subject), pause(60)]).then(() => {
      run.pendingEvents -= 1;
      run.moved();
      deliver();
    });
    last.set(subject, turn);
  };
  return { steering: { event } };
}

function isChosen(subject: string, seed: number): boolean {
  return (createHash("sha256").update(`${seed} ${subject}`).digest()[0] ?? 0) % 2 === 0;
}

/** The next event never comes; a later one of its object does, or a 410 in the end. */
function swallowEvent(run: Run): ActiveFault {
  let swallowed: { readonly subject: string; readonly selection: string } | undefined;
  let isOver = false;
  return {
    steering: {
      event(watch, line, deliver) {
        const subject = subjectOf(watch, line);
        const { selection } = watch.request;
        if (swallowed === undefined && !isOver) swallowed = { subject, selection };
        else {
          if (swallowed?.subject === subject && swallowed.selection === selection) {
            swallowed = undefined;
            isOver = true;
          }
          deliver();
        }
      },
    },
    async finish() {
      const missing = swallowed;
      swallowed = undefined;
      isOver ||= missing !== undefined;
      // The watch that lost the event may have been reopened behind it since.
      for (const watch of run.watches)
        if (watch.request.selection === missing?.selection) watch.expire();
      return missing !== undefined;
    },
  };
}
