import { expect, test } from "vitest";
import { endText } from "../../../../src/cli/kubectl/keys/end-text.ts";

const startsAt = Date.parse("2026-01-01T00:00:00Z");
const after = (seconds: number): number => startsAt + seconds * 1000;

test.each<[string, number, boolean, number | undefined]>([
  ["ends 30s after its creation, at 2026-01-01T00:00:30Z", 30, false, after(30)],
  ["ends 30d after its last use, at 2026-01-31T00:00:00Z", 2_592_000, true, after(2_592_000)],
  ["does not expire; --ttl sets a lifetime", 0, false, undefined],
  ["ends 15m after its creation", 900, false, undefined],
  [
    "ends 24h after its creation, at 2026-01-02T00:00:00Z; its lifetime of 3d was cut",
    259_200,
    false,
    after(86_400),
  ],
  [
    "ends 24h after its creation, at 2026-01-02T00:00:00Z; no key lives longer here",
    0,
    false,
    after(86_400),
  ],
])("an object %s", (text, ttl, isIdle, endsAt) => {
  expect(endText({ ttl, isIdle, startsAt, endsAt })).toBe(text);
});
