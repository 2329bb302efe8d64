import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadAll } from "js-yaml";
import { beforeAll, describe, expect, test } from "vitest";
import { printTrustConfig } from "../../../src/client/admin/trust-config.ts";
import { listAt, recordAt } from "../../../src/api/parse.ts";
import { encodeBody } from "../../../src/kube/client/request-body.ts";
import { KubeError } from "../../../src/kube/client/kube-error.ts";
import { parseConfig } from "../../../src/runtime/options.ts";
import { trustConfigOptions } from "../../../src/client/admin/trust-config-options.ts";
import {
  newServerCertificates,
  serverCertificatesSecret,
} from "../../../src/tokens/server-certificates.ts";
import { flagTexts } from "../../runtime/flag-texts.ts";

let secret: unknown;
beforeAll(async () => {
  const made = await newServerCertificates({
    dnsNames: ["latchkey-webhook.latchkey-system.svc"],
    clientName: "latchkey:kube-apiserver",
    now: Date.now(),
  });
  secret = JSON.parse(encodeBody(serverCertificatesSecret(made, { namespace: "latchkey-system" })));
});

interface Cluster {
  readonly clusterIP?: string;
  readonly hasSecret?: boolean;
  readonly hasService?: boolean;
}

async function printed(
  argv: readonly string[],
  { clusterIP = "10.0.0.7", hasSecret = true, hasService = true }: Cluster = {},
): Promise<string> {
  const texts: string[] = [];
  await printTrustConfig(
    {
      ...parseConfig(trustConfigOptions, { flags: flagTexts(argv), env: {} }),
      namespace: "latchkey-system",
    },
    {
      client: {
        async get({ plural }) {
          if (plural === "services" && hasService) return { spec: { clusterIP } };
          if (plural !== "services" && hasSecret) return secret;
          throw new KubeError("x", { code: "NotFound", status: 404 });
        },
      },
      print: (text) => texts.push(text),
    },
  );
  return texts.join("");
}

describe("the printed configuration", () => {
  test("consists of five consistent files, and the flags as comments", async () => {
    const text = await printed([]);
    const [authorization, tokenReview, accessReview, admission, webhooks] = loadAll(text);
    expect(authorization).toMatchObject({
      apiVersion: "apiserver.config.k8s.io/v1",
      kind: "AuthorizationConfiguration",
    });
    expect(tokenReview).toMatchObject({
      clusters: [
        {
          cluster: {
            server: "https://10.0.0.7/token-review",
            "tls-server-name": "latchkey-webhook.latchkey-system.svc",
          },
        },
      ],
    });
    expect(accessReview).toMatchObject({
      clusters: [{ cluster: { server: "https://10.0.0.7/access-review" } }],
    });
    const kubeConfigFile = "/etc/kubernetes/latchkey/admission.kubeconfig";
    expect(admission).toMatchObject({
      kind: "AdmissionConfiguration",
      plugins: [{ configuration: { kubeConfigFile } }, { configuration: { kubeConfigFile } }],
    });
    const { user } = recordAt({ user: listAt(tokenReview, "users")[0] }, "user");
    expect(webhooks).toMatchObject({
      users: [{ name: "latchkey-webhook.latchkey-system.svc", user }],
    });
    for (const file of [
      "authorization.yaml",
      "token-review.kubeconfig",
      "access-review.kubeconfig",
      "admission.yaml",
      "admission.kubeconfig",
    ])
      expect(text).toContain(`# /etc/kubernetes/latchkey/${file}\n`);
    expect(text).toContain(
      "# --authorization-config=/etc/kubernetes/latchkey/authorization.yaml\n",
    );
    expect(text).toContain(
      "# --admission-control-config-file=/etc/kubernetes/latchkey/admission.yaml\n",
    );
  });

  test.each<[string, string]>([
    ["https://localhost:8443", "localhost:8443"],
    ["https://latchkey.example.com:443/", "latchkey.example.com"],
    ["https://[fd00::7]:8443", "[fd00::7]:8443"],
  ])("has the client certificate for admission at %s as that of %s", async (url, host) => {
    expect(loadAll(await printed([`--webhook-url=${url}`]))).toContainEqual(
      expect.objectContaining({
        users: [
          expect.objectContaining({ name: "latchkey-webhook.latchkey-system.svc" }),
          expect.objectContaining({ name: host }),
        ],
      }),
    );
  });

  test("uses the URL that is set, or the cluster IP, also with IPv6", async () => {
    expect(await printed(["--webhook-url=https://latchkey.example.com:8443/"])).toContain(
      "server: https://latchkey.example.com:8443/token-review\n",
    );
    expect(await printed([], { clusterIP: "fd00::7" })).toContain("https://[fd00::7]/token-review");
  });
});

test("writes files that only the owner can read, and prints only the flags", async () => {
  const output = join(mkdtempSync(join(tmpdir(), "trust-")), "made");
  const text = await printed([`--output=${output}`]);
  expect(text).not.toContain("client-key-data");
  expect(readdirSync(output).toSorted()).toEqual([
    "access-review.kubeconfig",
    "admission.kubeconfig",
    "admission.yaml",
    "authorization.yaml",
    "token-review.kubeconfig",
  ]);
  expect(statSync(join(output, "token-review.kubeconfig")).mode & 0o777).toBe(0o600);
  expect(readFileSync(join(output, "token-review.kubeconfig"), "utf8")).toContain(
    "client-key-data",
  );
  rmSync(join(output, ".."), { recursive: true });
});

describe("an error says how to fix it", () => {
  test.each<[string, readonly string[], Cluster, string]>([
    [
      "for a Service without a cluster IP",
      [],
      { clusterIP: "None" },
      'Service "latchkey-system/latchkey-webhook" has no cluster IP; set --webhook-url',
    ],
    [
      "for a missing Service",
      ["--service-name=other"],
      { hasService: false },
      'Service "latchkey-system/other" does not exist; install the webhook, or set --service-name',
    ],
    [
      "for missing certificates",
      [],
      { hasSecret: false },
      'Secret "latchkey-system/latchkey-webhook-certificates" does not exist; start latchkey webhook',
    ],
  ])("%s", async (_rule, argv, cluster, problem) => {
    await expect(printed(argv, cluster)).rejects.toThrow(problem);
  });
});
