import fc from "fast-check";
import { expect, test } from "vitest";
import type { Event } from "../../../src/api/event.ts";
import type { ConditionUpdate } from "../../../src/api/conditions.ts";
import { resources } from "../../../src/api/resources.ts";
import { mergeConditions } from "../../../src/domain/plan/conditions.ts";
import { healthEvents } from "../../../src/domain/plan/events.ts";
import { born, observedMetadata } from "../../support/observed-objects.ts";

const metadata = observedMetadata({ namespace: "team" });
const outcomes = ["Ready", "TooLarge", "NameConflict", "Progressing"] as const;
const syncs = ["Synced", "Conflict", "Failed", "Paused", "NoTargets", "Progressing"] as const;

function claimsOf(
  ready: (typeof outcomes)[number],
  synced: (typeof syncs)[number],
): readonly ConditionUpdate[] {
  return [
    {
      type: "Ready",
      status: ready === "Ready" ? "True" : "False",
      reason: ready,
      message: "ready",
    },
    {
      type: "Synced",
      status: synced === "Synced" ? "True" : "False",
      reason: synced,
      message: "synced",
    },
  ];
}

const summaryOf = ({ limit, type, reason }: Event): string =>
  `${limit === undefined ? "" : `${limit} `}${type} ${reason}`;

const isTrouble = (reason: string): boolean =>
  ["TooLarge", "NameConflict", "Conflict", "Failed"].includes(reason);

test("records one Event for a change of health, the same one until the status is written, and none for other changes", () => {
  const states = fc.array(fc.tuple(fc.constantFrom(...outcomes), fc.constantFrom(...syncs)), {
    minLength: 1,
    maxLength: 12,
  });
  fc.assert(
    fc.property(states, (sequence) => {
      let existing: ReturnType<typeof mergeConditions> = [];
      let trouble: string | undefined;
      let wasReady = false;
      for (const [step, [ready, synced]] of sequence.entries()) {
        const claims = claimsOf(ready, synced);
        const object = { resource: resources.sharedSecrets, metadata, existing };
        const events = healthEvents(object, claims, ["Ready", "Synced"]);
        expect(healthEvents(object, claims, ["Ready", "Synced"])).toEqual(events);
        const now = [ready, synced].find(isTrouble);
        const isWell = ready === "Ready" && synced !== "Progressing";
        const expected =
          now !== undefined && now !== trouble
            ? [`Warning ${now}`]
            : now === undefined && isWell && (trouble !== undefined || !wasReady)
              ? [`${trouble === undefined ? "optional " : ""}Normal Ready`]
              : [];
        expect(
          events.map((write) => (write.do === "record-event" ? summaryOf(write.event) : write.do)),
        ).toEqual(expected);
        existing = mergeConditions(existing, claims, { generation: 3, now: born + step * 1000 });
        expect(healthEvents({ ...object, existing }, claims, ["Ready", "Synced"])).toEqual([]);
        trouble = now;
        wasReady = ready === "Ready";
      }
    }),
  );
});
