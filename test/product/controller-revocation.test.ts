import { isDeepStrictEqual } from "node:util";
import { decodeJwt } from "jose";
import { fetch } from "undici";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { expectNoTrouble } from "./controller-oracle.ts";
import { auditLength, latchkeyRecords } from "../support/audit-log.ts";
import { eventually } from "../support/eventually.ts";
import { allowRequesters, make, viewOf, type Own } from "../support/keys-and-tokens.ts";
import { api, as, unique, type Caller } from "../support/policy-request.ts";
import { runsAtLength } from "../support/property-runs.ts";
import { parseVerificationKeys } from "../../src/tokens/verification-keys.ts";
import { type RolesList, verifyRolesList } from "../../src/tokens/roles-list.ts";
import { isRevoked, type RevokedList, verifyRevokedList } from "../../src/tokens/revoked-list.ts";
import { revocationSeqText } from "../../src/domain/endpoint-token/revocation-seq.ts";

const kind = "DirectClusterEndpointToken";
const requesters = unique("requesters");
const alice: Caller = { user: "alice", groups: [requesters] };
const issuer = "https://latchkey.latchkey-system.svc";

/** The jti of the token of an object, once it is minted. */
async function minted(own: Own): Promise<string> {
  return eventually(
    async () => {
      const { token } = await viewOf(own);
      return token !== undefined && String(decodeJwt(token).jti);
    },
    { what: `${own.name} to be minted` },
  );
}

/** The answer to a poll of a list, and the keys to verify it with. */
async function answered(name: "revoked" | "roles", after?: string) {
  const { url } = inject("controller");
  const query = after === undefined ? "" : `?after=${after}`;
  const response = await fetch(new URL(`/openid/v1/${name}${query}`, url));
  const text = await response.text();
  // Later: the key may be rotated while a poll waits.
  const jwks = await fetch(new URL("/openid/v1/jwks", url));
  const parsed = parseVerificationKeys(Buffer.from(await jwks.arrayBuffer()));
  if (!parsed.ok) throw new Error(parsed.reason);
  const options = { keys: parsed.keys, issuer, now: Date.now() };
  return { status: response.status, text, options };
}

async function poll(after?: string): Promise<{ status: number; list: RevokedList | undefined }> {
  const { status, text, options } = await answered("revoked", after);
  if (status !== 200) return { status, list: undefined };
  const result = await verifyRevokedList(text, options);
  if (!result.ok) throw new Error(result.reason);
  return { status: 200, list: result.list };
}

/** The list of roles; undefined if it is the one that the poll names. */
async function polledRoles(after?: string): Promise<RolesList | undefined> {
  const { status, text, options } = await answered("roles", after);
  if (status === 304) return undefined;
  const result = await verifyRolesList(text, options);
  if (!result.ok) throw new Error(result.reason);
  return result.list;
}

/** The current list. */
async function current(): Promise<RevokedList> {
  const { list } = await poll();
  if (list === undefined) throw new Error("no list");
  return list;
}

/** Deletes a token as its requester, whose grant may arrive after the status of a refusal. */
const remove = (own: Own) =>
  eventually(async () => (await as(alice).delete(own.path)).code === 200, {
    what: "the requester to be allowed to delete the token",
  });

async function isListed(jti: string): Promise<boolean> {
  return isRevoked(await current(), jti);
}

const listed = (jti: string) => eventually(() => isListed(jti), { what: `${jti} to be revoked` });

const gone = (own: Own) =>
  eventually(async () => (await api.find(own.path)).code === 404, {
    what: `${own.name} to be gone`,
  });

beforeAll(() => allowRequesters(requesters));

afterAll(expectNoTrouble);

describe.skipIf(!inject("hasPolicies"))("the list of revoked tokens", () => {
  it("has a deleted token at once, and keeps it when the object is gone", async () => {
    const own = await make(kind, { by: alice });
    const jti = await minted(own);
    expect(await isListed(jti)).toBe(false);
    await remove(own);
    await listed(jti);
    await gone(own);
    expect(await isListed(jti)).toBe(true);
  });

  it("has a token whose finalizer was removed by hand", async () => {
    const own = await make(kind, { by: alice });
    const jti = await minted(own);
    await api.merge(own.path, { metadata: { finalizers: null } });
    await remove(own);
    await listed(jti);
    await gone(own);
    expect(await isListed(jti)).toBe(true);
  });

  it("answers a waiting poll at a deletion", async () => {
    const own = await make(kind, { by: alice });
    const jti = await minted(own);
    const { seq } = await current();
    // Other tests revoke tokens, too, which answers a poll.
    const untilListed = async (after: string): ReturnType<typeof poll> => {
      const answer = await poll(after);
      const { list } = answer;
      if (list === undefined || isRevoked(list, jti)) return answer;
      return untilListed(revocationSeqText(list.seq));
    };
    const waiting = untilListed(revocationSeqText(seq));
    await new Promise((resolve) => setTimeout(resolve, 300));
    const began = performance.now();
    await remove(own);
    const { list } = await waiting;
    // A poll without news is answered after 50 s.
    expect(performance.now() - began).toBeLessThan(15_000);
    expect(list !== undefined && isRevoked(list, jti)).toBe(true);
  });

  it("has the tokens of a key while it is disabled", async () => {
    const key = await make("OwnedAccessKey", {
      by: alice,
      spec: { subject: "alice", key: `lk.${unique("key")}.0123456789` },
    });
    const disable = (disabled: boolean) => api.merge(key.path, { spec: { disabled } });
    const extra = { "management.service/key-id": [key.uid] };
    const own = await make(kind, { by: { ...alice, extra } });
    const jti = await minted(own);
    expect(await isListed(jti)).toBe(false);
    await disable(true);
    await listed(jti);
    await disable(false);
    await eventually(async () => !(await isListed(jti)), { what: "the token to be accepted" });
    expect(await minted(own)).toBe(jti);
    await disable(true);
    await listed(jti);
    await api.delete(own.path);
    await api.delete(key.path);
    await gone(own);
    expect(await isListed(jti)).toBe(true);
  });

  it("has no token that was never minted", async () => {
    const extra = { "management.service/key-id": ["k-17"] };
    const own = await make(kind, { by: { ...alice, extra } });
    await eventually(
      async () => (await viewOf(own)).conditions.Ready?.reason === "ParentKeyInvalid",
      { what: "the token to be refused" },
    );
    await remove(own);
    await gone(own);
    expect(await isListed(own.uid)).toBe(false);
  });

  const { numRuns: many } = runsAtLength(40, 200);

  it(`takes fewer writes than deletions (${many})`, async () => {
    const { auditLog } = inject("controller");
    const owns = await Promise.all(Array.from({ length: many }, () => make(kind, { by: alice })));
    const jtis = await Promise.all(owns.map(minted));
    const from = auditLog === undefined ? 0 : auditLength(auditLog);
    await Promise.all(owns.map(remove));
    for (const jti of jtis) await listed(jti);
    await Promise.all(owns.map(gone));
    const writes =
      auditLog === undefined
        ? []
        : latchkeyRecords(auditLog, from).filter(
            ({ verb, objectRef }) => verb === "patch" && objectRef?.resource === "configmaps",
          );
    // How many a write takes depends on the speed of the machine.
    expect(writes.length).toBeLessThan(many);
  });
});

it("the list of roles has those of now, and answers a waiting poll at each change", async () => {
  const role = unique("role");
  const path = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
  const labels = { "management.service/scope-role": role };
  const rulesFor = (...verbs: readonly string[]) => [
    { apiGroups: [""], resources: ["pods"], verbs },
  ];
  const verbsIn = (list: RolesList): unknown => list.roles.get(role)?.flatMap(({ verbs }) => verbs);
  /** The first list that another one follows, other tests' changes of roles included. */
  const untilVerbs = async (verbs: unknown, after?: string): Promise<RolesList> => {
    const list = await polledRoles(after);
    return list !== undefined && isDeepStrictEqual(verbsIn(list), verbs)
      ? list
      : untilVerbs(verbs, list?.version ?? after);
  };
  const before = await polledRoles();
  expect(before?.roles.has(role)).toBe(false);
  const steps = [
    [() => api.create(path, { metadata: { name: role, labels }, rules: rulesFor("get") }), ["get"]],
    [() => api.merge(`${path}/${role}`, { rules: rulesFor("get", "list") }), ["get", "list"]],
    [() => api.delete(`${path}/${role}`), undefined],
  ] as const;
  let last = before;
  for (const [change, verbs] of steps) {
    const waiting = untilVerbs(verbs, last?.version);
    const began = performance.now();
    await change();
    last = await waiting;
    // A poll without news is answered after 50 s.
    expect(performance.now() - began).toBeLessThan(15_000);
  }
});
