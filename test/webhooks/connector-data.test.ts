import { describe, expect, test } from "vitest";
import type { AdmissionRequest } from "../../src/api/admission-review.ts";
import { annotations } from "../../src/api/names.ts";
import { recordAt, stringAt } from "../../src/api/parse.ts";
import { connectorClaim } from "../../src/domain/connector-claim.ts";
import { encodeBody } from "../../src/kube/encode.ts";
import { connectorKeySecret } from "../../src/tokens/connector-data.ts";
import { movedConnectorData } from "../../src/webhooks/connector-data.ts";
import { refusal, ScriptedClient } from "../controllers/scripted-client.ts";

const keySecret: unknown = JSON.parse(encodeBody(connectorKeySecret("latchkey-system")));
const user = { username: "alice", uid: "", groups: [], extra: {} };
const keyWith = (connectorData?: string, given?: object) => ({ metadata: { name: "k", ...(given === undefined ? {} : { annotations: given }) }, spec: { identity: connectorData === undefined ? {} : { connectorData } } });

/** A webhook whose API server has the key of marks, or makes it. */
function moving(has: { key: boolean; isRaced?: boolean } = { key: true }) {
  const client = new ScriptedClient(({ verb, ref, body }) => {
    if (verb === "get") return has.key ? keySecret : refusal("NotFound", { objectName: ref.name });
    if (ref.name !== "latchkey-connector-key") return {};
    has.key = true;
    return has.isRaced === true ? refusal("AlreadyExists") : JSON.parse(encodeBody(body));
  });
  const step = movedConnectorData({ client, namespace: "latchkey-system" });
  async function sent(object: AdmissionRequest["object"], { oldObject, isDryRun = false }: { readonly oldObject?: AdmissionRequest["object"]; readonly isDryRun?: boolean } = {}) {
    const ruling = await step({ uid: "r", user, isDryRun, namespace: "", object, oldObject });
    const left = ruling.kind === "admitted" ? ruling.object : {};
    const text = stringAt(recordAt(recordAt(left, "metadata"), "annotations"), annotations.connectorData);
    return { left, text, claim: text === undefined ? undefined : connectorClaim({ [annotations.connectorData]: text }) };
  }
  return { client, sent, creates: () => client.requests.filter(({ verb, dryRun }) => verb === "create" && dryRun !== true).map(({ ref }) => ref.name) };
}

describe("connector data", () => {
  test("goes into a Secret that the object claims", async () => {
    const { sent, creates } = moving();
    const { left, claim } = await sent(keyWith("canary"));
    expect([recordAt(recordAt(left, "spec"), "identity"), creates()]).toEqual([{}, [claim?.secret]]);
    expect(JSON.stringify(left)).not.toContain("canary");
  });

  test("that is sent again is known by its mark, without a write", async () => {
    const { sent, creates } = moving();
    const { left, text } = await sent(keyWith("canary"));
    expect((await sent(keyWith("canary", { [annotations.connectorData]: "forged" }), { oldObject: left })).text).toBe(text);
    expect(creates()).toHaveLength(1);
    expect((await sent(keyWith("other"), { oldObject: left })).text).not.toBe(text);
    expect(creates()).toHaveLength(2);
  });

  test("that is left out is kept, and an empty text takes it away", async () => {
    const { sent } = moving();
    const { left, text } = await sent(keyWith("canary"));
    expect((await sent(keyWith(), { oldObject: left })).text).toBe(text);
    expect((await sent(keyWith(""), { oldObject: left })).text).toBeUndefined();
  });

  test("is written nowhere by a dry run, and no key is made for it", async () => {
    const { sent, creates } = moving({ key: false });
    const { left, claim } = await sent(keyWith("canary"), { isDryRun: true });
    expect([JSON.stringify(left).includes("canary"), claim === undefined, creates()]).toEqual([false, false, []]);
  });

  test.each([false, true])("needs a key, which the first replica makes (another was first: %s)", async (isRaced) => {
    const { sent, client } = moving({ key: false, isRaced });
    const first = await sent(keyWith("canary"));
    expect((await sent(keyWith("canary"), { oldObject: first.left })).text).toBe(first.text);
    expect(client.lines.filter((line) => line === "create secrets latchkey-system/latchkey-connector-key")).toHaveLength(1);
  });
});
