import { ownObjects } from "../api/names.ts";
import { keyOf } from "../api/object.ts";
import type { Route } from "../runtime/routes.ts";
import type { ProcessPart, ServerContext } from "../runtime/run-process.ts";
import type { ObservedSigningKeys } from "../tokens/signing-keys.ts";
import type { Informers } from "./informers.ts";
import { publishedKeyRoutes, publishedListRoutes } from "./issuer-routes.ts";
import { ListPolls } from "./list-polls.ts";
import { ServedRevocations } from "./served-revocations.ts";
import { ServedRoles } from "./served-roles.ts";
import type { World } from "./world.ts";

/** Whose keys and lists are published. */
interface IssuerOptions {
  readonly issuer: string;
  readonly jwksUrl: string | undefined;
  readonly namespace: string;
}

/** What every replica publishes of the issuer: its keys, the revoked tokens and the roles. */
interface Issuer {
  readonly routes: readonly Route[];
  /** Are closed after the servers began to, so that clients ask another replica next. */
  readonly parts: readonly ProcessPart[];
}

/** Builds what an issuer publishes from the stores of the controller. */
export function createIssuer(
  options: IssuerOptions,
  { stores, published }: Pick<Informers<World>, "stores" | "published">,
  { clock, log, metrics }: Pick<ServerContext, "clock" | "log" | "metrics">,
): Issuer {
  const { issuer, namespace } = options;
  const key = keyOf({ namespace, name: ownObjects.signingKeys });
  const keys = (): ObservedSigningKeys | undefined => stores.signingKeys.get(key);
  const revocations = new ServedRevocations(issuer, stores);
  const roles = new ServedRoles(issuer, { stores, published: published.roles, log });
  const polls = {
    revoked: new ListPolls(revocations, { keys, published: published.revoked, clock }),
    roles: new ListPolls(roles, { keys, published: published.roles, clock }),
  };
  metrics.onScrape("issuer", () => {
    metrics.gauge("latchkey_revoked_tokens", {}).set(revocations.tokens);
    metrics.gauge("latchkey_revoked_polls", {}).set(polls.revoked.waiting);
    metrics.gauge("latchkey_roles_polls", {}).set(polls.roles.waiting);
    const { roles: served, omitted } = roles.published();
    metrics.gauge("latchkey_published_roles", { state: "published" }).set(served.length);
    metrics.gauge("latchkey_published_roles", { state: "too-large" }).set(omitted.length);
  });
  return {
    routes: [
      ...publishedKeyRoutes(options, keys, published.revoked.isFresh),
      ...publishedListRoutes(issuer, "revoked", polls.revoked),
      ...publishedListRoutes(issuer, "roles", polls.roles),
    ],
    parts: [
      { close: () => polls.revoked.end() },
      { warnings: () => roles.warnings(), close: () => polls.roles.end() },
    ],
  };
}
