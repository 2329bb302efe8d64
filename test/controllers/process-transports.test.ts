import { expect, test } from "vitest";
import { resources } from "../../src/api/resources.ts";
import { sizeOfIn } from "../../src/controllers/process-transports.ts";
import { rawSharedSecret, syncedInformers } from "../support/fake-informers.ts";

test("a SharedSecret has the size of its data, an unknown one and a Secret the maximum size, other kinds are small", async () => {
  const { informers } = await syncedInformers({
    sharedsecrets: [rawSharedSecret("db", { data: { password: "YQ==".repeat(50_000) } })],
  });
  const sizeOf = sizeOfIn(informers.stores);
  expect(sizeOf(resources.sharedSecrets, { namespace: "team", name: "db" })).toBe(200_008);
  expect(sizeOf(resources.sharedSecrets, { namespace: "team", name: "gone" })).toBe(1_572_864);
  expect(sizeOf(resources.secrets, { namespace: "team", name: "db" })).toBe(1_572_864);
  expect(sizeOf(resources.roles, { namespace: "team", name: "db" })).toBe(0);
});
