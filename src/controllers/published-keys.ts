import { type HttpResponse, json, plain, type Route } from "../runtime/routes.ts";
import {
  knownKids,
  openidConfiguration,
  type OpenidTerms,
  publicJwks,
  type ObservedSigningKeys,
} from "../tokens/signing-keys.ts";
import type { Published } from "./published-kinds.ts";

/**
 * Routes for the public signing keys and their discovery document (OpenID Connect Discovery 1.0),
 * for connected clusters: at the root, and below the path of the issuer if it has one. Clients may
 * cache them for a minute, so that a new key is known before it signs. They respond with 503 while
 * there are no keys. A replica that is cut off from the API server serves the keys that it knows,
 * and closes the connection: the next request of the client may reach another replica.
 */
export function publishedKeyRoutes(
  terms: OpenidTerms,
  keys: () => ObservedSigningKeys | undefined,
  { isFresh }: Pick<Published, "isFresh">,
): readonly Route[] {
  const published = (answer: (seen: ObservedSigningKeys) => unknown) => (): HttpResponse => {
    const seen = keys();
    if (seen === undefined) return plain(503, "no signing keys yet");
    // A kid is the thumbprint of its key, so the kids stand for the content.
    const etag = `"${[...knownKids(seen)].join(".")}"`;
    const last = isFresh() ? {} : { connection: "close" };
    return json(answer(seen), { "cache-control": "public, max-age=60", etag, ...last });
  };
  const below = new URL(terms.issuer).pathname.replace(/\/+$/, "");
  return [...new Set(["", below])].flatMap((prefix) => [
    {
      method: "GET",
      path: `${prefix}/.well-known/openid-configuration`,
      handler: published(() => openidConfiguration(terms)),
    },
    { method: "GET", path: `${prefix}/openid/v1/jwks`, handler: published(publicJwks) },
  ]);
}
