import { join } from "node:path";
import { Agent, fetch } from "undici";
import { annotations as ownAnnotations } from "../../src/api/names.ts";
import { stringAt } from "../../src/api/parse.ts";
import { requesters } from "./actions.ts";
import { findOrBuildControlPlane } from "./binaries.ts";
import {
  type Answer,
  arranging,
  type Ask,
  type Caller,
  connect,
  get,
} from "./cluster-connection.ts";
import { type StartedControlPlane, startControlPlane } from "./control-plane.ts";
import { type DedicatedCluster, startDedicatedCluster } from "./dedicated-cluster.ts";
import { eventually } from "./eventually.ts";
import { freePort } from "./free-port.ts";
import { directEndpointCa, issuerCa } from "./gateway-address.ts";
import { applyDirectEndpointRbac } from "./install.ts";
import { isTrue, postToken, tokensPath } from "./latchkey-objects.ts";
import { writePrivately } from "./kubeconfig.ts";
import { runAsAdministrator } from "./trust.ts";
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

/** A central cluster, a connected cluster, and the direct endpoint of the latter. */
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
  /** The status code of a request with a token at the endpoint. */
  statusOf: DirectEndpoint["statusOf"];
  stop(): Promise<void>;
}

/** A direct endpoint, and how a client reaches it. */
export interface DirectEndpoint {
  readonly endpoint: DirectEndpointProcess;
  /** The CA of its certificates, in PEM. */
  readonly ca: string;
  /** The status code of a request with a token. */
  statusOf(token: string, path?: string): Promise<number>;
  stop(): Promise<void>;
}

/** The issuer that an endpoint trusts, and the CA of its certificates in PEM. */
export interface TrustedIssuer {
  readonly program: string;
  readonly issuer: string;
  readonly ca: string;
  /** The name of the connected cluster in scopes and audiences. */
  readonly name?: string;
  /** More arguments of the endpoint. */
  readonly args?: readonly string[];
}

/** Starts the direct endpoint of a connected cluster. */
export async function startEndpoint(
  connected: StartedControlPlane,
  { program, issuer, ca: issuerCertificate, name = connectedName, args = [] }: TrustedIssuer,
): Promise<DirectEndpoint> {
  const file = join(connected.directory, "issuer-ca.crt");
  writePrivately(file, issuerCertificate);
  await applyDirectEndpointRbac(connected);
  const names = [`--cluster-name=${name}`, `--issuer=${issuer}`];
  const endpoint = await startDirectEndpoint({
    controlPlane: connected,
    program,
    restart: "never",
    args: [...names, `--certificate-authority=${file}`, ...args],
  });
  try {
    await endpoint.waitReady();
    const ca = await directEndpointCa(connected);
    const dispatcher = new Agent({ connect: { ca } });
    return {
      endpoint,
      ca,
      async statusOf(token, path = "/version") {
        const headers = { authorization: `Bearer ${token}` };
        const url = endpoint.endpointUrl + directPath + path;
        const response = await fetch(url, { dispatcher, headers });
        await response.text();
        return response.status;
      },
      async stop() {
        await dispatcher.destroy();
        await endpoint.stop();
      },
    };
  } catch (error) {
    await endpoint.stop();
    throw error;
  }
}

/** Requests a rotation of the signing keys like an administrator. */
export function rotateSigningKey(
  { controlPlane }: Pick<DedicatedCluster, "controlPlane">,
  ...flags: readonly string[]
) {
  return runAsAdministrator([
    ...["rotate-signing-key", ...flags],
    `--kubeconfig=${controlPlane.adminKubeconfig}`,
  ]);
}

/** The path of the objects of direct tokens, or of one of them. */
export function tokenPath(name = ""): string {
  return `${tokensPath}${name === "" ? "" : `/${name}`}`;
}

/** Starts them all; `allow` makes alice a requester at the central cluster. */
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
    const address = `127.0.0.1:${await freePort()}`;
    const issuer = `https://${address}`;
    const controller = await central.run({ address, args: [`--issuer=${issuer}`] });
    await controller.waitReady();
    const connected = await startControlPlane(await findOrBuildControlPlane(report), {
      extraApiServerFlags: apiServerFlags,
    });
    stops.push(() => connected.stop());
    const { program } = central;
    const ca = await issuerCa(central.controlPlane);
    const direct = await startEndpoint(connected, { program, issuer, ca, args });
    stops.push(() => direct.stop());
    const connection = await connect(connected.adminKubeconfig);
    stops.push(() => connection.pool.destroy());
    return {
      central,
      controller,
      connected,
      stop,
      endpoint: direct.endpoint,
      statusOf: (token, path) => direct.statusOf(token, path),
      server: { url: direct.endpoint.endpointUrl, certificateAuthority: direct.ca },
      arrange: arranging(connection),
      mint: (name, spec = {}, by = alice) => mintToken(central, name, { spec, by }),
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** What a test changes about a token: alice asks for it by default. */
export interface WantedToken {
  readonly spec?: object;
  /** The only connected cluster that accepts it. */
  readonly cluster?: string;
  readonly by?: Caller;
}

/** Creates a token and waits until it is minted. */
export async function mintToken(
  central: Pick<DedicatedCluster, "ask" | "arrange">,
  name: string,
  { spec = {}, cluster, by = alice }: WantedToken = {},
): Promise<string> {
  const annotations = cluster === undefined ? {} : { [ownAnnotations.audienceCluster]: cluster };
  const made = await central.ask(by, postToken({ name, annotations }, spec));
  if (made.code !== 201) throw new Error(`create token ${name}: ${made.code} ${made.message}`);
  return eventually(
    async () => {
      const { status } = await central.arrange(get(tokenPath(name)));
      return isTrue(status, "Ready") && (stringAt(status, "token") ?? "");
    },
    { what: `${name} to be minted` },
  );
}
