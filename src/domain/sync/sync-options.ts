import type { Reason } from "../../api/conditions.ts";
import { annotations } from "../../api/names.ts";
import type { Annotated, Metadata } from "../../api/object.ts";
import { quoted } from "../report-object.ts";
import { mostDataKeys, type SecretData } from "../../api/shared-secret.ts";
import { type CopyMetadata, copyMetadataOf } from "./copy-metadata.ts";
import { dataFromOf, isSecretName } from "./data-from.ts";
import { clusterList, syncList } from "./option-items.ts";
import { type SyncFormat, syncFormatOf, typeOf } from "./sync-format.ts";

/** The sync options of a SharedSecret, from its annotations. */
export interface SyncOptions {
  /** Globs over project names; empty if no sync is requested. */
  readonly projects: readonly string[];
  /** Whether the list of projects is invalid; `projects` is then empty. */
  readonly projectsAreUnreadable?: true;
  /** Names of connected clusters, or `*` for all of them; empty if none is requested. */
  readonly clusters: readonly string[];
  /** Whether the list of clusters is invalid; `clusters` is then empty. */
  readonly clustersAreUnreadable?: true;
  readonly secretName: string;
  readonly secretType: string;
  readonly paused: boolean;
  /** Labels and annotations of the copies; absent if there are none, or if they are invalid. */
  readonly copyMetadata?: CopyMetadata;
  /** How the data of the copies is derived; absent if they have the data itself. */
  readonly format?: SyncFormat;
  /** Why no copy can be written; existing copies are kept. */
  readonly problem?: SourceProblem;
  /** Why copies may not stay: `projects` and `clusters` are then empty. */
  readonly refusal?: SourceProblem;
}

/** What is wrong with a source. */
interface SourceProblem {
  readonly reason: Reason;
  readonly message: string;
}

const refusedTypes = ["kubernetes.io/service-account-token", "bootstrap.kubernetes.io/token"];
const longestKey = 253;

/** Maximum bytes of all values of a Secret together (Kubernetes, core/v1 MaxSecretSize). */
export const largestSecret = 1024 * 1024;

/**
 * Reads the sync annotations of a SharedSecret, and whether the data of its copies fits a core
 * Secret; `underivable` says why it cannot be derived.
 */
export function syncOptionsOf({
  metadata,
  data,
  underivable,
  type,
}: {
  readonly metadata: Metadata;
  readonly data: SecretData;
  readonly underivable?: string;
  /** Of the Secret that the data comes from. */
  readonly type?: string | undefined;
}): SyncOptions {
  const given = metadata.annotations;
  const list = syncList(given[annotations.syncToProjects]);
  const projects = list.kind === "entries" ? list.entries : [];
  const clusters = clusterList(given[annotations.syncToClusters]);
  const copyMetadata = copyMetadataOf(given);
  const format = syncFormatOf(given);
  const dataFrom = dataFromOf(metadata);
  const options = {
    projects,
    ...(list.kind === "refused" && { projectsAreUnreadable: true as const }),
    clusters: clusters.kind === "entries" ? clusters.entries : [],
    ...(clusters.kind === "refused" && { clustersAreUnreadable: true as const }),
    secretName: given[annotations.syncSecretName] ?? metadata.name,
    secretType: given[annotations.syncSecretType] ?? typeOf(formatIn(format)) ?? type ?? "Opaque",
    paused: isPaused(metadata),
    ...(copyMetadata.kind === "metadata" &&
      copyMetadata.metadata !== undefined && { copyMetadata: copyMetadata.metadata }),
    ...(format.kind === "format" && format.format !== undefined && { format: format.format }),
  };
  const wrong =
    list.kind === "refused"
      ? `${annotations.syncToProjects}: ${list.why}`
      : clusters.kind === "refused"
        ? `${annotations.syncToClusters}: ${clusters.why}`
        : (optionProblem(options, given[annotations.disableSync]) ??
          [copyMetadata, format, dataFrom].find((option) => option.kind === "refused")?.why);
  if (wrong !== undefined)
    return { ...options, problem: { reason: "InvalidSyncOption", message: wrong } };
  const unfit: SyncOptions["problem"] =
    underivable === undefined
      ? dataProblem(data)
      : { reason: "InvalidSyncOption", message: underivable };
  return unfit === undefined || projects.length === 0 ? options : { ...options, problem: unfit };
}

function formatIn(option: ReturnType<typeof syncFormatOf>): SyncFormat | undefined {
  return option.kind === "format" ? option.format : undefined;
}

/** Whether the `disable-sync` annotation pauses the sync of a SharedSecret, or of one copy. */
export function isPaused(metadata: Annotated): boolean {
  return metadata.annotations[annotations.disableSync] === "true";
}

/** Whether a project name matches one of the globs; `*` matches any characters, including none. */
export function fitsAny(project: string, globs: readonly string[]): boolean {
  return globs.some((glob) => fits(project, glob));
}

function fits(text: string, glob: string): boolean {
  const [first = "", ...rest] = glob.split("*");
  if (rest.length === 0) return text === glob;
  const last = rest.pop() ?? "";
  if (!text.startsWith(first) || !text.endsWith(last)) return false;
  let from = first.length;
  for (const part of rest) {
    const at = text.indexOf(part, from);
    if (at === -1) return false;
    from = at + part.length;
  }
  return from + last.length <= text.length;
}

function optionProblem(
  options: Omit<SyncOptions, "problem">,
  disableSync: string | undefined,
): string | undefined {
  if (!isSecretName(options.secretName))
    return (
      `${annotations.syncSecretName}: ${quoted(options.secretName)} is not a valid Secret ` +
      'name; must be a lowercase RFC 1123 subdomain, such as "db-password"'
    );
  if (isRefusedType(options.secretType))
    return (
      `${annotations.syncSecretType}: ${quoted(options.secretType)} is not allowed because ` +
      "Kubernetes or Helm interprets Secrets of this type; set another type"
    );
  if (options.secretType === "")
    return (
      `${annotations.syncSecretType}: must not be empty; ` +
      "set a Secret type or remove the annotation"
    );
  if (disableSync !== undefined && disableSync !== "true" && disableSync !== "false")
    return (
      `${annotations.disableSync}: ${quoted(disableSync)} is invalid; ` +
      'must be "true" or "false"'
    );
  return undefined;
}

/** Types that the API server or Helm interprets: writing such a Secret grants permissions. */
export function isRefusedType(type: string): boolean {
  return refusedTypes.includes(type) || type.startsWith("helm.sh/");
}

function dataProblem(data: SecretData): SyncOptions["problem"] {
  if (Object.keys(data).length > mostDataKeys)
    return {
      reason: "TooLarge",
      message:
        `spec.data: must have at most ${mostDataKeys} keys; ` +
        "split it into several SharedSecrets",
    };
  const badKey = Object.keys(data).find(
    (key) => key.length > longestKey || key === "." || key.startsWith(".."),
  );
  if (badKey !== undefined)
    return {
      reason: "InvalidKey",
      message:
        `spec.data: key ${quoted(badKey)} is invalid; must have at most 253 characters, ` +
        'and must not be "." or begin with ".."',
    };
  const bytes = Object.values(data).reduce((sum, value) => sum + value.base64Bytes, 0);
  if (bytes <= largestSecret) return undefined;
  return {
    reason: "TooLarge",
    message:
      `spec.data: has ${bytes} bytes; must have at most ${largestSecret}; ` +
      "split it into several SharedSecrets",
  };
}
