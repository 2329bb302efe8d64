import { methods } from "../../src/domain/gateway/request-info.ts";
import type { SentRequest } from "../support/request-info-oracle.ts";
import {
  counts,
  fieldTerms,
  fragments,
  labelTerms,
  names,
  resources,
  roots,
  steps,
  subresources,
  values,
} from "./request-words.ts";

/** Returns numbers in [0, 1). */
type Random = () => number;

/** A request as a client or an attacker may send it to the gateway. */
export function randomRequest(random: Random): SentRequest {
  const pick = pickFrom(random);
  if (random() < 0.3) return randomSelection(random);
  const path = spoiled(pick(paths)(random), random);
  const method = random() < 0.5 ? "GET" : pick(methods);
  return { method, target: pick(mounts) + path + randomQuery(random) };
}

/** A list or watch with options that change its verb or name. */
function randomSelection(random: Random): SentRequest {
  const pick = pickFrom(random);
  const method = pick(["GET", "GET", "GET", "HEAD", "DELETE"]);
  const path = pick(["/api/v1/pods", "/apis/apps/v1/namespaces/n/deployments", "/api/v1/watch/x"]);
  const options = pick(selections)(random)
    .map(([name, value]) => `${written(name, random)}=${written(value, random)}`)
    .join("&");
  const padding = random() < 0.005 ? "&".repeat(pick([900, 10_000, 10_000, 15_000])) : "";
  return { method, target: `${management}${path}?${spoiled(options, random)}${padding}` };
}

type Pick = <T>(items: readonly T[]) => T;

function pickFrom(random: Random): Pick {
  return (items) => {
    const found = items[Math.floor(random() * items.length)];
    if (found === undefined) throw new Error("nothing to pick from");
    return found;
  };
}

const management = "/kubernetes/management";
const mounts = [
  ...Array.from({ length: 12 }, () => management),
  "/kubernetes/cluster/east",
  "/kubernetes/project/web/space/dev",
  "/kubernetes/project/web/virtualcluster/v1",
  "",
];

/** Resource paths of every form, and others. */
const paths: readonly ((random: Random) => string)[] = [
  resourcePath,
  resourcePath,
  resourcePath,
  resourcePath,
  (random) => Array.from({ length: random() * 9 }, () => `/${pickFrom(random)(steps)}`).join(""),
  (random) => {
    const pick = pickFrom(random);
    const more = Array.from({ length: random() * 6 }, () => `/${pick(steps)}`).join("");
    return pick(["/api", "/apis", ...roots]) + more;
  },
  (random) =>
    pickFrom(random)([
      ...["", "/", "/api", "/apis", "/api/", "/apis/apps", "/version", "/healthz/etcd"],
      ...["/openapi/v3/apis/apps/v1", "/apis/management.service/v1/namespaces//sharedsecrets/a"],
      ...[
        "/apis/management.service/v1/sharedsecrets/a",
        "/apis/management.service/v1/sharedsecrets",
      ],
    ]),
];

function resourcePath(random: Random): string {
  const pick = pickFrom(random);
  const chance = (likelihood: number, text: () => string): string =>
    random() < likelihood ? text() : "";
  return [
    pick(roots),
    chance(0.15, () => pick(["/watch", "/proxy"])),
    chance(0.5, () => `/namespaces/${pick(["n", "kube-system", ...names])}`),
    `/${pick(resources)}`,
    chance(0.5, () => `/${pick(names)}`),
    chance(0.3, () => `/${pick(subresources)}`),
    chance(0.1, () => `/${pick(steps)}`),
    chance(0.05, () => pick(["//", "/a//b", "/a%2Fb", "/..", "/%2e%2e/x"])),
    chance(0.1, () => "/"),
  ].join("");
}

/** Inserts, removes, repeats or encodes a part of some texts. */
function spoiled(text: string, random: Random): string {
  if (random() < 0.7) return text;
  const pick = pickFrom(random);
  const at = Math.floor(random() * (text.length + 1));
  const char = text[at] ?? "a";
  const changed = pick([
    () => text.slice(0, at) + pick(fragments) + text.slice(at),
    () => text.slice(0, at) + text.slice(at + 1),
    () => text.slice(0, at) + text.slice(0, at).slice(-5) + text.slice(at),
    () => text.slice(0, at) + encoded(char, random) + text.slice(at + 1),
    () => text.slice(0, at) + encoded(char, random) + text.slice(at + 1),
  ])();
  return spoiled(changed, random);
}

function encoded(char: string, random: Random): string {
  const hex = (char.charCodeAt(0) % 256).toString(16).padStart(2, "0");
  return `%${random() < 0.5 ? hex : hex.toUpperCase()}`;
}

const parameters: readonly {
  readonly name: string;
  readonly value: (random: Random) => string;
}[] = [
  { name: "watch", value: (random) => pickFrom(random)(values) },
  { name: "watch", value: (random) => pickFrom(random)(values) },
  { name: "fieldSelector", value: listOf(fieldTerms) },
  { name: "fieldSelector", value: (random) => pickFrom(random)(fieldTerms) },
  { name: "fieldSelector", value: () => "metadata.name=p" },
  { name: "labelSelector", value: listOf(labelTerms) },
  { name: "limit", value: (random) => pickFrom(random)(counts) },
  { name: "timeoutSeconds", value: (random) => pickFrom(random)(counts) },
  ...["resourceVersion", "resourceVersionMatch", "continue", "allowWatchBookmarks"].map((name) => ({
    name,
    value: (random: Random) => pickFrom(random)(values),
  })),
  ...[
    "sendInitialEvents",
    "shardSelector",
    "Watch",
    "watch ",
    "pretty",
    "dryRun",
    "command",
    "",
  ].map((name) => ({ name, value: (random: Random) => pickFrom(random)(values) })),
];

/** Combinations of options that are valid often enough. */
const selections: readonly ((random: Random) => readonly (readonly [string, string])[])[] = [
  (random) => [
    ["fieldSelector", listOf(fieldTerms)(random)],
    ["watch", pickFrom(random)(values)],
  ],
  (random) => [
    ["fieldSelector", "metadata.name=p"],
    ["labelSelector", listOf(labelTerms)(random)],
  ],
  (random) => [
    ["fieldSelector", "metadata.name=p"],
    [pickFrom(random)(["limit", "timeoutSeconds"]), pickFrom(random)(counts)],
    [pickFrom(random)(["continue", "limit", "x"]), pickFrom(random)(counts)],
  ],
];

function listOf(terms: readonly string[]): (random: Random) => string {
  return (random) =>
    Array.from({ length: random() * 3 + 0.5 }, () => pickFrom(random)(terms)).join(",");
}

function randomQuery(random: Random): string {
  if (random() < 0.4) return random() < 0.1 ? "?" : "";
  const parts = Array.from({ length: 1 + random() * 3 }, () => {
    const { name, value } = pickFrom(random)(parameters);
    const isBare = random() < 0.05;
    return written(name, random) + (isBare ? "" : `=${written(value(random), random)}`);
  });
  return `?${parts.join("&")}`;
}

/** A text as clients encode it, with plus signs, raw, or with one letter more in hexadecimal. */
function written(text: string, random: Random): string {
  const kind = random();
  const plain = encodeURIComponent(text);
  if (kind < 0.6) return plain;
  if (kind < 0.75) return plain.replaceAll("%20", "+").replaceAll("%3D", "=");
  if (kind < 0.85) return text.replaceAll(/[^\x21-\x7e]|[%&#\\+]/g, encodeURIComponent);
  if (kind < 0.95) return plain.replace(/[a-z]/, (char) => encoded(char, random));
  return spoiled(plain, random);
}
