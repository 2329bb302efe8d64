import { describe, expect, test } from "vitest";
import type { Manifest } from "../../src/api/object.ts";
import { listAt, recordAt } from "../../src/api/parse.ts";
import { Yielder } from "../../src/runtime/yielder.ts";
import { createMetrics } from "../../src/runtime/metrics.ts";
import { CaBundleInjector } from "../../src/certificates/ca-bundle-injector.ts";
import { rawObject, type RawObject, FakeListWatch } from "../support/fake-list-watch.ts";
import { recordingLog } from "../support/recording-log.ts";
import { settled, TestClock } from "../support/test-clock.ts";

const bundle = (pem: string): string => Buffer.from(pem).toString("base64");

function configuration(name: string, ...bundles: readonly string[]): RawObject {
  return rawObject(
    { name },
    {
      webhooks: bundles.map((caBundle, index) => ({
        name: `${index}.example`,
        failurePolicy: "Fail",
        clientConfig: { url: "https://localhost/", ...(caBundle === "" ? {} : { caBundle }) },
      })),
    },
  );
}

async function publishing(...configurations: readonly RawObject[]) {
  const [clock, stop, listWatch] = [
    new TestClock(),
    new AbortController(),
    new FakeListWatch({ mutatingwebhookconfigurations: configurations }),
  ];
  const replaced: Manifest[] = [];
  const client = {
    async replace(_resource: unknown, object: Manifest): Promise<unknown> {
      replaced.push(object);
      return rawObject(object.metadata, object);
    },
  };
  const published = new CaBundleInjector({
    listWatch,
    clock,
    yielder: new Yielder(clock),
    log: recordingLog(),
    random: () => 0.5,
    client,
    metrics: createMetrics(),
  });
  const running = published.run(stop.signal);
  await settled();
  const end = async (): Promise<void> => {
    stop.abort();
    await running;
  };
  return { published, replaced, listWatch, clock, end };
}

const bundlesOf = (object: Manifest | undefined): readonly unknown[] =>
  listAt(object, "webhooks").map((webhook) => recordAt(webhook, "clientConfig")["caBundle"]);

describe("the injected CA", () => {
  test("is written into each webhook of a configuration, without other changes", async () => {
    const standing = configuration("latchkey", "", bundle("former"));
    const { published, replaced, end } = await publishing(standing);
    expect(replaced).toEqual([]);
    published.publish({ ca: "authority", segment: "segment" });
    await settled();
    expect(replaced).toHaveLength(1);
    expect(bundlesOf(replaced[0])).toEqual([bundle("authority"), bundle("authority")]);
    expect(replaced[0]).toMatchObject({
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "MutatingWebhookConfiguration",
      metadata: { resourceVersion: standing.metadata["resourceVersion"], uid: "uid-latchkey" },
      webhooks: [{ failurePolicy: "Fail", clientConfig: { url: "https://localhost/" } }, {}],
    });
    await end();
  });

  test("is read from the existing configurations", async () => {
    const { published, end } = await publishing(
      configuration("latchkey", "", bundle("one"), bundle("one")),
      configuration("latchkey-requester-annotations", bundle("other")),
      configuration("foreign", bundle("third")),
    );
    expect(published.bundles()).toEqual(["one", "other"]);
    await end();
    expect((await publishing()).published.bundles()).toEqual([]);
  });

  test("is not written if it is up to date", async () => {
    const { published, replaced, end } = await publishing(
      configuration("latchkey", bundle("authority")),
    );
    published.publish({ ca: "authority", segment: "segment" });
    await settled();
    expect(replaced).toEqual([]);
    await end();
  });

  test("is restored if a user removes it, and written into new configurations", async () => {
    const { published, replaced, listWatch, end } = await publishing();
    published.publish({ ca: "authority", segment: "segment" });
    await settled();
    listWatch.emit("mutatingwebhookconfigurations", "ADDED", configuration("latchkey", ""));
    await settled();
    expect(replaced).toHaveLength(1);
    listWatch.emit(
      "mutatingwebhookconfigurations",
      "MODIFIED",
      configuration("latchkey", bundle("mallory")),
    );
    await settled();
    expect(bundlesOf(replaced[1])).toEqual([bundle("authority")]);
    await end();
  });

  test("is restored ever less often where a user removes it again and again, until there is another", async () => {
    const { published, replaced, listWatch, clock, end } = await publishing();
    published.publish({ ca: "authority", segment: "segment" });
    const remove = async (): Promise<void> => {
      listWatch.emit("mutatingwebhookconfigurations", "MODIFIED", configuration("latchkey", ""));
      await settled();
    };
    for (let second = 0; second < 60; second += 1) {
      await remove();
      await clock.run(1_000);
    }
    expect(replaced.length).toBeLessThanOrEqual(10);
    const before = replaced.length;
    await remove();
    published.publish({ ca: "other", segment: "segment" });
    await settled();
    expect(bundlesOf(replaced[before])).toEqual([bundle("other")]);
    await end();
  });

  test("is written with the path of each webhook that has a Service; a URL is kept", async () => {
    const service = { namespace: "latchkey-system", name: "latchkey-webhook", port: 443 };
    const own = (clientConfig: object): RawObject =>
      rawObject(
        { name: "latchkey" },
        {
          webhooks: [
            { name: "owner-references.management.service", clientConfig },
            {
              name: "other.management.service",
              clientConfig: { url: "https://localhost/x", caBundle: bundle("authority") },
            },
          ],
        },
      );
    const { published, replaced, listWatch, end } = await publishing(own({ service }));
    published.publish({ ca: "authority", segment: "segment" });
    await settled();
    const whole = {
      service: { ...service, path: "/segment/admit/owner-references" },
      caBundle: bundle("authority"),
    };
    const configs = (): readonly unknown[] =>
      listAt(replaced.at(-1), "webhooks").map((webhook) => recordAt(webhook, "clientConfig"));
    expect(configs()).toEqual([
      whole,
      { url: "https://localhost/x", caBundle: bundle("authority") },
    ]);
    listWatch.emit("mutatingwebhookconfigurations", "MODIFIED", own(whole));
    await settled();
    expect(replaced).toHaveLength(1);
    listWatch.emit(
      "mutatingwebhookconfigurations",
      "MODIFIED",
      own({ ...whole, service: { ...service, path: "/elsewhere" } }),
    );
    await settled();
    expect([replaced.length, configs()[0]]).toEqual([2, whole]);
    await end();
  });

  test("is not written into other configurations", async () => {
    const { published, replaced, end } = await publishing(configuration("other", ""));
    published.publish({ ca: "authority", segment: "segment" });
    await settled();
    expect(replaced).toEqual([]);
    await end();
  });
});
