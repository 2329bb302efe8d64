import { describe, expect, it } from "vitest";
import { SecretText } from "../../src/api/secret-text.ts";
import { identifyKey, UnknownKeyRetries } from "../../src/authn/identify-key.ts";
import { fakeReviewDeps, resolvedKeyWith } from "../support/review-fixture.ts";
import { settled } from "../support/test-clock.ts";

const token = new SecretText("canary-key-of-somebody");
type Seen = Parameters<typeof fakeReviewDeps>[0];

describe("a presented key", () => {
  it.each<[string, Seen, string]>([
    ["valid", { view: resolvedKeyWith() }, "authenticated"],
    ["no key at all", { found: "malformed" }, "malformed"],
    ["disabled", { view: resolvedKeyWith({ disabled: true }) }, "refused"],
    ["of a cache that is not synced", { view: resolvedKeyWith(), isCold: true }, "not-ready"],
  ])("that is %s is answered at once, and counted", async (_what, seen, kind) => {
    const deps = fakeReviewDeps(seen);
    expect(await identifyKey({ token }, deps)).toMatchObject({ kind });
    expect([deps.results, deps.clock.pending, deps.mismatched]).toEqual([[kind], 0, []]);
    expect(deps.used).toEqual(kind === "authenticated" ? ["uid-one"] : []);
  });

  it.each<[string, Seen, string]>([
    ["unknown", {}, "unknown"],
    ["not certain while no watch is open", { isFollowing: false }, "not-ready"],
  ])("that no object has is %s after 100 ms", async (_what, seen, kind) => {
    const deps = fakeReviewDeps(seen);
    let found: unknown;
    void identifyKey({ token }, deps).then((identification) => (found = identification));
    await deps.clock.run(99);
    expect(found).toBeUndefined();
    await deps.clock.run(1);
    await settled();
    expect(found).toMatchObject({ kind });
  });

  it("that arrives by watch in that time is valid", async () => {
    const deps = fakeReviewDeps({});
    const identification = identifyKey({ token }, deps);
    deps.standing.found = resolvedKeyWith();
    await deps.clock.run(100);
    expect(await identification).toMatchObject({
      kind: "authenticated",
      user: { username: "alice" },
    });
  });

  it("with the index of another one is reported, once it is certain that no object has it", async () => {
    const sharing = [resolvedKeyWith().key];
    const deps = fakeReviewDeps({ sharing });
    const identification = identifyKey({ token }, deps);
    await deps.clock.run(100);
    await identification;
    expect(deps.mismatched).toEqual(["uid-one"]);
  });
});

describe("unknown keys that wait for their retry", () => {
  it("are at most 1,000; for one more, the oldest one is looked up again at once", async () => {
    const deps = fakeReviewDeps({});
    const [oldest] = Array.from({ length: 1_000 }, () => identifyKey({ token }, deps));
    await settled();
    expect(deps.clock.pending).toBe(1_000);
    const next = identifyKey({ token }, deps);
    expect(await oldest).toEqual({ kind: "unknown" });
    expect(deps.clock.pending).toBe(1_000);
    deps.standing.found = resolvedKeyWith();
    await deps.clock.run(100);
    expect([await next, deps.clock.pending]).toEqual([
      expect.objectContaining({ kind: "authenticated" }),
      0,
    ]);
  });

  it("of an address with many do not end the wait of a new key at another one", async () => {
    const deps = { ...fakeReviewDeps({}), unknownKeyRetries: new UnknownKeyRetries(10) };
    const honest = identifyKey({ token, peerAddress: "192.0.2.2" }, deps);
    for (let count = 0; count < 100; count += 1)
      void identifyKey({ token, peerAddress: "192.0.2.1" }, deps);
    await settled();
    deps.standing.found = resolvedKeyWith();
    await deps.clock.run(100);
    expect(await honest).toMatchObject({ kind: "authenticated" });
  });
});
