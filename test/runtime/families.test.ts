import { spawnSync } from "node:child_process";
import { connect, isIPv6 } from "node:net";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { clusterAgentOptions } from "../../src/controllers/cluster-agent-options.ts";
import { controllerOptions } from "../../src/controllers/controller-options.ts";
import { directEndpointOptions } from "../../src/gateway/direct-endpoint-options.ts";
import { gatewayOptions } from "../../src/gateway/gateway-options.ts";
import { hostNames, hostPort } from "../../src/runtime/config-values.ts";
import { type HttpServer, startHttpServer } from "../../src/runtime/http-server.ts";
import type { OptionTable } from "../../src/runtime/options.ts";
import { addressOf, networkOf } from "../../src/runtime/peer.ts";
import { plain } from "../../src/runtime/routes.ts";
import { webhookOptions } from "../../src/webhooks/webhook-options.ts";
import { recordingLog } from "../support/recording-log.ts";
import { skippedWithout } from "../support/skipped.ts";
import { TestClock } from "../support/test-clock.ts";

const loopbacks = Object.values(networkInterfaces()).flatMap((found) => found ?? []);
const hasIPv6 = loopbacks.some(({ address }) => address === "::1");
const ipv6 = hasIPv6 ? "" : { missing: "this machine has no IPv6 loopback" };

async function serving(address: string): Promise<HttpServer> {
  return await startHttpServer({
    ...hostPort(address, "--http-address"),
    handler: () => Promise.resolve(plain(200, "ok")),
    clock: new TestClock(),
    log: recordingLog(),
  });
}

/** The status at an address, or the code of the error. */
async function statusAt(host: string, port: number): Promise<unknown> {
  try {
    return (await fetch(`http://${isIPv6(host) ? `[${host}]` : host}:${port}/`)).status;
  } catch (error) {
    return error instanceof Error && error.cause instanceof Error && "code" in error.cause
      ? error.cause.code
      : error;
  }
}

describe("a server at", skippedWithout(ipv6), () => {
  test.for<[string, readonly [ipv4: unknown, ipv6: unknown], RegExp]>([
    [":0", [200, 200], /^http:\/\/\[::\]:\d+$/],
    ["[::]:0", [200, 200], /^http:\/\/\[::\]:\d+$/],
    ["0.0.0.0:0", [200, "ECONNREFUSED"], /^http:\/\/0\.0\.0\.0:\d+$/],
    ["127.0.0.1:0", [200, "ECONNREFUSED"], /^http:\/\/127\.0\.0\.1:\d+$/],
    ["[::1]:0", ["ECONNREFUSED", 200], /^http:\/\/\[::1\]:\d+$/],
  ])("%s answers over IPv4 and IPv6: %j", async ([address, expected, url]) => {
    const server = await serving(address);
    try {
      const { port } = server;
      expect([await statusAt("127.0.0.1", port), await statusAt("::1", port)]).toEqual(expected);
      expect(server.url).toMatch(url);
    } finally {
      await server.close(0);
    }
  });
});

test.for<[string, OptionTable]>([
  ["controller", controllerOptions],
  ["webhook", webhookOptions],
  ["gateway", gatewayOptions],
  ["direct endpoint", directEndpointOptions],
  ["cluster agent", clusterAgentOptions],
])("by default, the %s listens on all addresses of both families", ([, table]) => {
  const addresses = Object.values(table).filter(({ value }) => value === "<host:port>");
  expect(addresses.length).toBeGreaterThan(0);
  for (const { parse, initial = "" } of addresses)
    expect(parse(initial, "--address")).toMatchObject({ host: "" });
});

/*
 * seccomp(2) refuses sockets of IPv6, as a kernel does that was started with ipv6.disable=1: the
 * numbers are those of x86-64 and arm64.
 */
const withoutIPv6 = `
import ctypes, os, platform, struct, sys
number = {"x86_64": 41, "aarch64": 198}[platform.machine()]
code = [(0x20, 0, 0, 0), (0x15, 0, 3, number), (0x20, 0, 0, 16), (0x15, 0, 1, 10),
        (0x06, 0, 0, 0x00050000 + 97), (0x06, 0, 0, 0x7fff0000)]
filters = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *each) for each in code))
class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filters", ctypes.c_void_p)]
program = Program(len(code), ctypes.addressof(filters))
prctl = ctypes.CDLL(None, use_errno=True).prctl
if prctl(38, 1, 0, 0, 0) or prctl(22, 2, ctypes.byref(program), 0, 0): sys.exit("no seccomp")
os.execv(sys.argv[1], sys.argv[1:])
`;
const server = join(import.meta.dirname, "../../src/runtime/server.ts");
const limits = join(import.meta.dirname, "../../src/runtime/server-options.ts");
const listener = `
const { startServer } = await import(${JSON.stringify(server)});
const { httpLimits } = await import(${JSON.stringify(limits)});
const clock = { wakeAfter: () => () => {} };
const { url, port, close } = await startServer({ host: process.argv[1], port: 0, clock, limits: httpLimits,
  onRequest: (_, outgoing) => outgoing.end("ok") });
console.log(url, (await fetch("http://127.0.0.1:" + port)).status);
process.exit(0);
`;
const refused = spawnSync("python3", ["-c", withoutIPv6, "/bin/true"]);
const seccomp = refused.status === 0 ? "" : { missing: "no Python with seccomp" };

test("without IPv6 on the machine, a server listens on IPv4", skippedWithout(seccomp), () => {
  const node = [process.execPath, "--input-type=module", "--eval", listener];
  const run = (host: string) =>
    spawnSync("python3", ["-c", withoutIPv6, ...node, host], { encoding: "utf8" });
  expect(run("").stdout).toMatch(/^http:\/\/0\.0\.0\.0:\d+ 200\n$/);
  expect(run("::").stderr).toContain("EAFNOSUPPORT");
});

test.for([
  ["fd00::1,FD00:0::A,::ffff:10.0.0.1", ["fd00::1", "fd00::a", "::ffff:a00:1"]],
  ["a.example.com,10.0.0.1,2001:DB8:0:0:0:0:0:1", ["10.0.0.1", "2001:db8::1", "a.example.com"]],
] as const)("external names %s are %j", ([given, names]) => {
  expect(hostNames(given, "--external-names")).toEqual(names);
});

test("an address with a zone is no name of a certificate", () => {
  expect(() => hostNames("fe80::1%eth0", "--external-names")).toThrow(
    '--external-names: "fe80::1%eth0" must be an address without a zone, such as fd00::1',
  );
});

test.for<[string, string, string]>([
  ["10.0.0.1", "10.0.0.1", "10.0.0.1"],
  ["::ffff:10.0.0.1", "10.0.0.1", "10.0.0.1"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2:3:4:5:6", "2001:db8:1:2"],
  ["2001:db8:1:2::6", "2001:db8:1:2::6", "2001:db8:1:2"],
  ["2001:db8::6", "2001:db8::6", "2001:db8:0:0"],
  ["::1", "::1", "0:0:0:0"],
  ["fe80::1%eth0", "fe80::1%eth0", "fe80:0:0:0"],
  ["", "", ""],
])("the client %j has the address %j and counts as %j", ([remoteAddress, address, network]) => {
  expect(addressOf({ remoteAddress })).toBe(address);
  expect(networkOf(address)).toBe(network);
});

test("a client of IPv4 has its IPv4 address at a server of both families", async () => {
  let seen = "";
  const started = await startHttpServer({
    ...hostPort(":0", "--http-address"),
    handler: (_request, peer) => {
      seen = peer.address;
      return Promise.resolve(plain(200, "ok"));
    },
    clock: new TestClock(),
    log: recordingLog(),
  });
  try {
    const socket = connect(started.port, "127.0.0.1");
    socket.end("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    await new Promise((resolve) => socket.resume().once("close", resolve));
    expect(seen).toBe("127.0.0.1");
  } finally {
    await started.close(0);
  }
});
