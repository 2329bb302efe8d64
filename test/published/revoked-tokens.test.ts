import { describe, expect, test } from "vitest";
import { listUrl as urlOf } from "../../src/published/published-list.ts";
import { revokedTokensList } from "../../src/published/revoked-tokens.ts";
import { HttpsDocumentError } from "../../src/kube/client/https-document.ts";
import {
  FakeIssuer,
  FakeStateSecret,
  followRevoked,
  type FollowingOptions,
  listUrl,
  revokedUntil,
} from "../support/revoked-list-fixture.ts";
import { settled, TestClock } from "../support/test-clock.ts";
import { newKeys, signedText, signerWith } from "../tokens/signed-text.ts";

const away = new HttpsDocumentError("ECONNREFUSED");
const maximumAge = 600_000;

/** A replica that follows an issuer with a first list, which revokes the token `first`. */
async function following(options: FollowingOptions = {}) {
  const issuer = new FakeIssuer(new TestClock(), newKeys("signing"));
  await issuer.publish("1.10", ["first"]);
  const replica = followRevoked(issuer, new FakeStateSecret(), options);
  await replica.until(() => replica.revoked.has("first"), "the first list");
  await settled();
  return replica;
}

type Following = Awaited<ReturnType<typeof following>>;

/** Lets the next poll begin, once what the last one brought is used. */
async function nextPoll({ clock, issuer, until }: Following): Promise<void> {
  const { length } = issuer.polls;
  await until(async () => {
    await clock.run(250);
    return issuer.polls.length > length;
  }, "the next poll");
  await settled();
}

describe("the URL of the list", () => {
  test.each([
    ["https://a/openid/v1/jwks", "https://a/openid/v1/revoked"],
    ["https://a:8443/b/openid/v1/jwks", "https://a:8443/b/openid/v1/revoked"],
    ["https://a/keys.json", "https://a/revoked"],
  ])("beside %s is %s", (jwks, url) => {
    expect(urlOf(revokedTokensList, jwks)).toBe(url);
  });
});

describe("the list of revoked tokens", () => {
  test("is unknown until the issuer has answered", async () => {
    const issuer = new FakeIssuer(new TestClock(), newKeys("signing"));
    const replica = followRevoked(issuer, new FakeStateSecret());
    expect(replica.revoked.isKnown()).toBe(false);
    await replica.until(() => issuer.polls.length === 1, "a poll");
    await settled();
    expect(replica.revoked.problems()).toEqual([
      `no list of revoked tokens from ${listUrl}: status 503; check the connection`,
    ]);
    expect([replica.revoked.confirmedAt(), replica.revoked.warnings()]).toEqual([0, []]);
    await issuer.publish("0.0");
    await nextPoll(replica);
    await replica.until(() => replica.revoked.isKnown(), "the list");
    expect([replica.revoked.problems(), replica.revoked.warnings()]).toEqual([[], []]);
    await replica.stop();
  });

  test("is asked for at once, then by its seq, and once more after each 304", async () => {
    const replica = await following();
    expect(replica.revoked.has("second")).toBe(false);
    await replica.clock.run(250);
    expect(replica.issuer.polls).toEqual([undefined, "1.10"]);
    await replica.clock.run(100_000);
    expect(replica.issuer.polls).toEqual([undefined, "1.10", "1.10", "1.10"]);
    expect(replica.issuer.open).toBe(1);
    await replica.stop();
  });

  test("is replaced by a newer one, which decides about live requests again", async () => {
    const replica = await following();
    await replica.clock.run(10_000);
    expect(replica.state.changes).toBe(1);
    await replica.issuer.publish("1.11", ["second"]);
    await replica.until(() => replica.revoked.has("second"), "the second list");
    expect([replica.revoked.has("first"), replica.state.changes]).toEqual([false, 2]);
    await replica.stop();
  });

  test("is asked for at most four times a second, though each answer is another", async () => {
    const replica = await following();
    for (const n of [11, 12, 13, 14]) {
      await replica.issuer.publish(`1.${n}`, [`token-${n}`]);
      await replica.until(() => replica.revoked.has(`token-${n - 1}`) || n === 11, "a list");
      await settled();
      await replica.clock.run(250);
      await replica.until(() => replica.revoked.has(`token-${n}`), "the list");
    }
    expect(replica.issuer.polls).toHaveLength(5);
    await replica.stop();
  });

  test("is asked for once a second where a cache answers at once", async () => {
    const replica = await following();
    const text = await replica.issuer.publish("1.11", ["second"]);
    await nextPoll(replica);
    await replica.until(() => replica.revoked.has("second"), "the second list");
    replica.issuer.answer = Buffer.from(text);
    replica.issuer.wake();
    const { length } = replica.issuer.polls;
    for (let second = 0; second < 5; second += 1) await nextPoll(replica);
    expect(replica.issuer.polls.length - length).toBe(5);
    expect(replica.clock.monotonic()).toBeGreaterThanOrEqual(4_000);
    expect([replica.state.changes, replica.revoked.warnings()]).toEqual([2, []]);
    await replica.stop();
  });

  test("is asked for no more after the end, which ends the poll", async () => {
    const replica = await following();
    await replica.clock.run(250);
    expect(replica.issuer.open).toBe(1);
    await replica.stop();
    expect(replica.issuer.open).toBe(0);
    expect(replica.log.lines.filter(({ level }) => level === "warn")).toEqual([]);
  });

  test("with 200,000 tokens is taken", async () => {
    const replica = await following();
    await replica.clock.run(250);
    const jtis = Array.from({ length: 200_000 }, (_, n) => `token-${n}`);
    await replica.issuer.publish("1.11", jtis);
    await replica.until(() => replica.revoked.has("token-199999"), "the large list");
    expect(replica.revoked.has("token-200000")).toBe(false);
    await replica.stop();
  });
});

describe("a list is taken by its seq", () => {
  test.each<[string, string, boolean]>([
    ["newer", "1.11", true],
    ["of a newer epoch, whatever its number", "2.0", true],
    ["the same, with other entries", "1.10", false],
    ["older", "1.9", false],
    ["of an older epoch, whatever its number", "0.99", false],
  ])("%s: %s", async (_rule, seq, isTaken) => {
    const replica = await following();
    const text = await replica.issuer.publish(seq, ["other"]);
    replica.issuer.answer = Buffer.from(text);
    await nextPoll(replica);
    await nextPoll(replica);
    expect([replica.revoked.has("other"), replica.revoked.has("first")]).toEqual([
      isTaken,
      !isTaken,
    ]);
    await replica.stop();
  });

  test("a replayed list is refused, and the answer says what to do after a restore", async () => {
    const replica = await following();
    const first = await replica.issuer.publish("1.11", ["second"]);
    await nextPoll(replica);
    await replica.issuer.publish("1.12", ["second", "third"]);
    await replica.until(() => replica.revoked.has("second"), "the second list");
    await nextPoll(replica);
    await replica.until(() => replica.revoked.has("third"), "the third list");
    replica.issuer.publishText("1.11", first);
    await nextPoll(replica);
    await replica.until(() => replica.refused.length > 0, "a refusal");
    expect(replica.refused[0]).toBe("older");
    await settled();
    expect(replica.revoked.has("third")).toBe(true);
    expect(replica.revoked.problems()).toEqual([]);
    expect(replica.revoked.warnings()).toEqual([
      `the list of revoked tokens at ${listUrl} cannot be used: its seq 1.11 is older than 1.12, the last that was used; if the central cluster was restored, run kubectl latchkey rotate-signing-key --new-epoch there; the last list is used`,
    ]);
    await replica.stop();
  });

  test("a new epoch ends the refusal of the lists of a restored cluster", async () => {
    const replica = await following();
    await replica.clock.run(250);
    await replica.issuer.publish("1.2", ["restored"]);
    await replica.until(() => replica.refused.length === 1, "a refusal");
    await replica.issuer.publish("2.2", ["restored"]);
    await nextPoll(replica);
    await replica.until(() => replica.revoked.has("restored"), "the list of the new epoch");
    await settled();
    expect([replica.revoked.has("first"), replica.revoked.warnings()]).toEqual([false, []]);
    await replica.stop();
  });
});

describe("a list is refused", () => {
  const claims = (issuer: FakeIssuer) => ({
    iss: "https://latchkey.example",
    iat: Math.floor(issuer.clock.now() / 1000),
    seq: "1.11",
    revoked: "",
  });
  const header = ({ keys }: FakeIssuer) => ({
    alg: "ES256",
    typ: "latchkey-revoked+jwt",
    kid: keys.signing.kid,
  });
  const signed = (issuer: FakeIssuer, head: object = {}, changes: object = {}) =>
    signedText(
      { ...header(issuer), ...head },
      { ...claims(issuer), ...changes },
      signerWith(issuer.keys.signing.privateKey),
    );
  const strange = newKeys("signing");

  test.each<[string, string, (issuer: FakeIssuer) => string]>([
    [
      "with a wrong signature",
      "signature",
      (issuer) =>
        signedText(header(issuer), claims(issuer), signerWith(strange.signing.privateKey)),
    ],
    [
      "of a key that is not published",
      "unknown-kid",
      (issuer) =>
        signedText(
          { ...header(issuer), kid: strange.signing.kid },
          claims(issuer),
          signerWith(strange.signing.privateKey),
        ),
    ],
    ["that is a token", "type", (issuer) => signed(issuer, { typ: "JWT" })],
    ["of another issuer", "issuer", (issuer) => signed(issuer, {}, { iss: "https://other" })],
    ["with half an entry", "entries", (issuer) => signed(issuer, {}, { revoked: "AAAA" })],
    ["without a seq", "claims", (issuer) => signed(issuer, {}, { seq: 11 })],
    ["with a malformed seq", "seq", (issuer) => signed(issuer, {}, { seq: "1.011" })],
    ["with another algorithm", "algorithm", (issuer) => signed(issuer, { alg: "none" })],
    ["with a key of its own", "header", (issuer) => signed(issuer, { jku: "https://a" })],
    ["that is a page", "malformed", () => "<html>"],
    ["that is empty", "malformed", () => ""],
  ])("%s: %s", async (_rule, reason, text) => {
    const replica = await following();
    replica.issuer.answer = Buffer.from(text(replica.issuer));
    await nextPoll(replica);
    await replica.until(() => replica.refused.length > 0, "a refusal");
    await settled();
    expect(replica.refused[0]).toBe(reason);
    expect(revokedTokensList.refusals).toContain(reason);
    expect([replica.revoked.has("first"), replica.revoked.isKnown()]).toEqual([true, true]);
    expect(replica.revoked.warnings()).toEqual([
      `the list of revoked tokens at ${listUrl} cannot be used: the list is refused (${reason}); the last list is used`,
    ]);
    expect(replica.state.changes).toBe(1);
    await replica.stop();
  });

  test("that is too large", async () => {
    const replica = await following();
    replica.issuer.answer = new HttpsDocumentError("more than 8 bytes", { isTooLarge: true });
    await nextPoll(replica);
    await replica.until(() => replica.refused.length > 0, "a refusal");
    expect([replica.refused[0], replica.revoked.has("first")]).toEqual(["oversized", true]);
    await replica.stop();
  });

  test("and asked for again after 1 s, 2 s ... and then every 15 s", async () => {
    const replica = await following();
    await replica.clock.run(10_000);
    replica.issuer.answer = Buffer.from("<html>");
    replica.issuer.wake();
    await replica.until(() => replica.refused.length === 1, "a refusal");
    await settled();
    const pauses = new Array<number | undefined>();
    for (let refusals = 2; refusals < 8; refusals += 1) {
      const { length } = replica.issuer.polls;
      const began = replica.clock.monotonic();
      while (replica.issuer.polls.length === length) await replica.clock.run(250);
      pauses.push(replica.clock.monotonic() - began);
      await replica.until(() => replica.refused.length === refusals, "a refusal");
      await settled();
    }
    expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 15_000, 15_000]);
    await replica.stop();
  });

  test("and asked for again after 1 s once the issuer has answered in between", async () => {
    const replica = await following();
    replica.issuer.answer = away;
    for (let failures = 0; failures < 4; failures += 1) await nextPoll(replica);
    replica.issuer.answer = undefined;
    await nextPoll(replica);
    await nextPoll(replica);
    expect(replica.issuer.polls.at(-1)).toBe("1.10");
    replica.issuer.answer = away;
    replica.issuer.wake();
    await settled();
    const { length } = replica.issuer.polls;
    await replica.clock.run(1_000);
    expect(replica.issuer.polls.length - length).toBe(1);
    await replica.stop();
  });
});

describe("a list of a new signing key", () => {
  test("is verified with the keys of now, which are fetched once", async () => {
    const replica = await following();
    await replica.clock.run(20_000);
    const before = replica.state.keyFetches;
    replica.issuer.keys = newKeys("signing");
    await replica.issuer.publish("1.11", ["second"]);
    await replica.until(() => replica.revoked.has("second"), "the list of the new key");
    expect([replica.state.keyFetches - before, replica.refused]).toEqual([1, []]);
    await replica.stop();
  });
});

describe("while the issuer does not answer", () => {
  test("the last list is used, which is a warning, and ends as soon as it answers", async () => {
    const replica = await following();
    const confirmedAt = replica.clock.now();
    await replica.clock.run(250);
    replica.issuer.answer = away;
    replica.issuer.wake();
    await replica.clock.run(86_400_000);
    expect(replica.revoked.has("first")).toBe(true);
    expect([replica.revoked.isKnown(), replica.revoked.problems()]).toEqual([true, []]);
    expect(replica.revoked.confirmedAt()).toBe(confirmedAt);
    expect(replica.revoked.warnings()).toEqual([
      `the list of revoked tokens at ${listUrl} cannot be used: ECONNREFUSED; the last list is used`,
    ]);
    expect(replica.log.lines.filter(({ level }) => level === "warn")).toHaveLength(1);
    replica.issuer.answer = undefined;
    await nextPoll(replica);
    await replica.until(() => replica.revoked.warnings().length === 0, "an answer");
    expect(replica.issuer.polls.at(-1)).toBeUndefined();
    await replica.stop();
  });

  test("nothing is accepted once the list is older than the maximum age", async () => {
    const replica = await following({ maximumAge });
    await replica.clock.run(250);
    replica.issuer.answer = away;
    replica.issuer.wake();
    await replica.clock.run(maximumAge - 1_000);
    expect(replica.revoked.isKnown()).toBe(true);
    await replica.clock.run(1_000);
    expect([replica.revoked.isKnown(), replica.revoked.problems()]).toEqual([
      false,
      [
        `the list of revoked tokens from ${listUrl} is older than --maximum-list-age: ECONNREFUSED; check the connection`,
      ],
    ]);
    replica.issuer.answer = undefined;
    await nextPoll(replica);
    await replica.until(() => replica.revoked.isKnown(), "an answer");
    expect(replica.revoked.problems()).toEqual([]);
    await replica.stop();
  });

  test("a 304 confirms the list, and the wall clock does not matter", async () => {
    const replica = await following({ maximumAge });
    await replica.clock.run(maximumAge * 3);
    expect(replica.revoked.isKnown()).toBe(true);
    replica.clock.stepWallClock(86_400_000);
    expect(replica.revoked.isKnown()).toBe(true);
    replica.issuer.answer = away;
    replica.issuer.wake();
    replica.clock.stepWallClock(-2 * 86_400_000);
    await replica.clock.run(maximumAge + 1_000);
    expect(replica.revoked.isKnown()).toBe(false);
    await replica.stop();
  });

  test("a list from the future is no younger", async () => {
    const replica = await following({ maximumAge });
    await replica.clock.run(250);
    const tomorrow = replica.clock.now() + 86_400_000;
    const revoked = revokedUntil(tomorrow, ["second"]);
    await replica.issuer.publish("1.11", [], { now: tomorrow, revoked });
    await replica.until(() => replica.revoked.has("second"), "the list");
    replica.issuer.answer = away;
    await replica.clock.run(maximumAge + 60_000);
    expect(replica.revoked.isKnown()).toBe(false);
    await replica.stop();
  });
});
