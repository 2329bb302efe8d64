import {
  derivedCredentialsPolicy,
  ownSecretsPolicy,
  projectAssignmentPolicy,
} from "../../api/names.ts";
import { isRecord, recordAt, stringAt, stringsAt } from "../../api/parse.ts";
import { resources } from "../../api/resources.ts";
import { hashName } from "../hash-name.ts";
import { instantOf } from "../lifetime.ts";

/** A policy of `config/connected-policies`; other administrators apply it to their clusters. */
export interface ConnectedPolicy {
  /** Of the policy and of its binding. */
  readonly name: string;
  /** The {@link policyDigest} of each version that is strict enough, the shipped one first. */
  readonly digests: readonly string[];
  /** The namespace of the accounts that it names, if that is not {@link shippedNamespace}. */
  readonly namespace?: string;
}

/** The namespace of Latchkey in `config/`; a Helm chart writes that of its release instead. */
const shippedNamespace = "latchkey-system";

/** The policies that something is allowed only with. */
export const connectedPolicies = {
  derivedCredentials: {
    name: derivedCredentialsPolicy,
    digests: ["2710fa7b2593449ed3b62d58fa9cb13848f4e0da88763f0e8bf8160c1ba67e57"],
  },
  projectAssignment: {
    name: projectAssignmentPolicy,
    digests: ["1e0ba9e58d6c60b0a15a2994013b482cdb82cf7acf9c20f79571f7a2d1d42afb"],
  },
  // Former versions do not limit the agent of a connected cluster.
  ownSecrets: {
    name: ownSecretsPolicy,
    digests: ["373e87e838e38a610751ff7164cd4f8a48cc41054a78831b5652712929e792af"],
  },
} as const satisfies Readonly<Record<string, ConnectedPolicy>>;

/**
 * What a cluster answers about a policy and its binding; undefined for one that is missing. Another
 * administrator decides what it is, so nothing of it is taken for granted.
 */
interface ObservedPolicy {
  readonly policy: unknown;
  readonly binding: unknown;
}

/**
 * Why a cluster does not enforce a policy, or is not known to; `fact` is a sentence without a
 * period.
 */
export interface PolicyProblem {
  /** Settling: it counts in a few seconds. Unknown: the cluster does not answer. */
  readonly kind: "not-enforced" | "settling" | "unreadable" | "unknown";
  readonly fact: string;
}

/** An API server enforces a new policy about a second after its creation. */
const settlingMs = 10_000;

/**
 * Why a cluster does not enforce a policy for all requests, `now` in milliseconds since the epoch;
 * undefined if it does.
 */
export function policyProblem(
  { name, digests, namespace }: ConnectedPolicy,
  { policy, binding }: ObservedPolicy,
  now: number,
): PolicyProblem | undefined {
  const [policyText, bindingText] = textsOf(name);
  const missing = (fact: string): PolicyProblem => ({ kind: "not-enforced", fact });
  if (policy === undefined) return missing(`${policyText} does not exist in this cluster`);
  if (binding === undefined) return missing(`${bindingText} does not exist in this cluster`);
  const spec = recordAt(binding, "spec");
  const isBound =
    stringAt(spec, "policyName") === name &&
    stringsAt(spec, "validationActions").includes("Deny") &&
    spec["matchResources"] === undefined;
  if (!isBound) return missing(`${bindingText} does not deny requests in all namespaces`);
  if (!digests.includes(policyDigest(policy, namespace)))
    return missing(`${policyText} in this cluster is not that of this version of Latchkey`);
  const isSettled = [policy, binding].every((object) => {
    const createdAt = instantOf(stringAt(recordAt(object, "metadata"), "creationTimestamp"));
    return createdAt !== undefined && createdAt + settlingMs <= now;
  });
  const fact = `${policyText} is less than 10 s old in this cluster`;
  return isSettled ? undefined : { kind: "settling", fact };
}

/** The problem if the account of the process may not read the policy. */
export function unreadablePolicy({ name }: ConnectedPolicy): PolicyProblem {
  const fact = `the account of this program in this cluster may not read ${textsOf(name)[0]}`;
  return { kind: "unreadable", fact };
}

/** The problem if the cluster does not answer about the policy. */
export function unknownPolicy({ name }: ConnectedPolicy): PolicyProblem {
  return { kind: "unknown", fact: `${textsOf(name)[0]} of this cluster could not be checked` };
}

function textsOf(name: string): readonly [policy: string, binding: string] {
  return [
    `${resources.validatingPolicies.kind} "${name}"`,
    `${resources.validatingPolicyBindings.kind} "${name}"`,
  ];
}

/**
 * A digest of what a ValidatingAdmissionPolicy decides: of its spec without messages, and without
 * the values that an API server adds to it (Kubernetes API reference, MatchResources). Accounts of
 * this namespace count as those of the shipped one, and the other way around.
 */
export function policyDigest(policy: unknown, namespace = shippedNamespace): string {
  const swaps = new Map([
    [shippedNamespace, namespace],
    [namespace, shippedNamespace],
  ]);
  const swapped = (text: string): string =>
    text.replaceAll(
      /(?<=system:serviceaccount:)[-a-z0-9]+(?=:)/g,
      (found) => swaps.get(found) ?? found,
    );
  return hashName([decisive(recordAt(policy, "spec"), 0, swapped)], 64);
}

const texts: ReadonlySet<string> = new Set(["message", "messageExpression", "reason"]);
const defaults: ReadonlyMap<string, unknown> = new Map([
  ["matchPolicy", "Equivalent"],
  ["scope", "*"],
]);
/** The spec of a policy has seven levels; what a cluster answers may have any number. */
const mostLevels = 12;

function decisive(value: unknown, level: number, textOf: (text: string) => string): unknown {
  if (level > mostLevels) return "too deep";
  if (typeof value === "string") return textOf(value);
  if (Array.isArray(value)) return value.map((item: unknown) => decisive(item, level + 1, textOf));
  if (!isRecord(value)) return value;
  const fields = Object.entries(value)
    .filter(([name, field]) => !texts.has(name) && defaults.get(name) !== field)
    .map(([name, field]) => [name, decisive(field, level + 1, textOf)] as const)
    .filter(([, field]) => !isEmpty(field));
  return Object.fromEntries(fields.toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

function isEmpty(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}
