import { group } from "../../src/api/names.ts";
import { type Scope, writeScope } from "../../src/api/scope.ts";
import { SecretText } from "../../src/api/secret-text.ts";
import type { TokenClaims } from "../../src/domain/endpoint-token/token-claims.ts";
import { directRoutes } from "../../src/domain/gateway/request-target.ts";
import { tokenAuthenticator } from "../../src/gateway/token-authenticator.ts";
import { parseSigningKeys, publicJwks } from "../../src/tokens/signing-keys.ts";
import { parseVerificationKeys } from "../../src/tokens/verification-keys.ts";
import { VerifiedTokens } from "../../src/tokens/verified-tokens.ts";
import { mintToken } from "../../src/tokens/direct-token.ts";
import { rawSigningKeys } from "./fake-informers.ts";
import {
  aliceKey,
  bobKey,
  type FrontCredentials,
  type GatewayFixture,
  type GatewayFixtureOptions,
  keyOf,
  managementPath,
  startGateway,
} from "./gateway-fixture.ts";
import { requestText } from "./raw-client.ts";

/** A way in whose front, limits and forwarding are the same; the credential and the path differ. */
export interface FrontWay {
  readonly name: "gateway" | "direct endpoint";
  /** Where it serves the recorder. */
  readonly prefix: string;
  /** A credential of alice, in the group devs, and one of bob. */
  readonly alice: string;
  readonly bob: string;
  /** Names and values of alice's extras, which the recorder sees. */
  readonly extras: readonly (readonly [name: string, value: RegExp])[];
  /** Timers that a front has without requests: one is for the end of a direct token. */
  readonly idleTimers: 0 | 1;
  start(options?: GatewayFixtureOptions): Promise<WayFixture>;
}

/** A front with one of the credentials. */
export interface WayFixture extends GatewayFixture {
  /** Ends alice's credential, and lets the front notice. */
  revoke(): void;
  restore(): void;
  /** Another credential of alice, with a scope. */
  scoped(scope: Scope): Promise<string>;
  /** A credential of a user, whose object has this uid. */
  credential(user: string, uid: string): Promise<string>;
}

const credentialId = [
  "impersonate-extra-management.service%2fcredential-id",
  /^uid-alice$/,
] as const;

const gateway: FrontWay = {
  name: "gateway",
  prefix: managementPath,
  alice: aliceKey,
  bob: bobKey,
  idleTimers: 0,
  extras: [
    ["impersonate-extra-management.service%2fkey-id", /^uid-alice$/],
    ["impersonate-extra-management.service%2fscope-hash", /^.+$/],
    credentialId,
  ],
  async start(options) {
    const fixture = await startGateway(options);
    return Object.assign(fixture, {
      revoke() {
        fixture.keys.set(aliceKey, keyOf("alice", { disabled: true }));
        fixture.inFlight.changed();
      },
      restore: () => void fixture.keys.set(aliceKey, keyOf("alice")),
      async credential(user: string, uid: string) {
        const { key, ...others } = keyOf(user);
        const text = `key-of-${uid}-for-tests`;
        fixture.keys.set(text, { ...others, key: { ...key, metadata: { ...key.metadata, uid } } });
        return text;
      },
      async scoped(scope: Scope) {
        const text = `key-${fixture.keys.size}-with-a-scope`;
        const { key, ...others } = keyOf("alice", { scope });
        const metadata = { ...key.metadata, uid: text };
        fixture.keys.set(text, { ...others, key: { ...key, metadata } });
        return text;
      },
    });
  },
};

const signingKeys = parseSigningKeys(rawSigningKeys());
const audience = "management.service/direct";
const origin = { issuer: "https://latchkey.example", audiences: [audience] };
/** The clocks of tests begin in 2026, and some are those of the system. */
const [madeAt, endsAt] = [Date.UTC(2025, 0, 1) / 1000, Date.UTC(2100, 0, 1) / 1000];

/** A direct token that is valid in every test, but for what a test changes. */
export async function directToken(claims: Partial<TokenClaims> = {}): Promise<string> {
  const good: TokenClaims = {
    iss: origin.issuer,
    aud: audience,
    sub: "alice",
    jti: "uid-alice",
    iat: madeAt,
    nbf: madeAt,
    exp: endsAt,
    groups: ["devs"],
    [group]: { name: "laptop" },
  };
  return SecretText.reveal((await mintToken({ ...good, ...claims }, signingKeys)).token);
}

/** Verifies direct tokens like a direct endpoint of the cluster `east`. */
export function directCredentials(revoked: ReadonlySet<string>): FrontCredentials {
  const published = parseVerificationKeys(Buffer.from(JSON.stringify(publicJwks(signingKeys))));
  if (!published.ok) throw new Error(published.reason);
  const { keys } = published;
  return {
    routes: directRoutes({ kind: "cluster", cluster: "east" }),
    authenticator: ({ clock, isFresh, onResult }) =>
      tokenAuthenticator({
        clock,
        namespace: "latchkey-system",
        tokens: new VerifiedTokens(keys, origin),
        keys: { has: (kid) => keys.has(kid), problems: () => [], refresh: async () => false },
        revoked: { has: (jti) => revoked.has(jti), isKnown: isFresh },
        roles: { current: () => new Map() },
        prefixes: { user: "", groups: "" },
        onResult,
      }),
  };
}

const direct: FrontWay = {
  name: "direct endpoint",
  prefix: "/kubernetes/cluster",
  alice: await directToken(),
  bob: await directToken({ sub: "bob", jti: "uid-bob" }),
  extras: [credentialId],
  idleTimers: 1,
  async start(options) {
    const revoked = new Set<string>();
    const fixture = await startGateway({ ...options, credentials: directCredentials(revoked) });
    return Object.assign(fixture, {
      revoke() {
        revoked.add("uid-alice");
        fixture.inFlight.changed();
      },
      restore: () => revoked.clear(),
      credential: (user: string, uid: string) => directToken({ sub: user, jti: uid }),
      scoped: (scope: Scope) =>
        directToken({ [group]: { name: "scoped", scope: JSON.stringify(writeScope(scope)) } }),
    });
  },
};

/** The gateway with access keys, and a direct endpoint with direct tokens. */
export const frontWays: readonly FrontWay[] = [gateway, direct];

/** Bytes that are meant for the gateway, as bytes for a way in: another path and credential. */
export function bytesFor(
  { prefix, alice, bob }: Pick<FrontWay, "prefix" | "alice" | "bob">,
  bytes: string,
): string {
  return bytes
    .replaceAll(managementPath, prefix)
    .replaceAll(aliceKey, alice)
    .replaceAll(bobKey, bob);
}

/** Makes texts of requests to a way in, like {@link requestText}. */
export function requestTextOf(way: FrontWay): typeof requestText {
  return (...parts) => bytesFor(way, requestText(...parts));
}
