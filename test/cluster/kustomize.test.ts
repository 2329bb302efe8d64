import { join } from "node:path";
import { loadAll } from "js-yaml";
import { expect, inject, test } from "vitest";
import { recordAt, stringAt } from "../../src/api/parse.ts";
import { repository } from "./install.ts";
import { kubectl } from "./kubectl.ts";

/** `kind name` of everything that a directory of `config` installs. */
async function installedBy(directory: string): Promise<readonly string[]> {
  const text = await kubectl(inject("controlPlane"), ["kustomize", join(repository, "config", directory)]);
  return loadAll(text).map((object) => `${stringAt(object, "kind")} ${stringAt(recordAt(object, "metadata"), "name")}`);
}

test("servers before 1.36 get all that newer ones get, but for the stamp, which is a webhook's there", async () => {
  const [whole, before] = await Promise.all([installedBy("default"), installedBy("before-1.36")]);
  const stamp = ["MutatingAdmissionPolicy latchkey-requester-stamp", "MutatingAdmissionPolicyBinding latchkey-requester-stamp"];
  expect(whole).toEqual(expect.arrayContaining([...stamp, "MutatingWebhookConfiguration latchkey", "Deployment latchkey-controller", "Deployment latchkey-webhook"]));
  expect(before.toSorted()).toEqual([...whole.filter((object) => !stamp.includes(object)), "MutatingWebhookConfiguration latchkey-requester-stamp"].toSorted());
});
