import { createServer, type RequestListener } from "node:http";
import { afterEach, describe, expect, test } from "vitest";
import { githubToken } from "../../../src/client/oidc/github-token.ts";
import { systemClock } from "../../../src/runtime/clock.ts";
import { endServer, KeptSockets, listenLocally } from "../../support/local-server.ts";

const audience = "https://latchkey.example/deploy & more";
let ending: (() => Promise<void>) | undefined;
afterEach(async () => {
  await ending?.();
  ending = undefined;
});

/** A runner that answers as a function says. */
async function runner(answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  const sockets = new KeptSockets();
  server.on("connection", (socket) => sockets.keep(socket));
  ending = () => endServer(server, sockets);
  return `http://127.0.0.1:${await listenLocally(server)}/token`;
}

/** Requests a token with these variables of a job. */
const ask = (url: string, token = "canary-request-token") =>
  githubToken(audience, {
    env: { ACTIONS_ID_TOKEN_REQUEST_URL: url, ACTIONS_ID_TOKEN_REQUEST_TOKEN: token },
    clock: systemClock,
  });

test.each([
  ["a query", "?api-version=2.0", "/token?api-version=2.0&"],
  ["no query", "", "/token?"],
])("a URL with %s is asked for the audience, with the token of the job", async (_, query, path) => {
  const seen: unknown[] = [];
  const url = await runner(({ method, url: target, headers }, response) => {
    seen.push([method, target, headers.authorization]);
    response.end(JSON.stringify({ value: "a.b.c", count: 3 }));
  });
  expect(await ask(url + query)).toBe("a.b.c");
  const encoded = "https%3A%2F%2Flatchkey.example%2Fdeploy%20%26%20more";
  expect(seen).toEqual([["GET", `${path}audience=${encoded}`, "Bearer canary-request-token"]]);
});

describe("an answer is refused, and not quoted:", () => {
  test.each<[string, number, string, string]>([
    ["a status", 403, "canary", "with status 403; the job needs permissions: id-token: write"],
    ["a redirect, which is not followed", 302, "", "with status 302"],
    ["text", 200, "canary", 'no JSON object with a text "value"'],
    ["no token", 200, '{"value":["canary"]}', 'no JSON object with a text "value"'],
    ["an empty token", 200, '{"value":""}', 'no JSON object with a text "value"'],
    ["one that is too large", 200, "canary".repeat(20_000), "larger than 65536 bytes"],
  ])("%s", async (_what, status, body, why) => {
    const paths: unknown[] = [];
    const url = await runner(({ url: target }, response) => {
      paths.push(target);
      response.writeHead(status, { location: "/elsewhere" }).end(body);
    });
    const error = await ask(url).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(Error);
    expect(String(error)).toContain("the runner at 127.0.0.1:");
    expect(String(error)).toContain(why);
    expect(String(error)).not.toContain("canary");
    expect(paths).toHaveLength(1);
  });
});

test("a runner that ends the connection gave no token", async () => {
  const url = await runner((request) => void request.socket.destroy());
  await expect(ask(url)).rejects.toThrow(/gave no token: ECONNRESET; run the job again/);
});

test.each([
  ["http://runner.example/token", "must be an https URL"],
  ["http://127.0.0.1.example/token", "must be an https URL"],
  ["ftp://127.0.0.1/token", "must be an https URL"],
  ["canary", "must be an https URL"],
  ["", "the job needs permissions: id-token: write"],
])("the URL %j is refused before any request, and not quoted", async (url, why) => {
  const error = await ask(url).catch((reason: unknown) => reason);
  expect(String(error)).toContain(why);
  expect(String(error)).not.toMatch(/canary|runner\.example/);
});

test.each(["", "canary\nx: y"])(
  "the request token %j is refused, and not quoted",
  async (token) => {
    const error = await ask("https://127.0.0.1:1/token", token).catch((reason: unknown) => reason);
    expect(String(error)).toContain("ACTIONS_ID_TOKEN_REQUEST_TOKEN");
    expect(String(error)).not.toContain("canary");
  },
);
