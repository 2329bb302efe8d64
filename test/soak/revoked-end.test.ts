import { expect, test } from "vitest";
import { type RevokedData, withoutSweeps } from "./revoked-end.ts";

const now = Date.parse("2026-01-01T01:00:00Z");
const over = "2026-01-01T00:55:00Z 0123456789abcdef0123456789abcdef";
const recent = "2026-01-01T00:55:01Z";
const sweep =
  "PATCH /api/v1/namespaces/latchkey-system/configmaps/latchkey-revoked-0?fieldManager=x";
const other = "PATCH /api/v1/namespaces/latchkey-system/configmaps/latchkey-kinds?fieldManager=x";

test.each<[string, RevokedData, RevokedData, readonly string[]]>([
  ["entries that are over go", { a: over, b: recent }, { b: recent }, [other]],
  ["no entry goes", { a: over }, { a: over }, [sweep, other]],
  ["a recent entry goes", { a: over, b: recent }, {}, [sweep, other]],
  ["an entry changes", { a: over, b: recent }, { b: over }, [sweep, other]],
  ["an entry is added", { a: over }, { c: recent }, [sweep, other]],
  ["an entry is unreadable", { a: "soon" }, {}, [sweep, other]],
])("when %s", (_, before, after, left) => {
  expect(withoutSweeps([sweep, other], { before, after, now })).toEqual(left);
});
