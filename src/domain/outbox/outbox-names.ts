import { agentUserPrefix, outboxNamespacePrefix } from "../../api/names.ts";
import type { ObjectRef } from "../../api/object.ts";
import { hashName } from "../hash-name.ts";

/** Maximum characters of the name of a cluster with an outbox, whose namespace is a DNS label. */
export const longestClusterName = 63 - outboxNamespacePrefix.length;

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

const dnsLabel = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const labelValue = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const longest = { label: 63, name: 253 } as const;

/**
 * The namespace and name in an untrusted text with the form `namespace/name`; undefined if the
 * API server would not accept them as names (RFC 1123), so that no other text is made of them.
 */
export function placeIn(text: string): Required<ObjectRef> | undefined {
  if (text.length > longest.label + longest.name + 1) return undefined;
  const [namespace = "", name = "", ...rest] = text.split("/");
  if (rest.length > 0 || namespace.length > longest.label || name.length > longest.name)
    return undefined;
  const isPlace = dnsLabel.test(namespace) && name.split(".").every((part) => dnsLabel.test(part));
  return isPlace ? { namespace, name } : undefined;
}

/** Whether an untrusted text can be a uid: it becomes the value of a label. */
export function isSourceUid(text: string): boolean {
  return labelValue.test(text);
}
