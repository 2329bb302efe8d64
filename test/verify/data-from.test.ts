import { createHash, createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { load, loadAll } from "js-yaml";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { annotations } from "../../src/api/names.ts";
import { isRecord, listAt, parseMetadata, recordAt, stringAt } from "../../src/api/parse.ts";
import {
  type AgentFixture,
  makeTarget,
  secretPath,
  startAgentFixture,
} from "../support/agent-fixture.ts";
import { auditLength, latchkeyRecords, mutations } from "../support/audit-log.ts";
import { findOrBuildCertManager } from "../support/cert-manager.ts";
import {
  type Caller,
  get,
  mergePatch,
  patchTypes,
  post,
  remove,
} from "../support/cluster-connection.ts";
import { type DedicatedCluster, hasDedicatedClusters } from "../support/dedicated-cluster.ts";
import { blocksOf } from "../support/doc-blocks.ts";
import { eventually } from "../support/eventually.ts";
import { repository } from "../support/install.ts";
import { kubectl } from "../support/kubectl.ts";
import { bindClusterRole, postClusterRole, postNamespace } from "../support/latchkey-objects.ts";
import { unique } from "../support/policy-request.ts";
import { orMissing, present } from "../support/prepared.ts";
import { base64 } from "../support/shared-secret-requests.ts";
import { skippedWithout } from "../support/skipped.ts";
import type { TiedChild } from "../support/tied-child.ts";

const report = (line: string) => void process.stderr.write(`${line}\n`);
const certManager = await orMissing(findOrBuildCertManager(report));

const pagePath = join("docs", "how-to", "values-from-other-controllers.md");
const page = readFileSync(join(repository, pagePath), "utf8");
const manifests = blocksOf(page)
  .filter(({ language, text }) => language === "yaml" && /^kind:/m.test(text))
  .flatMap(({ text }) => loadAll(text));

/** A value inside an object, such as `spec.destination.name`. */
const inside = (object: unknown, ...path: readonly string[]): Record<string, unknown> =>
  path.reduce<Record<string, unknown>>(recordAt, { ...Object(object) });

/** The manifest of the page with this kind and name. */
function onPage(kind: string, name: string): object {
  const found = manifests.find(
    (manifest) =>
      stringAt(manifest, "kind") === kind && inside(manifest, "metadata")["name"] === name,
  );
  if (!isRecord(found)) throw new Error(`${pagePath} has no ${kind} ${name}`);
  return found;
}

/** A manifest in another namespace, with more annotations. */
function placed(
  manifest: object,
  namespace: string,
  more: Readonly<Record<string, string>> = {},
): object {
  const metadata = inside(manifest, "metadata");
  const marks = { ...recordAt(metadata, "annotations"), ...more };
  return { ...manifest, metadata: { ...metadata, namespace, annotations: marks } };
}

const sharedSecrets = (namespace: string) =>
  `/apis/management.service/v1/namespaces/${namespace}/sharedsecrets`;
const certificates = (namespace: string) =>
  `/apis/cert-manager.io/v1/namespaces/${namespace}/certificates`;

let fixture: AgentFixture;
let central: DedicatedCluster;
let east: DedicatedCluster;

beforeAll(async () => {
  if (!hasDedicatedClusters) return;
  fixture = await startAgentFixture();
  ({ central, east } = fixture);
  const controller = await central.run();
  await controller.waitReady();
});
afterAll(() => fixture?.stop());

async function makeNamespace(): Promise<string> {
  const name = unique("platform");
  await central.arrange(postNamespace(name));
  return name;
}

/** Namespaces of a project. */
async function makeTargets(
  cluster: DedicatedCluster,
  project: string,
  count: number,
): Promise<readonly string[]> {
  return Promise.all(Array.from({ length: count }, () => makeTarget(cluster, project)));
}

/** Waits until a Secret of this name has the type and data everywhere. */
async function arrives(
  cluster: DedicatedCluster,
  { name, namespaces }: { readonly name: string; readonly namespaces: readonly string[] },
  wanted: { readonly type: unknown; readonly data: unknown },
): Promise<void> {
  const path = `/api/v1/secrets?fieldSelector=${encodeURIComponent(`metadata.name=${name}`)}`;
  await eventually(
    async () => {
      const items = listAt(await cluster.arrange(get(path)), "items");
      const found = namespaces.map((namespace) => {
        const item = items.find((each) => parseMetadata(each).namespace === namespace);
        return { type: stringAt(item, "type"), data: recordAt(item, "data") };
      });
      expect(found).toEqual(namespaces.map(() => wanted));
      return true;
    },
    { what: `${name} to arrive`, within: 120_000 },
  );
}

/** How often Latchkey has written each Secret of this name since this byte of the audit log. */
function writesOf(
  { audit }: DedicatedCluster,
  { name, namespaces }: { readonly name: string; readonly namespaces: readonly string[] },
  from = 0,
): readonly number[] {
  const written = mutations(latchkeyRecords(audit, from)).flatMap(({ objectRef }) =>
    objectRef?.resource === "secrets" && objectRef.name === name ? [objectRef.namespace] : [],
  );
  return namespaces.map((namespace) => written.filter((each) => each === namespace).length);
}

/** Waits until no Secret of this name exists in a cluster. */
async function goes(cluster: DedicatedCluster, name: string): Promise<void> {
  const path = `/api/v1/secrets?fieldSelector=${encodeURIComponent(`metadata.name=${name}`)}`;
  await eventually(async () => listAt(await cluster.arrange(get(path)), "items").length === 0, {
    what: `the end of ${name}`,
  });
}

describe.skipIf(!hasDedicatedClusters)("cert-manager", skippedWithout(certManager), () => {
  let running: Pick<TiedChild, "stop"> | undefined;
  afterAll(() => running?.stop());

  const revisionOf = (certificate: unknown) => Number(inside(certificate, "status")["revision"]);

  it("renews a certificate, which arrives in 50 namespaces and in a connected cluster with one write a copy, until its template no longer consents", async () => {
    const { crds, start } = present(certManager);
    const access = central.controlPlane;
    const log = join(access.directory, "cert-manager.log");
    await kubectl(access, ["apply", "--server-side", `--filename=${crds}`]);
    await kubectl(access, ["wait", "--for=condition=Established", `--filename=${crds}`]);
    running = start(access.adminKubeconfig, log);
    const [namespace, project] = [await makeNamespace(), unique("web")];
    const targets = { name: "shop", namespaces: await makeTargets(central, project, 50) };
    const beyond = { name: "shop", namespaces: await makeTargets(east, project, 1) };

    const issuer = { apiVersion: "cert-manager.io/v1", kind: "Issuer" };
    await central.arrange(
      post(`/apis/cert-manager.io/v1/namespaces/${namespace}/issuers`, {
        ...issuer,
        metadata: { name: "internal" },
        spec: { selfSigned: {} },
      }),
    );
    const certificate = onPage("Certificate", "shop");
    // cert-manager's minimum is an hour; it is renewed every 30 s.
    const often = { duration: "1h", renewBefore: "59m30s" };
    const spec = { ...inside(certificate, "spec"), ...often };
    await central.arrange(
      post(certificates(namespace), { ...placed(certificate, namespace), spec }),
    );
    const more = { [annotations.syncToProjects]: project, [annotations.syncToClusters]: "east" };
    const shared = placed(onPage("SharedSecret", "shop"), namespace, more);
    await central.arrange(post(sharedSecrets(namespace), shared));

    const path = `${certificates(namespace)}/shop`;
    await eventually(async () => revisionOf(await central.arrange(get(path))) >= 5, {
      what: "four renewals",
      within: 400_000,
    });
    await running.stop();
    const revision = revisionOf(await central.arrange(get(path)));
    const sourcePath = secretPath({ namespace, name: "shop-tls" });
    const source = await central.arrange(get(sourcePath));
    const { type, data } = source;
    expect({ type, keys: Object.keys(inside(source, "data")).toSorted() }).toEqual({
      type: "kubernetes.io/tls",
      keys: ["ca.crt", "tls.crt", "tls.key"],
    });
    await arrives(central, targets, { type, data });
    await arrives(east, beyond, { type, data });
    const bytes = (key: string) => Buffer.from(stringAt(data, key) ?? "", "base64");
    const key = createPrivateKey(bytes("tls.key"));
    expect(new X509Certificate(bytes("tls.crt")).checkPrivateKey(key)).toBe(true);
    for (const [cluster, places] of [
      [central, targets],
      [east, beyond],
    ] as const)
      expect(writesOf(cluster, places)).toEqual(places.namespaces.map(() => revision));

    // The CA without the key, as the page says.
    const authority = {
      [annotations.dataFromKeys]: "ca.crt",
      [annotations.syncSecretType]: "Opaque",
    };
    const sharedPath = `${sharedSecrets(namespace)}/shop`;
    await central.arrange(mergePatch(sharedPath, { metadata: { annotations: authority } }));
    const public_ = { type: "Opaque", data: { "ca.crt": stringAt(data, "ca.crt") } };
    await arrives(central, targets, public_);
    await arrives(east, beyond, public_);

    // It takes the annotation out of the Secret, which no longer consents.
    const rarely = { renewBefore: "5m", secretTemplate: null };
    await central.arrange(mergePatch(path, { spec: rarely }));
    running = start(access.adminKubeconfig, log);
    await goes(central, "shop");
    await goes(east, "shop");
    expect((await central.ask({}, get(sourcePath))).code).toBe(200);
  });
});

/** How another controller writes its Secret. */
interface Supplier {
  readonly name: string;
  /** Its object on the page. */
  readonly kind: string;
  /** Where in its object the name of the Secret is, and where its annotations. */
  readonly secretName: readonly string[];
  readonly annotations: readonly string[];
  /** Its field manager, and whether it applies or updates. */
  readonly manager: string;
  readonly applies?: true;
}

const suppliers: readonly Supplier[] = [
  {
    name: "External Secrets",
    kind: "ExternalSecret",
    secretName: ["metadata"],
    annotations: ["spec", "target", "template", "metadata", "annotations"],
    manager: "externalsecrets.external-secrets.io/orders-db",
  },
  {
    name: "Sealed Secrets",
    kind: "SealedSecret",
    secretName: ["metadata"],
    annotations: ["spec", "template", "metadata", "annotations"],
    manager: "controller",
  },
  {
    name: "Vault's operator",
    kind: "VaultStaticSecret",
    secretName: ["spec", "destination"],
    annotations: ["spec", "destination", "annotations"],
    manager: "vault-secrets-operator",
  },
  {
    name: "Flux",
    kind: "Secret",
    secretName: ["metadata"],
    annotations: ["metadata", "annotations"],
    manager: "kustomize-controller",
    applies: true,
  },
];

describe.skipIf(!hasDedicatedClusters)("a SharedSecret follows the Secret of", () => {
  it.each(suppliers)("$name, played", async ({ kind, manager, applies, ...supplier }) => {
    const [namespace, project] = [await makeNamespace(), unique("web")];
    const copies = { name: "orders", namespaces: await makeTargets(central, project, 2) };
    const object = onPage(kind, "orders-db");
    const name = stringAt(inside(object, ...supplier.secretName), "name") ?? "";
    const marks = inside(object, ...supplier.annotations);
    const path = secretPath({ namespace, name });
    const by = `?fieldManager=${encodeURIComponent(manager)}`;
    const write = async (password: string): Promise<void> => {
      const secret = {
        ...{ apiVersion: "v1", kind: "Secret", type: "Opaque" },
        metadata: { name, namespace, annotations: marks },
        data: { password: base64(password) },
      };
      if (applies === true) {
        const type = patchTypes.apply;
        await central.arrange({
          ...{ method: "PATCH", path: `${path}${by}&force=true`, body: secret, type },
        });
        return;
      }
      const { code, metadata } = await central.ask({}, get(path));
      const { resourceVersion = "" } = metadata ?? {};
      await central.arrange(
        code === 404
          ? post(`${secretPath({ namespace })}${by}`, secret)
          : {
              method: "PUT",
              path: `${path}${by}`,
              body: { ...secret, metadata: { ...secret.metadata, resourceVersion } },
            },
      );
    };
    const has = (password: string) =>
      arrives(central, copies, { type: "Opaque", data: { password: base64(password) } });

    await write("first");
    await central.arrange(
      post(
        sharedSecrets(namespace),
        placed(onPage("SharedSecret", "orders"), namespace, {
          [annotations.syncToProjects]: project,
        }),
      ),
    );
    await has("first");
    await write("second");
    await has("second");
    await central.arrange(remove(path));
    await write("third");
    await has("third");
    expect(writesOf(central, copies)).toEqual([3, 3]);
  });
});

describe.skipIf(!hasDedicatedClusters)("External Secrets' generic target, played", () => {
  const user: Caller = {
    user: "system:serviceaccount:external-secrets:external-secrets",
    groups: ["system:serviceaccounts", "system:authenticated"],
  };

  it("writes spec.data with the rights of the page, and takes nothing else away", async () => {
    const values = blocksOf(page).find(({ text }) => text.startsWith("genericTargets:"));
    const [rule] = listAt(inside(load(values?.text ?? ""), "genericTargets"), "resources");
    const { apiGroup, ...rights } = inside(rule);
    const role = unique("external-secrets");
    await central.arrange(postClusterRole(role, [{ apiGroups: [apiGroup], ...rights }]));
    await central.arrange(bindClusterRole(role, role, [{ kind: "User", name: user.user ?? "" }]));
    const [namespace, project] = [await makeNamespace(), unique("web")];
    const copies = { name: "payments", namespaces: await makeTargets(central, project, 3) };
    const path = `${sharedSecrets(namespace)}/payments`;
    const own = {
      apiVersion: "management.service/v1",
      kind: "SharedSecret",
      metadata: { name: "payments", annotations: { [annotations.syncToProjects]: project } },
      spec: { owner: { team: "ops" }, access: [{ verbs: ["get"], teams: ["devs"] }] },
    };
    await central.arrange(post(sharedSecrets(namespace), own));
    const refresh = asExternalSecrets(onPage("ExternalSecret", "payments"), path, user);

    await refresh({ password: "first" });
    const has = (password: string) =>
      arrives(central, copies, { type: "Opaque", data: { password: base64(password) } });
    await has("first");
    const from = auditLength(central.audit);
    await refresh({ password: "second" });
    await has("second");
    await refresh({ password: "second" });
    await refresh({ password: "third" });
    await has("third");
    expect(writesOf(central, copies, from)).toEqual([2, 2, 2]);
    const { metadata, spec } = await central.arrange(get(path));
    expect(spec).toEqual({ ...own.spec, data: { password: base64("third") } });
    expect(metadata).toMatchObject({
      annotations: own.metadata.annotations,
      labels: { "reconcile.external-secrets.io/managed": "true" },
      finalizers: ["management.service/cleanup"],
    });
  });
});

/**
 * Refreshes an ExternalSecret with a generic target and the policy Merge as
 * pkg/controllers/externalsecret/externalsecret_controller_manifest.go of External Secrets 2.9.0:
 * renders the template into what is read, and updates the whole object.
 */
function asExternalSecrets(
  externalSecret: object,
  path: string,
  user: Caller,
): (values: Readonly<Record<string, string>>) => Promise<void> {
  const target = inside(externalSecret, "spec", "target");
  expect(target).toMatchObject({ creationPolicy: "Merge", manifest: { kind: "SharedSecret" } });
  const [template] = listAt(recordAt(target, "template"), "templateFrom");
  expect(stringAt(template, "target")).toBe("spec.data");
  return async (values) => {
    const rendered = (stringAt(template, "literal") ?? "").replaceAll(
      /\{\{ \.(\w+) \| b64enc \}\}/g,
      (_, name: string) => base64(values[name] ?? ""),
    );
    const { code: _, warnings: __, message: ___, ...object } = await central.ask(user, get(path));
    const data = { ...inside(object, "spec", "data"), ...inside(load(rendered)) };
    const spec = { ...object.spec, data };
    const metadata = {
      ...object.metadata,
      labels: { ...object.metadata.labels, "reconcile.external-secrets.io/managed": "true" },
      annotations: {
        ...object.metadata.annotations,
        "reconcile.external-secrets.io/data-hash": createHash("sha256")
          .update(JSON.stringify(spec))
          .digest("hex"),
      },
    };
    const body = { ...object, metadata, spec };
    const answer = await central.ask(user, {
      ...{ method: "PUT", path: `${path}?fieldManager=external-secrets`, body },
    });
    // A conflict is tried again, as it does.
    if (answer.code === 409) return asExternalSecrets(externalSecret, path, user)(values);
    expect(answer).toMatchObject({ code: 200 });
  };
}
