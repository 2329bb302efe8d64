import { join } from "node:path";
import { apiVersion } from "../../src/api/names.ts";
import { parseConditions, stringAt } from "../../src/api/parse.ts";
import { requesters } from "./actions.ts";
import { findOrBuildControlPlane } from "./binaries.ts";
import {
  type Ask,
  type Answer,
  admin,
  type Caller,
  connect,
  send,
  get,
  post,
} from "./cluster-connection.ts";
import { type StartedControlPlane, startControlPlane } from "./control-plane.ts";
import { type DedicatedCluster, startDedicatedCluster } from "./dedicated-cluster.ts";
import { eventually } from "./eventually.ts";
import { freePort } from "./free-port.ts";
import { directEndpointCa, issuerCa } from "./gateway-address.ts";
import { applyDirectEndpointRbac } from "./install.ts";
import { writePrivately } from "./kubeconfig.ts";
import {
  type ControllerProcess,
  type DirectEndpointProcess,
  startDirectEndpoint,
} from "./latchkey-process.ts";

/** Where a direct endpoint serves its API server. */
export const directPath = "/kubernetes/cluster";

/** The name of the connected cluster in scopes. */
export const connectedName = "east";

/** The user of tokens, who may create them and act as any user. */
export const alice: Caller = { user: "alice", groups: ["devs", requesters] };

/** What a test changes about a {@link DirectFixture}. */
export interface DirectFixtureOptions {
  /** Flags of the connected kube-apiserver. */
  readonly apiServerFlags?: readonly string[];
  /** Arguments of the endpoint. */
  readonly args?: readonly string[];
}

/** A management cluster, a connected cluster, and the direct endpoint of the latter. */
export interface DirectFixture {
  readonly central: DedicatedCluster;
  readonly controller: ControllerProcess;
  readonly connected: StartedControlPlane;
  readonly endpoint: DirectEndpointProcess;
  /** Address and CA of the endpoint. */
  readonly server: { readonly url: string; readonly certificateAuthority: string };
  /** Sends a request to the connected cluster as its administrator; throws if it is rejected. */
  readonly arrange: (request: Ask) => Promise<Answer>;
  /** Creates a token and waits until it is minted. */
  mint(name: string, spec?: object, by?: Caller): Promise<string>;
  stop(): Promise<void>;
}

/** The path of the objects of direct tokens, or of one of them. */
export function tokenPath(name = ""): string {
  return `/apis/${apiVersion}/directclusterendpointtokens${name === "" ? "" : `/${name}`}`;
}

/** Starts them all; `allow` makes alice a requester at the management cluster. */
export async function startDirectFixture(
  allow: (central: DedicatedCluster) => Promise<void>,
  { apiServerFlags = [], args = [] }: DirectFixtureOptions = {},
): Promise<DirectFixture> {
  const report = (line: string) => void process.stderr.write(`connected cluster: ${line}\n`);
  const stops: (() => Promise<unknown>)[] = [];
  const stop = async (): Promise<void> => {
    for (const each of stops.splice(0).toReversed()) await each();
  };
  try {
    const central = await startDedicatedCluster();
    stops.push(() => central.stop());
    await allow(central);
    const issuerAddress = `127.0.0.1:${await freePort()}`;
    const issuer = `https://${issuerAddress}`;
    const controller = await central.run({ issuerAddress, args: [`--issuer=${issuer}`] });
    await controller.waitReady();
    const connected = await startControlPlane(await findOrBuildControlPlane(report), {
      extraApiServerFlags: apiServerFlags,
    });
    stops.push(() => connected.stop());
    const issuerFile = join(connected.directory, "issuer-ca.crt");
    writePrivately(issuerFile, await issuerCa(central.controlPlane));
    await applyDirectEndpointRbac(connected);
    const endpoint = await startDirectEndpoint({
      controlPlane: connected,
      program: central.program,
      restart: "never",
      args: [
        `--cluster-name=${connectedName}`,
        `--issuer=${issuer}`,
        `--certificate-authority=${issuerFile}`,
        ...args,
      ],
    });
    stops.push(() => endpoint.stop());
    await endpoint.waitReady();
    const connection = await connect(connected.adminKubeconfig);
    stops.push(() => connection.pool.destroy());
    return {
      ...{ central, controller, connected, endpoint, stop },
      server: {
        url: endpoint.endpointUrl,
        certificateAuthority: await directEndpointCa(connected),
      },
      async arrange(request) {
        const answer = await send(connection, admin, request);
        if (answer.code < 300) return answer;
        throw new Error(`${request.method} ${request.path}: ${answer.code} ${answer.message}`);
      },
      mint: (name, spec = {}, by = alice) => mint(central, { name, spec }, by),
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function mint(
  central: DedicatedCluster,
  { name, spec }: { readonly name: string; readonly spec: object },
  by: Caller,
): Promise<string> {
  const body = { apiVersion, kind: "DirectClusterEndpointToken", metadata: { name }, spec };
  const made = await central.ask(by, post(tokenPath(), body));
  if (made.code !== 201) throw new Error(`create token ${name}: ${made.code} ${made.message}`);
  return eventually(
    async () => {
      const { status } = await central.arrange(get(tokenPath(name)));
      const isReady = parseConditions(status).some(
        ({ type, status: value }) => type === "Ready" && value === "True",
      );
      return isReady && (stringAt(status, "token") ?? "");
    },
    { what: `${name} to be minted`, every: 50 },
  );
}
