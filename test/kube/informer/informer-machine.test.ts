import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { KubeErrorCode } from "../../../src/kube/client/kube-error.ts";
import {
  type InformerEvent,
  type InformerMachine,
  type InformerPhase,
  newInformer,
  step,
  type StepFacts,
} from "../../../src/kube/informer/informer-machine.ts";

const facts: StepFacts = {
  needsList: false,
  isRecovered: false,
  now: 1_000_000,
  random: 0.5,
  longestMs: 5_000,
};

const at = (phase: InformerPhase, machine: Partial<InformerMachine> = {}): InformerMachine => ({
  ...newInformer,
  ...machine,
  phase,
});

const failed = (
  code: KubeErrorCode | undefined,
  { isProgress = false, leastMs = 0 } = {},
): InformerEvent => ({ event: "failed", code, isProgress, leastMs });

const ended = ({ isDoubtful = false, isProgress = false } = {}): InformerEvent => ({
  event: "watch-ended",
  isDoubtful,
  isProgress,
});

describe("the next phase and its pause", () => {
  test.for<[string, InformerPhase, InformerEvent, Partial<StepFacts>, InformerPhase, number]>([
    ["watching after a list", "listing", { event: "listed" }, {}, "watching", 0],
    [
      "listing again after a list that a restart has overtaken",
      "listing",
      { event: "listed" },
      { needsList: true },
      "listing",
      0,
    ],
    [
      "watching after a watch with events",
      "watching",
      ended({ isProgress: true }),
      {},
      "watching",
      0,
    ],
    ["watching after a watch that ended at once", "watching", ended(), {}, "watching", 800],
    [
      "doubting after a silent watch",
      "watching",
      ended({ isDoubtful: true, isProgress: true }),
      {},
      "doubting",
      0,
    ],
    [
      "listing at once after a watch that a restart has ended",
      "watching",
      ended(),
      { needsList: true },
      "listing",
      0,
    ],
    [
      "watching if nothing is lost",
      "doubting",
      { event: "asked", isListDue: false },
      {},
      "watching",
      0,
    ],
    ["listing if a list is due", "doubting", { event: "asked", isListDue: true }, {}, "listing", 0],
    ["listing after a list that failed", "listing", failed("Network"), {}, "listing", 800],
    ["watching after a watch that failed", "watching", failed("Network"), {}, "watching", 800],
    [
      "watching at once after a watch that failed after progress",
      "watching",
      failed("Network", { isProgress: true }),
      {},
      "watching",
      0,
    ],
    ["doubting after a question that failed", "doubting", failed("Network"), {}, "doubting", 800],
    ["listing at once after a watch that is too old", "watching", failed("Gone"), {}, "listing", 0],
    ["listing after a list that is too old", "listing", failed("Gone"), {}, "listing", 800],
    ["listing after a watch that is not found", "watching", failed("NotFound"), {}, "listing", 800],
    ["listing after an error of no API server", "listing", failed(undefined), {}, "listing", 800],
    [
      "listing after a failure in a restart",
      "watching",
      failed("Network"),
      { needsList: true },
      "listing",
      800,
    ],
    [
      "listing after the Retry-After of the API server",
      "listing",
      failed("TooManyRequests", { leastMs: 60_000 }),
      {},
      "listing",
      60_000,
    ],
  ])("is %s", ([, phase, event, given, next, pauseMs]) => {
    expect(step(at(phase), event, { ...facts, ...given })).toMatchObject({ phase: next, pauseMs });
  });
});

test("a watch that is too old is followed by a list at once only every 5 s", () => {
  const forgotten = at("watching", { backoffMs: 1_600, forgottenAt: facts.now - 4_999 });
  expect(step(forgotten, failed("Gone"), facts)).toMatchObject({
    pauseMs: 1_600,
    backoffMs: 3_200,
  });
  const progress = failed("Gone", { isProgress: true });
  expect(step(forgotten, progress, facts)).toMatchObject({ pauseMs: 800, backoffMs: 1_600 });
  expect(step(forgotten, failed("Gone"), { ...facts, now: facts.now + 1 })).toMatchObject({
    pauseMs: 0,
    backoffMs: 800,
    forgottenAt: facts.now + 1,
  });
});

test("the pause doubles to its maximum, and begins anew when another informer recovers", () => {
  const pauses = new Array<number>();
  let machine = at("listing");
  for (let round = 0; round < 5; round += 1) {
    machine = step(machine, failed("Network"), facts);
    pauses.push(machine.pauseMs);
  }
  machine = step(machine, failed("Network"), { ...facts, isRecovered: true });
  expect([...pauses, machine.pauseMs]).toEqual([800, 1_600, 3_200, 5_000, 5_000, 800]);
});

const anyEvent = fc.oneof(
  fc.constant<InformerEvent>({ event: "listed" }),
  fc.record({ isDoubtful: fc.boolean(), isProgress: fc.boolean() }).map(ended),
  fc.boolean().map((isListDue): InformerEvent => ({ event: "asked", isListDue })),
  fc
    .record({
      code: fc.constantFrom<(KubeErrorCode | undefined)[]>(
        "Network",
        "Gone",
        "NotFound",
        undefined,
      ),
      isProgress: fc.boolean(),
      leastMs: fc.nat({ max: 10_000 }),
    })
    .map(({ code, ...rest }) => failed(code, rest)),
);
const anyFacts = fc.record({
  needsList: fc.boolean(),
  isRecovered: fc.boolean(),
  now: fc.nat({ max: 100_000 }),
  random: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
  longestMs: fc.constantFrom(650, 5_000, 25_000),
});

test("whatever happens: a doubted store is listed, and no pause exceeds its maximum", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(anyEvent, anyFacts), { maxLength: 30 }), (steps) => {
      let machine = newInformer;
      for (const [event, given] of steps) {
        machine = step(machine, event, given);
        const isGone = event.event === "failed" && event.code === "Gone";
        const isListing = machine.phase === "listing";
        expect(isListing || !(given.needsList || isGone)).toBe(true);
        const leastMs = event.event === "failed" ? event.leastMs : 0;
        expect(machine.pauseMs).toBeLessThanOrEqual(Math.max(given.longestMs * 1.5, leastMs));
      }
    }),
  );
});
