import type { ObjectRef } from "../../api/object.ts";
import { recordAt, stringAt } from "../../api/parse.ts";
import { type Resource, resources } from "../../api/resources.ts";
import { isKubeError } from "../../kube/client/kube-error.ts";
import type { Cluster } from "../connection/cluster.ts";
import { readableNames } from "./listing.ts";
import type { Terminal } from "../terminal.ts";

/** Which objects a command reads: all of a list, or those with these names. */
export type Found =
  | { readonly kind: "list"; readonly namespace: string | undefined }
  | { readonly kind: "names"; readonly refs: readonly ObjectRef[] };

/** What is looked for. */
interface Wanted {
  readonly resource: Resource;
  /** Undefined for all namespaces and for cluster-scoped kinds. */
  readonly namespace: string | undefined;
}

/** Dependencies of {@link findObjects}. */
interface FindDeps {
  readonly cluster: Cluster;
  readonly terminal: Pick<Terminal, "say">;
}

/**
 * Finds the objects that the user may read: all, if the user may list them; else those that roles
 * name. Says on the standard error what the result leaves out.
 */
export async function findObjects(wanted: Wanted, deps: FindDeps): Promise<Found> {
  const { resource, namespace } = wanted;
  if (await mayList(resource, namespace, deps.cluster)) return { kind: "list", namespace };
  const refs = resource.namespaced
    ? await refsInNamespaces(wanted, deps)
    : (await namesIn(resource, "default", deps)).map((name) => ({ name }));
  return { kind: "names", refs };
}

async function mayList(
  { group, plural }: Resource,
  namespace: string | undefined,
  { review }: Cluster,
): Promise<boolean> {
  const resourceAttributes = {
    verb: "list",
    group,
    resource: plural,
    ...(namespace === undefined ? {} : { namespace }),
  };
  const status = await review(resources.selfAccessReviews, { resourceAttributes });
  return status["allowed"] === true;
}

async function refsInNamespaces(
  { resource, namespace }: Wanted,
  deps: FindDeps,
): Promise<readonly ObjectRef[]> {
  const { cluster, terminal } = deps;
  const namespaces = namespace === undefined ? await visibleNamespaces(deps) : [namespace];
  const refs: ObjectRef[] = [];
  for (const place of namespaces) {
    const names = await namesIn(resource, place, { cluster, terminal });
    refs.push(...names.map((name) => ({ namespace: place, name })));
  }
  return refs;
}

/** All namespaces; that of the kubeconfig's context for a user who may not list them. */
async function visibleNamespaces({ cluster, terminal }: FindDeps): Promise<readonly string[]> {
  try {
    const items = await cluster.list(resources.namespaces);
    return items.flatMap((item) => stringAt(recordAt(item, "metadata"), "name") ?? []);
  } catch (error) {
    if (!isKubeError(error, "Forbidden")) throw error;
    const { namespace } = cluster.choice;
    terminal.say(
      `you may not list namespaces, so this is the namespace "${namespace}" alone; ` +
        "choose another with --namespace",
    );
    return [namespace];
  }
}

async function namesIn(
  resource: Resource,
  namespace: string,
  { cluster, terminal }: FindDeps,
): Promise<readonly string[]> {
  const { names, all, incomplete } = await readableNames(cluster, resource, namespace);
  const where = resource.namespaced ? ` in namespace "${namespace}"` : "";
  if (all)
    terminal.say(
      `you may get every ${resource.kind}${where}, but not list them: ` +
        `the right list on ${resource.plural} is missing`,
    );
  else if (names.length === 0 && incomplete)
    terminal.say(
      `the API server names no ${resource.kind}${where} that you may get, ` +
        "and its answer is incomplete; ask for one by its name",
    );
  return names;
}
