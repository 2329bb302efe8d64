import { loadAll } from "js-yaml";
import { beforeAll, describe, expect, test } from "vitest";
import { trustConfigOptions } from "../../../src/client/admin/trust-config-options.ts";
import { printConnectedConfig } from "../../../src/client/admin/trust-config.ts";
import { KubeError } from "../../../src/kube/client/kube-error.ts";
import { encodeBody } from "../../../src/kube/client/request-body.ts";
import { UsageError } from "../../../src/runtime/config-values.ts";
import { parseConfig } from "../../../src/runtime/options.ts";
import {
  newServerCertificates,
  serverCertificatesSecret,
} from "../../../src/tokens/server-certificates.ts";
import { flagTexts } from "../../runtime/flag-texts.ts";

let secret: unknown;
beforeAll(async () => {
  const made = await newServerCertificates({
    dnsNames: ["latchkey-direct-authorizer.latchkey-system.svc"],
    clientName: "latchkey:kube-apiserver",
    now: Date.now(),
  });
  const place = { namespace: "latchkey-system", name: "latchkey-direct-authorizer-certificates" };
  secret = JSON.parse(encodeBody(serverCertificatesSecret(made, place)));
});

const usual = [
  ...["--authentication=true", "--authorization=true", "--issuer-certificate-authority=system"],
  ...["--cluster-name=east", "--issuer=https://latchkey.example.com"],
];

async function printed(
  argv: readonly string[],
  { found }: { readonly found?: unknown } = {},
): Promise<string> {
  const texts: string[] = [];
  await printConnectedConfig(
    {
      ...parseConfig(trustConfigOptions, { flags: flagTexts(argv), env: {} }),
      namespace: "latchkey-system",
    },
    {
      client: {
        async get({ plural }, { name }) {
          if (plural === "services") return { spec: { clusterIP: "10.0.0.7" } };
          expect(name).toBe("latchkey-direct-authorizer-certificates");
          if (found === undefined) throw new KubeError("x", { code: "NotFound", status: 404 });
          return found;
        },
      },
      print: (text) => texts.push(text),
    },
  );
  return texts.join("");
}

test("three files let kube-apiserver trust direct tokens and ask the authorizer about them", async () => {
  const text = await printed(usual, { found: secret });
  const [authentication, authorization, kubeconfig] = loadAll(text);
  const audiences = ["management.service/direct/east", "management.service/direct"];
  expect(authentication).toMatchObject({
    kind: "AuthenticationConfiguration",
    jwt: [{ issuer: { audiences } }],
  });
  expect(authorization).toMatchObject({
    apiVersion: "apiserver.config.k8s.io/v1",
    kind: "AuthorizationConfiguration",
  });
  expect(JSON.stringify(authorization)).toContain("management.service/token-id");
  expect(JSON.stringify(authentication)).not.toContain("create a token without a scope");
  expect(kubeconfig).toMatchObject({
    clusters: [
      {
        cluster: {
          server: "https://10.0.0.7/access-review",
          "tls-server-name": "latchkey-direct-authorizer.latchkey-system.svc",
        },
      },
    ],
  });
  expect(text.match(/^# --.*$/gm)).toEqual([
    "# --authentication-config=/etc/kubernetes/latchkey/authentication.yaml",
    "# --authorization-config=/etc/kubernetes/latchkey/authorization.yaml",
  ]);
});

describe("one sentence refuses", () => {
  test.each<[string, Parameters<typeof printed>[1], string]>([
    ["an authorizer that never started", {}, "does not exist; start latchkey webhook --direct"],
    ["an invalid Secret", { found: { data: {} } }, "data key ca.crt is missing"],
  ])("%s", async (_what, cluster, problem) => {
    const failure = await printed(usual, cluster).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(UsageError);
    expect(failure).toMatchObject({ message: expect.stringContaining(problem) });
    expect(failure).toMatchObject({ message: expect.not.stringContaining("\n") });
  });
});
