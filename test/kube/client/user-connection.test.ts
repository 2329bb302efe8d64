import { createServer, type Server } from "node:http";
import { describe, expect, test } from "vitest";
import { SecretText } from "../../../src/api/secret-text.ts";
import { bodyForUser } from "../../../src/kube/client/response-body.ts";
import { connectUser, warningsIn } from "../../../src/kube/client/user-connection.ts";
import { fakeChoice } from "../../client/fake-cluster.ts";
import { type EndlessBody, mostBuffered, writeEndlessly } from "../../support/endless-body.ts";
import { systemClock } from "../../../src/runtime/clock.ts";
import { endServer, KeptSockets, listenLocally } from "../../support/local-server.ts";

describe("the warnings of an answer", () => {
  test.each([
    [undefined, []],
    ['299 - "one \\"quoted\\""', ['one "quoted"']],
    ['299 - "one", 299 kube "two, three"', ["one", "two, three"]],
    [
      ['299 - "one"', '299 - "two"'],
      ["one", "two"],
    ],
    ["garbage", []],
  ])("%j", (header, texts) => {
    expect(warningsIn(header)).toEqual(texts);
  });
});

test("a user gets the message for a patch, without what the patch had", () => {
  const message = "the value s3cret-value is refused";
  const call = {
    method: "PATCH",
    path: "/x",
    body: { a: new SecretText(Buffer.from("s3cret-value").toString("base64")) },
  } as const;
  const answer = {
    status: 422,
    text: JSON.stringify({ kind: "Status", message, reason: "Invalid" }),
  };
  expect(() => bodyForUser(call, answer)).toThrow("the value [secret] is refused");
  expect(bodyForUser(call, { status: 200, text: '{"kind":"X"}' })).toEqual({ kind: "X" });
});

/** A connection of a user to a server of a test, and what ends both. */
async function connectTo(server: Server, timeoutMs: number) {
  const sockets = new KeptSockets();
  server.on("connection", (socket) => sockets.keep(socket));
  const choice = { ...fakeChoice, server: `http://127.0.0.1:${await listenLocally(server)}` };
  const deps = { clock: systemClock, env: {}, isInteractive: false, onWarning: () => {} };
  const connection = await connectUser(choice, { ...deps, timeoutMs });
  const end = async (): Promise<void> => {
    connection.close();
    await endServer(server, sockets);
  };
  return { connection, end };
}

test.each(["/silent", "/slow"])("a request to %s ends after its maximum time", async (path) => {
  const server = createServer((request, response) => {
    if (request.url === "/quick") return void response.end("{}");
    if (request.url === "/silent") return;
    // Something arrives all the time.
    const timer = setInterval(() => response.write(" "), 20);
    response.once("close", () => clearInterval(timer));
  });
  const { connection, end } = await connectTo(server, 1_500);
  const quick = () => connection.request({ method: "GET", path: "/quick" });
  try {
    expect(await quick()).toMatchObject({ status: 200 });
    await expect(connection.request({ method: "GET", path })).rejects.toMatchObject({
      code: "Network",
      explanation: "no answer in 1500 ms",
    });
    expect(await quick()).toMatchObject({ status: 200 });
  } finally {
    await end();
  }
});

test.each(["/endless", "/announced"])(
  "an answer to %s of more than 64 MiB ends with its connection",
  async (path) => {
    const bodies: EndlessBody[] = [];
    const server = createServer((request, response) => {
      if (request.url === "/quick") return void response.end("{}");
      if (request.url === "/endless") return void bodies.push(writeEndlessly(response, "x"));
      response.writeHead(200, { "content-length": String(65 * 1024 * 1024) }).flushHeaders();
    });
    const { connection, end } = await connectTo(server, 60_000);
    try {
      await expect(connection.request({ method: "GET", path })).rejects.toMatchObject({
        code: "Network",
        isResponseTooLarge: true,
        explanation: "the response is larger than 67108864 bytes",
      });
      for (const { closed, written } of bodies) {
        await closed;
        expect(written()).toBeLessThan(64 * 1024 * 1024 + mostBuffered);
      }
      expect(await connection.request({ method: "GET", path: "/quick" })).toMatchObject({
        status: 200,
      });
    } finally {
      await end();
    }
  },
);

describe("a user learns where an object is missing", () => {
  const object = "/apis/management.service/v1/namespaces/web/sharedsecrets/db";
  const details = { name: "db", kind: "sharedsecrets" };
  test.each([
    ["of a namespace", object, details, ' in namespace "web"'],
    ["with parameters", `${object}?dryRun=All`, details, ' in namespace "web"'],
    ["of the cluster", "/apis/management.service/v1/ownedaccesskeys/db", details, ""],
    ["which is the namespace", object, { name: "web", kind: "namespaces" }, ""],
    ["which is the kind", object, {}, ""],
  ])("%s", (_what, path, given, place) => {
    const status = { kind: "Status", message: "not found", reason: "NotFound", details: given };
    const answer = { status: 404, text: JSON.stringify(status) };
    const found = thrownBy(() => bodyForUser({ method: "GET", path }, answer));
    expect(found).toMatchObject({ explanation: `not found${place}` });
  });
});

function thrownBy(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return error;
  }
}
