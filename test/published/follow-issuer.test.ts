import { closeParts, problemsOf, runParts } from "../../src/runtime/run-process.ts";
import { createServer, type Server } from "node:https";
import { afterEach, expect, test } from "vitest";
import { followIssuer } from "../../src/published/follow-issuer.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { createMetrics } from "../../src/runtime/metrics.ts";
import { signRevokedList } from "../../src/tokens/revoked-list.ts";
import { signRolesList } from "../../src/tokens/roles-list.ts";
import { publicJwks } from "../../src/tokens/signing-keys.ts";
import { eventually } from "../support/eventually.ts";
import { testCertificates } from "../support/gateway-fixture.ts";
import { recordingLog } from "../support/recording-log.ts";
import { FakeStateSecret, revokedUntil } from "../support/revoked-list-fixture.ts";
import { newKeys } from "../tokens/signed-text.ts";

const signingKeys = newKeys("signing");
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

/** The server of an issuer, with the answers of the real one to `after`. */
async function startIssuer() {
  const { ca, tls } = await testCertificates();
  const seen: string[] = [];
  const state = { list: "", roles: "", waiting: () => {} };
  const server = createServer({ cert: tls.certificate, key: tls.privateKey }, (asked, answer) => {
    seen.push(`${asked.url} ${asked.headers.accept}`);
    if (asked.url === "/openid/v1/jwks") answer.end(JSON.stringify(publicJwks(signingKeys)));
    else if (asked.url === "/openid/v1/revoked") answer.end(state.list);
    // As an issuer that publishes no roles.
    else if (asked.url?.startsWith("/openid/v1/roles")) {
      answer.statusCode = state.roles === "" ? 404 : 200;
      answer.end(state.roles);
    } else state.waiting = () => answer.end(state.list);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => stopped(server));
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("no port");
  const issuer = `https://127.0.0.1:${address.port}`;
  async function publish(n: number, ...jtis: readonly string[]): Promise<void> {
    const now = Date.now();
    const terms = { issuer, now, seq: { epoch: 0, n }, revoked: revokedUntil(now, jtis) };
    state.list = await signRevokedList(terms, signingKeys);
    state.waiting();
  }
  async function publishRoles(role: string): Promise<void> {
    const published = { roles: [{ role, rules: [] }], omitted: [] };
    const terms = { issuer, now: Date.now(), version: "0".repeat(32), published };
    state.roles = await signRolesList(terms, signingKeys);
  }
  return { issuer, ca, seen, publish, publishRoles };
}

function stopped(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

test("the keys and the lists are those that the issuer publishes", async () => {
  const { issuer, ca, seen, publish, publishRoles } = await startIssuer();
  await publish(1);
  const [metrics, stop, log] = [createMetrics(), new AbortController(), recordingLog()];
  const state = { keys: new Array<readonly string[]>(), lists: 0 };
  const { client } = new FakeStateSecret();
  const followed = followIssuer(
    {
      issuer,
      namespace: "latchkey-system",
      jwksUrl: undefined,
      issuerCa: { current: () => ca, warnings: () => [] },
      maximumListAge: undefined,
    },
    {
      client,
      clock: systemClock,
      random: () => 0.5,
      log,
      metrics,
      secretName: "latchkey-direct-endpoint-keys",
      proxyOf: () => undefined,
      onKeys: (keys) => void state.keys.push([...keys.keys()]),
      onList: () => void (state.lists += 1),
    },
  );
  expect(problemsOf(followed.parts)).toHaveLength(2);
  const running = runParts(followed.parts, stop.signal);
  closing.push(async () => {
    stop.abort();
    await running;
    await closeParts(followed.parts);
  });
  const soon = { every: 5 };
  await eventually(() => problemsOf(followed.parts).length === 0, {
    ...soon,
    what: "keys and list",
  });
  expect([state.keys, state.lists]).toEqual([[[signingKeys.signing.kid]], 1]);
  expect(followed.revoked.has("uid-token")).toBe(false);

  await eventually(() => seen.some((url) => url.includes("after")), { ...soon, what: "a poll" });
  await publish(2, "uid-token");
  await eventually(() => state.lists === 2, { ...soon, what: "the list" });
  expect(followed.revoked.has("uid-token")).toBe(true);
  const asked = [
    "/openid/v1/jwks application/json",
    "/openid/v1/revoked application/jwt",
    "/openid/v1/revoked?after=0.1 application/jwt",
  ];
  expect(seen).toEqual(expect.arrayContaining(asked));
  const { text } = await metrics.render();
  const [, confirmed] =
    /^latchkey_revoked_list_confirmed_timestamp_seconds (\S+)$/m.exec(text) ?? [];
  expect(Math.abs(Number(confirmed) - Date.now() / 1000)).toBeLessThan(20);

  // Without roles the process is ready, and what a role covers follows the issuer.
  const warnings = () => followed.parts.flatMap((part) => part.warnings?.() ?? []);
  expect([problemsOf(followed.parts), [...followed.roles.current().keys()]]).toEqual([[], []]);
  expect(warnings()).toEqual([expect.stringContaining("/openid/v1/roles: status 404")]);
  expect(log.lines.filter(({ level }) => level === "warn")).toHaveLength(1);
  await publishRoles("viewer");
  await eventually(() => followed.roles.current().has("viewer"), { ...soon, what: "the roles" });
  await eventually(() => warnings().length === 0, { ...soon, what: "no warning" });
});
