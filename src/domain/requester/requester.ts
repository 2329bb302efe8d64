import type { Metadata } from "../../api/object.ts";
import { type Requester, requesterAnnotationsOf } from "../../api/requester.ts";
import { createdAt, instantOf } from "../lifetime.ts";
import { timestamp } from "../plan/conditions.ts";

// New policies take effect with a delay (0.6 s was measured), and timestamps have whole seconds.
const policyDelayMs = 10_000;

const fix =
  "Install the policies of config/policies (before Kubernetes 1.36: config/before-1.36), wait " +
  "10 seconds and create the object again.";

/**
 * The requester of an object: verified only if the policies that record it were installed 10 s
 * before the object was created; `installedAt` in milliseconds since the epoch.
 */
export function requesterOf(metadata: Metadata, installedAt: number | undefined): Requester {
  if (installedAt === undefined)
    return unknown("the policies that record the requester are not installed");
  if (createdAt(metadata) < installedAt + policyDelayMs) {
    return unknown(
      `the object was created at ${metadata.creationTimestamp}, before the policies that ` +
        "record the requester" +
        ` (${timestamp(installedAt)}) were 10 seconds old`,
    );
  }
  const annotations = requesterAnnotationsOf(metadata);
  return annotations === undefined
    ? unknown("the object has no requester annotation")
    : { kind: "known", ...annotations };
}

/** Whether a name is reserved for Kubernetes and identifies another user in another cluster. */
export function isSystemName(name: string): boolean {
  return name.startsWith("system:");
}

function unknown(why: string): Requester {
  return { kind: "unknown", why: `The requester could not be verified: ${why}. ${fix}` };
}

/**
 * When the newest of these policies, bindings and webhooks was created, in milliseconds since the
 * epoch; undefined if one is missing.
 */
export function lastInstalledAt(
  policiesAndBindings: readonly (Metadata | undefined)[],
): number | undefined {
  const instants = policiesAndBindings.map((policy) => instantOf(policy?.creationTimestamp));
  const known = instants.filter((instant) => instant !== undefined);
  return known.length < instants.length ? undefined : Math.max(...known);
}

const longestNamePart = 20;

/**
 * The begin of the names that are generated for what a user requests: a DNS label (RFC 1123) of at
 * most 20 characters, from the username without what says where it comes from. `cli` for a name
 * without any letter or digit of a label.
 */
export function requesterLabel(username: string): string {
  const own = username.slice(username.lastIndexOf("#") + 1).replace("system:serviceaccount:", "");
  const label = (own.toLowerCase().match(/[a-z0-9]+/g) ?? []).join("-").slice(0, longestNamePart);
  return label.replace(/-$/, "") || "cli";
}
