import { createHash } from "node:crypto";
import type { Request } from "../../src/controllers/question.ts";
import { outboxNamespace } from "../../src/domain/outbox/outbox-names.ts";
import type { Removal } from "../../src/kube/informer/informer-state.ts";
import { encodeBody } from "../../src/kube/client/request-body.ts";
import type { QueueState } from "../../src/kube/queue/queue-state.ts";
import type { Leader, Running } from "./leader.ts";
import type { Instance, State } from "./state.ts";
import { connectedCluster } from "./process.ts";
import { nameOf, type Raw } from "../specification/raw.ts";
import type { Server } from "./server.ts";
import type { Seen, View } from "./view.ts";
import type { SearchWorld } from "./world.ts";

/**
 * A text with holes for resourceVersions: only their order among those of the same object counts,
 * so two states are one if their versions have the same ranks.
 */
interface Shape {
  readonly text: string;
  /** The object and the version of each hole. */
  readonly versions: readonly (readonly [object: string, version: number])[];
}

/** Times that no decision of these worlds reads: conditions only carry them. */
const transitions = /"(?:lastTransitionTime|management.service\/revised-at)":"[^"]*",?/g;
const deletions = /"deletionTimestamp":"[^"]*"/g;
const versions = /"resourceVersion":"(\d+)"|\\"(\d+)\\"/g;
/** The versions of Secrets in an outbox, and of reports, that an agent remembers. */
const remembered = /\b(?:seen|checked):(\d+)|"(\d+)"/g;

/**
 * The hash of a state, in 52 bits: a million states collide with a probability of 1 in 9,000. In a
 * world without lifetimes, a state is the same at another time; in one without fights, repairs do
 * not count.
 */
export function keyOfState(
  state: State,
  { hasLifetimes, hasFights }: Pick<SearchWorld, "hasLifetimes" | "hasFights">,
): number {
  const { server, connected, instances, late, menu, userActions, faults } = state;
  const { now } = server;
  const shape = joined([
    plain(`${menu.join()} ${userActions} ${faults} ${hasLifetimes ? now : ""}`),
    plain(birthsOf(server)),
    ...[...server.objects.values()].map(shapeOfObject).sort(byText),
    ...(connected.objects.size === 0
      ? []
      : [
          plain(birthsOf(connected)),
          ...[...connected.objects.values()].map(shapeOfObject).sort(byText),
        ]),
    ...late.map(({ call, place }) => {
      const shape = shapeOf(call, nameOf("ref" in call ? call.ref : call.object.metadata));
      return { ...shape, text: `${place} ${shape.text}` };
    }),
    ...instances.flatMap((instance) => shapesOfInstance(instance, now)),
    ...(hasFights ? instances.map(({ leader }) => plain(repairsOf(leader, now))) : []),
  ]);
  const digest = createHash("md5").update(filled(shape)).digest();
  return digest.readUIntBE(0, 6) * 16 + (digest.readUInt8(6) & 15);
}

/** The repairs of a leader, up to the number from which all wait the same time. */
function repairsOf(leader: Leader | undefined, now: number): string {
  const repairs = [...(leader?.memory.repairs ?? [])].map(([slot, repair]) =>
    textOf([slot, { ...repair, repairs: Math.min(repair.repairs, mostRepairs) }], now),
  );
  return repairs.sort().join();
}

const mostRepairs = 16;

/** How often objects were created decides their next uid; the first birth shows by the object. */
function birthsOf({ births, objects: existing }: Server): string {
  const counted = [...births].filter(([id, count]) => count > 1 || !existing.has(id));
  return counted
    .map(([id, count]) => `${id} ${count}`)
    .sort()
    .join();
}

function plain(text: string): Shape {
  return { text, versions: [] };
}

function shapesOfInstance({ streams, leader }: Instance, now: number): readonly Shape[] {
  const seen = streams.flatMap(({ view, pending, isStale }, kind) => {
    const { entries, removals } = view;
    if (entries.size + removals.size + pending.length === 0 && !isStale) return [];
    return [
      plain(`${kind} ${isStale ? "stale" : ""}`),
      ...[...removals].map(shapeOfRemoval).sort(byText),
      shapeOfView(view),
      ...pending.flatMap(({ type, object }) => [plain(type), shapeOfObject(object)]),
    ];
  });
  if (leader === undefined) return seen;
  const running = leader.running.map((one) => shapeOfRunning(one, now)).sort(byText);
  const { repairs: _, ...memory } = leader.memory;
  return [...seen, shapeOfMemory(textOf([memory, busyQueues(leader)], now)), ...running];
}

function shapeOfMemory(memory: string): Shape {
  const found: [string, number][] = [];
  const text = memory.replace(remembered, (_, version?: string, reported?: string) => {
    found.push([connectedOutbox, Number(version ?? reported)]);
    return "?";
  });
  return { text, versions: found };
}

function busyQueues({ queues }: Leader): readonly (readonly [name: string, state: QueueState])[] {
  return Object.entries(queues).filter(([, state]) =>
    Object.values(state).some((keys: QueueState[keyof QueueState]) => keys.size > 0),
  );
}

const views = new WeakMap<View["entries"], Shape>();

function shapeOfView({ entries }: View): Shape {
  const known = views.get(entries);
  if (known !== undefined) return known;
  const shape = joined([...entries.values()].map(shapeOfSeen).sort(byText));
  views.set(entries, shape);
  return shape;
}

function shapeOfSeen({ raw, followed }: Seen): Shape {
  if (followed === undefined) return shapeOfObject(raw);
  const { read, says } = followed;
  return joined([
    shapeOfObject(raw),
    plain(says),
    typeof read === "string" ? plain(read) : shapeOfObject(read),
  ]);
}

function shapeOfRemoval([key, { deleted, resourceVersion }]: readonly [string, Removal]): Shape {
  const versions = [[groupOf(key), Number(resourceVersion)]] as const;
  return { text: `removed ${key} ${deleted} ?`, versions };
}

const objects = new WeakMap<Raw, Shape>();
/** A number for each text of an object, which is shorter. */
const numbers = new Map<string, number>();

function shapeOfObject(object: Raw): Shape {
  const known = objects.get(object);
  if (known !== undefined) return known;
  // What an agent reads of its outbox has no kind, and the version of the Secret there.
  const isEntry = object["kind"] === undefined;
  const shape = shapeOf(object, isEntry ? `${connectedOutbox}/` : nameOf(object.metadata));
  const number = numbers.get(shape.text) ?? numbers.size;
  numbers.set(shape.text, number);
  const short = { ...shape, text: `#${number}?` };
  objects.set(object, short);
  return short;
}

/** Plans and answers are new with every decision, so their shapes are not kept. */
function shapeOfRunning({ queue, attempt }: Running, now: number): Shape {
  const { key, phase, decisions, answers, slots, written, verdict, plan } = attempt;
  const isAsking = phase === "asking";
  const left = isAsking ? [] : plan.steps.slice(attempt.step + 1).flat();
  const result = isAsking ? undefined : plan.result;
  const end = "error" in verdict ? wordsOf(verdict.error) : verdict.result;
  return joined([
    plain(`${queue} ${key} ${phase} ${decisions} ${textOf([result, end], now)}`),
    ...slots.map(({ request, isDone, error }) =>
      isDone ? plain(`done ${wordsOf(error)}`) : shapeOfRequest(request, wordsOf(error)),
    ),
    ...left.map((request) => shapeOfRequest(request, "")),
    ...[...answers].map(([question, answer]) => {
      const shape = shapeOf(answer, question.split(" ").at(-1) ?? "");
      return { ...shape, text: `${question.replace(/ \d+$/, "")} ${shape.text}` };
    }),
    ...[...written].map(([id, version]) => ({
      text: `${id} ?`,
      versions: [[groupOf(id.slice(id.indexOf("/") + 1)), Number(version)] as const],
    })),
  ]);
}

/** What an error says; two requests that failed for other reasons are two states. */
export function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : "";
}

function shapeOfRequest(request: Request, error: string): Shape {
  const ref =
    "ref" in request ? request.ref : "object" in request ? request.object.metadata : { name: "" };
  const shape = shapeOf(request, nameOf(ref));
  return { ...shape, text: `${shape.text} ${error}` };
}

function shapeOf(value: unknown, object: string): Shape {
  const found: [string, number][] = [];
  const text = encodeBody(value)
    .replace(transitions, "")
    .replace(deletions, "deleting")
    .replace(versions, (_, version?: string, reported?: string) => {
      found.push([groupOf(object), Number(version ?? reported)]);
      return "?";
    });
  return { text, versions: found };
}

/** Reports of an agent name versions of Secrets in its outbox, so all objects there are one. */
function groupOf(object: string): string {
  const [namespace = ""] = object.split("/");
  return namespace.startsWith("latchkey-cluster-") ? namespace : object;
}

const connectedOutbox = outboxNamespace(connectedCluster);

function joined(shapes: readonly Shape[]): Shape {
  return {
    text: shapes.map(({ text }) => text).join("\n"),
    versions: shapes.flatMap(({ versions: found }) => found),
  };
}

function byText(one: Shape, other: Shape): number {
  return one.text < other.text ? -1 : 1;
}

/** The text with the ranks of the versions among those of the same object. */
function filled({ text, versions: found }: Shape): string {
  const byObject = new Map<string, number[]>();
  for (const [object, version] of found) {
    const all = byObject.get(object);
    if (all === undefined) byObject.set(object, [version]);
    else if (!all.includes(version)) all.push(version);
  }
  for (const all of byObject.values()) if (all.length > 1) all.sort((one, other) => one - other);
  return text + found.map(([object, version]) => byObject.get(object)?.indexOf(version)).join();
}

/** The text of plain data, with its Maps and Sets; instants count from now. */
function textOf(value: unknown, now: number): string {
  if (value instanceof Map || value instanceof Set)
    return value.size === 0
      ? ""
      : `{${[...value]
          .map((item) => textOf(item, now))
          .sort()
          .join()}}`;
  if (Array.isArray(value)) return `[${value.map((item) => textOf(item, now)).join()}]`;
  if (typeof value === "number") return value > leastInstant ? `+${value - now}` : String(value);
  if (typeof value !== "object" || value === null) return String(value);
  return Object.entries(value)
    .map(([field, inner]) => (field === "since" ? "" : `${field}:${textOf(inner, now)}`))
    .join(" ");
}

const leastInstant = Date.UTC(2025);
