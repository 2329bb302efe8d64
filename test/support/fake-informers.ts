import { ownObjects, annotations, labels } from "../../src/api/names.ts";
import { type Changed, createInformers, type Informers } from "../../src/controllers/informers.ts";
import { recordAt } from "../../src/api/parse.ts";
import { centralKinds } from "../../src/controllers/kinds/kinds.ts";
import type { Watched } from "../../src/controllers/kinds/watched-kind.ts";
import type { SyncWorld } from "../../src/controllers/sync-world.ts";
import type { World } from "../../src/controllers/world.ts";
import type { NamespaceOptions } from "../../src/domain/sync/obstacles.ts";
import { encodeBody } from "../../src/kube/client/request-body.ts";
import { newSigningKeys } from "../../src/tokens/signing-keys.ts";
import { Yielder } from "../../src/runtime/yielder.ts";
import { recordingLog } from "./recording-log.ts";
import { settled, TestClock } from "./test-clock.ts";
import { rawObject, type RawObject, FakeListWatch } from "./fake-list-watch.ts";

/** Informers over a fake API server, and the fakes they depend on. */
export interface FakeInformers<W extends SyncWorld = World> {
  readonly informers: Informers<W>;
  readonly listWatch: FakeListWatch;
  readonly clock: TestClock;
  readonly log: ReturnType<typeof recordingLog>;
  readonly stop: AbortController;
}

/** Latchkey's own namespace in these tests. */
export const ownNamespace = "latchkey-system";

/** Of the controller of the central cluster. */
export const informersOptions = {
  namespace: ownNamespace,
  requireSyncFrom: false,
  copyKeys: [],
  watched: centralKinds,
};

/** The number of watches of a controller that watches everything. */
export function controllerWatches(): number {
  const clock = new TestClock();
  const informers = createInformers(
    {
      listWatch: new FakeListWatch({}),
      clock,
      yielder: new Yielder(clock),
      log: recordingLog(),
      random: () => 0.5,
    },
    { ...informersOptions, onChange: () => {} },
  );
  // Nothing is listed yet, so each informer reports a reason, or a warning if it is optional.
  return informers.staleReasons().length + informers.warnings().length;
}

/** Starts informers over these objects, by plural, and waits until they have listed them. */
export function syncedInformers(
  listed: Readonly<Record<string, readonly RawObject[]>>,
  onChange: (changed: Changed<World>) => void = () => {},
  options: NamespaceOptions = informersOptions,
): Promise<FakeInformers> {
  return syncedInformersOf(centralKinds, { listed, onChange, options });
}

/** The same for what a program watches. */
export async function syncedInformersOf<W extends SyncWorld>(
  watched: Watched<W>,
  {
    listed,
    onChange,
    options,
  }: {
    readonly listed: Readonly<Record<string, readonly RawObject[]>>;
    readonly onChange: (changed: Changed<W>) => void;
    readonly options: NamespaceOptions;
  },
): Promise<FakeInformers<W>> {
  const [clock, log, stop, listWatch] = [
    new TestClock(),
    recordingLog(),
    new AbortController(),
    new FakeListWatch(listed),
  ];
  const informers = createInformers(
    { listWatch, clock, yielder: new Yielder(clock), log, random: () => 0.5 },
    { ...informersOptions, ...options, watched, onChange },
  );
  void informers.run(stop.signal);
  await settled();
  await settled();
  return { informers, listWatch, clock, log, stop };
}

/** A namespace of project `web` that requests copies, with these changes. */
export function projectNamespace(
  name: string,
  changes: {
    readonly project?: string;
    readonly sync?: string;
    readonly from?: string;
    readonly deletionTimestamp?: string;
  } = {},
): RawObject {
  const { project = "web", sync = "enabled", from, ...rest } = changes;
  return rawObject({
    name,
    labels: { [labels.project]: project },
    annotations: {
      [annotations.sync]: sync,
      ...(from !== undefined && { [annotations.syncFrom]: from }),
    },
    ...rest,
  });
}

/** A SharedSecret in `team` that syncs to project `web`, with these changes. */
export function rawSharedSecret(
  name: string,
  changes: {
    readonly projects?: string;
    readonly data?: Readonly<Record<string, string>>;
    readonly access?: readonly unknown[];
    readonly metadata?: Readonly<Record<string, unknown>>;
  } = {},
): RawObject {
  const { projects = "web", access = [], data = { password: "Y2FuYXJ5" }, metadata = {} } = changes;
  return rawObject(
    {
      namespace: "team",
      name,
      annotations: { [annotations.syncToProjects]: projects },
      finalizers: ["management.service/cleanup"],
      ...metadata,
    },
    { spec: { data, access } },
  );
}

/** A copy of `team/<source>`, whose uid is `uid-<source>`, as `<namespace>/<name>`. */
export function rawCopy(
  source: string,
  namespace: string,
  changes: {
    readonly name?: string;
    readonly data?: Readonly<Record<string, string>>;
    readonly metadata?: Readonly<Record<string, unknown>>;
    readonly immutable?: boolean;
  } = {},
): RawObject {
  const { name = source, data = { password: "Y2FuYXJ5" }, metadata = {}, ...rest } = changes;
  const marks = {
    labels: { [labels.sourceUid]: `uid-${source}` },
    annotations: { [annotations.copyOf]: `team/${source} -> ${namespace}/${name}` },
  };
  return rawObject(
    { namespace, name, uid: `uid-${namespace}-${name}`, ...marks, ...metadata },
    { type: "Opaque", data, ...rest },
  );
}

/** A Secret of signing keys, as the API server returns it; by default, the first one. */
export function rawSigningKeys(
  secret: object = newSigningKeys({ namespace: ownNamespace, now: 0 }),
  metadata: object = {},
): RawObject {
  const sent: unknown = JSON.parse(encodeBody(secret));
  const ref = { namespace: ownNamespace, name: ownObjects.signingKeys };
  return rawObject(
    { ...ref, ...recordAt(sent, "metadata"), ...metadata },
    { data: recordAt(sent, "data") },
  );
}
