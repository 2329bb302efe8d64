import { randomUUID } from "node:crypto";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { PersistedList } from "../../src/published/persisted-list.ts";
import { PersistedState } from "../../src/published/persisted-state.ts";
import { revokedTokensList } from "../../src/published/revoked-tokens.ts";
import {
  isRevoked,
  type RevokedList,
  type RevokedToken,
  revokedToken,
  signRevokedList,
} from "../../src/tokens/revoked-list.ts";
import { publicJwks } from "../../src/tokens/signing-keys.ts";
import { eventually } from "../support/eventually.ts";
import { recordingLog } from "../support/recording-log.ts";
import { FakeStateSecret, persistedSeqIn } from "../support/revoked-list-fixture.ts";
import { settled, TestClock } from "../support/test-clock.ts";
import { newKeys, publishedKeys } from "../tokens/signed-text.ts";

const issuer = "https://issuer";
const signedAt = new TestClock().now();
const signingKeys = newKeys("signing", "next");
const keys = publishedKeys(signingKeys);
const seq = { epoch: 1, n: 20 };
const version = "1.20";
const nothing = { issuedAt: signedAt, digests: new Set<string>() };
const one = randomUUID();
const base64 = (text: string | Uint8Array) => Buffer.from(text).toString("base64");

function listIn(secret: FakeStateSecret, clock = new TestClock()): PersistedList<RevokedList> {
  const ref = { namespace: "latchkey-system", name: "latchkey-direct-endpoint-keys" };
  const state = new PersistedState({ client: secret.client, log: recordingLog() }, ref);
  return new PersistedList({ published: revokedTokensList, state, clock }, issuer);
}

const textOf = (revoked: readonly RevokedToken[] = [revokedToken(one, signedAt + 60_000)]) =>
  signRevokedList({ issuer, now: signedAt, seq, revoked }, signingKeys);

/** A Secret in which a replica persisted a list. */
async function persisted(text?: string, secret = new FakeStateSecret()) {
  const stop = new AbortController();
  const list = listIn(secret);
  const running = list.run(stop.signal);
  list.persist({ text: text ?? (await textOf()), list: { seq, ...nothing }, keys });
  const what = "the list in the Secret";
  await eventually(() => persistedSeqIn(secret) === "1.20", { every: 2, what });
  await settled();
  stop.abort();
  await running;
  return { secret, list };
}

describe("a persisted list", () => {
  test("is restored as it was, and is not persisted twice", async () => {
    const text = await textOf();
    const { secret } = await persisted(text);
    secret.set({ "jwks.json": "e30=" });
    const restored = await listIn(secret).restore();
    if (restored?.list === undefined) throw new Error("no list");
    const { list } = restored;
    expect([restored.version, list.issuedAt, isRevoked(list, one)]).toEqual([
      version,
      signedAt,
      true,
    ]);
    await persisted(text, secret);
    expect(secret.writes).toBe(1);
    await persisted(await textOf(), secret);
    expect(secret.writes).toBe(2);
  });

  test("is restored without the tokens that have expired since then", async () => {
    const { secret } = await persisted();
    const clock = new TestClock();
    await clock.run(60_000);
    expect((await listIn(secret, clock).restore())?.list?.digests.size).toBe(0);
  });

  test.each<[string, object]>([
    ["of another issuer", { issuer: "https://other" }],
    ["with a seq that is none", { seq: "1" }],
    ["without a seq", { seq: undefined }],
  ])("%s is none", async (_rule, changes) => {
    const { secret } = await persisted();
    const facts: object = { issuer, seq: "1.20", keys: [], ...changes };
    secret.set({ "revoked.json": base64(JSON.stringify(facts)) });
    expect(await listIn(secret).restore()).toBeUndefined();
  });

  test.each<[string, Readonly<Record<string, string | null>>]>([
    ["another text", { "revoked.jwt": base64("text") }],
    ["no text", { "revoked.jwt": null }],
    [
      "keys that did not sign it",
      {
        "revoked.json": base64(
          JSON.stringify({ issuer, seq: "1.20", ...publicJwks(newKeys("signing")) }),
        ),
      },
    ],
    ["bytes that are not compressed", { "revoked.jwt": null, "revoked.jwt.gz": "YWJj" }],
    [
      "a text beyond 8 MiB, which is not decompressed",
      {
        "revoked.jwt": null,
        "revoked.jwt.gz": base64(gzipSync(Buffer.alloc(64 * 1024 * 1024, "a"))),
      },
    ],
  ])("with %s has its seq alone", async (_rule, changes) => {
    const { secret } = await persisted();
    secret.set(changes);
    expect(await listIn(secret).restore()).toEqual({ version, list: undefined });
  });
});

describe("a list in a Secret of 1 MiB", () => {
  const many = (length: number) =>
    Array.from({ length }, () => revokedToken(randomUUID(), signedAt + Math.random() * 86_400_000));

  test.each<[number, string | undefined]>([
    [18_000, "revoked.jwt"],
    [22_000, "revoked.jwt.gz"],
    [40_000, undefined],
  ])("with %i tokens is persisted as %s", async (length, key) => {
    const { secret, list } = await persisted(await textOf(many(length)));
    const data = Object.entries(secret.data);
    expect(data.map(([name]) => name).filter((name) => name !== "revoked.json")).toEqual(
      key === undefined ? [] : [key],
    );
    expect(data.every(([, value]) => value.length <= 900_000)).toBe(true);
    const size = (await listIn(secret).restore())?.list?.digests.size;
    expect([size, list.warnings().length]).toEqual([key && length, key === undefined ? 1 : 0]);
  });
});
