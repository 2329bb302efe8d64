import { execFile } from "node:child_process";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { SignJWT } from "jose";
import { Agent, fetch } from "undici";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseConditions, recordAt, stringAt } from "../../src/api/parse.ts";
import { parseSigningKeys, type SigningKey } from "../../src/tokens/signing-keys.ts";
import { requesters } from "../support/actions.ts";
import { findOrBuildControlPlane } from "../support/binaries.ts";
import { type Caller, patchTypes } from "../support/cluster-connection.ts";
import { type StartedControlPlane, startControlPlane } from "../support/control-plane.ts";
import {
  type DedicatedCluster,
  hasDedicatedClusters,
  startDedicatedCluster,
} from "../support/dedicated-cluster.ts";
import { eventually } from "../support/eventually.ts";
import { directEndpointCa, issuerCa } from "../support/gateway-address.ts";
import { applyDirectEndpointRbac } from "../support/install.ts";
import { freePort } from "../support/free-port.ts";
import { writePrivately } from "../support/kubeconfig.ts";
import { kubectl, tryKubectl } from "../support/kubectl.ts";
import {
  type ControllerProcess,
  type DirectEndpointProcess,
  startDirectEndpoint,
} from "../support/latchkey-process.ts";
import { trustTokens } from "../support/trust.ts";
import { allowRequesters } from "./crash-play.ts";

const collection = "/apis/management.service/v1/directclusterendpointtokens";
const signingKeys = "/api/v1/namespaces/latchkey-system/secrets/latchkey-signing-keys";
const alice: Caller = { user: "alice", groups: ["devs", requesters] };
/** What a test changes about a good token. */
interface Change {
  readonly claims?: () => object;
  readonly header?: object;
}

const now = (): number => Math.floor(Date.now() / 1000);

interface Answered {
  readonly status: number;
  readonly body: unknown;
}

/** The two ways to a connected cluster: its kube-apiserver, and its direct endpoint. */
type Way = "kube-apiserver" | "direct endpoint";
const ways: readonly Way[] = ["kube-apiserver", "direct endpoint"];
const service = "management.service";
const clusterName = "east";

describe.skipIf(!hasDedicatedClusters)("a connected cluster that trusts direct tokens", () => {
  let central: DedicatedCluster;
  let connected: StartedControlPlane;
  let controller: ControllerProcess;
  let issuer: string;
  let signing: SigningKey;
  let endpoint: DirectEndpointProcess;
  let endpointCa: string;
  let dispatcher: Agent;
  let trusted: Awaited<ReturnType<typeof trustTokens>>;

  async function mint(name: string, spec: object = {}, by: Caller = alice): Promise<string> {
    const body = { kind: "DirectClusterEndpointToken", apiVersion: "management.service/v1" };
    const object = { ...body, metadata: { name }, spec };
    const made = await central.ask(by, { method: "POST", path: collection, body: object });
    expect(made).toMatchObject({ code: 201 });
    return eventually(
      async () => {
        const { status } = await central.arrange({ method: "GET", path: `${collection}/${name}` });
        const isReady = parseConditions(status).some(
          ({ type, status: value }) => type === "Ready" && value === "True",
        );
        return isReady && (stringAt(status, "token") ?? "");
      },
      { what: `${name} to be minted` },
    );
  }

  const serverOf = (way: Way): string =>
    way === "kube-apiserver" ? connected.url : `${endpoint.endpointUrl}/kubernetes/cluster`;

  async function statusOf(token: string, path: string): Promise<number> {
    const headers = { authorization: `Bearer ${token}` };
    const response = await fetch(serverOf("direct endpoint") + path, { dispatcher, headers });
    await response.text();
    return response.status;
  }

  async function whoami(token: string, way: Way = "kube-apiserver"): Promise<Answered> {
    const path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    const response = await fetch(serverOf(way) + path, {
      dispatcher,
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" }),
    });
    return { status: response.status === 201 ? 200 : response.status, body: await response.json() };
  }
  const rotate = () =>
    promisify(execFile)(process.execPath, [
      ...[central.program, "rotate-signing-key"],
      `--kubeconfig=${central.controlPlane.adminKubeconfig}`,
    ]);
  const statusesOf = async (token: string): Promise<readonly number[]> =>
    Promise.all(ways.map(async (way) => (await whoami(token, way)).status));
  const signingKid = async (): Promise<string> =>
    parseSigningKeys(await central.arrange({ method: "GET", path: signingKeys })).signing.kid;
  const userIn = ({ body }: Answered) => recordAt(recordAt(body, "status"), "userInfo");

  /** A token like those that Latchkey mints, but for what a test changes. */
  function forge(
    { claims = {}, header = {} }: { readonly claims?: object; readonly header?: object },
    key: Parameters<SignJWT["sign"]>[0] = signing.privateKey,
  ): Promise<string> {
    const good = {
      ...{ iss: issuer, sub: "alice", aud: "management.service/direct", jti: "a-uid" },
      ...{ iat: now() - 5, nbf: now() - 5, exp: now() + 600, groups: ["devs"] },
      [service]: { name: "forged" },
    };
    return new SignJWT({ ...good, ...claims })
      .setProtectedHeader({ alg: "ES256", typ: "JWT", kid: signing.kid, ...header })
      .sign(key);
  }

  beforeAll(async () => {
    const report = (line: string) => void process.stderr.write(`connected cluster: ${line}\n`);
    const issuerAddress = `127.0.0.1:${await freePort()}`;
    issuer = `https://${issuerAddress}`;
    central = await startDedicatedCluster();
    await allowRequesters(central);
    controller = await central.run({ issuerAddress, args: [`--issuer=${issuer}`] });
    await controller.waitReady();
    connected = await startControlPlane(await findOrBuildControlPlane(report));
    const { controlPlane: management, program } = central;
    trusted = await trustTokens(connected, { management, issuer, program });
    const issuerFile = join(connected.directory, "issuer-ca.crt");
    writePrivately(issuerFile, await issuerCa(central.controlPlane));
    await applyDirectEndpointRbac(connected);
    endpoint = await startDirectEndpoint({
      controlPlane: connected,
      program,
      restart: "never",
      args: [
        `--cluster-name=${clusterName}`,
        `--issuer=${issuer}`,
        `--certificate-authority=${issuerFile}`,
      ],
    });
    await endpoint.waitReady();
    endpointCa = await directEndpointCa(connected);
    const ca = [connected.certificateAuthority, endpointCa];
    dispatcher = new Agent({ connect: { ca } });
    await kubectl(connected, [
      ...["create", "clusterrolebinding", "readers", "--clusterrole=view"],
      "--group=devs",
    ]);
    ({ signing } = parseSigningKeys(await central.arrange({ method: "GET", path: signingKeys })));
  });
  afterAll(async () => {
    await dispatcher?.close();
    await endpoint?.stop();
    await connected?.stop();
    await central?.stop();
  });

  it.for(ways)(
    "serves kubectl as the user of the token, with the rights of that user there, by its %s",
    async (way) => {
      const token = await mint(`laptop-${ways.indexOf(way)}`);
      const ca = join(connected.directory, "server-ca.crt");
      writePrivately(ca, way === "kube-apiserver" ? connected.certificateAuthority : endpointCa);
      const access = { ...connected, kubeconfigs: { nobody: "/dev/null" } };
      const kube = (...args: readonly string[]) =>
        tryKubectl(
          access,
          [
            ...args,
            `--server=${serverOf(way)}`,
            `--token=${token}`,
            `--certificate-authority=${ca}`,
          ],
          { user: "nobody" },
        );
      const { stdout, stderr } = await kube("auth", "whoami", "--output=json");
      expect(stderr).toBe("");
      expect(userIn({ status: 200, body: JSON.parse(stdout) })).toMatchObject({
        username: "alice",
        groups: ["devs", requesters, "system:authenticated"],
      });
      expect(await kube("get", "configmaps", "--all-namespaces")).toMatchObject({ code: 0 });
      const secrets = await kube("get", "secrets", "--all-namespaces");
      expect(secrets).toMatchObject({ code: 1, stderr: expect.stringContaining("Forbidden") });
    },
  );

  it("refuses a token with a scope at kube-apiserver, where nothing would enforce it; its direct endpoint does", async () => {
    const reading = { verbs: ["get", "list"], resources: [{ group: "", resources: ["pods"] }] };
    const token = await mint("scoped", { scope: { rules: [reading] } });
    expect((await whoami(token)).status).toBe(401);
    expect(trusted.printed).toContain("scope");
    const paths = ["/api/v1/pods", "/api/v1/configmaps", "/api/v1/nodes", "/apis"];
    const statuses = await Promise.all(paths.map((path) => statusOf(token, path)));
    expect(statuses).toEqual([200, 403, 403, 200]);
  });

  it("serves nothing else at the direct endpoint", async () => {
    const token = await mint("elsewhere");
    const { endpointUrl } = endpoint;
    for (const path of ["/api", "/kubernetes/management/api", "/healthz"]) {
      const headers = { authorization: `Bearer ${token}` };
      expect((await fetch(endpointUrl + path, { dispatcher, headers })).status).toBe(404);
      expect((await fetch(endpointUrl + path, { dispatcher })).status).toBe(401);
    }
  });

  it.for(ways)(
    "accepts at its %s what a test signs like Latchkey, so that only the change of a wrong token decides",
    async (way) => {
      const seen = await whoami(await forge({}), way);
      expect([seen.status, userIn(seen).username]).toEqual([200, "alice"]);
    },
  );

  it.for<[string, Change]>([
    ["of another issuer", { claims: () => ({ iss: "https://other.example" }) }],
    ["for another audience", { claims: () => ({ aud: "other" }) }],
    ["for two audiences", { claims: () => ({ aud: ["management.service/direct", "other"] }) }],
    ["that has expired", { claims: () => ({ exp: now() - 1 }) }],
    ["without an end", { claims: () => ({ exp: undefined }) }],
    ["that is not valid yet", { claims: () => ({ nbf: now() + 600 }) }],
    ["of a user of Kubernetes", { claims: () => ({ sub: "system:admin" }) }],
    ["with a group of Kubernetes", { claims: () => ({ groups: ["devs", "system:masters"] }) }],
    ["without a user", { claims: () => ({ sub: undefined }) }],
    ["with an unknown kid", { header: { kid: "unknown" } }],
  ])("refuses a token %s", async ([, { claims, header }]) => {
    const token = await forge({ claims: claims?.() ?? {}, header: header ?? {} });
    expect(await statusesOf(token)).toEqual([401, 401]);
  });

  it("refuses at kube-apiserver a token that lives longer than a day", async () => {
    const token = await forge({ claims: { exp: now() + 90_000 } });
    expect((await whoami(token)).status).toBe(401);
  });

  it.for<[string, Change]>([
    ["of another type", { header: { typ: "at+jwt" } }],
    ["with a key by URL", { header: { jku: "https://localhost/keys" } }],
    ["with a certificate by URL", { header: { x5u: "https://localhost/keys" } }],
    ["with one audience in a list", { claims: () => ({ aud: ["management.service/direct"] }) }],
    ["that is oversized", { claims: () => ({ padding: "x".repeat(8_192) }) }],
  ])("refuses at the direct endpoint a token %s", async ([, { claims, header }]) => {
    const token = await forge({ claims: claims?.() ?? {}, header: header ?? {} });
    expect((await whoami(token, "direct endpoint")).status).toBe(401);
  });

  it("refuses a token that is signed by another key, also if the key is in its header", async () => {
    const pair = await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, [
      "sign",
      "verify",
    ]);
    const { kty, crv, x, y } = await crypto.subtle.exportKey("jwk", pair.publicKey);
    for (const header of [{}, { jwk: { kty, crv, x, y } }])
      expect(await statusesOf(await forge({ header }, pair.privateKey))).toEqual([401, 401]);
  });

  it("refuses a token without a signature, and the public key as a secret", async () => {
    const token = await forge({});
    const [, payload = ""] = token.split(".");
    const header = Buffer.from(JSON.stringify({ alg: "none", typ: "JWT" })).toString("base64url");
    expect(await statusesOf(`${header}.${payload}.`)).toEqual([401, 401]);
    const secret = new TextEncoder().encode(JSON.stringify(signing.publicJwk));
    const symmetric = await forge({ header: { alg: "HS256" } }, secret);
    expect(await statusesOf(symmetric)).toEqual([401, 401]);
  });

  it("refuses a token after its end: kube-apiserver keeps a decision for 10 s", async () => {
    const token = await forge({ claims: { exp: now() + 8 } });
    expect(await statusesOf(token)).toEqual([200, 200]);
    const areRefused = async () => (await statusesOf(token)).every((status) => status === 401);
    await eventually(areRefused, { what: "the token to end at both" });
  });

  it("ends a watch with its token, at the direct endpoint", async () => {
    const token = await forge({ claims: { exp: now() + 5 } });
    const { ended } = await lastEventOf(token);
    expect(await ended).toMatchObject({ type: "ERROR", object: { code: 401 } });
  });

  it("accepts every token during a rotation of the signing keys", async () => {
    const before = await signingKid();
    const statuses = new Set<number>();
    const tryAll = async (tokens: readonly string[]) => {
      for (const token of tokens)
        for (const status of await statusesOf(token)) statuses.add(status);
    };
    const first = await mint("rotated-0");
    await rotate();
    for (let count = 1; (await signingKid()) === before; count++) {
      await tryAll([first, await mint(`rotated-${count}`)]);
      await pause(500);
    }
    await tryAll([first, await mint("rotated")]);
    expect([...statuses]).toEqual([200]);
  });

  /** Opens a watch at the direct endpoint; resolves with its last event when it has ended. */
  async function lastEventOf(token: string): Promise<{ readonly ended: Promise<unknown> }> {
    const path = "/api/v1/namespaces?watch=true";
    const headers = { authorization: `Bearer ${token}` };
    const watch = await fetch(serverOf("direct endpoint") + path, { dispatcher, headers });
    expect(watch.status).toBe(200);
    return {
      ended: watch.text().then((text) => JSON.parse(text.trimEnd().split("\n").at(-1) ?? "")),
    };
  }

  it("revokes the token of a deleted object at the direct endpoint, and ends its watches; kube-apiserver accepts it until it expires", async () => {
    const token = await mint("revoked");
    expect(await statusesOf(token)).toEqual([200, 200]);
    const { ended } = await lastEventOf(token);
    const began = Date.now();
    const path = `${collection}/revoked`;
    expect(await central.ask(alice, { method: "DELETE", path })).toMatchObject({ code: 200 });
    expect(await ended).toMatchObject({ type: "ERROR", object: { code: 401 } });
    process.stderr.write(
      `direct endpoint: a watch ended ${Date.now() - began} ms after its token was deleted\n`,
    );
    expect(await statusesOf(token)).toEqual([200, 401]);
  });

  it("revokes a token while the key that it was requested with is disabled", async () => {
    const keys = "/apis/management.service/v1/ownedaccesskeys";
    const spec = { user: "alice", ttl: 3600, key: `parent-${"k".repeat(40)}` };
    const object = { apiVersion: "management.service/v1", kind: "OwnedAccessKey" };
    const body = { ...object, metadata: { name: "parent" }, spec };
    const { metadata } = await central.arrange({ method: "POST", path: keys, body });
    const extra = { "management.service/key-id": [String(metadata["uid"])] };
    const token = await mint("child", {}, { ...alice, extra });
    const isAccepted = async () => (await whoami(token, "direct endpoint")).status === 200;
    expect(await isAccepted()).toBe(true);
    for (const disabled of [true, false]) {
      const change = { method: "PATCH", path: `${keys}/parent`, type: patchTypes.merge } as const;
      await central.arrange({ ...change, body: { spec: { disabled } } });
      await eventually(async () => (await isAccepted()) !== disabled, {
        what: `the token of a key with disabled: ${disabled} to be ${disabled ? "refused" : "accepted"}`,
      });
    }
    await central.arrange({ method: "DELETE", path: `${keys}/parent` });
    await eventually(async () => !(await isAccepted()), {
      what: "the token of a deleted key to be refused",
    });
  });

  it("drops a stolen signing key at the direct endpoint; kube-apiserver does when it sees a token of another key", async () => {
    const stolen = await forge({});
    expect(await statusesOf(stolen)).toEqual([200, 200]);
    await central.arrange({ method: "DELETE", path: signingKeys });
    const isDropped = async () => (await whoami(stolen, "direct endpoint")).status === 401;
    await eventually(isDropped, { what: "the direct endpoint to drop the key" });
    expect((await whoami(await forge({ claims: { jti: "unseen" } }))).status).toBe(200);
    const token = await mint("signed-again");
    await eventually(async () => (await statusesOf(token)).every((status) => status === 200), {
      what: "the new key to be accepted",
    });
    const isRefused = async () => (await whoami(stolen)).status === 401;
    await eventually(isRefused, { what: "kube-apiserver to refuse the stolen key" });
    ({ signing } = parseSigningKeys(await central.arrange({ method: "GET", path: signingKeys })));
  });

  it("serves while the central cluster is away; after a restart kube-apiserver has to see the issuer first, and the direct endpoint does not", async () => {
    const token = await mint("traveller");
    expect(await statusesOf(token)).toEqual([200, 200]);
    controller.kill("SIGKILL");
    await controller.exited();
    for (const known of [token, await forge({})])
      expect(await statusesOf(known)).toEqual([200, 200]);
    endpoint.kill("SIGKILL");
    await endpoint.exited();
    await connected.restartApiServer(trusted.flags);
    endpoint.start();
    await endpoint.waitReady();
    expect(await statusesOf(token)).toEqual([401, 200]);
    controller.start();
    await controller.waitReady();
    await eventually(async () => (await whoami(token)).status === 200, {
      what: "the issuer to be found again",
    });
  });
});
