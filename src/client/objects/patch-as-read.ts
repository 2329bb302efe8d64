import { parseMetadata, recordAt } from "../../api/parse.ts";
import type { Resource } from "../../api/resources.ts";
import { isKubeError } from "../../kube/client/kube-error.ts";
import { type Cluster, preconditions } from "../connection/cluster.ts";

/** A change of a spec, as a merge patch. */
interface SpecPatch {
  readonly spec: Readonly<Record<string, unknown>>;
  readonly dryRun?: boolean;
}

/** The controller writes the status of an object several times after a change. */
const mostTries = 10;

/**
 * Changes the spec of an object as it was read; rejects with the conflict if its spec has changed
 * since. A write of its status or metadata meanwhile does not count.
 */
export async function patchAsRead(
  resource: Resource,
  read: unknown,
  { spec, dryRun = false }: SpecPatch,
  { get, patch }: Pick<Cluster, "get" | "patch">,
): Promise<unknown> {
  const { name, namespace } = parseMetadata(read);
  const ref = namespace === undefined ? { name } : { namespace, name };
  let object = read;
  for (let tries = 1; ; tries += 1)
    try {
      return await patch(resource, ref, {
        body: { metadata: preconditions(object), spec },
        dryRun,
      });
    } catch (error) {
      if (!isKubeError(error, "Conflict") || tries === mostTries) throw error;
      object = await get(resource, ref);
      if (specVersion(object) !== specVersion(read)) throw error;
    }
}

/** What another object of the name, and every change of the spec, changes. */
function specVersion(object: unknown): string {
  const { uid, generation } = recordAt(object, "metadata");
  return JSON.stringify([uid, generation]);
}
