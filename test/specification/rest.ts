import * as sync from "./consent.ts";
import { sourceWith } from "./followed.ts";
import { grantsIn, grantsOf, isDerived, readersGrantsOf } from "./granted.ts";
import { isEqual, nameOf, type Raw } from "./raw.ts";
import { keyProblems } from "./rest-keys.ts";
import { hasFilter, masked, objectsOf, type Stored } from "./stored.ts";

/*
 * What the API server contains at rest, from the specification, the docs and the decisions. Calls no
 * code of src.
 */

/** What is wrong at rest. */
export function problemsAtRest(server: Stored): readonly string[] {
  const sides = sidesOf(server);
  return [
    ...sides.secrets.flatMap((secret) => secretProblems(secret, sides)),
    ...sides.sources.flatMap((source) => sourceProblems(source, { server, sides })),
    ...grantProblems(server, sides),
    ...keyProblems(server),
  ];
}

/** What decides about copies. */
export function sidesOf(server: Stored): sync.Sides {
  const secrets = objectsOf(server, "secrets");
  return {
    sources: objectsOf(server, "sharedsecrets").map((source) => {
      const followed = { ...source.metadata, name: sync.mark(source, "data-from") ?? "" };
      return sourceWith(source, sync.byName(secrets, nameOf(followed)) ?? "gone");
    }),
    namespaces: objectsOf(server, "namespaces"),
    secrets,
    isFiltered: hasFilter(server),
  };
}

/** What is wrong with a Secret at rest. */
export function secretProblems(secret: Raw, sides: sync.Sides): readonly string[] {
  const key = nameOf(secret.metadata);
  const home = sync.byName(sides.namespaces, secret.metadata.namespace);
  const from = sync.copiedFrom(secret);
  const isLeft = sync.isDeleting(secret) && (sync.isEmpty(secret) || sync.isSealed(secret));
  if (home === undefined || sync.isDeleting(home))
    return from === undefined || isLeft || !sync.isDeleting(secret)
      ? []
      : [`${key} has data of ${from} in a namespace that is being deleted`];
  const request = sync.requestOf(secret);
  const error = sync.mark(secret, "sync-error");
  if (!sync.mayStay(secret, sides))
    return isLeft ? [] : [`${key} has data of ${from ?? ""} without consent`];
  const { source } = sync.wantedAt(key, sides);
  const isPaused = sync.isPaused(secret) || sync.isPaused(source);
  if (source === undefined) {
    // The status says that its source has no data.
    const isKept = sync.byName(sides.sources, from)?.followed?.state === "kept";
    const says = (from !== undefined || request !== undefined) && !isKept;
    return says && error === undefined && !isRefusedType(secret)
      ? [`${key} does not say why it is stale or not filled`]
      : [];
  }
  if (isPaused || !sync.mayTake(secret, source)) return [];
  const isStuck =
    !sync.isAccepted(secret, source) || (request !== undefined && !sync.canFill(secret, source));
  if (isStuck)
    return error === undefined && !isRefusedType(secret)
      ? [`${key} does not say why it is not filled`]
      : [];
  const marks = {
    from,
    uid: sync.mark(secret, "source-uid", "labels"),
    filled: sync.mark(secret, "filled"),
    error,
    type: request === undefined ? secret.type : sync.typeOf(source),
  };
  const expected = {
    from: nameOf(source.metadata),
    uid: source.metadata.uid,
    filled: request === undefined ? undefined : "true",
    error: undefined,
    type: sync.typeOf(source),
  };
  return [
    ...(isEqual(marks, expected)
      ? []
      : [`${key} has ${JSON.stringify(marks)} instead of ${JSON.stringify(expected)}`]),
    ...(isEqual(secret.data ?? {}, sync.dataFor(source, secret)) ||
    isContested(secret, source, sides)
      ? []
      : [`${key} has other data than ${nameOf(source.metadata)}`]),
  ];
}

function isRefusedType({ type = "" }: Raw): boolean {
  return type.startsWith("helm.sh/");
}

/** Whether a Secret has what a policy of the platform makes of the data of a source. */
function isContested(secret: Raw, source: Raw, { isFiltered = false }: sync.Sides): boolean {
  const wanted = sync.dataFor(source, secret);
  const found = secret.data ?? {};
  return isFiltered && !isEqual(found, wanted) && isEqual(found, masked(wanted));
}

/** A target of a SharedSecret and what should be there. */
type TargetState = "synced" | "conflict" | "contested" | "paused" | "missing" | "refused";

export function targetsOf(source: Raw, sides: sync.Sides): ReadonlyMap<string, TargetState> {
  const states = new Map<string, TargetState>();
  const own = nameOf(source.metadata);
  for (const namespace of sides.namespaces) {
    const { name } = namespace.metadata;
    const asking = sides.secrets.filter(
      (secret) => secret.metadata.namespace === name && sync.requestOf(secret) === own,
    );
    const keys = new Set([
      ...(sync.maySync(source, namespace, "copy") ? [`${name}/${sync.copyName(source)}`] : []),
      ...(sync.maySync(source, namespace, "placeholder")
        ? asking.map(({ metadata }) => nameOf(metadata))
        : []),
    ]);
    for (const key of keys) states.set(key, targetState(key, source, sides));
  }
  return states;
}

function targetState(key: string, source: Raw, sides: sync.Sides): TargetState {
  const secret = sync.byName(sides.secrets, key);
  const request = sync.requestOf(secret);
  const { source: wanted } = sync.wantedAt(key, sides);
  if (wanted !== source) return "conflict";
  if (secret === undefined) return "missing";
  if (sync.isPaused(secret)) return "paused";
  if (!sync.mayTake(secret, source)) return "conflict";
  if (request !== undefined && !sync.canFill(secret, source)) return "conflict";
  if (!sync.isAccepted(secret, source)) return "refused";
  return isContested(secret, source, sides) ? "contested" : "synced";
}

function sourceProblems(
  source: Raw,
  { server, sides }: { readonly server: Stored; readonly sides: sync.Sides },
): readonly string[] {
  const key = nameOf(source.metadata);
  const home = sync.byName(sides.namespaces, source.metadata.namespace);
  if (home === undefined || sync.isDeleting(home)) return [];
  if (sync.isDeleting(source))
    return sync.hasFinalizer(source) ? [`${key} is being deleted and keeps the finalizer`] : [];
  const targets = [...targetsOf(source, sides)];
  const count = (state: TargetState): number => targets.filter(([, one]) => one === state).length;
  const isPaused = sync.isPaused(source);
  const missing = targets.filter(([, state]) => state === "missing" && !isPaused);
  const failed = missing.length + count("refused") + count("contested");
  const isFull = (at: string): boolean =>
    objectsOf(server, "resourcequotas").some(
      ({ metadata }) => metadata.namespace === at.split("/")[0],
    );
  const unremoved = sides.secrets.filter(
    (secret) =>
      sync.copiedFrom(secret) === key && sync.isDeleting(secret) && !sync.mayStay(secret, sides),
  ).length;
  const { status = {}, metadata } = source;
  const counts = status.sync ?? {};
  const refreshed = sync.mark(source, "refresh-now");
  const expected = {
    generation: metadata.generation,
    keys: Object.keys(source.spec?.data ?? {}).length,
    conflicts: count("conflict"),
    unremoved: unremoved === 0 ? undefined : unremoved,
    ...(isPaused
      ? {}
      : {
          desired: targets.length - count("paused"),
          synced: count("synced"),
          failed,
        }),
    ...(refreshed === undefined ? {} : { refreshed }),
    reason: syncedReason(source, { targets, sides, failed, unremoved }),
  };
  const found = {
    generation: status.observedGeneration,
    keys: status["keys"],
    conflicts: counts["conflicts"],
    unremoved: counts["unremoved"],
    ...(isPaused
      ? {}
      : { desired: counts["desired"], synced: counts["synced"], failed: counts["failed"] }),
    ...(refreshed === undefined ? {} : { refreshed: counts["refreshed"] }),
    reason: reasonOf(source, "Synced"),
  };
  return [
    ...(sync.hasFinalizer(source) ? [] : [`${key} has no finalizer`]),
    ...(lacksReadersCopy(source, sides) ? [`${key} has no copy for its readers`] : []),
    ...missing
      .filter(([at]) => !isFull(at) && sync.isAccepted(undefined, source))
      .map(([at]) => `${at} does not exist`),
    ...(isEqual(found, expected)
      ? []
      : [`status of ${key} is ${JSON.stringify(found)} instead of ${JSON.stringify(expected)}`]),
  ];
}

function lacksReadersCopy(source: Raw, sides: sync.Sides): boolean {
  const key = sync.readersKey(source);
  if (key === undefined || sync.isPaused(source) || !sync.mayHaveReadersCopy(source)) return false;
  return source.followed?.state === "data" && sync.byName(sides.secrets, key) === undefined;
}

function reasonOf({ status }: Raw, type: string): string | undefined {
  return status?.conditions?.find((condition) => condition.type === type)?.reason;
}

interface Counted {
  readonly clusterCounts: { readonly named?: number };
}

function syncedReason(
  source: Raw,
  {
    targets,
    sides,
    failed,
    unremoved,
  }: {
    readonly targets: readonly (readonly [string, TargetState])[];
    readonly sides: sync.Sides;
    readonly failed: number;
    readonly unremoved: number;
  },
): string {
  const { followed } = source;
  if (!sync.hasValidOptions(source)) return "InvalidSyncOption";
  if (followed?.state === "kept") return followed.reason;
  if (unremoved > 0) return "RemovalBlocked";
  if (followed?.state === "withdrawn") return "SourceNotAllowed";
  if (!sync.isOffered(source)) return "NotRequested";
  if (sync.isPaused(source)) return "Paused";
  if (!hasTargets(source, sides)) {
    const { clusterCounts } = { clusterCounts: {}, ...source.status?.["sync"] } as Counted;
    // Without a target here, the clusters that are named decide.
    return (clusterCounts.named ?? 0) > 0
      ? (reasonOf(source, "ClustersSynced") ?? "")
      : "NoTargets";
  }
  if (targets.some(([, state]) => state === "conflict")) return "Conflict";
  const contested = targets.filter(([, state]) => state === "contested").length;
  if (failed > contested) return "Failed";
  return failed > 0 ? "Contested" : "Synced";
}

function hasTargets(source: Raw, sides: sync.Sides): boolean {
  return targetsOf(source, sides).size > 0;
}

/** The grants are those of the objects that exist, and nothing else of Latchkey is left. */
function grantProblems(server: Stored, { sources, secrets }: sync.Sides): readonly string[] {
  const withCopies = sources.filter((source) => {
    const copy = sync.byName(secrets, sync.readersKey(source));
    return sync.copiedFrom(copy) === nameOf(source.metadata) && !sync.isDeleting(source);
  });
  const asked = ["sharedsecrets", "ownedaccesskeys", "directclusterendpointtokens"].flatMap(
    (plural) =>
      objectsOf(server, plural)
        .filter((one) => !sync.isDeleting(one))
        .flatMap(grantsOf),
  );
  asked.push(...withCopies.flatMap(readersGrantsOf));
  const given = grantsIn(server.objects);
  const uids = new Set(objectsOf(server, "sharedsecrets").map(({ metadata }) => metadata.uid));
  const derived = [...objectsOf(server, "roles"), ...objectsOf(server, "rolebindings")].filter(
    isDerived,
  );
  return [
    ...given.filter((grant) => !asked.includes(grant)).map((grant) => `grants ${grant}`),
    ...asked.filter((grant) => !given.includes(grant)).map((grant) => `does not grant ${grant}`),
    ...derived.flatMap((one) =>
      uids.has(sync.mark(one, "source-uid", "labels") ?? "")
        ? []
        : [`${one.metadata.name} is left over`],
    ),
  ];
}
