import { describe, expect, test } from "vitest";
import type { Manifest } from "../../src/api/object.ts";
import { encodeBody } from "../../src/kube/encode.ts";
import { KubeError } from "../../src/kube/errors.ts";
import { Turns } from "../../src/kube/turns.ts";
import { createMetrics } from "../../src/runtime/metrics.ts";
import { newWebhookCertificates, type WebhookCertificates, webhookCertificatesSecret } from "../../src/tokens/webhook-certificates.ts";
import { createCertificates } from "../../src/webhooks/certificates.ts";
import { raw, type RawObject, ToldListWatch } from "../controllers/told-list-watch.ts";
import { recordingLog } from "../runtime/recording-log.ts";
import { TestClock } from "../runtime/test-clock.ts";

const namespace = "latchkey-system";
const terms = { dnsNames: ["w.ns.svc"], clientName: "latchkey:kube-apiserver" };
const dayMs = 86_400_000;

function stored(object: Manifest): RawObject {
  const sent: { readonly metadata: Record<string, unknown> } = JSON.parse(encodeBody(object));
  const { resourceVersion: _, ...metadata } = sent.metadata;
  return raw(metadata, { ...sent });
}

async function standing(now: number): Promise<RawObject> {
  return stored(webhookCertificatesSecret(await newWebhookCertificates({ ...terms, now }), { namespace }));
}

/** Certificates over what is stored; a create or replace is answered as the API server would, unless it is refused. */
async function keeping({ secrets = [], refuse }: { readonly secrets?: readonly RawObject[]; readonly refuse?: KubeError } = {}) {
  const [clock, stop, log, listWatch] = [new TestClock(), new AbortController(), recordingLog(), new ToldListWatch({ secrets })];
  const [written, told] = [new Array<{ readonly verb: string; readonly object: Manifest }>(), new Array<WebhookCertificates>()];
  const write = (verb: string) => async (_resource: unknown, object: Manifest): Promise<unknown> => {
    written.push({ verb, object });
    if (refuse !== undefined) throw refuse;
    return stored(object);
  };
  const deps = { listWatch, clock, turns: new Turns(clock), log, random: () => 0.5, client: { create: write("create"), replace: write("replace") }, metrics: createMetrics() };
  const certificates = createCertificates(deps, { namespace, ...terms }, (made) => told.push(made));
  const running = certificates.run(stop.signal);
  // Keys are made outside the event loop.
  const rest = async (): Promise<void> => {
    for (let turn = 0; turn < 40; turn += 1) await new Promise((resolve) => setTimeout(resolve, 5));
  };
  await rest();
  const end = async (): Promise<void> => {
    stop.abort();
    await running;
  };
  return { clock, listWatch, written, told, log, rest, end };
}

describe("the certificates of the webhook", () => {
  test("are made where there are none, and used", async () => {
    const { written, told, end } = await keeping();
    expect(written.map(({ verb }) => verb)).toEqual(["create"]);
    expect(written[0]?.object).toMatchObject({ metadata: { namespace, name: "latchkey-webhook-certificates", labels: { "management.service/component": "webhook-certificates" } } });
    expect(told).toHaveLength(1);
    await end();
  });

  test("come with a path of admission, which a Secret without one gets and which is kept", async () => {
    const now = new TestClock().now();
    const made = await newWebhookCertificates({ ...terms, now });
    const before = { ...made, admissionSegment: undefined };
    const { written, told, end } = await keeping({ secrets: [stored(webhookCertificatesSecret(before, { namespace }))] });
    // The answer may come before the first list is done with, as no API server's does: then it is not believed, and written again.
    expect([[...new Set(written.map(({ verb }) => verb))], told.map(({ admissionSegment }) => admissionSegment)]).toEqual([["replace"], [undefined, expect.stringMatching(/^[0-9a-f]{40}$/)]]);
    expect(told.map(({ serving }) => serving.certificate)).toEqual([made.serving.certificate, made.serving.certificate]);
    await end();
    expect((await newWebhookCertificates({ ...terms, now }, made)).admissionSegment).toBe(made.admissionSegment);
  });

  test("of another replica are used when it was first", async () => {
    const { listWatch, told, rest, end } = await keeping({ refuse: new KubeError("x", { code: "AlreadyExists", status: 409 }) });
    expect(told).toEqual([]);
    listWatch.tell("secrets", "ADDED", await standing(new TestClock().now()));
    await rest();
    expect(told).toHaveLength(1);
    await end();
  });

  test("stay as they are while none is due", async () => {
    const { written, told, end } = await keeping({ secrets: [await standing(new TestClock().now())] });
    expect([written, told.length]).toEqual([[], 1]);
    await end();
  });

  test("are renewed when a third of their life is left, by the same authority, on the state that was seen", async () => {
    const { clock, written, told, rest, end } = await keeping({ secrets: [await standing(new TestClock().now())] });
    await clock.run(245 * dayMs);
    await rest();
    expect(written.map(({ verb }) => verb)).toEqual(["replace"]);
    expect(written[0]?.object.metadata).toMatchObject({ uid: "uid-latchkey-webhook-certificates", resourceVersion: expect.anything() });
    expect(told).toHaveLength(2);
    expect(told[1]?.authority.certificate).toBe(told[0]?.authority.certificate);
    expect(told[1]?.serving.certificate).not.toBe(told[0]?.serving.certificate);
    await end();
  });

  test("that cannot be read are left alone, and said to be in the way", async () => {
    const broken = raw({ namespace, name: "latchkey-webhook-certificates" }, { data: {} });
    const { written, told, log, end } = await keeping({ secrets: [broken], refuse: new KubeError("x", { code: "AlreadyExists", status: 409 }) });
    expect([written.map(({ verb }) => verb), told]).toEqual([["create"], []]);
    expect(log.lines.filter(({ level }) => level === "error").map(({ message }) => message)).toEqual(["object cannot be read"]);
    await end();
  });
});
