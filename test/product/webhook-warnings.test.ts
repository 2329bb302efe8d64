import { beforeAll, describe, expect, inject, it } from "vitest";
import { annotations, lastAppliedAnnotation } from "../../src/api/names.ts";
import { collectionOf, type KindName, objectOf } from "../support/crd-requests.ts";
import { eventually } from "../support/eventually.ts";
import { managementPath } from "../support/gateway-address.ts";
import { askGateway } from "../support/gateway-request.ts";
import { type KnownKey, makeKey, worksAs } from "../support/key-request.ts";
import { allowRequesters } from "../support/keys-and-tokens.ts";
import { api, bind, patchTypes, unique } from "../support/policy-request.ts";
import { gatewayKnows, type WayIn } from "../support/ways-in.ts";

const admins = unique("admins");
const rules = [{ verbs: ["get"] }, { resources: [{ group: "nowhere", resources: ["none"] }] }];

/** A kind, and what the API server warns of in its objects. */
const rows: readonly {
  readonly kind: KindName;
  readonly spec: object;
  readonly annotations: Readonly<Record<string, string>>;
  /** What a change of it may change with a key. */
  readonly change: object;
}[] = [
  {
    kind: "SharedSecret",
    spec: { data: { a: "b25l" } },
    annotations: { "management.service/sync-too": "a", [annotations.syncFormat]: "b" },
    change: { data: { a: "dHdv" } },
  },
  {
    kind: "OwnedAccessKey",
    spec: { user: "alice", groups: [admins], ttl: 600, scope: { rules } },
    annotations: { [lastAppliedAnnotation]: "{}" },
    change: { displayName: "changed" },
  },
  {
    kind: "DirectClusterEndpointToken",
    spec: { ttl: 600, scope: { rules } },
    annotations: { [lastAppliedAnnotation]: "{}" },
    change: {},
  },
];

type Row = (typeof rows)[number];

const verbs = [
  "create",
  "create by apply",
  "replace",
  "merge patch",
  "JSON patch",
  "apply",
] as const;
type Verb = (typeof verbs)[number];

/** A request about an object of its own. */
interface Asked {
  readonly verb: Verb;
  readonly query: string;
  readonly http2: boolean;
}

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly type: string;
  readonly body: unknown;
  readonly http2?: boolean;
}

function patching(type: keyof typeof patchTypes, path: string, body: unknown): Sent {
  return { method: "PATCH", path, type: patchTypes[type], body };
}

describe.skipIf(inject("webhook") === undefined)("the warnings of the API server", () => {
  let key: KnownKey;

  beforeAll(async () => {
    await bind({ kind: "Group", name: admins }, "cluster-admin");
    await allowRequesters(admins);
    key = await makeKey({ spec: { user: "alice", groups: [admins] } });
    await worksAs(key);
    await gatewayKnows(key);
  });

  const direct: WayIn = { prefix: "", server: inject("controlPlane") };
  const gateway: WayIn = { prefix: managementPath };

  const ask = ({ prefix, ...way }: WayIn, { path, type, body, ...request }: Sent) =>
    askGateway({
      key: key.key,
      path: prefix + path,
      headers: { "content-type": type },
      body: JSON.stringify(body),
      ...request,
      ...way,
    });

  /** The warnings of one request at a way in; each has an object of its own. */
  const warningsOf = async (way: WayIn, row: Row, { verb, query, http2 }: Asked) => {
    const name = unique("warned");
    const collection = collectionOf(row.kind);
    const path = `${collection}/${name}`;
    const metadata = { name, annotations: row.annotations };
    const object = { ...objectOf(row.kind, name, row.spec), metadata };
    const create = { method: "POST", type: "application/json", body: object } as const;
    const isNew = verb.startsWith("create");
    if (!isNew) {
      const { status, text } = await ask(direct, { ...create, path: collection });
      expect([status, status === 201 ? "" : text]).toEqual([201, ""]);
    }
    const changed = { ...object, spec: { ...row.spec, ...row.change } };
    const replaced = async () => {
      const {
        code: _code,
        warnings: _warnings,
        message: _message,
        ...stored
      } = await api.get(path);
      return { ...stored, spec: { ...stored.spec, ...row.change } };
    };
    const operations = Object.entries(row.change).map(([field, value]) => ({
      op: "add",
      path: `/spec/${field}`,
      value,
    }));
    const apply = "&fieldManager=test&force=true";
    const requests: Readonly<Record<Verb, () => Promise<Sent>>> = {
      create: async () => ({ ...create, path: `${collection}?${query}` }),
      "create by apply": async () => patching("apply", `${path}?${query}${apply}`, object),
      replace: async () => ({
        method: "PUT",
        path: `${path}?${query}`,
        type: "application/json",
        body: await replaced(),
      }),
      "merge patch": async () => patching("merge", `${path}?${query}`, { spec: row.change }),
      "JSON patch": async () => patching("json", `${path}?${query}`, operations),
      apply: async () => patching("apply", `${path}?${query}${apply}`, changed),
    };
    // The controller may write the object before it is replaced.
    const { status, headers, text } = await eventually(
      async () => {
        const answer = await ask(way, { ...(await requests[verb]()), http2 });
        return answer.status !== 409 && answer;
      },
      { what: `${verb} of a ${row.kind}` },
    );
    const code = isNew ? 201 : 200;
    expect([verb, status, status === code ? "" : text]).toEqual([verb, code, ""]);
    const { warning = "" } = headers;
    const found = (typeof warning === "string" ? warning : "an array").match(
      /299 - "(?:[^"\\]|\\.)*"/g,
    );
    return (found ?? []).map((warning) => warning.replaceAll(name, "NAME")).toSorted();
  };

  describe.each(rows)("about a $kind", (row) => {
    it.each(verbs.flatMap((verb) => [[verb, ""] as const, [verb, "dryRun=All"] as const]))(
      "are the same at both ways in: %s %s",
      async (verb, query) => {
        const expected = await warningsOf(direct, row, { verb, query, http2: false });
        expect(expected.length > 0 || !verb.startsWith("create")).toBe(true);
        for (const http2 of [false, true])
          expect(await warningsOf(gateway, row, { verb, query, http2 })).toEqual(expected);
      },
    );
  });
});
