import { isDeepStrictEqual } from "node:util";
import { beforeAll, describe, expect, it } from "vitest";
import { apiVersion } from "../../src/api/names.ts";
import { recordAt } from "../../src/api/parse.ts";
import { schemaOf } from "../support/crd-schema.ts";
import {
  collectionOf,
  everyKind,
  type KindName,
  kinds,
  objectOf,
  statusWriter,
} from "../support/crd-requests.ts";
import { pathOf, type Place, placesOf, sampleOf, withValue } from "../support/null-places.ts";
import {
  admin,
  api,
  arrange,
  type Answer,
  type Ask,
  ask,
  patchTypes,
  unique,
} from "../support/policy-request.ts";

/** Fields without which a key or token allows more than with them. */
const rule = "spec.scope.rules[0]";
const limits: ReadonlySet<string> = new Set([
  ...["scope", "ttl", "disabled"].map((field) => `spec.${field}`),
  ...["projects", "virtualClusters"].map((field) => `spec.scope.roles[0].${field}`),
  ...["verbs", "resources", "resourceNames", "namespaces", "nonResourceURLs", "requestTargets"].map(
    (field) => `${rule}.${field}`,
  ),
  ...["cluster", "virtualClusters", "resources[0].group", "resources[0].resources"].map(
    (field) => `${rule}.${field}`,
  ),
  ...["name", "namespace"].map((field) => `${rule}.virtualClusters[0].${field}`),
]);

/** Values that the schema of a kind takes in place of the sample. */
const overrides: Readonly<Record<KindName, readonly (readonly [Place, unknown])[]>> = {
  SharedSecret: [],
  OwnedAccessKey: [
    [["spec", "key"], "plain-key-of-a-test-0123"],
    [["spec", "team"], undefined],
    [["spec", "subject"], undefined],
    [["spec", "identity", "connectorData"], undefined],
  ],
  DirectClusterEndpointToken: [],
};

const leftOut = (object: unknown, place: Place): unknown => withValue(object, place, undefined);
const specOf = (object: unknown) => recordAt(object, "spec");

describe.each(everyKind)("null in a field of the spec of %s", (kind) => {
  const collection = collectionOf(kind);
  let places: readonly Place[];
  let stored: Answer;
  let path: string;
  const dry = (query = "") => `${path}?dryRun=All${query}`;

  beforeAll(async () => {
    const spec = recordAt(recordAt(await schemaOf(kinds[kind].plural), "properties"), "spec");
    places = placesOf(spec, ["spec"]);
    const whole = overrides[kind].reduce<unknown>(
      (object, [place, value]) => withValue(object, place, value),
      { spec: sampleOf(spec) },
    );
    const name = unique("nulls");
    path = `${collection}/${name}`;
    stored = await arrange({
      method: "PATCH",
      path: `${path}?fieldManager=test`,
      type: patchTypes.apply,
      body: objectOf(kind, name, specOf(whole)),
    });
  });

  /** Requests that write the stored object with null at one place. */
  const ways: Readonly<Record<string, (object: unknown) => Ask>> = {
    create: (object) => ({
      method: "POST",
      path: `${collection}?dryRun=All`,
      body: objectOf(kind, unique("nulls"), specOf(object)),
    }),
    apply: (object) => {
      const name = unique("nulls");
      return {
        method: "PATCH",
        path: `${collection}/${name}?dryRun=All&fieldManager=test`,
        type: patchTypes.apply,
        body: objectOf(kind, name, specOf(object)),
      };
    },
    "apply again": (object) => ({
      method: "PATCH",
      path: dry("&fieldManager=test"),
      type: patchTypes.apply,
      body: objectOf(kind, stored.metadata.name ?? "", specOf(object)),
    }),
    replace: (object) => ({
      method: "PUT",
      path: dry(),
      body: { apiVersion, kind, metadata: stored.metadata, spec: specOf(object) },
    }),
    "JSON patch": (object) => ({
      method: "PATCH",
      path: dry(),
      type: patchTypes.json,
      body: [{ op: "replace", path: "/spec", value: specOf(object) }],
    }),
    "merge patch": (object) => ({
      method: "PATCH",
      path: dry(),
      type: patchTypes.merge,
      body: { spec: specOf(object) },
    }),
  };

  it.each(Object.keys(ways))("counts as absent or is refused with its name by %s", async (way) => {
    const found = await Promise.all(
      places.map(async (place) => {
        const answer = await ask(
          admin,
          ways[way]?.(withValue(stored, place, null)) ?? { method: "GET", path },
        );
        return [pathOf(place), outcomeOf(answer, place)] as const;
      }),
    );
    expect(Object.fromEntries(found)).toEqual(
      Object.fromEntries(places.map((place) => [pathOf(place), expected(place, way)])),
    );
  });

  function outcomeOf(answer: Answer, place: Place): string {
    const field = pathOf(place);
    if (answer.code >= 300) {
      const named = [`${field}: `, "spec is immutable", "resourceNames requires resources"];
      return named.some((text) => answer.message.includes(text)) ? "refused" : answer.message;
    }
    if (!isDeepStrictEqual(answer.spec, specOf(leftOut(stored, place))))
      return `stored as ${JSON.stringify(answer.spec)}`;
    const isWarned = answer.warnings?.some((text) => text.includes(`${field} was removed`));
    return isWarned === true ? "absent, with a warning" : "absent";
  }

  function expected(place: Place, way: string): string {
    const isEntry = typeof place.at(-1) === "number";
    if (kind === "DirectClusterEndpointToken" && !["create", "apply"].includes(way))
      return "refused";
    if (isEntry || way.startsWith("apply")) return "refused";
    if (!limits.has(pathOf(place))) return "absent";
    if (way !== "merge patch" || pathOf(place) === `${rule}.resources`) return "refused";
    return "absent, with a warning";
  }
});

describe.each(everyKind)("null in %s", (kind) => {
  it.each(["spec", "status"])("as the whole %s counts as absent in a create", async (field) => {
    const body = { ...objectOf(kind, unique("nulls"), {}), [field]: null };
    const answer = await ask(admin, {
      method: "POST",
      path: `${collectionOf(kind)}?dryRun=All`,
      body,
    });
    expect(answer).toMatchObject({ code: 201, status: { observedGeneration: -1 } });
  });

  it("in a field of the status counts as absent or is refused with its name", async () => {
    const schema = recordAt(recordAt(await schemaOf(kinds[kind].plural), "properties"), "status");
    const { metadata } = await api.create(collectionOf(kind), objectOf(kind, unique("nulls"), {}));
    const path = `${collectionOf(kind)}/${metadata.name}/status?dryRun=All`;
    const found = await Promise.all(
      placesOf(schema, ["status"]).map(async (place) => {
        const status = recordAt(withValue({ status: sampleOf(schema) }, place, null), "status");
        const body = { apiVersion, kind, metadata, status };
        const answer = await ask(statusWriter, { method: "PUT", path, body });
        const isNamed = answer.code >= 300 && answer.message.includes(`${pathOf(place)}: `);
        const isAbsent = answer.code === 200 && !JSON.stringify(answer.status).includes("null");
        return isNamed || isAbsent ? [] : [[pathOf(place), answer.message]];
      }),
    );
    expect(found.flat()).toEqual([]);
  });

  it.each(["apiVersion", "kind"])("as the %s is refused with its name", async (field) => {
    const body = { ...objectOf(kind, unique("nulls"), {}), [field]: null };
    const answer = await ask(admin, {
      method: "POST",
      path: `${collectionOf(kind)}?dryRun=All`,
      body,
    });
    expect(answer.code).toBe(400);
    expect(answer.message).toMatch(new RegExp(field === "kind" ? "Kind" : "apiVersion", "i"));
  });
});
