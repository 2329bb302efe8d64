import { expect, test } from "vitest";
import type { ServerTls } from "../../src/runtime/http-server.ts";
import { TlsListener } from "../../src/runtime/tls-listener.ts";

const rejected = (error: unknown): never => {
  throw error;
};
const tlsOf = (certificate: string): ServerTls => ({
  certificate,
  privateKey: "",
  clientAuthority: "",
});

test("the first certificates start the server, and it gets each further set in order", async () => {
  const used: string[] = [];
  const started = Promise.withResolvers<void>();
  const listener = new TlsListener(async ({ certificate }) => {
    used.push(`start ${certificate}`);
    await started.promise;
    return { useTls: (tls: ServerTls) => void used.push(tls.certificate) };
  }, rejected);
  expect([listener.isListening(), listener.server]).toEqual([false, undefined]);
  for (const certificate of ["a", "b", "c"]) listener.useTls(tlsOf(certificate));
  expect([used, listener.isListening()]).toEqual([["start a"], false]);
  started.resolve();
  await listener.server;
  await Promise.resolve();
  expect([used, listener.isListening()]).toEqual([["start a", "b", "c"], true]);
});

test("a server that cannot start is a failure", async () => {
  const failures: unknown[] = [];
  const listener = new TlsListener(
    () => Promise.reject<{ useTls(): void }>(new Error("taken")),
    (error) => void failures.push(error),
  );
  listener.useTls(tlsOf("a"));
  await expect(listener.server).rejects.toThrow("taken");
  await Promise.resolve();
  expect([failures, listener.isListening()]).toEqual([[new Error("taken")], false]);
});
