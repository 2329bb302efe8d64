import { setTimeout as pause } from "node:timers/promises";
import { type Allowance, type Fault, once, usualAllowance } from "./fault.ts";
import type { InProcessBackend } from "./in-process-backend.ts";
import { leaseTimes } from "./lease-times.ts";
import type { OpenWatch } from "../support/open-watch.ts";
import { delayEvents, staleLists, swallowEvent } from "./event-faults.ts";
import type { Steering } from "../support/fault-proxy.ts";
import type { ProxyAnswer } from "../support/proxy-messages.ts";

/** A fault of a run in this process. */
export type InProcessFault = Fault<InProcessBackend>;

/**
 * A watch delivers the changes after an old list, possibly one of copies before one of
 * SharedSecrets: then a copy is reverted to the old list, and updated again. The API server's own
 * lists are never old (they are requested without a resourceVersion).
 */
const backAndForth: Allowance = { ...usualAllowance, updates: 2 };

/**
 * A copy whose update is refused has the reason in an annotation until it is written, and one whose
 * delete is refused is emptied until it is deleted.
 */
const onceMore: Allowance = { ...usualAllowance, updates: 1 };

const atCalls: InProcessFault["moments"] = ["call", "read"];
const anywhere: InProcessFault["moments"] = ["call", "read", "change"];

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

/** The API server rejects a write instead of executing it. */
function refusal(status: number, reason: string, retryAfter?: number): InProcessFault {
  return {
    name: `answer-${status}`,
    moments: atCalls,
    allowance: usualAllowance,
    call: async () => refused(status, reason, retryAfter),
  };
}

/** All requests fail, and all watches are closed, for these milliseconds of the clock. */
function outage(name: string, ms: number): InProcessFault {
  return {
    name,
    moments: anywhere,
    allowance: usualAllowance,
    losesEvents: true,
    begin(_, run) {
      const end = run.backend.now() + ms;
      for (const watch of run.watches) watch.cut();
      return { steering: { refuses: () => run.backend.now() < end } };
    },
  };
}

/** All faults. */
export const faults: readonly InProcessFault[] = [
  {
    name: "crash-before",
    moments: atCalls,
    allowance: usualAllowance,
    async call({ instance }, run) {
      await run.backend.restart(instance);
      return "drop";
    },
  },
  {
    name: "crash-after",
    moments: atCalls,
    allowance: usualAllowance,
    async call({ instance, forward }, run) {
      await forward();
      await run.backend.restart(instance);
      return "drop";
    },
  },
  {
    name: "lost-answer",
    moments: atCalls,
    allowance: usualAllowance,
    async call({ forward }) {
      await forward();
      return "drop";
    },
  },
  {
    name: "swallowed-request",
    moments: atCalls,
    allowance: usualAllowance,
    call: async () => "swallow",
  },
  {
    name: "swallowed-answer",
    moments: atCalls,
    allowance: usualAllowance,
    async call({ forward }) {
      await forward();
      return "swallow";
    },
  },
  {
    name: "delayed-request",
    moments: atCalls,
    allowance: usualAllowance,
    async call({ forward, instance }) {
      await instance.proxy.aside(() => pause(80));
      return forward();
    },
  },
  {
    name: "late-commit",
    moments: atCalls,
    allowance: usualAllowance,
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
      // The client times out long before and does not receive this response.
      return instance.proxy.aside(() => arrived.then(() => "drop" as const));
    },
  },
  refusal(401, "Unauthorized"),
  { ...refusal(403, "Forbidden"), allowance: onceMore },
  refusal(409, "Conflict"),
  refusal(410, "Expired"),
  refusal(429, "TooManyRequests", 1),
  { ...refusal(500, "InternalError"), allowance: onceMore },
  { ...refusal(503, "ServiceUnavailable"), allowance: onceMore },
  {
    name: "overload",
    moments: anywhere,
    allowance: usualAllowance,
    losesEvents: true,
    begin(_, run) {
      const end = run.backend.now() + leaseTimes.renewDeadline / 4;
      const tooMany = refused(429, "TooManyRequests", 1);
      return {
        steering: {
          write: async (_request, forward) => (run.backend.now() < end ? tooMany : forward()),
        },
      };
    },
  },
  {
    name: "foreign-webhook",
    moments: ["change"],
    // A failure of 30 s is reported in the status, and so is its end.
    allowance: { ...usualAllowance, statuses: 6 },
    losesEvents: true,
    begin(_, run) {
      const end = run.backend.now() + 40_000;
      const failing = refused(500, "InternalError");
      const write: NonNullable<Steering["write"]> = async (request, forward) =>
        run.backend.now() < end && request.plural.endsWith("bindings") ? failing : forward();
      // The longest backoff is a minute.
      return { steering: { write }, finish: once(() => run.backend.pass(100_000)) };
    },
  },
  {
    name: "cut-watches",
    moments: anywhere,
    allowance: usualAllowance,
    begin(_, run) {
      for (const watch of run.watches) watch.cut();
      return {};
    },
  },
  {
    name: "half-open-watches",
    moments: anywhere,
    allowance: usualAllowance,
    begin(_, run) {
      for (const watch of run.watches) watch.silence();
      return { finish: once(() => run.backend.pass(160_000)) };
    },
  },
  {
    name: "duplicate-events",
    moments: anywhere,
    allowance: usualAllowance,
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
    allowance: usualAllowance,
    begin: (_, run) => delayEvents(run),
  },
  {
    name: "swallow-event",
    moments: anywhere,
    allowance: usualAllowance,
    begin: (_, run) => swallowEvent(run),
  },
  {
    name: "expire-watches",
    moments: anywhere,
    allowance: usualAllowance,
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
      await run.backend.restart(instance);
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
    allowance: usualAllowance,
    begin(instance, run) {
      run.backend.kill(instance);
      return { finish: async () => false };
    },
  },
  {
    name: "pause",
    moments: anywhere,
    allowance: usualAllowance,
    async begin(instance, run) {
      instance.pause();
      await run.backend.start({ program: instance.name, identity: "b" });
      return { finish: once(async () => instance.resume()) };
    },
  },
];
