import type { Reason } from "../../api/conditions.ts";
import { annotations, labels, outboxSecretType } from "../../api/names.ts";
import type { Metadata } from "../../api/object.ts";
import type { Secret } from "../../api/secret.ts";
import type { SecretData, SharedSecret } from "../../api/shared-secret.ts";
import { clustersNamespace } from "../gateway/connected-cluster.ts";
import { clusterOfOutbox } from "../outbox/outbox-names.ts";
import { quoted } from "../report-object.ts";
import { copiedSource } from "./copy.ts";
import { dataConsent, type DataFrom, mostFollowers } from "./data-from.ts";
import { isObservedWhole, pick } from "./placeholder.ts";
import { isRefusedType } from "./sync-options.ts";

/** The Secret that `data-from` names, as the API server has it. */
export type ReadSourceSecret =
  | { readonly kind: "there"; readonly secret: Secret }
  | { readonly kind: "gone" };

/** What a SharedSecret has of the Secret that it follows, or why it has nothing. */
export type FollowedData =
  | {
      readonly kind: "data";
      /** Of the Secret that was judged. */
      readonly metadata: Pick<Metadata, "uid" | "resourceVersion">;
      readonly type: string;
      /** With the keys that `data-from-keys` picks, under their new names. */
      readonly data: SecretData;
    }
  /** Copies keep what they have. */
  | {
      readonly kind: "kept";
      readonly reason: Extract<Reason, "SourceMissing" | "SourceInvalid">;
      readonly message: string;
    }
  /** The owner of the Secret does not let the SharedSecret have its data: copies are removed. */
  | { readonly kind: "withdrawn"; readonly message: string };

/** Types with which copies are created as the source has them; of others, an option names it. */
const followedTypes: readonly string[] = [
  "Opaque",
  "kubernetes.io/tls",
  "kubernetes.io/dockerconfigjson",
  "kubernetes.io/dockercfg",
  "kubernetes.io/basic-auth",
  "kubernetes.io/ssh-auth",
];

/**
 * Whether nothing in a namespace is a source: that of Latchkey, and those of connected clusters,
 * have credentials of Latchkey, and kube-system those of the cluster.
 */
export function hasNoSources(namespace: string, own: string): boolean {
  return (
    [own, clustersNamespace, "kube-system"].includes(namespace) ||
    clusterOfOutbox(namespace) !== undefined
  );
}

/** What a SharedSecret has of the Secret that it names, judged on that very object. */
export function followedData(
  secret: SharedSecret,
  from: DataFrom,
  read: ReadSourceSecret,
  latchkeyNamespace: string,
): FollowedData {
  const own = secret.metadata.namespace ?? "";
  const kept = (reason: "SourceMissing" | "SourceInvalid", what: string, fix: string) =>
    ({
      kind: "kept",
      reason,
      message: sentence(secret, from, `${what}; ${fix}; ${keptData}`),
    }) as const;
  if (hasNoSources(own, latchkeyNamespace))
    return kept("SourceInvalid", "is in a namespace that has no sources", "use another namespace");
  if (read.kind === "gone") return kept("SourceMissing", "does not exist", "create it");
  const { metadata, type, data } = read.secret;
  if (metadata.deletionTimestamp !== undefined)
    return kept("SourceMissing", "is being deleted", "create it again");
  if (isManaged(read.secret))
    return kept("SourceInvalid", "is managed by Latchkey", "name a Secret that is no copy");
  const consent = dataConsent(metadata, secret.metadata.name);
  if (consent === "unreadable")
    return kept(
      "SourceInvalid",
      `has an invalid annotation ${annotations.dataFor}`,
      `list at most ${mostFollowers} names of SharedSecrets, separated by commas or line breaks`,
    );
  if (consent === "not-named") {
    const what = `does not name this SharedSecret in its annotation ${annotations.dataFor}`;
    return { kind: "withdrawn", message: sentence(secret, from, `${what}; add it to the list`) };
  }
  if (isRefusedType(type))
    return kept(
      "SourceInvalid",
      `has the type ${quoted(type)}, which Kubernetes or Helm interprets`,
      "name a Secret of another type",
    );
  const { [annotations.syncSecretType]: typeOption, [annotations.syncFormat]: format } =
    secret.metadata.annotations;
  if (!followedTypes.includes(type) && typeOption === undefined && format === undefined)
    return kept(
      "SourceInvalid",
      `has the type ${quoted(type)}`,
      `set ${annotations.syncSecretType} to the type that copies have`,
    );
  const picked = pick(data, from.keys);
  if (picked.kind === "missing")
    return kept(
      "SourceInvalid",
      `has no data key ${quoted(picked.key)}`,
      `add it, or change ${annotations.dataFromKeys}`,
    );
  const { uid, resourceVersion } = metadata;
  return { kind: "data", metadata: { uid, resourceVersion }, type, data: picked.values };
}

/** What a SharedSecret has of a Secret that the API server does not show. */
export function unreadableData(secret: SharedSecret, from: DataFrom, why: string): FollowedData {
  return {
    kind: "kept",
    reason: "SourceInvalid",
    message: sentence(secret, from, `${why}; ${keptData}`),
  };
}

/** What becomes of the copies meanwhile, and how to withdraw the value. */
const keptData = "copies keep their data until the annotation is removed";

/** Begins with the annotation, so that reports find the field. */
function sentence({ metadata }: SharedSecret, { name }: DataFrom, what: string): string {
  const place = `${metadata.namespace ?? ""}/${name}`;
  return `${annotations.dataFrom}: Secret ${JSON.stringify(place)} ${what}`;
}

/** A copy, a placeholder, or a Secret of Latchkey itself or of an outbox. */
function isManaged({ metadata, type }: Secret): boolean {
  return (
    isObservedWhole(metadata) ||
    copiedSource(metadata) !== undefined ||
    [labels.component, labels.outboxUid, labels.cluster].some(
      (label) => metadata.labels[label] !== undefined,
    ) ||
    type === outboxSecretType
  );
}
