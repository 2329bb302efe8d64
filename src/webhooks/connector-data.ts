import type { AccessKeyCache } from "../authn/access-key-cache.ts";
import { recordAt, stringMapAt } from "../api/parse.ts";
import { resources } from "../api/resources.ts";
import { type ConnectorClaim, connectorClaim } from "../domain/access-key/connector-claim.ts";
import {
  tooManyUnclaimed,
  unclaimedOf,
  type WrittenSecret,
} from "../domain/access-key/unclaimed-secrets.ts";
import type { Client } from "../kube/client.ts";
import type { Clock } from "../runtime/clock.ts";
import {
  connectorDataIn,
  connectorSecret,
  isClaimOf,
  newClaim,
  withoutConnectorData,
} from "../tokens/connector-data.ts";
import { type AdmissionStep, refused } from "./admission.ts";
import type { ConnectorKey } from "./connector-key.ts";

/** What moving connector data away needs; `namespace` is Latchkey's own. */
export interface ConnectorDataDeps {
  readonly client: Pick<Client, "create">;
  readonly key: Pick<ConnectorKey, "current">;
  readonly accessKeys: Pick<AccessKeyCache, "claims">;
  readonly clock: Pick<Clock, "now">;
  readonly namespace: string;
}

/**
 * Takes connector data out of a key before anybody can see it there: a Secret of Latchkey's own
 * namespace holds it, and an annotation that only this step sets names the Secret. Data that is
 * left out is kept, an empty text takes it away. Must run last: what it has written for a write
 * that is refused afterwards, the controller removes, and there is never much of it.
 */
export function extractConnectorData({
  client,
  key,
  accessKeys,
  clock,
  namespace,
}: ConnectorDataDeps): AdmissionStep {
  let written: readonly WrittenSecret[] = [];
  const isClaimed = (secret: string): boolean => accessKeys.claims(secret);
  return async ({ object, oldObject, isDryRun, user }) => {
    const stored = connectorClaim(stringMapAt(recordAt(oldObject, "metadata"), "annotations"));
    const data = connectorDataIn(object);
    const kept = (claim: ConnectorClaim | undefined) =>
      ({ kind: "admitted", object: withoutConnectorData(object, claim) }) as const;
    if (data === undefined) return kept(stored);
    if (data.isEmpty) return kept(undefined);
    const marks = key.current();
    if (marks === undefined)
      return refused(
        503,
        "spec.identity.connectorData: Secret latchkey-connector-key is not loaded yet; retry",
      );
    if (stored !== undefined && isClaimOf(stored, data, marks)) return kept(stored);
    const claim = newClaim(data, marks);
    if (isDryRun) return kept(claim);
    const now = clock.now();
    written = unclaimedOf(written, isClaimed, now);
    const problem = tooManyUnclaimed(written, user.username);
    if (problem !== undefined) return refused(429, problem);
    // Counted before it is written: other requests go on meanwhile.
    written = [...written, { name: claim.secret, user: user.username, writtenAt: now }];
    try {
      await client.create(resources.secrets, connectorSecret(claim, data, namespace));
    } catch (error) {
      // An outage is no user's doing: whoever retries meanwhile would be refused long after it.
      written = written.filter(({ name }) => name !== claim.secret);
      throw error;
    }
    return kept(claim);
  };
}
