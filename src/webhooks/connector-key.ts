import { ownObjects } from "../api/names.ts";
import { resources } from "../api/resources.ts";
import type { SecretText } from "../api/secret-text.ts";
import type { Client } from "../kube/client.ts";
import { isKubeError } from "../kube/errors.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Logger } from "../runtime/log.ts";
import { sleep } from "../runtime/sleep.ts";
import { connectorKeySecret, parseConnectorKey } from "../tokens/connector-data.ts";

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
