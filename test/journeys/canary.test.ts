import { createHash, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { annotations, apiVersion } from "../../src/api/names.ts";
import { isRecord, listAt, parseConditions, recordAt, stringAt } from "../../src/api/parse.ts";
import {
  type Answer,
  type Ask,
  get,
  mergePatch,
  patchTypes,
  post,
} from "../support/cluster-connection.ts";
import type { LatchkeyProcess } from "../support/latchkey-process.ts";
import { allowRequesters } from "../support/scenario-play.ts";
import { requesters } from "../support/actions.ts";
import { postKey, postNamespace, postToken } from "../support/latchkey-objects.ts";
import { eventually } from "../support/eventually.ts";
import { repository } from "../support/install.ts";
import { kubectl, tryKubectl } from "../support/kubectl.ts";
import { makeRefusingTargets } from "../product/refusing-targets.ts";
import { valuesOf } from "../support/controller-vitals.ts";
import {
  hasDedicatedClusters,
  startDedicatedCluster,
  type DedicatedCluster,
} from "../support/dedicated-cluster.ts";

const api = `/apis/${apiVersion}`;
const alice = { user: "alice", groups: [requesters] };
const shared = `${api}/namespaces/home/sharedsecrets`;
const appliedPath = `${api}/ownedaccesskeys/wrong?fieldManager=test`;
const keysPath = "/api/v1/namespaces/latchkey-system/secrets/latchkey-signing-keys";
const base64 = (text: string) => Buffer.from(text).toString("base64");

let cluster: DedicatedCluster;
let controller: LatchkeyProcess;
let stopWebhook = () => {};

/** The secret values by their description; none may appear in any output. */
const canaries = new Map<string, string>();
/** Responses to users and administrators. */
const answers: string[] = [];

function canary(what: string): string {
  const text = `canary.${what}.${randomBytes(12).toString("hex")}`;
  canaries.set(what, text);
  return text;
}

/**
 * The canaries in a text: plain, as base64, as an unkeyed hash. The text itself is not returned.
 */
function shownIn(text: string): readonly string[] {
  const disguises = {
    "as it is": (value: string) => value,
    "as base64": base64,
    "as SHA-256": (value: string) => createHash("sha256").update(value).digest("hex"),
    "as SHA-256 of base64": (value: string) =>
      createHash("sha256").update(base64(value)).digest("hex"),
  };
  return Object.entries(disguises).flatMap(([how, disguise]) =>
    [...canaries]
      .filter(([, value]) => text.includes(disguise(value)))
      .map(([what]) => `${what} ${how}`),
  );
}

async function send(request: Ask & { readonly by?: object }): Promise<Answer> {
  const { by = {}, ...rest } = request;
  const answer = await cluster.ask(by, rest);
  if (answer.code >= 300) answers.push(JSON.stringify(answer));
  return answer;
}

function sharedSecret(name: string, data: object, annotated: object = {}): Promise<Answer> {
  const metadata = { name, annotations: { [annotations.syncToProjects]: "*", ...annotated } };
  return send(post(shared, { apiVersion, kind: "SharedSecret", metadata, spec: { data } }));
}

function statusOf(path: string): Promise<Readonly<Record<string, unknown>>> {
  return cluster.arrange(get(path)).then((object) => recordAt(object, "status"));
}

async function becomes(path: string, reason: string): Promise<void> {
  const look = async () =>
    parseConditions(await statusOf(path)).some((condition) => condition.reason === reason);
  await eventually(look, { what: `${path} to say ${reason}` });
}

async function objects(): Promise<void> {
  await sharedSecret("refused", { password: base64(canary("password")), "!": base64("") });
  const lines = `${canary("first line")}\n${canary("second line")} "quoted"\n`;
  await sharedSecret("all", { password: base64(canary("data")), "key.pem": base64(lines) });
  await sharedSecret(
    "tls",
    { "tls.key": base64(canary("tls")) },
    { [annotations.syncSecretType]: "kubernetes.io/tls" },
  );
  await sharedSecret(
    "docker",
    { ".dockerconfigjson": base64(canary("docker")) },
    { [annotations.syncSecretType]: "kubernetes.io/dockerconfigjson" },
  );
  await sharedSecret("taken", { own: base64(canary("own")) });
  await sharedSecret(
    "helm",
    { release: base64(canary("release")) },
    { [annotations.syncSecretType]: "helm.sh/release.v1" },
  );
  const oidcLogin = {
    idToken: canary("id token"),
    accessToken: canary("access token"),
    refreshToken: canary("refresh token"),
  };
  const key = { user: "alice", key: canary("key"), oidcLogin, ttl: 5 };
  for (const [name, spec] of [
    ["one", key],
    ["duplicate", { ...key, ttl: 600 }],
    ["triplet", { ...key, ttl: 600 }],
  ] as const) {
    await send(postKey(name, spec));
  }
  await send({ ...postToken("one", { ttl: 3600 }), by: alice });
}

/** Requests that the API server rejects with a response that users see. */
async function mistakes(): Promise<void> {
  const wrong = (kind: string, spec: object) =>
    JSON.stringify({ apiVersion, kind, metadata: { name: "wrong" }, spec });
  const apply = ["apply", "--server-side"];
  const inputs: { input: string; ways: readonly string[][] }[] = [
    {
      input: wrong("SharedSecret", { data: { password: `!${canary("not base64")}` } }),
      ways: [["create"], apply],
    },
    {
      input: wrong("SharedSecret", { data: { "bad key": base64(canary("bad data key")) } }),
      ways: [["create"], apply],
    },
    {
      input: wrong("OwnedAccessKey", { user: "alice", key: `${canary("spaced key")} !` }),
      ways: [["create"], apply],
    },
    {
      input: wrong("OwnedAccessKey", { user: "alice", team: "devs", key: canary("key of two") }),
      ways: [["create"], apply],
    },
    {
      input: wrong("OwnedAccessKey", { user: "alice", key: [canary("key in a list")] }),
      ways: [["create"]],
    },
  ];
  for (const { input, ways } of inputs) {
    for (const how of ways) {
      const { code, stdout, stderr } = await tryKubectl(
        cluster.controlPlane,
        [...how, "--namespace=home", "--filename=-"],
        { input },
      );
      expect(code).not.toBe(0);
      answers.push(stdout, stderr);
    }
  }
  // kube-apiserver repeats this one itself; the sample of an audit policy leaves its answer out.
  const repeated = canary("key in an applied list");
  const applied = await cluster.ask(
    {},
    {
      method: "PATCH",
      path: appliedPath,
      type: patchTypes.apply,
      body: { apiVersion, kind: "OwnedAccessKey", spec: { user: "alice", key: [repeated] } },
    },
  );
  expect([applied.code, applied.message.includes(repeated)]).toEqual([500, true]);
  const forged = { status: { token: canary("forged token") } };
  await send(mergePatch(`${api}/directclusterendpointtokens/one/status`, forged));
}

/** Every object of the cluster as JSON, without the fields for secrets. */
async function everythingElse(): Promise<string> {
  const names = (
    await kubectl(cluster.controlPlane, ["api-resources", "--verbs=list", "--output=name"])
  )
    .trim()
    .split("\n");
  const wanted = names.filter((name) => name !== "componentstatuses").join(",");
  const list = await kubectl(cluster.controlPlane, [
    "get",
    wanted,
    "--all-namespaces",
    "--show-managed-fields",
    "--output=json",
  ]);
  return JSON.stringify(listAt(JSON.parse(list), "items").map(withoutSecrets));
}

function withoutSecrets(object: unknown): unknown {
  if (!isRecord(object)) return object;
  if (object.kind === "Secret") return { ...object, data: undefined };
  if (!stringAt(object, "apiVersion")?.startsWith("management.service/")) return object;
  const { data: _data, key: _key, oidcLogin: _login, ...spec } = recordAt(object, "spec");
  const { token: _token, ...status } = recordAt(object, "status");
  return { ...object, spec, status };
}

/** The secrets that Latchkey generates or uses, once they exist. */
async function ownSecrets(): Promise<void> {
  const token = stringAt(await statusOf(`${api}/directclusterendpointtokens/one`), "token") ?? "";
  const [, payload = "", signature = ""] = token.split(".");
  const keys: unknown = JSON.parse(
    Buffer.from(
      stringAt(recordAt(await cluster.arrange(get(keysPath)), "data"), "keys.json") ?? "",
      "base64",
    ).toString(),
  );
  const privateParts = listAt(keys, "keys").map(
    (key) => stringAt(recordAt(key, "privateJwk"), "d") ?? "",
  );
  const login = readFileSync(
    join(dirname(controller.log), "latchkey-controller.token"),
    "utf8",
  ).trim();
  const own = {
    "minted token": token,
    "payload of the token": payload,
    "signature of the token": signature,
    "private key": privateParts[0] ?? "",
    "the controller's login": login,
  };
  for (const [what, value] of Object.entries(own)) {
    expect(value.length).toBeGreaterThan(40);
    canaries.set(what, value);
  }
}

beforeAll(async () => {
  if (!hasDedicatedClusters) return;
  cluster = await startDedicatedCluster({
    extraApiServerFlags: [`--audit-policy-file=${join(repository, "config/audit/policy.yaml")}`],
  });
  await allowRequesters(cluster);
  controller = await cluster.run({ env: { LATCHKEY_LOG_LEVEL: "debug" } });
  await cluster.arrange(postNamespace("home"));
  stopWebhook = await makeRefusingTargets(cluster);
  await cluster.arrange(
    post("/api/v1/namespaces/good/secrets", {
      metadata: { name: "taken" },
      data: { foreign: base64(canary("foreign")) },
    }),
  );
  await objects();
  await mistakes();
  await becomes(`${api}/directclusterendpointtokens/one`, "Minted");
  await ownSecrets();
  await becomes(`${api}/ownedaccesskeys/one`, "Expired");
  await Promise.any(
    ["duplicate", "triplet"].map((name) =>
      becomes(`${api}/ownedaccesskeys/${name}`, "DuplicateKey"),
    ),
  );
  await becomes(`${shared}/helm`, "InvalidSyncOption");
});

afterAll(async () => {
  await cluster?.stop();
  stopWebhook();
});

describe.skipIf(!hasDedicatedClusters)("no secret value appears", () => {
  it("while copies are rejected in every way", async () => {
    const failed = async () => recordAt(await statusOf(`${shared}/all`), "sync").failed === 4;
    await eventually(failed, { what: "four targets to have refused" });
    const { failures } = recordAt(await statusOf(`${shared}/all`), "sync");
    const expected = [
      { namespace: "by-dead", message: expect.stringContaining("failed calling webhook") },
      { namespace: "by-policy", message: expect.stringContaining("password=[secret]") },
      { namespace: "by-quota", message: expect.stringContaining("exceeded quota") },
      { namespace: "by-talkative", message: expect.stringContaining("[secret] is [secret]") },
    ];
    expect(failures).toMatchObject(expected);
    expect(await statusOf(`${shared}/tls`)).toMatchObject({ sync: { failed: 5 } });
    expect(await statusOf(`${shared}/docker`)).toMatchObject({ sync: { failed: 5 } });
  });

  const outputs: { output: string; read: () => Promise<string> }[] = [
    {
      output: "the controller's log at level debug",
      read: async () => readFileSync(controller.log, "utf8"),
    },
    { output: "its metrics", read: async () => (await fetch(`${controller.url}/metrics`)).text() },
    {
      output: "its published keys",
      read: async () => (await fetch(`${controller.url}/openid/v1/jwks`)).text(),
    },
    {
      output: "the audit log of Latchkey's kinds, with the sample of a policy",
      read: async () => {
        const lines = readFileSync(cluster.audit, "utf8").split("\n");
        const own = lines.filter((line) => line.includes('"apiGroup":"management.service"'));
        expect(own.some((line) => line.includes(appliedPath))).toBe(true);
        return own.join("\n");
      },
    },
    { output: "responses to rejected requests", read: async () => answers.join("\n") },
    { output: "any object outside of the fields for secrets", read: everythingElse },
  ];

  it.each(outputs)("in $output", async ({ read }) => {
    const text = await read();
    expect(text.length).toBeGreaterThan(100);
    expect(shownIn(text)).toEqual([]);
  });

  it("in any of these outputs after a crash and with invalid signing keys", async () => {
    controller.kill("SIGKILL");
    await controller.exited();
    controller.start();
    await controller.waitReady();
    const refused = async () =>
      Math.max(
        ...valuesOf(
          await (await fetch(`${controller.url}/metrics`)).text(),
          "controller_runtime_reconcile_errors_total",
        ),
      ) > 15;
    await eventually(refused, { what: "the targets to refuse again" });
    const spoil = {
      data: { "keys.json": base64(`{"keys": [{"privateJwk": "${canary("spoiled key")}`) },
    };
    await cluster.arrange(mergePatch(keysPath, spoil));
    await eventually(() => readFileSync(controller.log, "utf8").includes("latchkey-signing-keys"), {
      what: "a word about the keys in the log",
    });
    for (const { read } of outputs) expect(shownIn(await read())).toEqual([]);
  });
});
