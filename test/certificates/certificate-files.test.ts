import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { followCertificateFiles } from "../../src/certificates/certificate-files.ts";
import type { ServerTls } from "../../src/runtime/http-server.ts";
import { recordingLog } from "../support/recording-log.ts";
import { TestClock } from "../support/test-clock.ts";

const directory = mkdtempSync(join(tmpdir(), "certificates-"));
afterEach(() => rmSync(directory, { recursive: true, force: true }));

function write(certificate: string): void {
  for (const [file, text] of Object.entries({
    "tls.crt": certificate,
    "tls.key": "key",
    "ca.crt": "ca",
  }))
    writeFileSync(join(directory, file), text);
}

test("files are reported when they are first read and when they change; an incomplete set is not reported", async () => {
  const [clock, log, stop, changes] = [
    new TestClock(),
    recordingLog(),
    new AbortController(),
    new Array<ServerTls>(),
  ];
  const next = async (): Promise<void> => {
    clock.advance(10_000);
    await pause(50);
  };
  const following = followCertificateFiles(directory, {
    clock,
    log,
    signal: stop.signal,
    onChange: (material) => changes.push(material),
  });
  await pause(50);
  expect([changes, log.lines.at(-1)]).toEqual([
    [],
    expect.objectContaining({ level: "warn", fields: { directory, why: "ENOENT" } }),
  ]);
  write("one");
  await next();
  await next();
  expect(changes).toEqual([{ certificate: "one", privateKey: "key", clientAuthority: "ca" }]);
  write("two");
  await next();
  expect(changes.map(({ certificate }) => certificate)).toEqual(["one", "two"]);
  stop.abort();
  await following;
});
