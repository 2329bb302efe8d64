import { ownObjects } from "../api/names.ts";
import { stringMapAt, recordAt } from "../api/parse.ts";
import { resources } from "../api/resources.ts";
import type { SecretText } from "../api/secret-text.ts";
import { type ConnectorClaim, connectorClaim } from "../domain/connector-claim.ts";
import type { Client } from "../kube/client.ts";
import { isKubeError } from "../kube/errors.ts";
import { connectorDataIn, connectorKeySecret, connectorSecret, isClaimOf, newClaim, parseConnectorKey, withoutConnectorData } from "../tokens/connector-data.ts";
import type { AdmissionStep } from "./admission.ts";

/** What moving connector data away needs; `namespace` is Latchkey's own. */
export interface ConnectorDataDeps {
  readonly client: Pick<Client, "get" | "create">;
  readonly namespace: string;
}

/**
 * Takes connector data out of a key before anybody can see it there: a Secret of Latchkey's own namespace holds it, and an annotation that
 * only this step sets names the Secret. Data that is left out is kept, an empty text takes it away. Must run last: what it has
 * written for a write that is refused afterwards, the controller removes.
 */
export function movedConnectorData(deps: ConnectorDataDeps): AdmissionStep {
  const keyOf = createKeyLoader(deps);
  return async ({ object, oldObject, isDryRun }) => {
    const stored = connectorClaim(stringMapAt(recordAt(oldObject, "metadata"), "annotations"));
    const data = connectorDataIn(object);
    const kept = (claim: ConnectorClaim | undefined) => ({ kind: "admitted", object: withoutConnectorData(object, claim) }) as const;
    if (data === undefined) return kept(stored);
    if (data.isEmpty) return kept(undefined);
    const key = await keyOf(isDryRun);
    if (stored !== undefined && isClaimOf(stored, data, key)) return kept(stored);
    const claim = newClaim(data, key);
    if (!isDryRun) await deps.client.create(resources.secrets, connectorSecret(claim, data, deps.namespace));
    return kept(claim);
  };
}

/** The key of marks, which all replicas share; made by the first that needs it. */
function createKeyLoader({ client, namespace }: ConnectorDataDeps): (isDryRun: boolean) => Promise<SecretText> {
  let loaded: SecretText | undefined;
  const read = async (): Promise<SecretText> => parseConnectorKey(await client.get(resources.secrets, { namespace, name: ownObjects.connectorKey }));
  async function make(isDryRun: boolean): Promise<SecretText> {
    try {
      return parseConnectorKey(await client.create(resources.secrets, connectorKeySecret(namespace), { dryRun: isDryRun }));
    } catch (error) {
      if (!isKubeError(error, "AlreadyExists")) throw error;
    }
    return read();
  }
  return async (isDryRun) => {
    if (loaded !== undefined) return loaded;
    try {
      loaded = await read();
      return loaded;
    } catch (error) {
      if (!isKubeError(error, "NotFound")) throw error;
    }
    const made = await make(isDryRun);
    if (!isDryRun) loaded = made;
    return made;
  };
}
