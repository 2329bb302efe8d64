import type { Event } from "../../src/api/event.ts";
import { describe, expect, test } from "vitest";
import { annotations } from "../../src/api/names.ts";
import { KeyMismatches } from "../../src/webhooks/key-mismatch.ts";
import { observedMetadata } from "../support/observed-objects.ts";
import { TestClock } from "../support/test-clock.ts";
import { resolvedKeyWith } from "../support/review-fixture.ts";

const index = "0123456789abcdef";
const bound = `${index}.${"f".repeat(64)}`;

function recorded(requester: string, count: number, keyDigest = bound): readonly Event<string>[] {
  const told: Event<string>[] = [];
  const mismatches = new KeyMismatches({
    events: { record: async (notice) => void told.push(notice) },
    clock: new TestClock(),
  });
  const key = (number: number) => ({
    ...resolvedKeyWith().key,
    metadata: observedMetadata({
      name: `k${number}`,
      uid: `uid-${number}`,
      annotations: { [annotations.requester]: requester },
    }),
    keyDigest,
  });
  for (let number = 0; number < count; number += 1) mismatches.note([key(number)]);
  return told;
}

describe("a presented key that fits an index alone is told of", () => {
  test("on each object with a bound digest, with what it is not bound to and nothing of the key", () => {
    const [told] = recorded("alice", 1);
    expect(told).toMatchObject({
      type: "Warning",
      reason: "KeyMismatch",
      subject: { name: "k0", uid: "uid-0" },
      deduplicationKey: "generation 3",
      note: expect.stringContaining('"user:alice"'),
    });
    expect(JSON.stringify(told)).not.toContain(index);
  });

  test("on no object with a digest that is not bound, which is just another one", () => {
    expect(recorded("alice", 1, `${index}${"0".repeat(48)}`)).toEqual([]);
  });

  test("25 times for a requester, however many objects it makes, and again for the next", () => {
    expect(recorded("mallory", 100)).toHaveLength(25);
  });
});
