import { writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { fetch, Agent } from "undici";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { recordAt, stringAt } from "../../src/api/parse.ts";
import { SecretText } from "../../src/api/secret-text.ts";
import { findOrBuildControlPlane } from "../support/binaries.ts";
import { startConnectProxy } from "../support/connect-proxy.ts";
import { type StartedControlPlane, startControlPlane } from "../support/control-plane.ts";
import { hasDedicatedClusters } from "../support/dedicated-cluster.ts";
import { eventually } from "../support/eventually.ts";
import { followedOidc } from "../support/oidc-fixture.ts";
import { startVerifier, type TokenVerifier } from "../support/token-verifiers.ts";
import {
  newIssuerKey,
  signedToken,
  startTokenIssuer,
  timesAt,
  type TokenIssuer,
} from "../support/token-issuer.ts";

/*
 * Tokens of an issuer, judged by Latchkey, by go-oidc and by the authenticator of kube-apiserver:
 * what Latchkey accepts, both accept.
 */

const signing = [newIssuerKey("ec"), newIssuerKey("rsa", "RS256"), newIssuerKey("big", "ES512")];
const unknownKey = newIssuerKey("ec");
const audience = "ci/deploy";
const seconds = 3_600;

/** What differs from a token that is accepted; absent: nothing. */
interface Difference {
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly header?: object;
  /** Changes the JSON of the claims. */
  readonly text?: (json: string) => string;
  /** Changes the signed token. */
  readonly token?: (token: string) => string;
}

const instants = fc.constantFrom<unknown>(
  undefined,
  null,
  0,
  -1,
  1e300,
  "1",
  ...[-2 * seconds, -301, -61, -1, 0, 1, 59, 90, 301, seconds, 25 * seconds].map((by) => ({ by })),
);
const audiences = fc.constantFrom<unknown>(
  ...[undefined, null, 1, "", audience, "ci", "ci/other", "ci/Deploy", "ci/deploy/", "ci/deploy "],
  ...[[audience], [audience, "x"], ["x"], [], [audience, "ci/other"], [[audience]], [audience, 1]],
  { [audience]: true },
);
// A list that contains the value matches a rule of a key, and none of the others.
const subjects = fc.constantFrom<unknown>(
  ...["main", "Main", "main ", "ma\u0000in", "\u{1F511}", "", 1, true, null, { a: "main" }],
);

/** One or two claims that differ. */
const claims = fc
  .record({
    ...{ aud: audiences, sub: subjects, exp: instants, iat: instants, nbf: instants },
    extra: fc.jsonValue(),
  })
  .chain((all) =>
    fc
      .subarray(Object.entries(all), { minLength: 1, maxLength: 2 })
      .map((few): Record<string, unknown> => Object.fromEntries(few)),
  );
const header = fc.record(
  {
    typ: fc.constantFrom("JWT", "jwt", "JOSE", "at+jwt", 1, null),
    kid: fc.constantFrom("ec", "rsa", "big", "EC", "", null),
    cty: fc.constantFrom("JWT", "x"),
    jwk: fc.constant(unknownKey.publicJwk),
    jku: fc.constant("https://evil.example/keys"),
  },
  { requiredKeys: [] },
);
const text = fc.constantFrom(
  (json: string) => json.replace(/}$/, ',"sub":"main"}'),
  (json: string) => json.replace(/^{/, '{"sub":"other",'),
  (json: string) => json.replace('"sub"', '"\\u0073ub"'),
  (json: string) => json.replace('"sub"', '"SUB"'),
  (json: string) => ` ${json}\n`,
  (json: string) => `${json}{}`,
  (json: string) => `\uFEFF${json}`,
  (json: string) => json.replace('"main"', '"ma\\u0069n"'),
);
const token = fc.constantFrom(
  (signed: string) => `${signed}=`,
  (signed: string) => `${signed} `,
  (signed: string) => `${signed}.`,
  (signed: string) => signed.replaceAll("-", "+").replaceAll("_", "/"),
  (signed: string) => `${signed.slice(0, -1)}${signed.endsWith("A") ? "B" : "A"}`,
  (signed: string) => signed.split(".").slice(0, 2).join("."),
  (signed: string) => signed.toUpperCase(),
);

const difference: fc.Arbitrary<Difference> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ claims }) },
  { weight: 2, arbitrary: fc.record({ header }) },
  { weight: 2, arbitrary: fc.record({ text }) },
  { weight: 1, arbitrary: fc.record({ token }) },
  { weight: 1, arbitrary: fc.record({ claims, header, text, token }, { requiredKeys: [] }) },
);

describe.skipIf(!hasDedicatedClusters)("a token of an issuer", () => {
  const stops: (() => unknown)[] = [];
  let issuer: TokenIssuer;
  let goOidc: TokenVerifier;
  let cluster: StartedControlPlane;
  let agent: Agent;
  let ours: Awaited<ReturnType<typeof followedOidc>>;

  beforeAll(async () => {
    const report = (line: string) => void process.stderr.write(`${line}\n`);
    issuer = await startTokenIssuer(...signing);
    stops.push(() => issuer.stop());
    const { host } = new URL(issuer.url);
    const proxy = await startConnectProxy({ [host]: issuer.url });
    stops.push(() => proxy.stop());
    goOidc = await startVerifier("go-oidc", proxy.url, { report });
    stops.push(() => goOidc.stop());
    cluster = await startControlPlane(await findOrBuildControlPlane(report));
    stops.push(() => cluster.stop());
    const file = join(cluster.directory, "authentication.json");
    const entry = { url: issuer.url, audiences: [audience], certificateAuthority: issuer.ca };
    const configuration = {
      apiVersion: "apiserver.config.k8s.io/v1",
      kind: "AuthenticationConfiguration",
      jwt: [
        {
          issuer: entry,
          claimValidationRules: [{ claim: "sub", requiredValue: "main" }],
          claimMappings: { username: { claim: "sub", prefix: "job:" } },
        },
      ],
    };
    writeFileSync(file, JSON.stringify(configuration));
    await cluster.restartApiServer([`--authentication-config=${file}`]);
    agent = new Agent({ connect: { ca: cluster.certificateAuthority } });
    stops.push(() => agent.destroy());
    ours = await followedOidc(
      { url: issuer.url, audiences: ["ci"], ca: issuer.ca },
      { key: "deploy", claims: "sub=main" },
    );
    stops.push(() => ours.stop());
    const good = await tokenOf({});
    await eventually(async () => (await byKubernetes(good)) && (await byLatchkey(good)), {
      what: "the token to be accepted",
    });
  });
  afterAll(async () => {
    for (const stop of stops.splice(0).toReversed()) await stop();
  });

  async function tokenOf({ claims = {}, header = {}, text, token }: Difference, at = 0) {
    const now = timesAt(Date.now());
    const timed = Object.entries(claims).map(([name, value]) => {
      const by = recordAt({ value }, "value")["by"];
      return [name, typeof by === "number" ? now.iat + by : value] as const;
    });
    const all = {
      iss: issuer.url,
      aud: audience,
      sub: "main",
      ...now,
      ...Object.fromEntries(timed),
    };
    const json = JSON.stringify(all);
    const key = signing[at % signing.length] ?? unknownKey;
    const signed = await signedToken(key, text?.(json) ?? json, header);
    return token?.(signed) ?? signed;
  }

  async function byLatchkey(token: string): Promise<boolean> {
    const identity = await ours.tokens.identify(new SecretText(token));
    return identity?.kind === "authenticated";
  }

  async function byGoOidc(token: string): Promise<boolean> {
    const asked = { issuer: issuer.url, audience, ca: issuer.ca, token };
    const answer = await goOidc.verify(asked);
    const { ok } = recordAt({ answer }, "answer");
    return ok === true && stringAt(recordAt(answer, "claims"), "sub") === "main";
  }

  async function byKubernetes(token: string): Promise<boolean> {
    try {
      const answer = await fetch(`${cluster.url}/api`, {
        dispatcher: agent,
        headers: { authorization: `Bearer ${token}` },
      });
      await answer.arrayBuffer();
      return answer.status !== 401;
    } catch (error) {
      // A text that no header can have.
      if (error instanceof TypeError) return false;
      throw error;
    }
  }

  it("is accepted by all with each key of the issuer", async () => {
    for (const at of signing.keys()) {
      const token = await tokenOf({}, at);
      expect([await byLatchkey(token), await byGoOidc(token), await byKubernetes(token)]).toEqual([
        true,
        true,
        true,
      ]);
    }
  });

  it("that Latchkey accepts is accepted by go-oidc and by kube-apiserver", async () => {
    const counts = { ours: 0, theirs: 0, all: 0 };
    await fc.assert(
      fc.asyncProperty(difference, fc.nat(2), async (different, at) => {
        const token = await tokenOf(different, at);
        const isOurs = await byLatchkey(token);
        const theirs = [await byGoOidc(token), await byKubernetes(token)];
        counts.all += 1;
        if (isOurs) counts.ours += 1;
        if (theirs.every(Boolean)) counts.theirs += 1;
        expect(isOurs && theirs.includes(false)).toBe(false);
      }),
      { numRuns: 3_000 },
    );
    process.stderr.write(
      `of ${counts.all} tokens, Latchkey accepts ${counts.ours}, the two others ${counts.theirs}\n`,
    );
    expect(counts.ours).toBeGreaterThan(30);
    expect(counts.theirs).toBeGreaterThanOrEqual(counts.ours);
  });
});
