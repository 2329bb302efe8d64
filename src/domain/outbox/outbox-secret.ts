import { annotations, isOwnKey, labels, outboxSecretType } from "../../api/names.ts";
import {
  type Annotated,
  keyOf,
  type Manifest,
  type Metadata,
  type ObjectRef,
} from "../../api/object.ts";
import { apiVersionOf, resources } from "../../api/resources.ts";
import type { SecretData } from "../../api/shared-secret.ts";
import type { Wire } from "../../api/wire.ts";
import type { Source } from "../sync/copy.ts";
import { haveSameValues } from "../sync/placeholder.ts";
import { outboxName, outboxNamespace, placeIn } from "./outbox-names.ts";

/** The format of the Secrets of an outbox; an agent keeps the copies of a newer one as they are. */
export const outboxFormat = "1";

/** A Secret of an outbox, as the central cluster observes it: its metadata, and a digest. */
export interface ObservedOutboxSecret {
  readonly metadata: Metadata;
  readonly immutable: boolean;
  readonly digest: string;
  /** Characters of its keys and values, as in `size` of a Source. */
  readonly size: number;
}

/** What a cluster is offered of a source: the projects that both sides consent to. */
export interface OfferedSource {
  readonly source: Source;
  readonly cluster: string;
  readonly projects: readonly string[];
}

/** The annotations of a SharedSecret with which an agent makes the copies. */
export const passedOptions: readonly string[] = [
  annotations.copyAnnotations,
  annotations.copyLabels,
  annotations.disableSync,
  annotations.refreshNow,
  annotations.syncFormat,
  annotations.syncFormatFrom,
  annotations.syncFormatKey,
  annotations.syncSecretName,
  annotations.syncSecretType,
];

/** The Secret of an outbox with the data of a source itself; `revisedAt` is an RFC 3339 time. */
export function outboxManifest(
  offered: OfferedSource & { readonly data: SecretData },
  revisedAt: string,
  over?: ObservedOutboxSecret,
): Manifest {
  const { source, cluster, data } = offered;
  const { uid } = source.secret.metadata;
  const marks = { ...offeredAnnotations(offered), [annotations.revisedAt]: revisedAt };
  return manifest(placeOf(cluster, source.secret.metadata), { uid, marks, data }, over);
}

/** The Secret that says that what a cluster has of a source is withdrawn; it has no data. */
export function tombstoneManifest(
  { cluster, source, uid }: WithdrawnSource,
  revisedAt: string,
  over?: ObservedOutboxSecret,
): Manifest {
  const marks = { ...withdrawnAnnotations({ source, uid }), [annotations.revisedAt]: revisedAt };
  return manifest(placeOf(cluster, source), { uid, marks, data: {} }, over);
}

/** A source of which a cluster has nothing any more. */
export interface WithdrawnSource {
  readonly cluster: string;
  /** Its namespace and name. */
  readonly source: ObjectRef;
  readonly uid: string;
}

/** Whether a Secret of an outbox says what is offered now. */
export function isOfferCurrent(secret: ObservedOutboxSecret, offered: OfferedSource): boolean {
  const { uid } = offered.source.secret.metadata;
  return (
    secret.digest === offered.source.ownDigest &&
    saysExactly(secret, { uid, marks: offeredAnnotations(offered) })
  );
}

/** Whether a Secret of an outbox withdraws this source, and says nothing else. */
export function isTombstoneOf(secret: ObservedOutboxSecret, withdrawn: WithdrawnSource): boolean {
  const { uid } = withdrawn;
  return secret.size === 0 && saysExactly(secret, { uid, marks: withdrawnAnnotations(withdrawn) });
}

/**
 * The annotations with which a Secret of an outbox keeps its data but says what is offered now, as
 * a merge patch; undefined if it does.
 */
export function marksPatch(
  secret: ObservedOutboxSecret,
  offered: OfferedSource,
): Readonly<Record<string, string | null>> | undefined {
  const { [annotations.revision]: _, ...wanted } = offeredAnnotations(offered);
  const options = passedOptions.filter((key) => wanted[key] === undefined);
  const given = secret.metadata.annotations;
  const changes = [
    ...Object.entries(wanted).filter(([key, value]) => given[key] !== value),
    ...options.filter((key) => given[key] !== undefined).map((key) => [key, null] as const),
  ];
  // A tombstone has no data that could be offered.
  const isTombstone = given[annotations.withdrawn] !== undefined;
  return changes.length === 0 || isTombstone ? undefined : Object.fromEntries(changes);
}

/** What a Secret of an outbox says besides its data. */
interface Said {
  readonly uid: string;
  readonly marks: Readonly<Record<string, string>>;
}

/** Whether Latchkey's marks are these; a platform may add others to every object. */
function saysExactly({ metadata }: ObservedOutboxSecret, { uid, marks: wanted }: Said): boolean {
  const marks = Object.entries(metadata.annotations).filter(
    ([key]) => isOwnKey(key) && key !== annotations.revisedAt,
  );
  const isSaid = haveSameValues(Object.fromEntries(marks), wanted);
  return metadata.labels[labels.outboxUid] === uid && isSaid;
}

/** The uid of the source that a Secret of an outbox withdraws; undefined if it has data. */
export function withdrawnUid({ metadata }: ObservedOutboxSecret): string | undefined {
  return metadata.annotations[annotations.withdrawn];
}

/** The SharedSecret that a Secret of an outbox is made of, from its annotation. */
export function sourceOfOutbox({ annotations: given }: Annotated): ObjectRef | undefined {
  return placeIn(given[annotations.source] ?? "");
}

/** The annotations of a Secret of an outbox, without the time. */
function offeredAnnotations({ source, projects }: OfferedSource): Readonly<Record<string, string>> {
  const { metadata } = source.secret;
  const { secretType, format } = source.options;
  // An agent does not know the type of the Secret that the source follows.
  const isTypeFollowed = source.followed !== undefined && format === undefined;
  const given: Annotated["annotations"] = isTypeFollowed
    ? { [annotations.syncSecretType]: secretType }
    : {};
  const options = passedOptions.flatMap((key) => {
    const value = metadata.annotations[key] ?? given[key];
    return value === undefined ? [] : [[key, value] as const];
  });
  return {
    ...Object.fromEntries(options),
    [annotations.outboxFormat]: outboxFormat,
    [annotations.source]: keyOf(metadata),
    [annotations.revision]: `${metadata.uid}.${metadata.generation}`,
    [annotations.createdAt]: metadata.creationTimestamp,
    [annotations.syncToProjects]: projects.join(","),
  };
}

function withdrawnAnnotations({
  source,
  uid,
}: Pick<WithdrawnSource, "source" | "uid">): Readonly<Record<string, string>> {
  return {
    [annotations.outboxFormat]: outboxFormat,
    [annotations.source]: keyOf(source),
    [annotations.withdrawn]: uid,
  };
}

function placeOf(cluster: string, source: ObjectRef): ObjectRef {
  return { namespace: outboxNamespace(cluster), name: outboxName(source) };
}

function manifest(
  place: ObjectRef,
  { uid, marks, data }: Said & { readonly data: SecretData },
  over: ObservedOutboxSecret | undefined,
): Manifest {
  const { uid: own, resourceVersion, finalizers = [] } = over?.metadata ?? {};
  return {
    apiVersion: apiVersionOf(resources.secrets),
    kind: resources.secrets.kind,
    metadata: {
      ...place,
      ...(own === undefined ? {} : { uid: own }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
      ...(finalizers.length === 0 ? {} : { finalizers }),
      labels: { [labels.outboxUid]: uid },
      annotations: marks,
    },
    type: outboxSecretType,
    data,
  } satisfies Wire<"Secret">;
}
