import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  foreignCredentials,
  loadCredentials,
  podCredentials,
} from "../../../src/kube/credentials/load-credentials.ts";
import { TestClock } from "../../support/test-clock.ts";

const directory = mkdtempSync(join(tmpdir(), "latchkey-load-"));
afterAll(() => rmSync(directory, { recursive: true }));

const kubeconfig = join(directory, "kubeconfig");
writeFileSync(
  kubeconfig,
  JSON.stringify({
    "current-context": "a",
    clusters: [{ name: "a", cluster: { server: "https://a.example.com" } }],
    contexts: [{ name: "a", context: { cluster: "a", user: "a" } }],
    users: [{ name: "a", user: { token: "one" } }],
  }),
);
const pod = { KUBERNETES_SERVICE_HOST: "10.0.0.1", KUBERNETES_SERVICE_PORT: "443" };

test("a kubeconfig takes precedence over the pod", async () => {
  const { server } = await loadCredentials({ kubeconfig, env: pod }, new TestClock());
  expect(server).toBe("https://a.example.com");
});

test("a problem names the file as it is called", async () => {
  const odd = join(directory, "$&-config");
  writeFileSync(odd, "current-context: a");
  await expect(loadCredentials({ kubeconfig: odd, env: {} }, new TestClock())).rejects.toThrow(
    `kubeconfig "${odd}" has no current context with a cluster`,
  );
});

test("credentials require a kubeconfig or a pod", async () => {
  await expect(
    loadCredentials({ kubeconfig: undefined, env: {} }, new TestClock()),
  ).rejects.toThrow(
    "no kubeconfig is set and this is not a pod (KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set); set --kubeconfig",
  );
});

describe("a kubeconfig of another cluster", () => {
  const own = join(directory, "own-token");
  writeFileSync(own, "own");
  /** Writes a kubeconfig with these fields of its cluster and its user, and reads it. */
  const read = (cluster: object, user: object, env: Readonly<Record<string, string>> = {}) => {
    const path = join(directory, "foreign");
    const content = {
      "current-context": "a",
      clusters: [{ name: "a", cluster: { server: "https://a.example.com", ...cluster } }],
      contexts: [{ name: "a", context: { cluster: "a", user: "a" } }],
      users: [{ name: "a", user }],
    };
    writeFileSync(path, JSON.stringify(content));
    return foreignCredentials({ kubeconfig: path, env }, new TestClock());
  };

  test("has its credential and certificates in it", async () => {
    const data = Buffer.from("PEM").toString("base64");
    const { authorization } = await read({ "certificate-authority-data": data }, { token: "one" });
    expect(await authorization()).toBe("Bearer one");
    const certificate = { "client-certificate-data": data, "client-key-data": data };
    expect((await read({}, certificate)).tls).toMatchObject({ cert: "PEM", key: "PEM" });
  });

  test("is reached through the proxy of the process, and names none", async () => {
    const env = { HTTPS_PROXY: "http://proxy:3128", NO_PROXY: "10.0.0.0/8" };
    expect((await read({}, { token: "one" }, env)).proxy).toMatchObject({ host: "proxy" });
    const near = { server: "https://10.0.0.1" };
    expect((await read(near, { token: "one" }, env)).proxy).toBeUndefined();
    const refused = read({ "proxy-url": "http://me:canary@proxy" }, { token: "one" }, env);
    await expect(refused).rejects.toThrow(
      /foreign" has a proxy-url, which is not used; remove it and set HTTPS_PROXY/,
    );
    await expect(refused).rejects.not.toThrow(/canary/);
  });

  test.each<[string, object, object]>([
    ["token file, which may be that of this process", {}, { tokenFile: own }],
    ["token file beside a token", {}, { token: "one", tokenFile: own }],
    ["program", {}, { exec: { command: "/bin/sh" } }],
    ["client certificate", {}, { "client-certificate": own, "client-key-data": "UEVN" }],
    ["client key", {}, { "client-certificate-data": "UEVN", "client-key": own }],
    ["certificate of the server", { "certificate-authority": own }, { token: "one" }],
  ])("must not name a %s", async (_what, cluster, user) => {
    await expect(read(cluster, user)).rejects.toThrow(
      /foreign" names a program or a file.*; use the kubeconfig that kubectl latchkey cluster/,
    );
  });
});

/** Packages that a process loads for credentials. */
function packagesLoadedFor(source: object): readonly string[] {
  const program = `
    import { registerHooks } from "node:module";
    const packages = new Set();
    registerHooks({
      resolve(specifier, context, next) {
        if (/^[@a-z]/.test(specifier) && !specifier.startsWith("node:")) packages.add(specifier);
        return next(specifier, context);
      },
    });
    const { loadCredentials } = await import("./src/kube/credentials/load-credentials.ts");
    const { systemClock } = await import("./src/runtime/clock.ts");
    await loadCredentials(${JSON.stringify(source)}, systemClock).catch(() => {});
    console.log(JSON.stringify([...packages]));`;
  const printed: unknown = JSON.parse(
    execFileSync(process.execPath, ["--input-type=module", "--eval", program], {
      encoding: "utf8",
    }),
  );
  return Array.isArray(printed) ? printed.map(String) : [];
}

test("a parser of YAML is loaded only for a kubeconfig", () => {
  expect(packagesLoadedFor({ kubeconfig, env: {} })).toEqual(["js-yaml"]);
  expect(packagesLoadedFor({ env: pod })).toEqual([]);
});

describe("the credentials of a pod", () => {
  let account = "";
  beforeEach(() => {
    account = mkdtempSync(join(tmpdir(), "latchkey-pod-"));
    writeFileSync(join(account, "token"), "one\n");
    writeFileSync(join(account, "ca.crt"), "CA");
  });
  afterEach(() => rmSync(account, { recursive: true }));
  const pod = ({ host = "10.0.0.1", clock = new TestClock() } = {}) =>
    podCredentials({ host, port: "443" }, { clock, log: undefined }, account);

  test("a pod trusts the CA of its ServiceAccount and sends its token", async () => {
    const credentials = await pod();
    expect(credentials).toMatchObject({
      server: "https://10.0.0.1:443",
      tls: { ca: "CA", rejectUnauthorized: true },
    });
    expect(await credentials.authorization()).toBe("Bearer one");
  });

  test("an IPv6 address is in brackets", async () => {
    const credentials = await pod({ host: "fd00::1" });
    expect(credentials.server).toBe("https://[fd00::1]:443");
  });

  test("the token is read again after a minute, not earlier", async () => {
    const clock = new TestClock();
    const credentials = await pod({ clock });
    await credentials.authorization();
    writeFileSync(join(account, "token"), "two");
    clock.advance(60_000);
    expect(await credentials.authorization()).toBe("Bearer one");
    clock.advance(1);
    expect(await credentials.authorization()).toBe("Bearer two");
  });

  test("the token is read again at once after a 401", async () => {
    const credentials = await pod();
    await credentials.authorization();
    writeFileSync(join(account, "token"), "two");
    credentials.forget();
    expect(await credentials.authorization()).toBe("Bearer two");
  });

  test("a token file that disappears fails the request, not the process", async () => {
    const credentials = await pod();
    rmSync(join(account, "token"));
    await expect(credentials.authorization()).rejects.toMatchObject({ code: "ENOENT" });
  });

  test.each(["token", "ca.crt"])("a missing %s is a CredentialsError", async (name) => {
    rmSync(join(account, name));
    await expect(pod()).rejects.toThrow(
      `ServiceAccount file "${join(account, name)}" cannot be read: ENOENT; set --kubeconfig`,
    );
  });
});
