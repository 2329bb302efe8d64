import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { loadCredentials } from "../../../src/kube/credentials/load-credentials.ts";
import { TestClock } from "../../support/test-clock.ts";

let directory = "";
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "latchkey-credentials-"));
});
afterEach(() => {
  rmSync(directory, { recursive: true });
});

const base64 = (text: string) => Buffer.from(text).toString("base64");

const credentialsIn = (path: string, clock: TestClock) =>
  loadCredentials({ kubeconfig: path, env: {} }, clock);

interface Parts {
  readonly cluster?: Readonly<Record<string, unknown>>;
  readonly user?: Readonly<Record<string, unknown>>;
  readonly context?: string;
}

/** Writes a kubeconfig (as JSON, which is YAML) and returns its path. */
function kubeconfig({ cluster = {}, user = {}, context = "here" }: Parts = {}): string {
  const path = join(directory, "kubeconfig");
  const config = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": context,
    clusters: [
      { name: "here", cluster: { server: "https://example.com:6443/prefix/", ...cluster } },
    ],
    contexts: [{ name: "here", context: { cluster: "here", user: "me" } }],
    users: [
      { name: "other", user: { tokenFile: "/other" } },
      { name: "me", user },
    ],
  };
  writeFileSync(path, JSON.stringify(config));
  return path;
}

function file(name: string, text: string): string {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
}

test("the server is that of the current context, without a trailing slash", async () => {
  const { server, tls } = await credentialsIn(kubeconfig(), new TestClock());
  expect([server, tls]).toEqual(["https://example.com:6443/prefix", { rejectUnauthorized: true }]);
});

describe("a user", () => {
  test("with a token sends it", async () => {
    const credentials = await credentialsIn(
      kubeconfig({ user: { token: "one" } }),
      new TestClock(),
    );
    expect(await credentials.authorization()).toBe("Bearer one");
  });

  test("with a name and a password sends them", async () => {
    const path = kubeconfig({ user: { username: "alice", password: "pass" } });
    const credentials = await credentialsIn(path, new TestClock());
    expect(await credentials.authorization()).toBe(`Basic ${base64("alice:pass")}`);
  });

  test("with a client certificate presents it, and sends no token", async () => {
    const user = { "client-certificate-data": base64("CERT"), "client-key-data": base64("KEY") };
    const cluster = {
      "certificate-authority-data": base64("CA"),
      "tls-server-name": "api.example.com",
    };
    const credentials = await credentialsIn(kubeconfig({ user, cluster }), new TestClock());
    expect(credentials.tls).toEqual({
      ca: "CA",
      cert: "CERT",
      key: "KEY",
      servername: "api.example.com",
      rejectUnauthorized: true,
    });
    expect(await credentials.authorization()).toBeUndefined();
  });

  test("with files sends their content, relative to the kubeconfig", async () => {
    file("client.crt", "CERT");
    file("client.key", "KEY");
    const { tls } = await credentialsIn(
      kubeconfig({ user: { "client-certificate": "client.crt", "client-key": "client.key" } }),
      new TestClock(),
    );
    expect(tls).toMatchObject({ cert: "CERT", key: "KEY" });
  });

  test("skips the verification of the server if the kubeconfig says so", async () => {
    const { tls } = await credentialsIn(
      kubeconfig({ cluster: { "insecure-skip-tls-verify": true } }),
      new TestClock(),
    );
    expect(tls.rejectUnauthorized).toBe(false);
  });
});

describe("a token in a file", () => {
  test("is read again after a minute, not earlier", async () => {
    const clock = new TestClock();
    const credentials = await credentialsIn(
      kubeconfig({ user: { tokenFile: file("token", "one\n") } }),
      clock,
    );
    expect(await credentials.authorization()).toBe("Bearer one");
    file("token", "two");
    clock.advance(60_000);
    expect(await credentials.authorization()).toBe("Bearer one");
    clock.advance(1);
    expect(await credentials.authorization()).toBe("Bearer two");
  });

  test("is read again at once after a 401", async () => {
    const credentials = await credentialsIn(
      kubeconfig({ user: { tokenFile: file("token", "one") } }),
      new TestClock(),
    );
    await credentials.authorization();
    file("token", "two");
    credentials.forget();
    expect(await credentials.authorization()).toBe("Bearer two");
  });

  test("takes precedence over a token in the kubeconfig, as in kubectl", async () => {
    const credentials = await credentialsIn(
      kubeconfig({ user: { token: "inline", tokenFile: file("token", "one") } }),
      new TestClock(),
    );
    expect(await credentials.authorization()).toBe("Bearer one");
  });

  test("is relative to the kubeconfig, as in kubectl", async () => {
    file("token", "one");
    const credentials = await credentialsIn(
      kubeconfig({ user: { tokenFile: "token" } }),
      new TestClock(),
    );
    expect(await credentials.authorization()).toBe("Bearer one");
  });

  test("fails the request and not the process if the file does not exist", async () => {
    const credentials = await credentialsIn(
      kubeconfig({ user: { tokenFile: join(directory, "none") } }),
      new TestClock(),
    );
    await expect(credentials.authorization()).rejects.toMatchObject({ code: "ENOENT" });
  });
});

describe("an exec plugin", () => {
  /** A kubeconfig whose plugin prints these fields of a status, and as token its number of runs. */
  function plugin(status: object = {}): string {
    file("status", JSON.stringify({ status: { token: "RUNS", ...status } }));
    const lines = [
      "#!/bin/sh",
      'cd "$(dirname "$0")"',
      "echo >> runs",
      'sed "s/RUNS/$(grep -c "" runs)/" status',
    ];
    chmodSync(file("login", lines.join("\n")), 0o700);
    return kubeconfig({ user: { exec: { command: "./login" } } });
  }
  const load = (path: string, clock = new TestClock()) =>
    loadCredentials({ kubeconfig: path, env: process.env }, clock);

  test("is found at the kubeconfig and runs once, also for concurrent requests", async () => {
    const { authorization } = await load(plugin());
    expect(await Promise.all([authorization(), authorization()])).toEqual(["Bearer 1", "Bearer 1"]);
  });

  test("runs again when its token expires, not earlier", async () => {
    const clock = new TestClock();
    const expirationTimestamp = new Date(clock.now() + 3_600_000).toISOString();
    const { authorization } = await load(plugin({ expirationTimestamp }), clock);
    clock.advance(3_599_999);
    expect(await authorization()).toBe("Bearer 1");
    clock.advance(1);
    expect(await authorization()).toBe("Bearer 2");
  });

  test("runs again after a 401, once for all requests that had one", async () => {
    const { authorization, forget } = await load(plugin());
    await authorization();
    forget();
    expect(await Promise.all([authorization(), authorization()])).toEqual(["Bearer 2", "Bearer 2"]);
  });

  test("whose token does not expire is not run again", async () => {
    const clock = new TestClock();
    const { authorization } = await load(plugin(), clock);
    await authorization();
    clock.advance(24 * 3_600_000);
    expect(await authorization()).toBe("Bearer 1");
  });

  test("may print a client certificate", async () => {
    const status = { token: undefined, clientCertificateData: "CERT", clientKeyData: "KEY" };
    const { tls, authorization } = await load(plugin(status));
    expect(tls).toMatchObject({ cert: "CERT", key: "KEY" });
    expect(await authorization()).toBeUndefined();
  });
});

describe("an error names the file, the cause and the fix for", () => {
  test("a kubeconfig that does not exist", async () => {
    await expect(credentialsIn(join(directory, "none"), new TestClock())).rejects.toThrow(
      /none" cannot be read: ENOENT; set --kubeconfig or KUBECONFIG to a kubeconfig/,
    );
  });

  test("a kubeconfig that is not YAML, without its content", async () => {
    const loading = credentialsIn(file("kubeconfig", "users: [canary"), new TestClock());
    await expect(loading).rejects.toThrow(/it is not a valid kubeconfig/);
    await expect(loading).rejects.not.toThrow(/canary/);
  });

  test("a context that does not exist", async () => {
    await expect(credentialsIn(kubeconfig({ context: "there" }), new TestClock())).rejects.toThrow(
      "has no current context with a cluster",
    );
  });

  test("a missing file that the kubeconfig names", async () => {
    const missing = join(directory, "client.crt");
    const user = { "client-certificate": "client.crt", "client-key-data": base64("KEY") };
    await expect(credentialsIn(kubeconfig({ user }), new TestClock())).rejects.toThrow(
      `names "${missing}", which cannot be read: ENOENT`,
    );
  });

  test("a missing exec plugin that the kubeconfig names", async () => {
    const exec = {
      apiVersion: "client.authentication.k8s.io/v1",
      command: join(directory, "login"),
      interactiveMode: "Never",
    };
    await expect(credentialsIn(kubeconfig({ user: { exec } }), new TestClock())).rejects.toThrow(
      `the exec plugin "${exec.command}" of kubeconfig "${join(directory, "kubeconfig")}" cannot be started: ENOENT; set --kubeconfig`,
    );
  });

  test.each([
    ["plain HTTP", "http://example.com", "kubeconfig .* has the server .* without TLS"],
    ["no URL", "example.com:6443", 'the server "example.com:6443" is not a URL'],
  ])("a server with %s", async (_what, server, problem) => {
    const loading = credentialsIn(kubeconfig({ cluster: { server } }), new TestClock());
    await expect(loading).rejects.toThrow(new RegExp(problem));
  });

  test("a user whose credential is not supported", async () => {
    const path = kubeconfig({ user: { "auth-provider": { name: "oidc" } } });
    await expect(credentialsIn(path, new TestClock())).rejects.toThrow(
      'the user "me" has an auth-provider, which is not supported; use an exec plugin',
    );
  });
});

describe("the proxy of the server", () => {
  const proxy = "http://me:canary@proxy.example.com:3128";
  const read = async (cluster: object, env: Readonly<Record<string, string>> = {}) => {
    const source = { kubeconfig: kubeconfig({ cluster: { ...cluster } }), env };
    const { proxy: found } = await loadCredentials(source, new TestClock());
    return found;
  };

  test.each<[string, object, Readonly<Record<string, string>>, string | undefined]>([
    ["none", {}, {}, undefined],
    ["that of the variables", {}, { HTTPS_PROXY: "http://env:1" }, "env"],
    ["none in NO_PROXY", {}, { HTTPS_PROXY: "http://env:1", NO_PROXY: ".com" }, undefined],
    [
      "that of the kubeconfig first",
      { "proxy-url": proxy },
      { HTTPS_PROXY: "http://env:1" },
      "proxy.example.com",
    ],
    [
      "that of the kubeconfig, whatever NO_PROXY says",
      { "proxy-url": proxy },
      { NO_PROXY: "*" },
      "proxy.example.com",
    ],
    [
      "that of the kubeconfig, for the machine itself",
      { server: "http://localhost:8001", "insecure-skip-tls-verify": true, "proxy-url": proxy },
      {},
      "proxy.example.com",
    ],
    ["an empty one is unset", { "proxy-url": "" }, { HTTPS_PROXY: "http://env:1" }, "env"],
  ])("is %s", async (_rule, cluster, env, host) => {
    expect((await read(cluster, env))?.host).toBe(host);
  });

  test("may have a certificate of the cluster's CA, if the kubeconfig names it", async () => {
    const ca = { "certificate-authority-data": base64("PEM") };
    expect(await read({ ...ca, "proxy-url": proxy })).toMatchObject({ ca: "PEM" });
    expect(await read(ca, { HTTPS_PROXY: "https://env" })).not.toHaveProperty("ca");
  });

  test("stops with the field or the variable, and without the login", async () => {
    const failed = async (...args: Parameters<typeof read>) =>
      read(...args).then(String, (error: Error) => error.message);
    const url = await failed({ "proxy-url": "ftp://me:canary@proxy" });
    expect(url).toMatch(/^kubeconfig ".*" has a proxy-url that has the scheme "ftp", which is not/);
    const variable = await failed({}, { https_proxy: "ftp://me:canary@proxy" });
    expect(variable).toMatch(/^https_proxy has the scheme "ftp", which is not supported; use http/);
    expect(url + variable).not.toContain("canary");
  });
});
