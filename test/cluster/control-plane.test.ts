import { readFileSync } from "node:fs";
import { describe, expect, inject, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { kubectl } from "../support/kubectl.ts";

const own = inject("controlPlane").kind === "own";

describe.skipIf(!own)("a control plane of a test", () => {
  it("audits the user of a request, and never its body", async () => {
    const { auditLogPath = "", ...controlPlane } = inject("controlPlane");
    const literal = `canary-${process.pid}-${Date.now()}`;
    const create = [
      "create",
      "secret",
      "generic",
      literal,
      `--from-literal=key=value-of-${literal}`,
    ];
    await kubectl(controlPlane, create);
    const records = await eventually(
      () =>
        readFileSync(auditLogPath, "utf8")
          .split("\n")
          .filter((line) => line.includes(literal)),
      { what: "the audit record" },
    );

    expect(
      records.some(
        (record) => record.includes('"verb":"create"') && record.includes('"username":"admin"'),
      ),
    ).toBe(true);
    expect(records.filter((record) => record.includes(`value-of-${literal}`))).toEqual([]);
  });
});
