import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { loadAll } from "js-yaml";
import { describe, expect, inject, test } from "vitest";
import { listAt, recordAt, stringAt, stringsAt } from "../../src/api/parse.ts";
import { repository } from "../support/install.ts";
import { kubectl } from "../support/kubectl.ts";

/** The objects that a directory of `config`, or another one, installs. */
async function objectsOf(directory: string): Promise<readonly unknown[]> {
  return loadAll(
    await kubectl(inject("controlPlane"), [
      "kustomize",
      directory.startsWith("/") ? directory : join(repository, "config", directory),
    ]),
  );
}

/** `kind name` of an object. */
function nameOf(object: unknown): string {
  return `${stringAt(object, "kind")} ${stringAt(recordAt(object, "metadata"), "name")}`;
}

async function installedBy(directory: string): Promise<readonly string[]> {
  return (await objectsOf(directory)).map(nameOf);
}

/** The objects that are not the same in another list, in any order. */
function changedNames(before: readonly unknown[], now: readonly unknown[]): readonly string[] {
  const same = new Set(before.map((object) => JSON.stringify(object)));
  return now.filter((object) => !same.has(JSON.stringify(object))).map(nameOf);
}

/** The peers and ports of a NetworkPolicy. */
function ingressOf(objects: readonly unknown[], name: string): unknown {
  return recordAt(
    objects.find((object) => nameOf(object) === `NetworkPolicy ${name}`),
    "spec",
  )["ingress"];
}

test("servers before 1.36 get the same objects as newer ones, except a webhook instead of the policy latchkey-requester-annotations", async () => {
  const [whole, before] = await Promise.all([installedBy("default"), installedBy("before-1.36")]);
  const stamp = [
    "MutatingAdmissionPolicy latchkey-requester-annotations",
    "MutatingAdmissionPolicyBinding latchkey-requester-annotations",
  ];
  expect(whole).toEqual(
    expect.arrayContaining([
      ...stamp,
      "MutatingWebhookConfiguration latchkey",
      "Deployment latchkey-controller",
      "Deployment latchkey-webhook",
    ]),
  );
  expect(before.toSorted()).toEqual(
    [
      ...whole.filter((object) => !stamp.includes(object)),
      "MutatingWebhookConfiguration latchkey-requester-annotations",
    ].toSorted(),
  );
});

const credentialId = "userextras/management.service/credential-id";
const extrasOfKeys = [
  "userextras/management.service/key-id",
  "userextras/management.service/scope-hash",
  credentialId,
  "userextras/management.service/credential-ends",
];

test.each([
  ["the gateway", "gateway", "gateway", extrasOfKeys],
  ["a connected cluster", "connected-cluster", "gateway", extrasOfKeys],
  ["the direct endpoint", "direct-endpoint", "direct-endpoint", [credentialId]],
])(
  "%s before 1.36 has the same objects, and plain impersonation of users and groups",
  async (_what, directory, program, extras) => {
    const role = `ClusterRole latchkey-${program}-impersonation`;
    const [now, before] = await Promise.all([
      objectsOf(directory),
      objectsOf(`${directory}-before-1.36`),
    ]);
    expect(before.map(nameOf)).toEqual(now.map(nameOf));
    expect(changedNames(now, before)).toEqual([role]);
    const rules = listAt(
      before.find((object) => nameOf(object) === role),
      "rules",
    );
    expect(new Set(rules.flatMap((rule) => stringsAt(rule, "verbs")))).toEqual(
      new Set(["impersonate"]),
    );
    expect(rules.flatMap((rule) => stringsAt(rule, "resources"))).toEqual([
      ...["users", "groups"],
      ...extras,
    ]);
  },
);

describe("without permission to write webhook configurations", () => {
  const right = [
    "ClusterRole latchkey-webhook-configurations",
    "ClusterRoleBinding latchkey-webhook-configurations",
  ];

  test("everything else is installed, with certificates of cert-manager", async () => {
    const [whole, without] = await Promise.all([
      installedBy("default"),
      installedBy("webhook-without-configuration"),
    ]);
    expect(whole).toEqual(expect.arrayContaining(right));
    const certificates = [
      "Issuer latchkey-self-signed",
      "Certificate latchkey-ca",
      "Issuer latchkey-ca",
      "Certificate latchkey-webhook",
      "Certificate latchkey-kube-apiserver",
    ];
    expect(without.toSorted()).toEqual(
      [...whole.filter((object) => !right.includes(object)), ...certificates].toSorted(),
    );
  });

  test("no role has that permission", async () => {
    const rules = (await objectsOf("webhook-without-configuration")).flatMap((object) =>
      listAt(object, "rules"),
    );
    const written = rules.filter((rule) =>
      stringsAt(rule, "resources").some((plural) => plural.endsWith("webhookconfigurations")),
    );
    expect(new Set(written.flatMap((rule) => stringsAt(rule, "verbs")))).toEqual(
      new Set(["get", "list", "watch"]),
    );
  });

  test("each webhook has the path of its name, below the segment that the Deployment sets", async () => {
    const objects = await objectsOf("webhook-without-configuration");
    const configuration = objects.find(
      (object) => nameOf(object) === "MutatingWebhookConfiguration latchkey",
    );
    const webhooks = listAt(configuration, "webhooks").map((webhook) => [
      stringAt(webhook, "name"),
      stringAt(recordAt(recordAt(webhook, "clientConfig"), "service"), "path"),
    ]);
    expect(webhooks.length).toBeGreaterThan(0);
    for (const [name = "", path] of webhooks)
      expect(path).toBe(`/replace-me-with-openssl-rand-hex-20/admit/${name.split(".")[0]}`);
    expect(recordAt(recordAt(configuration, "metadata"), "annotations")).toEqual({
      "cert-manager.io/inject-ca-from": "latchkey-system/latchkey-webhook",
    });
    const pods = JSON.stringify(
      objects.find((object) => nameOf(object) === "Deployment latchkey-webhook"),
    );
    expect(pods).toContain(
      '{"name":"LATCHKEY_ADMISSION_PATH","value":"replace-me-with-openssl-rand-hex-20"}',
    );
    expect(pods).toContain('"args":["webhook","--certificate-directory=/certificates"]');
  });
});

const metricsNamespaces = [
  {
    from: [{ namespaceSelector: { matchLabels: { metrics: "enabled" } } }],
    ports: [{ protocol: "TCP", port: "http" }],
  },
];

test("only namespaces labelled metrics=enabled can access metrics, and only addresses can access the webhook's port", async () => {
  const objects = await objectsOf("default");
  expect(ingressOf(objects, "latchkey-default-deny")).toBeUndefined();
  expect([
    ingressOf(objects, "latchkey-controller"),
    ingressOf(objects, "latchkey-webhook"),
  ]).toEqual([metricsNamespaces, metricsNamespaces]);
  expect(ingressOf(objects, "latchkey-webhook-api-servers")).toEqual([
    {
      from: [{ ipBlock: { cidr: "0.0.0.0/0" } }, { ipBlock: { cidr: "::/0" } }],
      ports: [{ protocol: "TCP", port: "webhook" }],
    },
  ]);
});

test.each([
  ["gateway", "gateway", "gateway-clients", "gateway"],
  ["direct endpoint", "direct-endpoint", "direct-endpoint-clients", "endpoint"],
  ["direct authorizer", "direct-authorizer", "direct-authorizer-api-servers", "webhook"],
  ["controller", "default", "issuer", "issuer"],
])(
  "only namespaces labelled metrics=enabled can access metrics of the %s, and every address can access its port for clients",
  async (_what, directory, policy, port) => {
    const objects = await objectsOf(directory);
    const program = directory === "default" ? "controller" : directory;
    expect(ingressOf(objects, `latchkey-${program}`)).toEqual(metricsNamespaces);
    expect(ingressOf(objects, `latchkey-${policy}`)).toEqual([
      {
        from: [{ ipBlock: { cidr: "0.0.0.0/0" } }, { ipBlock: { cidr: "::/0" } }],
        ports: [{ protocol: "TCP", port }],
      },
    ]);
  },
);

describe("the sample Ingress of the gateway", () => {
  test("is accepted by the API server", async () => {
    const answer = await kubectl(inject("controlPlane"), [
      ...["apply", "--server-side", "--dry-run=server", "--output=name"],
      ...["-k", join(repository, "config", "gateway-ingress")],
    ]);
    expect(answer).toBe("ingress.networking.k8s.io/latchkey-gateway\n");
  });

  test("names a Service and a port of config/gateway, and verifies the name of its certificate", async () => {
    const [ingress] = await objectsOf("gateway-ingress");
    const [rule] = listAt(recordAt(ingress, "spec"), "rules");
    const [path] = listAt(recordAt(rule, "http"), "paths");
    const backend = recordAt(recordAt(path, "backend"), "service");
    const service = (await objectsOf("gateway")).find(
      (object) => nameOf(object) === `Service ${String(backend["name"])}`,
    );
    const ports = listAt(recordAt(service, "spec"), "ports").map((port) => stringAt(port, "name"));
    expect(ports).toContain(stringAt(recordAt(backend, "port"), "name"));
    const annotation = "nginx.ingress.kubernetes.io/proxy-ssl-name";
    expect(recordAt(recordAt(ingress, "metadata"), "annotations")[annotation]).toBe(
      `${String(backend["name"])}.latchkey-system.svc`,
    );
  });
});

test.each([
  ["api-server-addresses", "default", "webhook-api-servers", "webhook"],
  ["api-server-addresses", "direct-authorizer", "direct-authorizer-api-servers", "webhook"],
  ["client-addresses", "gateway", "gateway-clients", "gateway"],
  ["client-addresses", "direct-endpoint", "direct-endpoint-clients", "endpoint"],
])("an overlay with %s allows only these to %s", async (component, directory, policy, port) => {
  const overlay = mkdtempSync(join(repository, "config", "overlay-of-a-test-"));
  try {
    writeFileSync(
      join(overlay, "kustomization.yaml"),
      `resources: [../${directory}]\ncomponents: [../components/${component}]\n`,
    );
    const [objects, before] = [await objectsOf(overlay), await objectsOf(directory)];
    expect(changedNames(before, objects)).toEqual([`NetworkPolicy latchkey-${policy}`]);
    expect(ingressOf(objects, `latchkey-${policy}`)).toEqual([
      {
        from: [{ ipBlock: { cidr: "192.0.2.0/24" } }],
        ports: [{ protocol: "TCP", port }],
      },
    ]);
  } finally {
    rmSync(overlay, { recursive: true });
  }
});

test("only namespaces labelled metrics=enabled can connect to the cluster agent", async () => {
  const objects = await objectsOf("cluster-agent");
  expect(ingressOf(objects, "latchkey-cluster-agent")).toEqual(metricsNamespaces);
  const policies = objects.filter((object) => stringAt(object, "kind") === "NetworkPolicy");
  expect(policies).toHaveLength(1);
});

/** The containers of all programs. */
async function containers(): Promise<readonly unknown[]> {
  const connected = ["direct-endpoint", "direct-authorizer", "cluster-agent"];
  const directories = ["default", "gateway", ...connected];
  const objects = (await Promise.all(directories.map(objectsOf))).flat();
  const deployments = objects.filter((object) => stringAt(object, "kind") === "Deployment");
  expect(deployments).toHaveLength(6);
  return deployments.flatMap((deployment) =>
    listAt(recordAt(recordAt(recordAt(deployment, "spec"), "template"), "spec"), "containers"),
  );
}

test("the heap limit of each process is 100 MB below the memory limit of its pod", async () => {
  for (const container of await containers()) {
    const options = listAt(container, "env").find(
      (variable) => stringAt(variable, "name") === "NODE_OPTIONS",
    );
    const heap = Number(/--max-old-space-size=(\d+)/.exec(stringAt(options, "value") ?? "")?.[1]);
    const limit = Number(
      /^(\d+)Mi$/.exec(
        stringAt(recordAt(recordAt(container, "resources"), "limits"), "memory") ?? "",
      )?.[1],
    );
    expect(heap).toBeGreaterThan(0);
    expect(heap).toBeLessThanOrEqual(limit - 100);
  }
});

test("each process has five minutes to start, and a minute without an answer after that", async () => {
  const secondsOf = (container: unknown, probe: string) => {
    const { periodSeconds, failureThreshold } = recordAt(container, probe);
    return Number(periodSeconds) * Number(failureThreshold);
  };
  for (const container of await containers())
    expect(["startupProbe", "livenessProbe"].map((probe) => secondsOf(container, probe))).toEqual([
      300, 60,
    ]);
});
