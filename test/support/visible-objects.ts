import { annotations, outboxNamespacePrefix } from "../../src/api/names.ts";
import { clustersNamespace } from "../../src/domain/gateway/connected-cluster.ts";
import { recordAt, stringAt } from "../../src/api/parse.ts";
import type { ApiRequest } from "./api-request.ts";

/** The part of the cluster that belongs to one run, independent of parallel and earlier runs. */
export interface View {
  /** The prefix of the namespaces, objects and requesters of the run. */
  readonly prefix: string;
  /** Latchkey's own namespace in this run. */
  readonly system: string;
}

/**
 * The part of the run's connected cluster, which shares the API server with the central one; its
 * name is the prefix without the last character.
 */
export function eastOf({ prefix, system }: View): View {
  return { prefix: `${prefix}east-`, system };
}

/** Whether an object is part of the run, or shared by all runs (the admission policies). */
export function isVisible(view: View, plural: string, object: unknown): boolean {
  if (plural.endsWith("policies") || plural.endsWith("policybindings")) return true;
  const metadata = recordAt(object, "metadata");
  const namespace = stringAt(metadata, "namespace");
  if (namespace !== undefined && namespace !== clustersNamespace)
    return namespace === view.system || isOwn(view, namespace);
  const requester = stringAt(recordAt(metadata, "annotations"), annotations.requester);
  return [stringAt(metadata, "name"), requester].some((name) => isOwn(view, name));
}

/** Only the agent sees what its cluster has. */
function isOwn(view: View, name: string | undefined): boolean {
  const isOfAgent = view.prefix !== "" && isNameOf(eastOf(view).prefix, name);
  return isNameOf(view.prefix, name) && !isOfAgent;
}

/** Whether a list or watch has an object: an agent reads the whole outbox of its cluster. */
export function isListed(view: View, request: ApiRequest, object: unknown): boolean {
  const { namespace = "", plural } = request;
  return namespace.startsWith(outboxNamespacePrefix) || isVisible(view, plural, object);
}

/** What a policy of the installation is for a run, whose accounts are of its own namespace. */
export function policyOf({ system }: View, text: string): string {
  return text.replaceAll("serviceaccount:latchkey-system:", `serviceaccount:${system}:`);
}

/** Whether a name is of the run with this prefix, or that of an outbox of a cluster of the run. */
export function isNameOf(prefix: string, name: string | undefined): boolean {
  return [prefix, outboxNamespacePrefix + prefix].some((start) => name?.startsWith(start) === true);
}
