import { expect, it } from "vitest";
import { annotations } from "../../src/api/names.ts";
import { collectionOf, everyKind, type KindName, objectOf } from "../support/crd-requests.ts";
import { admin, type Answer, ask, patchTypes, unique } from "../support/policy-request.ts";
import { withPolicies } from "./policy-fixture.ts";

const names = Object.values(annotations);
/** What the API server says when an expression of a policy fails. */
const failure = /no such|overload|fails to evaluate|resulted in error|expected iterable/;

function write(kind: KindName, way: string, metadata: object): Promise<Answer> {
  const name = unique("nulls");
  const body = { ...objectOf(kind, name, {}), metadata: { name, ...metadata } };
  const path = collectionOf(kind);
  return ask(
    admin,
    way === "create"
      ? { method: "POST", path: `${path}?dryRun=All`, body }
      : {
          method: "PATCH",
          path: `${path}/${name}?dryRun=All&fieldManager=test`,
          type: patchTypes.apply,
          body,
        },
  );
}

const ways = everyKind.flatMap((kind) => ["create", "apply"].map((way) => [kind, way] as const));

withPolicies.each(ways)("no policy fails on the metadata of %s, by %s", (kind, way) => {
  it("with null in an annotation, which is empty or refused with its name", async () => {
    for (const name of names) {
      const answer = await write(kind, way, { annotations: { [name]: null } });
      const found =
        answer.code >= 300
          ? answer.message
          : `annotations[${name}] is "${answer.metadata.annotations?.[name] ?? ""}"`;
      expect(found).toContain(`annotations[${name}]`);
      expect(found).not.toMatch(failure);
    }
  });

  it.each([1, true, [], {}])("with %j in an annotation, which is refused", async (value) => {
    for (const name of names) {
      const { code, message } = await write(kind, way, { annotations: { [name]: value } });
      expect([400, 500]).toContain(code);
      expect(message).not.toMatch(failure);
      expect(message).toContain(way === "apply" ? `.annotations.${name}:` : "annotations");
    }
  });

  it.each(["annotations", "labels", "finalizers", "ownerReferences", "creationTimestamp"])(
    "with null as %s, which counts as absent",
    async (field) => {
      expect(await write(kind, way, { [field]: null })).toMatchObject({ code: 201 });
    },
  );
});

withPolicies("an empty annotation of a SharedSecret", () => {
  it.each(["create", "apply"])("that was null is named in a warning, by %s", async (way) => {
    const given = { annotations: { [annotations.syncSecretName]: null } };
    expect((await write("SharedSecret", way, given)).warnings).toContainEqual(
      expect.stringContaining(`annotations[${annotations.syncSecretName}] is empty, as null in`),
    );
  });
});
