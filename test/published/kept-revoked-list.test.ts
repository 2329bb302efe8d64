import { randomUUID } from "node:crypto";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import {
  hasList,
  isKept,
  type KeptListData,
  keptListData,
  keptSeq,
  readKeptList,
} from "../../src/published/kept-revoked-list.ts";
import {
  isRevoked,
  type RevokedToken,
  revokedToken,
  signRevokedList,
} from "../../src/tokens/revoked-list.ts";
import { publicJwks } from "../../src/tokens/signing-keys.ts";
import { newKeys, publishedKeys } from "../tokens/signed-text.ts";

const issuer = "https://issuer";
const now = Date.UTC(2026, 0, 1);
const signingKeys = newKeys("signing", "next");
const keys = publishedKeys(signingKeys);
const seq = { epoch: 1, n: 20 };
const one = randomUUID();
const base64 = (text: string | Uint8Array) => Buffer.from(text).toString("base64");

async function dataOf(revoked: readonly RevokedToken[] = [revokedToken(one, now + 60_000)]) {
  const text = await signRevokedList({ issuer, now, seq, revoked }, signingKeys);
  return keptListData({ text, seq, keys }, issuer);
}

const secretOf = (data: KeptListData, changes: object = {}) => ({
  data: Object.fromEntries(
    Object.entries({ ...data, ...changes }).filter(([, value]) => value !== null),
  ),
});
const read = (raw: unknown, at = now) => readKeptList(raw, { issuer, now: at });

describe("a kept list", () => {
  test("is read as it was, and is not kept twice", async () => {
    const data = await dataOf();
    const raw = secretOf(data, { "jwks.json": "e30=" });
    const kept = await read(raw);
    if (kept?.list === undefined) throw new Error("no list");
    expect([kept.seq, kept.list.issuedAt, isRevoked(kept.list, one)]).toEqual([seq, now, true]);
    expect([isKept(raw, data), isKept({}, data), hasList(data)]).toEqual([true, false, true]);
  });

  test("is read without the tokens that have expired since then", async () => {
    const kept = await read(secretOf(await dataOf()), now + 60_000);
    expect(kept?.list?.digests.size).toBe(0);
  });

  test.each<[string, object]>([
    ["of another issuer", { issuer: "https://other" }],
    ["with a seq that is none", { seq: "1" }],
    ["without a seq", { seq: undefined }],
  ])("%s is none", async (_rule, changes) => {
    const data = await dataOf();
    const facts: object = { issuer, seq: "1.20", keys: [], ...changes };
    const raw = secretOf(data, { "revoked.json": base64(JSON.stringify(facts)) });
    expect([await read(raw), keptSeq(raw, issuer)]).toEqual([undefined, undefined]);
  });

  test.each<[string, (data: KeptListData) => object]>([
    ["another text", () => ({ "revoked.jwt": base64("text") })],
    ["no text", () => ({ "revoked.jwt": null })],
    [
      "keys that did not sign it",
      () => ({
        "revoked.json": base64(
          JSON.stringify({ issuer, seq: "1.20", ...publicJwks(newKeys("signing")) }),
        ),
      }),
    ],
    ["bytes that are not compressed", () => ({ "revoked.jwt": null, "revoked.jwt.gz": "YWJj" })],
    [
      "a text beyond 8 MiB, which is not decompressed",
      () => ({
        "revoked.jwt": null,
        "revoked.jwt.gz": base64(gzipSync(Buffer.alloc(64 * 1024 * 1024, "a"))),
      }),
    ],
  ])("with %s has its seq alone", async (_rule, changes) => {
    const data = await dataOf();
    expect(await read(secretOf(data, changes(data)))).toEqual({ seq, list: undefined });
  });
});

describe("a list in a Secret of 1 MiB", () => {
  const many = (length: number) =>
    Array.from({ length }, () => revokedToken(randomUUID(), now + Math.random() * 86_400_000));

  test.each<[number, string | undefined]>([
    [18_000, "revoked.jwt"],
    [22_000, "revoked.jwt.gz"],
    [40_000, undefined],
  ])("with %i tokens is kept as %s", async (length, key) => {
    const tokens = many(length);
    const data = await dataOf(tokens);
    const kept = Object.entries(data).filter(([, value]) => value !== null);
    expect(kept.map(([name]) => name).filter((name) => name !== "revoked.json")).toEqual(
      key === undefined ? [] : [key],
    );
    expect(kept.every(([, value]) => (value?.length ?? 0) <= 900_000)).toBe(true);
    const size = (await read(secretOf(data)))?.list?.digests.size;
    expect([size, hasList(data)]).toEqual([key && length, key !== undefined]);
  });
});
