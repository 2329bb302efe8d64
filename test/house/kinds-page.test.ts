import { join } from "node:path";
import { expect, test } from "vitest";
import { repository } from "../support/install.ts";
import { kindsPage } from "./kinds-page.ts";

// `npm run --silent test -- test/house/kinds-page.test.ts --update` writes it.
test("docs/kinds.md has every field, label, annotation, condition and reason of the code", async () => {
  await expect(await kindsPage()).toMatchFileSnapshot(join(repository, "docs/kinds.md"));
});
