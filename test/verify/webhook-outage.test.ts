import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { annotations } from "../../src/api/names.ts";
import { stringMapAt } from "../../src/api/parse.ts";
import {
  admin,
  type Answer,
  get,
  mergePatch,
  post,
  remove,
} from "../support/cluster-connection.ts";
import { hasDedicatedClusters } from "../support/dedicated-cluster.ts";
import { keysPath, postKey } from "../support/latchkey-objects.ts";
import { eventually } from "../support/eventually.ts";
import { kubectl } from "../support/kubectl.ts";
import { stampByWebhook } from "../support/install-latchkey.ts";
import { unique } from "../support/policy-request.ts";
import {
  digestOf,
  listNamespaces,
  newKey,
  startWebhookCluster,
  type WebhookCluster,
} from "../support/webhook-cluster.ts";

let fixture: WebhookCluster;
/** Keys that are used before each outage. */
const used = { digested: newKey(), stored: newKey() };

beforeAll(async () => {
  if (!hasDedicatedClusters) return;
  fixture = await startWebhookCluster();
  await fixture.makeKey("digested", { key: digestOf(used.digested) });
  await fixture.makeKey("stored", { key: used.stored });
  await usedKeysWork();
});

afterAll(() => fixture?.stop());

async function usedKeysWork(): Promise<void> {
  await Promise.all(Object.values(used).map((key) => fixture.becomes(200, key)));
}

/** Merges a change into a key as the administrator. */
function patch(name: string, body: object): Promise<Answer> {
  return fixture.cluster.ask(admin, mergePatch(`${keysPath}/${name}`, body));
}

/** Waits until a key has expired. */
async function expired(name: string): Promise<void> {
  await eventually(() => fixture.isTrue(name, "Expired"), { what: `the key ${name} to expire` });
}

describe.skipIf(!hasDedicatedClusters)("while all webhooks are unavailable", () => {
  const brief = newKey();

  beforeAll(async () => {
    if (!hasDedicatedClusters) return;
    await fixture.makeKey("brief", { key: brief, ttl: 60 });
    for (const name of ["leaving", "labelled", "disabled"])
      await fixture.makeKey(name, { key: newKey() });
    await fixture.becomes(200, brief);
    await fixture.beginOutage();
  });

  afterAll(() => fixture?.endOutage());

  it("requests with a key are rejected", async () => {
    const refused = async () => {
      const codes = await Promise.all(Object.values(used).map((key) => fixture.codeOf(key)));
      return codes.every((code) => code !== 200) && codes;
    };
    const codes = await eventually(refused, { what: "keys to be refused" });
    // kube-apiserver answers 500 while it knows the user of a key and cannot ask about the request.
    expect(codes.filter((code) => ![401, 403, 500].includes(code))).toEqual([]);
  });

  const away = {
    code: 500,
    message: expect.stringContaining("ownedaccesskeys.management.service"),
  };

  it("keys cannot be created", async () => {
    const request = postKey("made-meanwhile", { user: "root", key: newKey() });
    expect(await fixture.cluster.ask(admin, request)).toMatchObject(away);
  });

  it("keys cannot get another value", async () => {
    expect(await patch("stored", { spec: { key: newKey() } })).toMatchObject(away);
  });

  it.each([
    { what: "labelled", body: { metadata: { labels: { a: "b" } } } },
    { what: "disabled", body: { spec: { disabled: true } } },
  ])("a key can be $what", async ({ what, body }) => {
    expect(await patch(what, body)).toMatchObject({ code: 200 });
  });

  it("administrators can list namespaces", async () => {
    expect((await fixture.cluster.ask(admin, listNamespaces)).code).toBe(200);
  });

  it("users with their own tokens can authenticate", async () => {
    expect(
      await kubectl(
        fixture.cluster.controlPlane,
        ["auth", "whoami", "--output=jsonpath={.status.userInfo.username}"],
        { user: "alice" },
      ),
    ).toBe("alice");
  });

  it("administrators can create namespaces", async () => {
    const body = { metadata: { name: "made-meanwhile" } };
    const path = "/api/v1/namespaces";
    expect((await fixture.cluster.ask(admin, post(path, body))).code).toBe(201);
  });

  it("keys expire", async () => {
    await expired("brief");
    expect(await fixture.codeOf(brief)).not.toBe(200);
  });

  it("keys can be deleted", async () => {
    const path = `${keysPath}/leaving`;
    await fixture.cluster.arrange(remove(path));
    const look = async () => (await fixture.cluster.ask(admin, get(path))).code;
    await eventually(async () => (await look()) === 404, { what: "the key to go" });
    expect(await look()).toBe(404);
  });
});

describe.skipIf(!hasDedicatedClusters)("when a webhook is available again", () => {
  const ended = newKey();

  beforeAll(async () => {
    if (!hasDedicatedClusters) return;
    await fixture.makeKey("ended", { key: ended, ttl: 60 });
    await fixture.becomes(200, ended);
    await fixture.beginOutage();
    await expired("ended");
    await fixture.endOutage();
  });

  it.each(Object.entries(used))("a %s key works", async (_mode, key) => {
    await fixture.becomes(200, key);
    expect(await fixture.codeOf(key)).toBe(200);
  });

  it("a key that expired in the meantime does not work", async () => {
    await usedKeysWork();
    expect(await fixture.codeOf(ended)).not.toBe(200);
  });
});

const stampPolicies = ["mutatingadmissionpolicies", "mutatingadmissionpolicybindings"].map(
  (plural) => `/apis/admissionregistration.k8s.io/v1/${plural}/latchkey-requester-annotations`,
);

// Last, because the policies are deleted and not restored.
describe.skipIf(!hasDedicatedClusters)(
  "on a server that does not serve MutatingAdmissionPolicy",
  () => {
    const alice = { user: "alice", groups: ["system:masters"] };
    const forged = { [annotations.requester]: "mallory", [annotations.requesterKeyId]: "stolen" };
    const requester = (answer: Answer) =>
      stringMapAt(answer.metadata, "annotations")[annotations.requester];
    const create = (name: string, given: object = {}) =>
      fixture.cluster.ask(alice, postKey({ name, annotations: given }, { user: "alice" }));

    beforeAll(async () => {
      if (!hasDedicatedClusters || fixture.stampedBy === "webhook") return;
      for (const path of stampPolicies) await fixture.cluster.arrange(remove(path));
      const isUnstamped = async () => (await create(unique("try"))).code !== 201;
      await eventually(isUnstamped, { what: "the policy to be away" });
      await stampByWebhook(fixture.cluster.controlPlane, fixture.webhook);
      // The required age of the configuration for requester annotations to be trusted.
      await pause(11_000);
    });

    it("the webhook writes the requester annotations of a new key, regardless of what was sent", async () => {
      const made = await create("stamped", forged);
      expect(made).toMatchObject({
        code: 201,
        metadata: { annotations: { [annotations.requester]: "alice" } },
      });
      expect(stringMapAt(made.metadata, "annotations")[annotations.requesterKeyId]).toBeUndefined();
      const isActive = () => fixture.isTrue("stamped", "Active");
      expect(await eventually(isActive, { what: "the stamp to count" })).toBe(true);
    });

    it.each([
      { what: "forges", given: forged },
      { what: "removes", given: { [annotations.requester]: null } },
    ])("the webhook restores annotations that an update $what", async ({ what, given }) => {
      expect(await create(what)).toMatchObject({ code: 201 });
      const patched = await patch(what, { metadata: { annotations: given } });
      expect(patched.code).toBe(200);
      expect(requester(patched)).toBe("alice");
    });

    it("keys cannot be created while the webhook is unavailable, and existing keys can be disabled", async () => {
      expect(await create("made-before")).toMatchObject({ code: 201 });
      await fixture.beginOutage();
      try {
        expect((await create("made-never")).code).toBe(500);
        expect(await patch("made-before", { spec: { disabled: true } })).toMatchObject({
          code: 200,
        });
      } finally {
        await fixture.endOutage();
      }
    });
  },
);
