import { ownObjects } from "../api/names.ts";
import { recordAt, stringMapAt } from "../api/parse.ts";
import { resources } from "../api/resources.ts";
import type { SecretText } from "../api/secret-text.ts";
import type { AccessKeyCache } from "../authn/access-key-cache.ts";
import {
  type ConnectorDataRef,
  connectorDataRef,
  unreferencedProblem,
  unreferencedSecrets,
  type WrittenSecret,
} from "../domain/access-key/connector-data.ts";
import type { Client } from "../kube/client/client.ts";
import { isKubeError } from "../kube/client/kube-error.ts";
import { type Clock, sleep } from "../runtime/clock.ts";
import type { Logger } from "../runtime/log.ts";
import {
  connectorDataIn,
  connectorSecret,
  isRefTo,
  newConnectorDataRef,
  withoutConnectorData,
  connectorKeySecret,
  parseConnectorKey,
} from "../tokens/connector-data.ts";
import { type AdmissionStep, refused } from "./admission.ts";

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

/** Dependencies of {@link createConnectorKey}; `namespace` is Latchkey's own. */
interface ConnectorKeyDeps {
  readonly client: Pick<Client, "get" | "create">;
  readonly namespace: string;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The HMAC key of connector data references, which all replicas share. */
export interface ConnectorKey {
  /** The key; undefined until it is loaded. */
  current(): SecretText | undefined;
  /**
   * Loads the key, or creates it, so that no review has to wait for it; resolves when the key is
   * loaded or the signal aborts.
   */
  run(signal: AbortSignal): Promise<void>;
}

const retryMs = { first: 500, longest: 15_000 } as const;

/** Creates a {@link ConnectorKey}; `run` loads the key. */
export function createConnectorKey({
  client,
  namespace,
  clock,
  log,
}: ConnectorKeyDeps): ConnectorKey {
  let loaded: SecretText | undefined;
  const read = async (): Promise<SecretText> =>
    parseConnectorKey(
      await client.get(resources.secrets, { namespace, name: ownObjects.connectorKey }),
    );

  async function load(): Promise<SecretText> {
    try {
      return await read();
    } catch (error) {
      if (!isKubeError(error, "NotFound")) throw error;
    }
    try {
      return parseConnectorKey(
        await client.create(resources.secrets, connectorKeySecret(namespace)),
      );
    } catch (error) {
      if (!isKubeError(error, "AlreadyExists")) throw error;
    }
    return read();
  }

  return {
    current: () => loaded,
    async run(signal) {
      for (
        let pauseMs: number = retryMs.first;
        loaded === undefined && !signal.aborted;
        pauseMs = Math.min(pauseMs * 2, retryMs.longest)
      ) {
        try {
          loaded = await load();
        } catch (error) {
          log.warn(
            isKubeError(error) ? { code: error.code, why: error.message } : { error },
            "loading the connector data key failed, retrying",
          );
          await sleep(pauseMs, { clock, signal });
        }
      }
    },
  };
}
