import type { MarkedKind, MetadataKey } from "../../api/known-keys.ts";
import type { Metadata } from "../../api/object.ts";
import { annotations, labels } from "../../api/names.ts";
import type { ReportItem, ReportReason } from "../../api/report.ts";
import { labelField, nameOf, quoted } from "../report-object.ts";
import { type NamespaceObstacle, ownObstacles, projectOf, type Target } from "./obstacles.ts";
import { namespaceObject, notManagedFact, secretObject } from "./outcome.ts";
import { outcomeTexts } from "./outcome-texts.ts";
import { copiedSource } from "./copy.ts";
import { placeholderRequestOf } from "./placeholder.ts";
import { copyItem } from "./sync-report.ts";
import { unknownKeyItem } from "../unknown-key.ts";

/** A namespace, and the place of a copy in it, as they are without any SharedSecret. */
export interface SeenPlace {
  readonly target: Target;
  /** Undefined if it cannot be read. */
  readonly namespace: Metadata | undefined;
  /** The Secret at the target; undefined if there is none, or if it cannot be read. */
  readonly secret: Metadata | undefined;
  readonly unknownKeys: Readonly<Record<Exclude<MarkedKind, "SharedSecret">, UnknownKeys>>;
  /** The names of the ResourceQuotas that have no room for a Secret. */
  readonly fullQuotas: readonly string[];
  /**
   * Whether the agent of a connected cluster makes the copy, from a SharedSecret of the central
   * cluster; the marks of `secret` are then as the rules of copies read them.
   */
  readonly isConnected: boolean;
}

type UnknownKeys = readonly MetadataKey[];

/**
 * What a namespace says itself about a copy, for a user who may read no SharedSecret that has one
 * there. It depends on nothing but the namespace and the Secret, so it does not tell which
 * SharedSecrets exist.
 */
export function placeItems(place: SeenPlace): readonly ReportItem[] {
  const { namespace, secret, target } = place;
  const copy = agentCopyItems(place);
  if (copy.length > 0) return [...unknownKeyItems(place), ...copy];
  if (namespace === undefined) return [];
  const request = secret === undefined ? undefined : placeholderRequestOf(secret);
  const mode = request === undefined ? "namespace" : "placeholder";
  const found = [
    ...unknownKeyItems(place),
    ...ownObstacles(namespace, mode).map((obstacle) => obstacleItem(obstacle, place)),
    ...(secret === undefined ? place.fullQuotas.map((name) => quotaItem(name, target)) : []),
    ...(secret !== undefined && request === undefined ? [existingItem(target)] : []),
  ];
  return found.length > 0 ? found : [notSharedItem(place, projectOf(namespace) ?? "")];
}

/** What a Secret that the agent of a connected cluster has made or refuses to fill says itself. */
export function agentCopyItems({ secret, target, isConnected }: SeenPlace): readonly ReportItem[] {
  if (secret === undefined || !isConnected) return [];
  const isSaid = secret.annotations[annotations.syncError] !== undefined;
  return isSaid || copiedSource(secret) !== undefined
    ? [copyItem({ ...secret, ...target }, annotations.clusterSyncError)]
    : [];
}

/** The labels and annotations of Latchkey's group that have no effect where they are. */
export function unknownKeyItems({ target, unknownKeys }: SeenPlace): readonly ReportItem[] {
  return [
    ...unknownKeys.Namespace.map((key) =>
      unknownKeyItem("Namespace", namespaceObject({ target }), key),
    ),
    ...unknownKeys.Secret.map((key) => unknownKeyItem("Secret", secretObject({ target }), key)),
  ];
}

/** Without a SharedSecret, an administrator or the namespaces that share have to be named. */
const fixes: Partial<Record<NamespaceObstacle, string>> = {
  "no-project":
    "Set the label to the project of the namespace, which requires the verb assign on it.",
  "sync-from-required": "Name the namespaces that copies may come from.",
};

function obstacleItem(obstacle: NamespaceObstacle, { target, namespace }: SeenPlace): ReportItem {
  const facts = {
    target,
    namespace,
    state: { kind: "not-wanted" },
    sourceRef: { name: "" },
  } as const;
  const { reason, fact, cause } = outcomeTexts[obstacle];
  const causes = cause === undefined ? [] : [{ ...cause(facts), reason }];
  const fix = fixes[obstacle];
  return {
    object: namespaceObject({ target }),
    state: "problem",
    reason,
    message: `${fact(facts)}.`,
    causes: causes.map((one) => (fix === undefined ? one : { ...one, message: fix })),
  };
}

function quotaItem(name: string, target: Target): ReportItem {
  const object = { kind: "ResourceQuota", namespace: target.namespace, name };
  const reason: ReportReason = "QuotaFull";
  const message = "Delete Secrets, or ask an administrator for more.";
  return {
    object,
    state: "problem",
    reason,
    message: `${nameOf(object)} has no room for a Secret, so none can be created.`,
    causes: [{ object, field: "status.used", reason, message }],
  };
}

function existingItem(target: Target): ReportItem {
  const [object, reason] = [secretObject({ target }), "NotManaged"];
  const fact = notManagedFact({ target });
  return { object, state: "info", reason, message: `${fact}.`, causes: [] };
}

/** The same whether there is no such SharedSecret, or one that does not name the project. */
function notSharedItem({ target, secret, isConnected }: SeenPlace, project: string): ReportItem {
  const object = namespaceObject({ target });
  const reason: ReportReason = "NotShared";
  const asks =
    secret === undefined
      ? `${nameOf(object)} asks for copies, and nothing that names project ${quoted(project)} ` +
        `arrives as ${nameOf(secretObject({ target }))}`
      : `${nameOf(secretObject({ target }))} asks for a SharedSecret, and none of this name that ` +
        `names project ${quoted(project)} fills it`;
  const [names, says] = isConnected
    ? ["this cluster and ", "whether the central cluster lets the project into this one"]
    : ["", "what its condition Synced says"];
  const fix =
    `Ask who shares it whether the SharedSecret names ${names}project ${quoted(project)}, ` +
    `which name its copies have, and ${says}.`;
  const field = labelField(labels.project);
  return {
    object: secretObject({ target }),
    state: "problem",
    reason,
    message: `${asks}.`,
    causes: [{ object, field, value: project, reason, message: fix }],
  };
}
