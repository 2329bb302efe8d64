import { connect, type ClientHttp2Session } from "node:http2";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import {
  askGateway,
  cutWithinMs,
  type GatewayStream,
  gatewayUrl,
} from "../support/gateway-request.ts";
import { type KnownKey, makeKey } from "../support/key-request.ts";
import { allowRequesters } from "../support/keys-and-tokens.ts";
import type { RunningPod } from "../support/pod-requests.ts";
import { api, bind, unique } from "../support/policy-request.ts";
import { makeRunningPod } from "./running-pod.ts";
import { isAtLength } from "../support/property-runs.ts";
import { skippedWithout } from "../support/skipped.ts";
import {
  cutEnd,
  openStatus,
  shownEnd,
  streamClients,
  watchPath,
} from "../support/stream-clients.ts";

const editors = unique("editors");
const management = "/kubernetes/management";
const keysPath = `${management}/apis/management.service/v1/ownedaccesskeys`;
const namespacePath = ({ namespace }: RunningPod) => `/api/v1/namespaces/${namespace}`;
/**
 * Watches of other keys at each replica, 250 of each key; in `make verify`, the first replica is
 * close to its limit of 2,000 streams.
 */
const crowdOf = [isAtLength ? 1_750 : 250, 250] as const;
const streamsOfKey = 250;
const crowdSize = crowdOf[0] + crowdOf[1];

const clients = [0, 1].flatMap((replica) =>
  streamClients(management).map((client) => ({ ...client, replica })),
);

type Spec = Readonly<Record<string, unknown>>;

/** How a key loses its access, and the status that open watches get. */
interface Loss {
  readonly name: string;
  readonly spec?: Spec;
  /** Absent: time alone ends it. */
  readonly action?: (key: KnownKey, pod: RunningPod) => Promise<unknown>;
  readonly code: 401 | 403;
}

const merge = (path: string, body: object) => api.merge(path, body);
const onPods = { rules: [{ resources: [{ group: "", resources: ["pods"] }] }] };
const onStreams = {
  rules: [{ resources: [{ group: "", resources: ["configmaps", "pods", "pods/*"] }] }],
};

/** The lifetime of keys that end by themselves: long enough to open all streams before. */
const ttlSeconds = 30;

const losses: readonly Loss[] = [
  {
    name: "when its key is disabled",
    action: (key) => merge(key.path, { spec: { disabled: true } }),
    code: 401,
  },
  {
    name: "when its key is deleted",
    action: (key) => api.delete(key.path),
    code: 401,
  },
  {
    name: "when another key replaces its key",
    action: (key) => merge(key.path, { spec: { key: unique("another-key").repeat(3) } }),
    code: 401,
  },
  {
    name: "when its key acts as another user",
    action: (key) => merge(key.path, { spec: { user: "bob" } }),
    code: 401,
  },
  {
    name: "when the scope of its key is narrowed",
    spec: { scope: onStreams },
    action: (key) => merge(key.path, { spec: { scope: onPods } }),
    code: 403,
  },
  {
    name: "when its namespace leaves the project in the scope",
    spec: { scope: { projects: [{ project: "cut" }] } },
    action: (_key, pod) =>
      merge(namespacePath(pod), {
        metadata: { labels: { "management.service/project": "other" } },
      }),
    code: 403,
  },
  { name: "at the expiry of its key", spec: { ttl: ttlSeconds }, code: 401 },
  {
    name: "at the end of an idle ttl, because an open stream is no use",
    spec: { ttl: ttlSeconds, ttlAfterLastActivity: true },
    code: 401,
  },
];

/** Opens one stream of each kind at each replica. */
async function openAll(key: string, pod: RunningPod): Promise<readonly GatewayStream[]> {
  await eventually(async () => (await knownAt(key, 0)) && (await knownAt(key, 1)), {
    what: "the key to work at both replicas",
    every: 50,
  });
  const streams = clients.map(({ open, replica }) => open({ key, replica }, pod));
  const statuses = await Promise.all(streams.map(({ opened }) => opened));
  expect(clients.map(({ name }, at) => [name, statuses[at]])).toEqual(
    clients.map(({ name }) => [name, openStatus(name)]),
  );
  return streams;
}

async function knownAt(key: string, replica: number): Promise<boolean> {
  return (await askGateway({ key, replica, path: `${management}/api` })).status === 200;
}

/** Expects that all streams end because of the action, or of time alone, and prints when. */
async function expectCut(
  streams: readonly GatewayStream[],
  { name, code, lose }: Pick<Loss, "name" | "code"> & { readonly lose: Lose },
): Promise<void> {
  let early = 0;
  for (const { ended } of streams) void ended.then(() => (early += 1));
  // What has ended by now is known when this turn of the event loop is over.
  await new Promise(setImmediate);
  expect(early).toBe(0);
  const since = await lose();
  const ends = await Promise.all(streams.map(({ ended }) => ended));
  const lost = await since();
  const took = clients.map((client, at) => ({
    ...client,
    ms: Math.round((ends[at]?.at ?? Infinity) - lost),
  }));
  for (const replica of [0, 1]) {
    const times = took
      .filter((one) => one.replica === replica)
      .map((one) => `${one.name} ${one.ms}`);
    process.stdout.write(`${name}, at replica ${replica}, in ms: ${times.join(", ")}\n`);
  }
  const slowest = Math.max(...took.map(({ ms }) => ms));
  process.stdout.write(`${name}: the slowest of ${took.length} ended after ${slowest} ms\n`);
  expect(slowest).toBeLessThan(cutWithinMs);
  const shown = await Promise.all(
    clients.map(async ({ name: client }, at) => [
      client,
      streams[at] === undefined ? undefined : await shownEnd(client, streams[at]),
    ]),
  );
  expect(shown).toEqual(clients.map(({ name: client }) => [client, cutEnd(client, code)]));
}

/** Ends the access of a key; the result returns when it ended, on the clock of `performance`. */
type Lose = () => Promise<() => Promise<number>>;

describe(`a stream ends beside ${crowdSize} watches`, skippedWithout(inject("kubelet")), () => {
  const crowd: ClientHttp2Session[] = [];
  let opened = 0;
  let isComplete = false;
  let pod: RunningPod;

  beforeAll(async () => {
    await bind({ kind: "Group", name: editors }, "edit");
    await allowRequesters(editors);
    pod = await makeRunningPod();
    await merge(namespacePath(pod), {
      metadata: { labels: { "management.service/project": "cut" } },
    });
    await Promise.all(crowdOf.map(openCrowd));
    await eventually(() => opened === crowdSize, { what: "all watches to be open" });
    isComplete = true;
  });
  afterAll(() => {
    isComplete = true;
    crowd.forEach((session) => session.destroy());
  });

  /** One key after the other: a replica that only makes connections would not serve. */
  async function openCrowd(size: number, replica: number): Promise<void> {
    for (let made = 0; made < size; made += streamsOfKey) await openCrowdOfKey(replica);
  }

  /**
   * Watches with a key of a user of their own, over one connection; a replica that is too busy to
   * prove its cache ends some, which are opened again until all are open.
   */
  async function openCrowdOfKey(replica: number): Promise<void> {
    const { key } = await makeKey({ spec: { user: unique("crowd"), groups: [editors] } });
    await eventually(() => knownAt(key, replica), { what: "the key to work" });
    const session = connect(gatewayUrl(replica).origin, { ca: inject("gateway")?.ca });
    session.on("error", () => {});
    crowd.push(session);
    let mine = 0;
    const open = (): void => {
      if (isComplete || session.destroyed) return;
      const stream = session.request({
        ":path": watchPath(management, pod),
        authorization: `Bearer ${key}`,
      });
      const count = (change: 1 | -1): void => {
        mine += change;
        opened += change;
      };
      stream.on("error", () => {});
      stream.once("response", ({ ":status": status }) => {
        if (status !== 200) return;
        count(1);
        stream.once("close", () => count(-1));
      });
      stream.once("close", () => void setTimeout(open, 1_000).unref());
      stream.resume();
    };
    for (let at = 0; at < streamsOfKey; at += 1) open();
    await eventually(() => mine === streamsOfKey, { what: `${streamsOfKey} watches to be open` });
  }

  const loseAccess = async ({ name, spec = {}, action, code }: Loss): Promise<void> => {
    const key = await makeKey({ spec: { user: "alice", groups: [editors], ...spec } });
    const streams = await openAll(key.key, pod);
    const lose: Lose = async () => {
      await action?.(key, pod);
      return action === undefined ? () => endOfKey(key) : instantOf(performance.now());
    };
    await expectCut(streams, { name, code, lose });
  };

  it.each(losses.filter(({ action }) => action !== undefined))("$name", async (loss) => {
    await loseAccess(loss);
    expect(opened).toBe(crowdSize);
  });
  // These wait at the same time.
  it.concurrent.each(losses.filter(({ action }) => action === undefined))("$name", async (loss) => {
    await loseAccess(loss);
    expect(opened).toBe(crowdSize);
  });

  it("when the key that its key was made with is disabled", async () => {
    const parent = await makeKey({ spec: { user: "alice", groups: [editors] } });
    const [name, text] = [unique("child"), `child-${unique("x").repeat(3)}`];
    const isMade = async () => {
      const { status } = await askGateway({
        method: "POST",
        path: keysPath,
        key: parent.key,
        headers: { "content-type": "application/json" },
        body: JSON.stringify({
          metadata: { name },
          spec: { key: text, user: "alice", groups: [editors] },
        }),
      });
      return status === 201;
    };
    await eventually(isMade, { what: "the child key to be made" });
    const streams = await openAll(text, pod);
    const lose: Lose = async () => {
      await merge(parent.path, { spec: { disabled: true } });
      return instantOf(performance.now());
    };
    await expectCut(streams, { name: "when the parent key is disabled", code: 401, lose });
    expect(opened).toBe(crowdSize);
  });
});

const instantOf = (instant: number) => () => Promise.resolve(instant);

/** When a key ended by its own time, on the clock of `performance`. */
async function endOfKey(key: KnownKey): Promise<number> {
  const { metadata, spec, status } = await api.get(key.path);
  const read: { lastActivity?: string } = JSON.parse(JSON.stringify(status ?? {}));
  const isIdle = spec?.["ttlAfterLastActivity"] === true;
  const start = (isIdle ? read.lastActivity : undefined) ?? String(metadata["creationTimestamp"]);
  return performance.now() + (Date.parse(start) + ttlSeconds * 1_000 - Date.now());
}
