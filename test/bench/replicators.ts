import { performance } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import { listAt, recordAt } from "../../src/api/parse.ts";
import { type BareRequest, patch, remove } from "../support/bare-client.ts";
import {
  dataOf,
  foreignRequest,
  metadataOf,
  namesOf,
  secretPath,
} from "../support/bench-objects.ts";
import { median } from "../support/percentile.ts";
import { replicators } from "../support/replicators.ts";
import type { Bench, BenchFixture } from "./bench-fixture.ts";
import { repeated } from "../support/measured-run.ts";
import { type Copier, latchkeyCopier, otherCopier } from "./copiers.ts";
import { type Row, row as rowOf, type RowDetails } from "./report.ts";
import { usedDuring } from "./processor-costs.ts";
import { type SeenCopy, watchCopies, type WatchedCopies } from "./watched-copies.ts";

const rounds = 2;
const copiedWithinMs = 300_000;
const repairedWithinMs = 20_000;

/** What is measured with one copier; the targets are the same for all copiers. */
interface Terms {
  readonly fixture: BenchFixture;
  readonly copier: Copier;
  readonly project: string;
  readonly namespaces: readonly string[];
  /** Copies that are edited, and that are deleted. */
  readonly repairs: number;
}

/** Latchkey beside other replicators that copy into the same namespaces, one after the other. */
export async function replication({ fixture, size, report }: Bench): Promise<void> {
  const project = "of-200";
  const targets = { project, namespaces: namesOf(project, 200) };
  const copiers = [latchkeyCopier(fixture), ...replicators.map((one) => otherCopier(fixture, one))];
  for (const copier of copiers) {
    if ("missing" in copier) {
      fixture.say(`left out: ${copier.missing}`);
      continue;
    }
    fixture.say(copier.name);
    const running = await copier.start();
    const terms = { ...targets, fixture, copier, repairs: Math.min(20, size.samples) };
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
  const count = namespaces.length;
  const measured = await repeated(rounds, async (round) => {
    const source = await openSource(terms, `compared-${round}`);
    const times = { create: Number.NaN, update: Number.NaN };
    const processes = { copier: pid, server: fixture.servers["kube-apiserver"] ?? 0 };
    const used = await usedDuring(processes, async () => {
      times.create = await source.reach(copier.create(source.name, project), 1);
      times.update = await source.reach(copier.update(source.name, 2), 2);
      // The status and other work after the last copy count, too.
      await pause(1_000);
    });
    await source.leave();
    const ofCopy = (ms = Number.NaN): number => ms / (2 * count);
    return { ...times, copier: ofCopy(used["copier"]), server: ofCopy(used["server"]) };
  });
  const medianRow = (what: string, of: (round: (typeof measured)[number]) => number): Row =>
    row(terms, what, [median(measured.map(of)), "ms"], { note: `${rounds} rounds` });
  return [
    medianRow(`create ${count}`, ({ create }) => create),
    medianRow(`update ${count}`, ({ update }) => update),
    medianRow("CPU of a copy", (round) => round.copier),
    medianRow("CPU of kube-apiserver", ({ server }) => server),
  ];
}

async function repairRows(terms: Terms): Promise<readonly Row[]> {
  const { fixture, copier, project } = terms;
  const source = await openSource(terms, "repaired");
  await source.reach(copier.create(source.name, project), 1);
  const edited = await repairs(terms, source, async (path) => {
    const body = { data: { password: Buffer.from("edited").toString("base64") } };
    const edit = BigInt(metadataOf(await fixture.admin.ask(patch(path, body))).resourceVersion);
    return ({ resourceVersion }) => resourceVersion > edit;
  });
  const deleted = await repairs(terms, source, async (path) => {
    const { uid: before } = metadataOf(await fixture.admin.get(path));
    await fixture.admin.send(remove(path));
    return ({ uid }) => uid !== before;
  });
  await source.leave();
  return [
    row(terms, "repair of an edited copy", ...edited),
    row(terms, "repair of a deleted copy", ...deleted),
  ];
}

/** Damages copies one after the other, until one is not repaired in time. */
async function repairs(
  { namespaces, repairs: count }: Terms,
  { name, copies }: Source,
  damage: (path: string) => Promise<(copy: SeenCopy) => boolean>,
): Promise<Figure> {
  const { password } = dataOf(1);
  const times: number[] = [];
  for (const namespace of namespaces.slice(0, count)) {
    const isLater = await damage(secretPath(namespace, name));
    const answered = performance.now();
    const at = await copies.until((seen) => {
      const copy = seen.get(namespace);
      return copy !== undefined && isLater(copy) && copy.password === password;
    }, repairedWithinMs);
    if (at === undefined)
      return [[Number.NaN, "ms p50"], { note: `not repaired within ${repairedWithinMs / 1000} s` }];
    times.push(Math.max(0, at - answered));
  }
  return [[median(times), "ms p50"], { note: `${times.length} copies` }];
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
  if (end !== undefined) await admin.send(remove(secretPath(taken, source.name)));
  const changes = after === before ? 0 : 1;
  const note = [
    changes === 0 ? "unchanged" : "overwritten",
    end === undefined ? "deleted with the source" : "stays when the source is deleted",
  ].join(", ");
  return row(terms, "unmanaged Secrets", [changes, "changed"], { note });
}

/** Data, labels and annotations of a Secret as text; undefined if there is none. */
async function stateOf(
  { admin }: BenchFixture,
  namespace: string,
  name: string,
): Promise<string | undefined> {
  const query = `fieldSelector=metadata.name%3D${name}`;
  const list = await admin.get(`${secretPath(namespace)}?${query}`);
  const [object] = listAt(list, "items");
  if (object === undefined) return undefined;
  const { labels, annotations } = recordAt(object, "metadata");
  return JSON.stringify([recordAt(object, "data"), labels, annotations]);
}

function row({ copier }: Terms, what: string, ...figure: Figure): Row {
  return rowOf(`${copier.name}: ${what}`, ...figure);
}

/** What was measured, and what a row says besides. */
type Figure = readonly [figure: readonly [number, string], details: RowDetails];
