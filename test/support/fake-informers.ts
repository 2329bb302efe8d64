import { annotations, labels } from "../../src/api/names.ts";
import {
  type ChangeHandlers,
  createInformers,
  type Informers,
} from "../../src/controllers/informers.ts";
import { Yielder } from "../../src/kube/yielder.ts";
import { recordingLog } from "./recording-log.ts";
import { settled, TestClock } from "./test-clock.ts";
import { raw, type RawObject, ToldListWatch } from "./fake-list-watch.ts";

/** Informers that have listed what they were told. */
export interface Told {
  readonly informers: Informers;
  readonly listWatch: ToldListWatch;
  readonly clock: TestClock;
  readonly log: ReturnType<typeof recordingLog>;
  readonly stop: AbortController;
}

/** Handlers that do nothing. */
export const deaf: ChangeHandlers = {
  sharedSecret: () => {},
  namespace: () => {},
  copy: () => {},
  unmanagedSecret: () => {},
  role: () => {},
  grant: () => {},
  key: () => {},
  token: () => {},
  policy: () => {},
  connectorData: () => {},
  scopeRole: () => {},
  resourceQuota: () => {},
  signingKeys: () => {},
};

/** Latchkey's own namespace in these tests. */
export const ownNamespace = "latchkey-system";

/** Starts informers over these objects, by plural, and waits until they have listed them. */
export async function told(
  listed: Readonly<Record<string, readonly RawObject[]>>,
  on: Partial<ChangeHandlers> = {},
  { requireSyncFrom = false } = {},
): Promise<Told> {
  const [clock, log, stop, listWatch] = [
    new TestClock(),
    recordingLog(),
    new AbortController(),
    new ToldListWatch(listed),
  ];
  const informers = createInformers(
    { listWatch, clock, yielder: new Yielder(clock), log, random: () => 0.5 },
    { namespace: ownNamespace, requireSyncFrom, on: { ...deaf, ...on } },
  );
  void informers.run(stop.signal);
  await informers.synced;
  await settled();
  return { informers, listWatch, clock, log, stop };
}

/** A namespace of project `web` that asks for copies, but for the changes. */
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
  return raw({
    name,
    labels: { [labels.project]: project },
    annotations: {
      [annotations.sync]: sync,
      ...(from !== undefined && { [annotations.syncFrom]: from }),
    },
    ...rest,
  });
}

/** A SharedSecret in `team` that is offered to project `web`, but for the changes. */
export function offered(
  name: string,
  changes: {
    readonly projects?: string;
    readonly data?: Readonly<Record<string, string>>;
    readonly access?: readonly unknown[];
    readonly metadata?: Readonly<Record<string, unknown>>;
  } = {},
): RawObject {
  const { projects = "web", access = [], data = { password: "Y2FuYXJ5" }, metadata = {} } = changes;
  return raw(
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
export function copied(
  source: string,
  namespace: string,
  changes: {
    readonly name?: string;
    readonly data?: Readonly<Record<string, string>>;
    readonly metadata?: Readonly<Record<string, unknown>>;
  } = {},
): RawObject {
  const { name = source, data = { password: "Y2FuYXJ5" }, metadata = {} } = changes;
  const marks = {
    labels: { [labels.sourceUid]: `uid-${source}` },
    annotations: { [annotations.copyOf]: `team/${source} -> ${namespace}/${name}` },
  };
  return raw(
    { namespace, name, uid: `uid-${namespace}-${name}`, ...marks, ...metadata },
    { type: "Opaque", data },
  );
}
