import type { ReviewedResource } from "../../api/access-review.ts";
import type { AdmissionRequest } from "../../api/admission-review.ts";
import {
  annotationPrefixes,
  annotations,
  cleanupFinalizer,
  group,
  labels,
} from "../../api/names.ts";
import { listAt, recordAt, stringAt, stringMapAt, stringsAt } from "../../api/parse.ts";
import { resources } from "../../api/resources.ts";
import { isSame } from "../plan/merge-patch.ts";
import { clusterOfOutbox } from "../outbox/outbox-names.ts";
import { changedAnnotations, decidesAccess, secretToGet } from "./data-from-change.ts";
import { clusterList, syncList, type SyncList } from "../sync/option-items.ts";

/** The parts of a write that decide which verbs it requires. */
type Change = Pick<AdmissionRequest, "namespace" | "object" | "oldObject">;

/**
 * The verbs that a change of a SharedSecret, a DirectClusterEndpointToken or a Namespace requires
 * in addition to its own (`create`, `update`): the policies `latchkey-access-change`,
 * `latchkey-deletion-guard`, `latchkey-project-share`, `latchkey-cluster-share`,
 * `latchkey-data-from`, `latchkey-project-assignment` and `latchkey-outbox` check them with the
 * authorizer for the user.
 */
export function neededVerbs(change: Change): readonly ReviewedResource[] {
  const { object, oldObject } = change;
  const kind = stringAt(object, "kind");
  const deletes = changesDeletion(object, oldObject);
  if (kind === resources.sharedSecrets.kind) {
    const isGuarded = deletes || changesAccess(object, oldObject);
    const { plural } = resources.sharedSecrets;
    return [...(isGuarded ? deleteOf(change, plural) : []), ...shareOf(change), ...getOf(change)];
  }
  if (kind === resources.endpointTokens.kind)
    return deletes ? deleteOf(change, resources.endpointTokens.plural) : [];
  return kind === resources.namespaces.kind ? [...assignOf(change), ...connectOf(change)] : [];
}

/** The verb on the stored object; a new object requires none. */
function deleteOf({ namespace, oldObject }: Change, resource: string): readonly ReviewedResource[] {
  if (oldObject === undefined) return [];
  const name = stringAt(recordAt(oldObject, "metadata"), "name") ?? "";
  return [{ kind: "resource", verb: "delete", group, resource, subresource: "", name, namespace }];
}

/** The verb on the Secret whose data a change gives to more users, namespaces or clusters. */
function getOf({ namespace, object, oldObject }: Change): readonly ReviewedResource[] {
  const name = secretToGet(object, oldObject);
  if (name === undefined) return [];
  const { group: core, plural: resource } = resources.secrets;
  return [
    { kind: "resource", verb: "get", group: core, resource, subresource: "", name, namespace },
  ];
}

/** Whether a change can delete an object. */
function changesDeletion(object: unknown, stored: unknown): boolean {
  const [metadata, storedMetadata] = [recordAt(object, "metadata"), recordAt(stored, "metadata")];
  return (
    !isSame(listAt(metadata, "ownerReferences"), listAt(storedMetadata, "ownerReferences")) ||
    hasCleanupFinalizer(metadata) !== hasCleanupFinalizer(storedMetadata)
  );
}

/** Whether a change affects who has access to a SharedSecret. */
function changesAccess(object: unknown, stored: unknown): boolean {
  const [spec, storedSpec] = [recordAt(object, "spec"), recordAt(stored, "spec")];
  return (
    !isSame(listAt(spec, "access"), listAt(storedSpec, "access")) ||
    !isSame(spec["owner"], storedSpec["owner"]) ||
    changedAnnotations(object, stored).some(decidesAccess)
  );
}

/** More names than the policy can check one by one require the verb on all projects. */
const mostNamed = 16;

/** Annotations that decide the name, type and data of copies, as the policy lists them. */
const decidingCopies: readonly string[] = [
  annotations.syncSecretName,
  annotations.syncSecretType,
  annotations.syncFormat,
  annotations.syncFormatKey,
  annotations.syncFormatFrom,
  annotations.dataFrom,
  annotations.dataFromKeys,
];

/**
 * The verb on the projects and on the connected clusters that are added. If an annotation that
 * decides the copies, or a `copy-` annotation, changes, the verb on all that are listed; an added
 * cluster is a new target in each project, and the other way around. A glob, or more than 16
 * projects, require the verb on all of them.
 */
function shareOf(change: Change): readonly ReviewedResource[] {
  const changed = changedAnnotations(change.object, change.oldObject);
  const isOther = changed.some(
    (name) => decidingCopies.includes(name) || name.startsWith(annotationPrefixes.copy),
  );
  const projects = listedIn(change, annotations.syncToProjects, syncList);
  const clusters = listedIn(change, annotations.syncToClusters, clusterList);
  const askedOf = (own: ListChange, other: ListChange): readonly string[] => {
    const asked = isOther || other.added.length > 0 ? own.listed : own.added;
    if (asked.length > mostNamed) return [""];
    return asked.map((name) => (name.includes("*") ? "" : name));
  };
  return [
    ...onNamed("share", "projects", askedOf(projects, clusters)),
    ...onNamed("share", "clusters", askedOf(clusters, projects)),
  ];
}

/** The entries of a list, and those that were not in it before the change. */
interface ListChange {
  readonly listed: readonly string[];
  readonly added: readonly string[];
}

/** An invalid list has no entry: the policy rejects it. */
function listedIn(
  { object, oldObject }: Change,
  annotation: string,
  parse: (text: string | undefined) => SyncList,
): ListChange {
  const [listed = [], before = []] = [object, oldObject].map((state) => {
    const list = parse(annotationsOf(state)[annotation]);
    return list.kind === "entries" ? list.entries : [];
  });
  return { listed, added: listed.filter((name) => !before.includes(name)) };
}

/** The verb on the cluster whose outbox a namespace is. */
function connectOf({ object, oldObject }: Change): readonly ReviewedResource[] {
  const name = stringAt(recordAt(object ?? oldObject, "metadata"), "name") ?? "";
  const cluster = clusterOfOutbox(name);
  return cluster === undefined ? [] : onNamed("connect", "clusters", [cluster]);
}

/**
 * The verb on the project that a namespace is assigned to; if its space or virtual cluster changes,
 * also on its former project.
 */
function assignOf({ object, oldObject }: Change): readonly ReviewedResource[] {
  const [after, before] = [object, oldObject].map((state) =>
    stringMapAt(recordAt(state, "metadata"), "labels"),
  );
  const [project, stored] = [after?.[labels.project], before?.[labels.project]];
  const isPut = project !== undefined && project !== stored;
  const isMoved = [labels.space, labels.virtualCluster].some(
    (name) => after?.[name] !== before?.[name],
  );
  const known = [project, stored].filter((name) => name !== undefined);
  if (isMoved) return onNamed("assign", "projects", known.length === 0 ? [""] : known);
  return isPut ? onNamed("assign", "projects", [project]) : [];
}

/** A verb on projects or connected clusters; an empty name means all of them. */
function onNamed(
  verb: string,
  resource: "projects" | "clusters",
  names: readonly string[],
): readonly ReviewedResource[] {
  return [...new Set(names)].map((name) => ({
    kind: "resource",
    verb,
    group,
    resource,
    subresource: "",
    name,
    namespace: "",
  }));
}

function annotationsOf(object: unknown): Readonly<Record<string, string>> {
  return stringMapAt(recordAt(object, "metadata"), "annotations");
}

function hasCleanupFinalizer(metadata: unknown): boolean {
  return stringsAt(metadata, "finalizers").includes(cleanupFinalizer);
}
