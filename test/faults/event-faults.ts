import { createHash } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import type { Steering } from "../support/fault-proxy.ts";
import { type OpenWatch, subjectOf } from "../support/open-watch.ts";
import type { InProcessBackend, InProcessRun } from "./in-process-backend.ts";
import type { ActiveFault } from "./run.ts";

type Active = ActiveFault<InProcessBackend>;

/** Each list returns an earlier result once. */
export function staleLists(run: InProcessRun): Active {
  return { steering: { list: (request) => run.lists.take(request) } };
}

/** Delays the events of every second object; those of one object stay in order. */
export function delayEvents(run: InProcessRun): Active {
  const last = new Map<string, Promise<void>>();
  const event: NonNullable<Steering["event"]> = (watch, line, deliver) => {
    const subject = subjectOf(watch, line);
    if (!isChosen(subject, run.backend.seed)) return deliver();
    run.backend.pendingEvents += 1;
    const turn = Promise.all([last.get(subject), pause(60)]).then(() => {
      run.backend.pendingEvents -= 1;
      run.backend.moved();
      deliver();
    });
    last.set(subject, turn);
  };
  return { steering: { event } };
}

function isChosen(subject: string, seed: number): boolean {
  return (createHash("sha256").update(`${seed} ${subject}`).digest()[0] ?? 0) % 2 === 0;
}

/** Drops the next event; a later event of its object is delivered, or a 410 in the end. */
export function swallowEvent(run: InProcessRun): Active {
  let swallowed: { readonly subject: string; readonly watch: OpenWatch } | undefined;
  let isOver = false;
  return {
    steering: {
      event(watch, line, deliver) {
        const subject = subjectOf(watch, line);
        if (swallowed === undefined && !isOver) swallowed = { subject, watch };
        else {
          if (swallowed?.subject === subject && watch.isSameAs(swallowed.watch)) {
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
      // The watch that lost the event may have been reopened later since.
      for (const watch of run.watches)
        if (missing !== undefined && watch.isSameAs(missing.watch)) watch.expire();
      return missing !== undefined;
    },
  };
}
