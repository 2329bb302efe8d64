import { createServer, type Server } from "node:https";
import { afterEach, expect, test } from "vitest";
import { SecretText } from "../../src/api/secret-text.ts";
import { authorizeAgain, admitRequest } from "../../src/gateway/admit-request.ts";
import { followIssuer } from "../../src/gateway/follow-issuer.ts";
import { tokenAuthenticator } from "../../src/gateway/token-authenticator.ts";
import { directRoutes } from "../../src/domain/gateway/request-target.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { createMetrics } from "../../src/runtime/metrics.ts";
import { mintToken } from "../../src/tokens/jwt.ts";
import { signRevokedList } from "../../src/tokens/revoked-list.ts";
import { publicJwks } from "../../src/tokens/signing-keys.ts";
import { eventually } from "../support/eventually.ts";
import { headOf } from "../support/fake-exchange.ts";
import { fakeGatewayDeps } from "../support/gateway-deps.ts";
import { testCertificates } from "../support/gateway-fixture.ts";
import { recordingLog } from "../support/recording-log.ts";
import { FakeKeptSecret, revokedUntil } from "../support/revoked-list-fixture.ts";
import { newKeys } from "../tokens/signed-text.ts";

const audience = "management.service/direct";
const signingKeys = newKeys("signing");
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

/** The server of an issuer, with the answers of the real one to `after`. */
async function startIssuer() {
  const { ca, tls } = await testCertificates();
  const seen: string[] = [];
  const state = { list: "", waiting: () => {} };
  const server = createServer({ cert: tls.certificate, key: tls.privateKey }, (asked, answer) => {
    seen.push(`${asked.url} ${asked.headers.accept}`);
    if (asked.url === "/openid/v1/jwks") answer.end(JSON.stringify(publicJwks(signingKeys)));
    else if (asked.url === "/openid/v1/revoked") answer.end(state.list);
    else state.waiting = () => answer.end(state.list);
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
  return { issuer, ca, seen, publish };
}

function stopped(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

test("a token is accepted until the issuer publishes that it is revoked", async () => {
  const { issuer, ca, seen, publish } = await startIssuer();
  await publish(1);
  const [metrics, stop, log] = [createMetrics(), new AbortController(), recordingLog()];
  const state = { changes: 0 };
  const secret = new FakeKeptSecret();
  const { get, patch } = secret.client;
  const unused = () => Promise.reject(new Error("not used"));
  const client = {
    ...{ get, patch, getMetadata: unused, create: unused, review: unused },
    ...{ replace: unused, delete: unused },
  };
  const followed = followIssuer(
    {
      ...{ issuer, audience, namespace: "latchkey-system", jwksUrl: undefined },
      ...{ issuerCa: ca, maximumListAge: undefined },
    },
    {
      ...{ client, clock: systemClock, random: () => 0.5, log, metrics },
      onChange: () => void (state.changes += 1),
    },
  );
  expect(followed.problems()).toHaveLength(2);
  const running = followed.parts.map((part) => part.run(stop.signal));
  closing.push(async () => {
    stop.abort();
    await Promise.all(running);
    await followed.close();
  });
  const within = { within: 20_000, every: 5 };
  await eventually(() => followed.problems().length === 0, { ...within, what: "keys and list" });

  const { findUpstream } = fakeGatewayDeps();
  const server = findUpstream({ kind: "management" });
  const deps = {
    routes: directRoutes("east"),
    findUpstream: () => server,
    authenticator: tokenAuthenticator({
      ...{ tokens: followed.tokens, keys: followed.keys, revoked: followed.revoked },
      ...{ clock: systemClock, namespace: "latchkey-system", isFresh: () => true },
      ...{ prefixes: { user: "", groups: "" }, roles: () => new Map(), onResult() {} },
    }),
  };
  const iat = Math.floor(Date.now() / 1000);
  const minted = await mintToken(
    {
      ...{ iss: issuer, aud: audience, sub: "alice", jti: "uid-token", groups: [] },
      ...{ iat, nbf: iat, exp: iat + 600, "management.service": { name: "laptop" } },
    },
    signingKeys,
  );
  const key = SecretText.reveal(minted.token);
  const head = { ...headOf({ key }), target: "/kubernetes/cluster/api" };
  const admitted = await admitRequest(head, deps);
  if (admitted.kind !== "admitted") throw new Error("not admitted");
  expect(authorizeAgain(admitted, deps)).toEqual({ kind: "no-opinion" });
  const before = state.changes;

  await eventually(() => seen.some((url) => url.includes("after")), { ...within, what: "a poll" });
  await publish(2, "uid-token");
  await eventually(() => state.changes > before, { ...within, what: "the list" });
  expect(authorizeAgain(admitted, deps)).toMatchObject({ kind: "denied" });
  expect(await admitRequest(head, deps)).toMatchObject({ kind: "refusal", status: 401 });
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
  expect(log.lines.filter(({ level }) => level === "warn")).toEqual([]);
});
