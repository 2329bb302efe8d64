import { createHash, randomBytes, X509Certificate } from "node:crypto";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect } from "node:tls";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Pool } from "undici";
import { annotations, apiVersion, ownObjects } from "../../src/api/names.ts";
import { isTrueAt, parseConditions, recordAt, stringAt, stringMapAt } from "../../src/api/parse.ts";
import { SecretText } from "../../src/api/secret-text.ts";
import {
  newWebhookCertificates,
  parseWebhookCertificates,
  tlsOf,
  type WebhookCertificates,
  webhookCertificatesSecret,
} from "../../src/tokens/webhook-certificates.ts";
import { encodeBody } from "../../src/kube/encode.ts";
import { apiServerName } from "../../src/webhooks/client-credentials.ts";
import { admin, type Answer, patchTypes } from "../support/cluster-connection.ts";
import { eventually } from "../support/eventually.ts";
import { askAs } from "../support/key-request.ts";
import { kubectl } from "../support/kubectl.ts";
import { startWebhook, type WebhookProcess } from "../support/latchkey-process.ts";
import { valuesOf } from "../support/controller-vitals.ts";
import {
  hasDedicatedClusters,
  type DedicatedCluster,
  startDedicatedCluster,
} from "../support/dedicated-cluster.ts";
import { askWebhookAtAdmission, trustWebhook, webhookHost } from "../support/trust.ts";

const keys = `/apis/${apiVersion}/ownedaccesskeys`;
const namespace = "latchkey-system";
const certificatesPath = `/api/v1/namespaces/${namespace}/secrets/${ownObjects.webhookCertificates}`;
const look = { method: "GET", path: "/api/v1/namespaces" } as const;
const dayMs = 86_400_000;

let cluster: DedicatedCluster;
let webhooks: WebhookProcess[] = [];
let aged: WebhookCertificates;

const newKey = (): string => `canary${randomBytes(24).toString("hex")}`;
const digestOf = (key: string): string =>
  `sha256:${createHash("sha256").update(key).digest("hex")}`;
/** In digest mode a key is nowhere; canaries that are stored are in etcd alone. */
const [digested, stored] = [newKey(), newKey()];

async function makeKey(name: string, spec: object): Promise<Answer> {
  return cluster.arrange({
    method: "POST",
    path: keys,
    body: {
      apiVersion,
      kind: "OwnedAccessKey",
      metadata: { name },
      spec: { user: "root", ...spec },
    },
  });
}

async function codeOf(key: string): Promise<number> {
  return (await askAs(cluster.controlPlane, key, look)).code;
}

async function becomes(code: number, key: string): Promise<void> {
  await eventually(async () => (await codeOf(key)) === code, {
    what: `the answer to become ${code}`,
  });
}

async function run(): Promise<WebhookProcess> {
  const webhook = await startWebhook({
    controlPlane: cluster.controlPlane,
    program: cluster.program,
    restart: "never",
    args: [`--certificate-names=${webhookHost}`],
  });
  webhooks.push(webhook);
  return webhook;
}

beforeAll(async () => {
  if (!hasDedicatedClusters) return;
  cluster = await startDedicatedCluster();
  // kube-apiserver starts again below, and may take longer than the Lease.
  const controller = await cluster.run({ restart: "at-once" });
  // As if Latchkey had made them 300 days ago: what lives for a year is due.
  aged = await newWebhookCertificates({
    dnsNames: ["latchkey-webhook.latchkey-system.svc"],
    clientName: apiServerName,
    now: Date.now() - 300 * dayMs,
  });
  await cluster.arrange({
    method: "POST",
    path: "/api/v1/namespaces/latchkey-system/secrets",
    body: JSON.parse(encodeBody(webhookCertificatesSecret(aged, { namespace }))),
  });
  const roleRef = {
    apiGroup: "rbac.authorization.k8s.io",
    kind: "ClusterRole",
    name: "cluster-admin",
  };
  await cluster.arrange({
    method: "POST",
    path: "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    body: {
      metadata: { name: "root" },
      roleRef,
      subjects: [{ kind: "User", apiGroup: roleRef.apiGroup, name: "root" }],
    },
  });
  const webhook = await run();
  await webhook.waitReady();
  await trustWebhook(cluster.controlPlane, webhook, cluster.program);
  await askWebhookAtAdmission(cluster.controlPlane, webhook);
  await controller.waitReady();
  await makeKey("digested", { key: digestOf(digested) });
  await makeKey("stored", { key: stored });
  await Promise.all([becomes(200, digested), becomes(200, stored)]);
});

afterAll(async () => {
  await Promise.all(webhooks.map((webhook) => webhook.stop()));
  await cluster?.stop();
});

/** How kube-apiserver connects to a webhook. */
function asApiServer({ client, authority }: WebhookCertificates) {
  return {
    ca: authority.certificate,
    cert: client.certificate,
    key: SecretText.reveal(client.privateKey),
    servername: "latchkey-webhook.latchkey-system.svc",
  };
}

/** The certificate that a webhook shows now. */
function shownBy({ webhookUrl }: WebhookProcess): Promise<X509Certificate> {
  return new Promise((resolve, reject) => {
    const socket = connect(
      { host: "127.0.0.1", port: Number(new URL(webhookUrl).port), rejectUnauthorized: false },
      () => {
        const { raw } = socket.getPeerCertificate();
        socket.destroy();
        resolve(new X509Certificate(raw));
      },
    );
    socket.once("error", reject);
  });
}

describe.skipIf(!hasDedicatedClusters)("the certificates of the webhook", () => {
  it("are renewed by the authority that signed the former ones, which kube-apiserver goes on trusting", async () => {
    const shown = await shownBy(webhooks[0] ?? (await run()));
    expect(shown.serialNumber).not.toBe(new X509Certificate(aged.serving.certificate).serialNumber);
    expect(shown.verify(new X509Certificate(aged.authority.certificate).publicKey)).toBe(true);
    expect(await codeOf(digested)).toBe(200);
  });

  it("change under a webhook that serves, whoever renews them", async () => {
    const [webhook] = webhooks;
    const before = webhook === undefined ? undefined : await shownBy(webhook);
    const due = Buffer.from(aged.serving.certificate).toString("base64");
    const data = {
      "tls.crt": due,
      "tls.key": recordAt(
        JSON.parse(encodeBody(webhookCertificatesSecret(aged, { namespace }))),
        "data",
      )["tls.key"],
    };
    await cluster.arrange({
      method: "PATCH",
      path: certificatesPath,
      type: patchTypes.merge,
      body: { data },
    });
    const changed = async () =>
      webhook !== undefined &&
      ![before?.serialNumber, new X509Certificate(aged.serving.certificate).serialNumber].includes(
        (await shownBy(webhook)).serialNumber,
      );
    await eventually(changed, { what: "another certificate to be shown" });
    expect(webhook?.starts).toBe(1);
    expect(await codeOf(stored)).toBe(200);
  });

  it("are one set for all replicas", async () => {
    const other = await run();
    await other.waitReady();
    const serials = await Promise.all(
      webhooks.map(async (webhook) => (await shownBy(webhook)).serialNumber),
    );
    expect(new Set(serials).size).toBe(1);
    await other.stop();
    webhooks = webhooks.filter((webhook) => webhook !== other);
  });
});

describe.skipIf(!hasDedicatedClusters)("certificates in files, as cert-manager's", () => {
  const terms = { dnsNames: ["latchkey-webhook.latchkey-system.svc"], clientName: apiServerName };

  async function codeWith(
    webhook: WebhookProcess,
    certificates: WebhookCertificates,
  ): Promise<number> {
    const pool = new Pool(webhook.webhookUrl, {
      allowH2: false,
      connect: asApiServer(certificates),
    });
    const body = JSON.stringify({
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenReview",
      spec: { token: digested },
    });
    const answer = await pool.request({ method: "POST", path: "/token-review", body });
    await answer.body.dump();
    await pool.destroy();
    return answer.statusCode;
  }

  it("are served, trusted and followed when they change", async () => {
    const directory = mkdtempSync(join(cluster.controlPlane.directory, "files-"));
    const write = (certificates: WebhookCertificates) => {
      const { certificate, privateKey, clientAuthority } = tlsOf(certificates);
      for (const [file, text] of Object.entries({
        "tls.crt": certificate,
        "tls.key": privateKey,
        "ca.crt": clientAuthority,
      }))
        writeFileSync(join(directory, file), text, { mode: 0o600 });
    };
    const [first, next] = [
      await newWebhookCertificates({ ...terms, now: Date.now() }),
      await newWebhookCertificates({ ...terms, now: Date.now() }),
    ];
    write(first);
    const webhook = await startWebhook({
      controlPlane: cluster.controlPlane,
      program: cluster.program,
      restart: "never",
      args: [
        `--certificate-directory=${directory}`,
        "--admission-path=0123456789abcdef0123456789abcdef",
      ],
    });
    try {
      await webhook.waitReady();
      expect((await shownBy(webhook)).serialNumber).toBe(
        new X509Certificate(first.serving.certificate).serialNumber,
      );
      expect(await codeWith(webhook, first)).toBe(200);
      expect(await codeWith(webhook, { ...first, client: next.client })).toBe(401);
      write(next);
      await eventually(
        async () =>
          (await shownBy(webhook)).serialNumber ===
          new X509Certificate(next.serving.certificate).serialNumber,
        { what: "the next certificate to be shown" },
      );
      expect(await codeWith(webhook, next)).toBe(200);
    } finally {
      await webhook.stop();
    }
  });
});

describe.skipIf(!hasDedicatedClusters)("who is not kube-apiserver", () => {
  it.each(["/token-review", "/access-review"])("is answered nothing at %s", async (path) => {
    const url = `${webhooks[0]?.webhookUrl}${path}`;
    // Not as an argument: the error of a command that fails shows all of them.
    const input = JSON.stringify({
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenReview",
      spec: { token: stored },
    });
    const said = execFileSync(
      "curl",
      ["--silent", "--insecure", "--write-out", " %{http_code}", "--data", "@-", url],
      { encoding: "utf8", input },
    );
    expect(said).toMatch(/client certificate of .* required.* 401$/s);
  });
});

describe.skipIf(!hasDedicatedClusters)("while all webhooks are away", () => {
  const brief = newKey();
  beforeAll(async () => {
    if (!hasDedicatedClusters) return;
    await makeKey("brief", { key: brief, ttl: 20 });
    await makeKey("leaving", { key: newKey() });
    await makeKey("disabled", { key: newKey() });
    await becomes(200, brief);
    for (const webhook of webhooks) {
      webhook.kill("SIGKILL");
      await webhook.exited();
    }
  });

  it("requests with a key are refused", async () => {
    const refused = async () => {
      const codes = await Promise.all([digested, stored].map(codeOf));
      return codes.every((code) => code !== 200) && codes;
    };
    const codes = await eventually(refused, { what: "keys to be refused" });
    expect(codes.filter((code) => code !== 403 && code !== 401)).toEqual([]);
  });

  it("no key is made, and none gets another text", async () => {
    const away = {
      code: 500,
      message: expect.stringContaining("ownedaccesskeys.management.service"),
    };
    const body = {
      apiVersion,
      kind: "OwnedAccessKey",
      metadata: { name: "made-meanwhile" },
      spec: { user: "root", key: newKey() },
    };
    expect(await cluster.ask(admin, { method: "POST", path: keys, body })).toMatchObject(away);
    expect(
      await cluster.ask(admin, {
        method: "PATCH",
        path: `${keys}/stored`,
        type: patchTypes.merge,
        body: { spec: { key: newKey() } },
      }),
    ).toMatchObject(away);
  });

  it("keys are labelled and disabled", async () => {
    const patch = (body: object) =>
      cluster.ask(admin, {
        method: "PATCH",
        path: `${keys}/disabled`,
        type: patchTypes.merge,
        body,
      });
    expect(await patch({ metadata: { labels: { a: "b" } } })).toMatchObject({ code: 200 });
    expect(await patch({ spec: { disabled: true } })).toMatchObject({ code: 200 });
  });

  it("everybody else works as before", async () => {
    expect((await cluster.ask(admin, look)).code).toBe(200);
    expect(
      await kubectl(
        cluster.controlPlane,
        ["auth", "whoami", "--output=jsonpath={.status.userInfo.username}"],
        { user: "alice" },
      ),
    ).toBe("alice");
    expect(
      (
        await cluster.ask(admin, {
          method: "POST",
          path: "/api/v1/namespaces",
          body: { metadata: { name: "made-meanwhile" } },
        })
      ).code,
    ).toBe(201);
  });

  it("keys expire", async () => {
    const expired = async () =>
      parseConditions(
        (await cluster.arrange({ method: "GET", path: `${keys}/brief` })).status,
      ).some(({ type, status }) => type === "Expired" && status === "True");
    await eventually(expired, { what: "the key to expire" });
    expect(await codeOf(brief)).not.toBe(200);
  });

  it("keys are deleted", async () => {
    await cluster.arrange({ method: "DELETE", path: `${keys}/leaving` });
    await eventually(
      async () =>
        (await cluster.ask(admin, { method: "GET", path: `${keys}/leaving` })).code === 404,
      { what: "the key to go" },
    );
    expect((await cluster.ask(admin, { method: "GET", path: `${keys}/leaving` })).code).toBe(404);
  });

  it("nothing is forgotten: when one is back, keys work, and those that ended do not", async () => {
    for (const webhook of webhooks) {
      webhook.start();
      await webhook.waitReady();
    }
    await Promise.all([becomes(200, digested), becomes(200, stored)]);
    expect(await codeOf(brief)).not.toBe(200);
  });
});

describe.skipIf(!hasDedicatedClusters)("a key that was used", () => {
  it("has its last use in its status, which replicas write together as seldom as one, and never back", async () => {
    const other = await run();
    await other.waitReady();
    const certificates = parseWebhookCertificates(
      await cluster.arrange({ method: "GET", path: certificatesPath }),
    );
    const key = newKey();
    // A twentieth of the idle life is a second.
    const made = await makeKey("shared", { key, ttl: 20, ttlAfterLastActivity: true });
    await becomes(200, key);
    const pools = webhooks.map(
      ({ webhookUrl }) =>
        new Pool(webhookUrl, { allowH2: false, connect: asApiServer(certificates) }),
    );
    const body = JSON.stringify({
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenReview",
      spec: { token: key },
    });
    const began = performance.now();
    while (performance.now() - began < 5_000) {
      const answers = await Promise.all(
        pools.map(async (pool) =>
          (await pool.request({ method: "POST", path: "/token-review", body })).body.json(),
        ),
      );
      expect(
        answers.map((answer) => isTrueAt(recordAt(answer, "status"), "authenticated")),
      ).toEqual([true, true]);
    }
    const seconds = (performance.now() - began) / 1000;
    await Promise.all(pools.map((pool) => pool.destroy()));
    await other.stop();
    webhooks = webhooks.filter((webhook) => webhook !== other);
    const lines = await kubectl(cluster.controlPlane, [
      "get",
      "--raw",
      `${keys}?watch=true&timeoutSeconds=2&fieldSelector=metadata.name%3Dshared&resourceVersion=${made.metadata.resourceVersion}`,
    ]);
    const uses = lines
      .split("\n")
      .flatMap((line) =>
        line === ""
          ? []
          : (stringAt(recordAt(recordAt(JSON.parse(line), "object"), "status"), "lastActivity") ??
            []),
      );
    expect(uses.toSorted()).toEqual(uses);
    expect(new Set(uses).size).toBeGreaterThan(2);
    expect(new Set(uses).size).toBeLessThanOrEqual(seconds + 2);
  });

  it("is in no log, no metric, no Event and no answer, and as a digest nowhere at all", async () => {
    const { controlPlane } = cluster;
    const logs = [
      ...readdirSync(controlPlane.logs).map((file) => join(controlPlane.logs, file)),
      ...webhooks.map(({ log }) => log),
    ];
    const metrics = await Promise.all(
      webhooks.map(async ({ url }) => (await fetch(`${url}/metrics`)).text()),
    );
    const events = JSON.stringify(
      await cluster.arrange({ method: "GET", path: "/apis/events.k8s.io/v1/events" }),
    );
    const answers = JSON.stringify(
      await askAs(controlPlane, stored, {
        method: "GET",
        path: "/api/v1/namespaces/none/secrets/none",
      }),
    );
    const texts = [...logs.map((log) => readFileSync(log, "utf8")), ...metrics, events, answers];
    const shown = (key: string): readonly number[] =>
      texts.flatMap((text, index) =>
        [key, digestOf(key).slice(7)].some((disguise) => text.includes(disguise)) ? [index] : [],
      );
    expect([shown(stored), shown(digested)]).toEqual([[], []]);
    expect(valuesOf(metrics.join("\n"), "latchkey_reviews_total").length).toBeGreaterThan(0);
    const found = (key: string): boolean => {
      try {
        execFileSync("grep", [
          "--recursive",
          "--quiet",
          "--binary-files=text",
          "--fixed-strings",
          key,
          join(controlPlane.directory, "etcd"),
        ]);
        return true;
      } catch {
        return false;
      }
    };
    // The other one shows that the search would find it.
    expect([found(stored), found(digested)]).toEqual([true, false]);
  });

  it("leaves the extras that audit logs show, and these hold no key", () => {
    const lines = readFileSync(cluster.audit, "utf8")
      .split("\n")
      .filter((line) => line.includes("management.service/key-id"));
    expect(lines.length).toBeGreaterThan(0);
    expect(stringMapAt(recordAt(JSON.parse(lines[0] ?? "{}"), "user"), "extra")).toEqual({});
  });
});

describe.skipIf(!hasDedicatedClusters)(
  "on a server that does not serve MutatingAdmissionPolicy",
  () => {
    const alice = { user: "alice", groups: ["system:masters"] };
    const requester = (answer: Answer) =>
      stringMapAt(answer.metadata, "annotations")[annotations.requester];
    const forged = { [annotations.requester]: "mallory", [annotations.requesterKeyId]: "stolen" };
    const ask = (name: string, given: object = {}) =>
      cluster.ask(alice, {
        method: "POST",
        path: keys,
        body: {
          apiVersion,
          kind: "OwnedAccessKey",
          metadata: { name, annotations: given },
          spec: { user: "alice" },
        },
      });

    beforeAll(async () => {
      if (!hasDedicatedClusters) return;
      const [webhook = await run()] = webhooks;
      for (const plural of ["mutatingadmissionpolicies", "mutatingadmissionpolicybindings"]) {
        await cluster.arrange({
          method: "DELETE",
          path: `/apis/admissionregistration.k8s.io/v1/${plural}/latchkey-requester-stamp`,
        });
      }
      const isUnstamped = async () =>
        (await ask(`try-${randomBytes(4).toString("hex")}`)).code !== 201;
      await eventually(isUnstamped, { what: "the policy to be away" });
      await askWebhookAtAdmission(
        cluster.controlPlane,
        webhook,
        join("before-1.36", "requester-stamp.yaml"),
      );
      // So old must be what makes a requester certain.
      await new Promise((resolve) => setTimeout(resolve, 11_000));
    });

    it("the webhook stamps who asks, whatever was sent", async () => {
      const made = await ask("stamped", forged);
      expect(made).toMatchObject({
        code: 201,
        metadata: { annotations: { [annotations.requester]: "alice" } },
      });
      expect(stringMapAt(made.metadata, "annotations")[annotations.requesterKeyId]).toBeUndefined();
      const isActive = async () =>
        parseConditions(
          (await cluster.arrange({ method: "GET", path: `${keys}/stamped` })).status,
        ).some(({ type, status }) => type === "Active" && status === "True");
      expect(await eventually(isActive, { what: "the stamp to count" })).toBe(true);
    });

    it("an update brings the stamp back", async () => {
      const path = `${keys}/stamped`;
      for (const given of [forged, { [annotations.requester]: null }]) {
        expect(
          requester(
            await cluster.arrange({
              method: "PATCH",
              path,
              type: patchTypes.merge,
              body: { metadata: { annotations: given } },
            }),
          ),
        ).toBe("alice");
      }
    });

    it("no key is made while the webhook is away, and the others are disabled", async () => {
      for (const webhook of webhooks) {
        webhook.kill("SIGKILL");
        await webhook.exited();
      }
      expect((await ask("made-never")).code).toBe(500);
      expect(
        await cluster.ask(admin, {
          method: "PATCH",
          path: `${keys}/stamped`,
          type: patchTypes.merge,
          body: { spec: { disabled: true } },
        }),
      ).toMatchObject({ code: 200 });
    });
  },
);
