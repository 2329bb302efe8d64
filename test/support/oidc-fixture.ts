import { FollowedIssuers } from "../../src/authn/followed-issuers.ts";
import { OidcTokens, type TokenRefusal } from "../../src/authn/oidc-tokens.ts";
import { annotations } from "../../src/api/names.ts";
import type { ResolvedKey } from "../../src/domain/access-key/key-state.ts";
import type { IssuerEntry } from "../../src/domain/oidc/issuer-entries.ts";
import { type Issuers, trustedTokens } from "../../src/domain/oidc/trusted-tokens.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { eventually } from "./eventually.ts";
import { recordingLog } from "./recording-log.ts";
import { resolvedKeyWith } from "./review-fixture.ts";
import { TestClock } from "./test-clock.ts";
import { type IssuerKey, newIssuerKey } from "./token-issuer.ts";

/** The URL of the issuer of {@link oidcFixture}. */
export const issuerUrl = "https://oidc.example";

/** An issuer that nobody has to ask: its keys are in its entry. */
export function issuerEntry(
  keys: readonly IssuerKey[],
  entry: Partial<IssuerEntry> = {},
): IssuerEntry {
  return {
    url: issuerUrl,
    discoveryUrl: undefined,
    audiences: ["ci"],
    ca: undefined,
    jwks: JSON.stringify({ keys: keys.map(({ publicJwk }) => publicJwk) }),
    required: [],
    ...entry,
  };
}

/** A key that trusts tokens with these claims, of the first issuer by default. */
export function keyOfClaims(
  name: string,
  claims: string,
  issuers: Issuers,
  spec: Parameters<typeof resolvedKeyWith>[0] = {},
): ResolvedKey {
  const resolved = resolvedKeyWith(spec);
  const [url = issuerUrl] = issuers.keys();
  const given = { [annotations.issuer]: url, [annotations.claims]: claims };
  const metadata = { ...resolved.key.metadata, name, uid: `uid-${name}`, annotations: given };
  const tokens = trustedTokens(metadata, issuers);
  return {
    ...resolved,
    key: { ...resolved.key, metadata, keyDigest: undefined },
    ...(tokens === undefined ? {} : { tokens }),
  };
}

/** What judges tokens of one issuer, and the keys that they may name. */
export function oidcFixture(entry: Partial<IssuerEntry> = {}) {
  const clock = new TestClock();
  const signing = newIssuerKey("one");
  const issuers = new Map([[issuerUrl, issuerEntry([signing], entry)]]);
  const followed = new FollowedIssuers({
    clock,
    log: recordingLog(),
    proxyOf: () => undefined,
    onKeys() {},
  });
  followed.use(issuers);
  const keys = new Map<string, ResolvedKey>();
  const add = (name: string, claims: string, spec?: Parameters<typeof resolvedKeyWith>[0]) =>
    void keys.set(name, keyOfClaims(name, claims, issuers, spec));
  add("deploy", "sub=main");
  const refusals: TokenRefusal[] = [];
  const state = { isFresh: true };
  const tokens = new OidcTokens({
    issuers: { isFresh: () => state.isFresh, of: (url) => followed.of(url) },
    accessKeys: { byName: (name) => keys.get(name) },
    clock,
    onRefused: (reason) => void refusals.push(reason),
  });
  const use = (changed: Issuers): void => followed.use(changed);
  return { clock, signing, issuers, use, keys, add, refusals, tokens, state };
}

/** What judges the tokens of a running issuer by the clock of the machine, once its keys are read. */
export async function followedOidc(
  { url, audiences, ca }: Pick<IssuerEntry, "url" | "audiences" | "ca">,
  { key, claims }: { readonly key: string; readonly claims: string },
) {
  const entry = issuerEntry([], { url, audiences, ca, jwks: undefined });
  const issuers = new Map([[url, entry]]);
  const followed = new FollowedIssuers({
    clock: systemClock,
    log: recordingLog(),
    proxyOf: () => undefined,
    onKeys() {},
  });
  followed.use(issuers);
  const stop = new AbortController();
  const running = followed.run(stop.signal);
  await eventually(() => followed.of(url)?.current() !== undefined, {
    what: "the keys to be read",
  });
  const resolved = keyOfClaims(key, claims, issuers);
  const tokens = new OidcTokens({
    issuers: { isFresh: () => true, of: (issuer) => followed.of(issuer) },
    accessKeys: { byName: (name) => (name === key ? resolved : undefined) },
    clock: systemClock,
    onRefused() {},
  });
  return {
    tokens,
    async stop() {
      stop.abort();
      await running;
    },
  };
}
