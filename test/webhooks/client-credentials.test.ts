import { expect, test } from "vitest";
import { plain } from "../../src/runtime/routes.ts";
import { apiServerName, forApiServer } from "../../src/webhooks/client-credentials.ts";
import { posted } from "./reviewing.ts";

test.each<[string | undefined, number]>([
  [apiServerName, 200],
  ["latchkey:somebody", 401],
  [undefined, 401],
])("who shows a certificate of %s is answered with %i", async (clientName, status) => {
  let asked = 0;
  const handler = forApiServer(() => {
    asked += 1;
    return plain(200, "secret");
  });
  expect((await handler(posted({}), { clientName })).status).toBe(status);
  expect(asked).toBe(status === 200 ? 1 : 0);
});
