import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type FetchOptions,
  HttpsDocument,
  HttpsDocumentError,
  type HttpsDocumentOptions,
} from "../../../src/kube/client/https-document.ts";
import { systemClock } from "../../../src/runtime/clock.ts";
import { newCa } from "../../../src/tokens/certificate-signing.ts";
import { newTestCertificates, testCertificates } from "../../support/gateway-fixture.ts";

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

const answers: Readonly<Record<string, Answer>> = {
  "/good": (_, response) => response.setHeader("etag", '"1"').end("good"),
  "/echo": ({ url, headers }, response) =>
    response.end([url, headers.accept, headers["if-none-match"]].join(" ")),
  "/unchanged": (_, response) => response.writeHead(304).end(),
  "/missing": (_, response) => response.writeHead(404).end("no such page"),
  "/moved": (_, response) => response.writeHead(302, { location: "/good" }).end(),
  "/page": (_, response) => response.setHeader("content-type", "text/html").end("canary"),
  "/typeless": (_, response) => response.end(" <html>canary"),
  "/empty": (_, response) => response.end(),
  "/null": (_, response) => response.setHeader("content-type", "application/json").end("null\n"),
  "/login": (_, response) =>
    response.writeHead(302, { location: "https://login.example/?state=canary" }).end(),
  "/large": (_, response) => response.end("a".repeat(101)),
  "/sized": ({ url }, response) => response.end("a".repeat(Number(url?.split("=")[1]))),
  "/endless": (_, response) => {
    const more = (): void => {
      while (!response.destroyed && response.write("a".repeat(1024)));
      response.once("drain", more);
    };
    more();
  },
  "/silent": () => {},
  "/slow": (_, response) => response.writeHead(200).write("slow"),
  "/trickle": (_, response) => {
    const timer = setInterval(() => response.write("a"), 50);
    response.once("close", () => clearInterval(timer));
  },
  "/broken": (_, response) => response.writeHead(200).write("b", () => response.destroy()),
};

const seen: string[] = [];
const onRequest: Answer = (request, response) => {
  const path = new URL(request.url ?? "", "https://server").pathname;
  seen.push(path);
  answers[path]?.(request, response);
};

async function startServer() {
  const { ca, tls } = await testCertificates();
  const server = createTlsServer({ cert: tls.certificate, key: tls.privateKey }, onRequest);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const stop = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return { ca, port: portOf(server.address()), stop };
}

function portOf(address: AddressInfo | string | null): number {
  if (typeof address !== "object" || address === null) throw new Error("no port");
  return address.port;
}

let server: Awaited<ReturnType<typeof startServer>>;
beforeAll(async () => void (server = await startServer()));
afterAll(() => server.stop());

/** Reads a document, and closes the connection. */
async function read(
  path: string,
  options: FetchOptions = {},
  changes: Partial<HttpsDocumentOptions> = {},
): Promise<{ readonly text: string | undefined; readonly etag: string | undefined }> {
  const document = new HttpsDocument({
    url: `https://127.0.0.1:${server.port}${path}`,
    ca: () => server.ca,
    mostBytes: 100,
    timeoutMs: 10_000,
    clock: systemClock,
    proxyOf: () => undefined,
    ...changes,
  });
  try {
    const { bytes, etag } = await document.fetch(options);
    return { text: bytes === undefined ? undefined : Buffer.from(bytes).toString(), etag };
  } finally {
    await document.close();
  }
}

describe("a document over HTTPS", () => {
  test("is of a server of the CAs that are trusted now", async () => {
    const [former, latter] = [(await newTestCertificates()).ca, server.ca];
    let ca = former;
    const document = new HttpsDocument({
      url: `https://127.0.0.1:${server.port}/good`,
      ca: () => ca,
      mostBytes: 100,
      timeoutMs: 10_000,
      clock: systemClock,
      proxyOf: () => undefined,
    });
    await expect(document.fetch()).rejects.toThrow(/UNABLE_TO|SELF_SIGNED/);
    ca = latter;
    expect((await document.fetch()).bytes).toEqual(Buffer.from("good"));
    ca = former;
    await expect(document.fetch()).rejects.toThrow(/UNABLE_TO|SELF_SIGNED/);
    await document.close();
  });

  test("arrives with its tag", async () => {
    expect(await read("/good")).toEqual({ text: "good", etag: '"1"' });
  });

  test.each<[string, string, FetchOptions, Partial<HttpsDocumentOptions>, string]>([
    ["as JSON", "/echo", {}, {}, "/echo application/json "],
    ["with the query of its URL", "/echo?a=b", {}, {}, "/echo?a=b application/json "],
    ["of another type", "/echo", {}, { accept: "application/jwt" }, "/echo application/jwt "],
    ["unless it has a tag", "/echo", { etag: '"1"' }, {}, '/echo application/json "1"'],
    [
      "with another query",
      "/echo?a=b",
      { query: { after: "1.2&3" } },
      {},
      "/echo?after=1.2%263 application/json ",
    ],
  ])("is asked for %s", async (_rule, path, options, changes, text) => {
    expect((await read(path, options, changes)).text).toBe(text);
  });

  test.each<[string, FetchOptions]>([
    ["a tag", { etag: '"1"' }],
    ["a query", { query: { after: "1.2" } }],
  ])("may be the one that the client has, which it named by %s", async (_rule, options) => {
    expect((await read("/unchanged", options)).text).toBeUndefined();
  });
});

describe("a document cannot be read", () => {
  const otherCa = newCa({ dnsNames: ["127.0.0.1"], clientName: "none", now: Date.now() });

  test.each<[string, string, Partial<HttpsDocumentOptions>, string]>([
    ["that does not exist", "/missing", {}, "status 404 with other text (no content type)"],
    ["that is a page", "/page", {}, "status 200 with an HTML page (text/html)"],
    [
      "that is a page without a type",
      "/typeless",
      {},
      "status 200 with an HTML page (no content type)",
    ],
    ["that is empty", "/empty", {}, "status 200 with an empty body (no content type)"],
    ["that is null", "/null", {}, "status 200 with null (application/json)"],
    [
      "behind a login",
      "/login",
      {},
      "status 302 with a redirect to login.example (no content type)",
    ],
    [
      "that is not the one of the client, though the server says so",
      "/unchanged",
      {},
      "status 304 with an empty body (no content type)",
    ],
    [
      "that is elsewhere: no redirect is followed",
      "/moved",
      {},
      "status 302 with a redirect to another path (no content type)",
    ],
    ["that is too large", "/large", {}, "more than 100 bytes"],
    ["that has no end", "/endless", {}, "more than 100 bytes"],
    ["that does not begin in time", "/silent", { timeoutMs: 300 }, "TimeoutError"],
    ["that does not end in time", "/slow", { timeoutMs: 300 }, "TimeoutError"],
    ["that ends halfway", "/broken", {}, "UND_ERR_SOCKET"],
    ["from a server of public CAs", "/good", { ca: undefined }, "UNABLE_TO_VERIFY_LEAF_SIGNATURE"],
  ])("%s", async (_rule, path, changes, message) => {
    const error = await read(path, {}, changes).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(HttpsDocumentError);
    expect(error).toMatchObject({ message, isTooLarge: message.startsWith("more than") });
  });

  test.each(["/silent", "/slow", "/trickle"])(
    "of %s in time, though a signal could end it as well",
    async (path) => {
      const { signal } = new AbortController();
      await expect(read(path, { signal }, { timeoutMs: 300 })).rejects.toThrow(/^TimeoutError$/);
    },
  );

  test("from a server of another CA, which gets no request", async () => {
    const before = seen.length;
    const { certificate } = await otherCa;
    await expect(read("/good", {}, { ca: () => certificate })).rejects.toThrow(
      "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
    );
    expect(seen).toHaveLength(before);
  });

  test("from a server for another name", async () => {
    const url = `https://127.0.0.2:${server.port}/good`;
    await expect(read("", {}, { url })).rejects.toThrow(HttpsDocumentError);
  });

  test("from a server without TLS", async () => {
    const plain = createServer(onRequest);
    await new Promise<void>((resolve) => plain.listen(0, "127.0.0.1", resolve));
    const url = `https://127.0.0.1:${portOf(plain.address())}/good`;
    await expect(read("", {}, { url })).rejects.toThrow(HttpsDocumentError);
    await new Promise((resolve) => plain.close(resolve));
  });

  test("without a server", async () => {
    const { port, stop } = await startServer();
    await stop();
    await expect(read("", {}, { url: `https://127.0.0.1:${port}/` })).rejects.toThrow(
      "ECONNREFUSED",
    );
  });

  test.each(["/silent", "/slow"])("of %s once the signal aborts", async (path) => {
    const controller = new AbortController();
    const reading = read(path, { signal: controller.signal });
    setTimeout(() => controller.abort(), 100);
    await expect(reading).rejects.toThrow(/^AbortError$/);
    await expect(read("/good", { signal: controller.signal })).rejects.toThrow("AbortError");
  });

  test("and the next one is", async () => {
    const url = `https://127.0.0.1:${server.port}/sized?bytes=101`;
    const document = new HttpsDocument({
      url,
      ca: () => server.ca,
      mostBytes: 100,
      timeoutMs: 10_000,
      clock: systemClock,
      proxyOf: () => undefined,
    });
    await expect(document.fetch()).rejects.toThrow("more than 100 bytes");
    const { bytes } = await document.fetch({ query: { bytes: "100" } });
    expect(bytes).toHaveLength(100);
    await document.close();
  });
});
