import { expect, test } from "vitest";
import { tokenTimes } from "../../../src/domain/oidc/token-times.ts";

const now = 1_800_000_000;
const day = 86_400;

test.each<[what: string, claims: object, found: string | number]>([
  ["valid", { iat: now, exp: now + 600 }, now + 600],
  ["for a day", { iat: now, exp: now + day }, now + day],
  ["for longer", { iat: now, exp: now + day + 1 }, "too-long"],
  ["over now", { iat: now - 60, exp: now }, "expired"],
  ["over", { iat: now - 600, exp: now - 1 }, "expired"],
  ["not over for half a second", { iat: now, exp: now + 0.5 }, now + 0.5],
  ["without an end", { iat: now }, "no-times"],
  ["without a start", { exp: now + 600 }, "no-times"],
  ["with a text as end", { iat: now, exp: String(now + 600) }, "no-times"],
  ["with no number as end", { iat: now, exp: null }, "no-times"],
  ["with an end that is no date", { iat: now, exp: 1e300 }, "no-times"],
  ["issued in a minute", { iat: now + 60, exp: now + 600 }, now + 600],
  ["issued later", { iat: now + 61, exp: now + 600 }, "not-yet"],
  ["valid from a minute on", { iat: now, nbf: now + 60, exp: now + 600 }, now + 600],
  ["valid later", { iat: now, nbf: now + 61, exp: now + 600 }, "not-yet"],
  ["valid from a text on", { iat: now, nbf: "soon", exp: now + 600 }, "no-times"],
  ["that ends before it is issued", { iat: now + 30, exp: now - 30 }, "expired"],
])("a token %s", (_, claims, found) => {
  expect(tokenTimes({ ...claims }, now * 1000)).toEqual(
    typeof found === "number"
      ? { kind: "valid", endsAt: found * 1000 }
      : { kind: "refused", reason: found },
  );
});
