import fc from "fast-check";
import { expect, test } from "vitest";
import { cleanupFinalizer } from "../../src/api/names.ts";
import { SecretText } from "../../src/api/secret-text.ts";
import {
  type ReconcileAttempt,
  type ReconcileContext,
  beginAttempt,
  type Outcome,
  settle,
} from "../../src/controllers/reconcile.ts";
import { countTargets } from "../../src/controllers/count-targets.ts";
import { CentralEnqueuer } from "../../src/controllers/central-enqueuer.ts";
import { noteFailure } from "../../src/controllers/failures.ts";
import type { LeaderMemory } from "../../src/controllers/memory.ts";
import type { Request } from "../../src/controllers/question.ts";
import type { Reconciler } from "../../src/controllers/reconciler.ts";
import type { World } from "../../src/controllers/world.ts";
import { busyKeys, busyWorld } from "./busy-world.ts";
import { refusal } from "../support/fake-client.ts";
import { rawObject } from "../support/fake-list-watch.ts";
import { runs } from "../support/property-runs.ts";

const { world, clock, enqueued } = await busyWorld();
for (const [reconciler, key] of busyKeys)
  noteFailure(reconciler, key, { kind: "failed", reason: "R", message: "before" }, world);
// Every failure is due for its report, and deletions are known for longer than their settle time.
clock.advance(31_000);
const summaries = new Map(
  await Promise.all(
    [...world.stores.sharedSecrets.values()].map(
      async (source) =>
        [
          source,
          await countTargets(source, world, async (items, work) => [...items].forEach(work)),
        ] as const,
    ),
  ),
);

/** The outcome of the request in one of the open slots. */
interface Step {
  readonly slot: number;
  readonly outcome:
    | "accepted"
    | "confirmed"
    | "Conflict"
    | "NotFound"
    | "Invalid"
    | "Network"
    | "Fenced"
    | "bug";
}

const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.record({
    slot: fc.nat({ max: 3 }),
    outcome: fc.oneof(
      { arbitrary: fc.constantFrom("accepted" as const, "confirmed" as const), weight: 4 },
      fc.constantFrom(
        "Conflict" as const,
        "NotFound" as const,
        "Invalid" as const,
        "Network" as const,
        "Fenced" as const,
        "bug" as const,
      ),
    ),
  }),
  { maxLength: 12 },
);

const secret = new SecretText("x");
const minted = { token: secret, kid: "kid" };

function outcomeOf(request: Request, kind: Step["outcome"]): Outcome {
  if (kind === "bug") return { error: new TypeError("bug") };
  if (kind !== "accepted" && kind !== "confirmed") return { error: refusal(kind) };
  const isConfirmed = kind === "confirmed";
  switch (request.do) {
    case "read":
      return { answer: { do: "read", object: { kind: isConfirmed ? "gone" : "unknown" } } };
    case "refresh":
      return { answer: { do: "refresh", sources: request.sources ?? [] } };
    case "read-data":
      return { answer: { do: "read-data", data: isConfirmed ? { password: secret } : undefined } };
    case "read-source":
      return { answer: { do: "read-source", source: { kind: "gone" } } };
    case "review":
      return { answer: { do: "review", isHonoured: !isConfirmed } };
    case "count-targets": {
      const summary = summaries.get(request.source);
      return summary === undefined
        ? { error: refusal("Network") }
        : { answer: { do: "count-targets", summary } };
    }
    case "sign":
      return { answer: { do: "sign", minted: isConfirmed ? minted : undefined } };
    case "delete":
      return { response: { kind: "Status" } };
    case "create":
    case "replace":
    case "patch": {
      const { name } = request.do === "patch" ? request.ref : request.object.metadata;
      return {
        response: rawObject({ name, resourceVersion: "7", finalizers: [cleanupFinalizer] }),
      };
    }
    case "dry-run-create":
    case "record-event":
      return { response: {} };
  }
}

interface Run {
  readonly attempt: ReconcileAttempt;
  readonly context: ReconcileContext<World>;
}

/** The reconciler in a world with this memory. */
function contextWith(reconciler: Reconciler<World>, memory: LeaderMemory): ReconcileContext<World> {
  const enqueuer = new CentralEnqueuer({ ...world, memory }, world.enqueuer.yielder);
  return { reconciler, world: { ...world, memory, enqueuer } };
}

function copyOf({ attempt, context }: Run): Run {
  const { answers, written, slots } = attempt;
  return {
    attempt: {
      ...attempt,
      answers: new Map(answers),
      written: new Map(written),
      slots: slots.map((slot) => ({ ...slot })),
    },
    context: contextWith(context.reconciler, structuredClone(context.world.memory)),
  };
}

/** Plays an attempt to its end; returns what was sent and enqueued, and how it ended. */
function played(run: Run, steps: readonly Step[], beforeStep: () => void = () => {}) {
  const { attempt, context } = run;
  const sent: Request[] = [];
  for (let index = 0; attempt.end === undefined; index += 1) {
    beforeStep();
    const open = attempt.slots.filter(({ isDone }) => !isDone);
    const { slot, outcome } = steps[index] ?? { slot: 0, outcome: "confirmed" };
    const chosen = open[slot % open.length];
    if (chosen === undefined) throw new Error("an attempt in progress has no request");
    sent.push(chosen.request);
    settle(attempt, chosen, outcomeOf(chosen.request, outcome), context);
  }
  const { end } = attempt;
  return { end, memory: context.world.memory, sent, enqueued: enqueued.splice(0) };
}

const confirmed: Step = { slot: 0, outcome: "confirmed" };
const invalid: Step = { slot: 0, outcome: "Invalid" };
/** Outcomes with which every kind of reconcile writes, and most report a failure. */
const examples: [readonly Step[]][] = [[[]], [[invalid]], [[confirmed, confirmed, invalid]]];

test("an attempt that is copied between any two outcomes ends like the original", () => {
  const phases = new Set<string>();
  const isSame = ([reconciler, key]: (typeof busyKeys)[number], chosen: readonly Step[]): void => {
    const context = contextWith(reconciler, structuredClone(world.memory));
    const run = { attempt: beginAttempt(key, context), context };
    const copies: { readonly copy: Run; readonly heard: number }[] = [];
    const original = played(run, chosen, () => {
      phases.add(`${reconciler.queue} ${run.attempt.phase}`);
      copies.push({ copy: copyOf(run), heard: enqueued.length });
    });
    copies.forEach(({ copy, heard }, index) => {
      expect(played(copy, chosen.slice(index))).toEqual({
        ...original,
        sent: original.sent.slice(index),
        enqueued: original.enqueued.slice(heard),
      });
    });
  };
  for (const reconciled of busyKeys)
    fc.assert(
      fc.property(steps, (chosen) => isSame(reconciled, chosen)),
      { ...runs(50), examples },
    );
  expect([...phases].toSorted()).toEqual([
    ...["connectorData applying", "connectorData asking"],
    ...["copy applying", "copy asking", "copy reporting"],
    ...["grant applying", "grant asking"],
    ...["key applying", "key reporting"],
    "revokedTokens applying",
    ...["sharedSecret applying", "sharedSecret asking", "sharedSecret reporting"],
    "signingKeys applying",
    ...["token applying", "token asking", "token reporting"],
  ]);
});
