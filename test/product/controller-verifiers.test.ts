import { createPublicKey, generateKeyPairSync } from "node:crypto";
import { rootCertificates } from "node:tls";
import { decodeProtectedHeader, SignJWT } from "jose";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { isRecord, listAt, parseMetadata, recordAt, stringAt } from "../../src/api/parse.ts";
import { newEs256Jwk } from "../../src/tokens/es256-key.ts";
import { parseSigningKeys, type SigningKey } from "../../src/tokens/signing-keys.ts";
import { startConnectProxy } from "../support/connect-proxy.ts";
import { eventually } from "../support/eventually.ts";
import { issuerCa } from "../support/gateway-address.ts";
import { allowRequesters, make, viewOf } from "../support/keys-and-tokens.ts";
import { api, unique, type Caller } from "../support/policy-request.ts";
import { isMissing, type Missing, orMissing, present } from "../support/prepared.ts";
import { skippedWithout } from "../support/skipped.ts";
import { startVerifier, type TokenVerifier, verifierNames } from "../support/token-verifiers.ts";
import { expectNoTrouble } from "./controller-oracle.ts";

const kind = "DirectClusterEndpointToken";
const requesters = unique("requesters");
const alice: Caller = { user: "alice", groups: ["devs", requesters] };
const issuer = "https://latchkey.latchkey-system.svc";
const audience = "management.service/direct";
const secretPath = "/api/v1/namespaces/latchkey-system/secrets/latchkey-signing-keys";
const otherKey = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
const now = (): number => Math.floor(Date.now() / 1000);

// The verifiers reach the issuer by the name of its Service, as from within a cluster.
const routes = { [`${new URL(issuer).hostname}:443`]: inject("controller").issuerUrl };
const proxy = await startConnectProxy(routes);
const verifiers = new Map<string, TokenVerifier | Missing>();
for (const name of verifierNames) {
  const report = (line: string) => void process.stderr.write(`${name}: ${line}\n`);
  verifiers.set(name, await orMissing(startVerifier(name, proxy.url, { report })));
}

let ca: string;
let signing: SigningKey;

async function mint(): Promise<{ readonly name: string; readonly token: string }> {
  const own = await make(kind, { by: alice });
  const token = await eventually(async () => (await viewOf(own)).token, {
    what: `${own.name} to be minted`,
  });
  return { name: own.name, token };
}

/** How a wrong token differs from those that Latchkey mints. */
interface Forgery {
  readonly claims?: () => object;
  readonly header?: object;
  readonly key?: () => Parameters<SignJWT["sign"]>[0];
}

function forge({ claims, header, key }: Forgery): Promise<string> {
  const good = {
    iss: issuer,
    sub: "alice",
    aud: audience,
    jti: "a-uid",
    iat: now() - 5,
    nbf: now() - 5,
    exp: now() + 600,
    groups: ["devs"],
    "management.service": { name: "forged" },
  };
  return new SignJWT({ ...good, ...claims?.() })
    .setProtectedHeader({ alg: "ES256", typ: "JWT", kid: signing.kid, ...header })
    .sign(key?.() ?? signing.privateKey);
}

/** A good token with another header, and without a signature. */
async function unsigned(): Promise<string> {
  const [, payload = ""] = (await forge({})).split(".");
  const header = JSON.stringify({ alg: "none", typ: "JWT", kid: signing.kid });
  return `${Buffer.from(header).toString("base64url")}.${payload}.`;
}

function publicPem(): Uint8Array {
  const publicKey = createPublicKey({ key: { ...signing.publicJwk }, format: "jwk" });
  return new TextEncoder().encode(String(publicKey.export({ format: "pem", type: "spki" })));
}

/** Makes a new key sign at once; a rotation publishes it 105 seconds before. Returns its kid. */
async function replaceSigningKey(): Promise<string> {
  const secret = await api.get(secretPath);
  const encoded = stringAt(recordAt(secret, "data"), "keys.json") ?? "";
  const stored: unknown = JSON.parse(Buffer.from(encoded, "base64").toString("utf8"));
  const since = new Date().toISOString();
  const added = { ...newEs256Jwk(), state: "signing", createdAt: since, since };
  const retired = listAt(stored, "keys")
    .filter(isRecord)
    .map((key) => (key.state === "signing" ? { ...key, state: "retired", since } : key));
  const keys = Buffer.from(JSON.stringify({ keys: [...retired, added] })).toString("base64");
  const { resourceVersion } = parseMetadata(secret);
  const body = { metadata: { resourceVersion }, data: { "keys.json": keys } };
  await api.merge(secretPath, body);
  return added.kid;
}

beforeAll(async () => {
  await allowRequesters(requesters);
  ca = await issuerCa(inject("controlPlane"));
  ({ signing } = parseSigningKeys(await api.get(secretPath)));
});

afterAll(async () => {
  for (const verifier of verifiers.values()) if (!isMissing(verifier)) verifier.stop();
  await proxy.stop();
  expectNoTrouble();
});

describe.skipIf(!inject("hasPolicies")).each(verifierNames)("%s", (name) => {
  const verifier = verifiers.get(name);
  const verify = async (token: string, trusted = ca): Promise<unknown> =>
    present(verifier)?.verify({ issuer, audience, ca: trusted, token });

  describe("with what it discovers at the issuer", skippedWithout(verifier), () => {
    it("accepts a token, with its claims", async () => {
      const { name, token } = await mint();
      expect(await verify(token)).toMatchObject({
        ok: true,
        claims: {
          iss: issuer,
          aud: audience,
          sub: "alice",
          groups: ["devs", requesters],
          "management.service": { name },
        },
      });
    });

    it("accepts what a test signs like Latchkey, so that only the change of a wrong token decides", async () => {
      expect(await verify(await forge({}))).toMatchObject({ ok: true });
    });

    it.for<[string, string, Forgery]>([
      ["of another issuer", "issuer", { claims: () => ({ iss: "https://other.example" }) }],
      ["for another audience", "audience", { claims: () => ({ aud: "other" }) }],
      ["that has expired", "expired", { claims: () => ({ exp: now() - 1 }) }],
      ["with an unknown kid", "signature", { header: { kid: "unknown" } }],
      ["of another key with the right kid", "signature", { key: () => otherKey }],
      [
        "with the public key as a secret",
        "algorithm",
        { header: { alg: "HS256" }, key: publicPem },
      ],
    ])("refuses a token %s", async ([, reason, forgery]) => {
      expect(await verify(await forge(forgery))).toEqual({ ok: false, reason });
    });

    it("refuses a token without a signature", async () => {
      expect(await verify(await unsigned())).toEqual({ ok: false, reason: "algorithm" });
    });

    it("refuses an issuer with a certificate of a CA that it does not trust", async () => {
      const { token } = await mint();
      const others = rootCertificates.slice(0, 3).join("\n");
      expect(await verify(token, others)).toEqual({ ok: false, reason: "discovery" });
    });

    it("accepts tokens of the former and of the new signing key without a restart", async () => {
      const former = await mint();
      const kid = await replaceSigningKey();
      const token = await eventually(
        async () => {
          const minted = await mint();
          return decodeProtectedHeader(minted.token).kid === kid && minted.token;
        },
        { what: "a token of the new signing key" },
      );
      await eventually(
        async () => recordAt({ verdict: await verify(token) }, "verdict").ok === true,
        {
          what: "the new signing key to be fetched",
        },
      );
      expect(await verify(former.token)).toMatchObject({ ok: true });
    });
  });
});
