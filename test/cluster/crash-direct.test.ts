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
import type { Caller } from "../support/cluster-connection.ts";
import { type StartedControlPlane, startControlPlane } from "../support/control-plane.ts";
import {
  type DedicatedCluster,
  hasDedicatedClusters,
  startDedicatedCluster,
} from "../support/dedicated-cluster.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { writePrivately } from "../support/kubeconfig.ts";
import { kubectl, tryKubectl } from "../support/kubectl.ts";
import type { ControllerProcess } from "../support/latchkey-process.ts";
import { trustTokens } from "../support/trust.ts";
import { allowRequesters } from "./crash-play.ts";

const collection = "/apis/management.service/v1/directclusterendpointtokens";
const alice: Caller = { user: "alice", groups: ["devs", requesters] };
const now = (): number => Math.floor(Date.now() / 1000);

interface Answered {
  readonly status: number;
  readonly body: unknown;
}

describe.skipIf(!hasDedicatedClusters)("a connected cluster that trusts direct tokens", () => {
  let central: DedicatedCluster;
  let connected: StartedControlPlane;
  let controller: ControllerProcess;
  let issuer: string;
  let signing: SigningKey;
  let dispatcher: Agent;
  let trusted: Awaited<ReturnType<typeof trustTokens>>;

  async function mint(name: string, spec: object = {}): Promise<string> {
    const body = { kind: "DirectClusterEndpointToken", apiVersion: "management.service/v1" };
    const object = { ...body, metadata: { name }, spec };
    const made = await central.ask(alice, { method: "POST", path: collection, body: object });
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

  async function whoami(token: string): Promise<Answered> {
    const path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    const response = await fetch(`${connected.url}${path}`, {
      dispatcher,
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" }),
    });
    return { status: response.status, body: await response.json() };
  }
  const rotate = () =>
    promisify(execFile)(process.execPath, [
      ...[central.program, "rotate-signing-key"],
      `--kubeconfig=${central.controlPlane.adminKubeconfig}`,
    ]);
  const userIn = ({ body }: Answered) => recordAt(recordAt(body, "status"), "userInfo");

  /** A token like those that Latchkey mints, but for what a test changes. */
  function forge(
    { claims = {}, header = {} }: { readonly claims?: object; readonly header?: object },
    key: Parameters<SignJWT["sign"]>[0] = signing.privateKey,
  ): Promise<string> {
    const good = {
      ...{ iss: issuer, sub: "alice", aud: "management.service/direct", jti: "a-uid" },
      ...{ iat: now() - 5, nbf: now() - 5, exp: now() + 600, groups: ["devs"] },
      "management.service": { name: "forged" },
    };
    return new SignJWT({ ...good, ...claims })
      .setProtectedHeader({ alg: "ES256", typ: "JWT", kid: signing.kid, ...header })
      .sign(key);
  }

  beforeAll(async () => {
    const report = (line: string) => void process.stderr.write(`connected cluster: ${line}\n`);
    const issuerAddress = `localhost:${await freePort()}`;
    issuer = `https://${issuerAddress}`;
    central = await startDedicatedCluster();
    await allowRequesters(central);
    controller = await central.run({ issuerAddress, args: [`--issuer=${issuer}`] });
    await controller.waitReady();
    connected = await startControlPlane(await findOrBuildControlPlane(report));
    const { controlPlane: management, program } = central;
    trusted = await trustTokens(connected, { management, issuer, program });
    dispatcher = new Agent({ connect: { ca: connected.certificateAuthority } });
    await kubectl(connected, [
      ...["create", "clusterrolebinding", "readers", "--clusterrole=view"],
      "--group=devs",
    ]);
    const secret = "/api/v1/namespaces/latchkey-system/secrets/latchkey-signing-keys";
    ({ signing } = parseSigningKeys(await central.arrange({ method: "GET", path: secret })));
  });
  afterAll(async () => {
    await dispatcher?.close();
    await connected?.stop();
    await central?.stop();
  });

  it("serves kubectl as the user who requested the token, with the rights of that user there", async () => {
    const token = await mint("laptop");
    const ca = join(connected.directory, "server-ca.crt");
    writePrivately(ca, connected.certificateAuthority);
    const access = { ...connected, kubeconfigs: { nobody: "/dev/null" } };
    const kube = (...args: readonly string[]) =>
      tryKubectl(
        access,
        [...args, `--server=${connected.url}`, `--token=${token}`, `--certificate-authority=${ca}`],
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
  });

  it("refuses a token with a scope, because nothing there would enforce it", async () => {
    const token = await mint("scoped", { scope: { projects: ["a"] } });
    expect((await whoami(token)).status).toBe(401);
    expect(trusted.printed).toContain("scope");
  });

  it("accepts what a test signs like Latchkey, so that only the change of a wrong token decides", async () => {
    const seen = await whoami(await forge({}));
    expect([seen.status, userIn(seen).username]).toEqual([200, "alice"]);
  });

  it.for<[string, { readonly claims?: () => object; readonly header?: object }]>([
    ["of another issuer", { claims: () => ({ iss: "https://other.example" }) }],
    ["for another audience", { claims: () => ({ aud: "other" }) }],
    ["for two audiences", { claims: () => ({ aud: ["management.service/direct", "other"] }) }],
    ["that has expired", { claims: () => ({ exp: now() - 1 }) }],
    ["without an end", { claims: () => ({ exp: undefined }) }],
    ["that is not valid yet", { claims: () => ({ nbf: now() + 600 }) }],
    ["that lives longer than a day", { claims: () => ({ exp: now() + 90_000 }) }],
    ["of a user of Kubernetes", { claims: () => ({ sub: "system:admin" }) }],
    ["with a group of Kubernetes", { claims: () => ({ groups: ["devs", "system:masters"] }) }],
    ["without a user", { claims: () => ({ sub: undefined }) }],
    ["with an unknown kid", { header: { kid: "unknown" } }],
  ])("refuses a token %s", async ([, { claims, header }]) => {
    expect(
      (await whoami(await forge({ claims: claims?.() ?? {}, header: header ?? {} }))).status,
    ).toBe(401);
  });

  it("refuses a token that is signed by another key, also if the key is in its header", async () => {
    const pair = await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, [
      "sign",
      "verify",
    ]);
    const jwk = await crypto.subtle.exportKey("jwk", pair.publicKey);
    const { kty, crv, x, y } = jwk;
    for (const header of [{}, { jwk: { kty, crv, x, y } }])
      expect((await whoami(await forge({ header }, pair.privateKey))).status).toBe(401);
  });

  it("refuses a token without a signature, and the public key as a secret", async () => {
    const token = await forge({});
    const [, payload = ""] = token.split(".");
    const header = Buffer.from(JSON.stringify({ alg: "none", typ: "JWT" })).toString("base64url");
    expect((await whoami(`${header}.${payload}.`)).status).toBe(401);
    const secret = new TextEncoder().encode(JSON.stringify(signing.publicJwk));
    expect((await whoami(await forge({ header: { alg: "HS256" } }, secret))).status).toBe(401);
  });

  it("refuses a token a few seconds after its end: kube-apiserver keeps a decision for 10 s", async () => {
    const token = await forge({ claims: { exp: now() + 8 } });
    expect((await whoami(token)).status).toBe(200);
    await eventually(async () => (await whoami(token)).status === 401, {
      what: "the token to end",
    });
  });

  it("accepts every token during a rotation of the signing keys", async () => {
    const secret = "/api/v1/namespaces/latchkey-system/secrets/latchkey-signing-keys";
    const signingKid = async () =>
      parseSigningKeys(await central.arrange({ method: "GET", path: secret })).signing.kid;
    const before = await signingKid();
    const statuses = new Set<number>();
    const first = await mint("rotated-0");
    await rotate();
    for (let count = 1; (await signingKid()) === before; count++) {
      for (const token of [first, await mint(`rotated-${count}`)])
        statuses.add((await whoami(token)).status);
      await pause(500);
    }
    for (const token of [first, await mint("rotated")]) statuses.add((await whoami(token)).status);
    expect([...statuses]).toEqual([200]);
  });

  it("serves while the central cluster is away, and refuses every token after a restart until it has seen the issuer", async () => {
    const token = await mint("traveller");
    controller.kill("SIGKILL");
    await controller.exited();
    expect((await whoami(token)).status).toBe(200);
    expect((await whoami(await forge({}))).status).toBe(200);
    await connected.restartApiServer(trusted.flags);
    expect((await whoami(token)).status).toBe(401);
    controller.start();
    await controller.waitReady();
    await eventually(async () => (await whoami(token)).status === 200, {
      what: "the issuer to be found again",
    });
  });
});
