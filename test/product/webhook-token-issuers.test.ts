import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { dump, load } from "js-yaml";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { annotations } from "../../src/api/names.ts";
import { isRecord, listAt, recordAt } from "../../src/api/parse.ts";
import { blocksOf } from "../support/doc-blocks.ts";
import { eventually } from "../support/eventually.ts";
import { gatewayKubeconfig } from "../support/gateway-client.ts";
import { whoIs } from "../support/key-request.ts";
import { make, type Own, viewOf, type WantedOwn } from "../support/keys-and-tokens.ts";
import { tryKubectl } from "../support/kubectl.ts";
import { cliForm, runCli } from "../support/run-cli.ts";
import {
  admin,
  api,
  as,
  ask,
  bind,
  patchTypes,
  request,
  unique,
} from "../support/policy-request.ts";
import {
  type IssuerKey,
  newIssuerKey,
  type SignedClaims,
  signedToken,
  startTokenIssuer,
  timesAt,
  type TokenIssuer,
} from "../support/token-issuer.ts";
import { managementPath } from "../support/gateway-address.ts";
import {
  askAt,
  askDirectly,
  askThroughGateway,
  type KeyedRequest,
  selfReview,
} from "../support/ways-in.ts";

const [signing, other, large] = [
  newIssuerKey("one"),
  newIssuerKey("two", "ES384"),
  newIssuerKey("rsa", "RS256"),
];
const configMaps = "/api/v1/namespaces/latchkey-system/configmaps";
let issuer: TokenIssuer;
let audience: string;
let cluster: { readonly url: string; readonly jwks: string };

const configured = (entries: readonly object[]): object => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "latchkey-issuers" },
  data: {
    "issuers.yaml": JSON.stringify({
      apiVersion: "apiserver.config.k8s.io/v1",
      kind: "AuthenticationConfiguration",
      jwt: entries,
    }),
  },
});

/** The issuer of the tests, and that of the service accounts of the cluster. */
const entries = () => [
  { issuer: { url: issuer.url, audiences: [audience], certificateAuthority: issuer.ca } },
  { issuer: { url: cluster.url, audiences: [audience], jwks: cluster.jwks } },
];

async function configure(wanted: readonly object[]): Promise<void> {
  const path = `${configMaps}/latchkey-issuers`;
  const exists = (await ask(admin, { method: "GET", path })).code === 200;
  if (exists)
    await ask(admin, {
      method: "PATCH",
      path,
      type: patchTypes.merge,
      body: configured(wanted),
    });
  else await api.create(configMaps, configured(wanted));
}

/** A key that trusts tokens with these claims. */
function trusting(claims: string, wanted: WantedOwn = {}, url = issuer.url): Promise<Own> {
  const given = { [annotations.issuer]: url, [annotations.claims]: claims };
  const { spec = {}, ...others } = wanted;
  return make("OwnedAccessKey", {
    name: unique("ci"),
    ...others,
    spec: { user: unique("job"), ...spec },
    annotations: { ...given, ...wanted.annotations },
  });
}

const claimsFor = ({ name }: Own): SignedClaims => ({
  iss: issuer.url,
  aud: `${audience}/${name}`,
  sub: "main",
  ...timesAt(Date.now()),
});

const tokenFor = (
  key: Own,
  claims: SignedClaims = {},
  by: IssuerKey = signing,
  header: object = {},
): Promise<string> => signedToken(by, { ...claimsFor(key), ...claims }, header);

const ways = [
  ["kube-apiserver", askDirectly],
  ["the gateway", askThroughGateway],
  [
    "the gateway over HTTP/2",
    (key: { readonly key: string }, asked: KeyedRequest) =>
      askAt(key, asked, { prefix: managementPath, http2: true }),
  ],
] as const;

/** The answer at every way in to a question about its own user. */
async function codesOf(token: string): Promise<readonly number[]> {
  return Promise.all(ways.map(async ([, askAt]) => (await askAt({ key: token }, selfReview)).code));
}

async function becomesAccepted(token: string): Promise<void> {
  const isAccepted = async () => (await codesOf(token)).every((code) => code === 201);
  await eventually(isAccepted, { what: "the token to be accepted at each way", every: 250 });
}

describe.skipIf(inject("webhook") === undefined)("a token of an issuer", () => {
  let key: Own;

  beforeAll(async () => {
    [issuer, audience] = [await startTokenIssuer(signing, large), unique("audience")];
    const discovery = await ask(admin, {
      method: "GET",
      path: "/.well-known/openid-configuration",
    });
    const jwks = await ask(admin, { method: "GET", path: "/openid/v1/jwks" });
    const { keys } = Object(jwks);
    cluster = { url: String(Object(discovery).issuer), jwks: JSON.stringify({ keys }) };
    await configure(entries());
    key = await trusting("sub=main\n/nested/names=a\nflag=true");
  });
  afterAll(async () => {
    await ask(admin, { method: "DELETE", path: `${configMaps}/latchkey-issuers` });
    await issuer.stop();
  });

  const nested = { nested: { names: ["a", "b"] }, flag: true };

  it("stands for the key that its audience names, at kube-apiserver and at the gateway", async () => {
    const token = await tokenFor(key, { ...nested, jti: "canary-job" });
    await becomesAccepted(token);
    const { extra } = (await whoIs(token)) ?? {};
    expect(extra).toMatchObject({
      "management.service/key-id": [key.uid],
      "management.service/credential-ends": [expect.stringMatching(/Z$/)],
    });
    expect(JSON.stringify(extra)).not.toContain("canary");
    await eventually(async () => (await viewOf(key)).conditions["Active"]?.status === "True", {
      what: "the key to be Active",
    });
  });

  const now = timesAt(Date.now()).iat;
  it.for<[what: string, token: () => Promise<string>, code: number]>([
    ["of RSA", () => tokenFor(key, nested, large), 201],
    [
      "with a second audience",
      () => tokenFor(key, { ...nested, aud: ["x", `${audience}/${key.name}`] }),
      201,
    ],
    ["with other characters", () => tokenFor(key, { ...nested, cläims: "\u{1F511}" }), 201],
    ["with another claim", () => tokenFor(key, { ...nested, sub: "feature" }), 401],
    ["without a nested claim", () => tokenFor(key, { flag: true }), 401],
    [
      "with a claim of that dotted name",
      () => tokenFor(key, { flag: true, "/nested/names": "a", "nested.names": "a" }),
      401,
    ],
    ["with a text in place of true", () => tokenFor(key, { ...nested, flag: "TRUE" }), 401],
    ["with a number in place of true", () => tokenFor(key, { ...nested, flag: 1 }), 401],
    ["for the bare audience", () => tokenFor(key, { ...nested, aud: audience }), 401],
    [
      "for two keys",
      () => tokenFor(key, { ...nested, aud: [`${audience}/${key.name}`, `${audience}/other`] }),
      401,
    ],
    ["for no key", () => tokenFor(key, { ...nested, aud: `${audience}/nobody` }), 401],
    [
      "for another installation",
      () => tokenFor(key, { ...nested, aud: `elsewhere/${key.name}` }),
      401,
    ],
    ["that has expired", () => tokenFor(key, { ...nested, iat: now - 60, exp: now - 1 }), 401],
    [
      "that begins later",
      () => tokenFor(key, { ...nested, nbf: now + 3_000, exp: now + 4_000 }),
      401,
    ],
    ["without an end", () => tokenFor(key, { ...nested, exp: undefined }), 401],
    ["for a week", () => tokenFor(key, { ...nested, exp: now + 7 * 86_400 }), 401],
    [
      "of no algorithm",
      async () =>
        `${(await tokenFor(key, nested)).split(".").with(0, Buffer.from('{"alg":"none","kid":"one"}').toString("base64url")).slice(0, 2).join(".")}.`,
      401,
    ],
    ["of an unknown key", () => tokenFor(key, nested, other), 401],
    ["of another key with the kid", () => tokenFor(key, nested, newIssuerKey("one")), 401],
    ["with a path as its kid", () => tokenFor(key, nested, signing, { kid: "../../keys" }), 401],
    [
      "with its own key in its head",
      () => tokenFor(key, nested, other, { kid: "one", jwk: other.publicJwk }),
      401,
    ],
    ["that is altered", async () => `${(await tokenFor(key, nested)).slice(0, -8)}AAAAAAAA`, 401],
    ["with text behind it", async () => `${await tokenFor(key, nested)}.AAAA`, 401],
    [
      "with a claim twice",
      () =>
        signedToken(
          signing,
          JSON.stringify({ ...claimsFor(key), ...nested, sub: "feature" }).replace(
            /}$/,
            ',"sub":"main"}',
          ),
        ),
      401,
    ],
    [
      "that is deep",
      () => tokenFor(key, { ...nested, deep: JSON.parse("[".repeat(40) + "]".repeat(40)) }),
      401,
    ],
    ["that is huge", () => tokenFor(key, { ...nested, huge: "a".repeat(13_000) }), 401],
  ])("%s is answered alike at each way", async ([, token, code]) => {
    const text = await token();
    if (code === 201) await becomesAccepted(text);
    expect(await codesOf(text)).toEqual([code, code, code]);
  });

  it("of a pod is accepted for the audience that names the key, and not by default", async () => {
    const account = unique("pod");
    const accounts = "/api/v1/namespaces/default/serviceaccounts";
    await api.create(accounts, {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name: account },
    });
    const ofPod = await trusting(`sub=system:serviceaccount:default:${account}`, {}, cluster.url);
    const asked = async (audiences: readonly string[]) => {
      const spec = { audiences, expirationSeconds: 600 };
      const body = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec };
      const { status } = await api.create(`${accounts}/${account}/token`, body);
      return String(recordAt({ status }, "status")["token"]);
    };
    await becomesAccepted(await asked([`${audience}/${ofPod.name}`]));
    expect(await codesOf(await asked([]))).toEqual([201, 401, 401]);
    expect(await whoIs(await asked([]))).toMatchObject({
      username: `system:serviceaccount:default:${account}`,
    });
  });

  it("makes no key, and a direct token that ends with it", async () => {
    const job = await trusting("sub=main", {
      spec: { user: "admin-of-tests", groups: ["system-of-tests"] },
    });
    await as({ user: "root", groups: ["system:masters"] }).create(
      "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
      {
        apiVersion: "rbac.authorization.k8s.io/v1",
        kind: "ClusterRoleBinding",
        metadata: { name: unique("job") },
        roleRef: {
          apiGroup: "rbac.authorization.k8s.io",
          kind: "ClusterRole",
          name: "cluster-admin",
        },
        subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "admin-of-tests" }],
      },
    );
    const { iat } = timesAt(Date.now());
    const token = await tokenFor(job, { exp: iat + 120 });
    await becomesAccepted(token);
    const kinds = "/apis/management.service/v1";
    for (const [, askAt] of ways) {
      const create = (plural: string, kind: string, spec: object) => {
        const { path, body } = request.create(`${kinds}/${plural}`, {
          apiVersion: "management.service/v1",
          kind,
          metadata: { name: unique("made") },
          spec,
        });
        return askAt({ key: token }, { method: "POST", path, body: Object(body) });
      };
      await eventually(
        async () =>
          (
            await create("ownedaccesskeys", "OwnedAccessKey", { user: "admin-of-tests" })
          ).message.includes(
            "a request made with a token of an issuer may not create an access key",
          ),
        { what: "the creation of a key to be refused for the token" },
      );
      const name = unique("direct");
      const made = await askAt(
        { key: token },
        {
          method: "POST",
          path: `${kinds}/directclusterendpointtokens`,
          body: {
            apiVersion: "management.service/v1",
            kind: "DirectClusterEndpointToken",
            metadata: { name },
            spec: { ttl: 3_600 },
          },
        },
      );
      expect(made.code).toBe(201);
      const path = `${kinds}/directclusterendpointtokens/${name}`;
      const view = await eventually(
        async () => {
          const seen = await viewOf({ path });
          return seen.expiresAt === undefined ? undefined : seen;
        },
        { what: "the direct token to be minted" },
      );
      expect(Date.parse(view.expiresAt ?? "")).toBe((iat + 120) * 1000);
    }
  });

  it.for<[what: string, change: (own: Own) => Promise<unknown>]>([
    ["its key is disabled", ({ path }) => api.merge(path, { spec: { disabled: true } })],
    ["its key is deleted", ({ path }) => ask(admin, { method: "DELETE", path })],
    [
      "its key trusts other claims",
      ({ path }) =>
        api.merge(path, { metadata: { annotations: { [annotations.claims]: "sub=b" } } }),
    ],
  ])("is refused at the gateway once %s", async ([, change]) => {
    const own = await trusting("sub=main");
    const token = await tokenFor(own);
    await becomesAccepted(token);
    await change(own);
    await eventually(
      async () => (await askThroughGateway({ key: token }, selfReview)).code === 401,
      { what: "the token to be refused", every: 20 },
    );
  });

  it("is refused once its issuer is removed, and its key says so", async () => {
    const own = await trusting("sub=main");
    const token = await tokenFor(own);
    await becomesAccepted(token);
    await configure(entries().slice(1));
    await eventually(
      async () => (await askThroughGateway({ key: token }, selfReview)).code === 401,
      { what: "the token to be refused", every: 20 },
    );
    await eventually(
      async () => (await viewOf(own)).conditions["Ready"]?.reason === "UnknownIssuer",
      {
        what: "the key to say that its issuer is unknown",
      },
    );
    await configure(entries());
    await becomesAccepted(token);
  });

  it("is accepted while the text of the issuers is refused, and with keys that are new", async () => {
    const own = await trusting("sub=main");
    await configure([
      ...entries(),
      { issuer: { url: "https://a.example", audiences: [audience] }, userValidationRules: [] },
    ]);
    await becomesAccepted(await tokenFor(own));
    await configure(entries());
    issuer.keys = [other.publicJwk];
    const asked = issuer.asked.length;
    const isAccepted = async () =>
      (await codesOf(await tokenFor(own, {}, other))).every((code) => code === 201);
    await eventually(isAccepted, { what: "the new key to count", every: 2_000 });
    expect(issuer.asked.length - asked).toBeLessThan(20);
  });

  describe("of the page on CI without stored secrets", () => {
    const page = readFileSync(new URL("../../docs/ci-without-secrets.md", import.meta.url), "utf8");
    const manifests = blocksOf(page)
      .filter(({ language }) => language === "yaml")
      .map(({ text }) => load(text));
    const manifestOf = (kind: string) =>
      manifests.filter(isRecord).find((manifest) => manifest["kind"] === kind) ?? {};
    const directory = mkdtempSync(join(tmpdir(), "oidc-page-"));
    const github = "https://token.actions.githubusercontent.com";
    const jwks = JSON.stringify({ keys: [large.publicJwk] });
    let runner: Server;
    let asked: { readonly url: string; readonly authorization: string | undefined }[];

    beforeAll(async () => {
      const text = String(recordAt(manifestOf("ConfigMap"), "data")["issuers.yaml"]);
      const listed = listAt(load(text), "jwt").map((entry) => ({
        issuer: { ...recordAt(entry, "issuer"), jwks },
      }));
      await configure([...entries(), ...listed]);
      asked = [];
      runner = createServer((request, response) => {
        asked.push({ url: request.url ?? "", authorization: request.headers.authorization });
        const aud = new URL(request.url ?? "", "http://runner").searchParams.get("audience");
        const claims = { repository_id: "123456789", environment: "production" };
        void signedToken(large, {
          ...{ iss: github, aud, sub: "repo:acme/shop", ...claims },
          ...timesAt(Date.now()),
        }).then((value) => response.end(JSON.stringify({ value })));
      });
      await new Promise<void>((resolve) => runner.listen(0, "127.0.0.1", resolve));
    });
    afterAll(async () => {
      runner.close();
      rmSync(directory, { recursive: true });
      await configure(entries());
    });

    it("lets a job of the key in, with its kubeconfig, and says why another is refused", async () => {
      const manifest = manifestOf("OwnedAccessKey");
      const { code } = await as(admin).create(
        "/apis/management.service/v1/ownedaccesskeys",
        manifest,
      );
      expect(code).toBe(201);
      const config = manifestOf("Config");
      const gateway = inject("gateway");
      const certificate = Buffer.from(gateway?.ca ?? "").toString("base64");
      const server = `${gateway?.urls[0] ?? ""}/kubernetes/management`;
      const path = join(directory, "kubeconfig");
      const clusters = [
        { name: "shop", cluster: { server, "certificate-authority-data": certificate } },
      ];
      writeFileSync(path, dump({ ...config, clusters }));
      const address = runner.address();
      const port = typeof address === "object" && address !== null ? address.port : 0;
      const env = {
        PATH: `${cliForm().bin}:${process.env["PATH"] ?? ""}`,
        ACTIONS_ID_TOKEN_REQUEST_URL: `http://127.0.0.1:${port}/token?api-version=2.0`,
        ACTIONS_ID_TOKEN_REQUEST_TOKEN: "canary-of-the-runner",
      };
      const { kubectl } = inject("controlPlane");
      const access = { kubectl, directory, kubeconfigs: { job: path } };
      const run = () => tryKubectl(access, ["auth", "whoami"], { user: "job", env });
      const answer = await eventually(
        async () => {
          const ran = await run();
          return ran.code === 0 ? ran : undefined;
        },
        { what: "the job to be let in" },
      );
      expect(answer.stdout).toContain("shop-ci");
      expect(JSON.stringify(answer)).not.toContain("canary");
      expect(asked[0]).toEqual({
        url: `/token?api-version=2.0&audience=${encodeURIComponent("https://latchkey.example.com/deploy-shop")}`,
        authorization: "Bearer canary-of-the-runner",
      });
      const wrong = join(directory, "token");
      const claims = { repository_id: "123456789", environment: "staging" };
      writeFileSync(
        wrong,
        await signedToken(large, {
          ...{ iss: github, aud: "https://latchkey.example.com/deploy-shop", ...claims },
          ...timesAt(Date.now()),
        }),
      );
      const why = await runCli(["why", "oak/deploy-shop", `--with-token-file=${wrong}`]);
      expect(why.stdout + why.stderr).toContain(
        'laim "environment" is "staging", and the rule says "production"',
      );
    });
  });

  it("keeps a watch open at the gateway, which ends once its key trusts other claims", async () => {
    const user = unique("watcher");
    await bind({ kind: "User", name: user }, "view");
    const own = await trusting("sub=main", { spec: { user } });
    const token = await tokenFor(own, {}, other);
    await becomesAccepted(token);
    const { kubectl, directory } = inject("controlPlane");
    const access = { kubectl, directory, kubeconfigs: { key: gatewayKubeconfig(token) } };
    const watching = tryKubectl(access, ["get", "configmaps", "--watch", "--request-timeout=0"], {
      user: "key",
    });
    let isOpen = true;
    void watching.then(() => (isOpen = false));
    await pause(1_000);
    expect(isOpen).toBe(true);
    await api.merge(own.path, { metadata: { annotations: { [annotations.claims]: "sub=b" } } });
    await eventually(() => !isOpen, { what: "the watch to end", every: 20 });
  });
});
