import { annotations, ownObjects } from "../api/names.ts";
import { resources } from "../api/resources.ts";
import { mostSigningKeys, publishedBeforeMs } from "../domain/endpoint-token/key-rotation.ts";
import { timestamp } from "../domain/plan/conditions.ts";
import type { Client } from "../kube/client.ts";
import type { Clock } from "../runtime/clock.ts";
import { dataWithNewEpoch, isRotationRequested, parseSigningKeys } from "../tokens/signing-keys.ts";
import { notFound } from "./not-found.ts";

/** Dependencies of {@link rotateSigningKey}. */
export interface RotateSigningKeyDeps {
  readonly client: Pick<Client, "get" | "patch">;
  readonly clock: Pick<Clock, "now">;
  readonly print: (text: string) => void;
}

/**
 * Asks the controller for a new signing key, by an annotation of their Secret, raises the epoch of
 * the list of revoked tokens if `newEpoch` is set, and prints what follows. Throws a UsageError if the Secret does not exist, and a SigningKeysError if it is
 * invalid.
 */
export async function rotateSigningKey(
  { namespace, newEpoch }: { readonly namespace: string; readonly newEpoch: boolean },
  { client, clock, print }: RotateSigningKeyDeps,
): Promise<void> {
  const ref = { namespace, name: ownObjects.signingKeys };
  const found = parseSigningKeys(
    await client
      .get(resources.secrets, ref)
      .catch(
        notFound(
          `Secret "${namespace}/${ref.name}" does not exist; start latchkey controller, which creates it, or set the namespace of Latchkey`,
        ),
      ),
  );
  const isRequested = isRotationRequested(found);
  const { uid, resourceVersion } = found.metadata;
  const requested = { annotations: { [annotations.rotateSigningKey]: timestamp(clock.now()) } };
  const body = {
    metadata: { uid, resourceVersion, ...(isRequested ? {} : requested) },
    ...(newEpoch ? { data: dataWithNewEpoch(found, clock.now()) } : {}),
  };
  if (newEpoch || !isRequested) await client.patch(resources.secrets, ref, { body });
  if (newEpoch) print("The list of revoked tokens has a new epoch.\n");
  if (isRequested) return print(`A new signing key is already requested.\n`);
  const next = found.keys.find(({ state }) => state === "next");
  print(
    next === undefined
      ? `Requested. The controller publishes a new signing key, and signs with it after ${publishedBeforeMs / 1000} seconds.\n`
      : `Requested. The key ${next.kid} is published already and signs first; then the controller publishes a new one.\n`,
  );
  if (found.keys.length >= mostSigningKeys)
    print(
      `There are ${found.keys.length} signing keys: the controller publishes a new one when the tokens of the oldest have expired.\n`,
    );
}
