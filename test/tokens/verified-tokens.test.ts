import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { SecretText } from "../../src/api/secret-text.ts";
import { cacheLimits } from "../../src/tokens/recent-tokens.ts";
import { VerifiedTokens } from "../../src/tokens/verified-tokens.ts";
import { newKeys, publishedKeys, signedText, signerWith } from "./signed-text.ts";

const second = 1_767_225_600;
const now = second * 1000;
const signingKeys = newKeys("retired", "signing");
const keys = publishedKeys(signingKeys);
const others = publishedKeys(newKeys("signing"));
const origin = { issuer: "https://issuer", audiences: ["aud"] };
const [retired, signing] = signingKeys.keys;

function tokenOf(sub: string, changes: object = {}, key = signing): SecretText {
  const claims = {
    iss: origin.issuer,
    aud: "aud",
    sub,
    jti: sub,
    iat: second,
    nbf: second,
  };
  const payload = { ...claims, exp: second + 600, "management.service": { name: sub }, ...changes };
  const privateKey = (key ?? signingKeys.signing).privateKey;
  const header = { alg: "ES256", typ: "JWT", kid: key?.kid };
  return new SecretText(signedText(header, payload, signerWith(privateKey)));
}

/** Whether the cache answers with the result that it has, instead of verifying again. */
async function isKept(tokens: VerifiedTokens, token: SecretText, first: object): Promise<boolean> {
  const again = await tokens.verify(token, now);
  return again.ok && again.token === first;
}

async function verified(tokens: VerifiedTokens, token: SecretText): Promise<object> {
  const result = await tokens.verify(token, now);
  return result.ok ? result.token : {};
}

describe("a verified token", () => {
  const token = tokenOf("alice");

  test("is kept", async () => {
    const tokens = new VerifiedTokens(keys, origin);
    const first = await verified(tokens, token);
    expect(first).toMatchObject({ sub: "alice" });
    expect(await isKept(tokens, token, first)).toBe(true);
    expect(await isKept(tokens, new SecretText(SecretText.reveal(token)), first)).toBe(true);
    expect(tokens.size).toBe(1);
  });

  test("is kept once when it is verified twice at the same time", async () => {
    const tokens = new VerifiedTokens(keys, origin);
    const results = await Promise.all([tokens.verify(token, now), tokens.verify(token, now)]);
    expect(results.map(({ ok }) => ok)).toEqual([true, true]);
    expect(tokens.size).toBe(1);
  });

  test("is refused at exp, and leaves", async () => {
    const tokens = new VerifiedTokens(keys, origin);
    await tokens.verify(token, now);
    expect((await tokens.verify(token, now + 599_999)).ok).toBe(true);
    expect(await tokens.verify(token, now + 600_000)).toEqual({ ok: false, reason: "expired" });
    expect(tokens.size).toBe(0);
  });

  test("that no client sends again leaves within a minute of exp", async () => {
    const tokens = new VerifiedTokens(keys, origin);
    await tokens.verify(token, now);
    await tokens.verify(tokenOf("bob", { exp: second + 6000 }), now + 600_000);
    expect(tokens.size).toBe(1);
  });

  test("leaves with its key", async () => {
    const tokens = new VerifiedTokens(keys, origin);
    const old = tokenOf("old", {}, retired);
    await verified(tokens, old);
    const first = await verified(tokens, token);
    tokens.replaceKeys(new Map([...keys].filter(([kid]) => kid !== retired?.kid)));
    expect(await isKept(tokens, token, first)).toBe(true);
    expect(tokens.size).toBe(1);
    expect(await tokens.verify(old, now)).toEqual({ ok: false, reason: "unknown-kid" });
  });

  test("is refused if its key is removed while it is verified", async () => {
    const tokens = new VerifiedTokens(keys, origin);
    const result = tokens.verify(token, now);
    tokens.replaceKeys(others);
    expect(await result).toEqual({ ok: false, reason: "unknown-kid" });
    expect(tokens.size).toBe(0);
  });

  test("is not in the memory of the cache as text", async () => {
    const tokens = new VerifiedTokens(keys, origin);
    await tokens.verify(token, now);
    const shown = inspect(tokens, { depth: 9, showHidden: true });
    expect(shown).not.toContain(SecretText.reveal(token).split(".")[2]);
  });
});

describe("a refused token is not kept", () => {
  const token = tokenOf("alice");

  test("with an unknown kid, and is accepted as soon as the key is known", async () => {
    const tokens = new VerifiedTokens(others, origin);
    expect(await tokens.verify(token, now)).toEqual({ ok: false, reason: "unknown-kid" });
    tokens.replaceKeys(keys);
    expect((await tokens.verify(token, now)).ok).toBe(true);
  });

  test.each<[string, SecretText, string]>([
    ["that is too long", new SecretText("a".repeat(8193)), "oversized"],
    ["that is malformed", new SecretText("a.b"), "malformed"],
    ["that has expired", tokenOf("a", { exp: second }), "expired"],
    ["for another audience", tokenOf("a", { aud: "other" }), "audience"],
    ["of another issuer", tokenOf("a", { iss: "other" }), "issuer"],
  ])("%s", async (_rule, refused, reason) => {
    const tokens = new VerifiedTokens(keys, origin);
    expect(await tokens.verify(refused, now)).toEqual({ ok: false, reason });
    expect(tokens.size).toBe(0);
  });
});

describe("a full cache", () => {
  test("has 10,000 tokens, and 8 MiB of them", () => {
    expect(cacheLimits).toEqual({ tokens: 10_000, characters: 8_388_608 });
  });

  test("evicts the least recently used token", async () => {
    const tokens = new VerifiedTokens(keys, origin, { ...cacheLimits, tokens: 10 });
    const all = Array.from({ length: 10 }, (_, index) => tokenOf(`u${index}`));
    const results: object[] = [];
    for (const token of all) results.push(await verified(tokens, token));
    const isStillKept = (index: number) =>
      isKept(tokens, all[index] ?? tokenOf("none"), results[index] ?? {});
    expect(tokens.size).toBe(10);
    expect(await isStillKept(0)).toBe(true);
    for (const index of [1, 2, 3]) expect(await isStillKept(index)).toBe(true);
    await tokens.verify(tokenOf("one more"), now);
    expect(tokens.size).toBe(10);
    const kept = [0, 1, 2, 3, 5, 6, 7, 8, 9, 4].map((index) => isStillKept(index));
    expect(await Promise.all(kept)).toEqual([...Array(9).fill(true), false]);
  });

  test("evicts tokens for one that is longer", async () => {
    const long = tokenOf("long", { pad: "a".repeat(4000) });
    const characters = long.length + 2 * tokenOf("u1").length;
    const tokens = new VerifiedTokens(keys, origin, { ...cacheLimits, characters });
    for (const index of [1, 2, 3, 4, 5]) await tokens.verify(tokenOf(`u${index}`), now);
    expect(tokens.size).toBe(5);
    const first = await verified(tokens, long);
    expect(tokens.size).toBe(3);
    expect(await isKept(tokens, long, first)).toBe(true);
  });

  test("has no token that is longer than the cache", async () => {
    const tokens = new VerifiedTokens(keys, origin, { ...cacheLimits, characters: 100 });
    expect((await tokens.verify(tokenOf("u"), now)).ok).toBe(true);
    expect(tokens.size).toBe(0);
  });

  test("counts a token once that is verified again and again", async () => {
    const token = tokenOf("u");
    const limits = { ...cacheLimits, characters: 2 * token.length };
    const tokens = new VerifiedTokens(keys, origin, limits);
    const first = await verified(tokens, token);
    for (let time = 0; time < 10; time += 1) await tokens.verify(token, now);
    await tokens.verify(tokenOf("v"), now);
    expect(await isKept(tokens, token, first)).toBe(true);
    expect(tokens.size).toBe(2);
  });
});
