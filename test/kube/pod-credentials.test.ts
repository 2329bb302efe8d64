import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { podCredentials } from "../../src/kube/load-credentials.ts";
import { TestClock } from "../support/test-clock.ts";

const pod = { host: "10.0.0.1", port: "443" };
let directory = "";
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "latchkey-pod-"));
  writeFileSync(join(directory, "token"), "one\n");
  writeFileSync(join(directory, "ca.crt"), "CA");
});
afterEach(() => rmSync(directory, { recursive: true }));

test("a pod trusts the CA of its ServiceAccount and sends its token", async () => {
  const credentials = podCredentials(pod, new TestClock(), directory);
  expect(credentials).toMatchObject({
    server: "https://10.0.0.1:443",
    tls: { ca: "CA", rejectUnauthorized: true },
  });
  expect(await credentials.authorization()).toBe("Bearer one");
});

test("an IPv6 address is in brackets", () => {
  const credentials = podCredentials({ host: "fd00::1", port: "443" }, new TestClock(), directory);
  expect(credentials.server).toBe("https://[fd00::1]:443");
});

test("the token is read again after a minute, not earlier", async () => {
  const clock = new TestClock();
  const credentials = podCredentials(pod, clock, directory);
  await credentials.authorization();
  writeFileSync(join(directory, "token"), "two");
  clock.advance(60_000);
  expect(await credentials.authorization()).toBe("Bearer one");
  clock.advance(1);
  expect(await credentials.authorization()).toBe("Bearer two");
});

test("the token is read again at once after a 401", async () => {
  const credentials = podCredentials(pod, new TestClock(), directory);
  await credentials.authorization();
  writeFileSync(join(directory, "token"), "two");
  credentials.forget();
  expect(await credentials.authorization()).toBe("Bearer two");
});

test("a token file that disappears fails the request, not the process", async () => {
  const credentials = podCredentials(pod, new TestClock(), directory);
  rmSync(join(directory, "token"));
  await expect(credentials.authorization()).rejects.toMatchObject({ code: "ENOENT" });
});

test.each(["token", "ca.crt"])("a missing %s is a CredentialsError", (name) => {
  rmSync(join(directory, name));
  expect(() => podCredentials(pod, new TestClock(), directory)).toThrow(
    `ServiceAccount file "${join(directory, name)}" cannot be read: ENOENT; set --kubeconfig`,
  );
});
