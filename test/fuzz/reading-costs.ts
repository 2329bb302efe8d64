import { performance } from "node:perf_hooks";
import { load } from "js-yaml";
import { annotations } from "../../src/api/names.ts";
import { certificateBlocks } from "../../src/api/pem.ts";
import { readingBounds } from "../../src/api/reading-bounds.ts";
import { SecretText } from "../../src/api/secret-text.ts";
import { parseClusterKubeconfig } from "../../src/domain/gateway/cluster-kubeconfig.ts";
import { parseDirectAddress } from "../../src/domain/gateway/direct-address.ts";
import { shapeProblem } from "../../src/domain/gateway/body-shape.ts";
import { type BodyFormat, completedBody } from "../../src/domain/gateway/object-defaults.ts";
import { unauthorized } from "../../src/domain/gateway/refusal.ts";
import { asksForUpgrade, type RequestHead } from "../../src/domain/gateway/request-head.ts";
import { requestInfo } from "../../src/domain/gateway/request-info.ts";
import { gatewayRoutes, readTarget } from "../../src/domain/gateway/request-target.ts";
import { responseHeaders } from "../../src/domain/gateway/response-headers.ts";
import { parseReport } from "../../src/domain/outbox/cluster-report.ts";
import { syncOptionsOf } from "../../src/domain/sync/sync-options.ts";
import { readReview } from "../../src/domain/gateway/self-review.ts";
import { identifyRequest } from "../../src/gateway/admit-request.ts";
import { parsedBody } from "../../src/gateway/parsed-body.ts";
import { parsedReview } from "../../src/gateway/self-review.ts";
import { createLogger } from "../../src/runtime/log.ts";
import { presentedKey } from "../../src/tokens/access-key.ts";
import { verifyJws } from "../../src/tokens/compact-jws.ts";
import { observedMetadata } from "../support/observed-objects.ts";

/** A function that reads a text of another user. */
export interface TextReader {
  readonly name: string;
  /** The maximum length of the text, in characters. */
  readonly most: number;
  /** What is around the repeated part. */
  readonly around?: readonly [begin: string, end: string];
  /** A part of an ordinary text, which is repeated; not so short that there are too many. */
  readonly plain: string;
  readonly read: (text: string) => unknown;
}

const kibibyte = 1024;
/** The head of a request (docs/gateway.md, "Limits of a replica"). */
const longestHead = 32 * kibibyte;
const longestBody = 32 * kibibyte;
const longestKubeconfig = 16 * kibibyte;
/** An object of the API server, which bounds annotations together. */
const longestAnnotation = 64 * kibibyte;

const front = {
  routes: gatewayRoutes,
  authenticator: { authenticate: () => Promise.resolve(unauthorized) },
  findUpstream: () => undefined,
};

/** Decides about a request of a client without a valid credential. */
function unidentified(changes: Partial<RequestHead>): unknown {
  const head = {
    ...({ method: "GET", httpVersion: "1.1", isUpgrade: false, peerAddress: "192.0.2.1" } as const),
    target: "/kubernetes/management/api",
    rawHeaders: ["host", "a", "authorization", "Bearer a"],
  };
  return identifyRequest({ ...head, ...changes }, front, () => {});
}

function identified(text: string): unknown {
  const target = readTarget(text);
  return target.kind === "target" ? requestInfo("GET", target) : target;
}

function inTarget(name: string, begin: string, plain: string): TextReader {
  return {
    name,
    most: readingBounds.requestTarget.bytes,
    around: [`/kubernetes/management${begin}`, ""],
    plain,
    read: identified,
  };
}

function inHeader(name: string, plain: string): TextReader {
  const read = (text: string) => unidentified({ rawHeaders: ["host", "a", name, text] });
  return { name: `the header ${name}`, most: longestHead, plain, read };
}

function inBody(
  format: "json" | "yaml",
  around: readonly [string, string],
  plain: string,
): TextReader {
  const read = (text: string) => completedBody(text, { format, kind: "SharedSecret" });
  return {
    name: `a body in ${format} with ${around.join("...")}`,
    most: longestBody,
    around,
    plain,
    read,
  };
}

function inJudgedBody(
  format: BodyFormat,
  around: readonly [string, string],
  plain: string,
): TextReader {
  const read = (text: string) =>
    shapeProblem(parsedBody(text, format === "apply"), { kind: "SharedSecret", format });
  const name = `a body to judge in ${format} with ${around.join("...")}`;
  return { name, most: longestBody, around, plain, read };
}

function inReview(
  format: "json" | "yaml" | "protobuf",
  plain: string,
  around: readonly [string, string] = ["", ""],
): TextReader {
  const read = (text: string) => readReview(parsedReview(Buffer.from(text), format));
  const name = `a review in ${format} with ${around.join("...")}`;
  return { name, most: readingBounds.selfReview.bytes / 2, around, plain, read };
}

function inKubeconfig(name: string, plain: string): TextReader {
  const read = (text: string) => {
    const ca = { "certificate-authority-data": "LS0tLS1CRUdJTiBB" };
    const fields = { server: "https://a", ...ca, [name]: text };
    return parseClusterKubeconfig({
      "current-context": "a",
      contexts: [{ name: "a", context: { cluster: "a", user: "a" } }],
      clusters: [{ name: "a", cluster: name === "token" ? ca : fields }],
      users: [{ name: "a", user: { token: name === "token" ? text : "a" } }],
    });
  };
  return { name: `${name} of a kubeconfig`, most: longestKubeconfig, plain, read };
}

function inAnnotation(name: string): TextReader {
  const read = (text: string) =>
    syncOptionsOf({ metadata: observedMetadata({ annotations: { [name]: text } }), data: {} });
  return { name: `the annotation ${name}`, most: longestAnnotation, plain: "web, ", read };
}

const noKeys = { keys: new Map(), typ: "JWT", mostCharacters: readingBounds.token.bytes };
const log = createLogger({ level: "info", destination: { write: () => {} } });
const certificate = "-----BEGIN CERTIFICATE-----\nQUJD\n-----END CERTIFICATE-----\n";

/** What reads texts of clients, tenants, and administrators and agents of other clusters. */
export const textReaders: readonly TextReader[] = [
  {
    name: "a target without a credential",
    most: readingBounds.requestTarget.bytes,
    plain: "/web",
    read: (text) => unidentified({ target: text }),
  },
  inHeader("Accept", "text/html, "),
  inHeader("Authorization", "Bearer "),
  inHeader("Sec-WebSocket-Protocol", "v4.channel.k8s.io, "),
  {
    name: "the name of a header",
    most: longestHead,
    plain: "accept",
    read: (text) => unidentified({ rawHeaders: ["host", "a", text, "a"] }),
  },
  {
    name: "the headers Connection and Upgrade",
    most: longestHead / 4,
    plain: "a, ",
    read: (text) => asksForUpgrade(["Connection", text, "Upgrade", text]),
  },
  inTarget("a path", "/api/v1/", "pods/"),
  inTarget("a path behind a proxy", "/api/v1/nodes/a/proxy/", "pods/"),
  inTarget("a query", "/api/v1/pods?", "parameter=b&"),
  inTarget("a field selector", "/api/v1/pods?fieldSelector=metadata.name=a,", "a=b,"),
  inTarget(
    "a label selector",
    "/api/v1/pods?fieldSelector=metadata.name=a&labelSelector=",
    "a-long-parameter&b=",
  ),
  inTarget("watch in a query", "/api/v1/pods?watch=", "a-long-parameter&b="),
  inBody("json", ['{"a":1', "}"], ',"b":"c"'),
  inBody("json", ['{"a":[1', "]}"], ',{"a":1}'),
  inBody("json", ['{"a":"', '"}'], "abc "),
  inBody("yaml", ["", ""], "a: b\n"),
  inBody("yaml", ["{", "}"], "a: b, "),
  inJudgedBody("merge-patch", ['{"spec":{"data":{"a":1', "}}}"], ',"b":"c"'),
  inJudgedBody("json-patch", ["[null", "]"], ',{"op":"add","path":"/spec/data/a","value":1}'),
  inJudgedBody("json-patch", ['[{"op":"add","path":"', '"}]'], "/spec"),
  inJudgedBody("apply", ["", ""], "a: b\n"),
  inJudgedBody("apply", ["spec: {data: {", "}}"], "a: b, "),
  inJudgedBody("apply", ['spec: {data: {a: "', '"}}'], "abc\n"),
  {
    name: "a kubeconfig",
    most: 4 * kibibyte,
    plain: "- a\n",
    read: (text) => parsed(() => parseClusterKubeconfig(load(text))),
  },
  inReview("json", '{"spec":{}},', ["[", "null]"]),
  inReview("json", "abcd", ['{"spec":{"nonResourceAttributes":{"path":"', '"}}}']),
  inReview("yaml", "- abcdefghijklmnopqrstuvwxyz/abcdefghijklmnopqrstuvwxyz\n"),
  inReview("yaml", "abcd", ["spec: {nonResourceAttributes: {path: ", "}}"]),
  inReview("protobuf", "\u0012\u0000", ["k8s\0", ""]),
  inKubeconfig("server", "abcd"),
  inKubeconfig("certificate-authority-data", "QUJD\n"),
  inKubeconfig("token", "abcd"),
  {
    name: "a direct address",
    most: longestKubeconfig,
    plain: "abcd",
    read: (text) => parseDirectAddress(text, undefined),
  },
  {
    name: "the CA of a direct address",
    most: 16 * kibibyte,
    plain: certificate,
    read: (text) => parseDirectAddress("https://a", text),
  },
  { name: "a CA bundle", most: longestKubeconfig, plain: certificate, read: certificateBlocks },
  {
    name: "a report",
    most: readingBounds.agentReport.bytes,
    plain: '"a":["1",1],',
    around: ['{"format":1,"sources":{', '"b":[]}}'],
    read: parseReport,
  },
  {
    name: "a signed text",
    most: readingBounds.token.bytes,
    plain: "abcd",
    read: (text) => verifyJws(text, noKeys),
  },
  {
    name: "the header of a signed text",
    most: readingBounds.token.bytes,
    plain: '{"a":1}',
    read: (text) => verifyJws(`${Buffer.from(text).toString("base64url")}.e30.AAAA`, noKeys),
  },
  {
    name: "an access key",
    most: longestHead,
    plain: "abcd",
    read: (text) => presentedKey(new SecretText(text)),
  },
  {
    name: "the headers of an answer",
    most: longestHead / 4,
    plain: "a, ",
    read: (text) =>
      responseHeaders(["connection", text, "location", text], { prefix: "/a", isProxied: true }),
  },
  {
    name: "a logged text",
    most: longestKubeconfig,
    plain: "abcdefghijklmnop ",
    read: (text) => log.info({ why: text }, "a"),
  },
  ...[
    annotations.syncToProjects,
    annotations.syncToClusters,
    annotations.syncSecretName,
    annotations.syncSecretType,
    annotations.syncKeys,
    annotations.syncFormat,
    annotations.copyLabels,
    annotations.copyAnnotations,
  ].map(inAnnotation),
];

/** Parts of a text that a pattern or a loop may read slowly when they are repeated. */
export const repeatedParts: readonly string[] = [
  ...["/", "a/", "//", "/.", "/..", "%", "%2f", "%2F..", "%E2%82%AC", "%00", "?", "&", "a=&", ";"],
  ...[
    " ",
    "\t",
    "\n",
    "\r\n",
    "# \n",
    "#\r\n",
    "%\r\n",
    "---\n",
    "- ",
    "? ",
    ": ",
    "a:\n",
    "&a *a ",
  ],
  ...[
    ",",
    "a,",
    "\\,",
    "[",
    "[]",
    "[a,",
    "{",
    "{}",
    "{},",
    "]",
    "}",
    '"',
    "'",
    '\\"',
    '"",',
    '"a":1,',
  ],
  ...[
    "0",
    "1,",
    ".",
    "a.",
    "-",
    "a-",
    "=",
    "a=b,",
    "!a,",
    "(",
    "a in (b),",
    "*",
    "*a",
    "@",
    "xn--a.",
  ],
  ...["QUJD", "A=", "=\n", "eyJ", "eyJhbGciOi.", "lk_", "sha256:", "Bearer ", "é", "€", "\u2028"],
  ...["-----BEGIN CERTIFICATE-----", "-----BEGIN PRIVATE KEY-----", "kind", "kind ", '"kind":1,'],
];

function parsed(read: () => unknown): unknown {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** A text of some length that repeats a part, between what the reader needs around it. */
export function textOf(
  { around: [begin, end] = ["", ""] }: TextReader,
  part: string,
  length: number,
  last = "",
): string {
  const times = Math.max(1, Math.floor((length - begin.length - end.length) / part.length));
  return begin + part.repeat(times) + last + end;
}

/** The least time of some attempts, in milliseconds: a busy machine only adds time. */
export async function leastCost(
  { read }: TextReader,
  text: string,
  times: number,
): Promise<number> {
  let cost = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < times; attempt += 1) {
    const began = performance.now();
    await read(text);
    cost = Math.min(cost, performance.now() - began);
  }
  return cost;
}
