import { beforeAll, describe, expect, inject, it } from "vitest";
import { annotations, lastAppliedAnnotation } from "../../src/api/names.ts";
import { recordAt } from "../../src/api/parse.ts";
import { collectionOf, type KindName, objectOf } from "../support/crd-requests.ts";
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
  /** The same spec with a change that warns, too. */
  readonly changed: object;
}[] = [
  {
    kind: "SharedSecret",
    spec: { data: { a: "b25l" } },
    annotations: { "management.service/sync-too": "a", [annotations.syncFormat]: "b" },
    changed: { data: { a: "dHdv" } },
  },
  {
    kind: "OwnedAccessKey",
    spec: { user: "alice", groups: [admins], ttl: 600, scope: { rules } },
    annotations: { [lastAppliedAnnotation]: "{}" },
    changed: { user: "alice", groups: [admins], ttl: 500, scope: { rules } },
  },
  {
    kind: "DirectClusterEndpointToken",
    spec: { ttl: 600, scope: { rules } },
    annotations: { [lastAppliedAnnotation]: "{}" },
    changed: { ttl: 600, scope: { rules } },
  },
];

const verbs = ["create", "replace", "merge patch", "JSON patch", "apply", "apply anew"] as const;

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

  /** The warnings of one request at a way in, in which each object has a name of its own. */
  const warningsOf = async (
    { prefix, ...way }: WayIn,
    row: (typeof rows)[number],
    { verb, query, http2 = false }: { verb: string; query: string; http2?: boolean },
  ): Promise<readonly string[]> => {
    const { kind, spec, changed } = row;
    const name = unique("warned");
    const collection = collectionOf(kind);
    const metadata = { name, annotations: row.annotations };
    const object = { ...objectOf(kind, name, spec), metadata };
    const isNew = verb === "create" || verb === "apply anew";
    const stored = isNew ? {} : await api.create(collection, object);
    const next = { ...object, spec: changed };
    // The controller may write the object in between; a merge of the version would be a conflict.
    const { resourceVersion: _, ...given } = recordAt(stored, "metadata");
    const [method, type, body] = (
      {
        create: ["POST", "application/json", object],
        replace: ["PUT", "application/json", { ...stored, ...next, metadata: given }],
        "merge patch": ["PATCH", patchTypes.merge, { spec: changed }],
        "JSON patch": [
          "PATCH",
          patchTypes.json,
          [{ op: "replace", path: "/spec", value: changed }],
        ],
        apply: ["PATCH", patchTypes.apply, next],
        "apply anew": ["PATCH", patchTypes.apply, object],
      } as const
    )[verb as (typeof verbs)[number]];
    const path = method === "POST" ? collection : `${collection}/${name}`;
    const options = type === patchTypes.apply ? "&fieldManager=test&force=true" : "";
    const { status, headers, text } = await askGateway({
      method,
      key: key.key,
      http2,
      path: `${prefix}${path}?${query}${options}`,
      headers: { "content-type": type },
      body: JSON.stringify(body),
      ...way,
    });
    expect({ verb, status, text: status < 300 ? "" : text }).toEqual({
      verb,
      status: isNew ? 201 : 200,
      text: "",
    });
    const warnings = [headers["warning"] ?? []].flat().join(", ");
    const found = warnings.match(/299 - "(?:[^"\\]|\\.)*"/g) ?? [];
    return found.map((warning) => warning.replaceAll(name, "NAME")).toSorted();
  };

  describe.each(rows)("about a $kind", (row) => {
    it.each(verbs.flatMap((verb) => [[verb, ""] as const, [verb, "dryRun=All"] as const]))(
      "are the same at both ways in: %s %s",
      async (verb, query) => {
        const expected = await warningsOf(direct, row, { verb, query });
        if (verb === "create") expect(expected.length).toBeGreaterThan(0);
        expect(await warningsOf(gateway, row, { verb, query })).toEqual(expected);
        expect(await warningsOf(gateway, row, { verb, query, http2: true })).toEqual(expected);
      },
    );
  });
});
