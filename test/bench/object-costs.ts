import { randomBytes } from "node:crypto";
import { performance } from "node:perf_hooks";
import { parseSharedSecret } from "../../src/api/shared-secret.ts";
import { dataValueProblem } from "../../src/domain/shared-secret/data-values.ts";
import { encodeBody, redact } from "../../src/kube/client/request-body.ts";
import { createDataDigest } from "../../src/tokens/data-digest.ts";
import { observedCopy, observedSource } from "../../src/tokens/observed-data.ts";
import { median } from "../support/percentile.ts";
import { type Row, row } from "./report.ts";

/** Data of valid sizes: few big values, and as many keys as the schema accepts. */
const shapes: Readonly<Record<string, () => Readonly<Record<string, string>>>> = {
  "1 value of 1 MiB": () => values(1, 1024 * 1024),
  "1,000 values, 1 MiB": () => values(1_000, 1048),
  "10,000 values, 1 MiB": () => values(10_000, 104),
  "10,000 keys without values": () => values(10_000, 0),
};

function values(count: number, bytes: number): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Array.from({ length: count }, (_, index) => [
      `k${index.toString(36)}`,
      randomBytes(bytes).toString("base64"),
    ]),
  );
}

/**
 * Milliseconds for which one object of each shape blocks the event loop of this process, step by
 * step: a row is the sum of what runs without a pause.
 */
export function objectCostRows(): readonly Row[] {
  return Object.entries(shapes).flatMap(([shape, make]) => {
    const data = make();
    const digestOf = createDataDigest();
    const metadata = {
      namespace: "team",
      name: "big",
      uid: "u",
      resourceVersion: "1",
      creationTimestamp: "2026-01-01T00:00:00Z",
    };
    const stored = { metadata, spec: { data } };
    const copy = { metadata, type: "Opaque", data };
    const text = JSON.stringify(stored);
    const source = parseSharedSecret(stored);
    const manifest = { ...copy, data: source.data };
    const refusal = `admission webhook "policy.example.com" denied the request: ${"the copy is not wanted here. ".repeat(20)}`;
    const [parse, take, takeCopy] = [
      timed(() => JSON.parse(text)),
      timed(() => observedSource(stored, digestOf)),
      timed(() => observedCopy(copy, digestOf)),
    ];
    const [encode, clean, explain] = [
      timed(() => encodeBody(manifest)),
      timed(() => redact(refusal, manifest)),
      timed(() => dataValueProblem(stored, {})),
    ];
    const blocks = (name: string, ms: number, note: string): Row =>
      row(`${shape}: ${name}`, [ms, "ms"], { goal: "< 50 ms", note });
    return [
      blocks("take in a SharedSecret", parse + take, `JSON.parse ${parse.toFixed(1)} ms`),
      blocks("take in a copy", parse + takeCopy, `JSON.parse ${parse.toFixed(1)} ms`),
      blocks("encode a copy", encode, ""),
      blocks("redact a refusal", clean, ""),
      blocks("explain refused data", explain, "in the webhook"),
    ];
  });
}

function timed(work: () => unknown): number {
  const times = Array.from({ length: 7 }, () => {
    const began = performance.now();
    work();
    return performance.now() - began;
  });
  return median(times);
}
