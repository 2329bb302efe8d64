import { agentUserPrefix, outboxNamespacePrefix } from "../../api/names.ts";
import type { ObjectRef } from "../../api/object.ts";
import { hashName } from "../hash-name.ts";

/** The namespace with the outbox of a connected cluster. */
export function outboxNamespace(cluster: string): string {
  return `${outboxNamespacePrefix}${cluster}`;
}

/** The cluster whose outbox a namespace is; undefined for another namespace. */
export function clusterOfOutbox(namespace: string): string | undefined {
  return namespace.startsWith(outboxNamespacePrefix)
    ? namespace.slice(outboxNamespacePrefix.length) || undefined
    : undefined;
}

/** The name of the Secret of a SharedSecret in every outbox: it says nothing about the source. */
export function outboxName({ namespace = "", name }: ObjectRef): string {
  return hashName([namespace, name], 32);
}

/** The username of a cluster's agent in the central cluster. */
export function agentUser(cluster: string): string {
  return `${agentUserPrefix}${cluster}`;
}

/** Number of ConfigMaps with reports in an outbox. */
export const reportCount = 16;

/** The name of a ConfigMap with reports; `number` is below {@link reportCount}. */
export function reportName(number: number): string {
  return `report-${number}`;
}

/** The number of the report that says what became of a source, by its uid. */
export function reportNumberOf(uid: string): number {
  return Number.parseInt(hashName([uid], 1), reportCount);
}
