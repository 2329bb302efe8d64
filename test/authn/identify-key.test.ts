import { describe, expect, it } from "vitest";
import { SecretText } from "../../src/api/secret-text.ts";
import { identifyKey, SecondLooks } from "../../src/authn/identify-key.ts";
import { fakeReviewDeps, resolvedKeyWith } from "../support/review-fixture.ts";
import { settled, TestClock } from "../support/test-clock.ts";

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
    expect(await identifyKey(token, deps)).toMatchObject({ kind });
    expect([deps.results, deps.clock.pending, deps.mismatched]).toEqual([[kind], 0, []]);
    expect(deps.used).toEqual(kind === "authenticated" ? ["uid-one"] : []);
  });

  it.each<[string, Seen, string]>([
    ["unknown", {}, "unknown"],
    ["not certain while no watch is open", { isFollowing: false }, "not-ready"],
  ])("that no object has is %s after 100 ms", async (_what, seen, kind) => {
    const deps = fakeReviewDeps(seen);
    let found: unknown;
    void identifyKey(token, deps).then((identification) => (found = identification));
    await deps.clock.run(99);
    expect(found).toBeUndefined();
    await deps.clock.run(1);
    await settled();
    expect(found).toEqual({ kind });
  });

  it("that arrives by watch in that time is valid", async () => {
    const deps = fakeReviewDeps({});
    const identification = identifyKey(token, deps);
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
    const identification = identifyKey(token, deps);
    await deps.clock.run(100);
    await identification;
    expect(deps.mismatched).toEqual(["uid-one"]);
  });
});

describe("keys that wait for a second look", () => {
  it("are at most 1,000; one more is unknown at once, and looked up once", async () => {
    const deps = fakeReviewDeps({});
    const all = Array.from({ length: 1_000 }, () => identifyKey(token, deps));
    await settled();
    expect(deps.clock.pending).toBe(1_000);
    expect(await identifyKey(token, deps)).toEqual({ kind: "unknown" });
    await deps.clock.run(100);
    await Promise.all(all);
    const next = identifyKey(token, deps);
    expect(deps.clock.pending).toBe(1);
    await deps.clock.run(100);
    expect(await next).toEqual({ kind: "unknown" });
  });

  it("say whether they waited", async () => {
    const [clock, looks] = [new TestClock(), new SecondLooks(1)];
    const first = looks.wait(clock);
    expect(await looks.wait(clock)).toBe(false);
    await clock.run(100);
    expect(await first).toBe(true);
  });
});
