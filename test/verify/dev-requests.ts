import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Pool } from "undici";
import { apiVersion } from "../../src/api/names.ts";
import { eventually } from "../support/eventually.ts";
import { kubectl, tryKubectl } from "../support/kubectl.ts";
import type { DevProcess } from "./dev-process.ts";

/** The processes of `make dev CONNECTED=1`, as their pid files name them. */
export const devProcesses = [
  "controller",
  "webhook",
  "gateway",
  "direct-endpoint",
  "direct-authorizer",
  "cluster-agent",
] as const;

/** What tests do with a running `make dev`. */
export interface DevRequests {
  /** Runs kubectl in the context of a user or cluster, and returns its output. */
  readonly kubectl: (context: string, args: readonly string[], object?: object) => Promise<string>;
  /** Creates an object of Latchkey, as the administrator unless another context is given. */
  readonly create: (kind: string, wanted: Wanted, context?: string) => Promise<string>;
  /** Requests through the gateway with the key of alice; the codes of the answers. */
  readonly codes: (path: string, count: number) => Promise<readonly number[]>;
  /** Uses the key of alice at kube-apiserver; returns whether it was accepted. */
  readonly isAcceptedByApiServer: () => Promise<boolean>;
  /** Opens watches with this key through the gateway, until it is called again. */
  readonly openWatches: (path: string, count: number) => () => Promise<void>;
  /** The pid of a process. */
  readonly pidOf: (name: string) => number;
  /** The `host:port` of the metrics of a process. */
  readonly metricsOf: (name: string) => string;
  readonly close: () => Promise<void>;
}

/** The parts of an object that differ. */
export interface Wanted {
  readonly metadata: object;
  readonly spec: object;
}

/** Creates a key of alice, waits until the gateway accepts it, and returns what tests do with it. */
export async function devRequests(dev: DevProcess): Promise<DevRequests> {
  const key = randomBytes(24).toString("base64url");
  const ca = readFileSync(dev.variable("LATCHKEY_GATEWAY_CA"), "utf8");
  const origin = dev.variable("LATCHKEY_GATEWAY_URL");
  const headers = { authorization: `Bearer ${key}` };
  const pool = new Pool(origin, { connections: 4, connect: { ca } });
  const run: DevRequests["kubectl"] = (context, args, object) =>
    kubectl(
      dev.access,
      [`--context=${context}`, ...args],
      object === undefined ? {} : { input: JSON.stringify(object) },
    );
  const create: DevRequests["create"] = (kind, wanted, context = "admin") =>
    run(context, ["create", "--filename=-"], { apiVersion, kind, ...wanted });
  const code = async (path: string): Promise<number> => {
    const { statusCode, body } = await pool.request({ method: "GET", path, headers });
    await body.dump();
    return statusCode;
  };
  const pidOf = (name: string): number =>
    Number(readFileSync(join(dev.directory, `${name}.pid`), "utf8"));
  await create("OwnedAccessKey", { metadata: { name: "monitored" }, spec: { user: "alice", key } });
  const whoami = ["--context=admin", `--token=${key}`, "auth", "whoami"];
  const isAcceptedByApiServer = async (): Promise<boolean> =>
    (await tryKubectl(dev.access, whoami)).code === 0;
  const isAccepted = async (): Promise<boolean> =>
    (await code("/kubernetes/management/version")) === 200 && (await isAcceptedByApiServer());
  await eventually(isAccepted, { what: "the key to be accepted" });
  return {
    kubectl: run,
    create,
    isAcceptedByApiServer,
    codes: (path, count) => Promise.all(Array.from({ length: count }, () => code(path))),
    openWatches(path, count) {
      const watches = new Pool(origin, { connections: count, connect: { ca } });
      for (let index = 0; index < count; index += 1)
        watches.request({ method: "GET", path, headers }).then(
          ({ body }) => void body.on("error", () => {}),
          () => {},
        );
      return () => watches.destroy();
    },
    pidOf,
    metricsOf(name) {
      const environment = readFileSync(`/proc/${pidOf(name)}/environ`, "utf8");
      return /(?:^|\0)LATCHKEY_HTTP_ADDRESS=([^\0]*)/.exec(environment)?.[1] ?? "";
    },
    close: () => pool.destroy(),
  };
}
