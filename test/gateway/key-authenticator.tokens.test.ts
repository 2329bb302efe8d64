import { expect, test } from "vitest";
import type { ResolvedKey } from "../../src/domain/access-key/key-state.ts";
import { SecretText } from "../../src/api/secret-text.ts";
import { keyAuthenticator } from "../../src/gateway/key-authenticator.ts";
import { issuerEntry, issuerUrl, oidcFixture } from "../support/oidc-fixture.ts";
import { fakeReviewDeps } from "../support/review-fixture.ts";
import { newIssuerKey, signedToken, timesAt } from "../support/token-issuer.ts";

const endKey = (): Promise<never> => Promise.reject(new Error("no key is ended"));

async function presented(spec: Parameters<ReturnType<typeof oidcFixture>["add"]>[2] = {}) {
  const fixture = oidcFixture();
  fixture.add("deploy", "sub=main", spec);
  const deps = fakeReviewDeps({ found: "malformed" });
  const accessKeys = { ...deps.accessKeys, byId: () => fixture.keys.get("deploy") };
  const { tokens, clock, signing } = fixture;
  const claims = { iss: issuerUrl, aud: "ci/deploy", sub: "main", ...timesAt(clock.now()) };
  const credential = await keyAuthenticator({
    ...deps,
    accessKeys,
    tokens,
    clock,
    endKey,
  }).authenticate(new SecretText(await signedToken(signing, claims)), "192.0.2.1");
  if (credential.kind === "refusal") throw new Error(credential.message);
  return { ...fixture, credential, endsAt: claims.exp * 1000 };
}

test("a credential that is a token ends with it, or with its key if that is earlier", async () => {
  const { credential, endsAt, clock } = await presented();
  expect([credential.endsAt(), credential.isValid()]).toEqual([endsAt, true]);
  await clock.run(endsAt - clock.now());
  expect(credential.isValid()).toBe(false);
  const short = await presented({ ttl: 60 });
  expect(short.credential.endsAt()).toBeLessThan(short.endsAt);
});

type Presented = Awaited<ReturnType<typeof presented>>;

test.each<[what: string, change: (fixture: Presented) => void]>([
  ["its key trusts other claims", ({ add }) => add("deploy", "sub=main\nref=a")],
  ["its key is gone", ({ keys }) => void keys.delete("deploy")],
  ["its key is disabled", ({ add }) => add("deploy", "sub=main", { disabled: true })],
  ["its key acts as another user", ({ add }) => add("deploy", "sub=main", { user: "bob" })],
  [
    "its key has a key",
    ({ keys }) => {
      const { tokens: _, ...resolved } = keys.get("deploy") ?? fail();
      keys.set("deploy", { ...resolved, key: { ...resolved.key, keyDigest: "d" } });
    },
  ],
  ["its issuer is gone", ({ use }) => use(new Map())],
  [
    "the key of its issuer is gone",
    ({ use, issuers }) => {
      issuers.set(issuerUrl, issuerEntry([newIssuerKey("two")]));
      use(issuers);
    },
  ],
])("a credential that is a token is not valid once %s", async (_what, change) => {
  const fixture = await presented();
  change(fixture);
  expect(fixture.credential.isValid()).toBe(false);
});

function fail(): ResolvedKey {
  throw new Error("there is no key");
}
