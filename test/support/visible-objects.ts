import { annotations, outboxNamespacePrefix } from "../../src/api/names.ts";
import { clustersNamespace } from "../../src/domain/gateway/connected-cluster.ts";
import { recordAt, stringAt } from "../../src/api/parse.ts";

/** The part of the cluster that belongs to one run, independent of parallel and earlier runs. */
export interface View {
  /** The prefix of the namespaces, objects and requesters of the run. */
  readonly prefix: string;
  /** Latchkey's own namespace in this run. */
  readonly system: string;
}

/** Whether an object is part of the run, or shared by all runs (the admission policies). */
export function isVisible({ prefix, system }: View, plural: string, object: unknown): boolean {
  if (plural.endsWith("policies") || plural.endsWith("policybindings")) return true;
  const metadata = recordAt(object, "metadata");
  const namespace = stringAt(metadata, "namespace");
  if (namespace !== undefined && namespace !== clustersNamespace)
    return namespace === system || isNameOf(prefix, namespace);
  const requester = stringAt(recordAt(metadata, "annotations"), annotations.requester);
  return [stringAt(metadata, "name"), requester].some((name) => isNameOf(prefix, name));
}

/** Whether a name is of the run with this prefix, or that of an outbox of a cluster of the run. */
export function isNameOf(prefix: string, name: string | undefined): boolean {
  return [prefix, outboxNamespacePrefix + prefix].some((start) => name?.startsWith(start) === true);
}
