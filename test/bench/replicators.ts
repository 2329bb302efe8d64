import { performance } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import { listAt, recordAt } from "../../src/api/parse.ts";
import type { BareRequest } from "../support/bare-client.ts";
import {
  dataOf,
  foreignRequest,
  metadataOf,
  parsed,
  secretPath,
} from "../support/bench-objects.ts";
import { median } from "../support/percentile.ts";
import { processorSeconds } from "../support/processor-time.ts";
import { replicators } from "../support/replicators.ts";
import type { BenchFixture } from "./bench-fixture.ts";
import { type Copier, latchkeyCopier, otherCopier } from "./copiers.ts";
import type { Row } from "./report.ts";
import { type SeenCopy, watchCopies, type WatchedCopies } from "./watched-copies.ts";

const rounds = 2;
const copiedWithinMs = 300_000;
const repairedWithinMs = 20_000;

/** The targets, which are the same for all copiers. */
export interface CopyTargets {
  readonly project: string;
  readonly namespaces: readonly string[];
  /** Copies that are edited, and that are deleted. */
  readonly repairs: number;
}

/** What is measured with one copier. */
interface Terms extends CopyTargets {
  readonly fixture: BenchFixture;
  readonly copier: Copier;
}

/** Latchkey beside other replicators that copy into the same namespaces, one after the other. */
export async function replicatorRows(
  fixture: BenchFixture,
  targets: CopyTargets,
  report: (rows: readonly Row[]) => void,
): Promise<void> {
  const copiers = [latchkeyCopier(fixture), ...replicators.map((one) => otherCopier(fixture, one))];
  for (const copier of copiers) {
    if ("missing" in copier) {
      fixture.say(`left out: ${copier.missing}`);
      continue;
    }
    fixture.say(copier.name);
    const running = await copier.start();
    const terms = { ...targets, fixture, copier };
    await warmUp(terms);
    report(await fanOutRows(terms, running.pid));
    report(await repairRows(terms));
    report([await foreignRow(terms)]);
    await running.stop();
  }
}

/** A source and its copies, which a watch follows. */
interface Source {
  readonly name: string;
  readonly copies: WatchedCopies;
  /** Sends a request; returns the milliseconds until all namespaces have the data of a version. */
  reach(request: BareRequest, version: number): Promise<number>;
  /** Deletes the source and waits until its copies are gone. */
  leave(): Promise<void>;
}

async function openSource({ fixture, copier, namespaces }: Terms, name: string): Promise<Source> {
  const { admin } = fixture;
  const copies = await watchCopies(admin, name);
  return {
    name,
    copies,
    async reach(request, version) {
      const { password } = dataOf(version);
      const began = performance.now();
      await admin.send(request);
      const at = await copies.until(
        (seen) => namespaces.every((namespace) => seen.get(namespace)?.password === password),
        copiedWithinMs,
      );
      if (at === undefined) throw new Error(`${copier.name} did not copy to all namespaces`);
      return at - began;
    },
    async leave() {
      await admin.send(copier.remove(name));
      await copies.until((seen) => seen.size === 0, copiedWithinMs);
      copies.stop();
    },
  };
}

/** The first source of a process, which is not measured. */
async function warmUp(terms: Terms): Promise<void> {
  const { copier, project } = terms;
  const source = await openSource(terms, "warm-up");
  await source.reach(copier.create(source.name, project), 1);
  await source.leave();
}

async function fanOutRows(terms: Terms, pid: number): Promise<readonly Row[]> {
  const { fixture, copier, project, namespaces } = terms;
  const server = fixture.controlPlane.pidOf("kube-apiserver") ?? 0;
  const [create, update, ofCopier, ofServer]: number[][] = [[], [], [], []];
  for (let round = 0; round < rounds; round += 1) {
    const source = await openSource(terms, `compared-${round}`);
    const before = [processorMs(pid), processorMs(server)];
    create?.push(await source.reach(copier.create(source.name, project), 1));
    update?.push(await source.reach(copier.update(source.name, 2), 2));
    // The status and other work after the last copy count, too.
    await pause(1_000);
    const writes = 2 * namespaces.length;
    ofCopier?.push((processorMs(pid) - (before[0] ?? 0)) / writes);
    ofServer?.push((processorMs(server) - (before[1] ?? 0)) / writes);
    await source.leave();
  }
  const note = `${rounds} rounds`;
  const count = namespaces.length;
  return [
    row(terms, `create ${count}`, { measured: median(create ?? []), unit: "ms", note }),
    row(terms, `update ${count}`, { measured: median(update ?? []), unit: "ms", note }),
    row(terms, "CPU of a copy", { measured: median(ofCopier ?? []), unit: "ms", note }),
    row(terms, "CPU of kube-apiserver", { measured: median(ofServer ?? []), unit: "ms", note }),
  ];
}

const processorMs = (pid: number): number => (processorSeconds(pid) ?? Number.NaN) * 1000;

async function repairRows(terms: Terms): Promise<readonly Row[]> {
  const { fixture, copier, project } = terms;
  const source = await openSource(terms, "repaired");
  await source.reach(copier.create(source.name, project), 1);
  const edited = await repairs(terms, source, async (path) => {
    const body = { data: { password: Buffer.from("edited").toString("base64") } };
    const answer = await fixture.admin.send({ method: "PATCH", path, body });
    const edit = BigInt(metadataOf(parsed(answer)).resourceVersion);
    return ({ resourceVersion }) => resourceVersion > edit;
  });
  const deleted = await repairs(terms, source, async (path) => {
    const { uid: before } = metadataOf(parsed(await fixture.admin.send({ method: "GET", path })));
    await fixture.admin.send({ method: "DELETE", path });
    return ({ uid }) => uid !== before;
  });
  await source.leave();
  return [
    row(terms, "repair of an edited copy", edited),
    row(terms, "repair of a deleted copy", deleted),
  ];
}

/** Damages copies one after the other, until one is not repaired in time. */
async function repairs(
  { namespaces, repairs: count }: Terms,
  { name, copies }: Source,
  damage: (path: string) => Promise<(copy: SeenCopy) => boolean>,
): Promise<Pick<Row, "measured" | "unit" | "note">> {
  const { password } = dataOf(1);
  const times: number[] = [];
  for (const namespace of namespaces.slice(0, count)) {
    const isLater = await damage(secretPath(namespace, name));
    const answered = performance.now();
    const at = await copies.until((seen) => {
      const copy = seen.get(namespace);
      return copy !== undefined && isLater(copy) && copy.password === password;
    }, repairedWithinMs);
    if (at === undefined) {
      const note = `not repaired within ${repairedWithinMs / 1000} s`;
      return { measured: Number.NaN, unit: "ms p50", note };
    }
    times.push(Math.max(0, at - answered));
  }
  return { measured: median(times), unit: "ms p50", note: `${times.length} copies` };
}

/** A Secret that another user has created in a target, with a name that a source gets later. */
async function foreignRow(terms: Terms): Promise<Row> {
  const { fixture, copier, project, namespaces } = terms;
  const { admin } = fixture;
  const [taken = "", ...others] = namespaces;
  const source = await openSource({ ...terms, namespaces: others }, "foreign");
  await admin.send(foreignRequest(taken, source.name));
  const before = await stateOf(fixture, taken, source.name);
  await source.reach(copier.create(source.name, project), 1);
  await pause(3_000);
  const after = await stateOf(fixture, taken, source.name);
  await admin.send(copier.remove(source.name));
  await source.copies.until((seen) => others.every((at) => !seen.has(at)), copiedWithinMs);
  await pause(3_000);
  const end = await stateOf(fixture, taken, source.name);
  source.copies.stop();
  if (end !== undefined)
    await admin.send({ method: "DELETE", path: secretPath(taken, source.name) });
  const changes = after === before ? 0 : 1;
  const note = [
    changes === 0 ? "unchanged" : "overwritten",
    end === undefined ? "deleted with the source" : "stays when the source is deleted",
  ].join(", ");
  return row(terms, "unmanaged Secrets", { measured: changes, unit: "changed", note });
}

/** Data, labels and annotations of a Secret as text; undefined if there is none. */
async function stateOf(
  { admin }: BenchFixture,
  namespace: string,
  name: string,
): Promise<string | undefined> {
  const query = `fieldSelector=metadata.name%3D${name}`;
  const list = parsed(
    await admin.send({ method: "GET", path: `${secretPath(namespace)}?${query}` }),
  );
  const [object] = listAt(list, "items");
  if (object === undefined) return undefined;
  const { labels, annotations } = recordAt(object, "metadata");
  return JSON.stringify([recordAt(object, "data"), labels, annotations]);
}

function row({ copier }: Terms, what: string, rest: Omit<Row, "name">): Row {
  return { name: `${copier.name}: ${what}`, ...rest };
}
