import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, expect, inject, it } from "vitest";
import { annotations, apiVersion } from "../../src/api/names.ts";
import { listAt, recordAt, stringAt } from "../../src/api/parse.ts";
import { connectorDataRef } from "../../src/domain/access-key/connector-data.ts";
import { becomes } from "../support/becomes.ts";
import { eventually } from "../support/eventually.ts";
import { kubectl, tryKubectl } from "../support/kubectl.ts";
import { api, as, admin, unique } from "../support/policy-request.ts";

const keys = `/apis/${apiVersion}/ownedaccesskeys`;
const secrets = "/api/v1/namespaces/latchkey-system/secrets";
const canary = (): string => `canary-${randomBytes(12).toString("hex")}`;
const access = () => inject("controlPlane");

interface Claimed {
  readonly name: string;
  readonly path: string;
  readonly data: string;
}

function manifest(name: string, data: string | undefined, spec: object = {}): string {
  const identity = {
    email: "alice@example.com",
    ...(data === undefined ? {} : { connectorData: data }),
  };
  return JSON.stringify({
    apiVersion,
    kind: "OwnedAccessKey",
    metadata: { name },
    spec: { user: "alice", identity, ...spec },
  });
}

function apply(text: string, ...flags: readonly string[]) {
  return tryKubectl(access(), ["apply", "--filename=-", ...flags], { input: text });
}

async function claimed(...flags: readonly string[]): Promise<Claimed> {
  const [name, data] = [unique("own"), canary()];
  const { code, stderr } = await apply(manifest(name, data), ...flags);
  expect([code, stderr]).toEqual([0, expect.not.stringContaining(data)]);
  return { name, path: `${keys}/${name}`, data };
}

async function secretOf({ path }: Pick<Claimed, "path">): Promise<string | undefined> {
  const { metadata } = await api.get(path);
  return connectorDataRef({
    [annotations.connectorData]:
      stringAt(recordAt(metadata, "annotations"), annotations.connectorData) ?? "",
  })?.secret;
}

async function dataIn(secret: string | undefined): Promise<string> {
  const found = await api.get(`${secrets}/${secret ?? ""}`);
  return Buffer.from(stringAt(recordAt(found, "data"), "connectorData") ?? "", "base64").toString(
    "utf8",
  );
}

/** Names of all Secrets that contain this text. */
async function holding(data: string): Promise<readonly string[]> {
  const list = await api.get("/api/v1/secrets");
  const found = listAt(list, "items").filter(
    (item) =>
      JSON.stringify(item).includes(Buffer.from(data).toString("base64")) ||
      JSON.stringify(item).includes(data),
  );
  return found.map((item) => stringAt(recordAt(item, "metadata"), "name") ?? "");
}

/** Everything that an administrator can read of a key. */
async function everythingOf({ name, path: key }: Claimed): Promise<string> {
  const raw = (path: string) => kubectl(access(), ["get", "--raw", path]);
  const texts = await Promise.all([
    raw(key),
    raw(keys),
    raw(`${keys}?watch=true&timeoutSeconds=1`),
    kubectl(access(), ["get", "ownedaccesskeys", name, "--output=yaml", "--show-managed-fields"]),
    kubectl(access(), ["get", "ownedaccesskeys", name, "--output=wide"]),
    kubectl(access(), ["describe", "ownedaccesskeys", name]),
    kubectl(access(), ["get", "events", "--all-namespaces", "--output=yaml"]),
  ]);
  return texts.join("\n");
}

/** The output of the webhook and the API server. */
async function outputs(): Promise<string> {
  const { log, auditLog, url } = inject("webhook") ?? { log: "", auditLog: "", url: "" };
  return [
    readFileSync(log, "utf8"),
    readFileSync(auditLog, "utf8"),
    readFileSync(inject("controlPlane").auditLogPath ?? "", "utf8"),
    await (await fetch(`${url}/metrics`)).text(),
  ].join("\n");
}

describe.skipIf(inject("webhook") === undefined)("connector data", () => {
  it.each<[string, readonly string[]]>([
    ["server-side apply", ["--server-side"]],
    ["client-side apply, which repeats the object in an annotation", []],
  ])("is in one Secret and nowhere else after %s", async (_how, flags) => {
    const key = await claimed(...flags);
    const secret = await secretOf(key);
    expect(await dataIn(secret)).toBe(key.data);
    expect(await holding(key.data)).toEqual([secret]);
    expect(await outputs()).not.toContain(key.data);
    expect(await everythingOf(key)).not.toContain(key.data);
    expect(recordAt((await api.get(key.path)).spec, "identity")).toEqual({
      email: "alice@example.com",
    });
  });

  it("is owned by its key, and deleted with it", async () => {
    const key = await claimed("--server-side");
    const secret = await secretOf(key);
    const owner = async () =>
      listAt((await api.get(`${secrets}/${secret ?? ""}`)).metadata, "ownerReferences")[0];
    expect(await eventually(owner, { what: "the Secret to be tied" })).toMatchObject({
      kind: "OwnedAccessKey",
      name: key.name,
    });
    await api.delete(key.path);
    await becomes("the Secret to go with its key", () => api.find(`${secrets}/${secret ?? ""}`), {
      code: 404,
    });
  });

  it("is not changed when it is applied again, and other data creates another Secret", async () => {
    const key = await claimed("--server-side");
    const secret = await secretOf(key);
    await apply(manifest(key.name, key.data), "--server-side");
    expect(await secretOf(key)).toBe(secret);
    const other = canary();
    await apply(manifest(key.name, other), "--server-side");
    const next = await secretOf(key);
    expect([next === secret, await dataIn(next)]).toEqual([false, other]);
  });

  it("is kept by an update that omits it, and removed by an empty string", async () => {
    const key = await claimed("--server-side");
    const secret = await secretOf(key);
    await api.merge(key.path, { spec: { identity: { email: "a@example.com" } } });
    expect(await secretOf(key)).toBe(secret);
    await api.merge(key.path, { spec: { identity: { connectorData: "" } } });
    expect(await secretOf(key)).toBeUndefined();
  });

  it("cannot be referenced by a user, and its reference cannot be removed", async () => {
    const [key, other] = [await claimed("--server-side"), await claimed("--server-side")];
    const text = (await api.get(other.path)).metadata;
    const stolen = stringAt(recordAt(text, "annotations"), annotations.connectorData) ?? "";
    const before = await secretOf(key);
    for (const value of [stolen, null]) {
      await api.merge(key.path, {
        metadata: { annotations: { [annotations.connectorData]: value } },
      });
      expect(await secretOf(key)).toBe(before);
    }
    const made = await as(admin).create(keys, {
      apiVersion,
      kind: "OwnedAccessKey",
      metadata: { name: unique("thief"), annotations: { [annotations.connectorData]: stolen } },
      spec: { user: "alice" },
    });
    expect(recordAt(made.metadata, "annotations")[annotations.connectorData]).toBeUndefined();
  });

  it("leaves no Secret behind if the object is not stored", async () => {
    const data = canary();
    expect(
      (await apply(manifest(unique("dry"), data), "--server-side", "--dry-run=server")).code,
    ).toBe(0);
    expect(await holding(data)).toEqual([]);
    const holder = await claimed("--server-side");
    const plain = stringAt((await api.get(holder.path)).spec, "key");
    const refused = await apply(
      manifest(unique("duplicate"), data, { key: plain }),
      "--server-side",
    );
    expect([refused.code, refused.stderr]).toEqual([1, expect.not.stringContaining(data)]);
    expect(await holding(data)).toEqual([]);
  });

  it("is also removed if it is only in an annotation", async () => {
    const key = await claimed("--server-side");
    const data = canary();
    const applied = {
      "kubectl.kubernetes.io/last-applied-configuration": manifest(key.name, data),
    };
    await api.merge(key.path, { metadata: { annotations: applied } });
    expect(await everythingOf(key)).not.toContain(data);
  });

  it("gets a new Secret if its Secret was deleted and it is applied again", async () => {
    const key = await claimed("--server-side");
    const secret = await secretOf(key);
    await api.delete(`${secrets}/${secret ?? ""}`);
    await eventually(async () => (await secretOf(key)) === undefined, {
      what: "the claim to be taken off",
    });
    await apply(manifest(key.name, key.data), "--server-side");
    expect(await dataIn(await secretOf(key))).toBe(key.data);
  });
});
