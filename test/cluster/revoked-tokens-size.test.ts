import { createHash, randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { fieldManager, revokedTokensName } from "../../src/api/names.ts";
import { resources } from "../../src/api/resources.ts";
import { parseRevokedTokens } from "../../src/controllers/kinds/revoked-tokens.ts";
import type { RevocationDecision } from "../../src/domain/endpoint-token/revocation.ts";
import {
  entryText,
  planRevokedTokens,
  type RevokedTokensConfigMap,
  revokedTokensLimits,
} from "../../src/domain/endpoint-token/revoked-tokens.ts";
import { type Client, createClient } from "../../src/kube/client/client.ts";
import { mostOwnResponseBytes } from "../../src/kube/client/exchange.ts";
import { loadCredentials } from "../../src/kube/credentials/load-credentials.ts";
import { createTransport, type Transport } from "../../src/kube/client/transport.ts";
import { systemClock as clock } from "../../src/runtime/clock.ts";
import { connect, type Connection } from "../support/cluster-connection.ts";
import { admin, ask, makeNamespace, patchTypes } from "../support/policy-request.ts";

/** Default of etcd's --max-request-bytes. */
const mostBytes = 1.5 * 1024 * 1024;
const hour = 3_600_000;
const now = Date.now();

let transport: Transport;
let connection: Connection;
let client: Client;
let namespace: string;

beforeAll(async () => {
  const { adminKubeconfig } = inject("controlPlane");
  const credentials = await loadCredentials({ kubeconfig: adminKubeconfig, env: {} }, clock);
  transport = createTransport({
    credentials,
    clock,
    connections: 4,
    timeoutMs: 60_000,
    mostBytes: mostOwnResponseBytes,
  });
  client = createClient(transport, fieldManager);
  connection = await connect(adminKubeconfig);
  namespace = await makeNamespace();
});

afterAll(async () => {
  await transport.close();
  await connection.pool.destroy();
});

/** Decisions about this number of tokens, each of another requester. */
function revoked(count: number): ReadonlyMap<string, RevocationDecision> {
  const requester = (index: number) =>
    createHash("sha256").update(`requester ${index}`).digest("hex").slice(0, 32);
  return new Map(
    Array.from({ length: count }, (_, index) => [
      randomUUID(),
      { kind: "revoked", expiresAt: now + hour, requester: requester(index) },
    ]),
  );
}

const refOf = (number: number) => ({ namespace, name: revokedTokensName(number) });
const pathOf = (number: number) =>
  `/api/v1/namespaces/${namespace}/configmaps/${revokedTokensName(number)}`;
const read = async (number: number): Promise<RevokedTokensConfigMap> =>
  parseRevokedTokens(await client.get(resources.configMaps, refOf(number)));

/** Writes decisions like the controller. */
async function write(
  lists: readonly RevokedTokensConfigMap[],
  decisions: ReadonlyMap<string, RevocationDecision>,
): Promise<void> {
  const { steps } = planRevokedTokens({ lists, decisions, namespace }, now);
  for (const step of steps.flat()) {
    if (step.do === "create") await client.create(step.resource, step.object);
    if (step.do === "patch") await client.patch(step.resource, step.ref, { body: step.body });
  }
}

/** The bytes of a ConfigMap in etcd, which stores it as protobuf. */
async function storedBytes(number: number): Promise<number> {
  const { headers, pool } = connection;
  const response = await pool.request({
    method: "GET",
    path: pathOf(number),
    headers: [...headers, "accept", "application/vnd.kubernetes.protobuf"],
  });
  return (await response.body.arrayBuffer()).byteLength;
}

const { entries: most } = revokedTokensLimits;

test("a full ConfigMap of the deny list fits into etcd", async () => {
  const all = [...revoked(most + 1)];
  await write([], new Map(all.slice(0, most / 2)));
  await write([await read(0)], new Map(all));
  const lists = [await read(0), await read(1)];
  expect(lists.map(({ entries }) => entries.size)).toEqual([most, 1]);
  const bytes = await storedBytes(0);
  process.stderr.write(`a ConfigMap with ${most} revoked tokens: ${bytes} bytes in etcd\n`);
  expect(bytes).toBeLessThan(mostBytes);
});

test("it also fits if a backup tool owns all its fields, and the controller still adds to it", async () => {
  const [list] = [await read(0)];
  const data = Object.fromEntries([...list.entries].map(([jti, entry]) => [jti, entryText(entry)]));
  const applied = await ask(admin, {
    method: "PATCH",
    path: `${pathOf(0)}?fieldManager=backup&force=true`,
    type: patchTypes.apply,
    body: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: revokedTokensName(0) }, data },
  });
  expect(applied).toMatchObject({ code: 200 });
  const [first = ""] = list.entries.keys();
  await write([await read(0)], new Map([[first, { kind: "valid" }], ...revoked(1)]));
  const { entries } = await read(0);
  expect([entries.size, entries.has(first)]).toEqual([most, false]);
  const bytes = await storedBytes(0);
  process.stderr.write(`with two managers: ${bytes} bytes in etcd\n`);
  expect(bytes).toBeLessThan(mostBytes);
});
