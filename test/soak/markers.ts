import { setTimeout as pause } from "node:timers/promises";
import { listAt, numberAt, recordAt, stringAt, stringMapAt } from "../../src/api/parse.ts";
import {
  createRequest,
  ownPath,
  secretPath,
  sharedSecretPath,
  toProjects,
} from "../support/bench-objects.ts";
import { admin } from "../support/cluster-connection.ts";
import { eventually } from "../support/eventually.ts";
import type { ProxiedCluster } from "../support/proxied-cluster.ts";
import {
  canary,
  createNamespace,
  derivedPath,
  merge,
  requester,
  secretValue,
  timed,
  users,
} from "./objects.ts";
import type { WatchBreaker } from "./breaks.ts";

/** The time from the response to a change until its effect. */
export interface Latency {
  readonly marker: string;
  readonly ms: number;
  /** No watch was broken during this time. */
  readonly isCalm: boolean;
}

/** A change whose effect is measured; versions increase. */
interface Marker {
  readonly name: string;
  /** Makes a change and returns its version. */
  change(): Promise<number>;
  /** The latest version whose effect is visible. */
  seen(): Promise<number>;
}

const secretOf = {
  data: { namespace: timed.home, name: "timed-data" },
  access: { namespace: timed.home, name: "timed-access" },
} as const;
const keyName = "soak-timed-key";

/** Creates the objects that the markers change. */
export async function prepareMarkers(cluster: ProxiedCluster): Promise<void> {
  await cluster.arrange(createNamespace(timed.home));
  await cluster.arrange(createNamespace(timed.target, timed.project));
  const synced = { ...secretOf.data, ...toProjects(timed.project) };
  await cluster.arrange(
    createRequest("SharedSecret", synced, { data: { version: secretValue(0) } }),
  );
  await cluster.arrange(createRequest("SharedSecret", secretOf.access, { access: accessOf(0) }));
  const user = users[0] ?? "";
  const spec = { user, key: `${canary}timed-key-0123456789` };
  const create = createRequest("OwnedAccessKey", { name: keyName }, spec);
  const isCreated = async (): Promise<boolean> => {
    const { code, message } = await cluster.ask(requester(user), create);
    if (code !== 201) throw new Error(`the key to be timed: ${code} ${message}`);
    return true;
  };
  // The policies of a new API server know a kind of a CRD some seconds later.
  await eventually(isCreated, { what: "the key to be timed" });
}

/** Makes one change after the other and records when its effect is visible, to about 20 ms. */
export class Markers {
  readonly latencies: Latency[] = [];
  readonly #breaker: WatchBreaker;
  readonly #markers: readonly Timing[];
  #turn = 0;

  constructor(cluster: ProxiedCluster, breaker: WatchBreaker) {
    this.#breaker = breaker;
    this.#markers = markersOf(cluster).map((marker) => ({ marker, waiting: [], isLooking: false }));
  }

  /** The number of effects that are still missing. */
  get waiting(): number {
    return this.#markers.reduce((sum, { waiting }) => sum + waiting.length, 0);
  }

  /** Makes the next change; resolves with its response. */
  async next(): Promise<void> {
    this.#turn += 1;
    const timing = this.#markers[this.#turn % this.#markers.length];
    if (timing === undefined) return;
    const isWhole = this.#breaker.areWhole;
    const version = await timing.marker.change();
    timing.waiting.push({ version, at: performance.now(), isWhole });
    if (!timing.isLooking) void this.#look(timing);
  }

  async #look(timing: Timing): Promise<void> {
    timing.isLooking = true;
    while (timing.waiting.length > 0) {
      const seen = await timing.marker.seen().catch(() => Number.NaN);
      const now = performance.now();
      for (
        let first = timing.waiting[0];
        first !== undefined && first.version <= seen;
        first = timing.waiting[0]
      ) {
        timing.waiting.shift();
        this.latencies.push({
          marker: timing.marker.name,
          ms: now - first.at,
          isCalm: first.isWhole && this.#breaker.lastAt < first.at,
        });
      }
      const waited = now - (timing.waiting[0]?.at ?? now);
      await pause(waited < 1_000 ? 15 : 500);
    }
    timing.isLooking = false;
  }
}

/** A marker, and the versions whose effect is not visible yet. */
interface Timing {
  readonly marker: Marker;
  readonly waiting: { readonly version: number; readonly at: number; readonly isWhole: boolean }[];
  isLooking: boolean;
}

function accessOf(version: number): readonly object[] {
  return [{ name: "timed", verbs: ["get"], users: [`reader-${version}`] }];
}

function markersOf(cluster: ProxiedCluster): readonly Marker[] {
  const versions = { data: 0, access: 0 };
  const get = (path: string) => cluster.ask(admin, { method: "GET", path });
  const change = async (what: keyof typeof versions, specOf: (version: number) => object) => {
    const version = (versions[what] += 1);
    const { namespace, name } = secretOf[what];
    await cluster.arrange(merge(sharedSecretPath(namespace, name), { spec: specOf(version) }));
    return version;
  };
  const keyPath = ownPath("ownedaccesskeys", keyName);
  return [
    {
      name: "data to copy",
      change: () => change("data", (version) => ({ data: { version: secretValue(version) } })),
      async seen() {
        const copy = await get(secretPath(timed.target, secretOf.data.name));
        const text = Buffer.from(stringMapAt(copy, "data").version ?? "", "base64").toString();
        return Number(/-(\d+)-/.exec(text)?.[1]);
      },
    },
    {
      name: "access to RoleBinding",
      change: () => change("access", (version) => ({ access: accessOf(version) })),
      async seen() {
        const subjects = listAt(await get(derivedPath("rolebindings", timed.home)), "items")
          .flatMap((binding) => listAt(binding, "subjects"))
          .map((subject) => stringAt(subject, "name") ?? "");
        return Math.max(...subjects.map((name) => Number(name.replace("reader-", ""))));
      },
    },
    {
      name: "key to status",
      async change() {
        const { spec = {} } = await cluster.arrange({ method: "GET", path: keyPath });
        const disabled = spec.disabled !== true;
        const { metadata } = await cluster.arrange(merge(keyPath, { spec: { disabled } }));
        return numberAt(metadata, "generation") ?? 0;
      },
      seen: async () => numberAt(recordAt(await get(keyPath), "status"), "observedGeneration") ?? 0,
    },
  ];
}
