import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { load } from "js-yaml";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { listAt, recordAt } from "../../../src/api/parse.ts";
import { printAuthenticationConfig } from "../../../src/client/admin/authentication-config.ts";
import { encodeBody } from "../../../src/kube/client/request-body.ts";
import { KubeError } from "../../../src/kube/client/kube-error.ts";
import { UsageError } from "../../../src/runtime/config-values.ts";
import { parseConfig } from "../../../src/runtime/options.ts";
import { trustConfigOptions } from "../../../src/client/admin/trust-config-options.ts";
import {
  newServerCertificates,
  serverCertificatesSecret,
} from "../../../src/tokens/server-certificates.ts";
import { flagTexts } from "../../runtime/flag-texts.ts";

const directory = mkdtempSync(join(tmpdir(), "trust-"));
afterAll(() => rmSync(directory, { recursive: true }));

let secret: unknown;
let ca: string;
beforeAll(async () => {
  const made = await newServerCertificates({
    dnsNames: ["latchkey.latchkey-system.svc"],
    clientName: "latchkey:kube-apiserver",
    now: Date.now(),
  });
  ca = made.ca.certificate;
  const place = { namespace: "latchkey-system", name: "latchkey-issuer-certificates" };
  secret = JSON.parse(encodeBody(serverCertificatesSecret(made, place)));
});

const discovery = "--discovery-url=https://latchkey.example.com/.well-known/openid-configuration";
const usual = ["--authentication=true", "--cluster-name=east", discovery];

interface Cluster {
  /** The Secret; undefined if it does not exist. */
  readonly found?: unknown;
  readonly asked?: string[];
}

async function printed(
  argv: readonly string[],
  { found, asked = [] }: Cluster = { found: secret },
): Promise<string> {
  const texts: string[] = [];
  await printAuthenticationConfig(
    {
      ...parseConfig(trustConfigOptions, { flags: flagTexts(argv), env: {} }),
      namespace: "latchkey-system",
    },
    {
      client: {
        async get({ plural }, { namespace, name }) {
          asked.push(`${plural} ${namespace ?? ""}/${name}`);
          if (found !== undefined) return found;
          throw new KubeError("x", { code: "NotFound", status: 404 });
        },
      },
      print: (text) => texts.push(text),
    },
  );
  return texts.join("");
}

function issuersOf(text: string): readonly unknown[] {
  return listAt(load(text), "jwt").map((entry) => recordAt(entry, "issuer"));
}

function written(name: string, content: string): string {
  const path = join(directory, name);
  writeFileSync(path, content);
  return path;
}

describe("the printed file", () => {
  test("is one YAML document with comments, and a flag", async () => {
    const text = await printed(usual);
    expect(load(text)).toMatchObject({
      apiVersion: "apiserver.config.k8s.io/v1",
      kind: "AuthenticationConfiguration",
      jwt: [
        {
          issuer: {
            url: "https://latchkey.latchkey-system.svc",
            discoveryURL: "https://latchkey.example.com/.well-known/openid-configuration",
            audiences: ["management.service/direct/east", "management.service/direct"],
            audienceMatchPolicy: "MatchAny",
          },
        },
      ],
    });
    expect(text).toContain("# /etc/kubernetes/latchkey/authentication.yaml\n");
    expect(text.match(/^# --.*$/gm)).toEqual([
      "# --authentication-config=/etc/kubernetes/latchkey/authentication.yaml",
    ]);
  });

  test("has the CA of the Secret, and no private key", async () => {
    const asked: string[] = [];
    const text = await printed(usual, { found: secret, asked });
    expect(issuersOf(text)).toMatchObject([{ certificateAuthority: ca }]);
    expect(text).not.toContain("PRIVATE");
    expect(asked).toEqual(["secrets latchkey-system/latchkey-issuer-certificates"]);
  });

  test("has the CA of a file without asking the cluster", async () => {
    const asked: string[] = [];
    const path = written("ca.pem", `# ours\n${ca}`);
    const text = await printed([...usual, `--issuer-certificate-authority=${path}`], { asked });
    expect(issuersOf(text)).toMatchObject([{ certificateAuthority: ca }]);
    expect(asked).toEqual([]);
  });

  test("has no CA for the CAs of the system", async () => {
    const text = await printed([...usual, "--issuer-certificate-authority=system"], {});
    expect(issuersOf(text)[0]).not.toHaveProperty("certificateAuthority");
  });

  test("has the issuer, the audience, the lifetime and the prefixes that are set", async () => {
    const text = await printed([
      ...usual,
      "--issuer=https://issuer.example.com",
      "--audience=ours",
      "--maximum-token-ttl=7d",
      "--username-prefix=mc:",
      "--groups-prefix=team:",
    ]);
    expect(load(text)).toMatchObject({
      jwt: [
        {
          issuer: { url: "https://issuer.example.com", audiences: ["ours/east", "ours"] },
          claimMappings: { username: { prefix: "mc:" }, groups: { prefix: "team:" } },
        },
      ],
    });
    expect(text).toContain(`claims.exp - claims.nbf <= ${7 * 86_400 + 300}\n`);
  });

  test("has the audience of a virtual cluster, and it alone if only that is accepted", async () => {
    const text = await printed([...usual, "--cluster-name=web/dev", "--own-audience-only=true"]);
    expect(issuersOf(text)).toMatchObject([{ audiences: ["management.service/direct/web/dev"] }]);
    expect(text).not.toContain("audienceMatchPolicy");
  });

  test("is written for its owner alone, and then only the flag is printed", async () => {
    const output = join(directory, "made");
    const text = await printed([...usual, `--output=${output}`]);
    expect(text).not.toContain("apiVersion");
    expect(text).toContain("--authentication-config=");
    expect(readdirSync(output)).toEqual(["authentication.yaml"]);
    const path = join(output, "authentication.yaml");
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(load(readFileSync(path, "utf8"))).toMatchObject({ jwt: [{}] });
  });
});

describe("one sentence refuses", () => {
  test.each<[string, readonly string[], string]>([
    [
      "the default issuer without a discovery URL",
      usual.slice(0, 2),
      '--issuer: "https://latchkey.latchkey-system.svc" has a host that another cluster cannot resolve; set --discovery-url',
    ],
    [
      "a discovery URL of a Service",
      [...usual, "--discovery-url=https://a.b.svc/x"],
      '--discovery-url: "https://a.b.svc/x" has a host',
    ],
    [
      "a missing CA file",
      [...usual, `--issuer-certificate-authority=${join(directory, "missing")}`],
      "cannot be read: ENOENT",
    ],
    [
      "a CA file without certificates",
      [...usual, `--issuer-certificate-authority=${written("empty.pem", "x")}`],
      "must contain PEM certificates, and only valid ones",
    ],
  ])("%s", async (_what, argv, problem) => {
    const failure = await printed(argv).then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(failure).toBeInstanceOf(UsageError);
    expect(failure).toMatchObject({ message: expect.stringContaining(problem) });
    expect(failure).toMatchObject({ message: expect.not.stringContaining("\n") });
  });

  test.each<[string, Cluster, string]>([
    [
      "a missing Secret",
      {},
      'Secret "latchkey-system/latchkey-issuer-certificates" does not exist; set --issuer-certificate-authority',
    ],
    [
      "a Secret without a CA",
      { found: { data: {} } },
      'Secret "latchkey-system/latchkey-issuer-certificates" has no valid certificate in ca.crt',
    ],
  ])("%s", async (_what, cluster, problem) => {
    await expect(printed(usual, cluster)).rejects.toThrow(problem);
  });
});
