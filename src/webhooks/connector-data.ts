import { ownObjects } from "../api/names.ts";
import { recordAt, stringMapAt } from "../api/parse.ts";
import { resources } from "../api/resources.ts";
import type { SecretText } from "../api/secret-text.ts";
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
import type { AdmissionContext } from "./admission-context.ts";
import { type AdmissionStep, refused } from "./admission.ts";

/**
 * Moves connector data out of a key before the key is stored: a Secret in Latchkey's own namespace
 * contains it, and an annotation that only this step sets references the Secret. Omitted data is
 * kept, an empty string removes it. Must run last: if the write is rejected after this step, the
 * Secret is left for the controller to delete, and the number of such Secrets is limited.
 */
export function extractConnectorData(): AdmissionStep {
  const secrets = new ConnectorSecrets();
  return async ({ object, oldObject, isDryRun, user }, context) => {
    const stored = connectorDataRef(stringMapAt(recordAt(oldObject, "metadata"), "annotations"));
    const data = connectorDataIn(object);
    const kept = (ref: ConnectorDataRef | undefined) =>
      ({ kind: "admitted", object: withoutConnectorData(object, ref) }) as const;
    if (data === undefined) return kept(stored);
    if (data.isEmpty) return kept(undefined);
    const marks = context.connectorKey.current();
    if (marks === undefined)
      return refused(
        503,
        "spec.identity.connectorData: Secret latchkey-connector-key is not loaded yet; retry",
      );
    if (stored !== undefined && isRefTo(stored, data, marks)) return kept(stored);
    const ref = newConnectorDataRef(data, marks);
    if (isDryRun) return kept(ref);
    const problem = await secrets.write(ref, { data, user: user.username }, context);
    return problem === undefined ? kept(ref) : refused(429, problem);
  };
}

/** Writes Secrets of connector data; the number of those that no key references is limited. */
class ConnectorSecrets {
  #written: readonly WrittenSecret[] = [];

  /** Returns why the user may write no other Secret; undefined if it is written. */
  async write(
    ref: ConnectorDataRef,
    { data, user }: { readonly data: SecretText; readonly user: string },
    { accessKeys, client, clock, options }: AdmissionContext,
  ): Promise<string | undefined> {
    const now = clock.now();
    const isReferenced = (secret: string): boolean => accessKeys.references(secret);
    this.#written = unreferencedSecrets(this.#written, isReferenced, now);
    const problem = unreferencedProblem(this.#written, user);
    if (problem !== undefined) return problem;
    // Counted before the write, because other requests run concurrently.
    this.#written = [...this.#written, { name: ref.secret, user, writtenAt: now }];
    try {
      await client.create(resources.secrets, connectorSecret(ref, data, options.namespace));
    } catch (error) {
      // Users do not cause an outage: if it counted, retries would be rejected long after it.
      this.#written = this.#written.filter(({ name }) => name !== ref.secret);
      throw error;
    }
    return undefined;
  }
}

/** Dependencies of {@link createConnectorKey}; `namespace` is Latchkey's own. */
interface ConnectorKeyDeps {
  readonly client: Pick<Client, "get" | "create">;
  readonly namespace: string;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The HMAC key of connector data references, which all replicas share. */
interface ConnectorKey {
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
  return {
    current: () => loaded,
    async run(signal) {
      for (
        let pauseMs: number = retryMs.first;
        loaded === undefined && !signal.aborted;
        pauseMs = Math.min(pauseMs * 2, retryMs.longest)
      ) {
        try {
          loaded = await loadConnectorKey(client, namespace);
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

/** Reads the key, or creates it; another replica may create it first. */
async function loadConnectorKey(
  client: ConnectorKeyDeps["client"],
  namespace: string,
): Promise<SecretText> {
  const read = async (): Promise<SecretText> =>
    parseConnectorKey(
      await client.get(resources.secrets, { namespace, name: ownObjects.connectorKey }),
    );
  try {
    return await read();
  } catch (error) {
    if (!isKubeError(error, "NotFound")) throw error;
  }
  try {
    return parseConnectorKey(await client.create(resources.secrets, connectorKeySecret(namespace)));
  } catch (error) {
    if (!isKubeError(error, "AlreadyExists")) throw error;
  }
  return read();
}
