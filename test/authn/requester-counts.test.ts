import { expect, test } from "vitest";
import { RequesterCounts } from "../../src/authn/requester-counts.ts";
import { annotations } from "../../src/api/names.ts";
import { observedMetadata } from "../support/observed-objects.ts";

const of = (requester: string) =>
  observedMetadata({ annotations: { [annotations.requester]: requester } });

test("RequesterCounts counts objects by requester through creation, update and deletion", () => {
  const counts = new RequesterCounts();
  counts.note(undefined, of("alice"));
  counts.note(undefined, of("alice"));
  counts.note(undefined, observedMetadata());
  expect([counts.of("alice"), counts.of("bob"), counts.of("")]).toEqual([2, 0, 0]);
  counts.note(of("alice"), of("alice"));
  counts.note(of("alice"), of("bob"));
  expect([counts.of("alice"), counts.of("bob")]).toEqual([1, 1]);
  counts.note(of("alice"), undefined);
  counts.note(of("bob"), undefined);
  expect([counts.of("alice"), counts.of("bob")]).toEqual([0, 0]);
});
