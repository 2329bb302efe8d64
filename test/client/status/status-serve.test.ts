import { request } from "node:http";
import { connect, type Socket } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { serveStatus } from "../../../src/client/status/status-serve.ts";
import type { StatusView } from "../../../src/client/status/status-source.ts";
import { eventually } from "../../support/eventually.ts";
import { TestClock } from "../../support/test-clock.ts";
import { sampleReport } from "./status-sample.ts";

const view: StatusView = { report: sampleReport, readAt: 0, problem: undefined };
const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

async function start({ port = 0 } = {}) {
  const clock = new TestClock();
  const stop = new AbortController();
  const [out, reads]: [string[], { count: number }] = [[], { count: 0 }];
  const next = async (): Promise<StatusView> => {
    reads.count += 1;
    return view;
  };
  const ended = serveStatus(
    { port, intervalMs: 4000, title: "all namespaces" },
    {
      source: { first: async () => view, next, tookMs: 0 },
      terminal: { print: (text) => void out.push(String(text)), say() {} },
      clock,
      signal: stop.signal,
    },
  );
  stops.push(async () => {
    stop.abort();
    await ended.catch(() => {});
  });
  await Promise.race([ended, eventually(() => out.length > 0, { what: "the URL" })]);
  const url = new URL(out.join("").trim());
  return { url, out, clock, reads, stop, ended };
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

function get(url: URL, options: object = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { agent: false, ...options }, (answer) => {
      let body = "";
      answer.setEncoding("utf8").on("data", (text: string) => (body += text));
      answer.once("end", () =>
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body }),
      );
    });
    asked.once("error", reject).end();
  });
}

function dataOf(url: URL, headers: object = {}): Promise<Answer> {
  const authorization = `Bearer ${url.hash.slice(1)}`;
  return get(new URL("/api/status", url), { headers: { authorization, ...headers } });
}

/** Sends bytes on a connection of its own; returns all that comes back. */
function exchange(url: URL, text: string): Promise<string> {
  return new Promise((resolve) => {
    let back = "";
    const socket = connect(Number(url.port), "127.0.0.1", () => socket.write(text));
    socket.setEncoding("utf8").on("data", (part: string) => (back += part));
    socket.on("error", () => {});
    socket.once("close", () => resolve(back));
  });
}

describe("the server of the page", () => {
  test("prints its URL once: the loopback address, and a token of 256 bits", async () => {
    const { out, url } = await start();
    expect(out).toEqual([expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/#[\w-]{43}\n$/)]);
    expect((await get(url)).body).toContain("<title>Latchkey status</title>");
    const other = await start();
    expect(other.url.hash).not.toBe(url.hash);
  });

  test("serves data for its token alone", async () => {
    const { url } = await start();
    expect(JSON.parse((await dataOf(url)).body)).toMatchObject({ title: "all namespaces" });
    expect(await dataOf(url, { authorization: "Bearer no" })).toMatchObject({ status: 401 });
    expect(await dataOf(url, { host: "evil.example" })).toMatchObject({ status: 421 });
  });

  test("reads once for many pages, and again after a pause", async () => {
    const { url, clock, reads } = await start();
    await Promise.all([dataOf(url), dataOf(url)]);
    expect(reads.count).toBe(0);
    clock.advance(2000);
    await Promise.all([dataOf(url), dataOf(url), dataOf(url)]);
    expect(reads.count).toBe(1);
  });

  test("closes connections with a body, with two hosts and with what is no HTTP", async () => {
    const { url } = await start();
    const head = `GET / HTTP/1.1\r\nHost: ${url.host}\r\n`;
    const withBody = await exchange(url, `${head}Content-Length: 2\r\n\r\nhi`);
    expect(withBody).toMatch(/^HTTP\/1\.1 200 [^]*connection: close/i);
    const twice = await exchange(url, `${head}Host: evil.example\r\nConnection: close\r\n\r\n`);
    expect(twice).not.toContain("<title>");
    expect(await exchange(url, "hello\r\n\r\n")).toMatch(/^HTTP\/1\.1 400 /);
    const large = await exchange(url, `${head}X: ${"a".repeat(20_000)}\r\n\r\n`);
    expect(large).toMatch(/^HTTP\/1\.1 431 /);
  });

  test("has at most 32 connections", async () => {
    const { url } = await start();
    const sockets: Socket[] = [];
    const closed = new Set<Socket>();
    for (let count = 0; count < 40; count++) {
      const socket = connect(Number(url.port), "127.0.0.1");
      sockets.push(socket.on("error", () => {}).on("close", () => closed.add(socket)));
    }
    await eventually(() => closed.size >= 8, { what: "the connections that are too many" });
    expect(closed.size).toBe(8);
    for (const socket of sockets) socket.destroy();
  });

  test("ends with the signal, also while connections are open", async () => {
    const { url, stop, ended } = await start();
    const socket = connect(Number(url.port), "127.0.0.1").on("error", () => {});
    await get(url);
    stop.abort();
    await ended;
    socket.destroy();
    await expect(get(url)).rejects.toThrow("ECONNREFUSED");
  });

  test("names the port that is taken", async () => {
    const { url } = await start();
    await expect(start({ port: Number(url.port) })).rejects.toThrow("EADDRINUSE");
  });
});
