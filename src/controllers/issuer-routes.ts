import { withoutEnd } from "../api/text-end.ts";
import { type HttpResponse, json, plain, type Route } from "../runtime/routes.ts";
import { knownKids, type ObservedSigningKeys, publicJwks } from "../tokens/signing-keys.ts";
import type { PublishedListName } from "./kinds/watched-kind.ts";
import type { ListPolls } from "./list-polls.ts";

/** The URL of an issuer, and that of its JWK Set if it is not below the issuer. */
interface OpenidOptions {
  readonly issuer: string;
  readonly jwksUrl: string | undefined;
}

/**
 * Routes for the public signing keys and their discovery document (OpenID Connect Discovery 1.0),
 * for connected clusters: at the root, and below the path of the issuer if it has one. Clients may
 * cache them for a minute, so that a new key is known before it signs. They respond with 503 while
 * there are no keys. A replica that is cut off from the API server serves the keys that it knows,
 * and closes the connection: the next request of the client may reach another replica.
 */
export function publishedKeyRoutes(
  options: OpenidOptions,
  keys: () => ObservedSigningKeys | undefined,
  isFresh: () => boolean,
): readonly Route[] {
  const published = (answer: (seen: ObservedSigningKeys) => unknown) => (): HttpResponse => {
    const seen = keys();
    if (seen === undefined) return plain(503, "no signing keys yet");
    // A kid is the thumbprint of its key, so the kids stand for the content.
    const etag = `"${[...knownKids(seen)].join(".")}"`;
    const last = isFresh() ? {} : { connection: "close" };
    return json(answer(seen), { "cache-control": "public, max-age=60", etag, ...last });
  };
  return prefixes(options.issuer).flatMap((prefix) => [
    {
      method: "GET",
      path: `${prefix}/.well-known/openid-configuration`,
      handler: published(() => openidConfiguration(options)),
    },
    { method: "GET", path: `${prefix}/openid/v1/jwks`, handler: published(publicJwks) },
  ]);
}

/**
 * The discovery document of an issuer (OpenID Connect Discovery 1.0 section 3), with the same
 * fields as that of kube-apiserver's own issuer.
 */
function openidConfiguration({
  issuer,
  jwksUrl,
}: OpenidOptions): Readonly<Record<string, string | readonly string[]>> {
  return {
    issuer,
    jwks_uri: jwksUrl ?? `${issuer.replace(/\/$/, "")}/openid/v1/jwks`,
    response_types_supported: ["id_token"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: ["ES256"],
  };
}

const listPaths: Readonly<Record<PublishedListName, string>> = {
  revoked: "/openid/v1/revoked",
  roles: "/openid/v1/roles",
};

/** `GET /openid/v1/<name>?after=<version>`: a list, beside the published keys. */
export function publishedListRoutes(
  issuer: string,
  name: PublishedListName,
  polls: ListPolls,
): readonly Route[] {
  return prefixes(issuer).map((prefix) => ({
    method: "GET",
    path: `${prefix}${listPaths[name]}`,
    handler: (request, peer): Promise<HttpResponse> => polls.respond(request, peer),
  }));
}

/** The root, and the path of the issuer if it has one. */
function prefixes(issuer: string): readonly string[] {
  return [...new Set(["", withoutEnd(new URL(issuer).pathname, "/")])];
}
