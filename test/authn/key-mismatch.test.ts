import type { Event } from "../../src/api/event.ts";
import { describe, expect, test } from "vitest";
import { annotations } from "../../src/api/names.ts";
import { KeyMismatches } from "../../src/authn/key-mismatch.ts";
import { observedMetadata } from "../support/observed-objects.ts";
import { TestClock } from "../support/test-clock.ts";
import { resolvedKeyWith } from "../support/review-fixture.ts";

const index = "0123456789abcdef";

function recorded(requester: string, count: number): readonly Event<string>[] {
  const events: Event<string>[] = [];
  const mismatches = new KeyMismatches({
    events: { record: async (notice) => void events.push(notice) },
    clock: new TestClock(),
  });
  const key = (number: number) => ({
    ...resolvedKeyWith().key,
    metadata: observedMetadata({
      name: `k${number}`,
      uid: `uid-${number}`,
      annotations: { [annotations.requester]: requester },
    }),
    keyDigest: `${index}.${"f".repeat(64)}`,
  });
  for (let number = 0; number < count; number += 1) mismatches.note([key(number)]);
  return events;
}

describe("a presented key that only matches the index is recorded", () => {
  test("on each object with a bound digest, with the subject and without the key", () => {
    const [event] = recorded("alice", 1);
    expect(event).toMatchObject({
      type: "Warning",
      reason: "KeyMismatch",
      subject: { name: "k0", uid: "uid-0" },
      deduplicationKey: "generation 3",
      note: expect.stringContaining('"user:alice"'),
    });
    expect(JSON.stringify(event)).not.toContain(index);
  });

  test("at most 25 times for a requester, for any number of objects, and again for another requester", () => {
    expect(recorded("mallory", 100)).toHaveLength(25);
  });
});
