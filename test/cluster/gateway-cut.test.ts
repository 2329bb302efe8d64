import { connect, type ClientHttp2Session } from "node:http2";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import {
  askGateway,
  type GatewayStream,
  gatewayUrl,
  openGatewayStream,
} from "../support/gateway-request.ts";
import { type KnownKey, makeKey } from "../support/key-request.ts";
import { allowRequesters } from "../support/keys-and-tokens.ts";
import { arrange, bind, patchTypes, unique } from "../support/policy-request.ts";

const readers = unique("readers");
const namespace = unique("cut");
const watchPath = `/kubernetes/management/api/v1/namespaces/${namespace}/configmaps?watch=1&resourceVersion=0`;
const keysPath = "/kubernetes/management/apis/management.service/v1/ownedaccesskeys";

type Spec = Readonly<Record<string, unknown>>;

/** How a key loses its access, and the status that open watches get. */
interface Loss {
  readonly name: string;
  readonly spec?: Spec;
  /** Absent: time alone ends it. */
  readonly action?: (key: KnownKey) => Promise<unknown>;
  readonly code: 401 | 403;
}

const merge = (path: string, body: object) =>
  arrange({ method: "PATCH", path, type: patchTypes.merge, body });
const onConfigMaps = { rules: [{ resources: [{ group: "", resources: ["configmaps"] }] }] };
const onPods = { rules: [{ resources: [{ group: "", resources: ["pods"] }] }] };

const losses: readonly Loss[] = [
  {
    name: "when its key is disabled",
    action: (key) => merge(key.path, { spec: { disabled: true } }),
    code: 401,
  },
  {
    name: "when its key is deleted",
    action: (key) => arrange({ method: "DELETE", path: key.path }),
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
    spec: { scope: onConfigMaps },
    action: (key) => merge(key.path, { spec: { scope: onPods } }),
    code: 403,
  },
  {
    name: "when its namespace leaves the project in the scope",
    spec: { scope: { projects: [{ project: "cut" }] } },
    action: () =>
      merge(`/api/v1/namespaces/${namespace}`, {
        metadata: { labels: { "management.service/project": "other" } },
      }),
    code: 403,
  },
  { name: "at the expiry of its key", spec: { ttl: 15 }, code: 401 },
  {
    name: "at the end of an idle ttl, because an open watch is no use",
    spec: { ttl: 15, ttlAfterLastActivity: true },
    code: 401,
  },
];

/** A watch over each protocol at each replica. */
const clients = [0, 1].flatMap((replica) => [
  { replica, http2: false },
  { replica, http2: true },
]);

async function openWatches(key: string): Promise<readonly GatewayStream[]> {
  const isKnown = async () => {
    const answers = await Promise.all(
      clients.map((client) => askGateway({ ...client, key, path: "/kubernetes/management/api" })),
    );
    return answers.every(({ status }) => status === 200);
  };
  await eventually(isKnown, { what: "the key to work at both replicas", every: 50 });
  const streams = clients.map((client) => openGatewayStream({ ...client, key, path: watchPath }));
  expect(await Promise.all(streams.map(({ opened }) => opened))).toEqual(clients.map(() => 200));
  return streams;
}

async function expectCut(
  streams: readonly GatewayStream[],
  { name, code, since }: Pick<Loss, "name" | "code"> & { readonly since: () => Promise<number> },
): Promise<void> {
  const ends = await Promise.all(streams.map(({ ended }) => ended));
  const lost = await since();
  ends.forEach(({ at }, index) => {
    const { replica = 0, http2 = false } = clients[index] ?? {};
    const protocol = http2 ? "HTTP/2" : "HTTP/1.1";
    const ms = Math.round(at - lost);
    process.stdout.write(`a watch ends ${name}: replica ${replica}, ${protocol}: ${ms} ms\n`);
  });
  for (const stream of streams) {
    const last = stream.text().trimEnd().split("\n").at(-1) ?? "";
    expect(JSON.parse(last)).toMatchObject({ type: "ERROR", object: { kind: "Status", code } });
  }
}

describe.skipIf(inject("gateway") === undefined)("an open watch ends beside 1,920 others", () => {
  const crowd: ClientHttp2Session[] = [];
  let left = 0;

  beforeAll(async () => {
    await bind({ kind: "Group", name: readers }, "view");
    await allowRequesters(readers);
    const labels = { "management.service/project": "cut" };
    await arrange({
      method: "POST",
      path: "/api/v1/namespaces",
      body: { metadata: { name: namespace, labels } },
    });
    await Promise.all(Array.from({ length: 8 }, (_, at) => openCrowd(at % 2)));
  });
  afterAll(() => crowd.forEach((session) => session.destroy()));

  /** 240 watches with a key of a user of their own. */
  async function openCrowd(replica: number): Promise<void> {
    const { key } = await makeKey({ spec: { user: unique("crowd"), groups: [readers] } });
    const path = "/kubernetes/management/api";
    await eventually(async () => (await askGateway({ key, path, replica })).status === 200, {
      what: "the key to work",
    });
    const session = connect(gatewayUrl(replica).origin, { ca: inject("gateway")?.ca });
    session.on("error", () => {});
    crowd.push(session);
    const statuses = Array.from({ length: 240 }, () => {
      const stream = session.request({ ":path": watchPath, authorization: `Bearer ${key}` });
      stream.on("error", () => {});
      stream.on("close", () => (left += 1));
      stream.resume();
      return new Promise((resolve) => {
        stream.once("response", (headers) => resolve(headers[":status"]));
      });
    });
    expect(new Set(await Promise.all(statuses))).toEqual(new Set([200]));
  }

  it.each(losses)("$name", async ({ name, spec = {}, action, code }) => {
    const key = await makeKey({ spec: { user: "alice", groups: [readers], ...spec } });
    const streams = await openWatches(key.key);
    await action?.(key);
    const since = action === undefined ? () => endOfKey(key) : instantOf(performance.now());
    await expectCut(streams, { name, code, since });
    expect(left).toBe(0);
  });

  it("when the key that its key was made with is disabled", async () => {
    const parent = await makeKey({ spec: { user: "alice", groups: [readers] } });
    const [name, text] = [unique("child"), `child-${unique("x").repeat(3)}`];
    const isMade = async () => {
      const { status } = await askGateway({
        ...{ method: "POST", path: keysPath, key: parent.key },
        headers: { "content-type": "application/json" },
        body: JSON.stringify({
          metadata: { name },
          spec: { key: text, user: "alice", groups: [readers] },
        }),
      });
      return status === 201;
    };
    await eventually(isMade, { what: "the child key to be made" });
    const streams = await openWatches(text);
    await merge(parent.path, { spec: { disabled: true } });
    const since = instantOf(performance.now());
    await expectCut(streams, { name: "when the parent key is disabled", code: 401, since });
    expect(left).toBe(0);
  });
});

const instantOf = (instant: number) => () => Promise.resolve(instant);

/** When a key ended by its own time, on the clock of `performance`; its ttl is 15 s. */
async function endOfKey(key: KnownKey): Promise<number> {
  const { metadata, spec, status } = await arrange({ method: "GET", path: key.path });
  const read: { lastActivity?: string } = JSON.parse(JSON.stringify(status ?? {}));
  const isIdle = spec?.["ttlAfterLastActivity"] === true;
  const start = (isIdle ? read.lastActivity : undefined) ?? String(metadata["creationTimestamp"]);
  return performance.now() + (Date.parse(start) + 15_000 - Date.now());
}
