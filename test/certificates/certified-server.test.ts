import { expect, test } from "vitest";
import { certifiedServer } from "../../src/certificates/certified-server.ts";
import type { ServerTls } from "../../src/runtime/http-server.ts";
import { recordingLog } from "../support/recording-log.ts";
import { TestClock } from "../support/test-clock.ts";

const tlsOf = (certificate: string): ServerTls => ({
  certificate,
  privateKey: "",
  clientAuthority: `ca of ${certificate}`,
});
const missing = "no certificate yet";

/** A server whose start and certificates are recorded. */
function recorded(start: () => Promise<void>, drain?: () => Promise<void>) {
  const calls: string[] = [];
  const failures: unknown[] = [];
  let useTls = (_tls: ServerTls): void => {};
  const part = certifiedServer(
    {
      ...{ certificateDirectory: undefined, missing, ...(drain && { drain }) },
      async start({ certificate }) {
        calls.push(`start ${certificate}`);
        await start();
        return {
          useTls: (tls: ServerTls) => void calls.push(tls.certificate),
          close: async () => void calls.push("close"),
        };
      },
      async keepCertificates(_signal, onTls) {
        useTls = onTls;
      },
      onTls: ({ clientAuthority }) => void calls.push(clientAuthority),
    },
    {
      ...{ clock: new TestClock(), log: recordingLog() },
      onFailure: (error) => void failures.push(error),
    },
  );
  return { part, calls, failures, useTls: (certificate: string) => useTls(tlsOf(certificate)) };
}

test("the first certificates start the server, and it gets each further set in order", async () => {
  const started = Promise.withResolvers<void>();
  const { part, calls, useTls } = recorded(() => started.promise);
  await part.run?.(new AbortController().signal);
  expect(part.problems?.()).toEqual([missing]);
  for (const certificate of ["a", "b", "c"]) useTls(certificate);
  const begun = ["ca of a", "start a", "ca of b", "ca of c"];
  expect([calls, part.problems?.()]).toEqual([begun, [missing]]);
  started.resolve();
  await part.close?.();
  expect([calls, part.problems?.()]).toEqual([[...begun, "b", "c", "close"], []]);
});

test("a server that drains is not closed besides", async () => {
  const drained: string[] = [];
  const { part, calls, useTls } = recorded(
    () => Promise.resolve(),
    async () => void drained.push("drained"),
  );
  await part.run?.(new AbortController().signal);
  await part.drain?.();
  expect([drained, "close" in part]).toEqual([[], false]);
  useTls("a");
  await part.drain?.();
  expect([drained, calls]).toEqual([["drained"], ["ca of a", "start a"]]);
});

test("a server that cannot start is a failure", async () => {
  const { part, failures, useTls } = recorded(() => Promise.reject(new Error("taken")));
  await part.run?.(new AbortController().signal);
  useTls("a");
  await expect(part.close?.()).rejects.toThrow("taken");
  expect([failures, part.problems?.()]).toEqual([[new Error("taken")], [missing]]);
});
