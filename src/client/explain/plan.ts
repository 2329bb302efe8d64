import { keyOf } from "../../api/object.ts";
import type { ReportItem } from "../../api/report.ts";
import { resources } from "../../api/resources.ts";
import { parseSharedSecret, type SharedSecret } from "../../api/shared-secret.ts";
import { timestamp } from "../../domain/plan/conditions.ts";
import { explainAccess } from "../../domain/shared-secret/access-rules.ts";
import type { Source } from "../../domain/sync/copy.ts";
import { emptyProjectsOf } from "../../domain/sync/observed-target.ts";
import { dataCopyRef, dataCopySource, keepsDataCopy } from "../../domain/sync/data-copy.ts";
import { syncIndexes, type SyncObjects } from "../../domain/sync/sync-objects.ts";
import { type ObjectChange, objectsAfter, planChanges } from "../../domain/sync/plan-change.ts";
import { emptyProjectItems, sourceItem } from "../../domain/sync/sync-report.ts";
import { UsageError } from "../../runtime/config-values.ts";
import { createDataDigest } from "../../tokens/data-digest.ts";
import type { Action, Cli, ConnectedCli, Flags } from "../cli.ts";
import type { Cluster } from "../connection/cluster.ts";
import { exitCodes } from "../failure.ts";
import { followed } from "../secrets/followed.ts";
import { type AppliedManifest, dryRunApply } from "./plan-apply.ts";
import { type ManifestText, parseManifests, readManifestFiles } from "./plan-manifests.ts";
import {
  accessItem,
  copyItems,
  hasChanges,
  objectItem,
  planItems,
  type PlanReport,
  planText,
} from "./plan-report.ts";
import { keptDataItems } from "./kept-data.ts";
import { clusterChanges } from "./plan-clusters.ts";
import { type ChangedSecret, plannedAccess, readRoles } from "./plan-roles.ts";
import {
  changeOf,
  type KnownSync,
  knownSync,
  missingRights,
  plannedObjects,
  planNow,
} from "./plan-sync.ts";
import { plainItem, printReport } from "../report.ts";
import { type LiveSync, readSyncObjects } from "./sync-objects.ts";
import { areNamespacesListed } from "./why-shared-secret.ts";

/** `kubectl latchkey plan`. */
export const plan: Action<"plan"> = async ({ flags }, cli) => {
  const texts = await manifestTexts(flags, cli);
  const cluster = await cli.connect(flags);
  const report =
    flags.filename.length === 0
      ? await currentPlan(flags, cluster)
      : await filePlan(texts, flags, { cli, cluster });
  printReport(planItems(report), (paint) => planText(report, paint), { ...flags, ...cli });
  return flags.exitCode && hasChanges(report) ? exitCodes.unhealthy.code : exitCodes.done.code;
};

async function manifestTexts(
  { filename }: Flags<"plan">,
  { terminal }: Cli,
): Promise<readonly ManifestText[]> {
  const isInput = filename.includes("-");
  const text = isInput ? (await terminal.readInput()).toString("utf8") : "";
  if (isInput && text.trim() === "")
    throw new UsageError(
      "--filename: the standard input is empty; check the program before the pipe",
    );
  const files = readManifestFiles(filename.filter((path) => path !== "-"));
  return isInput ? [{ file: "the standard input", text }, ...files] : files;
}

/** What the controller has to do without any change. */
async function currentPlan(flags: Flags<"plan">, cluster: Cluster): Promise<PlanReport> {
  const namespace = flags.allNamespaces ? undefined : cluster.choice.namespace;
  const { requireSyncFrom, copyKeys } = flags;
  const live = await readSyncObjects(cluster, {
    secrets: {},
    namespaces: [cluster.choice.namespace],
    requireSyncFrom,
    copyKeys,
  });
  const known = knownSync(live);
  const secrets = live.snapshot.sharedSecrets
    .filter(({ secret }) => namespace === undefined || secret.metadata.namespace === namespace)
    .map((source) => {
      const { secret } = source;
      const hasDataCopy = keepsCopy(source, known.objects);
      return { source, change: { before: secret, after: secret, hasDataCopy } };
    });
  const items = copyItems(planNow(namespace, known), known, { retries: false });
  const access = await accessItems(
    secrets.map(({ change }) => ({ ...change, isNew: false })),
    flags,
    cluster,
  );
  const notes = secrets.flatMap(({ source }) =>
    sourceNotes(source, { objects: known.objects, live }, flags),
  );
  return reportOf({ objects: [], ...items, access, clusters: [], notes }, live);
}

/** What the controller would do after an apply of files. */
async function filePlan(
  texts: readonly ManifestText[],
  flags: Flags<"plan">,
  { cli, cluster }: ConnectedCli,
): Promise<PlanReport> {
  const { manifests, skipped } = parseManifests(texts, cluster.choice.namespace);
  const now = timestamp(cli.clock.now());
  const applied = await dryRunApply(manifests, flags, { cluster, now });
  const { requireSyncFrom, copyKeys } = flags;
  const terms = { digestOf: createDataDigest(), requireSyncFrom, copyKeys };
  const planned = new Map(
    applied.flatMap(({ kind, ref, object }) => (kind === "Secret" ? [[keyOf(ref), object]] : [])),
  );
  const following = { cluster, digestOf: terms.digestOf, planned };
  const written = await withFollowed(
    applied.map((manifest) => changeOf(manifest, terms)),
    following,
  );
  const live = await readSyncObjects(cluster, {
    ...terms,
    secrets: {},
    planned: plannedObjects(written),
    namespaces: namespacesOf(applied, cluster.choice.namespace),
  });
  const known = knownSync(live);
  const changes = [...written, ...(await followersOf(written, known.objects, following))];
  const items = copyItems(planChanges(changes, known.objects), known, { retries: true });
  const after = objectsAfter(changes, known.objects);
  const access = await accessItems(changedSecrets(applied, known, after), flags, cluster);
  const before = live.snapshot.sharedSecrets;
  const offers = await clusterChanges({ applied, changes, before }, cluster);
  const sources = changes.flatMap((change) =>
    change.kind === "SharedSecret" && change.after !== undefined ? [change.after] : [],
  );
  const notes = [
    ...sources.flatMap((source) => sourceNotes(source, { objects: after, live }, flags)),
    ...applied.flatMap(({ kind, ref, object }) =>
      kind === resources.sharedSecrets.kind ? keptDataItems(ref, object) : [],
    ),
    ...offers.found.notes,
    ...skipped.map((object) =>
      plainItem(
        object,
        ["info", "NotPlanned"],
        "Sync does not depend on it, so it is not planned.",
      ),
    ),
  ];
  const clusters = offers.found.changes;
  const parts = { objects: applied.map(objectItem), ...items, access, clusters, notes };
  return reportOf(parts, { missing: [...live.missing, ...offers.missing] });
}

function reportOf(
  parts: Omit<PlanReport, "missing">,
  { missing }: Pick<LiveSync, "missing">,
): PlanReport {
  const rights = missingRights(missing);
  const hidden = missing.length - rights.length;
  const assumed = plainItem(
    { kind: resources.secrets.kind },
    ["unknown", "Assumed"],
    `You may not read ${hidden} of the Secrets; ` +
      "they are assumed to be as their SharedSecrets say.",
  );
  const notes = [...parts.notes, ...(hidden === 0 ? [] : [assumed])];
  return { ...parts, notes, missing: rights };
}

/** The namespaces that a user who may not list them asks about. */
function namespacesOf(applied: readonly AppliedManifest[], own: string): readonly string[] {
  const named = applied.map(({ ref }) => ref.namespace ?? ref.name);
  return [...new Set([own, ...named])];
}

interface ChangedSource extends ChangedSecret {
  readonly isNew: boolean;
}

function changedSecrets(
  applied: readonly AppliedManifest[],
  { objects }: KnownSync,
  planned: SyncObjects,
): readonly ChangedSource[] {
  return applied.flatMap(({ kind, ref, object, isNew }) => {
    if (kind !== "SharedSecret") return [];
    const after: SharedSecret = parseSharedSecret(object);
    const key = keyOf(ref);
    const source = planned.sharedSecrets.get(key);
    const hasDataCopy = source !== undefined && keepsCopy(source, planned);
    return [{ before: objects.sharedSecrets.get(key)?.secret, after, isNew, hasDataCopy }];
  });
}

/** Whether the readers of a source have a copy of the data that it follows, or get one. */
function keepsCopy(source: Source, { copies }: SyncObjects): boolean {
  const key = keyOf(dataCopyRef(source.secret.metadata));
  const isThere = keepsDataCopy(source) && copies.get(key) !== undefined;
  return isThere || dataCopySource(source) !== undefined;
}

/** Changes of SharedSecrets, with the data of the Secrets that they follow. */
function withFollowed(
  changes: readonly ObjectChange[],
  following: Parameters<typeof followed>[1],
): Promise<readonly ObjectChange[]> {
  return Promise.all(
    changes.map(async (change) => {
      if (change.kind !== "SharedSecret" || change.after === undefined) return change;
      return { ...change, after: (await followed(change.after, following)).found };
    }),
  );
}

/** What the change of Secrets means to the other SharedSecrets that follow them. */
async function followersOf(
  changes: readonly ObjectChange[],
  { sharedSecrets }: SyncObjects,
  following: Parameters<typeof followed>[1],
): Promise<readonly ObjectChange[]> {
  const written = new Set(changes.map(({ kind, key }) => `${kind} ${key}`));
  const followers = changes
    .filter(({ kind }) => kind === "Secret")
    .flatMap(({ key }) => sharedSecrets.by(syncIndexes.dataFrom, key))
    .map((after) => ({ kind: "SharedSecret", key: keyOf(after.secret.metadata), after }) as const)
    .filter(({ kind, key }) => !written.has(`${kind} ${key}`));
  return withFollowed(followers, following);
}

async function accessItems(
  changed: readonly ChangedSource[],
  { userPrefix: user, teamPrefix: team }: Flags<"plan">,
  cluster: Cluster,
): Promise<PlanReport["access"]> {
  const placeOf = ({ after }: ChangedSource): string => after.metadata.namespace ?? "";
  const roles = await readRoles(changed.map(placeOf), cluster);
  return changed.flatMap((change) =>
    plannedAccess(change, roles.get(placeOf(change)), { user, team }).map((access) =>
      accessItem(access, change.isNew),
    ),
  );
}

/** What is invalid about a SharedSecret, and which of its projects have no namespace. */
function sourceNotes(
  source: Source,
  { objects, live }: Pick<KnownSync, "objects"> & { readonly live: LiveSync },
  { userPrefix: user, teamPrefix: team }: Flags<"plan">,
): readonly ReportItem[] {
  const { problem, refusal } = source.options;
  const invalid = (problem ?? refusal) === undefined ? undefined : sourceItem(source);
  const empty = areNamespacesListed(live) ? emptyProjectsOf(source, objects) : [];
  return [
    ...(invalid === undefined ? [] : [invalid]),
    ...explainAccess(source.secret, { user, team }),
    ...emptyProjectItems(source, empty, objects),
  ];
}
