import { describe, expect, test } from "vitest";
import { publishedKeyRoutes } from "../../src/controllers/published-keys.ts";
import { type HttpResponse, routed } from "../../src/runtime/routes.ts";
import { parseSigningKeys } from "../../src/tokens/signing-keys.ts";
import { rawSigningKeys } from "../support/fake-informers.ts";

const unmanaged = { clientName: undefined };
const keys = parseSigningKeys(rawSigningKeys());
const get = (
  path: string,
  seen: typeof keys | undefined = keys,
): Promise<HttpResponse> | HttpResponse =>
  routed(publishedKeyRoutes("https://latchkey.example", () => seen))(
    { method: "GET", path, body: "" },
    unmanaged,
  );

describe("the published keys", () => {
  test("contain only public members and may be cached for a minute", async () => {
    const response = await get("/openid/v1/jwks");
    expect(JSON.parse(response.body)).toEqual({
      keys: [{ ...keys.signing.publicJwk, kid: keys.signing.kid, use: "sig", alg: "ES256" }],
    });
    expect(response.headers["cache-control"]).toBe("public, max-age=60");
  });

  test("are found through the discovery document of the issuer", async () => {
    const response = await get("/.well-known/openid-configuration");
    expect(JSON.parse(response.body)).toMatchObject({
      issuer: "https://latchkey.example",
      jwks_uri: "https://latchkey.example/openid/v1/jwks",
    });
  });

  test("are a 503 while there are none", async () => {
    const handler = routed(publishedKeyRoutes("https://latchkey.example", () => undefined));
    const response = await handler({ method: "GET", path: "/openid/v1/jwks", body: "" }, unmanaged);
    expect(response.status).toBe(503);
  });
});
