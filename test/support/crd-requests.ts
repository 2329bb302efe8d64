import { apiVersionOf, resources } from "../../src/api/resources.ts";
import { type Ask, type Caller, latchkeyAccount, patchTypes, unique } from "./policy-request.ts";

/** The three kinds by name. */
export const kinds = {
  SharedSecret: resources.sharedSecrets,
  OwnedAccessKey: resources.ownedAccessKeys,
  DirectClusterEndpointToken: resources.endpointTokens,
} as const;

/** The name of one of the three kinds. */
export type KindName = keyof typeof kinds;

/** The names of the three kinds. */
export const everyKind = [
  "SharedSecret",
  "OwnedAccessKey",
  "DirectClusterEndpointToken",
] as const satisfies readonly KindName[];

/** Writes the status of every kind, which a policy denies to other users. */
export const statusWriter: Caller = {
  ...latchkeyAccount("latchkey-controller"),
  groups: ["system:masters"],
};

/** A manifest of one of the three kinds; without a spec if `spec` is undefined. */
export function objectOf(kind: KindName, name: string, spec: unknown) {
  return { apiVersion: apiVersionOf(kinds[kind]), kind, metadata: { name }, spec };
}

/** The path of a kind's collection; namespaced kinds are in the namespace `default`. */
export function collectionOf(kind: KindName): string {
  const { plural, namespaced } = kinds[kind];
  return `/apis/${apiVersionOf(kinds[kind])}/${namespaced ? "namespaces/default/" : ""}${plural}`;
}

/** A dry-run create with strict field validation. */
export function dryCreate(kind: KindName, spec: unknown): Ask {
  const path = `${collectionOf(kind)}?dryRun=All&fieldValidation=Strict`;
  return { method: "POST", path, body: objectOf(kind, unique("try"), spec) };
}

/** The same as a server-side apply, which is rejected with different messages. */
export function dryApply(kind: KindName, spec: unknown): Ask {
  const name = unique("try");
  const path = `${collectionOf(kind)}/${name}?dryRun=All&fieldManager=test&fieldValidation=Strict`;
  return { method: "PATCH", path, type: patchTypes.apply, body: objectOf(kind, name, spec) };
}
