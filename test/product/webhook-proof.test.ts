import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { makeKey } from "../support/key-request.ts";
import { startWebhook, type WebhookProcess } from "../support/latchkey-process.ts";
import { api } from "../support/policy-request.ts";
import { type ReviewClient, reviewClient } from "../support/review-client.ts";
import { startTcpProxy, type TcpProxy } from "../support/tcp-proxy.ts";

const hasWebhook = inject("webhook") !== undefined;

/**
 * The freshness limit of 30 s plus a margin for a busy machine; without the limit, a deleted key
 * would stay valid forever.
 */
const patience = { within: 90_000, every: 500 };

/** A replica of the webhook with its own proxy. */
interface CutOff {
  readonly proxy: TcpProxy;
  readonly webhook: WebhookProcess;
  readonly asked: ReviewClient;
}

describe.skipIf(!hasWebhook)("a replica that is disconnected from the API server", () => {
  let own: CutOff;
  beforeAll(async () => {
    const controlPlane = inject("controlPlane");
    const proxy = await startTcpProxy(Number(new URL(controlPlane.url).port));
    const webhook = await startWebhook({
      controlPlane: { ...controlPlane, url: `https://127.0.0.1:${proxy.port}` },
      restart: "never",
    });
    await webhook.waitReady();
    own = { proxy, webhook, asked: await reviewClient(webhook.webhookUrl, "kube-apiserver") };
  });
  afterAll(async () => {
    own.asked.close();
    await own.webhook.stop();
    await own.proxy.stop();
  });

  const isLetIn = async (key: string): Promise<boolean> =>
    (await own.asked.tokenReview(key)).authenticated === true;
  const answerOf = async (path: string): Promise<readonly [number, string]> => {
    const answer = await fetch(`${own.webhook.url}${path}`);
    return [answer.status, await answer.text()];
  };
  async function working(): Promise<Awaited<ReturnType<typeof makeKey>>> {
    const key = await makeKey({ spec: { user: "alice" } });
    await eventually(() => isLetIn(key.key), { what: "the replica to know the key" });
    return key;
  }

  it("accepts no key after its freshness limit while connections stay open, reports that, and recovers", async () => {
    const { proxy, asked } = own;
    const [deleted, disabled, kept] = [await working(), await working(), await working()];
    proxy.swallow();
    await api.delete(deleted.path);
    await api.merge(disabled.path, { spec: { disabled: true } });
    const began = Date.now();
    for (const { key } of [deleted, disabled])
      await eventually(async () => !(await isLetIn(key)), {
        ...patience,
        what: "the replica to honour the key no longer",
      });
    process.stderr.write(
      `webhook: a replica that is cut off honours a deleted key for ${Math.round((Date.now() - began) / 1000)} s\n`,
    );

    expect(await asked.tokenReview(kept.key)).toEqual({
      authenticated: false,
      error: expect.stringContaining("access key cache"),
    });
    expect(await asked.accessReview(kept.uid)).toMatchObject({
      allowed: false,
      denied: true,
      reason: expect.stringContaining("access key cache"),
    });
    const notReady = async () => {
      const [status, text] = await answerOf("/readyz");
      return (
        status === 503 &&
        text.includes("ownedaccesskeys: no watch response from the API server for")
      );
    };
    await eventually(notReady, { ...patience, what: "readiness to name each kind" });
    expect(await answerOf("/healthz")).toEqual([200, "ok\n"]);

    proxy.heal();
    await eventually(async () => (await answerOf("/readyz"))[0] === 200, {
      what: "the replica to be ready again",
    });
    expect(await asked.tokenReview(kept.key)).toMatchObject({ authenticated: true });
    expect(await asked.accessReview(kept.uid)).toEqual({ allowed: false });
    for (const { key } of [deleted, disabled])
      expect(await asked.tokenReview(key)).toEqual({ authenticated: false });
    expect(await asked.accessReview(deleted.uid)).toMatchObject({ denied: true });
  });

  it("accepts no key after a pause until it has reached the API server again", async () => {
    const { webhook, asked, proxy } = own;
    const key = await working();
    // It resumes without a connection to the API server, so that it cannot be faster than the
    // request.
    proxy.swallow();
    webhook.kill("SIGSTOP");
    await api.delete(key.path);
    await new Promise((resolve) => setTimeout(resolve, 31_000));
    webhook.kill("SIGCONT");
    expect(await asked.tokenReview(key.key)).toEqual({
      authenticated: false,
      error: expect.stringContaining("access key cache"),
    });
    proxy.heal();
    await eventually(async () => (await answerOf("/readyz"))[0] === 200, {
      what: "the replica to be ready again",
    });
    expect(await asked.tokenReview(key.key)).toEqual({ authenticated: false });
  });
});
