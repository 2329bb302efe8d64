import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { apiVersion } from "../../src/api/names.ts";
import {
  admin,
  connect,
  send,
  type Answer,
  type Ask,
  type Connection,
  get,
  post,
  remove,
} from "../support/cluster-connection.ts";
import type { AddedApiServer } from "../support/control-plane-start.ts";
import { kubeconfigFor } from "../support/control-plane-handle.ts";
import {
  bindClusterRole,
  keysPath,
  postNamespace,
  tokensPath,
} from "../support/latchkey-objects.ts";
import { eventually } from "../support/eventually.ts";
import {
  hasDedicatedClusters,
  startDedicatedCluster,
  type DedicatedCluster,
} from "../support/dedicated-cluster.ts";

const namespace = "shared";
/** 24 objects of each kind, of which this number are deleted at a time. */
const [rounds, together] = [4, 6];
/** The maximum delay of the second server: half of the settle time. */
const latenessMs = 1_000;

/** How objects of a kind are created by their first and second requester. */
interface Kind {
  readonly kind: string;
  readonly collection: string;
  readonly spec: (owner: string, name: string) => object;
  readonly isMadeByItsOwner: boolean;
}

const kinds: readonly Kind[] = [
  {
    kind: "SharedSecret",
    collection: `/apis/${apiVersion}/namespaces/${namespace}/sharedsecrets`,
    spec: (owner) => ({
      data: { of: Buffer.from(owner).toString("base64") },
      access: [{ users: [owner], verbs: ["get", "list", "watch", "delete"] }],
    }),
    isMadeByItsOwner: false,
  },
  {
    kind: "OwnedAccessKey",
    collection: keysPath,
    spec: (owner, name) => ({ user: owner, key: `lk.${owner}.${name}.0123456789` }),
    isMadeByItsOwner: true,
  },
  {
    kind: "DirectClusterEndpointToken",
    collection: tokensPath,
    spec: () => ({ ttl: 600 }),
    isMadeByItsOwner: true,
  },
];

let cluster: DedicatedCluster;
let second: AddedApiServer;
/** The connections of a user to both servers. */
let as: Readonly<Record<"admin" | "alice" | "bob", readonly [Connection, Connection]>>;

const ask = (connection: Connection, request: Ask): Promise<Answer> =>
  send(connection, admin, request);

beforeAll(async () => {
  if (!hasDedicatedClusters) return;
  cluster = await startDedicatedCluster();
  second = await cluster.controlPlane.addApiServer();
  const both = async (user: string) =>
    [
      await connect(kubeconfigFor(cluster.controlPlane, user)),
      await connect(kubeconfigFor(second, user)),
    ] as const;
  as = { admin: await both("admin"), alice: await both("alice"), bob: await both("bob") };
  await cluster.arrange(postNamespace(namespace));
  const subjects = ["alice", "bob"].map((name) => ({ kind: "User", name }) as const);
  await cluster.arrange(bindClusterRole("latchkey-alice-and-bob", "latchkey-requester", subjects));
  await cluster.run();
});

afterAll(async () => {
  if (as !== undefined)
    await Promise.all(
      Object.values(as)
        .flat()
        .map(({ pool }) => pool.destroy()),
    );
  await cluster?.stop();
});

/** An existing object of alice that she can read on both servers. */
interface Opened {
  readonly path: string;
  readonly uid: unknown;
}

/** Creates an object as one of the two users, or returns the error. */
function make(
  { kind, collection, spec, isMadeByItsOwner }: Kind,
  owner: "alice" | "bob",
  name: string,
): Promise<Answer> {
  const [first] = as[isMadeByItsOwner ? owner : "admin"];
  return ask(
    first,
    post(collection, { apiVersion, kind, metadata: { name }, spec: spec(owner, name) }),
  );
}

async function open(kind: Kind, name: string): Promise<Opened> {
  const path = `${kind.collection}/${name}`;
  let uid: unknown;
  const isMade = async () => {
    const { code, metadata } = await make(kind, "alice", name);
    uid = metadata?.uid;
    return code === 201;
  };
  await eventually(isMade, { what: `alice's ${name} to be made`, within: 120_000 });
  for (const server of as.alice)
    await eventually(async () => (await ask(server, get(path))).code === 200, {
      what: `alice to read ${path}`,
      within: 120_000,
    });
  return { path, uid };
}

/**
 * Sends requests to both servers as alice until the signal aborts: returns what she could read of
 * another user's object.
 */
async function hammer({ path, uid }: Opened, signal: AbortSignal): Promise<readonly string[]> {
  const leaks: string[] = [];
  const repeat = async (server: Connection) => {
    while (!signal.aborted) {
      const { code, metadata } = await ask(server, get(path));
      if (code === 200 && metadata.uid !== uid)
        leaks.push(`${path} on the ${server === as.alice[0] ? "first" : "second"} server`);
    }
  };
  await Promise.all(as.alice.flatMap((server) => [repeat(server), repeat(server)]));
  return leaks;
}

/**
 * Deletes objects of alice while the second server is delayed, and creates objects of bob with
 * their names.
 */
async function round(kind: Kind, names: readonly string[]): Promise<readonly string[]> {
  const opened = await Promise.all(names.map((name) => open(kind, name)));
  const end = new AbortController();
  const hammers = opened.map((object) => hammer(object, end.signal));
  second.signal("SIGSTOP");
  const deleted = await Promise.all(opened.map(({ path }) => ask(as.alice[0], remove(path))));
  expect(deleted.map(({ code }) => code)).toEqual(names.map(() => 200));
  const follow = (name: string) =>
    eventually(async () => (await make(kind, "bob", name)).code === 201, {
      what: `bob's ${name} to be made`,
      every: 2,
      within: 120_000,
    });
  const followed = Promise.all(names.map(follow));
  await Promise.race([followed, pause(latenessMs)]);
  second.signal("SIGCONT");
  await followed;
  await pause(300);
  end.abort();
  return (await Promise.all(hammers)).flat();
}

describe.skipIf(!hasDedicatedClusters)("with two API servers on one etcd", () => {
  it.each(kinds)(
    "a former grantee never sees the $kind that another user creates with the same name",
    async (kind) => {
      const leaks: string[] = [];
      for (let index = 0; index < rounds; index += 1) {
        const names = Array.from({ length: together }, (_, number) => `name-${index}-${number}`);
        leaks.push(...(await round(kind, names)));
      }
      expect(leaks).toEqual([]);
    },
  );
});
