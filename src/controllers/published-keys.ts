import { type HttpResponse, json, plain, type Route } from "../runtime/routes.ts";
import {
  openidConfiguration,
  publicJwks,
  type ObservedSigningKeys,
} from "../tokens/signing-keys.ts";

/**
 * The public signing keys and where to find them (OpenID Connect Discovery 1.0), for connected
 * clusters: kept by them for a minute at most, so that a new key is known before it signs. 503
 * while there are none.
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
