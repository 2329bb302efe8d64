import { fetch } from "undici";
import { beforeAll, expect, it } from "vitest";
import { join } from "node:path";
import { requesters } from "../support/actions.ts";
import { mergePatch, remove } from "../support/cluster-connection.ts";
import {
  alice,
  connectedName,
  mintToken,
  startEndpoint,
  tokenPath,
} from "../support/direct-fixture.ts";
import { keysPath, postKey, withKey } from "../support/latchkey-objects.ts";
import { eventually } from "../support/eventually.ts";
import { issuerCa } from "../support/gateway-address.ts";
import { writePrivately } from "../support/kubeconfig.ts";
import { kubectl, tryKubectl } from "../support/kubectl.ts";
import { now, type TrustingCluster, userIn, ways } from "../support/trusting-cluster.ts";

/** What a test changes about a good token; the claims at the time of the test. */
interface Change {
  readonly claims?: () => object;
  readonly header?: object;
}

/** The tests of a cluster whose kube-apiserver accepts direct tokens, and asks no authorizer. */
export function describeTokens(given: () => TrustingCluster): void {
  let cluster: TrustingCluster;
  beforeAll(async () => {
    cluster = given();
    await kubectl(cluster.connected, [
      ...["create", "clusterrolebinding", "viewers", "--clusterrole=view"],
      "--group=devs",
    ]);
  });

  it.for(ways)(
    "serves kubectl as the user of the token, with the rights of that user there, by its %s",
    async (way) => {
      const token = await cluster.mint(`laptop-${ways.indexOf(way)}`);
      const ca = join(cluster.connected.directory, "server-ca.crt");
      writePrivately(
        ca,
        way === "kube-apiserver"
          ? cluster.connected.certificateAuthority
          : cluster.server.certificateAuthority,
      );
      const access = { ...cluster.connected, kubeconfigs: { nobody: "/dev/null" } };
      const kube = (...args: readonly string[]) =>
        tryKubectl(
          access,
          [
            ...args,
            `--server=${cluster.serverOf(way)}`,
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
    const token = await cluster.mint("scoped", { scope: { rules: [reading] } });
    expect((await cluster.whoami(token)).status).toBe(401);
    expect(cluster.trusted.printed).toContain("scope");
    const paths = ["/api/v1/pods", "/api/v1/configmaps", "/api/v1/nodes", "/apis"];
    const statuses = await Promise.all(paths.map((path) => cluster.statusOf(token, path)));
    expect(statuses).toEqual([200, 403, 403, 200]);
  });

  it("serves nothing else at the direct endpoint", async () => {
    const token = await cluster.mint("elsewhere");
    const { dispatcher } = cluster;
    const { endpointUrl } = cluster.endpoint;
    for (const path of ["/api", "/kubernetes/management/api", "/healthz"]) {
      const headers = { authorization: `Bearer ${token}` };
      expect((await fetch(endpointUrl + path, { dispatcher, headers })).status).toBe(404);
      expect((await fetch(endpointUrl + path, { dispatcher })).status).toBe(401);
    }
  });

  it.for(ways)(
    "accepts at its %s what a test signs like Latchkey, so that only the change of a wrong token decides",
    async (way) => {
      const seen = await cluster.whoami(await cluster.forge({}), way);
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
    const token = await cluster.forge({ claims: claims?.() ?? {}, header: header ?? {} });
    expect(await cluster.statusesOf(token)).toEqual([401, 401]);
  });

  it("refuses at kube-apiserver a token that lives longer than a day", async () => {
    const token = await cluster.forge({ claims: { exp: now() + 90_000 } });
    expect((await cluster.whoami(token)).status).toBe(401);
  });

  it.for<[string, Change]>([
    ["of another type", { header: { typ: "at+jwt" } }],
    ["with a key by URL", { header: { jku: "https://localhost/keys" } }],
    ["with a certificate by URL", { header: { x5u: "https://localhost/keys" } }],
    ["with one audience in a list", { claims: () => ({ aud: ["management.service/direct"] }) }],
    ["that is oversized", { claims: () => ({ padding: "x".repeat(8_192) }) }],
  ])("refuses at the direct endpoint a token %s", async ([, { claims, header }]) => {
    const token = await cluster.forge({ claims: claims?.() ?? {}, header: header ?? {} });
    expect((await cluster.whoami(token, "direct endpoint")).status).toBe(401);
  });

  it("refuses a token that is signed by another key, also if the key is in its header", async () => {
    const pair = await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, [
      "sign",
      "verify",
    ]);
    const { kty, crv, x, y } = await crypto.subtle.exportKey("jwk", pair.publicKey);
    for (const header of [{}, { jwk: { kty, crv, x, y } }])
      expect(await cluster.statusesOf(await cluster.forge({ header }, pair.privateKey))).toEqual([
        401, 401,
      ]);
  });

  it("refuses a token without a signature, and the public key as a secret", async () => {
    const token = await cluster.forge({});
    const [, payload = ""] = token.split(".");
    const header = Buffer.from(JSON.stringify({ alg: "none", typ: "JWT" })).toString("base64url");
    expect(await cluster.statusesOf(`${header}.${payload}.`)).toEqual([401, 401]);
    const secret = new TextEncoder().encode(JSON.stringify(cluster.signing().publicJwk));
    const symmetric = await cluster.forge({ header: { alg: "HS256" } }, secret);
    expect(await cluster.statusesOf(symmetric)).toEqual([401, 401]);
  });

  it("accepts a token for one cluster only there", async () => {
    const { central, connected, controller } = cluster;
    const [all, own, virtual] = [
      await mintToken(central, "for-all"),
      await mintToken(central, "for-own", { cluster: connectedName }),
      await mintToken(central, "for-virtual", { cluster: "web/east" }),
    ];
    expect(await cluster.statusesOf(all)).toEqual([200, 200]);
    expect(await cluster.statusesOf(own)).toEqual([200, 200]);
    expect(await cluster.statusesOf(virtual)).toEqual([401, 401]);
    const endpoint = await startEndpoint(connected, {
      program: central.program,
      issuer: controller.issuerUrl,
      ca: await issuerCa(central.controlPlane),
      name: "web/east",
      args: ["--own-audience-only"],
    });
    try {
      const statuses = [all, own, virtual].map((token) => endpoint.statusOf(token));
      expect(await Promise.all(statuses)).toEqual([401, 401, 200]);
    } finally {
      await endpoint.stop();
    }
  });

  it("refuses a token after its end: kube-apiserver keeps a decision for 10 s", async () => {
    const token = await cluster.forge({ claims: { exp: now() + 8 } });
    expect(await cluster.statusesOf(token)).toEqual([200, 200]);
    const areRefused = async () =>
      (await cluster.statusesOf(token)).every((status) => status === 401);
    await eventually(areRefused, { what: "the token to end at both" });
  });

  it("ends a watch with its token, at the direct endpoint", async () => {
    const token = await cluster.forge({ claims: { exp: now() + 5 } });
    const { ended } = await lastEventOf(token);
    expect(await ended).toMatchObject({ type: "ERROR", object: { code: 401 } });
  });

  /** Opens a watch at the direct endpoint; resolves with its last event when it has ended. */
  async function lastEventOf(token: string): Promise<{ readonly ended: Promise<unknown> }> {
    const path = "/api/v1/namespaces?watch=true";
    const headers = { authorization: `Bearer ${token}` };
    const { dispatcher } = cluster;
    const watch = await fetch(cluster.serverOf("direct endpoint") + path, { dispatcher, headers });
    expect(watch.status).toBe(200);
    return {
      ended: watch.text().then((text) => JSON.parse(text.trimEnd().split("\n").at(-1) ?? "")),
    };
  }

  it("revokes the token of a deleted object at the direct endpoint, and ends its watches; kube-apiserver accepts it until it expires", async () => {
    const token = await cluster.mint("revoked");
    expect(await cluster.statusesOf(token)).toEqual([200, 200]);
    const { ended } = await lastEventOf(token);
    const began = Date.now();
    const path = tokenPath("revoked");
    expect(await cluster.central.ask(alice, remove(path))).toMatchObject({
      code: 200,
    });
    expect(await ended).toMatchObject({ type: "ERROR", object: { code: 401 } });
    process.stderr.write(
      `direct endpoint: a watch ended ${Date.now() - began} ms after its token was deleted\n`,
    );
    expect(await cluster.statusesOf(token)).toEqual([200, 401]);
  });

  it("revokes a token while the key that it was requested with is disabled", async () => {
    const parent = `${keysPath}/parent`;
    const spec = { user: "alice", ttl: 3600, key: `parent-${"k".repeat(40)}` };
    const { metadata } = await cluster.central.arrange(postKey("parent", spec));
    const token = await cluster.mint("child", {}, withKey(alice, metadata));
    const isAccepted = async () => (await cluster.whoami(token, "direct endpoint")).status === 200;
    expect(await isAccepted()).toBe(true);
    for (const disabled of [true, false]) {
      await cluster.central.arrange(mergePatch(parent, { spec: { disabled } }));
      await eventually(async () => (await isAccepted()) !== disabled, {
        what: `the token of a key with disabled: ${disabled} to be ${disabled ? "refused" : "accepted"}`,
      });
    }
    await cluster.central.arrange(remove(parent));
    await eventually(async () => !(await isAccepted()), {
      what: "the token of a deleted key to be refused",
    });
  });
}
