import { createServer } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { clusterOver } from "../../../src/client/connection/cluster.ts";
import { connectUser } from "../../../src/kube/client/user-connection.ts";
import { systemClock } from "../../../src/runtime/clock.ts";
import { endServer, KeptSockets, listenLocally } from "../../support/local-server.ts";
import { fakeChoice } from "../fake-cluster.ts";
import { runCommand } from "../run-command.ts";

const html = { "content-type": "text/html" };
const json = { "content-type": "application/json" };

/** What a balancer may answer in place of the API server, and what a user reads. */
const answers = [
  [502, html, "<html>canary</html>", "502 with an HTML page (text/html)"],
  [503, html, "<html>canary</html>", "503 with an HTML page (text/html)"],
  [404, html, "<html>canary</html>", "404 with an HTML page (text/html)"],
  [200, html, "<html>canary</html>", "200 with an HTML page (text/html)"],
  [
    302,
    { ...html, location: "https://login.example/canary" },
    "canary",
    "302 with a redirect to login.example (text/html)",
  ],
  [200, json, "null", "200 with null (application/json)"],
  [200, json, "{}", "200 with JSON that is not a Kubernetes object (application/json)"],
  [
    200,
    json,
    '{"ok":"canary"}',
    "200 with JSON that is not a Kubernetes object (application/json)",
  ],
  [404, json, '{"error":"canary"}', "404 with JSON that is not a Kubernetes object"],
  [200, {}, "", "200 with an empty body (no content type)"],
] as const;

describe.each(answers)("an answer with %d, %o and %s", (status, headers, body, said) => {
  const sockets = new KeptSockets();
  const server = createServer((_, response) => response.writeHead(status, headers).end(body));
  server.on("connection", (socket) => sockets.keep(socket));
  let host = "";
  beforeAll(async () => void (host = `127.0.0.1:${await listenLocally(server)}`));
  afterAll(() => endServer(server, sockets));

  test.each([
    ["get", ["database"]],
    ["get", ["database.password"]],
    ["list", []],
    ["why", ["sharedsecret/database"]],
    ["plan", []],
    ["status", []],
    ["keys list", []],
    ["keys describe", ["ci"]],
    ["delete", ["database"]],
  ] as const)("is said by %s %j as what it is", async (command, args) => {
    const choice = { ...fakeChoice, server: `http://${host}` };
    const deps = { clock: systemClock, env: {}, isInteractive: false, onWarning: () => {} };
    const connection = await connectUser(choice, { ...deps, timeoutMs: 10_000 });
    const connect = async () => ({
      ...clusterOver(connection, choice),
      close: connection.close,
      note: undefined,
    });
    const { code, stdout, stderr } = await runCommand({ command, args, connect });
    expect(code).toBe(1);
    expect(stderr).toContain(`${host} answered ${said}`);
    expect(stdout + stderr).not.toMatch(/canary|no explanation|has no data|may not be installed/);
  });
});
