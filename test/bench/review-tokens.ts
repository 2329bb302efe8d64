import { annotations } from "../../src/api/names.ts";
import { post } from "../support/bare-client.ts";
import { tokenRuleRequest } from "../support/bench-objects.ts";
import { newIssuerKey, signedToken, timesAt } from "../support/token-issuer.ts";
import type { BenchFixture } from "./bench-fixture.ts";

const [issuer, audience] = ["https://oidc.bench.example", "bench"];

/**
 * Makes an issuer, so many keys that trust a token of it each, and the tokens of `used` of them,
 * spread over all.
 */
export async function seedTokens(
  { admin }: BenchFixture,
  { keys, used }: { readonly keys: number; readonly used: number },
): Promise<readonly string[]> {
  const signing = newIssuerKey("bench", "RS256");
  const jwks = JSON.stringify({ keys: [signing.publicJwk] });
  await admin.send(
    post("/api/v1/namespaces/latchkey-system/configmaps", {
      metadata: { name: "latchkey-issuers" },
      data: {
        "issuers.yaml": JSON.stringify({
          apiVersion: "apiserver.config.k8s.io/v1",
          kind: "AuthenticationConfiguration",
          jwt: [{ issuer: { url: issuer, audiences: [audience], jwks } }],
        }),
      },
    }),
  );
  // Behind the keys with a scope in each list.
  const nameOf = (index: number): string => `trusting-${index}`;
  await admin.pour(keys, (index) =>
    tokenRuleRequest(nameOf(index), {
      [annotations.issuer]: issuer,
      [annotations.claims]: `sub=${nameOf(index)}\nenvironment=production`,
    }),
  );
  const step = Math.max(1, Math.floor(keys / used));
  const { iat, exp } = timesAt(Date.now());
  return Promise.all(
    Array.from({ length: Math.min(keys, used) }, (_, at) => {
      const name = nameOf(at * step);
      const aud = `${audience}/${name}`;
      const claims = { iss: issuer, aud, sub: name, environment: "production", jti: name };
      // As long as one of GitHub.
      const padding = "x".repeat(700);
      return signedToken(signing, { ...claims, padding, iat, exp: exp + 36_000 });
    }),
  );
}
