import { describe, expect, test } from "vitest";
import { certificateSecrets } from "../../src/api/names.ts";
import type { Manifest } from "../../src/api/object.ts";
import { listAt, recordAt, stringAt } from "../../src/api/parse.ts";
import type { Resource } from "../../src/api/resources.ts";
import {
  certificateProblems,
  certificateProblemSentence,
} from "../../src/domain/certificates/certificate-problem.ts";
import { encodeBody } from "../../src/kube/client/request-body.ts";
import { KubeError } from "../../src/kube/client/kube-error.ts";
import { Yielder } from "../../src/runtime/yielder.ts";
import type { ServerTls } from "../../src/runtime/server-options.ts";
import { createMetrics } from "../../src/runtime/metrics.ts";
import { caFingerprints } from "../../src/tokens/certificate-pem.ts";
import {
  newServerCertificates,
  parseServerCertificates,
  tlsOf,
  type ServerCertificates,
  serverCertificatesSecret,
} from "../../src/tokens/server-certificates.ts";
import { Certificates } from "../../src/certificates/certificates.ts";
import { rawObject, type RawObject, FakeListWatch } from "../support/fake-list-watch.ts";
import { recordingLog } from "../support/recording-log.ts";
import { TestClock } from "../support/test-clock.ts";

const namespace = "latchkey-system";
const service = {
  namespace,
  serviceName: "w",
  externalNames: ["w.example", "fd00::1"],
  clientName: "latchkey:kube-apiserver",
  hasConfigurations: true,
};
const terms = {
  dnsNames: [
    "w.latchkey-system.svc",
    "w.latchkey-system.svc.cluster.local",
    "w.latchkey-system",
    "w",
    "w.example",
    "fd00::1",
  ],
  clientName: "latchkey:kube-apiserver",
};
const dayMs = 86_400_000;

function stored(object: Manifest): RawObject {
  const sent: { readonly metadata: Record<string, unknown> } = JSON.parse(encodeBody(object));
  const { resourceVersion: _, ...metadata } = sent.metadata;
  return rawObject(metadata, { ...sent });
}

async function standing(now: number): Promise<RawObject> {
  return stored(
    serverCertificatesSecret(await newServerCertificates({ ...terms, now }), { namespace }),
  );
}

/** A webhook configuration with these CA bundles, and one webhook without any. */
function configuration(bundles: readonly string[]): RawObject {
  const caBundles = bundles.map((pem) => ({ caBundle: Buffer.from(pem).toString("base64") }));
  return rawObject(
    { name: "latchkey" },
    { webhooks: [...caBundles, {}].map((clientConfig) => ({ name: "one", clientConfig })) },
  );
}

/** The CA bundles in a webhook configuration. */
function bundlesIn(object: Manifest): readonly string[] {
  const bundles = listAt(object, "webhooks").map(
    (webhook) => stringAt(recordAt(webhook, "clientConfig"), "caBundle") ?? "",
  );
  return [...new Set(bundles)].map((bundle) => Buffer.from(bundle, "base64").toString());
}

const sentenceOf = (problem: (typeof certificateProblems)[number]): string =>
  certificateProblemSentence(problem, certificateSecrets.webhook.name);

/** The existing objects before a replica starts, and the responses to its writes. */
interface Start {
  readonly secrets?: readonly RawObject[];
  readonly refuse?: KubeError;
  /** CA bundles in the webhook configuration; none by default. */
  readonly published?: readonly string[];
}

/**
 * Certificates with these stored objects; a create or replace gets the response of the API server,
 * unless it is refused.
 */
async function keeping({ secrets = [], refuse, published = [] }: Start = {}) {
  const [clock, stop, log, listWatch] = [
    new TestClock(),
    new AbortController(),
    recordingLog(),
    new FakeListWatch({ secrets, mutatingwebhookconfigurations: [configuration(published)] }),
  ];
  const [written, changes] = [
    new Array<{ readonly verb: string; readonly object: Manifest }>(),
    new Array<ServerTls>(),
  ];
  const injected: string[] = [];
  const write =
    (verb: string) =>
    async ({ plural }: Resource, object: Manifest): Promise<unknown> => {
      if (plural !== "secrets") {
        injected.push(...bundlesIn(object));
        return rawObject(object.metadata, object);
      }
      written.push({ verb, object });
      if (refuse !== undefined) throw refuse;
      return stored(object);
    };
  const metrics = createMetrics();
  const deps = {
    listWatch,
    clock,
    yielder: new Yielder(clock),
    log,
    random: () => 0.5,
    client: { create: write("create"), replace: write("replace") },
    metrics,
  };
  const certificates = new Certificates("webhook", service, deps);
  const running = certificates.run(stop.signal, (material) => void changes.push(material));
  // Keys are generated outside the event loop.
  const rest = async (): Promise<void> => {
    for (let turn = 0; turn < 40; turn += 1) await new Promise((resolve) => setTimeout(resolve, 5));
  };
  await rest();
  const end = async (): Promise<void> => {
    stop.abort();
    await running;
  };
  const problemMetric = async (problem: string): Promise<string | undefined> =>
    new RegExp(`^latchkey_certificate_problem\\{problem="${problem}"\\} (\\d)$`, "m").exec(
      (await metrics.render()).text,
    )?.[1];
  const problems = (): readonly (string | undefined)[] =>
    certificates
      .warnings()
      .map((warning) => certificateProblems.find((problem) => sentenceOf(problem) === warning));
  return {
    certificates,
    problems,
    clock,
    listWatch,
    written,
    changes,
    injected,
    log,
    rest,
    end,
    problemMetric,
  };
}

const former = (object: Manifest | undefined): string | undefined =>
  object?.metadata.annotations?.["management.service/former-ca"];
const secretOf = (made: ServerCertificates, formerCa: readonly string[] = []): RawObject =>
  stored(serverCertificatesSecret(made, { namespace }, formerCa));
const fresh = (): Promise<ServerCertificates> =>
  newServerCertificates({ ...terms, now: new TestClock().now() });
const oneOf = (made: ServerCertificates): string => caFingerprints(made.ca.certificate)[0] ?? "";
const certificatesIn = (object: Manifest | undefined): ServerCertificates =>
  parseServerCertificates(JSON.parse(encodeBody(object ?? {})));

describe("the certificates of the webhook", () => {
  test("are created if there are none, and used", async () => {
    const { written, changes, end } = await keeping();
    expect(written.map(({ verb }) => verb)).toEqual(["create"]);
    expect(written[0]?.object).toMatchObject({
      metadata: {
        namespace,
        name: "latchkey-webhook-certificates",
        labels: { "management.service/component": "webhook-certificates" },
      },
    });
    expect(changes).toHaveLength(1);
    await end();
  });

  test("get an admission path if the Secret has none, which renewals keep", async () => {
    const now = new TestClock().now();
    const made = await newServerCertificates({ ...terms, now });
    const before = { ...made, admissionSegment: undefined };
    const { certificates, written, changes, end } = await keeping({
      secrets: [stored(serverCertificatesSecret(before, { namespace }))],
    });
    // The response may arrive before the first list is complete, unlike with a real API server:
    // then it is ignored, and written again.
    const segment = certificatesIn(written.at(-1)?.object).admissionSegment ?? "";
    expect([
      [...new Set(written.map(({ verb }) => verb))],
      segment,
      certificates.isAdmissionSegment(segment),
    ]).toEqual([["replace"], expect.stringMatching(/^[0-9a-f]{40}$/), true]);
    expect(changes.map(({ certificate }) => certificate)).toEqual([
      made.serving.certificate,
      made.serving.certificate,
    ]);
    await end();
    expect((await newServerCertificates({ ...terms, now }, made)).admissionSegment).toBe(
      made.admissionSegment,
    );
  });

  test("of another replica are used if it created the Secret first", async () => {
    const { listWatch, changes, rest, end } = await keeping({
      refuse: new KubeError("x", { code: "AlreadyExists", status: 409 }),
    });
    expect(changes).toEqual([]);
    listWatch.emit("secrets", "ADDED", await standing(new TestClock().now()));
    await rest();
    expect(changes).toHaveLength(1);
    await end();
  });

  test("are not changed while none is due", async () => {
    const { written, changes, end } = await keeping({
      secrets: [await standing(new TestClock().now())],
    });
    expect([written, changes.length]).toEqual([[], 1]);
    await end();
  });

  test("are renewed by the same CA when a third of their validity remains, at the observed resourceVersion", async () => {
    const { clock, written, changes, end } = await keeping({
      secrets: [await standing(new TestClock().now())],
    });
    await clock.run(245 * dayMs);
    await expect.poll(() => changes.length, { timeout: 30_000 }).toBe(2);
    expect(written.map(({ verb }) => verb)).toEqual(["replace"]);
    expect(written[0]?.object.metadata).toMatchObject({
      uid: "uid-latchkey-webhook-certificates",
      resourceVersion: expect.anything(),
    });
    expect(changes).toHaveLength(2);
    expect(changes[1]?.clientAuthority).toBe(changes[0]?.clientAuthority);
    expect(changes[1]?.certificate).not.toBe(changes[0]?.certificate);
    await end();
  });

  test("are reported and not changed if they are invalid", async () => {
    const broken = rawObject({ namespace, name: "latchkey-webhook-certificates" }, { data: {} });
    const { problems, written, changes, log, problemMetric, end } = await keeping({
      secrets: [broken],
    });
    expect([written, changes, problems(), await problemMetric("secret-unreadable")]).toEqual([
      [],
      [],
      ["secret-unreadable"],
      "1",
    ]);
    expect(log.lines.filter(({ level }) => level === "warn")).toMatchObject([
      {
        message: expect.stringContaining("is invalid and was not changed"),
        fields: { why: expect.stringContaining("ca.crt is missing") },
      },
    ]);
    await end();
  });
});

describe("a Secret that is changed or deleted while a replica has its certificates in memory", () => {
  test("is restored if it is deleted", async () => {
    const made = await fresh();
    const { listWatch, written, changes, log, problems, rest, end } = await keeping({
      secrets: [secretOf(made)],
    });
    listWatch.emit("secrets", "DELETED", secretOf(made));
    await rest();
    expect(written.map(({ verb }) => verb)).toEqual(["create"]);
    const back = certificatesIn(written[0]?.object);
    expect([tlsOf(back), back.client.certificate, back.admissionSegment]).toEqual([
      tlsOf(made),
      made.client.certificate,
      made.admissionSegment,
    ]);
    expect(new Set(changes.map(({ certificate }) => certificate)).size).toBe(1);
    expect(
      log.lines.filter(({ level }) => level === "warn").map(({ fields }) => fields["problem"]),
    ).toEqual(["secret-missing"]);
    expect(problems()).toEqual([]);
    await end();
  });

  test("is left to another replica that restores it first", async () => {
    const made = await fresh();
    const { listWatch, written, problems, problemMetric, rest, end } = await keeping({
      secrets: [secretOf(made)],
      refuse: new KubeError("x", { code: "AlreadyExists", status: 409 }),
    });
    listWatch.emit("secrets", "DELETED", secretOf(made));
    await rest();
    expect([written.map(({ verb }) => verb), await problemMetric("secret-missing")]).toEqual([
      ["create"],
      "1",
    ]);
    listWatch.emit("secrets", "ADDED", secretOf(made));
    await rest();
    expect([problems(), await problemMetric("secret-missing")]).toEqual([[], "0"]);
    await end();
  });

  test("is not created by a new replica, unless no replica restores it for 10 s", async () => {
    const before = await fresh();
    const start = { published: [before.ca.certificate] };
    const { listWatch, clock, written, changes, rest, end } = await keeping(start);
    await clock.run(9_000);
    await rest();
    expect([written, changes]).toEqual([[], []]);
    listWatch.emit("secrets", "ADDED", secretOf(before));
    await rest();
    expect([written, changes.length]).toEqual([[], 1]);
    await end();

    const alone = await keeping(start);
    await alone.clock.run(11_000);
    await alone.rest();
    expect([
      alone.written.map(({ verb }) => verb),
      former(alone.written[0]?.object),
      alone.problems(),
    ]).toEqual([["create"], oneOf(before), ["ca-changed"]]);
    await alone.end();
  });

  test("is restored ever less often if it is deleted again and again", async () => {
    const made = await fresh();
    const { listWatch, clock, written, log, end } = await keeping({ secrets: [secretOf(made)] });
    for (let second = 0; second < 60; second += 1) {
      listWatch.emit("secrets", "DELETED", secretOf(made));
      await clock.run(1_000);
    }
    expect(written.length).toBeGreaterThan(3);
    expect(written.length).toBeLessThanOrEqual(10);
    const about = `Secret ${certificateSecrets.webhook.name}`;
    const said = log.lines.filter(({ fields }) => fields["object"] === about);
    expect(said).toMatchObject([{ level: "warn", message: expect.stringContaining("ever less") }]);
    await end();
  });

  test("gets the admission path in memory if it lost only that", async () => {
    const made = await fresh();
    const { listWatch, written, rest, end } = await keeping({ secrets: [secretOf(made)] });
    listWatch.emit("secrets", "MODIFIED", secretOf({ ...made, admissionSegment: undefined }));
    await rest();
    expect([
      written.map(({ verb }) => verb),
      certificatesIn(written[0]?.object).admissionSegment,
    ]).toEqual([["replace"], made.admissionSegment]);
    await end();
  });

  test.each([
    ["is empty", () => ({})],
    [
      "has the key of another certificate",
      (data: Readonly<Record<string, unknown>>) => ({ ...data, "tls.key": data["ca.key"] }),
    ],
    [
      "has no PEM",
      (data: Readonly<Record<string, unknown>>) => ({ ...data, "tls.crt": "Y2FuYXJ5" }),
    ],
  ])(
    "is reported and not changed if it %s, and the certificates in memory are used",
    async (_rule, edit) => {
      const made = await fresh();
      const { listWatch, written, changes, problems, log, rest, end } = await keeping({
        secrets: [secretOf(made)],
      });
      const sent = secretOf(made);
      listWatch.emit("secrets", "MODIFIED", { ...sent, data: edit(recordAt(sent, "data")) });
      await rest();
      expect([written, changes.length, problems()]).toEqual([[], 1, ["secret-unreadable"]]);
      expect(JSON.stringify(log.lines)).not.toMatch(/canary|PRIVATE|Y2FuYXJ5/);
      listWatch.emit("secrets", "DELETED", sent);
      await rest();
      expect([written.map(({ verb }) => verb), problems()]).toEqual([["create"], []]);
      await end();
    },
  );
});

describe("a changed CA", () => {
  const client = ({ client: { certificate } }: ServerCertificates): string => certificate;

  test("is reported until kube-apiserver presents a client certificate of the new one", async () => {
    const [one, other] = [await fresh(), await fresh()];
    const { certificates, problems, listWatch, written, injected, log, problemMetric, rest, end } =
      await keeping({ secrets: [secretOf(one)] });
    expect([problems(), await problemMetric("ca-changed")]).toEqual([[], "0"]);
    listWatch.emit("secrets", "MODIFIED", secretOf(other));
    await rest();
    expect([
      problems(),
      await problemMetric("ca-changed"),
      written.map(({ object }) => former(object)),
    ]).toEqual([["ca-changed"], "1", [oneOf(one)]]);
    expect(log.lines.filter(({ level }) => level === "warn")).toMatchObject([
      {
        message: expect.stringMatching(
          /changed and kube-apiserver has not shown.*rejected.*run kubectl latchkey trust-config/,
        ),
        fields: { former: oneOf(one), now: oneOf(other) },
      },
    ]);
    expect(injected.at(-1)).toBe(other.ca.certificate);

    certificates.shown(client(one));
    await rest();
    expect(problems()).toEqual(["ca-changed"]);
    certificates.shown(client(other));
    await rest();
    expect([problems(), await problemMetric("ca-changed"), former(written.at(-1)?.object)]).toEqual(
      [[], "0", undefined],
    );
    await end();
  });

  test.each([
    ["ServerError", 0],
    ["Forbidden", 1],
  ] as const)(
    "is recorded before configurations get the new one, unless the record is rejected permanently (%s)",
    async (code, released) => {
      const [one, other] = [await fresh(), await fresh()];
      const { problems, injected, written, changes, end } = await keeping({
        secrets: [secretOf(other)],
        published: [one.ca.certificate],
        refuse: new KubeError("x", { code, status: 500 }),
      });
      expect([changes.length, injected.length, problems(), former(written[0]?.object)]).toEqual([
        1,
        released,
        ["ca-changed"],
        oneOf(one),
      ]);
      await end();
    },
  );

  test("is still reported by a replica that starts later, until the record is removed", async () => {
    const [one, other] = [await fresh(), await fresh()];
    const { problems, listWatch, written, rest, end } = await keeping({
      secrets: [secretOf(other, [oneOf(one)])],
      published: [other.ca.certificate],
    });
    expect([problems(), written]).toEqual([["ca-changed"], []]);
    listWatch.emit("secrets", "MODIFIED", secretOf(other));
    await rest();
    expect([problems(), written]).toEqual([[], []]);
    await end();
  });

  test("that is reverted is not reported", async () => {
    const [one, other] = [await fresh(), await fresh()];
    const { problems, listWatch, written, rest, end } = await keeping({
      secrets: [secretOf(one)],
    });
    listWatch.emit("secrets", "MODIFIED", secretOf(other));
    await rest();
    listWatch.emit("secrets", "MODIFIED", secretOf(one));
    await rest();
    expect([problems(), written.map(({ object }) => former(object))]).toEqual([[], [oneOf(one)]]);
    await end();
  });

  test.each<[string, (ca: string) => readonly string[]]>([
    ["nothing is published", () => []],
    ["it is published", (ca) => [ca, "no PEM"]],
  ])("is not reported if %s", async (_rule, published) => {
    const made = await fresh();
    const { problems, clock, injected, written, rest, end } = await keeping({
      secrets: [secretOf(made)],
      published: published(made.ca.certificate),
    });
    await clock.run(11_000);
    await rest();
    expect([problems(), written, injected.length]).toEqual([[], [], 1]);
    await end();
  });

  test("that keeps the former CA in the bundle is not reported", async () => {
    const made = await fresh();
    const renewed = await newServerCertificates({ ...terms, now: new TestClock().now() }, made);
    const { problems, listWatch, written, rest, end } = await keeping({
      secrets: [secretOf(made)],
    });
    listWatch.emit("secrets", "MODIFIED", secretOf(renewed));
    await rest();
    expect([problems(), written]).toEqual([[], []]);
    await end();
  });
});
