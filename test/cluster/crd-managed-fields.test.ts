import { describe, expect, it } from "vitest";
import { apiVersion } from "../../src/api/names.ts";
import { listAt, recordAt, stringAt } from "../../src/api/parse.ts";
import { collectionOf, everyKind, objectOf, statusWriter } from "../support/crd-requests.ts";
import { eventually } from "../support/eventually.ts";
import {
  admin,
  arrange,
  ask,
  patchTypes,
  unique,
  type Answer,
  type Ask,
} from "../support/policy-request.ts";

const entriesOf = ({ metadata }: Answer): readonly unknown[] => listAt(metadata, "managedFields");

/** The entry of a manager, and the only one. */
function entryOf(answer: Answer, manager: string): unknown {
  const found = entriesOf(answer).filter((entry) => stringAt(entry, "manager") === manager);
  expect(found).toHaveLength(1);
  return found[0];
}

/** The labels that an entry names. */
function labelsOf(entry: unknown): readonly string[] {
  const metadata = recordAt(recordAt(entry, "fieldsV1"), "f:metadata");
  return Object.keys(recordAt(metadata, "f:labels")).map((name) => name.slice("f:".length));
}

describe.each(everyKind)("metadata.managedFields of the kind %s", (kind) => {
  const collection = collectionOf(kind);
  const pathOf = ({ metadata }: Answer): string => `${collection}/${metadata.name}`;
  const applyOf = (
    name: string | undefined,
    labels: Readonly<Record<string, string>>,
    query: string,
  ): Ask => ({
    method: "PATCH",
    type: patchTypes.apply,
    path: `${collection}/${name}?${query}`,
    body: { apiVersion, kind, metadata: { name, labels } },
  });
  const apply = (...terms: Parameters<typeof applyOf>): Promise<Answer> =>
    arrange(applyOf(...terms));

  it("has an entry for each manager, operation and subresource", async () => {
    const made = await arrange({
      method: "POST",
      path: `${collection}?fieldManager=creator`,
      body: objectOf(kind, unique("managed"), {}),
    });
    await apply(made.metadata.name, { team: "a" }, "fieldManager=applier");
    const changed = await ask(statusWriter, {
      method: "PATCH",
      type: patchTypes.merge,
      path: `${pathOf(made)}/status?fieldManager=creator`,
      body: { status: { observedGeneration: 1 } },
    });
    const common = {
      apiVersion,
      fieldsType: "FieldsV1",
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
    };
    expect(entriesOf(changed)).toHaveLength(3);
    expect(entriesOf(changed)).toEqual(
      expect.arrayContaining([
        {
          ...common,
          manager: "creator",
          operation: "Update",
          fieldsV1: { "f:spec": {} },
        },
        {
          ...common,
          manager: "applier",
          operation: "Apply",
          fieldsV1: { "f:metadata": { "f:labels": { "f:team": {} } } },
        },
        {
          ...common,
          manager: "creator",
          operation: "Update",
          subresource: "status",
          fieldsV1: { "f:status": { "f:observedGeneration": {} } },
        },
      ]),
    );
  });

  it("names the fields that another manager may not apply without force", async () => {
    const name = unique("managed");
    await apply(name, { team: "a" }, "fieldManager=one");
    const other = applyOf(name, { team: "b" }, "fieldManager=two");
    expect(await ask(admin, other)).toMatchObject({
      code: 409,
      reason: "Conflict",
      details: { causes: [{ reason: "FieldManagerConflict", field: ".metadata.labels.team" }] },
    });
    const forced = await apply(name, { team: "b" }, "fieldManager=two&force=true");
    expect(entriesOf(forced).map((entry) => stringAt(entry, "manager"))).toEqual(["two"]);
  });

  it("has the time when its manager added, changed or removed a field, not when another took one over", async () => {
    const name = unique("managed");
    const timeOf = (answer: Answer) => stringAt(entryOf(answer, "one"), "time");
    const begun = await apply(name, { team: "a", stage: "a" }, "fieldManager=one");
    let before = timeOf(begun);
    for (const labels of [{ team: "b" }, { team: "b", zone: "z" }, { team: "b" }]) {
      // Times have a resolution of a second.
      const taken = await eventually(
        async () => {
          const others = { stage: unique("b") };
          const answer = await apply(name, others, "fieldManager=two&force=true");
          return stringAt(entryOf(answer, "two"), "time") !== before && answer;
        },
        { what: "the second to be over" },
      );
      expect(timeOf(taken)).toBe(before);
      const changed = await apply(name, labels, "fieldManager=one");
      expect(labelsOf(entryOf(changed, "one"))).toEqual(Object.keys(labels));
      expect(timeOf(changed)).not.toBe(before);
      before = timeOf(changed);
    }
  });
});
