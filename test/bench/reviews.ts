import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { Pool } from "undici";
import { extras, ownObjects } from "../../src/api/names.ts";
import { listAt } from "../../src/api/parse.ts";
import { SecretText } from "../../src/api/secret-text.ts";
import { webhookPaths } from "../../src/domain/webhook/webhook-paths.ts";
import { presentedKey } from "../../src/tokens/access-key.ts";
import {
  parseServerCertificates,
  tlsOf,
  type ServerCertificates,
} from "../../src/tokens/server-certificates.ts";
import { concurrency } from "../support/bare-client.ts";
import {
  keyRequest,
  metadataOf,
  ownPath,
  plainKeyOf,
  secretPath,
} from "../support/bench-objects.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { percentile } from "../support/percentile.ts";
import { startTiedChild } from "../support/tied-child.ts";
import type { Bench, BenchFixture, RunningServer } from "./bench-fixture.ts";
import { type Row, row } from "./report.ts";
import { seedTokens } from "./review-tokens.ts";
import type { Size } from "./sizes.ts";

const day = 86_400;
/**
 * The number of different keys. Each is used once before the measurement, so that its last use is
 * recorded: that write is a different kind of work.
 */
const used = 500;
/** With more clients than processors, a latency includes the time in the queue. */
const fewAskers = 2;
const serverName = "latchkey-webhook.latchkey-system.svc";
const scope = {
  projects: [{ project: "web" }],
  rules: [
    {
      verbs: ["get", "list"],
      resources: [{ group: "apps", resources: ["deployments", "deployments/*"] }],
      namespaces: ["pay"],
    },
  ],
};

/** Reviews of many keys with a scope, which the bare client creates. */
export async function reviews({ fixture, size: { keys: size }, report }: Bench): Promise<void> {
  const { lasting, requesters } = size;
  fixture.say(`seeding ${lasting} keys with a scope`);
  await fixture.admin.pour(lasting, (index) =>
    keyRequest(`scoped-${index}`, `holder-${index % requesters}`, day, { scope }),
  );
  // The smallest benchmark shows that it runs.
  const rules = lasting < 1_000 ? 10 : 10_000;
  fixture.say(`seeding ${rules} keys that trust tokens`);
  const tokens = await seedTokens(fixture, { keys: rules, used });
  const webhook = await fixture.startWebhook();
  report(await reviewRows(fixture, webhook, { ...size, tokens }));
  await webhook.stop();
}

const [keyQuestion, tokenQuestion] = ["TokenReview", "TokenReview of a token that was seen"];

/** One kind of request, sent repeatedly. */
interface Question {
  readonly name: string;
  readonly path: string;
  readonly bodyOf: (index: number) => string;
  /** Part of every correct response. */
  readonly expects: string;
}

/**
 * The rate at which the webhook responds to kube-apiserver, compared with a webhook without logic.
 */
async function reviewRows(
  fixture: BenchFixture,
  webhook: RunningServer,
  { lasting, reviews: count, tokens }: Size["keys"] & { readonly tokens: readonly string[] },
): Promise<readonly Row[]> {
  const { admin, say } = fixture;
  const certificates = parseServerCertificates(
    await admin.get(secretPath("latchkey-system", ownObjects.webhookCertificates)),
  );
  const idle = await startIdleWebhook(fixture, certificates);
  const listed = await admin.get(`${ownPath("ownedaccesskeys")}?limit=500`);
  const ids = listAt(listed, "items").map((key) => metadataOf(key).uid);
  const spread = (index: number): number =>
    ((index % used) * Math.max(1, Math.floor(lasting / used))) % lasting;
  const questions: readonly Question[] = [
    {
      name: keyQuestion,
      path: webhookPaths.tokenReview,
      bodyOf: (index) => tokenReview(plainKeyOf(`scoped-${spread(index)}`)),
      expects: '"authenticated":true',
    },
    {
      name: tokenQuestion,
      path: webhookPaths.tokenReview,
      bodyOf: (index) => tokenReview(tokens[index % tokens.length] ?? ""),
      expects: '"authenticated":true',
    },
    {
      name: "TokenReview of garbage",
      path: webhookPaths.tokenReview,
      bodyOf: (index) => tokenReview(`garbage ${index} `),
      expects: '"authenticated":false',
    },
    {
      name: "SubjectAccessReview",
      path: webhookPaths.accessReview,
      bodyOf: (index) => accessReview(ids[index % ids.length] ?? ""),
      expects: '"allowed":false',
    },
  ];
  const rows: Row[] = [];
  const askWebhook = (question: Asking) => ask(webhook.url, certificates, question);
  const askIdle = (question: Asking) => ask(idle.url, certificates, { ...question, expects: "" });
  for (const question of questions) {
    const [all, quarter] = [
      { ...question, count },
      { ...question, count: count / 4 },
    ];
    say(`${count} times ${question.name}`);
    await askIdle(quarter);
    await askWebhook(quarter);
    await eventually(async () => (await webhook.readings.read()).waiting === 0, {
      what: "the first uses of keys to be written",
    });
    const ceiling = await askIdle(all);
    const end = await webhook.readings.begin();
    const asked = await askWebhook(all);
    const usage = await end();
    const few = { ...quarter, askers: fewAskers };
    const [alone, ceilingAlone] = [await askWebhook(few), await askIdle(few)];
    rows.push(
      row(question.name, [asked.rate, "/s"], {
        ceiling: ceiling.rate,
        goal: ">= 2000/s",
        usage,
        note: `${concurrency} at a time, p50 ${percentile(asked.latencies, 0.5).toFixed(2)} ms`,
      }),
      row(`${question.name}, latency`, [percentile(alone.latencies, 0.99), "ms p99"], {
        ceiling: percentile(ceilingAlone.latencies, 0.99),
        goal: "< 5 ms",
        note: `${fewAskers} at a time, ${alone.rate.toFixed(0)}/s, p50 ${percentile(alone.latencies, 0.5).toFixed(2)} ms`,
      }),
    );
  }
  await idle.stop();
  const p99 = (name: string): number =>
    rows.find((one) => one.name === `${name}, latency`)?.measured ?? Number.NaN;
  const ofKey = p99(keyQuestion);
  const beside = row(
    `${tokenQuestion}, latency beside that of a key`,
    [p99(tokenQuestion), "ms p99"],
    {
      ceiling: ofKey,
      ratioGoal: "<= 1.5",
    },
  );
  return [...rows, beside, garbageRow()];
}

/** The cost of rejecting garbage, without the network. */
function garbageRow(): Row {
  const count = 100_000;
  const keys = Array.from(
    { length: count },
    (_, index) => new SecretText(`lk_01234567_${String(index).padStart(43, "0")}_000000`),
  );
  const began = performance.now();
  const found = keys.filter((key) => presentedKey(key) !== undefined).length;
  const microseconds = ((performance.now() - began) * 1000) / count;
  return row("garbage refused", [microseconds, "us"], {
    goal: "< 100 us",
    note: `a wrong checksum, in the process; ${found} of ${count} had a right one`,
  });
}

/** How often a question is sent, and how many at a time. */
interface Asking extends Question {
  readonly count: number;
  readonly askers?: number;
}

interface Asked {
  /** Responses per second. */
  readonly rate: number;
  /** Milliseconds. */
  readonly latencies: readonly number[];
}

async function ask(
  url: string,
  { client, ca }: ServerCertificates,
  { path, bodyOf, expects, count, askers = concurrency }: Asking,
): Promise<Asked> {
  const connect = {
    ca: ca.certificate,
    cert: client.certificate,
    key: SecretText.reveal(client.privateKey),
    servername: serverName,
  };
  const pool = new Pool(url, { connections: concurrency, pipelining: 1, allowH2: false, connect });
  const latencies: number[] = [];
  let next = 0;
  const asker = async (): Promise<void> => {
    for (let index = next++; index < count; index = next++) {
      const began = performance.now();
      const answer = await pool.request({
        method: "POST",
        path,
        headers: { "content-type": "application/json" },
        body: bodyOf(index),
      });
      const text = await answer.body.text();
      latencies.push(performance.now() - began);
      if (answer.statusCode !== 200 || !text.includes(expects))
        throw new Error(`${path}: ${answer.statusCode} without ${expects}`);
    }
  };
  const began = performance.now();
  try {
    await Promise.all(Array.from({ length: askers }, asker));
  } finally {
    await pool.destroy();
  }
  return { rate: (count * 1000) / (performance.now() - began), latencies };
}

async function startIdleWebhook(
  { controlPlane }: BenchFixture,
  certificates: ServerCertificates,
): Promise<{ readonly url: string; stop(): Promise<unknown> }> {
  const directory = join(controlPlane.directory, "idle-webhook");
  mkdirSync(directory, { recursive: true });
  const { certificate, privateKey, clientAuthority } = tlsOf(certificates);
  for (const [file, text] of Object.entries({
    "tls.crt": certificate,
    "tls.key": privateKey,
    "ca.crt": clientAuthority,
  }))
    writeFileSync(join(directory, file), text, { mode: 0o600 });
  const port = await freePort();
  const log = join(directory, "log");
  const child = startTiedChild(
    [process.execPath, join(import.meta.dirname, "idle-webhook.ts"), String(port), directory],
    { log },
  );
  const url = `https://127.0.0.1:${port}`;
  const question = { name: "", path: "/", bodyOf: () => "{}", expects: "", count: 1 };
  await eventually(async () => (await ask(url, certificates, question)).rate > 0, {
    what: "the webhook that does nothing to answer",
  });
  return { url, stop: () => child.stop() };
}

function tokenReview(token: string): string {
  return JSON.stringify({
    kind: "TokenReview",
    apiVersion: "authentication.k8s.io/v1",
    metadata: { creationTimestamp: null },
    spec: { token },
    status: { user: {} },
  });
}

function accessReview(keyId: string): string {
  const resource = { group: "apps", version: "v1", resource: "deployments" };
  const resourceAttributes = { namespace: "pay", verb: "list", ...resource };
  const spec = {
    resourceAttributes,
    user: "holder-1",
    groups: ["system:authenticated"],
    extra: { [extras.keyId]: [keyId], [extras.scopeHash]: ["0123456789abcdef"] },
  };
  return JSON.stringify({
    kind: "SubjectAccessReview",
    apiVersion: "authorization.k8s.io/v1",
    metadata: { creationTimestamp: null },
    spec,
    status: { allowed: false },
  });
}
