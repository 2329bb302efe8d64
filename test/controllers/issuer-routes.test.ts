import { describe, expect, test } from "vitest";
import { publishedKeyRoutes } from "../../src/controllers/issuer-routes.ts";
import { type HttpResponse, routed } from "../../src/runtime/routes.ts";
import { parseSigningKeys } from "../../src/tokens/signing-keys.ts";
import { rawSigningKeys } from "../support/fake-informers.ts";

const unmanaged = { clientName: undefined, address: "192.0.2.1" };
const keys = parseSigningKeys(rawSigningKeys());
const issuer = "https://latchkey.example";
const get = (
  path: string,
  terms: { readonly issuer: string; readonly jwksUrl: string | undefined } = {
    issuer,
    jwksUrl: undefined,
  },
): Promise<HttpResponse> | HttpResponse =>
  routed(
    publishedKeyRoutes(
      terms,
      () => keys,
      () => true,
    ),
  )({ method: "GET", path, body: "" }, unmanaged);

describe("the published keys", () => {
  test("contain only public members, may be cached for a minute, and name their content", async () => {
    const response = await get("/openid/v1/jwks");
    expect(JSON.parse(response.body)).toEqual({
      keys: [{ ...keys.signing.publicJwk, kid: keys.signing.kid, use: "sig", alg: "ES256" }],
    });
    expect(response.headers).toMatchObject({
      "cache-control": "public, max-age=60",
      etag: `"${keys.signing.kid}"`,
    });
  });

  test.each([
    ["https://issuer", undefined, "https://issuer/openid/v1/jwks"],
    ["https://issuer/", undefined, "https://issuer/openid/v1/jwks"],
    ["https://issuer", "https://keys.example/jwks", "https://keys.example/jwks"],
  ])("of %s and %s are at %s in the discovery document", async (named, jwksUrl, jwks) => {
    const response = await get("/.well-known/openid-configuration", { issuer: named, jwksUrl });
    expect(JSON.parse(response.body)).toMatchObject({
      issuer: named,
      jwks_uri: jwks,
      id_token_signing_alg_values_supported: ["ES256"],
    });
  });

  test.for([
    ["/openid/v1/jwks", 200],
    ["/id/openid/v1/jwks", 200],
    ["/id/.well-known/openid-configuration", 200],
    ["/other/openid/v1/jwks", 404],
  ] as const)("below an issuer with a path, %s is %i", async ([path, status]) => {
    const response = await get(path, { issuer: `${issuer}/id/`, jwksUrl: undefined });
    expect(response.status).toBe(status);
  });

  test("are a 503 while there are none", async () => {
    const handler = routed(
      publishedKeyRoutes(
        { issuer, jwksUrl: undefined },
        () => undefined,
        () => true,
      ),
    );
    const response = await handler({ method: "GET", path: "/openid/v1/jwks", body: "" }, unmanaged);
    expect(response.status).toBe(503);
  });

  test("are served by a replica that is cut off, which closes the connection", async () => {
    const terms = { issuer, jwksUrl: undefined };
    const handler = routed(
      publishedKeyRoutes(
        terms,
        () => keys,
        () => false,
      ),
    );
    const response = await handler({ method: "GET", path: "/openid/v1/jwks", body: "" }, unmanaged);
    expect(response).toMatchObject({ status: 200, headers: { connection: "close" } });
  });
});
