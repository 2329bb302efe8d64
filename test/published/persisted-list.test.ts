import { describe, expect, test } from "vitest";
import { HttpsDocumentError } from "../../src/kube/client/https-document.ts";
import { KubeError } from "../../src/kube/client/kube-error.ts";
import { revokedToken } from "../../src/tokens/revoked-list.ts";
import {
  FakeIssuer,
  FakeStateSecret,
  followRevoked,
  type FollowingOptions,
  persistedSeqIn,
} from "../support/revoked-list-fixture.ts";
import { settled, TestClock } from "../support/test-clock.ts";
import { newKeys } from "../tokens/signed-text.ts";

const away = new HttpsDocumentError("ECONNREFUSED");
const jtisOf = (length: number) => Array.from({ length }, (_, n) => `token-${n}`);

/** An issuer with a list that revokes `first`, and the Secret of a replica that has followed it. */
async function kept(jtis: readonly string[] = ["first"], seq = "1.10") {
  const issuer = new FakeIssuer(new TestClock(), newKeys("signing"));
  const secret = new FakeStateSecret();
  await issuer.publish(seq, jtis);
  const replica = followRevoked(issuer, secret);
  await replica.kept(seq);
  return { issuer, secret, replica };
}

/** The replica after a restart without the issuer. */
async function restarted(
  { issuer, secret }: Pick<Awaited<ReturnType<typeof kept>>, "issuer" | "secret">,
  options: FollowingOptions = {},
) {
  issuer.answer = away;
  const replica = followRevoked(issuer, secret, options);
  const { length } = issuer.polls;
  await replica.until(() => issuer.polls.length > length, "a poll");
  await settled();
  return replica;
}

describe("a restart without the issuer", () => {
  test("uses the kept list", async () => {
    const setup = await kept();
    await setup.replica.stop();
    const { revoked, state, stop } = await restarted(setup);
    expect([revoked.has("first"), revoked.has("other"), revoked.isKnown()]).toEqual([
      true,
      false,
      true,
    ]);
    expect([revoked.problems(), revoked.warnings().length, state.changes]).toEqual([[], 1, 1]);
    await stop();
  });

  test("uses it though the key that signed it is not published any more", async () => {
    const setup = await kept();
    await setup.replica.stop();
    setup.issuer.keys = newKeys("signing");
    const { revoked, stop } = await restarted(setup);
    expect(revoked.has("first")).toBe(true);
    await stop();
  });

  test.each<[string, (secret: FakeStateSecret) => void]>([
    ["nothing is kept", (secret) => secret.set({ "revoked.jwt": null, "revoked.json": null })],
    ["the list was removed", (secret) => secret.set({ "revoked.jwt": null })],
    ["the list is another text", (secret) => secret.set({ "revoked.jwt": "YWJj" })],
    ["the seq was removed", (secret) => secret.set({ "revoked.json": null })],
    ["the seq is another text", (secret) => secret.set({ "revoked.json": "YWJj" })],
    [
      "the seq is another",
      (secret) => {
        const facts = Buffer.from(secret.data["revoked.json"] ?? "", "base64").toString();
        const changed = Buffer.from(facts.replace("1.10", "1.9")).toString("base64");
        secret.set({ "revoked.json": changed });
      },
    ],
    [
      "the list is not compressed, though its name says so",
      (secret) => secret.set({ "revoked.jwt": null, "revoked.jwt.gz": "YWJj" }),
    ],
    [
      "the Secret cannot be read",
      (secret) => (secret.error = new KubeError("no", { code: "Forbidden", status: 403 })),
    ],
  ])("accepts nothing if %s", async (_rule, change) => {
    const setup = await kept();
    await setup.replica.stop();
    change(setup.secret);
    const { revoked, stop } = await restarted(setup);
    expect([revoked.isKnown(), revoked.problems().length]).toEqual([false, 1]);
    await stop();
  });

  test("uses no list of another issuer, whose seq does not matter either", async () => {
    const setup = await kept();
    await setup.replica.stop();
    const issuer = "https://other.example";
    const replica = await restarted(setup, { issuer });
    expect(replica.revoked.isKnown()).toBe(false);
    setup.issuer.answer = undefined;
    await setup.issuer.publish("0.1", ["other"], { issuer });
    await replica.clock.run(15_000);
    await replica.until(() => replica.revoked.has("other"), "the list of the other issuer");
    await replica.kept("0.1");
    await replica.stop();
  });

  test("refuses a list that is older than the kept one", async () => {
    const setup = await kept();
    await setup.replica.stop();
    await setup.issuer.publish("1.9", ["other"]);
    const replica = followRevoked(setup.issuer, setup.secret);
    await replica.until(() => replica.refused.length > 0, "a refusal");
    expect([replica.refused[0], replica.revoked.has("first")]).toEqual(["older", true]);
    expect(persistedSeqIn(setup.secret)).toBe("1.10");
    await replica.stop();
  });

  test.each<[string, number, boolean]>([
    ["is older than the maximum age", 700_000, false],
    ["is younger", 500_000, true],
    ["is from the future, which makes it no younger", -86_400_000, true],
  ])("judges the kept list by when it was signed: it %s", async (_rule, ageMs, isKnown) => {
    const setup = await kept();
    await setup.replica.stop();
    setup.issuer.clock.stepWallClock(ageMs);
    const { revoked, clock, stop } = await restarted(setup, { maximumAge: 600_000 });
    expect(revoked.isKnown()).toBe(isKnown);
    expect(revoked.confirmedAt()).toBe(clock.now() - Math.max(0, ageMs));
    await clock.run(600_001);
    expect(revoked.isKnown()).toBe(false);
    await stop();
  });

  test("asks an issuer that answers for the list at once, which confirms it", async () => {
    const setup = await kept();
    await setup.replica.stop();
    setup.issuer.clock.stepWallClock(700_000);
    const replica = followRevoked(setup.issuer, setup.secret, { maximumAge: 600_000 });
    await replica.until(() => replica.revoked.isKnown(), "a confirmation");
    expect(setup.issuer.polls.at(-1)).toBeUndefined();
    await replica.stop();
  });
});

describe("the size of a list", () => {
  test.each<[string, number, readonly string[]]>([
    ["of 15,000 tokens is kept as it is", 15_000, ["revoked.json", "revoked.jwt"]],
    ["of 22,000 tokens is kept compressed", 22_000, ["revoked.json", "revoked.jwt.gz"]],
    ["of 60,000 tokens is not kept, but its seq is", 60_000, ["revoked.json"]],
  ])("%s", async (_rule, length, keys) => {
    const { secret, replica } = await kept(jtisOf(length));
    expect(
      Object.keys(secret.data)
        .filter((key) => key !== "jwks.json")
        .toSorted(),
    ).toEqual(keys);
    const isKept = keys.length > 1;
    expect(replica.revoked.warnings()).toHaveLength(isKept ? 0 : 1);
    await replica.stop();
    const again = await restarted({ issuer: replica.issuer, secret });
    expect([again.revoked.isKnown(), again.revoked.has("token-14999")]).toEqual([isKept, isKept]);
    await again.stop();
  });

  test("beyond what a Secret has removes the kept older list, which would forget tokens", async () => {
    const { issuer, secret, replica } = await kept();
    await replica.clock.run(5_000);
    await issuer.publish("1.11", jtisOf(60_000));
    await replica.kept("1.11");
    expect(Object.keys(secret.data).toSorted()).toEqual(["jwks.json", "revoked.json"]);
    expect(replica.revoked.warnings()).toEqual([
      expect.stringMatching(
        /^the list of revoked tokens \(\d+ bytes\) is too large for a Secret and is not kept; a restart needs the issuer$/,
      ),
    ]);
    await replica.stop();
    await issuer.publish("1.10", ["first"]);
    const again = followRevoked(issuer, secret);
    await again.until(() => again.refused.length > 0, "a refusal");
    expect([again.refused[0], again.revoked.isKnown()]).toEqual(["older", false]);
    expect(again.revoked.problems()[0]).toContain("--new-epoch");
    await again.stop();
  });

  test("that fits again is kept again", async () => {
    const { issuer, secret, replica } = await kept(jtisOf(60_000));
    await replica.clock.run(5_000);
    await issuer.publish("1.11", ["first"]);
    await replica.kept("1.11");
    expect([secret.data["revoked.jwt"] === undefined, replica.revoked.warnings()]).toEqual([
      false,
      [],
    ]);
    await replica.stop();
  });
});

describe("two replicas", () => {
  test("write the same list once", async () => {
    const { issuer, secret, replica } = await kept();
    const other = followRevoked(issuer, secret);
    await other.until(() => other.revoked.has("first"), "the list");
    await other.clock.run(20_000);
    const before = secret.writes;
    await issuer.publish("1.11", ["second"]);
    await replica.kept("1.11");
    await other.until(() => other.revoked.has("second"), "the second list");
    await other.clock.run(20_000);
    expect(secret.writes - before).toBe(1);
    await Promise.all([replica.stop(), other.stop()]);
  });

  test("never replace a newer list by an older one, even when they write at the same time", async () => {
    const { issuer, secret, replica } = await kept();
    await replica.clock.run(5_000);
    const newer = await kept(["first", "second", "third"], "1.12");
    secret.beforeWrite = () => secret.set(newer.secret.data);
    await issuer.publish("1.11", ["first", "second"]);
    await replica.until(() => replica.revoked.has("second"), "the older list");
    await replica.kept("1.12");
    await replica.clock.run(60_000);
    await settled();
    expect(persistedSeqIn(secret)).toBe("1.12");
    await Promise.all([replica.stop(), newer.replica.stop()]);
  });

  test("replace an older list after a conflict", async () => {
    const { issuer, secret, replica } = await kept();
    await replica.clock.run(5_000);
    secret.beforeWrite = () => secret.set({ other: "YQ==" });
    await issuer.publish("1.11", ["second"]);
    await replica.kept("1.11");
    expect(secret.data["other"]).toBe("YQ==");
    await replica.stop();
  });
});

describe("writes", () => {
  test("that fail are tried again, with the last list", async () => {
    const { issuer, secret, replica } = await kept();
    await replica.clock.run(5_000);
    secret.error = new KubeError("no", { code: "ServerError", status: 500 });
    for (const n of [11, 12]) {
      await issuer.publish(`1.${n}`, [`token-${n}`]);
      await replica.until(() => replica.revoked.has(`token-${n}`), "a list");
      await replica.clock.run(15_000);
    }
    expect(persistedSeqIn(secret)).toBe("1.10");
    secret.error = undefined;
    await replica.until(async () => {
      await replica.clock.run(1_000);
      return persistedSeqIn(secret) === "1.12";
    }, "the last list");
    await replica.stop();
  });

  test("are 5 s apart", async () => {
    const { issuer, secret, replica } = await kept();
    await replica.clock.run(5_000);
    const before = secret.writes;
    for (let n = 11; n < 31; n += 1) {
      await issuer.publish(`1.${n}`, [], {
        revoked: [revokedToken(`token-${n}`, issuer.clock.now() + 60_000)],
      });
      await replica.until(async () => {
        await replica.clock.run(50);
        return replica.revoked.has(`token-${n}`);
      }, "a list");
      await replica.clock.run(450);
    }
    await replica.clock.run(10_000);
    await replica.kept("1.30");
    expect(secret.writes - before).toBeGreaterThan(1);
    expect(secret.writes - before).toBeLessThanOrEqual(6);
    await replica.stop();
  });
});
