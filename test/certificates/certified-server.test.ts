import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import {
  certifiedServer,
  followCertificateFiles,
} from "../../src/certificates/certified-server.ts";
import type { ServerTls } from "../../src/runtime/server-options.ts";
import { newTestCertificates } from "../support/gateway-fixture.ts";
import { recordingLog } from "../support/recording-log.ts";
import { createMetrics } from "../../src/runtime/metrics.ts";
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
      certificateDirectory: undefined,
      missing,
      ...(drain && { drain }),
      async start({ certificate }) {
        calls.push(`start ${certificate}`);
        await start();
        return {
          useTls: (tls: ServerTls) => void calls.push(tls.certificate),
          close: async () => void calls.push("close"),
        };
      },
      certificates: {
        async run(_signal, onTls) {
          useTls = onTls;
        },
      },
      onTls: ({ clientAuthority }) => void calls.push(clientAuthority),
    },
    {
      clock: new TestClock(),
      log: recordingLog(),
      random: () => 0,
      metrics: createMetrics(),
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

test("files that cannot be used are said at /readyz", async () => {
  const nowhere = join(directory, "nowhere");
  const stop = new AbortController();
  const part = certifiedServer(
    {
      certificateDirectory: nowhere,
      missing,
      start: async () => ({ useTls() {} }),
      certificates: { run: async () => {} },
    },
    {
      clock: new TestClock(),
      log: recordingLog(),
      random: () => 0,
      metrics: createMetrics(),
      onFailure() {},
    },
  );
  const running = part.run?.(stop.signal);
  await expect
    .poll(() => part.warnings?.())
    .toEqual([`the files in "${nowhere}" cannot be used: ENOENT`]);
  stop.abort();
  await running;
});

const directory = mkdtempSync(join(tmpdir(), "certificates-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const [one, other] = (await Promise.all([newTestCertificates(), newTestCertificates()])).map(
  ({ tls }) => tls,
);
if (one === undefined || other === undefined) throw new Error("no certificates");

function write({ certificate, privateKey, clientAuthority }: ServerTls): void {
  for (const [file, text] of Object.entries({
    "tls.crt": certificate,
    "tls.key": privateKey,
    "ca.crt": clientAuthority,
  }))
    writeFileSync(join(directory, file), text);
}

test("files are reported when they are first read and when they change; a set that is incomplete or does not fit is not reported", async () => {
  const [clock, log, stop, changes, problems] = [
    new TestClock(),
    recordingLog(),
    new AbortController(),
    new Array<ServerTls>(),
    new Set<string | undefined>(),
  ];
  /** What was reported once the files were read again. */
  const next = async (): Promise<readonly ServerTls[]> => {
    clock.advance(10_000);
    return changes;
  };
  const following = followCertificateFiles(directory, {
    clock,
    log,
    signal: stop.signal,
    onChange: (material) => changes.push(material),
    onProblem: (why) => void problems.add(why),
  });
  const warning = (why: string) => ({ level: "warn", fields: { files: directory, why } });
  await expect.poll(() => log.lines.at(-1)).toMatchObject(warning("ENOENT"));
  write({ ...one, certificate: "" });
  await expect
    .poll(async () => {
      await next();
      return log.lines.at(-1);
    })
    .toMatchObject(warning("EMPTY"));
  expect(changes).toEqual([]);
  write(one);
  await expect.poll(next).toEqual([one]);
  for (let reads = 0; reads < 3; reads += 1) {
    await next();
    await pause(20);
  }
  expect(changes).toEqual([one]);
  // Written one after the other, the certificate is ahead of its key.
  write({ ...one, certificate: other.certificate });
  const halfChain = other.certificate + other.clientAuthority.slice(0, 200);
  const becomesWarned = async (why: string): Promise<void> => {
    const last = async () => {
      await next();
      return log.lines.at(-1);
    };
    await expect.poll(last).toMatchObject(warning(why));
  };
  await becomesWarned("MISMATCH");
  write({ ...other, certificate: halfChain });
  await becomesWarned("INVALID");
  expect(changes).toEqual([one]);
  write(other);
  await expect.poll(next).toEqual([one, other]);
  expect([...problems]).toEqual(["ENOENT", "EMPTY", undefined, "MISMATCH", "INVALID"]);
  stop.abort();
  await following;
});
