import { type HttpResponse, json, plain, type Route } from "../runtime/routes.ts";
import {
  openidConfiguration,
  publicJwks,
  type ObservedSigningKeys,
} from "../tokens/signing-keys.ts";

/**
 * Routes for the public signing keys and their discovery document (OpenID Connect Discovery 1.0),
 * for connected clusters. Clients may cache them for a minute, so that a new key is known before it
 * signs. They respond with 503 while there are no keys.
 */
export function publishedKeyRoutes(
  issuer: string,
  keys: () => ObservedSigningKeys | undefined,
): readonly Route[] {
  const published = (answer: (seen: ObservedSigningKeys) => unknown) => (): HttpResponse => {
    const seen = keys();
    if (seen === undefined) return plain(503, "no signing keys yet");
    return json(answer(seen), { "cache-control": "public, max-age=60" });
  };
  return [
    {
      method: "GET",
      path: "/.well-known/openid-configuration",
      handler: published(() => openidConfiguration(issuer)),
    },
    { method: "GET", path: "/openid/v1/jwks", handler: published(publicJwks) },
  ];
}
