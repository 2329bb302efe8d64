import { expect, test } from "vitest";
import { gateOf, plain, routed } from "../../src/runtime/routes.ts";
import { apiServerName, requireApiServer } from "../../src/webhooks/review-route.ts";
import { posted } from "../support/review-fixture.ts";

test.each<[string | undefined, number]>([
  [apiServerName, 200],
  ["latchkey:somebody", 401],
  [undefined, 401],
])(
  "responds to a client certificate of %s with %i, before it reads the body",
  async (clientName, status) => {
    let asked = 0;
    const handler = () => {
      asked += 1;
      return plain(200, "secret");
    };
    const routes = [
      { method: "POST", path: "/review", handler, refuses: requireApiServer },
    ] as const;
    const peer = { clientName, address: "192.0.2.1" };
    const found = gateOf(routes)(posted({}), peer);
    expect("status" in found ? found.status : 200).toBe(status);
    expect(asked).toBe(0);
    expect((await routed(routes)(posted({}), peer)).status).toBe(status);
    expect(asked).toBe(status === 200 ? 1 : 0);
  },
);
