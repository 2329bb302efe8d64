import type { AccessKeyCache } from "../authn/access-key-cache.ts";
import { recordAt, stringMapAt } from "../api/parse.ts";
import { resources } from "../api/resources.ts";
import {
  type ConnectorDataRef,
  connectorDataRef,
} from "../domain/access-key/connector-data-ref.ts";
import {
  unreferencedProblem,
  unreferencedSecrets,
  type WrittenSecret,
} from "../domain/access-key/unreferenced-secrets.ts";
import type { Client } from "../kube/client.ts";
import type { Clock } from "../runtime/clock.ts";
import {
  connectorDataIn,
  connectorSecret,
  isRefTo,
  newConnectorDataRef,
  withoutConnectorData,
} from "../tokens/connector-data.ts";
import { type AdmissionStep, refused } from "./admission.ts";
import type { ConnectorKey } from "./connector-key.ts";

/** Dependencies of {@link extractConnectorData}; `namespace` is Latchkey's own. */
interface ConnectorDataDeps {
  readonly client: Pick<Client, "create">;
  readonly key: Pick<ConnectorKey, "current">;
  readonly accessKeys: Pick<AccessKeyCache, "references">;
  readonly clock: Pick<Clock, "now">;
  readonly namespace: string;
}

/**
 * Moves connector data out of a key before the key is stored: a Secret in Latchkey's own namespace
 * contains it, and an annotation that only this step sets references the Secret. Omitted data is
 * kept, an empty string removes it. Must run last: if the write is rejected after this step, the
 * Secret is left for the controller to delete, and the number of such Secrets is limited.
 */
export function extractConnectorData({
  client,
  key,
  accessKeys,
  clock,
  namespace,
}: ConnectorDataDeps): AdmissionStep {
  let written: readonly WrittenSecret[] = [];
  const isReferenced = (secret: string): boolean => accessKeys.references(secret);
  return async ({ object, oldObject, isDryRun, user }) => {
    const stored = connectorDataRef(stringMapAt(recordAt(oldObject, "metadata"), "annotations"));
    const data = connectorDataIn(object);
    const kept = (ref: ConnectorDataRef | undefined) =>
      ({ kind: "admitted", object: withoutConnectorData(object, ref) }) as const;
    if (data === undefined) return kept(stored);
    if (data.isEmpty) return kept(undefined);
    const marks = key.current();
    if (marks === undefined)
      return refused(
        503,
        "spec.identity.connectorData: Secret latchkey-connector-key is not loaded yet; retry",
      );
    if (stored !== undefined && isRefTo(stored, data, marks)) return kept(stored);
    const ref = newConnectorDataRef(data, marks);
    if (isDryRun) return kept(ref);
    const now = clock.now();
    written = unreferencedSecrets(written, isReferenced, now);
    const problem = unreferencedProblem(written, user.username);
    if (problem !== undefined) return refused(429, problem);
    // Counted before the write, because other requests run concurrently.
    written = [...written, { name: ref.secret, user: user.username, writtenAt: now }];
    try {
      await client.create(resources.secrets, connectorSecret(ref, data, namespace));
    } catch (error) {
      // Users do not cause an outage: if it counted, retries would be rejected long after it.
      written = written.filter(({ name }) => name !== ref.secret);
      throw error;
    }
    return kept(ref);
  };
}
