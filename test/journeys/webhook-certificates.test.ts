import { execFileSync } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { admissionPath } from "../../src/domain/webhook/webhook-paths.ts";
import {
  isTrueAt,
  listAt,
  parseConditions,
  recordAt,
  stringAt,
  stringMapAt,
} from "../../src/api/parse.ts";
import { encodeBody } from "../../src/kube/client/request-body.ts";
import {
  newServerCertificates,
  parseServerCertificates,
  tlsOf,
  type ServerCertificates,
  serverCertificatesSecret,
} from "../../src/tokens/server-certificates.ts";
import { sha256 } from "../support/bound-digest.ts";
import { admin, type Ask, get, mergePatch, patchTypes } from "../support/cluster-connection.ts";
import { valuesOf } from "../support/controller-vitals.ts";
import { hasDedicatedClusters } from "../support/dedicated-cluster.ts";
import { keysPath, postKey } from "../support/latchkey-objects.ts";
import { eventually } from "../support/eventually.ts";
import { askAs } from "../support/key-request.ts";
import { kubectl } from "../support/kubectl.ts";
import { startWebhook, type WebhookProcess } from "../support/latchkey-process.ts";
import { type ReviewAnswer, reviewClient } from "../support/review-client.ts";
import { admissionSegmentOf } from "../support/trust.ts";
import {
  certificatesPath,
  certificateTerms,
  digestOf,
  namespace,
  newKey,
  poolAsApiServer,
  serialOf,
  shownBy,
  startWebhookCluster,
  tokenReview,
  type WebhookCluster,
} from "../support/webhook-cluster.ts";

let fixture: WebhookCluster;
/** In digest mode a key is not stored; a plain key is stored only in etcd. */
const [digested, stored] = [newKey(), newKey()];

beforeAll(async () => {
  if (!hasDedicatedClusters) return;
  fixture = await startWebhookCluster();
  await fixture.makeKey("digested", { key: digestOf(digested) });
  await fixture.makeKey("stored", { key: stored });
  await Promise.all([fixture.becomes(200, digested), fixture.becomes(200, stored)]);
});

afterAll(() => fixture?.stop());

/** Runs the work with a second replica. */
async function withReplica(work: (replica: WebhookProcess) => Promise<void>): Promise<void> {
  const replica = await fixture.cluster.runWebhook();
  try {
    await replica.waitReady();
    await work(replica);
  } finally {
    await replica.stop();
  }
}

describe.skipIf(!hasDedicatedClusters)("the certificates of the webhook", () => {
  it("are renewed by the CA that signed the former ones, which kube-apiserver still trusts", async () => {
    const { aged, webhook } = fixture;
    const shown = await shownBy(webhook);
    expect(shown.serialNumber).not.toBe(serialOf(aged.serving.certificate));
    expect(shown.verify(new X509Certificate(aged.ca.certificate).publicKey)).toBe(true);
    expect(await fixture.codeOf(digested)).toBe(200);
  });

  it("are replaced in a serving webhook, regardless of who renews them", async () => {
    const { aged, cluster, webhook } = fixture;
    const before = [(await shownBy(webhook)).serialNumber, serialOf(aged.serving.certificate)];
    const secret: unknown = JSON.parse(encodeBody(serverCertificatesSecret(aged, { namespace })));
    const data = {
      "tls.crt": Buffer.from(aged.serving.certificate).toString("base64"),
      "tls.key": recordAt(secret, "data")["tls.key"],
    };
    await cluster.arrange(mergePatch(certificatesPath, { data }));
    const changed = async () => !before.includes((await shownBy(webhook)).serialNumber);
    await eventually(changed, { what: "another certificate to be shown" });
    expect(webhook.starts).toBe(1);
    expect(await fixture.codeOf(stored)).toBe(200);
  });

  it("are the same for all replicas", async () => {
    await withReplica(async (replica) => {
      const shown = await Promise.all([fixture.webhook, replica].map(shownBy));
      expect(new Set(shown.map(({ serialNumber }) => serialNumber)).size).toBe(1);
    });
  });
});

describe.skipIf(!hasDedicatedClusters)("certificates in files, as written by cert-manager", () => {
  async function codeWith(
    webhook: WebhookProcess,
    certificates: ServerCertificates,
  ): Promise<number> {
    const pool = poolAsApiServer(webhook, certificates);
    const body = tokenReview(digested);
    const answer = await pool.request({ method: "POST", path: "/token-review", body });
    await answer.body.dump();
    await pool.destroy();
    return answer.statusCode;
  }

  it("are served, trusted and reloaded when they change", async () => {
    const { controlPlane, program } = fixture.cluster;
    const directory = mkdtempSync(join(controlPlane.directory, "files-"));
    const write = (certificates: ServerCertificates) => {
      const { certificate, privateKey, clientAuthority } = tlsOf(certificates);
      for (const [file, text] of Object.entries({
        "tls.crt": certificate,
        "tls.key": privateKey,
        "ca.crt": clientAuthority,
      }))
        writeFileSync(join(directory, file), text, { mode: 0o600 });
    };
    const [first, next] = [
      await newServerCertificates({ ...certificateTerms, now: Date.now() }),
      await newServerCertificates({ ...certificateTerms, now: Date.now() }),
    ];
    write(first);
    const webhook = await startWebhook({
      controlPlane,
      program,
      restart: "never",
      args: [
        `--certificate-directory=${directory}`,
        "--admission-path=0123456789abcdef0123456789abcdef",
      ],
    });
    try {
      await webhook.waitReady();
      expect((await shownBy(webhook)).serialNumber).toBe(serialOf(first.serving.certificate));
      expect(await codeWith(webhook, first)).toBe(200);
      expect(await codeWith(webhook, { ...first, client: next.client })).toBe(401);
      write(next);
      await eventually(
        async () => (await shownBy(webhook)).serialNumber === serialOf(next.serving.certificate),
        { what: "the next certificate to be shown" },
      );
      expect(await codeWith(webhook, next)).toBe(200);
    } finally {
      await webhook.stop();
    }
  });
});

describe.skipIf(!hasDedicatedClusters)("a client that is not kube-apiserver", () => {
  it.each(["/token-review", "/access-review"])("gets 401 from %s", async (path) => {
    // Not as an argument: the error of a failed command contains all arguments.
    const said = execFileSync(
      "curl",
      [
        "--silent",
        "--insecure",
        "--write-out",
        " %{http_code}",
        "--data",
        "@-",
        `${fixture.webhook.webhookUrl}${path}`,
      ],
      { encoding: "utf8", input: tokenReview(stored) },
    );
    expect(said).toMatch(/client certificate of .* required.* 401$/s);
  });
});

describe.skipIf(!hasDedicatedClusters)("a pod that knows the path of admission", () => {
  /** The request that kube-apiserver would send for this user. */
  const review = (username: string): string => {
    const owner = { apiVersion: "v1", kind: "Namespace", name: "default", uid: "u" };
    const metadata = { name: "a", ownerReferences: [{ ...owner, blockOwnerDeletion: true }] };
    const object = { metadata, spec: {} };
    const request = { uid: "r", operation: "CREATE", userInfo: { username }, object };
    return JSON.stringify({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request });
  };

  /** What the webhook answers about root, who may delete every namespace, and about alice. */
  async function answersOf(webhook: WebhookProcess): Promise<readonly ReviewAnswer[]> {
    const segment = await admissionSegmentOf(fixture.cluster.controlPlane);
    const client = await reviewClient(webhook.webhookUrl, "anonymous", (request) =>
      fixture.cluster.arrange(request),
    );
    try {
      const path = admissionPath(segment, "owner-references.management.service");
      return [await client.post(path, review("root")), await client.post(path, review("alice"))];
    } finally {
      client.close();
    }
  }

  it("gets 401 if the webhook requires a client certificate, which kube-apiserver has", async () => {
    const required = { status: 401, body: expect.stringContaining("client certificate") };
    expect(await answersOf(fixture.webhook)).toEqual([required, required]);
    const { spec } = await fixture.makeKey("generated", {});
    expect(spec).toMatchObject({ key: expect.stringMatching(/^lk_/) });
  });

  it("learns what other users may delete if the webhook does not require one", async () => {
    await withReplica(async (replica) => {
      const answers = await answersOf(replica);
      expect(answers.map(({ status }) => status)).toEqual([200, 200]);
      const allowed = answers.map(({ body }) => recordAt(JSON.parse(body), "response")["allowed"]);
      expect(allowed).toEqual([true, false]);
    });
  });
});

describe.skipIf(!hasDedicatedClusters)("a used key", () => {
  it("has its last use in its status, which two replicas write as rarely as one, and never to an earlier time", async () => {
    const { cluster, webhook } = fixture;
    const key = newKey();
    // A twentieth of the idle timeout is a second.
    const made = await fixture.makeKey("shared", { key, ttl: 20, ttlAfterLastActivity: true });
    await fixture.becomes(200, key);
    let seconds = 0;
    await withReplica(async (replica) => {
      seconds = await present(key, [webhook, replica]);
    });
    const lines = await kubectl(cluster.controlPlane, [
      "get",
      "--raw",
      `${keysPath}?watch=true&timeoutSeconds=2&fieldSelector=metadata.name%3Dshared&resourceVersion=${made.metadata.resourceVersion}`,
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

  it("is in no log, metric, Event or response, and with a digest not stored anywhere", async () => {
    const { cluster, webhook } = fixture;
    const { controlPlane } = cluster;
    const logs = [
      ...readdirSync(controlPlane.logs).map((file) => join(controlPlane.logs, file)),
      webhook.log,
    ];
    const metrics = await (await fetch(`${webhook.url}/metrics`)).text();
    const events = JSON.stringify(await cluster.arrange(get("/apis/events.k8s.io/v1/events")));
    const answers = JSON.stringify(
      await askAs(controlPlane, stored, get("/api/v1/namespaces/none/secrets/none")),
    );
    const texts = [...logs.map((log) => readFileSync(log, "utf8")), metrics, events, answers];
    const shown = (key: string): readonly number[] =>
      texts.flatMap((text, index) =>
        [key, digestOf(key).slice(7)].some((disguise) => text.includes(disguise)) ? [index] : [],
      );
    expect([shown(stored), shown(digested)]).toEqual([[], []]);
    expect(valuesOf(metrics, "latchkey_reviews_total").length).toBeGreaterThan(0);
    const isInEtcd = (key: string) => isFoundIn(join(controlPlane.directory, "etcd"), key);
    // Finding the stored key proves that the search would find the other one.
    expect([isInEtcd(stored), isInEtcd(digested)]).toEqual([true, false]);
  });

  it("has its extras in audit logs, which do not contain the key", () => {
    const lines = readFileSync(fixture.cluster.audit, "utf8")
      .split("\n")
      .filter((line) => line.includes("management.service/key-id"));
    expect(lines.length).toBeGreaterThan(0);
    expect(stringMapAt(recordAt(JSON.parse(lines[0] ?? "{}"), "user"), "extra")).toEqual({});
  });
});

const crdPath =
  "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/ownedaccesskeys.management.service";
/** The rules of the schema about the spec. */
const rulesPath =
  "/spec/versions/0/schema/openAPIV3Schema/properties/spec/x-kubernetes-validations";

/** Stores an object as an earlier version did: while the schema has no rule about `spec.key`. */
async function storeUnruled(name: string, spec: object): Promise<void> {
  const { cluster } = fixture;
  const patched = (body: readonly object[]) =>
    cluster.arrange({ method: "PATCH", path: crdPath, type: patchTypes.json, body });
  const rules: unknown = rulesPath
    .split("/")
    .slice(1)
    .reduce<unknown>(
      (value, step) =>
        Array.isArray(value) ? value[Number(step)] : recordAt({ value }, "value")[step],
      await cluster.arrange(get(crdPath)),
    );
  const all = listAt({ rules }, "rules");
  // The first rule about the forms of spec.key.
  const index = all.findIndex((each) => stringAt(each, "fieldPath") === ".key");
  const keyRulePath = `${rulesPath}/${index}`;
  const create = postKey(name, { user: "root", ...spec });
  const becomesCode = (code: number, request: Ask) =>
    eventually(async () => (await cluster.ask(admin, request)).code === code, {
      what: `the schema to answer ${code}`,
    });
  await patched([{ op: "remove", path: keyRulePath }]);
  await becomesCode(201, create);
  await patched([{ op: "add", path: keyRulePath, value: all[index] }]);
  await becomesCode(422, { ...create, path: `${keysPath}?dryRun=All` });
}

describe.skipIf(!hasDedicatedClusters)(
  "a digest of a key alone that an earlier version stored",
  () => {
    it("authenticates nobody, says how to bind it, and cannot stay when its spec changes", async () => {
      const { cluster } = fixture;
      const key = newKey();
      const path = `${keysPath}/unbound`;
      await storeUnruled("unbound", { key: `sha256:${sha256(key)}` });
      await eventually(async () => fixture.isTrue("unbound", "Stalled"), { what: "the status" });
      const { status } = await cluster.arrange(get(path));
      const conditions = new Map(parseConditions(status).map((each) => [each.type, each]));
      expect(conditions.get("Ready")).toMatchObject({
        status: "False",
        reason: "InvalidKey",
        message: expect.stringContaining("kubectl latchkey keys digest --user=NAME"),
      });
      expect(conditions.get("Active")).toMatchObject({ status: "False", reason: "InvalidKey" });
      expect(await fixture.codeOf(key)).toBe(401);
      const metadata = { labels: { changed: "true" } };
      expect(await cluster.ask(admin, mergePatch(path, { metadata }))).toMatchObject({ code: 200 });
      expect(await cluster.ask(admin, mergePatch(path, { spec: { ttl: 60 } }))).toMatchObject({
        code: 422,
        message: expect.stringContaining("kubectl latchkey keys digest --user=NAME"),
      });
      await cluster.arrange(mergePatch(path, { spec: { key: digestOf(key) } }));
      await fixture.becomes(200, key);
    });
  },
);

/** Presents a key to each webhook repeatedly; returns for how many seconds it did. */
async function present(key: string, webhooks: readonly WebhookProcess[]): Promise<number> {
  const certificates = parseServerCertificates(
    await fixture.cluster.arrange(get(certificatesPath)),
  );
  const pools = webhooks.map((webhook) => poolAsApiServer(webhook, certificates));
  const body = tokenReview(key);
  const began = performance.now();
  while (performance.now() - began < 5_000) {
    const answers = await Promise.all(
      pools.map(async (pool) =>
        (await pool.request({ method: "POST", path: "/token-review", body })).body.json(),
      ),
    );
    expect(answers.map((answer) => isTrueAt(recordAt(answer, "status"), "authenticated"))).toEqual([
      true,
      true,
    ]);
  }
  await Promise.all(pools.map((pool) => pool.destroy()));
  return (performance.now() - began) / 1000;
}

function isFoundIn(directory: string, text: string): boolean {
  try {
    execFileSync("grep", [
      "--recursive",
      "--quiet",
      "--binary-files=text",
      "--fixed-strings",
      text,
      directory,
    ]);
    return true;
  } catch {
    return false;
  }
}
