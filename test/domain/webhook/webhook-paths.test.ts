import { readFileSync } from "node:fs";
import { join } from "node:path";
import { load } from "js-yaml";
import { expect, test } from "vitest";
import { listAt, recordAt, stringAt } from "../../../src/api/parse.ts";
import { admissionPath, webhookPaths } from "../../../src/domain/webhook/webhook-paths.ts";

const config = join(import.meta.dirname, "..", "..", "..", "config");

test.each(["webhook/admission.yaml", "before-1.36/requester-annotations.yaml"])(
  "the webhooks of %s have the names of their paths, and leave the path to the webhook",
  (file) => {
    const webhooks = listAt(load(readFileSync(join(config, file), "utf8")), "webhooks");
    const paths = webhooks.map((webhook) =>
      admissionPath("segment", stringAt(webhook, "name") ?? ""),
    );
    expect(paths).not.toEqual([]);
    expect(Object.values(webhookPaths).map((path) => `/segment${path}`)).toEqual(
      expect.arrayContaining(paths),
    );
    expect(
      webhooks.filter(
        (webhook) => "path" in recordAt(recordAt(webhook, "clientConfig"), "service"),
      ),
    ).toEqual([]);
  },
);
